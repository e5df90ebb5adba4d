"""Models that PyClick trained, from the text of its `to_json`: the position-based model and the cascade model.

The text is a mapping of parameter names to texts of their own: ``attr`` by query and document, ``exam`` by rank, each
parameter with its ``_numerator`` and ``_denominator``. It holds no counts, so such a model predicts and makes problems,
but has no intervals; as impressions of an item stand the denominators, which include PyClick's pseudo-counts.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Cells, Floats
from rankone.clicks.models.base import ClickModel
from rankone.clicks.models.cascade import Cascade
from rankone.clicks.models.pbm import PBM
from rankone.errors import InputError

_HIGHEST = 1.0 - 1e-6  # as PyClick cuts


def is_pyclick(content: Any) -> bool:
    """Whether the content of a JSON file is PyClick's.

    >>> is_pyclick({"attr": "{}", "exam": "[]"}), is_pyclick({"format": "rankone-click-model"})
    (True, False)
    """
    return isinstance(content, dict) and "attr" in content and "format" not in content


def from_pyclick(content: dict[str, Any]) -> ClickModel:
    """Return the model that PyClick trained.

    >>> half = {"_numerator": 2, "_denominator": 4}
    >>> text = {"attr": json.dumps({"q": {"a": half}}), "exam": json.dumps([half, half])}
    >>> from_pyclick(text).problem("q").rows.tolist()
    [0.5]
    """
    try:
        parts = {name: json.loads(part) if isinstance(part, str) else part for name, part in content.items()}
        rows = sorted(
            (query, item, *_value(value)) for query, of in parts["attr"].items() for item, value in of.items()
        )
        ranks = None if "exam" not in parts else np.array([_value(value)[0] for value in parts["exam"]])
        known = set(parts) in ({"attr"}, {"attr", "exam"}) and bool(rows)
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError):
        known = False
    if not known:
        got = f"parameters {', '.join(content)}"
        raise InputError("PyClick's PBM (attr, exam) or CM (attr)", got, "fit the model again with rankone")
    table = pl.DataFrame(rows, schema=["query", "item", "attraction", "impressions"], orient="row")
    if ranks is None:
        cascade = Cascade(min_impressions=0)
        _fill(cascade, table, 10)  # as many ranks as PyClick has
        return cascade
    model = PBM(examination="shared", scale="as-is", min_impressions=0)
    _fill(model, table, len(ranks))
    model.curves_, model._labels = ranks[None, :], np.zeros((1, len(ranks)), np.int64)
    unknown = np.full(len(model.cells_.queries), np.nan)
    model._log_likelihoods, model._perplexities, model.log_likelihood_ = unknown, unknown, float("nan")
    model.n_iter_, model.converged_, model._converged = 0, False, np.array([False])
    model.log_likelihoods_ = np.zeros(0)
    return model


def _value(parameter: dict[str, float]) -> tuple[float, float]:
    top, bottom = float(parameter["_numerator"]), float(parameter["_denominator"])
    return min(top / bottom, _HIGHEST), bottom


def _fill(model: ClickModel, table: pl.DataFrame, places: int) -> None:
    """Take attractions over; cells have no counts, every item may have been anywhere."""
    queries = table["query"].unique(maintain_order=True).to_list()
    items = table.height
    first = np.flatnonzero(table["query"].is_first_distinct().to_numpy())
    nothing: Floats = np.zeros(items * places)
    model.cells_ = Cells(
        queries=queries,
        items=table.select(
            "query", "item", pl.col("impressions").round().cast(pl.Int64), clicks=pl.lit(None, pl.Int64)
        ),
        query_items=np.append(first, items),
        item_cells=np.arange(items + 1) * places,
        item=np.repeat(np.arange(items), places),
        position=np.tile(np.arange(places), items),
        previous=np.zeros(0, np.int64),
        impressions=nothing,
        clicks=nothing,
        examined=np.zeros(0),
        last_clicks=np.zeros(0),
        dropped_items=0,
        dropped_impressions=0,
    )
    model.position_names_, model._tails = (), None
    model.item_attraction_ = table["attraction"].to_numpy().astype(np.float64)
