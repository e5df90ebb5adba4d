"""Random products of any number of factors, named by a seed."""

from __future__ import annotations

from rankone.errors import InputError
from rankone.numerics.seeds import generator
from rankone.problems.rank_one import Vector
from rankone.problems.registry import family
from rankone.specs import is_number, whole_number


def _factors(sizes: list[int], seed: int, low: float, high: float) -> list[Vector]:
    seed = whole_number("seed", seed, least=0)
    if not (is_number(low) and is_number(high) and 0.0 <= low <= high <= 1.0):
        raise InputError("0 <= low <= high <= 1", f"low={low}, high={high}", "try low=0.1, high=0.9")
    return [generator(seed, "product", place).uniform(low, high, size) for place, size in enumerate(sizes)]


@family("product", factors=_factors)
def product(n_rows: int, n_cols: int, *, seed: int = 0, low: float = 0.1, high: float = 0.9) -> tuple[Vector, Vector]:
    """Factors (any number of them) whose levels have probabilities drawn uniformly between low and high.

    Each factor has a stream of its own: a larger problem of the same seed begins with the smaller one.

    >>> from rankone.problems import as_problem
    >>> as_problem("product:4x5x3:seed=1")
    <Product product:4x5x3:seed=1: 4 x 5 x 3, best 0.3809>
    """
    rows, cols = _factors([n_rows, n_cols], seed, low, high)
    return rows, cols
