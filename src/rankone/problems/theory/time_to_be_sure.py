"""How long it takes to be sure of the best combination: no rule is sooner, whichever combinations it shows.

Garivier and Kaufmann (COLT 2016): whoever names the best combination of every product with an error of at most e makes
on average at least ``T* d(e, 1 - e)`` decisions, d being the Bernoulli divergence (near T* log(1 / e) for small e)::

    1 / T* = max over shares w of   min over products x with another best combination of   sum_c w_c d(m_c, x_c)

All combinations may have shares, and x may differ in every number from the true product m. In the cheapest x one level
of one factor is as good as the best one (`_Alternative`). In the logarithms of the numbers the sum is convex, so
Newton's method finds it. The max over w is a game between w and mixtures of x: x are added until the value changes no
more. *Any* mixture bounds 1 / T* from above, so what is returned is a true bound even where the search ends early.

Levels with equal numbers share evenly at the best shares (the max is of a concave function that does not change when
they swap places), so combinations are looked at by *kind*. With more than `_MOST_KINDS` the bound is that of the factor
that takes longest, the others being known.

`star_time` is the same for rules that show only the best combination and what differs from it in one level (Poiani et
al., AISTATS 2025). It takes up to twice as long with two factors.
"""

import math

import numpy as np
import numpy.typing as npt

from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.kl import bernoulli_kl
from rankone.problems.product import Product
from rankone.problems.theory.bounds import plain_product

_HALVINGS = 45
_TRIED, _ROUNDS = 24, 5  # values of y at once, and how often the interval between two of them is looked into again
_MOST_KINDS = 300
_CLOSE, _MOST_ROUNDS = 2e-3, 60  # how near the two ends of the search have to come
_NEWTON, _RIDGE = 40, 1e-12
_HIGHEST = 1.0 - 1e-9  # a combination that is always clicked would have infinite divergences
_LOWEST = 1e-6  # part of the best level's number that others have at least, for the same reason


def least_decisions(problem: Product | str, error: float) -> float:
    """Return how many decisions any rule makes at least, on average, if it errs with probability at most `error`.

    >>> round(least_decisions("needle:8x6", 0.05))
    175
    """
    return characteristic_time(problem) * bernoulli_kl(error, 1.0 - error)


def characteristic_time(problem: Product | str) -> float:
    """Return T*: to be sure of the best with an error of e takes T* d(e, 1 - e) decisions or more, on average.

    It is infinite where combinations tie for the best, and 0 where there is only one.

    >>> round(characteristic_time("needle:8x6"))
    66
    """
    product = plain_product(problem)
    factors = [np.asarray(values, np.float64) for values in product.factors.values() if len(values) > 1]
    best = product.best_mean
    if not factors:
        return 0.0
    if best <= 0.0 or any(np.count_nonzero(values == values.max()) > 1 for values in factors):
        return math.inf
    shares = [np.maximum(values / values.max(), _LOWEST) for values in factors]
    kinds = [np.unique(each, return_counts=True) for each in shares]
    if math.prod(len(values) for values, _ in kinds) > _MOST_KINDS:
        return max(star_time(best, best * np.sort(each)[:-1]) for each in shares)
    return 1.0 / _most_evidence(min(best, _HIGHEST), [each[0] for each in kinds], [each[1] for each in kinds])


