"""Policies that look at features, as written down: every matrix is inverted, every list computes every index, with
Numpy and nothing shared with the engine. Of the same random numbers they show the same lists."""

from __future__ import annotations

import itertools
import math

import numpy as np


def observed(clicks, until: str) -> int:
    """How many positions of a list count as looked at."""
    places = np.flatnonzero(clicks)
    if until == "all" or len(places) == 0:
        return len(clicks)
    return int(places[0] if until == "first" else places[-1]) + 1


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


class Twin:
    """Beliefs of a linear policy: precision V and sums b; scores are tied at random by `ties`, the smaller first."""

    def __init__(self, d: int, n_positions: int, rng, until: str = "first", examination=None) -> None:
        self.d, self.k, self.rng = d, n_positions, rng
        self.until, self.t = until if examination is None else "all", 0
        self.seen = np.ones(n_positions) if examination is None else np.array(examination)
        self.precision, self.sums = np.eye(d), np.zeros(d)

    def scores(self, x):
        raise NotImplementedError

    def weight(self, x, shown):
        """What an observation of each shown item counts."""
        return np.ones(len(shown))

    def bounds(self, x, radius):
        inverse = np.linalg.inv(self.precision)
        mean, width = x @ inverse @ self.sums, np.sqrt(((x @ inverse) * x).sum(axis=1))
        return mean - radius * width, mean + radius * width

    def drawn(self, x, mean, scale):
        z = self.rng.standard_normal(len(mean))
        return x @ (mean + scale * np.linalg.solve(np.linalg.cholesky(self.precision).T, z))

    def show(self, features):
        x = self.design(features)
        scores, ties = self.scores(x), self.rng.random(len(x))
        best = np.lexsort([ties, -scores])[: self.k]
        shown = np.empty(self.k, int)
        shown[np.argsort(-self.seen, kind="stable")] = best
        self.t += 1
        self.kept = x[shown], self.weight(x, shown), shown.tolist()
        return shown

    def design(self, features):
        return features

    def tell(self, clicks) -> None:
        x, weights, items = self.kept
        for place in range(observed(clicks, self.until)):
            self.learn(x[place], weights[place], self.seen[place], clicks[place], items[place])
        self.finished()

    def learn(self, x, weight, looks, clicked, item) -> None:
        self.precision = self.precision + looks * weight * np.outer(x, x)
        self.sums = self.sums + weight * clicked * x

    def finished(self) -> None:
        pass


class LinTS(Twin):
    sigma = 0.25

    def scores(self, x):
        return self.drawn(x, np.linalg.solve(self.precision, self.sums), 1.0)

    def weight(self, x, shown):
        return np.full(len(shown), self.sigma**-2)


class LinTSCascade(Twin):
    lam = 0.01

    def scores(self, x):
        v = 0.25 * math.sqrt(9.0 * self.d * math.log(self.t + 1))
        return self.drawn(x, np.linalg.solve(self.precision, self.sums), self.lam * v * math.sqrt(self.k))


class LinUCB(Twin):
    sigma, c = 0.5, 2.0

    def scores(self, x):
        return np.minimum(1.0, self.bounds(x, self.c)[1])

    def weight(self, x, shown):
        return np.full(len(shown), self.sigma**-2)


class C3(Twin):
    noise, horizon, discount = 0.5, 1_000, 0.9

    def __init__(self, d, n_positions, *more) -> None:
        super().__init__(d, n_positions, *more)
        self.ridge = sum(self.discount ** (2 * k) for k in range(n_positions))
        self.precision = self.ridge * np.eye(d)

    def scores(self, x):
        logs = np.linalg.slogdet(self.precision)[1] - self.d * math.log(self.ridge) + math.log(self.horizon)
        return np.minimum(1.0, self.bounds(x, self.noise * math.sqrt(logs) + math.sqrt(self.ridge))[1])

    def weight(self, x, shown):
        return self.discount ** (2.0 * np.arange(len(shown)))


class VAC2(Twin):
    radius, floor = 2.0, 0.01

    def scores(self, x):
        low, high = (np.clip(bound, 0.0, 1.0) for bound in self.bounds(x, self.radius))
        self.variance = np.where(high <= 0.5, high * (1 - high), np.where(low >= 0.5, low * (1 - low), 0.25))
        return high

    def weight(self, x, shown):
        return 1.0 / np.maximum(self.floor, self.variance[shown])


class WOFUL(Twin):
    radius = 2.0

    def __init__(self, d, n_positions, *more) -> None:
        super().__init__(d, n_positions, *more)
        self.plain, self.plain_sums = np.eye(d), np.zeros(d)

    def scores(self, x):
        return self.bounds(x, self.radius)[1]

    def weight(self, x, shown):
        inverse, its = np.linalg.inv(self.plain), x[shown]
        width = np.sqrt(((its @ inverse) * its).sum(axis=1))
        bound = np.minimum(1.0, its @ inverse @ self.plain_sums + self.radius * width)
        return 1.0 / np.maximum(bound, 1.0 / self.k)

    def learn(self, x, weight, looks, clicked, item) -> None:
        super().learn(x, weight, looks, clicked, item)
        self.plain, self.plain_sums = self.plain + looks * np.outer(x, x), self.plain_sums + clicked * x


