"""Intervals of a product's parameters and of the click rates of its pairs, by profile likelihood.

Only products are identified: an attraction stands for the rate at the reference, the position with the highest
examination, an examination for the ratio to it. Which position that is is an estimate: where others may be the highest
as well, the lower end of a ratio is the lowest over all of these, the upper end that to the most shown of them.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import summed
from rankone.clicks.models.fitting.climb import group_of
from rankone.clicks.models.fitting.profile import HIGH, LOW, Contrasts, Ends, profile
from rankone.numerics.arrays import Floats, Ints
from rankone.specs import number_in

if TYPE_CHECKING:
    from rankone.clicks.models.pbm import PBM


def z_of(level: float) -> float:
    """Return how many standard errors an interval of this level reaches either way."""
    return NormalDist().inv_cdf(0.5 + number_in("level", level, "(0, 1)", example=0.95) / 2.0)


class GroupProfile:
    """The items and places of one group of a fitted product (a query, or all of them with a shared curve)."""

    def __init__(self, model: PBM, group: int) -> None:
        cells, starts = model.cells_, model._item_starts(model.cells_)
        self.items = slice(int(starts[group]), int(starts[group + 1]))
        inside = slice(int(cells.item_cells[self.items.start]), int(cells.item_cells[self.items.stop]))
        self.item_cells = cells.item_cells[self.items.start : self.items.stop + 1] - inside.start
        self.item, self.place = cells.item[inside] - self.items.start, cells.position[inside]
        self.impressions, self.clicks = cells.impressions[inside], cells.clicks[inside]
        self.a, self.g, self.labels = model.item_attraction_[self.items], model.curves_[group], model._labels[group]
        self.prior = model.prior
        self.label_of_item = self.labels[self.place[self.item_cells[:-1]]]

    def ends(self, level: float, *terms: tuple[Any, float], ends: int = LOW | HIGH) -> Ends:
        """Return the ends of sums of parameters (items by number, places by `at`), each with its sign."""
        parameters = np.stack(np.broadcast_arrays(*(np.atleast_1d(numbers) for numbers, _ in terms)), axis=1)
        signs = np.array([sign for _, sign in terms])
        wanted = Contrasts(parameters.astype(np.int64), signs, bool((signs >= 0.0).all()), ends)
        group = group_of(self.item_cells, self.place, self.impressions, self.clicks, len(self.g))
        return profile(group, self.a, self.g, self.prior, wanted, z_of(level))

    def at(self, places: Any) -> Any:
        """Numbers of the parameters of places, which come after those of the items."""
        return len(self.a) + places

    def references(self) -> dict[int, int]:
        """The place with the highest examination of each component, by the component's label."""
        known = np.unique(self.labels[self.labels >= 0])
        return {int(label): int(np.where(self.labels == label, self.g, -1.0).argmax()) for label in known}

    def rivals(self, label: int, reference: int, level: float) -> Ints:
        """The reference of a component and the other places that may be the highest, the most shown first."""
        places = np.flatnonzero((self.labels == label) & (np.arange(len(self.g)) != reference))
        places = places[self.clicks_of_places()[places] > 0]
        high = self.ends(level, (self.at(places), 1.0), (self.at(reference), -1.0), ends=HIGH).high
        able, shown = np.append(reference, places[high >= 0.0]), summed(self.place, self.impressions, len(self.g))
        return np.array(sorted(able.tolist(), key=lambda place: (-shown[place], place)), np.int64)

    def clicks_of_places(self) -> Floats:
        """Clicks at each place."""
        return summed(self.place, self.clicks, len(self.g))

    def rates(self, items: Any, places: Any, level: float, ends: int = LOW | HIGH) -> Ends:
        """Return the ends of the logarithm of the click rates of pairs."""
        return self.ends(level, (items, 1.0), (self.at(places), 1.0), ends=ends)


def attraction_ends(group: GroupProfile, scale: str, level: float) -> tuple[Floats, Floats, Floats]:
    """Return standard error (NaN without clicks), low and high of the attraction of every item of a group."""
    references = group.references()
    reference = np.array([references[int(label)] for label in group.label_of_item], np.int64)
    everyone, factor = np.arange(len(group.a)), 1.0 / group.g[reference] if scale == "as-is" else 1.0
    bounds = group.rates(everyone, reference, level)
    firsts = {label: int(group.rivals(label, place, level)[0]) for label, place in references.items()}
    first = np.array([firsts[int(label)] for label in group.label_of_item], np.int64)
    other = np.flatnonzero(first != reference)
    if len(other):  # the highest of several equal positions is the highest by luck
        there = group.rates(everyone[other], first[other], level)
        bounds.low[other] = np.minimum(bounds.low[other], there.low)
        bounds.high[other] = np.maximum(bounds.high[other], there.high)
    error = np.where(summed(group.item, group.clicks, len(group.a)) > 0, group.a * bounds.error, np.nan)
    return error, factor * np.exp(bounds.low), np.minimum(factor * np.exp(bounds.high), 1.0)


