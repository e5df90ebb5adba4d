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

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Cells, summed
from rankone.clicks.logs.held_out_lists import Lists
from rankone.clicks.models.base import ClickModel, FitProgress, per_item, smoothed_share
from rankone.clicks.models.pbm import check_prior
from rankone.errors import InputError
from rankone.numerics.arrays import Floats, Ints
from rankone.specs import one_of

_LEAST = 1e-9


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
        tail=tail, shown=(tail >= 0).astype(float),
        last_item=last["number"].fill_null(-1).to_numpy(), last_position=position, times=times,
        clicks=per_item(cells, cells.clicks), certain=np.maximum(per_item(cells, cells.examined) - silent, 0.0),
        went_on=per_item(cells, went_on), went_on_at=summed(cells.position, went_on, cells.n_positions),
    )  # fmt: skip


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


def climb(
    start: Floats, step: Callable[[Floats], tuple[Floats, float]], tolerance: float, most: int
) -> tuple[Floats, list[float], bool]:
    """Repeat EM steps, extrapolated (SQUAREM on the logits, kept where the likelihood rises), until a step gains less
    than `tolerance` nats, three times running.

    `step` returns the next parameters and the objective at those given.
    """
    here, values, slow = start, [], 0
    for _ in range(most):
        one, value = step(here)
        two, value_one = step(one)
        first, change = _logit(one) - _logit(here), _logit(two) - 2.0 * _logit(one) + _logit(here)
        size = max(1.0, float(np.sqrt((first**2).sum() / max((change**2).sum(), 1e-300))))
        far = _expit(_logit(here) + 2.0 * size * first + size * size * change)
        settled, value_far = step(far)
        values.append(value)
        gain = max(value_far, value_one) - value
        here = settled if value_far >= value_one else two
        slow = slow + 1 if gain < tolerance else 0
        if slow == 3:
            values.append(step(here)[1])
            return here, values, True
    values.append(step(here)[1])
    return here, values, False


def _logit(chances: Floats) -> Floats:
    kept = np.clip(chances, _LEAST, 1.0 - _LEAST)
    return np.log(kept / (1.0 - kept))


def _expit(values: Floats) -> Floats:
    return np.clip(1.0 / (1.0 + np.exp(-np.clip(values, -30.0, 30.0))), _LEAST, 1.0 - _LEAST)


METHODS = ("auto", "likelihood", "closed")
_TOLERANCE, _MOST = 1e-7, 2_000


@dataclasses.dataclass(eq=False, kw_only=True)
class BrowsingModel(ClickModel):
    """A model in which the user may go on after a click.

    Args:
        prior: pseudo-counts (clicks, impressions) added to every parameter.
        method: "likelihood" for maximum likelihood, which needs the tails of lists in the counts; "closed" for the
            closed form of the literature; "auto" for the first where the counts have tails (`method_` says so).

    A subclass names its parameters: attractions come first, then those of `_start`. `_chances` turns them into the
    chance to go on after a click of each tail and after a skip, `_next` averages.
    """

    needs_lists = True
    read_as = "dcm"
    uses_tails = True

    prior: tuple[float, float] = (1.0, 2.0)
    method: str = "auto"

    def learn(self, cells: Cells, progress: FitProgress) -> None:
        """Estimate attraction and what follows a click."""
        one_of("method", self.method, METHODS)
        prior = check_prior(self.prior)
        self.method_ = (
            "closed" if self.method == "closed" or (self.method == "auto" and self._tails is None) else "likelihood"
        )
        self.item_attraction_ = smoothed_share(per_item(cells, cells.clicks), per_item(cells, cells.examined), prior)
        self._learn_closed(cells, prior)
        if self.method_ == "closed":
            return
        if self._tails is None:
            raise InputError(
                "counts with the tails of their lists", "counts without", "read with tails=True, or method='closed'"
            )
        tails = tails_of(self._tails, cells)
        size = cells.n_items

        def step(values: Floats) -> tuple[Floats, float]:
            after_click, after_skip = self._chances(tails, values[:size], values[size:])
            chance, examined = read_on(tails, values[:size], after_click, after_skip)
            return self._next(tails, values, examined, prior), self._objective(tails, values, chance, prior)

        start = np.clip(np.concatenate([self.item_attraction_, self._start(cells)]), 1e-3, 1.0 - 1e-3)
        values, trace, self.converged_ = climb(start, step, _TOLERANCE, _MOST)
        self.n_iter_, self.log_likelihoods_ = len(trace) - 1, np.array(trace)
        self.item_attraction_ = values[:size]
        self._take(values[size:])

    def _attraction_step(self, tails: Tails, examined: Floats, prior: tuple[float, float]) -> Floats:
        """Average attraction over all examined impressions, those of tails by their chances."""
        below = tails.per_item_of_tails(examined * tails.times[:, None])
        return smoothed_share(tails.clicks, tails.certain + below, prior)

    def _objective(self, tails: Tails, values: Floats, chance: Floats, prior: tuple[float, float]) -> float:
        """Log-likelihood, and the logarithm of the prior."""
        a = values[: len(tails.clicks)]
        total = float((tails.clicks * np.log(a) + (tails.certain - tails.clicks) * np.log1p(-a)).sum())
        total += float((tails.times * np.log(chance)).sum()) + self._of_going_on(tails, values)
        return total + float((prior[0] * np.log(values) + (prior[1] - prior[0]) * np.log1p(-values)).sum())

    def _learn_closed(self, cells: Cells, prior: tuple[float, float]) -> None:
        """Estimate the probability to go on after a click in closed form; a start where there is none."""
        raise TypeError(f"{type(self).__name__} must define _learn_closed(cells, prior)")

    def _start(self, cells: Cells) -> Floats:
        """Parameters beside attraction, to begin with."""
        raise TypeError(f"{type(self).__name__} must define _start(cells)")

    def _take(self, values: Floats) -> None:
        """Keep the parameters beside attraction."""
        raise TypeError(f"{type(self).__name__} must define _take(values)")

    def _chances(self, tails: Tails, attraction: Floats, others: Floats) -> tuple[Floats, float]:
        """Chance to go on to each tail (1 where there was no click), and to go on after a skip."""
        raise TypeError(f"{type(self).__name__} must define _chances(tails, attraction, others)")

    def _next(self, tails: Tails, values: Floats, examined: Floats, prior: tuple[float, float]) -> Floats:
        """All parameters after one step of EM."""
        raise TypeError(f"{type(self).__name__} must define _next(tails, values, examined, prior)")

    def _of_going_on(self, tails: Tails, values: Floats) -> float:
        """Part of the log-likelihood that is known: going on after the clicks and skips above the last click."""
        raise TypeError(f"{type(self).__name__} must define _of_going_on(tails, values)")

    def _going_on(self, lists: Lists) -> Floats:
        """Probability to go on after a click, for each list and position."""
        raise TypeError(f"{type(self).__name__} must define _going_on(lists)")

    def _after_skip(self) -> float:
        """Probability to go on after a skip."""
        return 1.0

    def chances(self, lists: Lists, attraction: Floats) -> tuple[Floats, Floats]:
        """Carry the probability that a position is examined down the list, given the clicks above and not."""
        going_on, after_skip = self._going_on(lists), self._after_skip()
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
