"""A policy for any number of factors, small enough to read: each level at random, those that were clicked more often."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

import rankone
from rankone.kernels.policy import chance, decide, learn, relearn


class DiceState(NamedTuple):
    weights: np.ndarray  # (levels,) of all factors one behind the other
    sizes: np.ndarray  # (factors,)


@dataclass(frozen=True)
class Dice(rankone.Policy):
    """A level of each factor at random, the more often the more clicks it had."""

    name: ClassVar[str] = "test-dice"
    decision_kind: ClassVar[str] = "combination"

    def start(self, *sizes):
        return DiceState(np.ones(sum(sizes)), np.array(sizes))


@decide.register(DiceState)
def _decide(state, context, rng, shown):
    first = 0
    for factor in range(len(shown)):
        end = first + state.sizes[factor]
        left = rng.random() * state.weights[first:end].sum()
        shown[factor] = end - 1 - first
        for level in range(first, end):
            left -= state.weights[level]
            if left < 0.0:
                shown[factor] = level - first
                break
        first = end
    return 0


@chance.register(DiceState)
def _chance(state, shown):
    first, found = 0, 1.0
    for factor in range(len(shown)):
        end = first + state.sizes[factor]
        found *= state.weights[first + shown[factor]] / state.weights[first:end].sum()
        first = end
    return found


@learn.register(DiceState)
def _learn(state, shown, tag, outcome):
    first = 0
    for factor in range(len(shown)):
        state.weights[first + shown[factor]] += 0.1 * outcome[0]
        first += state.sizes[factor]


@relearn.register(DiceState)
def _relearn(state, shown, pulls, clicks):
    first = 0
    for factor in range(len(shown)):
        state.weights[first + shown[factor]] += 0.1 * clicks
        first += state.sizes[factor]