def examination_ends(group: GroupProfile, scale: str, level: float) -> tuple[Floats, Floats, Floats]:
    """Return standard error, low and high of the examination of every place of a group."""
    error, low, high = np.zeros(len(group.g)), np.zeros(len(group.g)), np.ones(len(group.g))
    for label, reference in group.references().items():
        members = np.flatnonzero(group.labels == label)
        factor = group.g[reference] if scale == "as-is" else 1.0
        low[members] = high[members] = factor
        if len(members) == 1:
            continue
        rivals = group.rivals(label, reference, level).tolist()
        for rival in dict.fromkeys([reference, *rivals]):
            others, most_shown = members[members != rival], rival == rivals[0]
            ends = LOW | HIGH if most_shown else LOW
            bounds = group.ends(level, (group.at(others), 1.0), (group.at(rival), -1.0), ends=ends)
            low[others] = np.minimum(low[others], factor * np.exp(bounds.low))
            if rival == reference:
                error[others] = group.g[others] * bounds.error
            if most_shown:
                high[others] = np.minimum(factor * np.exp(bounds.high), factor)
    return np.where(group.clicks_of_places() > 0, error, np.nan), low, high


def places_information(border: Floats) -> Floats:
    """Information about the logarithms of examinations once attractions are free; `border` has a row for each item.

    A cell of n impressions and click rate p has the Fisher information n p / (1 - p) about the logarithm of its rate.
    Ratios only are known: rows and columns add up to 0.

    >>> places_information(np.array([[2.0, 2.0, 0.0]])).tolist()
    [[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    diagonal = np.maximum(border.sum(axis=1), 1e-300)
    return np.diag(border.sum(axis=0)) - border.T @ (border / diagonal[:, None])


def with_ends(table: pl.DataFrame, error: Floats, low: Floats, high: Floats) -> pl.DataFrame:
    """Add the columns se (null where there is none), low and high."""
    return table.with_columns(se=pl.Series(error).fill_nan(None), low=low, high=high)


_CANDIDATES = 40  # pairs whose lower bound is computed: those with the highest by the curvature
_OFTEN = 20  # impressions of a pair that may be recommended
WIDE = 3.0  # an interval whose ends are further apart than this factor says little


def best_pairs(model: PBM, level: float) -> pl.DataFrame:
    """Return one row per query: the fitted best pair, the best supported one, and what they rest on.

    The pair with the highest fitted rate is often one that nobody saw. So its interval allows for its choice among
    many; what the data support is the pair with the highest lower bound among those shown often; and items that cannot
    be told from its item are counted, each of the k (k - 1) ordered pairs with its part of the error (Bonferroni).
    """
    number_in("level", level, "(0, 1)", example=0.95)
    shared = model.examination == "shared"
    groups = {0: GroupProfile(model, 0)} if shared else {}
    rows = []
    for query, (first, last) in enumerate(pairwise(model.cells_.query_items.tolist())):
        group = groups[0] if shared else GroupProfile(model, query)
        items = np.arange(first, last) - group.items.start
        rows.append({"query": model.cells_.queries[query], **_of_query(model, group, items, level)})
    return pl.DataFrame(rows, infer_schema_length=None)


def _of_query(model: PBM, group: GroupProfile, items: Ints, level: float) -> dict[str, Any]:
    references = group.references()  # items and positions of two components cannot be joined
    reference = np.array([references[label] for label in group.label_of_item[items].tolist()])
    best = int((group.a[items] * group.g[reference]).round(12).argmax())  # of equal ones the first
    top, place = int(items[best]), int(reference[best])
    careful = 1.0 - (1.0 - level) / len(items)  # the best of many is overrated
    high = group.rates(top, place, level).high[0]
    low = group.rates(top, place, careful).low[0]
    inside, shape = np.isin(group.item, items), (len(group.a), len(group.g))
    cell = group.item[inside] * shape[1] + group.place[inside]
    n, c = (
        summed(cell, each[inside], shape[0] * shape[1]).reshape(shape).astype(np.int64)
        for each in (group.impressions, group.clicks)
    )
    item, spot = _supported(group, items, n, careful)
    ends = group.rates(item, spot, careful)
    names, position = model.cells_.items["item"], model.position_names_
    others = items[items != item]
    together = 1.0 - (1.0 - level) / max(1, len(others) * len(items))
    above = group.ends(together, (others, 1.0), (item, -1.0), ends=HIGH).high
    comparable = group.label_of_item[others] == group.label_of_item[item]
    supported_low, supported_high = float(np.exp(ends.low[0])), float(min(np.exp(ends.high[0]), 1.0))
    alike = int((~comparable | (above >= 0.0)).sum())
    wide = supported_high > WIDE * supported_low
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
        "supported_rate": float(np.exp(ends.value[0])),
        "supported_low": supported_low,
        "supported_high": supported_high,
        "supported_impressions": int(n[item, spot]),
        "supported_clicks": int(c[item, spot]),
        "not_told_apart": alike,
        "too_little_data": bool(c[items].sum() == 0 or wide or 0 < len(others) == alike),
    }


def _supported(group: GroupProfile, items: Ints, n: Ints, level: float) -> tuple[int, int]:
    """Return the pair with the highest lower bound, among those that were shown often enough to be judged by eye."""
    often = n[items] >= min(_OFTEN, n[items].max())
    rows, cols = np.nonzero(often)
    rows = items[rows]
    rates = group.a[rows] * group.g[cols]
    misses = np.maximum(1.0 - rates, 0.01)
    rough = np.log(np.maximum(rates, 1e-12)) - 2.0 * np.sqrt(misses / np.maximum(n[rows, cols] * rates, 0.25))
    chosen = np.union1d(np.argsort(-rough)[:_CANDIDATES], np.argsort(-rates)[: _CANDIDATES // 4])
    bounds = group.rates(rows[chosen], cols[chosen], level, ends=LOW)
    best = chosen[int(bounds.low.round(9).argmax())]  # of equal ones the first
    return int(rows[best]), int(cols[best])
