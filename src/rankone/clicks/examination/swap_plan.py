"""Which neighbours to swap, how often and for how long, to learn the examination curve within a stated loss."""

import dataclasses
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Cells, summed
from rankone.clicks.counts.counts import Counts
from rankone.clicks.examination.curve import spans
from rankone.clicks.examination.swaps import HomeLists, as_links, cheapest_swaps, home_items, lists_needed, variances
from rankone.clicks.models.fitting.intervals import places_information, z_of
from rankone.clicks.models.pbm import PBM
from rankone.errors import InputError
from rankone.notebook import Shown
from rankone.numerics.arrays import Floats, Ints
from rankone.specs import number_in, whole_number
from rankone.wording.numbers import percent

_QUERIES = 200


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class SwapPlan(Shown):
    """The cheapest swaps of neighbours that fix the examination curve to a wished precision.

    `table` has one row per pair of neighbours: the probability of swapping it, and how often that happens. `positions`
    has one row per position: how far up the interval of its examination, relative to the first position, reaches now
    and after the plan (0.1: 10%; null where nothing links it).
    """

    table: pl.DataFrame  # position, other, rate, swaps, clicks_lost
    positions: pl.DataFrame  # position, assumed, now, then
    lists: int
    loss: float  # share of the clicks lost while the plan runs
    days: float | None
    precision: float
    level: float
    queries: int

    @property
    def rates(self) -> tuple[float, ...]:
        """Probability of swapping positions 1 and 2, 2 and 3, ...: the `rates` of the policy swap-neighbours."""
        return tuple(self.table["rate"].to_list())

    @property
    def clicks_lost(self) -> float:
        """Clicks that the plan costs in all."""
        return float(self.table["clicks_lost"].sum())

    def policy(self, items: Sequence[int] | None = None) -> str:
        """Return the spec of the policy that carries the plan out around a list of items, counted from 0.

        >>> rates = pl.DataFrame({"position": [1], "other": [2], "rate": [0.05], "swaps": [5], "clicks_lost": [0.1]})
        >>> SwapPlan(table=rates, positions=pl.DataFrame(), lists=100, loss=0.01, days=None, precision=0.1, level=0.95,
        ...          queries=1).policy([4, 2])
        'swap-neighbours:items=4x2,rates=0.05'
        """
        fixed = "" if items is None else f"items={'x'.join(str(item) for item in items)},"
        return f"swap-neighbours:{fixed}rates={'x'.join(f'{rate:.6g}' for rate in self.rates)}"

    def _sentence(self) -> str:
        if not self.lists:
            return (
                f"The log says it already: every position is known to {percent(self.precision)}, if the position-based "
                "model holds and items did not move because they had become more or less attractive; nothing needs "
                "swapping."
            )
        busy = self.table.filter(pl.col("rate") > 0.0)
        pairs = ", ".join(f"{k} and {m}" for k, m in busy.select("position", "other").rows())
        share, long = float(busy["rate"].sum()), "" if self.days is None else f", {self.days:,.1f} days"
        said = [
            f"Swap neighbours in {percent(share)} of the lists for {self.lists:,} lists{long}: positions {pairs}.",
            f"It costs about {self.clicks_lost:,.0f} clicks, {percent(self.loss, 2)} of those meanwhile, and the "
            f"{percent(self.level)} intervals of all positions then end at most {percent(self.precision)} above the "
            "estimate, if the position-based model holds and click rates are about what the log says.",
        ]
        assumed = self.positions.filter("assumed")["position"].to_list()
        if assumed:
            said.append(
                f"Nothing in the log tells how often people look at position {spans(assumed)}. That it goes on falling "
                "was assumed, so look again after a tenth of the time."
            )
        return "\n".join(said)

    def _tables(self) -> dict[str, pl.DataFrame]:
        return {"swaps": self.table, "positions": self.positions}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        names = ("lists", "days", "loss", "clicks_lost", "precision", "level")
        tables = {"swaps": self.table.to_dicts(), "positions": self.positions.to_dicts()}
        return {name: getattr(self, name) for name in names} | {"policy": self.policy(), **tables}


