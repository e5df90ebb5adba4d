"""Random problems: every row's and column's probability is uniform between two ends, named by a seed."""

from __future__ import annotations

from rankone.deprecation import old_positions
from rankone.errors import InputError
from rankone.numerics.seeds import generator
from rankone.problems.rank_one import Vector
from rankone.problems.registry import family
from rankone.specs import whole_number


@old_positions("seed", "low", "high")
@family("random")
def random_problem(
    n_rows: int, n_cols: int, *, seed: int = 0, low: float = 0.0, high: float = 1.0
) -> tuple[Vector, Vector]:
    """Probabilities are drawn uniformly between low and high; one seed is one problem, everywhere.

    Rows and columns have a stream each: a larger problem of the same seed begins with the smaller one.

    >>> small, large = random_problem(2, 3, seed=7), random_problem(4, 3, seed=7)
    >>> large.rows[:2].tolist() == small.rows.tolist(), large.name
    (True, 'random:4x3:seed=7')
    """
    seed = whole_number("seed", seed, least=0)
    try:
        ordered = 0.0 <= low <= high <= 1.0
    except TypeError:
        ordered = False
    if not ordered:
        raise InputError("0 <= low <= high <= 1", f"low={low}, high={high}", "try low=0.1, high=0.9")
    rows, cols = (
        generator(seed, "random problem", side).uniform(low, high, size)
        for side, size in (("rows", n_rows), ("cols", n_cols))
    )
    return rows, cols
