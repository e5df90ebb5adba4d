"""Models that PyClick trained, from the text of its `to_json`.

The text is a mapping of parameter names to texts of their own: ``attr`` and ``sat`` by query and document, ``exam`` and
``cont`` by rank, single ones by themselves, each parameter with its ``_numerator`` and ``_denominator``. It holds no
counts, so such a model predicts and makes problems, but has no intervals; as impressions of an item stand the
denominators, which include PyClick's pseudo-counts. Which parameters there are says which model it is.
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Cells
from rankone.clicks.models.base import ClickModel
from rankone.clicks.models.browsing import BrowsingModel
from rankone.clicks.models.cascade import Cascade
from rankone.clicks.models.ccm import CCM
from rankone.clicks.models.ctr import DocumentCTR
from rankone.clicks.models.dbn import DBN, SDBN
from rankone.clicks.models.dcm import DCM
from rankone.clicks.models.pbm import PBM
from rankone.clicks.models.product import ProductModel
from rankone.clicks.models.ubm import UBM
from rankone.errors import InputError
from rankone.numerics.arrays import Floats

KNOWN = "PyClick's PBM, CM, UBM, DCM, SDBN, DBN, CCM or DCTR"
_HIGHEST = 1.0 - 1e-6  # as PyClick cuts
_RANKS = 10  # as many as PyClick has
_CCM = ("cont_noclick", "cont_click_nonrel", "cont_click_rel")
_MOST = 2.0**62  # visitors: denominators are rounded to whole numbers
_UNTRAINED = 5.0  # denominator that a parameter of EM begins with


def is_pyclick(content: Any) -> bool:
    """Whether the content of a JSON file is PyClick's.

    >>> is_pyclick({"attr": "{}", "exam": "[]"}), is_pyclick({"format": "rankone-click-model"})
    (True, False)
    """
    return isinstance(content, dict) and bool({"attr", "ctr"} & set(content)) and "format" not in content


def from_pyclick(content: dict[str, Any]) -> ClickModel:
    """Return the model that PyClick trained.

    >>> half = {"_numerator": 2, "_denominator": 4}
    >>> text = {"attr": json.dumps({"q": {"a": half}}), "exam": json.dumps([half, half])}
    >>> from_pyclick(text).problem("q").rows.tolist()
    [0.5]
    """
    try:
        parts = {name: json.loads(part) if isinstance(part, str) else part for name, part in content.items()}
        return _MODELS[frozenset(parts)](parts)
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError, IndexError):
        raise InputError(KNOWN, f"parameters {', '.join(content)}", "fit the model again with rankone") from None


def _pbm(parts: dict[str, Any]) -> ClickModel:
    if isinstance(parts["exam"][0], list):
        return _ubm(parts)
    model = PBM(examination="shared", scale="as-is", min_impressions=0)
    _take_product(model, parts["attr"], _values(parts["exam"]))
    model._converged = np.array([False])
    return model


def _ubm(parts: dict[str, Any]) -> UBM:
    """Turn examination by rank and rank of the click before; where there was none, PyClick writes the last rank."""
    exam = parts["exam"]
    trained = [last for last, value in enumerate(exam[0]) if float(value["_denominator"]) > _UNTRAINED]
    if len(trained) > 1:
        got = f"lengths {', '.join(str(last + 1) for last in trained)}, each with an examination of its own"
        do = "train it on lists of one length, or fit the model again with rankone"
        raise InputError("PyClick's UBM of lists of one length", got, do)
    places = trained[0] + 1 if trained else len(exam)
    model = UBM(min_impressions=0)
    _take(model, parts["attr"], places)
    values = np.array([_values(row[:places]) for row in exam[:places]])
    model.curves_ = np.concatenate([values[:, -1:], values], axis=1)  # after no click, after one at rank 1, 2, ...
    return model


def _browsing(parts: dict[str, Any]) -> BrowsingModel:
    """Take what follows a click: satisfaction by item, chances to go on by rank, or single ones."""
    kinds = {("attr", "cont"): DCM, ("attr", "sat"): SDBN, ("attr", "cont", "sat"): DBN}
    model: BrowsingModel = kinds.get(tuple(sorted(parts)), CCM)(min_impressions=0)
    _take(model, parts["attr"], len(parts["cont"]) if isinstance(model, DCM) else _RANKS)
    items = model.cells_.items.select("query", "item").iter_rows() if "sat" in parts else ()
    rest = parts.get("cont", [parts[name] for name in _CCM if name in parts])
    model._others = _values(
        [*(parts["sat"][query][item] for query, item in items), *(rest if isinstance(rest, list) else [rest])]
    )
    model.method_ = "pyclick"
    return model


def _cascade(parts: dict[str, Any]) -> Cascade:
    model = Cascade(min_impressions=0)
    _take(model, parts["attr"], _RANKS)
    return model


def _ctr(parts: dict[str, Any]) -> DocumentCTR:
    queries = parts["ctr"].values() if isinstance(parts["ctr"], dict) else [None]
    if not all(isinstance(query, dict) for query in queries):
        got = "RCTR or GCTR, which name no query and no item"
        raise InputError(KNOWN, got, "fit ctr-rank or ctr-global with rankone")
    model = DocumentCTR(min_impressions=0)
    _take_product(model, parts["ctr"], np.ones(_RANKS))
    return model


def _no_twin(parts: dict[str, Any]) -> ClickModel:
    got = "its TCM, whose tasks of several queries no model here has"
    raise InputError(KNOWN, got, "fit one of these to the lists")


_MODELS: dict[frozenset[str], Callable[[dict[str, Any]], ClickModel]] = {
    frozenset({"attr", "exam"}): _pbm,
    frozenset({"attr"}): _cascade,
    **{frozenset({"attr", *more}): _browsing for more in (("cont",), ("sat",), ("sat", "cont"), _CCM)},
    frozenset({"ctr"}): _ctr,
    frozenset({"attr", "exam", "match", "new", "fresh"}): _no_twin,
}


def _value(parameter: dict[str, float]) -> float:
    over, under = float(parameter["_numerator"]), float(parameter["_denominator"])
    if not (0.0 <= over < _MOST and 0.0 < under < _MOST):
        raise ValueError("no share of anything")
    return min(over / under, _HIGHEST)


def _values(parameters: list[dict[str, float]]) -> Floats:
    return np.array([_value(parameter) for parameter in parameters])


def _take_product(model: ProductModel, attr: dict[str, Any], curve: Floats) -> None:
    _take(model, attr, len(curve))
    model.curves_, model._labels = curve[None, :], np.zeros((1, len(curve)), np.int64)
    unknown = np.full(len(model.cells_.queries), np.nan)
    model._log_likelihoods, model._perplexities, model.log_likelihood_ = unknown, unknown, float("nan")


def _take(model: ClickModel, attr: dict[str, Any], places: int) -> None:
    """Take attractions over; cells have no counts, every item may have been anywhere."""
    rows = sorted(
        (query, item, _value(value), float(value["_denominator"]))
        for query, of in attr.items()
        for item, value in of.items()
    )
    table = pl.DataFrame(rows, schema=["query", "item", "attraction", "impressions"], orient="row")
    items = table.height
    if not items:
        raise ValueError("no item")
    first = np.flatnonzero(table["query"].is_first_distinct().to_numpy())
    nothing, none = np.zeros(items * places), np.zeros(0)
    model.cells_ = Cells(
        queries=table["query"].unique(maintain_order=True).to_list(),
        items=table.select(
            "query", "item", pl.col("impressions").round().cast(pl.Int64), clicks=pl.lit(None, pl.Int64)
        ),
        query_items=np.append(first, items),
        item_cells=np.arange(items + 1) * places,
        item=np.repeat(np.arange(items), places),
        position=np.tile(np.arange(places), items),
        previous=none.astype(np.int64),
        impressions=nothing,
        clicks=nothing,
        examined=none,
        last_clicks=none,
        dropped_items=0,
        dropped_impressions=0,
    )
    model.position_names_, model._tails = (), None
    vars(model).update(n_iter_=0, converged_=False, log_likelihoods_=np.zeros(0))
    model.item_attraction_ = table["attraction"].to_numpy().astype(np.float64)