def swap_plan(
    counts: Counts,
    *,
    precision: float = 0.1,
    loss: float = 0.01,
    swapped: float = 0.1,
    lists_a_day: float | None = None,
    swaps_alone: bool = False,
    queries: int = _QUERIES,
    level: float = 0.95,
) -> SwapPlan:
    """Propose the cheapest swaps of neighbours that fix the examination curve to a wished precision.

    Args:
        counts: a log of what is shown today; rates and usual lists are taken from it.
        precision: how far up the interval of each position's examination, relative to the first position, may reach.
        loss: share of the clicks that may be lost while the plan runs; the smaller, the longer it takes.
        swapped: share of the lists that may have a swap.
        lists_a_day: lists shown a day, of the queries that take part.
        swaps_alone: count nothing that the log says about examination, as where items moved for reasons of their own.
        queries: so many of the most frequent queries take part.
        level: of the intervals.

    >>> shown = {"query": "q", "item": ["a", "b", "c"], "position": [1, 2, 3], "impressions": 10_000}
    >>> counts = Counts(pl.DataFrame(shown | {"clicks": [4_000, 2_000, 1_000]}))   # items that never move
    >>> plan = swap_plan(counts, lists_a_day=5_000)
    >>> round(plan.days), [round(rate, 2) for rate in plan.rates]   # swap 1 and 2, and 2 and 3
    (12, [0.07, 0.03])
    """
    for name, value, usual in (("precision", precision, 0.1), ("loss", loss, 0.01), ("swapped", swapped, 0.1)):
        number_in(name, value, "(0, 1)", example=usual)
    if lists_a_day is not None:
        number_in("lists_a_day", lists_a_day, "(0, inf)", example=5_000)
    whole_number("queries", queries, example=_QUERIES)
    if not counts.clicks:
        raise InputError("at least one click", "none", "check the column of clicks")
    counts = counts.top(queries)
    model = PBM(examination="shared", min_impressions=0).fit(counts)
    if model.cells_.n_positions < 2:
        raise InputError("at least two positions", "one", "there is nothing to swap")
    home, assumed = home_lists(model)
    information, cost = home.information(), home.cost()
    if not (information > 0.0).all():
        link = int(np.flatnonzero(information <= 0.0)[0]) + 1
        got = f"no query with clicked items at positions {link} and {link + 1}"
        raise InputError("items to swap between all neighbours", got, "take a longer log, or fewer positions")
    before = np.zeros((len(cost), len(cost))) if swaps_alone else as_links(_known(model))
    wished = (math.log1p(precision) / z_of(level)) ** 2
    swaps = cheapest_swaps(before, information, cost, wished)
    least = max(float(cost @ swaps) / (loss * home.clicks()), float(swaps.sum()) / swapped)
    rates = swaps / least if least else swaps
    lists = math.ceil(lists_needed(home, before, rates, least, wished)) if least else 0
    after = before + as_links(home.expected(rates, lists)) if lists else before
    places, made = np.arange(1, len(cost) + 1), rates * lists
    swaps_of = {"position": places, "other": places + 1, "rate": rates, "swaps": np.rint(made).astype(np.int64)}
    reaches = {"now": _reach(before, level), "then": _reach(after, level)}
    return SwapPlan(
        table=pl.DataFrame(swaps_of | {"clicks_lost": cost * made}),
        positions=pl.DataFrame({"position": np.append(places, len(places) + 1), "assumed": assumed, **reaches}),
        lists=lists,
        loss=float(cost @ rates) / home.clicks(),
        days=None if lists_a_day is None else lists / lists_a_day,
        precision=precision,
        level=level,
        queries=len(home.share),
    )


def _reach(links: Floats, level: float) -> pl.Series:
    """How far up intervals reach, relative to the first position; null where nothing links a position with it."""
    reach = np.expm1(z_of(level) * np.sqrt(np.append(0.0, variances(links))))
    return pl.Series([value if math.isfinite(value) else None for value in reach.tolist()], dtype=pl.Float64)


def _known(model: PBM) -> Floats:
    """What the log says about log examinations, items that moved all counted as if they had moved by chance."""
    cells = model.cells_
    chance = model._cell_probabilities(cells)
    weight = cells.impressions * chance / (1.0 - chance)
    size = cells.n_items * cells.n_positions
    border = summed(cells.item * cells.n_positions + cells.position, weight, size).reshape(-1, cells.n_positions)
    return places_information(border[(border > 0.0).sum(axis=1) > 1])


def home_lists(model: PBM) -> tuple[HomeLists, list[bool]]:
    """Return the usual lists of a fitted model, and of which positions the examination had to be assumed."""
    cells, labels = model.cells_, model._labels[0]
    curve, assumed = _planning_curve(model.curves_[0], labels, cells)
    rate = model._cell_probabilities(cells)
    attraction, shown = np.zeros((len(cells.queries), cells.n_positions)), np.zeros(len(cells.queries))
    starts = cells.item_cells[cells.query_items]
    for query, (begin, end) in enumerate(pairwise(starts)):
        inside = slice(int(begin), int(end))
        item, place = cells.item[inside], cells.position[inside]
        home = home_items(item, place, cells.impressions[inside], cells.n_positions)
        shown[query] = summed(place, cells.impressions[inside], cells.n_positions).max()
        for cell in np.flatnonzero(item == home[place]):
            attraction[query, place[cell]] = min(rate[inside][cell] / curve[place[cell]], 0.99 / curve.max())
    return HomeLists(shown / shown.sum(), attraction, curve), assumed


def _planning_curve(values: Floats, labels: Ints, cells: Cells) -> tuple[Floats, list[bool]]:
    """The curve of the component with the most clicks; elsewhere a power of the position with the same fall."""
    clicks = summed(cells.position, cells.clicks, cells.n_positions)
    kinds = np.unique(labels[labels >= 0])
    main = kinds[np.argmax([clicks[labels == kind].sum() for kind in kinds])]
    known = (labels == main) & (clicks > 0)
    place = np.arange(1, len(values) + 1)
    inside = np.flatnonzero(known)
    fall = -1.0
    if len(inside) > 1:
        fall = min(float(np.polyfit(np.log(place[inside]), np.log(values[inside]), 1)[0]), -0.1)
    first = inside[0]
    guess = values[first] * (place / place[first]) ** fall
    return np.where(known, values, guess), (~known).tolist()
