"""Evidence that one level brings more than another, of an outcome in [0, 1], whatever the whole site does meanwhile.

With the probabilities a and b of two levels x and y, given that it was one of the two, an amount U counts as U b if x
was shown and as - R U a if y was: with a mean of at most 0 if x brings at most R times what y does. Divided by
``s = R max(a, 1/2)`` that is at least -1, and a product of exponentials of it is a supermartingale (`BETS`). Its
logarithm takes four sums of each two levels (`gain`, `loss` and their squares) and can be had at any time for any ratio
R. The proof, and why the order of decisions does not matter: `docs/proofs.md`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.numerics.arrays import Floats, Ints, moved, starts_of

BETS = tuple(0.95 * 0.6**step for step in range(12))  # from large differences of outcomes that vary little, to small
WEIGHTS = tuple(0.8**step * (1.0 - 0.8) / (1.0 - 0.8 ** len(BETS)) for step in range(len(BETS)))
_GAIN_COSTS = tuple(0.5 * bet * bet for bet in BETS)
_LOSS_COSTS = tuple(-math.log1p(-bet) - bet for bet in BETS)
_LEAST = 0.5  # part of the probability of two levels by which weights are divided at least
_FURTHEST = math.log(100.0)  # intervals go no further than ratios of 100
_COARSE, _FINE = 460, 40  # places of a first look at where an interval ends, and of a second between two of them


class Amounts(NamedTuple):
    """What outcomes say about each ordered pair of levels of one factor; levels are numbered factor after factor.

    ``[x, y]`` is about "x brings more than y"; across factors everything is 0.
    """

    gain: Floats  # (levels, levels) what x brought, weighed
    loss: Floats  # what y brought
    gain2: Floats  # sums of the squares of what was added
    loss2: Floats
    proof: Floats  # the largest log evidence ever that x brings more than y
    enough: Floats  # and that x loses at most a factor to y
    starts: Ints  # (factors + 1,) the first level of each factor, and the number of levels
    margin: Floats  # (1,) that factor; 1: disabled


def start_amounts(sizes: tuple[int, ...], margin: float = 1.0) -> Amounts:
    """Return what is known before the first outcome.

    >>> start_amounts((2, 3)).gain.shape
    (5, 5)
    """
    gain, loss, gain2, loss2, proof, enough = np.zeros((6, sum(sizes), sum(sizes)))
    return Amounts(gain, loss, gain2, loss2, proof, enough, starts_of(sizes), np.array([margin]))


def resized_amounts(amounts: Amounts, sizes: tuple[int, ...], margin: float) -> Amounts:
    """Return the same with room for new levels, the last ones of their factor, and for new factors."""
    result = start_amounts(sizes, margin)
    old = moved(amounts.starts, result.starts)
    for name in ("gain", "loss", "gain2", "loss2", "proof", "enough"):
        getattr(result, name)[np.ix_(old, old)] = getattr(amounts, name)
    if margin != amounts.margin[0]:  # of another margin nothing was proven yet
        result.enough[:] = 0.0
    return result


@noalloc
def log_evidence(gain: float, loss: float, gain2: float, loss2: float, ratio: float) -> float:
    """Return the log evidence that one level brings more than `ratio` times what another does, by their sums."""
    most, total = -math.inf, 0.0
    gain, gain2 = gain / ratio, gain2 / (ratio * ratio)
    for index in range(len(BETS)):
        each = BETS[index] * (gain - loss) - _GAIN_COSTS[index] * gain2 - _LOSS_COSTS[index] * loss2
        most = max(most, each)
    for index in range(len(BETS)):
        each = BETS[index] * (gain - loss) - _GAIN_COSTS[index] * gain2 - _LOSS_COSTS[index] * loss2
        total += WEIGHTS[index] * math.exp(each - most)
    return most + math.log(total)


@noalloc
def _note(amounts: Any, x: int, y: int) -> None:
    sums = amounts.gain[x, y], amounts.loss[x, y], amounts.gain2[x, y], amounts.loss2[x, y]
    amounts.proof[x, y] = max(amounts.proof[x, y], log_evidence(sums[0], sums[1], sums[2], sums[3], 1.0))
    if amounts.margin[0] > 1.0:
        enough = log_evidence(sums[0], sums[1], sums[2], sums[3], 1.0 / amounts.margin[0])
        amounts.enough[x, y] = max(amounts.enough[x, y], enough)


def weigh_amounts(amounts: Any, shown: Ints, values: Floats, crosses: Floats) -> None:
    """Learn from outcomes in [0, 1], one per row; `shown` and `crosses` as in `rankone.evidence.levels.weigh`."""
    for row in range(len(values)):
        for factor in range(shown.shape[1]):
            x = shown[row, factor]
            a = crosses[row, x]
            for y in range(amounts.starts[factor], amounts.starts[factor + 1]):
                b = crosses[row, y]
                if y == x or not a > 0.0 or not b > 0.0:
                    continue
                here, there = a / (a + b), b / (a + b)
                won, lost = values[row] * there / max(here, _LEAST), values[row] * there / max(there, _LEAST)
                amounts.gain[x, y] += won
                amounts.gain2[x, y] += won * won
                amounts.loss[y, x] += lost
                amounts.loss2[y, x] += lost * lost
                _note(amounts, x, y)
                _note(amounts, y, x)


def present(amounts: Amounts) -> Floats:
    """Return the log evidence by now, (levels, levels), that one level brings more than another."""
    return evidence_of_sums(amounts.gain, amounts.loss, amounts.gain2, amounts.loss2)


def evidence_of_sums(gain: Any, loss: Any, gain2: Any, loss2: Any) -> Floats:
    """Return `log_evidence` of arrays of sums, for the ratio 1."""
    bets = (np.array(each).reshape(-1, *(1,) * np.ndim(gain)) for each in (BETS, _GAIN_COSTS, _LOSS_COSTS, WEIGHTS))
    bet, gain_cost, loss_cost, weight = bets
    logs = bet * (gain - loss) - gain_cost * gain2 - loss_cost * loss2 + np.log(weight)
    return np.asarray(np.logaddexp.reduce(logs, axis=0))


def estimate(amounts: Amounts, x: int, y: int) -> float | None:
    """Return what x brings for each that y does; None: one of them brought nothing yet."""
    gain, loss = float(amounts.gain[x, y]), float(amounts.loss[x, y])
    return gain / loss if gain > 0.0 and loss > 0.0 else None


def log_likelihoods(amounts: Amounts, ratios: Floats) -> Floats:
    """Return, (levels, levels, ratios), about how likely sums are at each ratio over 1: estimates rest on it, no proof.

    The log of the estimated ratio is taken to be normal; its variance is that of the sums.
    """
    known = (amounts.gain > 0.0) & (amounts.loss > 0.0)
    gain, loss = (np.where(known, each, 1.0) for each in (amounts.gain, amounts.loss))
    apart, logs = np.log(gain / loss)[..., None], np.log(ratios)
    variance = np.maximum(amounts.gain2 / gain**2 + amounts.loss2 / loss**2, 1e-12)[..., None]
    return np.asarray(np.where(known[..., None], (logs * apart - 0.5 * logs**2) / variance, 0.0))


def ratio_interval(amounts: Amounts, x: int, y: int, error: float) -> tuple[float, float | None]:
    """Return between which ratios x brings what y does, at all times but for the error; None: no bound yet.

    An end is the first ratio, from the far side on, of which the evidence does not reach 2 / error. So an interval
    without the true ratio means that the evidence at just this ratio is there, which Ville's inequality bounds.

    >>> amounts = start_amounts((2,))
    >>> weigh_amounts(amounts, np.array([[0], [1]] * 400), np.array([0.5, 0.2] * 400), np.full((800, 2), 0.5))
    >>> low, high = ratio_interval(amounts, 0, 1, 0.05)
    >>> 1.8 < low < 2.5 < high < 3.3
    True
    """
    bar = math.log(2.0 / error)
    low, high = _lower_end(amounts, x, y, bar), _lower_end(amounts, y, x, bar)
    return low, 1.0 / high if high > 0.0 else None


def _lower_end(amounts: Amounts, x: int, y: int, bar: float) -> float:
    """Return up to which ratio it is proven of each that x brings more than that for each of y; 0: of none."""
    places, result = np.linspace(-_FURTHEST, _FURTHEST, _COARSE), -math.inf
    gain, loss, gain2, loss2 = (float(each[x, y]) for each in amounts[:4])
    for _ in range(2):
        proven = evidence_of_sums(gain / np.exp(places), loss, gain2 / np.exp(2.0 * places), loss2) >= bar
        if not proven[0]:
            break
        result = float(places[-1] if proven.all() else places[np.argmin(proven) - 1])
        places = np.linspace(result, result + 2.0 * _FURTHEST / (_COARSE - 1), _FINE)
    return math.exp(result)


def error_shares(error: float, n_goals: int) -> list[float]:
    """Return the error of each goal's statements: the first has half, the others share the other half.

    So the winner and all statements about the other goals are wrong with probability at most `error` together, whatever
    depends on what. That a level is out, and intervals of the first goal, have its part for themselves, as always.

    >>> error_shares(0.05, 1), error_shares(0.06, 3)
    ([0.05], [0.03, 0.015, 0.015])
    """
    return [error] if n_goals == 1 else [error / 2.0, *[error / 2.0 / (n_goals - 1)] * (n_goals - 1)]
