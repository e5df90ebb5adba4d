"""How much more than binomially clicks scatter: given, or estimated from repeated counts of the same combination.

The same visitor comes again, days differ, bots click. The dispersion is that factor: 1 is binomial. Statistics are
divided by it, and intervals are longer by its square root (quasi-likelihood: McCullagh and Nelder, "Generalized linear
models", 2nd edition, section 4.5).
"""

import math
from typing import NamedTuple

import numpy as np

from rankone.numerics.arrays import Floats, Ints
from rankone.specs import number_in

LEAST_REPEATS = 5  # degrees of freedom below which an estimate says nothing
_ROUNDS = 50


class Dispersion(NamedTuple):
    """A dispersion, the degrees of freedom it was estimated from (infinite: given) and where it comes from."""

    value: float
    freedom: float
    origin: str  # "given", "repeats", "slices" or "none"

    @property
    def sentence(self) -> str:
        """What is said of it to a person."""
        if self.origin == "none":
            return "Real traffic is often noisier than this assumes. Add a date column for realistic intervals"
        if self.origin == "given":
            return f"Day-to-day noise is taken as {self.value:.3g} times normal (as given)"
        where = "repeated rows" if self.origin == "repeats" else "slices of time"
        more = "normal" if self.value < 1.005 else f"{self.value:.3g} times normal, and intervals allow for it"
        return f"Day-to-day noise is {more} (estimated from {where}, {self.freedom:.0f} degrees of freedom)"

    def to_dict(self) -> dict[str, float | str | None]:
        """Return plain values; a dispersion that was not estimated has no degrees of freedom."""
        freedom = self.freedom if math.isfinite(self.freedom) else None
        return {"value": self.value, "degrees_of_freedom": freedom, "origin": self.origin}


BINOMIAL = Dispersion(1.0, math.inf, "none")


def given_dispersion(value: float) -> Dispersion:
    """Return a dispersion that the caller knows.

    >>> given_dispersion(1.9).sentence
    'Day-to-day noise is taken as 1.9 times normal (as given)'
    """
    return Dispersion(number_in("dispersion", value, "[1, inf)", example=1.9), math.inf, "given")


def estimated_dispersion(combination: Ints, when: Ints | None, shown: Floats, clicked: Floats) -> Dispersion | None:
    """Estimate from the counts of rows: Pearson's statistic over its degrees of freedom.

    Each row has a number of its combination and of its slice of time, `when`; the common rise and fall of all
    combinations from slice to slice is fitted and no scatter (None: rows of one combination are plain repeats). None if
    the rows say too little: fewer than 5 degrees of freedom, or rows of single impressions.
    """
    used = shown > 0
    combination, shown, clicked = combination[used], shown[used], clicked[used]
    if not len(shown) or shown.max() <= 1.0:
        return None
    expected, parameters = _expected(combination, None if when is None else when[used], shown, clicked)
    rate = np.divide(expected, shown)
    seen = (rate > 0.0) & (rate < 1.0)
    freedom = int(seen.sum()) - parameters
    if freedom < LEAST_REPEATS:
        return None
    pearson = float(((clicked - expected)[seen] ** 2 / (expected * (1.0 - rate))[seen]).sum())
    return Dispersion(max(1.0, pearson / freedom), float(freedom), "repeats" if when is None else "slices")


def _expected(combination: Ints, when: Ints | None, shown: Floats, clicked: Floats) -> tuple[Floats, int]:
    by_combination = np.bincount(combination, clicked) / np.maximum(np.bincount(combination, shown), 1.0)
    used = len(np.unique(combination[by_combination[combination] > 0.0]))
    if when is None:
        return shown * by_combination[combination], used
    by_time = np.ones(int(when.max()) + 1)
    total = np.bincount(when, clicked)
    for _ in range(_ROUNDS):  # proportional fitting: both margins of the clicks are met
        by_time = total / np.maximum(np.bincount(when, shown * by_combination[combination]), 1e-300)
        exposure = np.bincount(combination, shown * by_time[when])
        by_combination = np.bincount(combination, clicked) / np.maximum(exposure, 1e-300)
    expected = np.minimum(shown * by_combination[combination] * by_time[when], shown)
    return expected, used + int((total > 0.0).sum()) - 1
