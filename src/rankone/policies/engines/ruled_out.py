"""Which combinations an insurance step need not try again: those whose outcomes speak against them already.

A step of flat Thompson sampling tries what is bad some seven times; as insurance fewer tries will do. With N outcomes
and S clicks, of which the best mean is m, the evidence against a combination is N d(S / N, m). From `FIRST` + `MORE`
log(t) on, at decision t, and from `FEWEST` outcomes on, it is *ruled out*: an insurance step that draws it shows it in
one case of twenty only; otherwise a step of the insured policy follows. What was ruled out by bad luck so comes back.
"""

import math

from rankone.compiling.compiled import noalloc
from rankone.numerics.kl import bernoulli_kl

FIRST, MORE = 0.5, 0.2
FEWEST = 3  # outcomes without which nothing is ruled out
STILL = 0.05  # how often what is ruled out is shown all the same


@noalloc
def show_chance(pulls: int, clicks: int, best: float, step: int) -> float:
    """Return how probably an insurance step shows a combination that has drawn the largest; `best` 0: in any case."""
    if pulls < FEWEST or clicks >= best * pulls:
        return 1.0
    against = pulls * bernoulli_kl(clicks / pulls, best)
    return STILL if against > FIRST + MORE * math.log(step) else 1.0
