"""Evidence pooled by level: what policies share that draw each factor's level by itself.

The click rate of a combination is taken for a product: a common base times one number theta a level. An outcome of a
combination says something about each of its levels, *exposed* as far as its partners are good: a level shown with bad
partners was hardly tried. From time to time (whenever outcomes have grown by 5 %) base, theta and exposure are fitted
anew to the counts of all combinations shown; in between, outcomes are added with what was fitted last.

With *trust*, an outcome counts for a level only as far as its partners are known: times the geometric mean of
``exposure / (exposure + M)`` of these, where M grows with the clicks so far. Without it a good level that was shown
early, with partners still unknown, looks bad on much evidence, and is hardly ever shown again.

The counts themselves, and who leads by empirical mean, are kept as in `rankone.policies.engines.unimodal`.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.numerics.arrays import Ints
from rankone.numerics.structures.slots import number_at, slot_of
from rankone.policies.engines.combinations import is_forbidden, number_of
from rankone.policies.engines.unimodal import LEADER_USED, LeaderState, count_outcome, start_leaders

# Rows of `parts`: clicks; exposure; theta; trust; clicks and exposure as far as partners are known.
PART_CLICKS, PART_EXPOSURE, PART_THETA, PART_TRUST, PART_SURE_CLICKS, PART_SURE_EXPOSURE = range(6)
# Fields of `setting`: prior; most distrust, and its growth with clicks; base; clicks and outcomes so far; refit at.
POOL_PRIOR, POOL_DISTRUST, POOL_GROWTH, POOL_BASE, POOL_TOTAL, POOL_OUTCOMES, POOL_REFIT_AT = range(7)
_SWEEPS, _GROWTH, _TRIES = 2, 1.05, 50


def fields_with_pool(*fields: str) -> Any:
    """Return the base class of a state with pooled evidence, and these fields of its own behind it."""
    return namedtuple("fields_with_pool", (*LeaderState._fields, "parts", "first", "setting", "pool", "order", *fields))


def start_pool(sizes: Ints, forbidden: Ints, prior: float, distrust: float, growth: float) -> tuple[Any, ...]:
    """Return the fields of `fields_with_pool` before the first decision, but for the own ones."""
    leaders = start_leaders(LeaderState, sizes, forbidden)
    parts = np.zeros((6, sizes.sum()))
    parts[PART_THETA] = parts[PART_TRUST] = 1.0
    setting = np.array([prior, distrust, growth, 0.5, 0.0, 0.0, 1.0])
    order = np.zeros(len(leaders.pulls) if len(leaders.keys) == 0 else 0, np.int64)
    context = np.full(len(sizes), 0.5)
    return (*leaders, parts, np.concatenate([[0], np.cumsum(sizes)[:-1]]), setting, context, order)


@noalloc
def _shown_slot(state: Any, place: int) -> int:
    """Return the slot of the combination that was the place-th to have an outcome."""
    return state.order[place] if len(state.keys) == 0 else place


@noalloc
def _product(state: Any, row: int, number: int) -> float:
    """Return the product of a row of `parts` over the levels of a combination."""
    found, sizes = 1.0, state.sizes
    for factor in range(len(sizes) - 1, -1, -1):
        rest = number // sizes[factor]
        found *= state.parts[row, state.first[factor] + number - rest * sizes[factor]]
        number = rest
    return found


@noalloc
def _sum_parts(state: Any, weighted: bool) -> None:
    """Sum clicks and exposure of every level over all combinations shown; weighted, as far as partners are known."""
    parts, sizes, base = state.parts, state.sizes, state.setting[POOL_BASE]
    partners = 1.0 / max(1, len(sizes) - 1)
    clicks_row, exposure_row = (PART_SURE_CLICKS, PART_SURE_EXPOSURE) if weighted else (PART_CLICKS, PART_EXPOSURE)
    for level in range(parts.shape[1]):
        parts[clicks_row, level] = parts[exposure_row, level] = 0.0
    for place in range(state.counters[LEADER_USED]):
        slot = _shown_slot(state, place)
        number = number_at(state.keys, slot)
        exposed = base * state.pulls[slot] * _product(state, PART_THETA, number)
        known = _product(state, PART_TRUST, number) if weighted else 1.0
        for factor in range(len(sizes) - 1, -1, -1):
            rest = number // sizes[factor]
            level = state.first[factor] + number - rest * sizes[factor]
            weight = (known / parts[PART_TRUST, level]) ** partners if weighted else 1.0
            parts[clicks_row, level] += weight * state.clicks[slot]
            parts[exposure_row, level] += weight * exposed / parts[PART_THETA, level]
            number = rest


@noalloc
def refit(state: Any) -> None:
    """Fit base, theta and exposure to the counts of all combinations shown."""
    parts, setting = state.parts, state.setting
    prior = setting[POOL_PRIOR]
    for _ in range(_SWEEPS):
        expected = 0.0
        for place in range(state.counters[LEADER_USED]):
            slot = _shown_slot(state, place)
            expected += state.pulls[slot] * _product(state, PART_THETA, number_at(state.keys, slot))
        setting[POOL_BASE] = (setting[POOL_TOTAL] + 0.5) / (expected + 1.0)
        _sum_parts(state, False)
        for level in range(parts.shape[1]):
            parts[PART_THETA, level] = (prior + parts[PART_CLICKS, level]) / (prior + parts[PART_EXPOSURE, level])
    distrust = min(setting[POOL_DISTRUST], setting[POOL_GROWTH] * setting[POOL_TOTAL])
    for level in range(parts.shape[1]):
        exposure = parts[PART_EXPOSURE, level]
        parts[PART_TRUST, level] = (exposure + 1e-9) / (exposure + 1e-9 + distrust)
    _sum_parts(state, True)
    best = setting[POOL_BASE]
    for factor in range(len(state.sizes)):
        best *= _largest_theta(state, factor)
    for factor in range(len(state.sizes)):
        state.pool[factor] = min(best, 0.99) / _largest_theta(state, factor)


@noalloc
def _largest_theta(state: Any, factor: int) -> float:
    largest = 0.0
    for level in range(state.sizes[factor]):
        largest = max(largest, state.parts[PART_THETA, state.first[factor] + level])
    return largest


@noalloc
def pooled_best(state: Any) -> int:
    """Return the combination of the levels with the largest theta."""
    found = 0
    for factor in range(len(state.sizes)):
        best, largest = 0, -1.0
        for level in range(state.sizes[factor]):
            theta = state.parts[PART_THETA, state.first[factor] + level]
            if theta > largest:
                best, largest = level, theta
        found = found * state.sizes[factor] + best
    return found


@noalloc
def draw_levels(state: Any, sharpness: float, rng: Any, shown: Any) -> bool:
    """Let every level draw, each factor by itself; fill in the largest draws. False: that is forbidden, always."""
    prior, parts = state.setting[POOL_PRIOR], state.parts
    for _ in range(_TRIES):
        for factor in range(len(state.sizes)):
            largest = -1.0
            for level in range(state.sizes[factor]):
                place = state.first[factor] + level
                clicks = prior + parts[PART_SURE_CLICKS, place]
                misses = max(0.5, (prior + parts[PART_SURE_EXPOSURE, place]) / state.pool[factor] - clicks)
                draw = rng.beta(sharpness * clicks, sharpness * misses)
                if draw > largest:
                    largest, shown[factor] = draw, level
        if len(state.forbidden) == 0 or not is_forbidden(state.sizes, state.forbidden, number_of(state.sizes, shown)):
            return True
    return False


def pool_outcome(state: Any, combination: int, reward: int) -> None:
    """Count an outcome of a combination, and of its levels."""
    parts, setting, sizes = state.parts, state.setting, state.sizes
    if len(state.forbidden) > 0 and is_forbidden(sizes, state.forbidden, combination):
        return
    count_outcome(state, combination, reward)
    slot = slot_of(state.keys, state.table, combination)
    if len(state.keys) == 0 and state.pulls[slot] == 1:
        state.order[state.counters[LEADER_USED]] = slot
        state.counters[LEADER_USED] += 1
    setting[POOL_OUTCOMES] += 1.0
    setting[POOL_TOTAL] += reward
    if setting[POOL_OUTCOMES] >= setting[POOL_REFIT_AT]:
        setting[POOL_REFIT_AT] = _GROWTH * setting[POOL_OUTCOMES] + 1.0
        refit(state)
        return
    exposed = setting[POOL_BASE] * _product(state, PART_THETA, combination)
    known, rest, partners = _product(state, PART_TRUST, combination), combination, 1.0 / max(1, len(sizes) - 1)
    for factor in range(len(sizes) - 1, -1, -1):
        above = rest // sizes[factor]
        level = state.first[factor] + rest - above * sizes[factor]
        weight = (known / parts[PART_TRUST, level]) ** partners
        parts[PART_CLICKS, level] += reward
        parts[PART_EXPOSURE, level] += exposed / parts[PART_THETA, level]
        parts[PART_SURE_CLICKS, level] += weight * reward
        parts[PART_SURE_EXPOSURE, level] += weight * exposed / parts[PART_THETA, level]
        rest = above
