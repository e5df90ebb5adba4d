"""How large is a deviation from the product, and what does it cost? With millions of impressions every model is wrong.

Let p be the fitted product and d = (rate - p) / p the relative deviation of a combination. Deviations are an error of
the fitted levels, an interaction of its own for each combination, of standard deviation t, and noise:

    d_c = sum over factors of e_(level of c) + i_c + noise,    i_c ~ N(0, t^2),   noise ~ N(0, v_c),
    v_c = dispersion (1 - p_c) / (impressions_c p_c)

**Size.** Q(t^2), the sum of squared residuals over v + t^2 with the levels fitted by the same weights, is chi-squared
with (combinations - levels left free) degrees of freedom at the true t^2, and falls with t^2. So chi-squared numbers,
turned into t^2 by Q, are a distribution of what t^2 may be (the Q-profile of meta-analysis: Viechtbauer, Statistics in
Medicine 26, 2007), with 0 where Q starts below them; an estimated dispersion adds its own scatter. For the upper end of
the interval Q counts as at least its expectation without interactions (a power-constrained limit: Cowan, Cranmer, Gross
and Vitells 2011): that only makes it wider. The share of the variance between combinations that is interaction is what
t^2 leaves after fitting, t^2 (degrees of freedom) / (combinations), over that plus the variance of the fitted log
rates.

**Cost.** Who shows the product's best combination b loses 1 - m_b / max m of the best clicks. Rates m are drawn given
the data and each t^2 (levels, then interactions), so the loss has a distribution, of which the mean and the two ends
are told. Everything is as if deviations were normal: with a handful of expected clicks per combination that is rough
(`tests/clicks/test_misfit.py` measures how often the truth is inside).
"""

import dataclasses
import math
from typing import Any

import numpy as np

from rankone.clicks.counts.dispersion import BINOMIAL, Dispersion
from rankone.numerics.arrays import Floats, Ints, starts_of
from rankone.wording.numbers import percent

_GRID = 40  # values of t^2 that are looked at
_DRAWS = 1000
_MOST_LEVELS, _MOST_COMBINATIONS = 400, 20_000  # of all factors; and of those whose fitted rates are highest
_LITTLE = 0.05  # of the clicks: a loss that is not worth a word
_MINOR = 0.5  # of the variance: where more may be interaction, a level is not good or bad by itself


@dataclasses.dataclass(frozen=True)
class Misfit:
    """How far click rates are from a product, noise removed, and what showing the product's best costs.

    Intervals of size and share hold nineteen times in twenty, and so does each end of the loss, which is a share of the
    clicks of the best combination.
    """

    deviation: float  # relative standard deviation of the combinations' rates around the product
    deviation_low: float
    deviation_high: float
    share: float  # of the variance between combinations that is interaction
    share_low: float
    share_high: float
    lost: float  # on average
    lost_low: float
    lost_high: float

    @property
    def costs_little(self) -> bool:
        """Whether the product's best loses a twentieth of the best clicks at most, and levels act mostly alone."""
        return self.lost_high <= _LITTLE and self.share_high <= _MINOR

    @property
    def at_most(self) -> str:
        """The largest loss that is likely, in words."""
        return f"at most {percent(max(self.lost_high, 0.001), 2)}"

    def sentence(self, doubtful: bool) -> str:
        """What it costs, in words: while no test doubts the product, only how much it can cost."""
        if not doubtful:
            return f"If combinations do interact, choosing level by level costs {self.at_most} of clicks."
        cost = f"Choosing level by level costs about {percent(self.lost, 2)} of clicks"
        if self.costs_little:
            return f"{cost}, {self.at_most}: interaction matters little here."
        if self.lost_low > _LITTLE:
            return f"{cost} ({percent(self.lost_low, 2)} to {percent(self.lost_high, 2)}): choose whole combinations."
        more = "the best is found all the same" if self.lost_high <= _LITTLE else "more data would tell if that matters"
        return f"{cost}, {self.at_most}; {more}."


