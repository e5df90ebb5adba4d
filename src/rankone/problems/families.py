"""Families of problems: the paper's needle, random ones, ones like real tests, and two that are no products.

The needle in a haystack (paper, section 5.1) has ``u(i) = p_U + gap_U * [i is the first]`` and the same of v, with p in
[0, 1] and gap in (0, 1 - p]. The sizes of `headlines` were measured on the Upworthy Research Archive
(docs/check-rank1.md): the logarithms of click rates vary by 0.19 (standard deviation) between levels of one element and
by 0.14 between those of another, around rates near 1.3%.
"""

import math
from collections.abc import Mapping

import numpy as np

from rankone.errors import InputError
from rankone.numerics.arrays import Floats
from rankone.numerics.seeds import generator
from rankone.problems.means import Means
from rankone.problems.registry import family
from rankone.specs import Pair, is_number, number_in, whole_number

_ROUNDING = 1e-12  # 0.9 + 0.1 may come out a little above 1


def _needle_factors(sizes: list[int], p: float | Pair, gap: float | Pair) -> list[Floats]:
    """Draw a needle of any number of factors: its first levels."""
    both = [list(value) if isinstance(value, (tuple, list)) else [value] * len(sizes) for value in (p, gap)]
    if any(len(values) != len(sizes) or not all(map(is_number, values)) for values in both):
        raise InputError(f"p and gap as a number, or {len(sizes)}, one a factor", f"p={p}, gap={gap}", "try p=0.25")
    factors = []
    for size, rest, more in zip(sizes, *both, strict=True):
        number_in("p", rest, "[0, 1]", example=0.25)
        if not 0.0 < more <= 1.0 - rest + _ROUNDING:
            expected = f"a gap in (0, {1.0 - rest:g}], as p is {rest:g}"
            raise InputError(expected, more, "pass a gap that keeps p + gap at most 1")
        factors.append(np.full(size, float(rest)))
        factors[-1][0] = min(1.0, rest + more)
    return factors


@family("needle", factors=_needle_factors)
def needle(n_rows: int, n_cols: int, *, p: float | Pair = 0.25, gap: float | Pair = 0.5) -> tuple[Floats, Floats]:
    """All levels have probability p, but the first of each factor has p + gap.

    Args:
        n_rows: number of rows, K; the needle is the pair (0, 0).
        n_cols: number of columns, L.
        p: probability of all levels but the needle's; a pair (rows, columns) where they differ.
        gap: what the needle's row and column have more; one number or a pair.

    >>> problem = needle(3, 2, p=0.25, gap=(0.5, 0.25))
    >>> problem.rows.tolist(), problem.cols.tolist()
    ([0.75, 0.25, 0.25], [0.5, 0.25])
    """
    rows, cols = _needle_factors([n_rows, n_cols], p, gap)
    return rows, cols


def _uniform(seed: int, stream: str, sizes: Mapping[str | int, int], low: float, high: float) -> list[Floats]:
    """Draw probabilities uniformly between low and high, each factor from a stream of its own."""
    if not (is_number(low) and is_number(high) and 0.0 <= low <= high <= 1.0):
        raise InputError("0 <= low <= high <= 1", f"low={low}, high={high}", "try low=0.1, high=0.9")
    seed = whole_number("seed", seed, least=0)
    return [generator(seed, stream, factor).uniform(low, high, size) for factor, size in sizes.items()]


@family("random")
def random_problem(
    n_rows: int, n_cols: int, *, seed: int = 0, low: float = 0.0, high: float = 1.0
) -> tuple[Floats, Floats]:
    """Probabilities are drawn uniformly between low and high; one seed is one problem, everywhere.

    Rows and columns have a stream each: a larger problem of the same seed begins with the smaller one.

    >>> small, large = random_problem(2, 3, seed=7), random_problem(4, 3, seed=7)
    >>> large.rows[:2].tolist() == small.rows.tolist(), large.name
    (True, 'random:4x3:seed=7')
    """
    rows, cols = _uniform(seed, "random problem", {"rows": n_rows, "cols": n_cols}, low, high)
    return rows, cols


def _product_factors(sizes: list[int], seed: int, low: float, high: float) -> list[Floats]:
    return _uniform(seed, "product", dict(enumerate(sizes)), low, high)


@family("product", factors=_product_factors)
def product(n_rows: int, n_cols: int, *, seed: int = 0, low: float = 0.1, high: float = 0.9) -> tuple[Floats, Floats]:
    """Factors (any number of them) whose levels have probabilities drawn uniformly between low and high.

    Each factor has a stream of its own: a larger problem of the same seed begins with the smaller one.

    >>> from rankone.problems import as_problem
    >>> as_problem("product:4x5x3:seed=1")
    <Product product:4x5x3:seed=1: 4 x 5 x 3, best 0.3809>
    """
    rows, cols = _product_factors([n_rows, n_cols], seed, low, high)
    return rows, cols


