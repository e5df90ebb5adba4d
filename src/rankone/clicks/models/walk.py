"""Maximum likelihood of models that read from the top: what was read below the last click is integrated out, by EM.

A user examines the first position; after a skip goes on with probability s, after a click on item i at position k with
a probability that the model states. Down to the last click every position was examined, so counts tell all. Below it,
with attractions a_1, a_2, ... of the tail and g the probability to go on to it, no click has the probability

    1 - g + g (1 - a_1) V_1,    V_j = 1 - s + s (1 - a_{j+1}) V_{j+1},    V = 1 at the end of the list

and position j of the tail was examined with the posterior that follows. The M-step averages; steps are extrapolated
(SQUAREM on the logits) and kept only where the likelihood rises, so it never falls. Chuklin, Markov, de Rijke, "Click
models for web search" (2015), chapter 4.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Cells, Floats, Ints, summed
from rankone.clicks.models.base import per_item

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
        found: Floats = ((self.last_position > 0) & (self.shown[:, 0] > 0)).astype(np.float64)
        return found

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
    """Repeat EM steps, extrapolated, until a step gains less than `tolerance` nats, three times running.

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