def measure_misfit(
    cells: Ints,
    sizes: tuple[int, ...],
    shown: Ints,
    clicked: Ints,
    rates: Floats,
    rng: np.random.Generator,
    dispersion: Dispersion = BINOMIAL,
) -> Misfit | None:
    """Return size and cost of the deviations from a fitted product; None where there is nothing to tell them by.

    `cells` (n, factors) are the levels of each combination, `rates` (n,) those that the product fits.

    >>> from rankone.numerics.seeds import generator
    >>> cells = np.argwhere(np.ones((2, 2)))
    >>> rates = np.array([0.4, 0.2, 0.2, 0.1])
    >>> found = measure_misfit(cells, (2, 2), np.full(4, 10**7), (rates * 10**7).astype(int), rates, generator(0))
    >>> found.lost_high < 0.01
    True
    """
    used = (rates > 0.0) & (shown > 0)
    cells, shown, clicked, rates = cells[used], shown[used], clicked[used], np.clip(rates[used], 1e-12, 1.0 - 1e-9)
    if sum(sizes) > _MOST_LEVELS or not len(cells):
        return None
    model = _Model(
        cells, sizes, rates, (clicked / shown - rates) / rates, dispersion.value * (1.0 - rates) / (shown * rates)
    )
    if model.freedom < 1:
        return None
    quantiles = rng.chisquare(model.freedom, _DRAWS)
    if math.isfinite(dispersion.freedom):
        quantiles /= rng.chisquare(dispersion.freedom, _DRAWS) / dispersion.freedom
    grid = model.grid(float(quantiles.min()))
    fits = [model.fitted(each) for each in grid]
    statistics = np.array([fit[0] for fit in fits])
    place = np.interp(-quantiles, -statistics, np.arange(len(grid)))  # found falls, from the first that is asked for
    drawn = np.where(quantiles >= statistics[0], 0.0, np.interp(place, np.arange(len(grid)), grid))
    by_chance = np.maximum(statistics, [model.expected(each) for each in grid])
    most = np.where(quantiles >= by_chance[0], 0.0, np.interp(-quantiles, -by_chance, grid))
    point = 0.0 if model.freedom >= statistics[0] else float(np.interp(-model.freedom, -statistics, grid))
    where = np.where(drawn > 0.0, np.rint(place), 0.0).astype(np.int64)
    losses = np.concatenate(
        [model.losses(fits[at], float(grid[at]), int((where == at).sum()), rng) for at in np.unique(where).tolist()]
    )
    left, main = model.freedom / len(cells), model.main_variance(fits[0])
    sizes_of = [point, float(np.quantile(drawn, 0.025)), float(np.quantile(most, 0.975))]
    deviations = (math.sqrt(each) for each in sizes_of)
    shares = (left * each / (left * each + main) if each > 0.0 else 0.0 for each in sizes_of)
    values = [*deviations, *shares, float(losses.mean()), *np.quantile(losses, [0.05, 0.95]).tolist()]
    return Misfit(*values)


