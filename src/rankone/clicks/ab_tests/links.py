"""How the effects of two elements may combine: fitted to counts, each by its likeliest rates.

With an effect for each row and one for each column, a pair's click rate is their product, their sum, or the logistic
function of their sum: binomial regressions with three links. Fitted by Fisher scoring (McCullagh, Nelder,
"Generalized linear models", 2nd edition, section 2.5), each step halved until the fit gets better and rates stay
between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rankone.clicks.counts.count_arrays import Floats, Ints
from rankone.clicks.rank1_test.fit import deviances

_ITERATIONS, _TOLERANCE, _SMALLEST_STEP = 200, 1e-8, 1e-9


class Link(NamedTuple):
    """From a click rate to the scale on which effects add up, and back; `slope` is that of the way back."""

    to_scale: Callable[[Floats], Floats]
    to_rate: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]  # of the rate, at a rate


LINKS: dict[str, Link] = {
    "product": Link(np.log, np.exp, lambda rate: rate),
    "additive": Link(lambda rate: rate, lambda scale: scale, np.ones_like),
    "logit": Link(
        lambda rate: np.log(rate / (1.0 - rate)),
        lambda scale: 1.0 / (1.0 + np.exp(-scale)),
        lambda rate: rate * (1.0 - rate),
    ),
}


def lack_of_fit(rows: Ints, cols: Ints, shown: Ints, clicked: Ints, link: Link) -> float:
    """Return G2, twice the log-likelihood that pairs gain by rates of their own over rates that two effects make.

    The pairs are given one by one: numbers of their row and column, how often they were shown and clicked.

    >>> pairs = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> shown, clicked = np.full(4, 1000), np.array([400, 100, 200, 50])
    >>> round(lack_of_fit(*pairs, shown, clicked, LINKS["product"]), 3)
    0.0
    >>> round(lack_of_fit(*pairs, shown, clicked, LINKS["additive"]), 1)
    40.6
    """
    if not clicked.any() or (clicked == shown).all():
        return 0.0
    place, n_rows = np.arange(len(rows)), int(rows.max()) + 1
    design = np.zeros((len(rows), n_rows + int(cols.max()) + 1))
    design[place, rows] = design[place, n_rows + cols] = 1.0
    average = np.full(len(rows), clicked.sum() / shown.sum())
    effects = np.linalg.lstsq(design, link.to_scale(average), rcond=None)[0]
    found = _lack(shown, clicked, average)
    for _ in range(_ITERATIONS):
        rates = link.to_rate(design @ effects)
        slope = link.slope(rates)
        weight = np.sqrt(shown / (rates * (1.0 - rates))) * slope
        wanted = weight * (clicked / shown - rates) / slope
        step = np.linalg.lstsq(design * weight[:, None], wanted, rcond=None)[0]
        size, better = 1.0, found
        while size > _SMALLEST_STEP:
            better = _lack(shown, clicked, link.to_rate(design @ (effects + size * step)))
            if better < found:
                break
            size /= 2.0
        if not found - better > _TOLERANCE:
            break
        effects, found = effects + size * step, better
    return found


def _lack(shown: Ints, clicked: Ints, rates: Floats) -> float:
    if not ((rates > 0.0) & (rates < 1.0)).all():
        return float("inf")
    return float(deviances(shown, clicked, rates).sum())
