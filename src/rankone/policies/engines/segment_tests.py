"""Does a segment differ from a group of segments, and in which factors? What `segmented-uts` asks of its counts.

**At all** (`differs`). For each level i the ratio of the segment's clicks to the group's is estimated by Mantel and
Haenszel (strata: the levels of the other factors, so that what was shown how often does not matter): x_i is its
logarithm, v_i the variance of Greenland and Robins (Biometrics, 1985). That visitors of a segment click more, or less,
on everything moves all x_i alike and is no difference. So let x_i ~ N(mu, v_i) if they agree, x_i ~ N(mu, v_i + 0.3^2)
if they differ, mu anything: the ratio of the two likelihoods, mu integrated out, averaged over the factors, times prior
odds of 0.05, are the odds that they differ.

**In a factor** (`differs_in`), where others may differ, too, and where the two have been shown other combinations. Now
each level is compared with one level of the same factor, the *reference*, within the segment and within the group, by
the same formulas (strata as before). The difference of the two logarithms is N(0, v) if they agree, N(0, v + 0.3^2) if
they differ; the ratio of the likelihoods times prior odds of 0.7 are the odds. Where the segment's own outcomes speak
for another level than the reference (`prefers`), that ratio of likelihoods is taken if it is larger.

States have counts `pulls` and `clicks`, (parts, combinations), `sizes`, and scratch space `sums`, (levels, 3).
"""

import math
from typing import Any

from rankone.compiling.compiled import inlined, noalloc

PRIOR_ODDS = 0.05  # that a segment differs from its group
FACTOR_ODDS = 0.7  # that a segment which differs from a group does so in one more factor
_SPREAD = 0.3
_MOST = 100.0  # evidence: beyond, exp would overflow


@inlined
def probability(odds: float) -> float:
    """Return the probability with these odds."""
    return odds / (1.0 + odds)


@inlined
def log_ratio(up: float, down: float) -> float:
    """Return the logarithm of a ratio of Mantel and Haenszel."""
    return math.log((up + 0.25) / (down + 0.25))


@inlined
def log_ratio_variance(up: float, down: float, noise: float) -> float:
    """Return the variance of the logarithm, of Greenland and Robins."""
    return (noise + 0.25) / ((up + 0.25) * (down + 0.25))


@inlined
def stratum(pulls: float, clicks: float, others: float, their_clicks: float) -> tuple[float, float, float]:
    """Return what one stratum adds to a ratio: up, down, noise."""
    both = pulls + others
    noise = (clicks + their_clicks) * pulls * others / (both * both) - clicks * their_clicks / both
    return clicks * others / both, their_clicks * pulls / both, noise


@noalloc
def _odds_of_factor(state: Any, first: int, end: int) -> float:
    ours, theirs, spread = 0.0, 0.0, _SPREAD * _SPREAD
    mean_ours = mean_theirs = logs = 0.0
    for again in range(2):
        scatter_ours = scatter_theirs = 0.0
        for level in range(first, end):
            up, down, noise = state.sums[level, 0], state.sums[level, 1], state.sums[level, 2]
            if up + down <= 0.0:
                continue
            value = log_ratio(up, down)
            variance = log_ratio_variance(up, down, noise)
            alike, apart = 1.0 / variance, 1.0 / (variance + spread)
            if again == 0:
                ours += apart
                theirs += alike
                mean_ours += apart * value
                mean_theirs += alike * value
                logs += math.log(apart / alike)
            else:
                scatter_ours += apart * ((value - mean_ours) * (value - mean_ours))
                scatter_theirs += alike * ((value - mean_theirs) * (value - mean_theirs))
        if ours <= 0.0:
            return 1.0
        if again == 0:
            mean_ours /= ours
            mean_theirs /= theirs
    evidence = 0.5 * (logs - math.log(ours / theirs) - scatter_ours + scatter_theirs)
    return math.exp(min(evidence, _MOST))


