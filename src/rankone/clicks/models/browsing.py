"""What the models share that read from the top and may stop after a click: DCM, SDBN, DBN, CCM.

The user reads from the top and goes on after a skip, and after a click, with probabilities that the model states. They
are fitted by maximum likelihood: what was read below the last click is integrated out, by EM (Chuklin, Markov, de
Rijke, "Click models for web search", 2015, chapter 4). Down to the last click every position was examined, so counts
tell all. Below it, with attractions a_1, a_2, ... of the tail, s the probability to go on after a skip and g that to go
on to the tail, no click has the probability

    1 - g + g (1 - a_1) V_1,    V_j = 1 - s + s (1 - a_{j+1}) V_{j+1},    V = 1 at the end of the list

The closed forms of the literature take every position below the last click for not examined, which is biased upwards
wherever readers go on and find nothing.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Cells, Lists, summed
from rankone.clicks.models.base import ClickModel, FitProgress, check_prior, per_item, per_position, smoothed_share
from rankone.clicks.models.fitting.em import run_em
from rankone.errors import InputError
from rankone.numerics.arrays import Floats, Ints
from rankone.specs import one_of


@dataclasses.dataclass(frozen=True)
class Tails:
    """What stood below the last clicks, by number, and what counts say of the rest."""

    tail: Ints  # (tails, positions): number of the item, -1 beyond the end
    shown: Floats  # (tails, positions): 1 where there is an item
    last_item: Ints  # (tails,): number of the item clicked last, -1: no click, or an item that was left out
    last_position: Ints  # (tails,): from 1; 0 if there was no click
    times: Floats
    clicks: Floats  # per item
    certain: Floats  # per item: impressions at or above the last click of a list with clicks
    went_on: Floats  # per item: clicks that were not the last
    went_on_at: Floats  # per position

    @property
    def clicked(self) -> Floats:
        """1 where the list has a click, and something below it."""
        return ((self.last_position > 0) & (self.shown[:, 0] > 0)).astype(np.float64)

    def per_item_of_tails(self, numbers: Floats) -> Floats:
        """Sum numbers of the places of tails over items."""
        inside = self.tail >= 0
        return summed(self.tail[inside], numbers[inside], len(self.clicks))

    def of_last_item(self, numbers: Floats) -> Floats:
        """Take numbers of items to the items clicked last; 0.5 where there is none."""
        return np.where(self.last_item >= 0, numbers[self.last_item], 0.5)

    def per_last_item(self, numbers: Floats) -> Floats:
        """Sum numbers of tails over the items clicked last."""
        inside = self.last_item >= 0
        return summed(self.last_item[inside], numbers[inside], len(self.clicks))


def tails_of(table: pl.DataFrame, cells: Cells) -> Tails:
    """Number the items of tails; items that were left out for few impressions are skipped."""
    numbers = cells.items.select("query", "item").with_row_index("number").cast({"number": pl.Int64})
    rows = table.filter(pl.col("query").is_in(cells.queries)).with_row_index("row")
    last = rows.join(
        numbers, left_on=["query", "last_item"], right_on=["query", "item"], how="left", maintain_order="left"
    )
    below = rows.select("row", "query", item="tail").explode("item").drop_nulls("item")
    below = below.join(numbers, on=["query", "item"], maintain_order="left")
    place = below.select(pl.int_range(pl.len()).over("row")).to_series().to_numpy()
    width = int(place.max()) + 1 if len(place) else 1
    tail = np.full((rows.height, width), -1, np.int64)
    tail[below["row"].to_numpy(), place] = below["number"].to_numpy()
    times, position = rows["times"].to_numpy().astype(float), rows["last_position"].to_numpy().astype(np.int64)
    unclicked = (tail >= 0) & (position == 0)[:, None]
    silent = summed(tail[unclicked], np.broadcast_to(times[:, None], tail.shape)[unclicked], cells.n_items)
    went_on = cells.clicks - cells.last_clicks
    return Tails(
        tail,
        (tail >= 0).astype(float),
        last["number"].fill_null(-1).to_numpy(),
        position,
        times,
        clicks=per_item(cells, cells.clicks),
        certain=np.maximum(per_item(cells, cells.examined) - silent, 0.0),
        went_on=per_item(cells, went_on),
        went_on_at=per_position(cells, went_on),
    )


def read_on(tails: Tails, attraction: Floats, go_on: Floats, after_skip: float) -> tuple[Floats, Floats]:
    """Return the chance of no click in each tail, and of each place of it that it was examined, given none."""
    skip = np.where(tails.tail >= 0, 1.0 - attraction[tails.tail], 1.0)
    size = tails.tail.shape[1]
    rest = np.ones((len(skip), size + 1))  # rest[:, j]: no click after a skip at place j (from 1)
    there = np.concatenate([tails.shown[:, 1:], np.zeros((len(skip), 1))], axis=1)
    for place in range(size - 1, -1, -1):
        following = skip[:, place + 1] * rest[:, place + 1] if place + 1 < size else 1.0
        rest[:, place] = np.where(there[:, place] > 0, 1.0 - after_skip + after_skip * following, 1.0)
    chance = 1.0 - go_on + go_on * skip[:, 0] * rest[:, 0]
    chance = np.maximum(np.where(tails.shown[:, 0] > 0, chance, 1.0), 1e-300)
    examined = np.zeros_like(skip)
    reached = np.where(tails.shown[:, 0] > 0, go_on, 0.0)
    for place in range(size):
        examined[:, place] = reached * skip[:, place] * rest[:, place] / chance * tails.shown[:, place]
        reached = reached * skip[:, place] * after_skip
    return chance, examined


METHODS = ("auto", "likelihood", "closed")
_TOLERANCE, _MOST = 1e-7, 2_000
#: Takes a number of every item to those that are meant: of the items clicked last, or of the items of lists.
OfItems = Callable[[Floats], Floats]


@dataclasses.dataclass(eq=False, kw_only=True)
class BrowsingModel(ClickModel):
    """A model in which the user may go on after a click.

    Args:
        prior: pseudo-counts (clicks, impressions) added to every parameter.
        method: "likelihood" for maximum likelihood, which needs the tails of lists in the counts; "closed" for the
            closed form of the literature; "auto" for the first where the counts have tails (`method_` says so).
    """

    needs_lists = True
    read_as = "dcm"
    uses_tails = True
    by_position: ClassVar[bool] = False  # the chance to go on after a click is one of the position, not of the item

    prior: tuple[float, float] = (1.0, 2.0)
    method: str = "auto"

    def learn(self, cells: Cells, progress: FitProgress) -> None:
        """Estimate attraction and what follows a click."""
        one_of("method", self.method, METHODS)
        prior = check_prior(self.prior)
        closed = self.method == "closed" or (self.method == "auto" and self._tails is None)
        self.method_ = "closed" if closed else "likelihood"
        self.item_attraction_ = smoothed_share(per_item(cells, cells.clicks), per_item(cells, cells.examined), prior)
        self._others = self._closed(cells, prior)
        if closed:
            return
        if self._tails is None:
            do = "read with tails=True, or method='closed'"
            raise InputError("counts with the tails of their lists", "counts without", do)
        tails, size = tails_of(self._tails, cells), cells.n_items

        def step(values: Floats) -> tuple[Floats, float]:
            going_on = self._after_click(values[:size], values[size:], tails.of_last_item, tails.last_position - 1)
            after_click = np.where(tails.last_position > 0, going_on, 1.0)
            chance, examined = read_on(tails, values[:size], after_click, self._after_skip(values[size:]))
            others = self._next(tails, values, examined, prior)
            return others, self._objective(tails, values, chance, prior)

        start = np.clip(np.concatenate([self.item_attraction_, self._start()]), 1e-3, 1.0 - 1e-3)
        values, self.log_likelihoods_, self.converged_ = run_em(
            start, step, lambda old, new, gain: gain, _TOLERANCE, _MOST, patience=3, progress=progress
        )
        self.n_iter_ = len(self.log_likelihoods_) - 1
        self.item_attraction_, self._others = values[:size], values[size:]

    @property
    def n_parameters_(self) -> int:
        """Items, and what tells whether the user goes on."""
        return super().n_parameters_ + len(self._others)

    def _attraction_step(self, tails: Tails, examined: Floats, prior: tuple[float, float]) -> Floats:
        """Average attraction over all examined impressions, those of tails by their chances."""
        below = tails.per_item_of_tails(examined * tails.times[:, None])
        return smoothed_share(tails.clicks, tails.certain + below, prior)

    def _objective(self, tails: Tails, values: Floats, chance: Floats, prior: tuple[float, float]) -> float:
        a, others = values[: len(tails.clicks)], values[len(tails.clicks) :]
        total = float((tails.clicks * np.log(a) + (tails.certain - tails.clicks) * np.log1p(-a)).sum())
        went_on = tails.went_on_at if self.by_position else tails.went_on  # clicks that were not the last
        on = self._after_click(a, others, lambda numbers: numbers, np.arange(len(went_on)))
        total += float((tails.times * np.log(chance)).sum()) + float((went_on * np.log(on)).sum())
        total += skips_above(tails) * math.log(self._after_skip(others))
        return total + float((prior[0] * np.log(values) + (prior[1] - prior[0]) * np.log1p(-values)).sum())

    def _closed(self, cells: Cells, prior: tuple[float, float]) -> Floats:
        raise TypeError(f"{type(self).__name__} must define _closed(cells, prior)")

    def _start(self) -> Floats:
        return self._others

    def _after_click(self, attraction: Floats, others: Floats, of_items: OfItems, position: Ints) -> Floats:
        """Chance to go on after a click on some items, at some positions (from 0)."""
        raise TypeError(f"{type(self).__name__} must define _after_click(attraction, others, of_items, position)")

    def _after_skip(self, others: Floats) -> float:
        return 1.0

    def _next(self, tails: Tails, values: Floats, examined: Floats, prior: tuple[float, float]) -> Floats:
        raise TypeError(f"{type(self).__name__} must define _next(tails, values, examined, prior)")

    def _going_on(self, lists: Lists) -> Floats:
        """Chance to go on after a click, for each list and position."""
        own, places = functools.partial(self.of_lists, lists), np.arange(lists.shown.shape[1])
        return np.broadcast_to(self._after_click(self.item_attraction_, self._others, own, places), lists.shown.shape)

    def chances(self, lists: Lists, attraction: Floats) -> tuple[Floats, Floats]:
        """Carry the probability that a position is examined down the list, given the clicks above and not."""
        going_on, after_skip = self._going_on(lists), self._after_skip(self._others)
        conditional, marginal = np.empty_like(attraction), np.empty_like(attraction)
        given = np.ones(len(attraction))  # P(examined | clicks above)
        free = np.ones(len(attraction))  # P(examined)
        for position in range(attraction.shape[1]):
            shown = lists.shown[:, position]
            a, on = attraction[:, position] * shown, going_on[:, position]
            conditional[:, position], marginal[:, position] = given * a, free * a
            skip = np.where(shown, after_skip, 1.0)
            skipped = given * (1.0 - a) * skip / np.maximum(1.0 - given * a, 1e-300)
            given = np.where(lists.clicked[:, position], on, skipped)
            free = free * ((1.0 - a) * skip + a * on)
        return conditional, marginal


def skips_above(tails: Tails) -> float:
    """Skips above the last click: after each of them the user went on."""
    return float((tails.certain - tails.clicks).sum())
