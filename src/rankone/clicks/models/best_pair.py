"""Which pair of a query is best, and what the data say for it.

The pair with the highest fitted rate is often one that nobody saw, and its rate hardly known. So three things are told:
the fitted best with an interval that allows for its choice among many; of the pairs that were shown at least 20 times
the one with the highest lower bound, which is what the data support; and how many items cannot be told from its item.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Floats, Ints
from rankone.clicks.models.intervals import GroupProfile
from rankone.clicks.models.profile import HIGH, LOW, contrasts
from rankone.clicks.models.uncertainty import checked_level

if TYPE_CHECKING:
    from rankone.clicks.models.product import ProductModel

_CANDIDATES = 40  # pairs whose lower bound is computed: those with the highest by the curvature
_OFTEN = 20  # impressions of a pair that may be recommended
WIDE = 3.0  # an interval whose ends are further apart than this factor says little


def best_pairs(model: ProductModel, level: float) -> pl.DataFrame:
    """Return one row per query: the fitted best pair, the best supported one, and what they rest on."""
    checked_level(level)
    shared = model.examination == "shared"
    groups = {0: GroupProfile(model, 0)} if shared else {}
    rows = []
    for query, (first, last) in enumerate(pairwise(model.cells_.query_items.tolist())):
        group = groups[0] if shared else GroupProfile(model, query)
        items = np.arange(first, last) - group.items.start
        rows.append({"query": model.cells_.queries[query], **_of_query(model, group, items, level)})
    return pl.DataFrame(rows, infer_schema_length=None)


def _of_query(model: ProductModel, group: GroupProfile, items: Ints, level: float) -> dict[str, Any]:
    references = group.references()  # items and positions of two components cannot be joined
    reference = np.array([references[label] for label in group.label_of_item[items].tolist()])
    best = int((group.a[items] * group.g[reference]).argmax())
    top, place = int(items[best]), int(reference[best])
    careful = 1.0 - (1.0 - level) / len(items)  # the best of many is overrated
    one, where = np.array([top]), np.array([place])
    high = group.rates(one, where, level).high[0]
    low = group.rates(one, where, careful).low[0]
    inside = np.isin(group.item, items)
    n, c = np.zeros((len(group.a), len(group.g))), np.zeros((len(group.a), len(group.g)))
    np.add.at(n, (group.item[inside], group.place[inside]), group.impressions[inside])
    np.add.at(c, (group.item[inside], group.place[inside]), group.clicks[inside])
    item, spot = _supported(group, items, n, careful)
    ends = group.rates(np.array([item]), np.array([spot]), careful)
    names, position = model.cells_.items["item"], model.position_names_
    others = items[items != item]
    apart = contrasts(len(others), (others, 1.0, True), (item, -1.0, True), ends=HIGH)
    above = group.ends(apart, level).high if len(others) else np.zeros(0)
    comparable = group.label_of_item[others] == group.label_of_item[item]
    rate = float(np.exp(ends.value[0]))
    supported = {"low": float(np.exp(ends.low[0])), "high": float(min(np.exp(ends.high[0]), 1.0))}
    alike = int((~comparable | (above >= 0.0)).sum())
    wide = supported["high"] > WIDE * supported["low"]
    return {
        "best_item": names[group.items.start + top],
        "best_position": position[place] if position else place + 1,
        "best_click_rate": float(group.a[top] * group.g[place]),
        "low": float(np.exp(low)),
        "high": float(min(np.exp(high), 1.0)),
        "impressions": int(n[top].sum()),
        "clicks": int(c[top].sum()),
        "pair_impressions": int(n[top, place]),
        "pair_clicks": int(c[top, place]),
        "supported_item": names[group.items.start + item],
        "supported_position": position[spot] if position else spot + 1,
        "supported_rate": rate,
        "supported_low": supported["low"],
        "supported_high": supported["high"],
        "supported_impressions": int(n[item, spot]),
        "supported_clicks": int(c[item, spot]),
        "not_told_apart": alike,
        "too_little_data": bool(c[items].sum() == 0 or wide or 0 < len(others) == alike),
    }


def _supported(group: GroupProfile, items: Ints, n: Floats, level: float) -> tuple[int, int]:
    """Return the pair with the highest lower bound, among those that were shown often enough to be judged by eye."""
    often = n[items] >= min(_OFTEN, n[items].max())
    rows, cols = np.nonzero(often)
    rows = items[rows]
    rates = group.a[rows] * group.g[cols]
    misses = np.maximum(1.0 - rates, 0.01)
    rough = np.log(np.maximum(rates, 1e-12)) - 2.0 * np.sqrt(misses / np.maximum(n[rows, cols] * rates, 0.25))
    chosen = np.union1d(np.argsort(-rough)[:_CANDIDATES], np.argsort(-rates)[: _CANDIDATES // 4])
    found = group.rates(rows[chosen], cols[chosen], level, ends=LOW)
    best = chosen[int(found.low.argmax())]
    return int(rows[best]), int(cols[best])
