"""How many visitors a running experiment still needs until its verdict: a range, from what its evidence says so far.

Evidence about two levels behaves like a Brownian motion. With information I (the sum over clicks of a b / (a + b)^2,
a and b the probabilities of the two levels) and the logarithm t of their true ratio, the log-likelihood ratio of g
against 1 has drift ``t g - g^2 / 2`` and variance ``g^2`` for each unit of I; the time until it gains a height has the
inverse Gaussian law. What is not known, t, is drawn from its posterior: normal around what is usual among the levels of
the factor. I and t are read off the evidence itself. The levels that are still in the race take turns: their times add
up, and the slower factor counts. Information comes in as fast as it did so far.

So the range has both kinds of uncertainty: what the levels really are, and the luck of the visitors to come. It assumes
that the site's click rate and the experiment's exploration go on as they were, and that the differences there are so
far are real. Between equal levels there never is a verdict: so nothing is said while one of the comparisons that are
left may be a tie, by an interval of 95%, nor on few clicks. What passes that test looks larger than it is, so the
upper end is a higher quantile than the lower end would ask for. It was chosen on seeds from 20,000 on, to be right in
80% at least; `python -m benchmarks verdicts` measures with others how often the range is right, and how often one is
given where levels are equal.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rankone.evidence.levels import LEAST_NONCLICKS
from rankone.numerics.arrays import Floats
from rankone.numerics.seeds import generator

_DRAWS = 400
_PRIOR = 1.0  # precision of the logarithm of the usual ratio of a factor's leader to its other levels
_ALIKE = 8.0  # precision of that of one level around the usual one
_SHARED = 1.0  # log evidence that neighbouring ratios have together, more than the best of them alone
_FEWEST_CLICKS = 100  # before, nothing can be said
_ENDS = 0.1, 0.93  # quantiles of what is drawn
_TIE = 1.96  # standard errors: levels less far apart may be equal
_LONGEST = 1e9  # visitors: beyond, it is "never"
_SLOWEST = 1e-3  # drift of evidence for each unit of information: a near tie


def visitors_left(
    evidence: Any, levels: Any, starts: Any, leaders: Any, bar: float, visitors: int, clicks: int
) -> tuple[int, int] | None:
    """Return from how many to how many visitors are still needed, right in 80% at least; None: too early.

    If the differences that there are so far are real: see above. Levels are those of `rankone.evidence.steering.renew`,
    the evidence rests on so many `visitors` and `clicks`, and each comparison needs the log evidence `bar`.
    """
    rng, total = generator(0, "visitors left"), np.zeros(_DRAWS)
    proof, margin = evidence.proof, 0.0
    if evidence.margin_ratio[0] >= 0:  # it is enough to lose no more than this
        proof, margin = evidence.enough, math.log(evidence.ratios[evidence.margin_ratio[0]])
    for factor, leader in enumerate(leaders):
        others = [levels[each] for each in range(starts[factor], starts[factor + 1]) if each != leader]
        information = np.array([_information(evidence, levels[leader], other) for other in others])
        racing = [index for index, other in enumerate(others) if proof[levels[leader], other] < bar]
        if not racing:
            continue
        scores = np.array([_score(evidence, levels[leader], other) for other in others])
        ahead = scores + margin * information  # of being as good as the leader, or as good as needs to be
        if clicks < _FEWEST_CLICKS or (ahead[racing] <= _TIE * np.sqrt(information[racing])).any():
            return None
        usual = scores.sum() / (information.sum() + _PRIOR)
        needed = np.zeros(_DRAWS)
        for each in racing:
            known = information[each] + _ALIKE
            truth = (scores[each] + _ALIKE * usual) / known + rng.standard_normal(_DRAWS) / math.sqrt(known)
            needed += _needed(evidence, levels[leader], others[each], truth, bar, rng)
        total = np.maximum(total, needed * visitors / information.sum())
    low, high = np.quantile(total, _ENDS)
    return _rounded(min(low, _LONGEST), math.floor), _rounded(min(high, _LONGEST), math.ceil)


def _rounded(visitors: float, to: Callable[[float], int]) -> int:
    """Return a number with two figures, all that it deserves."""
    unit = 10 ** max(0, math.floor(math.log10(max(visitors, 1.0))) - 1)
    return to(visitors / unit) * unit


def _logs(evidence: Any, x: int, y: int) -> Floats:
    return np.asarray(evidence.logs[x, y] + evidence.silent[x, y])


def _information(evidence: Any, x: int, y: int) -> float:
    """Return the information about two levels: the log-likelihood ratios of g and 1 / g fall short by g^2 I.

    Clicks have the part 1 - p of it where silence counts too, p the share of visitors who click.
    """
    of_clicks = float(-(evidence.logs[x, y, 0] + evidence.logs[y, x, 0])) / math.log(evidence.ratios[0]) ** 2
    if not evidence.silent[x, y].any():
        return of_clicks
    clicks, outcomes = evidence.recent[-1]
    return of_clicks / max(1.0 - clicks / (outcomes + 1.0), LEAST_NONCLICKS)


def _score(evidence: Any, x: int, y: int) -> float:
    """Return the slope of the log-likelihood: information times the logarithm of the ratio that fits best."""
    ahead = _logs(evidence, x, y)[0] - _logs(evidence, y, x)[0]
    return float(ahead) / (2.0 * math.log(evidence.ratios[0]))


def _needed(evidence: Any, x: int, y: int, truth: Floats, bar: float, rng: np.random.Generator) -> Floats:
    """Return draws of the information still needed to prove that one of two levels beats the other."""
    grid = np.log(evidence.ratios)
    if evidence.margin_ratio[0] >= 0:  # it is enough to lose no more than this
        margin = grid[evidence.margin_ratio[0]]
        up = np.concatenate([_logs(evidence, x, y), [0.0]]) - evidence.logs[y, x, evidence.margin_ratio[0]]
        steps, truth = np.concatenate([grid, [0.0]]) + margin, np.maximum(truth + margin, -truth)
        return _times(truth, steps, up, bar, rng)
    ahead = _times(truth, grid, _logs(evidence, x, y), bar, rng)
    return np.where(truth > 0.0, ahead, _times(-truth, grid, _logs(evidence, y, x), bar, rng))


def _times(truth: Floats, steps: Floats, logs: Floats, bar: float, rng: np.random.Generator) -> Floats:
    """Return draws of the information until the average over the steps reaches the bar: of the soonest step."""
    drift = np.maximum(truth[:, None] * steps - 0.5 * steps**2, _SLOWEST)
    height = np.maximum(bar + math.log(len(steps)) - _SHARED - logs, 0.1)
    soonest = np.argmin(height / drift, axis=1)
    drift, height = drift[np.arange(_DRAWS), soonest], height[soonest]
    return rng.wald(height / drift, height**2 / steps[soonest] ** 2)