@noalloc
def differs(state: Any, segment: int, group: int, member: bool) -> tuple[float, int]:
    """Return the probability that a segment differs from a group, and the factor that says so the loudest.

    Both are numbers of parts; outcomes of a `member` are among those of the group, and left out there.
    """
    sizes, sums = state.sizes, state.sums
    sums[:] = 0.0
    for combination in range(state.pulls.shape[1]):
        ours, clicks = float(state.pulls[segment, combination]), float(state.clicks[segment, combination])
        others, theirs = float(state.pulls[group, combination]), float(state.clicks[group, combination])
        if member:
            others, theirs = others - ours, theirs - clicks
        if ours <= 0.0 or others <= 0.0:
            continue
        up, down, noise = stratum(ours, clicks, others, theirs)
        rest, end = combination, len(sums)
        for factor in range(len(sizes) - 1, -1, -1):
            level = end - sizes[factor] + rest % sizes[factor]
            rest //= sizes[factor]
            end -= sizes[factor]
            sums[level, 0] += up
            sums[level, 1] += down
            sums[level, 2] += noise
    odds, first, loudest, loud = 0.0, 0, 0, -1.0
    for factor in range(len(sizes)):
        result = _odds_of_factor(state, first, first + sizes[factor])
        odds += PRIOR_ODDS / len(sizes) * result
        first += sizes[factor]
        if result > loud:
            loudest, loud = factor, result
    return probability(odds), loudest


@noalloc
def _to_reference(state: Any, part: int, factor: int, level: int, reference: int) -> tuple[float, float, float]:
    """Return what a part's outcomes say of a level's clicks to those of the reference: the logarithm, its variance, and
    how many clicks of the level it rests on, -1 if the two cannot be compared."""
    sizes, stride, size = state.sizes, 1, state.sizes[factor]
    for other in range(factor + 1, len(sizes)):
        stride *= sizes[other]
    up = down = noise = 0.0
    for above in range(state.pulls.shape[1] // (stride * size)):
        for below in range(stride):
            combination = (above * size + level) * stride + below
            other = combination + (reference - level) * stride
            pulls, others = float(state.pulls[part, combination]), float(state.pulls[part, other])
            if pulls > 0.0 and others > 0.0:
                clicks, theirs = float(state.clicks[part, combination]), float(state.clicks[part, other])
                more, less, scatter = stratum(pulls, clicks, others, theirs)
                up, down, noise = up + more, down + less, noise + scatter
    if up + down <= 0.0:
        return 0.0, 1.0, -1.0
    return log_ratio(up, down), log_ratio_variance(up, down, noise), up


@noalloc
def prefers(state: Any, factor: int, segment: int, reference: int) -> float:
    """Return by how much a segment's outcomes speak for another level of a factor: a ratio of likelihoods."""
    result = 0.0
    for level in range(state.sizes[factor]):
        if level != reference:
            value, variance, clicks = _to_reference(state, segment, factor, level, reference)
            if value > 0.0:
                evidence = min(0.5 * value * value / variance, _MOST)
                result = max(result, math.exp(evidence) / math.sqrt(1.0 + clicks))
    return result


@noalloc
def differs_in(state: Any, factor: int, segment: int, group: int, reference: int) -> float:
    """Return the probability that a segment differs from a group in a factor, of which `reference` is a level."""
    evidence, spread = 0.0, _SPREAD * _SPREAD
    for level in range(state.sizes[factor]):
        if level != reference:
            value, variance, known = _to_reference(state, segment, factor, level, reference)
            other, more, theirs = _to_reference(state, group, factor, level, reference)
            if known >= 0.0 and theirs >= 0.0:
                value, variance, apart = value - other, variance + more, variance + more + spread
                evidence += 0.5 * (math.log(variance / apart) + value * value * (1.0 / variance - 1.0 / apart))
    likely = math.exp(min(evidence, _MOST))
    return probability(FACTOR_ODDS * max(likely, prefers(state, factor, segment, reference)))