class LogitTS(Twin):
    """Laplace one observation after the other; all counts fitted again when lists have grown by a tenth."""

    alpha, sd, base, refits = 0.5, 10.0, 0.05, True

    def __init__(self, d, n_positions, *more) -> None:
        super().__init__(d + 1, n_positions, *more)
        self.prior = np.append(np.full(d, self.sd**-2), 1.0)
        self.at = np.append(np.zeros(d), math.log(self.base / (1.0 - self.base)))
        self.precision, self.mean, self.cells, self.next_fit = np.diag(self.prior), self.at.copy(), {}, 1_000
        self.learned = 0

    def design(self, features):
        return np.column_stack([features, np.ones(len(features))])

    def scores(self, x):
        return self.drawn(x, self.mean, self.alpha)

    def learn(self, x, weight, looks, clicked, item) -> None:
        along = np.linalg.solve(self.precision, x)
        score, variance = x @ self.mean, x @ along
        low, high = score + variance * (clicked - looks), score + variance * clicked
        for _ in range(80):
            e = 0.5 * (low + high)
            low, high = (low, e) if e > score + variance * (clicked - looks * sigmoid(e)) else (e, high)
        rate = sigmoid(e)
        self.mean = self.mean + along * (clicked - looks * rate)
        self.precision = self.precision + looks * rate * (1.0 - rate) * np.outer(x, x)
        cell = self.cells.setdefault(item, [x, 0.0, 0.0])
        self.refits &= bool(np.all(cell[0] == x))
        cell[1], cell[2] = cell[1] + looks, cell[2] + clicked

    def finished(self) -> None:
        self.learned += 1
        if self.learned >= self.next_fit and self.refits:
            self.fit()
            self.next_fit = max(self.learned + 1, int(1.1 * self.learned))

    def fit(self) -> None:
        x, pulls, clicks = (np.array(column) for column in zip(*self.cells.values(), strict=True))
        for _ in range(200):
            rates = sigmoid(x @ self.mean)
            slope = self.prior * (self.at - self.mean) + x.T @ (clicks - pulls * rates)
            self.precision = np.diag(self.prior) + (x * (pulls * rates * (1 - rates))[:, None]).T @ x
            step = np.linalg.solve(self.precision, slope)
            self.mean = self.mean + step / max(1.0, float(np.abs(x @ step).max()))
            if slope @ step < 1e-13:
                break


class LogitUCB(LogitTS):
    def scores(self, x):
        width = np.sqrt(((x @ np.linalg.inv(self.precision)) * x).sum(axis=1))
        return x @ self.mean + self.alpha * math.sqrt(2.0 * math.log(self.t + 1.0)) * width


class LogitCombinations(LogitTS):
    """Combinations for visitors with features: every allowed combination is tried."""

    def __init__(self, sizes, d, rng, forbidden=()) -> None:
        levels = sum(sizes)
        super().__init__((1 + d) * (1 + levels) - 1, 1, rng)
        spread = np.full((1 + d, 1 + levels), 0.3)
        spread[0], spread[:, 0] = 0.5, 0.5
        spread[0, 0] = 1.0
        self.prior, self.at = spread.ravel() ** -2, np.zeros(spread.size)
        self.at[0] = math.log(0.05 / 0.95)
        self.precision, self.mean = np.diag(self.prior), self.at.copy()
        rules = [tuple(rule) for rule in forbidden]
        self.allowed = [
            each
            for each in itertools.product(*map(range, sizes))
            if not any(all(r in (-1, level) for r, level in zip(rule, each, strict=True)) for rule in rules)
        ]
        starts = np.cumsum([1, *sizes[:-1]])
        self.indicators = np.zeros((len(self.allowed), 1 + levels))
        for row, each in zip(self.indicators, self.allowed, strict=True):
            row[0], row[starts + np.array(each)] = 1.0, 1.0

    def show_to(self, visitor):
        x = np.array([np.outer([1.0, *visitor], row).ravel() for row in self.indicators])
        best = int(self.scores(x).argmax())
        self.kept = x[[best]], np.ones(1), [(best, *visitor)]
        return self.allowed[best]


def gibbs_mean(x, y, prior_mean, precision, rng, sweeps: int = 4_000):
    """Mean and deviations of a logistic posterior by Polya-Gamma Gibbs sampling (Polson, Scott, Windle 2013)."""
    weights, k = prior_mean.copy(), np.arange(1, 201) - 0.5
    kept = []
    for sweep in range(sweeps):
        tilt = (x @ weights) / (2.0 * math.pi)
        omega = (rng.exponential(size=(len(x), len(k))) / (k**2 + tilt[:, None] ** 2)).sum(axis=1) / (2 * math.pi**2)
        covariance = np.linalg.inv((x * omega[:, None]).T @ x + np.diag(precision))
        mean = covariance @ (x.T @ (y - 0.5) + precision * prior_mean)
        weights = mean + np.linalg.cholesky(covariance) @ rng.standard_normal(len(mean))
        if sweep >= sweeps // 10:
            kept.append(weights)
    return np.mean(kept, axis=0), np.std(kept, axis=0)


TWINS = {
    "cascade-lin-ts": LinTS,
    "lin-ts-cascade": LinTSCascade,
    "cascade-lin-ucb:sigma=0.5,c=2": LinUCB,
    "c3-ucb:noise=0.5,discount=0.9,horizon=1000": C3,
    "cascade-woful": WOFUL,
    "vac2-ucb": VAC2,
    "cascade-logit-ts": LogitTS,
    "cascade-logit-ucb": LogitUCB,
}
