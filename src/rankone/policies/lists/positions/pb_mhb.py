"""PB-MHB: Gauthier, Gaudel, Fromont, "Position-Based Multiple-Play Bandits with Thompson Sampling" (2020; IDA 2021),
section 3.

Thompson sampling where neither attraction nor examination is known, by one particle that a Metropolis-Hastings chain
moves once before every list: each attraction in turn, then each examination but that of position 1, **which is fixed at
1**: the rule takes for granted that position 1 is the most examined, and fails where it is not (`gibbs-ts` does not).
A step is a Gaussian of width c / sqrt(t) around the present value, cut off at 0 and 1 (what is cut off enters the
acceptance). Every item at every position starts with half a click and half a miss. Sorted attractions meet sorted
examinations.

The paper has c = 1000, with which steps are almost uniform for a million lists and few are accepted; here c = 1.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from rankone.compiling.compiled import noalloc
from rankone.kernels.policy import decide, learn
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.states import start_state
from rankone.policies.base import ListPolicy
from rankone.policies.engines.lists.layout import rank_largest, show_largest

_EDGE = 1e-12  # 0 and 1 themselves have no likelihood


class PBMHBState(NamedTuple):
    """What was seen of every item at every position, and the particle."""

    misses: Annotated[Ints, "L, K"]  # displays without a click
    clicks: Annotated[Ints, "L, K"]
    attraction: Annotated[Floats, "L"]
    examination: Annotated[Floats, "K"]
    top: Annotated[Ints, "K"]  # scratch space
    positions: Annotated[Ints, "K"]  # scratch space
    counters: Annotated[Ints, "1"]  # lists so far
    settings: Annotated[Floats, "2"]  # c; the prior


@dataclass(frozen=True)
class PBMHB(ListPolicy):
    """Thompson sampling of attraction and examination by Metropolis-Hastings; position 1 has to be the best.

    Args:
        c: width of the steps: c / sqrt(t) before list t.
        prior: clicks, and misses, that every item starts with at every position.
    """

    name = "pb-mhb"
    use_when = "a comparison with the literature on unknown examination"
    c: Annotated[float, "(0, inf)"] = 1.0
    prior: Annotated[float, "[0, inf)"] = 0.5

    def _begin(self, n_items: int, n_positions: int) -> PBMHBState:
        return start_state(PBMHBState, L=n_items, K=n_positions, examination=1.0, settings=[self.c, self.prior])


@noalloc
def _log_likelihood(state: Any, line: int, of_item: bool, value: float) -> float:
    """Return what one factor adds to the logarithm of the posterior."""
    partners = state.examination if of_item else state.attraction
    total, log_value = 0.0, math.log(value)
    for slot in range(len(partners)):
        item, position = (line, slot) if of_item else (slot, line)
        clicks, misses = state.clicks[item, position], state.misses[item, position]
        rest = max(1.0 - value * partners[slot], _EDGE)
        total += (clicks + state.settings[1]) * log_value + (misses + state.settings[1]) * math.log(rest)
    return total


@noalloc
def _step(value: float, width: float, rng: Any) -> float:
    """Draw from a Gaussian around a value, cut off at 0 and 1."""
    while True:
        if width > 0.5:  # most of a wide one would be thrown away
            result = rng.random()
            away = (result - value) / width
            if rng.random() < math.exp(-0.5 * (away * away)):
                return result
        else:
            result = value + width * math.sqrt(-2.0 * math.log(1.0 - rng.random())) * math.cos(
                2.0 * math.pi * rng.random()
            )
            if 0.0 < result < 1.0:
                return result


@noalloc
def _log_inside(value: float, width: float) -> float:
    """Return the logarithm of how much of a Gaussian around a value lies between 0 and 1."""
    scale = 1.0 / (width * math.sqrt(2.0))
    return math.log(math.erf((1.0 - value) * scale) + math.erf(value * scale))


@noalloc
def _move(state: Any, line: int, of_item: bool, value: float, width: float, rng: Any) -> float:
    result = min(max(_step(value, width, rng), _EDGE), 1.0 - _EDGE)
    gain = _log_likelihood(state, line, of_item, result) - _log_likelihood(state, line, of_item, value)
    gain += _log_inside(value, width) - _log_inside(result, width)
    return result if math.log(1.0 - rng.random()) < gain else value


@decide.register(PBMHBState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    attraction, examination = state.attraction, state.examination
    if state.counters[0] == 0:
        for item in range(len(attraction)):
            attraction[item] = min(max(rng.random(), _EDGE), 1.0 - _EDGE)
        for position in range(1, len(examination)):
            examination[position] = min(max(rng.random(), _EDGE), 1.0 - _EDGE)
    state.counters[0] += 1
    width = state.settings[0] / math.sqrt(state.counters[0])
    for item in range(len(attraction)):
        attraction[item] = _move(state, item, True, attraction[item], width, rng)
    for position in range(1, len(examination)):
        examination[position] = _move(state, position, False, examination[position], width, rng)
    rank_largest(examination, examination, state.positions)
    show_largest(state, attraction, attraction, shown)
    return 0


@learn.register(PBMHBState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    for position in range(len(shown)):
        if outcome[position]:
            state.clicks[shown[position], position] += 1
        else:
            state.misses[shown[position], position] += 1
