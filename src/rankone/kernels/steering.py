"""What a live experiment mixes into a policy's decisions, so that it is decided some day: exploration and a control.

Each decision is a lottery whose probabilities are known. With the share of the control it is the control; of the rest,
the share of exploration is drawn by *product top-two*, and what is left is the policy's own decision.

**Product top-two.** One level is drawn for each factor, independently of the others: half of the time the level that
leads its factor, else one of its challengers, a small part evenly among all. One decision so serves the comparisons of
all factors at once, which is what the product model is for: with K and L levels it needs up to half the decisions of a
rule that compares a leader with one neighbour at a time. Challengers are those with the least evidence against them,
plus half the logarithm of how often they were shown: the rule of top-two sampling (Shang et al., AISTATS 2020; Jourdan
et al., NeurIPS 2022) on the evidence that the verdict is made of (`rankone.kernels.evidence`).

The probabilities of levels (`mix`) are renewed now and then (`plan`) and stay as they are in between.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.kernels.evidence import Floats, Ints
from rankone.kernels.policy import chances, decide, withdraw

EXPLORED = 2**62  # the tag of a decision that the policy did not make; it is told of its outcome all the same
# Fields of `Steering.shares`.
CONTROL, EXPLORE = range(2)
_EVEN = 0.04  # the part of exploration that goes evenly to all levels


class Steering(NamedTuple):
    """The lottery of a decision. Levels are those that the policy knows, numbered factor after factor."""

    shares: Floats  # (2,) of the control among all decisions, of exploration among the others
    control: Ints  # (factors,) the control's level of each factor, counted within the factor
    mix: Floats  # (levels,) the probability of each level of a factor where it is explored
    starts: Ints  # (factors + 1,) the first level of each factor, and the number of levels
    own: Ints  # (factors,) scratch space: what the policy decides


def start_steering(sizes: tuple[int, ...], explore: float = 0.0, control: Any = None, share: float = 0.0) -> Steering:
    """Return a lottery in which exploration is even."""
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    mix = np.concatenate([np.full(size, 1.0 / size) for size in sizes])
    held = np.zeros(len(sizes), np.int64) if control is None else np.array(control, np.int64)
    return Steering(np.array([share, explore]), held, mix, starts, np.zeros(len(sizes), np.int64))


@noalloc
def _draw(mix: Any, first: int, end: int, rng: Any) -> int:
    """Draw a level of a factor; return its place within the factor."""
    left = rng.random()
    for level in range(first, end - 1):
        left -= mix[level]
        if left < 0.0:
            return level - first
    return end - 1 - first


@noalloc
def _weigh_mix(steering: Any, shown: Any, factor: int, level: int) -> float:
    """Return the probability that exploration draws what is shown with another level of one factor."""
    product = 1.0
    for each in range(len(shown)):
        product *= steering.mix[steering.starts[each] + (level if each == factor else shown[each])]
    return product


@noalloc
def _is_control(steering: Any, shown: Any, factor: int, level: int) -> bool:
    for each in range(len(shown)):  # noqa: SIM110 - no generators in compiled code
        if steering.control[each] != (level if each == factor else shown[each]):
            return False
    return True


@noalloc
def steered_chances(state: Any, steering: Any, shown: Any, cross: Any) -> bool:
    """Fill in, for each level of each factor, the probability of what is shown with that level instead.

    Return False, and fill in nothing that can be used, where the policy cannot say.
    """
    control, explore = steering.shares[CONTROL], (1.0 - steering.shares[CONTROL]) * steering.shares[EXPLORE]
    own = 1.0 - control - explore
    if own <= 0.0:
        own = 0.0
        for level in range(len(cross)):
            cross[level] = 0.0
    elif not chances(state, shown, cross):
        return False
    for factor in range(len(shown)):
        first = steering.starts[factor]
        for level in range(first, steering.starts[factor + 1]):
            chance = own * cross[level]
            if explore > 0.0:
                chance += explore * _weigh_mix(steering, shown, factor, level - first)
            if control > 0.0 and _is_control(steering, shown, factor, level - first):
                chance += control
            cross[level] = chance
    return True


@noalloc
def steered_decide(state: Any, steering: Any, context: Any, rng: Any, shown: Any, cross: Any) -> int:
    """Fill in what to show and the probabilities of its cross (-1: not known); return the tag.

    The policy decides in any case: what it would have done has the same law whether or not it is done.
    """
    own, tag = steering.own, decide(state, context, rng, steering.own)
    for factor in range(len(shown)):
        shown[factor] = own[factor]
    control = steering.shares[CONTROL]
    steered = control + (1.0 - control) * steering.shares[EXPLORE]
    drawn = rng.random() if steered > 0.0 else 1.0  # a policy that runs alone draws as it does in studies
    overruled = drawn < steered
    if drawn < control:
        for factor in range(len(shown)):
            shown[factor] = steering.control[factor]
    elif overruled:
        for factor in range(len(shown)):
            shown[factor] = _draw(steering.mix, steering.starts[factor], steering.starts[factor + 1], rng)
    if len(cross) > 0 and not steered_chances(state, steering, shown, cross):
        cross[0] = -1.0
    if overruled:
        withdraw(state, own, tag)
        tag = EXPLORED
    return tag


@noalloc
def _beats_all(proof: Any, levels: Any, first: int, end: int, level: int, bar: float) -> bool:
    for other in range(first, end):  # noqa: SIM110
        if other != level and proof[levels[level], levels[other]] < bar:
            return False
    return True


@noalloc
def _lead(evidence: Any, levels: Any, first: int, end: int, level: int) -> float:
    """Return how far a level is ahead of the one that comes closest to it."""
    least = math.inf
    for other in range(first, end):
        if other != level:
            x, y = levels[level], levels[other]
            ahead = evidence.now[x, y] - evidence.now[y, x]
            least = ahead if ahead < least else least
    return least


def plan(evidence: Any, levels: Ints, starts: Ints, shown: Floats, bar: float, mix: Floats, leaders: Ints) -> bool:
    """Renew the mix: fill in the probabilities of exploration and who leads; return whether all factors are decided.

    Args:
        evidence: about all levels there ever were.
        levels: the number there of each living level.
        starts: the first living level of each factor, and the number of living levels.
        shown: how often each living level was shown.
        bar: the log evidence that decides.
        mix: the probabilities, to be filled in.
        leaders: the living level that leads each factor, to be filled in.
    """
    decided = True
    proof = evidence.proof if evidence.spared[0] < 0 else evidence.enough
    for factor in range(len(starts) - 1):
        first, end = starts[factor], starts[factor + 1]
        leader, most, won = first, -math.inf, False
        for level in range(first, end):
            lead = _lead(evidence, levels, first, end, level)
            beats = _beats_all(proof, levels, first, end, level, bar)
            if (beats and not won) or (beats == won and lead > most):
                leader, most, won = level, lead, won or beats
        leaders[factor] = leader
        decided &= won
        least = math.inf
        for level in range(first, end):
            mix[level] = math.inf
            if level != leader:
                mix[level] = proof[levels[leader], levels[level]] + 0.5 * math.log(1.0 + shown[level])
                least = mix[level] if mix[level] < least else least
        total = 0.0
        for level in range(first, end):
            mix[level] = 0.0 if won or level == leader else math.exp(least - mix[level])
            total += mix[level]
        even = 0.0 if won else _EVEN
        for level in range(first, end):
            if total > 0.0:
                mix[level] *= 0.5 * (1.0 - even) / total
            mix[level] += even / (end - first)
        if total > 0.0:
            mix[leader] += 0.5 * (1.0 - even)
        else:
            mix[leader] += 1.0 - even
    return decided