class _Alternative:
    """The products in which one level of a factor is as good as the best, seen from kinds of combinations."""

    def __init__(self, means: Floats, kinds: Ints, numbers: list[Floats], counts: list[Ints], factor: int, own: int):
        starts = np.cumsum([0, *map(len, numbers)])
        apart = np.flatnonzero(kinds[:, factor] == own)  # kinds of which a part has the level in question
        rows = np.zeros((len(means) + len(apart), starts[-1]))
        self._kind = np.concatenate([np.arange(len(means)), apart])
        for each in range(len(numbers)):
            rows[np.arange(len(rows)), starts[each] + kinds[self._kind, each]] = 1.0
        rows[len(means) :, starts[factor] + own] = 0.0
        rows[len(means) :, starts[factor] + len(numbers[factor]) - 1] = 1.0  # levels of a factor rise
        self._part = np.ones(len(rows))
        self._part[apart] = 1.0 - 1.0 / counts[factor][own]
        self._part[len(means) :] = 1.0 / counts[factor][own]
        self._rows, self._means, self._n_kinds = rows, means[self._kind], len(means)
        self._logs = np.log(np.concatenate(numbers))
        tied = [starts[factor] + own, starts[factor + 1] - 1]
        self._logs[tied[1]] = self._logs[tied].mean()

    def hardest(self, shares: Floats) -> Floats:
        """Return the divergence of each kind from the product here that these shares tell least from the true one."""
        weights = (shares[self._kind] + _RIDGE) * self._part
        value = self._value(self._logs, weights)
        for _ in range(_NEWTON):
            rates = np.exp(self._rows @ self._logs)
            slope = self._rows.T @ (weights * (rates - self._means) / (1.0 - rates))
            bend = (self._rows.T * (weights * rates * (1.0 - self._means) / (1.0 - rates) ** 2)) @ self._rows
            bend[np.diag_indices_from(bend)] += _RIDGE * (bend.trace() + 1e-300)
            step, part = -np.linalg.solve(bend, slope), 1.0
            while part > 1e-9 and not self._value(self._logs + part * step, weights) <= value:
                part *= 0.5
            before, value = value, min(value, self._value(self._logs + part * step, weights))
            if value >= before * (1.0 - 1e-9):
                break
            self._logs = self._logs + part * step
        each = self._part * _divergence(self._means, np.exp(self._rows @ self._logs))
        return np.asarray(np.bincount(self._kind, each, self._n_kinds), np.float64)

    def _value(self, logs: Floats, weights: Floats) -> float:
        logs = self._rows @ logs
        return math.inf if logs.max() >= 0.0 else float((weights * _divergence(self._means, np.exp(logs))).sum())


def _most_evidence(best: float, numbers: list[Floats], counts: list[Ints]) -> float:
    """Return 1 / T*, or a little more; the numbers of a factor's kinds of levels rise to 1."""
    kinds = np.indices([len(values) for values in numbers]).reshape(len(numbers), -1).T
    means = best * np.prod([values[kinds[:, factor]] for factor, values in enumerate(numbers)], axis=0)
    numbers = [values * (best if factor == 0 else 1.0) for factor, values in enumerate(numbers)]
    alternatives = [
        _Alternative(means, kinds, numbers, counts, factor, own)
        for factor, values in enumerate(numbers)
        for own in range(len(values) - 1)
    ]
    shares = np.full(len(means), 1.0 / len(means))
    known, sure, least, most = np.empty((0, len(means))), shares, 0.0, math.inf
    for number in range(_MOST_ROUNDS):
        told = np.array([each.hardest(shares) for each in alternatives])
        value = float((told @ shares).min())
        if value > least:
            least, sure = value, shares
        mixture, wanted = _play_game(np.vstack([known, told]))
        known = np.vstack([known, told])[mixture > 0.0]
        most = min(most, float((mixture[mixture > 0.0] @ known).max()))
        if most - least <= _CLOSE * most:
            break
        shares = 0.7 * sure + 0.3 * wanted if number % 2 else 0.9 * wanted + 0.1 * shares
    return most


