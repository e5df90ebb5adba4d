"""Evidence that one level beats another, whatever the click rate of the whole site does meanwhile.

The model: a visitor at time t clicks with probability ``s_t * (product of one number per level)``, where s_t is ANY
sequence: an evening, a campaign, a slow decline. What was chosen is random, with probabilities that are known. So
*clicks choose between levels*. Take two levels x and y of one factor, the levels of the other factors held, and let a
and b be the probabilities with which the decision would have had x or y. Of the clicks on either,

    P(it was on x) = a r / (a r + b),      r = (number of x) / (number of y)

exactly: s_t and the other levels cancel. Visitors who do not click are not used; where rates are low that costs little
(about the share m of clicks among the visitors).

**The test.** For a ratio r > 1 the likelihood ratio of r against 1,

    M(r) = product over those clicks of   r (a + b) / (a r + b)   if it was on x,   (a + b) / (a r + b)   if on y,

has mean at most 1 at every time if x is at most as good as y: given the past, a click is on x with a probability q of
at most a / (a + b), and the mean of r^X is 1 + q (r - 1) <= (a r + b) / (a + b). So M is a supermartingale, and so is
its average over a fixed grid of ratios. By Ville's inequality that average ever reaches 1 / e with probability at most
e, for any policy and however often one looks. That is why its largest value so far (`proof`) counts: what was once
proven stays proven.

"Given the past" is in the order of decisions; outcomes are weighed in the order in which they are learned. With a
window that is the same order. Without one, clicks must come equally soon whatever was shown, or who is clicked sooner
looks better for a while: statements say so.

**Good enough.** "x loses at most a factor g to y" is proven the same way, with 1 / g in the place of 1 (`enough`).

The same arithmetic on all outcomes instead of clicks tells whether levels were told as often as they were chosen
(the sample-ratio check): there every true ratio is 1.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import noalloc

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Ratios to tell apart: from a difference of 3 % up to one that a few clicks show.
RATIOS = (1.03, 1.07, 1.15, 1.25, 1.4, 1.7, 2.3, 4.0, 10.0)
TRAFFIC_RATIOS = (1.1, 1.5)


class Evidence(NamedTuple):
    """What clicks say about each ordered pair of levels of one factor; levels are numbered factor after factor.

    ``[x, y]`` is about "x beats y"; across factors everything is 0.
    """

    ratios: Floats  # (g,) above 1, rising
    logs: Floats  # (levels, levels, g) log M of each ratio
    now: Floats  # (levels, levels) log of the average of M over the ratios
    proof: Floats  # (levels, levels) the largest it ever was
    enough: Floats  # (levels, levels) the largest log evidence ever that x loses at most a factor `spared` to y
    starts: Ints  # (factors + 1,) the first level of each factor, and the number of levels
    spared: Ints  # (1,) the place of that factor among the ratios; -1: nobody asks


def start_evidence(sizes: tuple[int, ...], ratios: tuple[float, ...] = RATIOS, spared: float = 1.0) -> Evidence:
    """Return evidence before the first click.

    Args:
        sizes: the number of levels of each factor.
        ratios: above 1.
        spared: the factor, from 1, that a level may lose and still be good enough; 1: nobody asks.
    """
    grid = sorted({*ratios, spared} - {1.0})
    levels = sum(sizes)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    now, proof, enough = np.zeros((3, levels, levels))
    place = grid.index(spared) if spared != 1.0 else -1
    return Evidence(
        np.array(grid), np.zeros((levels, levels, len(grid))), now, proof, enough, starts, np.array([place], np.int64)
    )


def resized(evidence: Evidence, sizes: tuple[int, ...]) -> Evidence:
    """Return the same evidence with room for new levels, the last ones of their factor, and for new factors."""
    spared = 1.0 if evidence.spared[0] < 0 else float(evidence.ratios[evidence.spared[0]])
    found = start_evidence(sizes, tuple(evidence.ratios.tolist()), spared)
    old = np.concatenate(
        [
            np.arange(evidence.starts[factor + 1] - evidence.starts[factor]) + found.starts[factor]
            for factor in range(len(evidence.starts) - 1)
        ]
    )
    for name in ("logs", "now", "proof", "enough"):
        getattr(found, name)[np.ix_(old, old)] = getattr(evidence, name)
    return found


@noalloc
def log_average(logs: Any, among: int) -> float:
    """Return the logarithm of the average of ``exp(logs)``; ones are averaged in until there are `among`."""
    most = 0.0 if among > len(logs) else -math.inf
    for place in range(len(logs)):
        if logs[place] > most:
            most = logs[place]
    total = (among - len(logs)) * math.exp(-most)
    for place in range(len(logs)):
        total += math.exp(logs[place] - most)
    return most + math.log(total / among)


@noalloc
def weigh_click(evidence: Any, shown: Any, cross: Any) -> None:
    """Learn from one click.

    Args:
        evidence: what is known.
        shown: the level of each factor that was clicked, numbered factor after factor.
        cross: for each level of each factor, the probability with which the decision would have been the same but for
            that level.
    """
    ratios, n_ratios = evidence.ratios, len(evidence.ratios)
    for factor in range(len(shown)):
        x = shown[factor]
        a = cross[x]
        for y in range(evidence.starts[factor], evidence.starts[factor + 1]):
            b = cross[y]
            if y == x or not a > 0.0 or not b > 0.0:
                continue
            up, down = evidence.logs[x, y], evidence.logs[y, x]
            for place in range(n_ratios):
                ratio = ratios[place]
                up[place] += math.log(ratio * (a + b) / (a * ratio + b))
                down[place] += math.log((a + b) / (b * ratio + a))
            evidence.now[x, y], evidence.now[y, x] = log_average(up, n_ratios), log_average(down, n_ratios)
            if evidence.now[x, y] > evidence.proof[x, y]:
                evidence.proof[x, y] = evidence.now[x, y]
            if evidence.spared[0] >= 0:
                enough = log_average(up, n_ratios + 1) - down[evidence.spared[0]]
                if enough > evidence.enough[x, y]:
                    evidence.enough[x, y] = enough


def weigh(evidence: Any, traffic: Any, shown: Ints, clicked: Ints, crosses: Floats) -> None:
    """Learn from outcomes, one per row; those whose probabilities are not known have a cross of zeros."""
    for place in range(len(clicked)):
        weigh_click(traffic, shown[place], crosses[place])
        if clicked[place]:
            weigh_click(evidence, shown[place], crosses[place])