def _headline_factors(sizes: list[int], seed: int, rate: float, spread: float | Pair) -> list[Floats]:
    """Draw any number of factors, with the larger spread and the smaller one in turn."""
    seed, each = whole_number("seed", seed, least=0), _checked_spread(rate, spread)
    share = rate ** (1.0 / len(sizes))
    effects = [
        np.exp(each[index % 2] * generator(seed, "headlines", index).standard_normal(size))
        for index, size in enumerate(sizes)
    ]
    drawn = [share * values for values in effects]
    if max(float(values.max()) for values in drawn) > 1.0:  # many factors: each has the same share of the best rate
        best = math.prod(float(values.max()) for values in drawn)
        drawn = [best ** (1.0 / len(sizes)) / values.max() * values for values in effects]
    _refuse_above_one(drawn, rate, spread)
    return drawn


def _checked_spread(rate: float, spread: float | Pair) -> tuple[float, ...]:
    number_in("rate", rate, "(0, 1)", example=0.013)
    try:
        sizes = tuple(float(each) for each in (spread if isinstance(spread, (tuple, list)) else (spread, spread)))
    except (TypeError, ValueError):
        sizes = ()
    if len(sizes) != 2 or not all(0.0 <= each < math.inf for each in sizes):
        raise InputError("spread as a number of at least 0, or two", spread, "try spread=(0.19, 0.14)")
    return sizes


def _refuse_above_one(drawn: list[Floats], rate: float, spread: float | Pair) -> None:
    if max(float(values.max()) for values in drawn) > 1.0:
        raise InputError("click rates of at most 1", f"rate={rate:g}, spread={spread}", "pass a smaller rate or spread")


@family("headlines", factors=_headline_factors)
def headlines(
    n_rows: int, n_cols: int, *, seed: int = 0, rate: float = 0.013, spread: float | Pair = (0.19, 0.14)
) -> tuple[Floats, Floats]:
    """Click rates near `rate`, log effects of levels normal with standard deviations `spread`, in turn.

    One seed is one problem, everywhere; a larger problem of the same seed begins with the smaller one.

    >>> problem = headlines(4, 4, seed=1)
    >>> problem.name, problem.means.min().round(4).item(), problem.means.max().round(4).item()
    ('headlines:4x4:seed=1', 0.011, 0.017)
    """
    seed, sizes = whole_number("seed", seed, least=0), _checked_spread(rate, spread)
    rows, cols = (
        math.sqrt(rate) * np.exp(size * generator(seed, "headlines", side).standard_normal(number))
        for side, size, number in (("rows", sizes[0], n_rows), ("cols", sizes[1], n_cols))
    )
    _refuse_above_one([rows, cols], rate, spread)
    return rows, cols


@family("matches", Means)
def matches(n_rows: int, n_cols: int, *, base: float = 0.2, low: float = 0.3, high: float = 0.6) -> Means:
    """Pair (i, i) is clicked more often than the base, the first by high, the last by low; all others have the base.

    >>> matches(3, 3).means.round(2).tolist()
    [[0.8, 0.2, 0.2], [0.2, 0.65, 0.2], [0.2, 0.2, 0.5]]
    """
    if not all(map(is_number, (base, low, high))) or not 0.0 <= base <= base + low <= base + high <= 1.0:
        got = f"base={base}, low={low}, high={high}"
        raise InputError("0 <= base and 0 <= low <= high <= 1 - base", got, "try base=0.2, low=0.3, high=0.6")
    means, pairs = np.full((n_rows, n_cols), float(base)), min(n_rows, n_cols)
    means[np.arange(pairs), np.arange(pairs)] += np.linspace(high, low, pairs)
    return Means(means)


@family("exception", Means)
def exception(n_rows: int, n_cols: int, *, low: float = 0.2, high: float = 0.9, best: float = 0.95) -> Means:
    """Rows and columns fall evenly from high to low, but the last pair is the best, clicked with probability best.

    Nothing on the way to that pair looks good: whoever trusts in the product never gets there.

    >>> exception(3, 3).means.round(2).tolist()
    [[0.81, 0.5, 0.18], [0.5, 0.3, 0.11], [0.18, 0.11, 0.95]]
    """
    if not all(map(is_number, (low, high, best))) or not 0.0 <= low <= high <= 1.0 or not high**2 <= best <= 1.0:
        got = f"low={low}, high={high}, best={best}"
        raise InputError(
            "0 <= low <= high <= 1, and best from high * high to 1", got, "try low=0.2, high=0.9, best=0.95"
        )
    means = np.outer(np.linspace(high, low, n_rows), np.linspace(high, low, n_cols))
    means[-1, -1] = best
    return Means(means)
