"""Estimators with a setting that trades bias for less spread: bounded weights, marginal weights; and two ways to tune.

With w = q(a) / p of a decision, r its outcome and m a model of that:

    switch-dr    dr without the decisions whose weight is above tau
    shrunk-dr    dr with w lambda / (w^2 + lambda) in the place of w
    subgauss-dr  dr with w / (1 - lambda + lambda w), which stays below 1 / lambda
    mips         mean of w(e) r, w(e) = q(e) / p(e), e the levels of some factors, as if the others made no difference

Wang, Agarwal, Dudik (2017), switch; Su et al. (2020), shrinkage; Metelli, Russo, Restelli (NeurIPS 2021), sub-Gaussian
weights; Saito, Joachims (ICML 2022), marginal weights. Logs hold the p of what was shown, and p(e) does not follow from
it: the share of e in the log takes its place.

The first setting of each is w as it is.

* **mse**: the smallest estimated squared error: variance, and squared, the difference to the first setting, as far as
  chance does not explain it.
* **slope** (Su, Srinath, Krishnamurthy, ICML 2020; improved by Tucker, Lee, 2021): from the widest interval to the
  narrowest, go on while a value is within its own half-width and root 6 - 1 times that of each before. It lets in a
  large bias where the model is wrong (`python -m benchmarks evaluation`), so it is not the default.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.student import student_quantile

_REACH = 6.0**0.5 - 1.0
_LEVEL = 0.95  # of one side of an interval
_MOST_FACTORS = 4  # of whose subsets all are tried
LAMBDAS = (0.0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # of sub-Gaussian weights; 0: as they are


def switched(weight: Floats, cap: float) -> Floats:
    """Leave out decisions above a weight."""
    return np.where(weight <= cap, weight, 0.0)


def shrunk(weight: Floats, cap: float) -> Floats:
    """Shrink weights, the more the larger they are; `cap` is the root of lambda."""
    return weight * cap**2 / (weight * weight + cap**2) if np.isfinite(cap) else weight


def sub_gaussian(weight: Floats, bound: float) -> Floats:
    """Keep weights below 1 / `bound`.

    >>> sub_gaussian(np.array([1.0, 9.0]), 0.5).tolist()
    [1.0, 1.8]
    """
    return weight / (1.0 - bound + bound * weight)


def caps_of(weight: Floats) -> list[float]:
    """Return at which weights to cut: at none first, then at some quantiles of those above 0."""
    found = np.quantile(weight[weight > 0.0], [0.5, 0.75, 0.9, 0.95, 0.99, 1.0]) if weight.any() else np.ones(1)
    return [np.inf, *np.unique(found)[::-1].tolist()]


def factors_of_subset(factors: int) -> Iterator[list[int]]:
    """Name the factors that may count: all of them first. With very many, all but one at least."""
    for size in range(factors, 0 if factors <= _MOST_FACTORS else factors - 2, -1):
        yield from map(list, itertools.combinations(range(factors), size))


def marginal_weights(cells: Ints, action: Ints, group: Ints, target: Floats) -> Floats:
    """Return of each decision q(e) / p(e), e its levels of the factors in `cells`, p their share of its group's log.

    >>> cells, action, same = np.array([[0], [0], [1]]), np.array([0, 1, 2, 2]), np.zeros(4, np.int64)
    >>> marginal_weights(cells, action, same, np.array([[0.1, 0.7, 0.2]])).round(9).tolist()
    [1.6, 1.6, 0.4, 0.4]
    """
    _, kind = np.unique(cells, axis=0, return_inverse=True)
    kind, n_kinds = kind.ravel(), int(kind.max()) + 1
    wanted = np.array([np.bincount(kind, each, n_kinds) for each in target])
    own = group * n_kinds + kind[action]
    shares = np.bincount(own, minlength=wanted.size)[own] / np.bincount(group)[group]
    return np.asarray(wanted.ravel()[own] / shares)


def smallest_error(scores: Sequence[Floats]) -> int:
    """Return which of several estimators has the smallest estimated squared error; the first has no bias."""
    n, best, least = len(scores[0]), 0, np.inf
    for index, each in enumerate(scores):
        apart = scores[0] - each
        error = float(each.var() / n) + max(float(apart.mean() ** 2 - apart.var() / n), 0.0)
        if error <= least:
            best, least = index, error
    return best


def slope(scores: Sequence[Floats]) -> int:
    """Return which of several estimators SLOPE takes, each given by its scores, whose mean is the estimate.

    >>> rng = np.random.default_rng(0)
    >>> wide, narrow = rng.normal(1.0, 3.0, 500), rng.normal(1.02, 0.5, 500)
    >>> slope([wide, narrow]), slope([wide, narrow, rng.normal(3.0, 0.1, 500)])
    (1, 1)
    """
    values, widths = [float(each.mean()) for each in scores], [_half_width(each) for each in scores]
    order = sorted((each for each in range(len(scores)) if widths[each] <= widths[0]), key=lambda each: -widths[each])
    for last, each in enumerate(order):
        if any(abs(values[one] - values[each]) > widths[each] + _REACH * widths[one] for one in order[:last]):
            return order[last - 1]
    return order[-1]


def _half_width(scores: Floats) -> float:
    n = len(scores)
    return student_quantile(_LEVEL, n - 1.0) * float(scores.std(ddof=1)) / n**0.5 if n > 1 else 0.0


TUNINGS: dict[str, Callable[[Sequence[Floats]], int]] = {"mse": smallest_error, "slope": slope}