def _play_game(payoff: Floats) -> tuple[Floats, Floats]:
    """Return the best mixtures of both sides of a game: of rows, who pay, and of columns. By the simplex method."""
    n_rows, n_cols = payoff.shape
    scale = float(payoff.max())
    table = np.zeros((n_cols + 1, n_rows + n_cols + 1))
    table[:-1, :n_rows], table[:-1, n_rows:-1], table[:-1, -1] = payoff.T / scale, np.eye(n_cols), 1.0
    table[-1, :n_rows] = -1.0
    basis = np.arange(n_rows, n_rows + n_cols)
    for _ in range(20 * (n_rows + n_cols)):
        column = int(np.argmin(table[-1, :-1]))
        if table[-1, column] >= -1e-11:
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(table[:-1, column] > 1e-12, table[:-1, -1] / table[:-1, column], np.inf)
        row = int(np.argmin(room))
        table[row] /= table[row, column]
        others = table[:, column].copy()
        others[row] = 0.0
        table -= np.outer(others, table[row])
        basis[row] = column
    mixture = np.zeros(n_rows + n_cols)
    mixture[basis] = np.maximum(table[:-1, -1], 0.0)
    wanted = np.maximum(table[-1, n_rows:-1], 0.0)
    return mixture[:n_rows] / mixture[:n_rows].sum(), wanted / wanted.sum()


def star_time(best: float, others: npt.ArrayLike) -> float:
    """Return T* of one arm with mean `best` against arms that are worse.

    By section 2.2 of the first paper: with x = w_a / w_b let g_a(x) = d(m_b, z) + x d(m_a, z), z the weighted mean. At
    the best shares all g_a are one y, at which the ratios d(m_b, z_a) / d(m_a, z_a) add up to 1. Found by halving
    intervals, for many y at once; z takes the place of x, since x = (m_b - z) / (z - m_a).

    >>> round(star_time(0.15, [0.10] * 7) * math.log(20))
    3550
    """
    means = np.asarray(others, np.float64)
    if len(means) == 0:
        return 0.0
    if not best > means.max():
        return math.inf
    means = np.maximum(means, 1e-6 * best)  # an arm that is never clicked would have an infinite divergence
    low, high = 1e-7, 1.0 - 1e-7  # y as a part of its largest value, beyond which some arm cannot be told apart
    most = float(_divergence(np.array(best), means).min())
    for _ in range(_ROUNDS):
        tried = np.linspace(low, high, _TRIED) if low > 1e-3 else np.geomspace(low, high, _TRIED)
        z = _means_at(tried * most, best, means)
        totals = (_divergence(np.array(best), z) / np.maximum(_divergence(means, z), 1e-300)).sum(axis=1)
        index = int(np.clip(np.searchsorted(totals, 1.0), 1, _TRIED - 1))
        low, high = float(tried[index - 1]), float(tried[index])
    y = 0.5 * (low + high) * most
    z = _means_at(np.array([y]), best, means)[0]
    shares = (best - z) / (z - means)
    return float((1.0 + shares.sum()) / y)


def _means_at(y: Floats, best: float, others: Floats) -> Floats:
    """Return, for each y and each arm, the z between the arm and the best at which g is y; g falls as z rises."""
    left = np.broadcast_to(others, (len(y), len(others))).copy()
    right = np.full_like(left, best)
    for _ in range(_HALVINGS):
        z = 0.5 * (left + right)
        with np.errstate(divide="ignore", invalid="ignore"):
            g = _divergence(np.array(best), z) + (best - z) / (z - others) * _divergence(others, z)
        above = g > y[:, None]
        left, right = np.where(above, z, left), np.where(above, right, z)
    return 0.5 * (left + right)


def _divergence(p: Floats, q: Floats) -> Floats:
    """Return d(p, q) of Bernoulli means; the two terms cancel where p and q are close, hence log1p."""
    with np.errstate(divide="ignore", invalid="ignore"):
        clicked = np.where(p > 0.0, -p * np.log1p((q - p) / np.where(p > 0.0, p, 1.0)), 0.0)
        rest = np.where(p < 1.0, -(1.0 - p) * np.log1p((p - q) / np.where(p < 1.0, 1.0 - p, 1.0)), 0.0)
    return np.asarray(clicked + rest)