class _Model:
    """Relative deviations with their design: which levels each combination has."""

    def __init__(self, cells: Ints, sizes: tuple[int, ...], rates: Floats, off: Floats, noise: Floats) -> None:
        self._sizes, self._off, self._noise = sizes, off, noise
        self._starts = starts_of(sizes)[:-1]
        self._places, self._levels = cells + self._starts, sum(sizes)
        self._design = np.zeros((len(cells), self._levels))
        np.put_along_axis(self._design, self._places, 1.0, axis=1)
        self.freedom = len(cells) - int(np.linalg.matrix_rank(self._design))
        logs: Any = np.linalg.lstsq(self._design, np.log(rates), rcond=None)[0]
        #: The log of each level's number, up to a constant a factor; not a number where it was not shown.
        self._log = np.where(self._design.any(axis=0), logs, np.nan)

    def grid(self, least: float) -> Floats:
        """Return values of t^2 from 0 to where Q is below the least number that is asked for."""
        most = 1e-6
        while max(self.fitted(most)[0], self.expected(most)) > least and most < 1e4:
            most *= 4.0
        return np.concatenate([[0.0], np.geomspace(most * 1e-6, most, _GRID - 1)])

    def fitted(self, own: float) -> tuple[float, Floats, Floats]:
        """Return Q, the errors of the levels and their covariance, if interactions have this variance."""
        weights = 1.0 / (self._noise + own)
        inverse: Any = np.linalg.pinv((self._design * weights[:, None]).T @ self._design, hermitian=True)
        errors = inverse @ (self._design.T @ (weights * self._off))
        left = self._off - self._design @ errors
        return float(weights @ left**2), errors, inverse

    def expected(self, own: float) -> float:
        """Return what Q is on average if interactions are taken to have this variance, and there are none."""
        weights = 1.0 / (self._noise + own)
        weighed = self._design * weights[:, None]
        inverse: Any = np.linalg.pinv(weighed.T @ self._design, hermitian=True)
        fitted = np.trace(inverse @ (weighed.T * self._noise) @ weighed)
        return float(weights @ self._noise - fitted)

    def main_variance(self, fit: tuple[float, Floats, Floats]) -> float:
        """Return the variance of log rates over all combinations that levels make, noise removed."""
        total, logs = 0.0, self._log + fit[1]
        for start, size in zip(self._starts, self._sizes, strict=True):
            own = slice(start, start + size)
            seen = np.isfinite(logs[own])
            centre = np.eye(int(seen.sum())) - 1.0 / max(1, int(seen.sum()))
            noise = np.trace(centre @ fit[2][own, own][np.ix_(seen, seen)] @ centre) / max(1, int(seen.sum()))
            total += max(0.0, float(np.var(logs[own][seen])) - float(noise))
        return total

    def losses(self, fit: tuple[float, Floats, Floats], own: float, count: int, rng: np.random.Generator) -> Floats:
        """Draw what showing the product's best loses, as a share of the best rate."""
        _, errors, inverse = fit
        values, vectors = np.linalg.eigh(inverse)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        levels = errors + rng.standard_normal((count, self._levels)) @ root.T
        shares = own / (own + self._noise)
        spread = np.sqrt(own * (1.0 - shares))
        combinations, known = self._candidates()
        base = np.exp(self._log[combinations].sum(axis=1))
        best = int(np.argmax(base))
        off = levels[:, combinations].sum(axis=2)
        own_part = math.sqrt(own) * rng.standard_normal(off.shape)
        if len(known):
            rows, places = known[:, 0], known[:, 1]
            left = self._off[places] - off[:, rows]
            own_part[:, rows] = shares[places] * left + spread[places] * rng.standard_normal((count, len(rows)))
        rates = np.clip(base * (1.0 + off + own_part), 0.0, 1.0)
        most = rates.max(axis=1)
        return np.asarray(1.0 - rates[:, best] / np.where(most > 0.0, most, 1.0))

    def _candidates(self) -> tuple[Ints, Ints]:
        """Return combinations that may be the best, as levels, and which of them were shown (row, place there)."""
        able = np.zeros((1, 0), np.int64)
        logs = np.zeros(1)
        for start, size in zip(self._starts, self._sizes, strict=True):
            seen = start + np.flatnonzero(np.isfinite(self._log[start : start + size]))
            able = np.column_stack([np.repeat(able, len(seen), axis=0), np.tile(seen, len(able))])
            logs = np.repeat(logs, len(seen)) + self._log[able[:, -1]]
            kept = np.sort(np.argsort(-logs, kind="stable")[:_MOST_COMBINATIONS])
            able, logs = able[kept], logs[kept]
        row_of = {tuple(levels): row for row, levels in enumerate(able.tolist())}
        rows = [row_of.get(tuple(levels), -1) for levels in self._places.tolist()]
        return able, np.array([(row, place) for place, row in enumerate(rows) if row >= 0], np.int64).reshape(-1, 2)
