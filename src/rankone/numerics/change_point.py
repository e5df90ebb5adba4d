"""Has a rate changed, or the ratios of several? Likelihood-ratio tests at geometrically spaced splits, little memory.

Besson, Kaufmann, Maillard, Seznec, "Efficient Change-Point Detection for Tackling Piecewise-Stationary Bandits" (2022),
section 3: outcomes y_1 .. y_n have changed when for some split s

    s d(mean of y_1 .. y_s, mean of all) + (n - s) d(mean of y_s+1 .. y_n, mean of all) > threshold(n, delta)

with the Bernoulli divergence d; `threshold` is the one they recommend in practice, log(3 n^1.5 / delta).

**Memory.** The outcomes of one thing are kept as sums over *buckets*, the oldest first: the latest hold 8 outcomes, and
whenever four have the same size, the two oldest of them become one. So n outcomes need about 3 log2(n / 8) buckets, and
splits lie at distances from the end that grow geometrically: a change is seen soon, however much came before it.

**Ratios.** Where the level of the whole site moves, every rate moves with it, and only ratios to a *reference* (what
leads, for example) tell something: `changed_ratios` compares those before a moment with those since.

A history is two arrays, so that a state can hold it: ``history`` (things, `MOST_BUCKETS`, 2) and ``kept`` (things,).
"""

import math

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.kl import bernoulli_kl

BUCKET_PULLS, BUCKET_CLICKS = range(2)  # columns of a bucket
BUCKET = 8  # outcomes of the smallest bucket
_EACH = 3  # buckets of a size
MOST_BUCKETS = 32 * _EACH + 2  # 8 * 2^32 outcomes
_GOLDEN = 0.6180339887498949
_NARROWINGS = 32
_HARDLY = 1e-3  # clicks, where there are none
_NEARLY = 0.999  # a rate of 1, where it is a product of estimates
_HIGH, _RATHER_HIGH, _SMALLER, _STEP = 0.98, 0.7, 6, 0.9


def start_history(things: int) -> tuple[Floats, Ints]:
    """Return the arrays of so many things of which nothing has been seen: history, kept."""
    return np.zeros((things, MOST_BUCKETS, 2)), np.zeros(things, np.int64)


@noalloc
def begin_history(history: Floats, kept: Ints, thing: int, pulls: int, clicks: int) -> None:
    """Begin the history of a thing anew, with outcomes that came before it, all at one rate."""
    kept[thing] = int(pulls > 0)
    history[thing, 0, BUCKET_PULLS], history[thing, 0, BUCKET_CLICKS] = pulls, clicks


@noalloc
def note_outcome(history: Floats, kept: Ints, thing: int, clicked: int) -> bool:
    """Enter an outcome; return whether a bucket is full with it, and it is time to test."""
    own = history[thing]
    last = kept[thing] - 1
    if last < 0 or own[last, BUCKET_PULLS] >= BUCKET:
        last += 1
        if last == MOST_BUCKETS:  # after 3 * 10^10 outcomes
            return False
        kept[thing] = last + 1
        own[last, BUCKET_PULLS] = own[last, BUCKET_CLICKS] = 0.0
    own[last, BUCKET_PULLS] += 1.0
    own[last, BUCKET_CLICKS] += clicked
    if own[last, BUCKET_PULLS] < BUCKET:
        return False
    _merge(own, kept, thing)
    return True


@noalloc
def _merge(own: Floats, kept: Ints, thing: int) -> None:
    """Make one bucket of the two oldest of a size, where there are more than `_EACH` of that size."""
    size, end = float(BUCKET), kept[thing]
    while True:
        first = end
        while first > 0 and own[first - 1, BUCKET_PULLS] == size:
            first -= 1
        if end - first <= _EACH:
            return
        for column in range(2):
            own[first, column] += own[first + 1, column]
        for index in range(first + 1, kept[thing] - 1):
            for column in range(2):
                own[index, column] = own[index + 1, column]
        kept[thing] -= 1
        size, end = 2.0 * size, first + 1


@noalloc
def threshold(pulls: float, delta: float) -> float:
    """Return how much evidence means a change, at an error of about delta over all time."""
    return math.log(3.0 * pulls * math.sqrt(pulls) / delta)


@noalloc
def rate_evidence(pulls: float, clicks: float, more_pulls: float, more_clicks: float) -> float:
    """Return the log likelihood ratio of two rates against one."""
    mean = (clicks + more_clicks) / (pulls + more_pulls)
    return pulls * bernoulli_kl(clicks / pulls, mean) + more_pulls * bernoulli_kl(more_clicks / more_pulls, mean)


@noalloc
def _ratio_misfit(pulls: float, clicks: float, level: float, more: float, more_clicks: float, now: float) -> float:
    """Return the evidence against one ratio to a reference that had the rate `level`, and has `now`.

    The ratio is that of all clicks to those expected. Where that makes a rate of nearly 1, a miss would count for too
    much: smaller ratios are tried, too, and the likeliest counts.
    """
    ratio, least = max(clicks + more_clicks, _HARDLY) / (pulls * level + more * now), math.inf
    ratio = min(ratio, _HIGH / max(level, now))
    for _ in range(_SMALLER):
        against = pulls * bernoulli_kl(clicks / pulls, ratio * level)
        against += more * bernoulli_kl(more_clicks / more, ratio * now)
        if against >= least:
            break
        least = against
        if ratio * max(level, now) < _RATHER_HIGH:
            break
        ratio *= _STEP
    return least


@noalloc
def _ratios_misfit(past: Floats, fresh: Floats, level: float, scale: float) -> float:
    """Return the evidence against ratios that stay, if the reference's rates are `scale` times what they seem now."""
    result = fresh[0, 0] * bernoulli_kl(fresh[0, 1] / fresh[0, 0], scale * level)
    for thing in range(1, len(past)):
        pulls, clicks, levels = past[thing, 0], past[thing, 1], past[thing, 2]
        more, more_clicks, now = fresh[thing, 0], fresh[thing, 1], scale * fresh[thing, 2]
        if levels > 0.0 and now > 0.0:
            result += _ratio_misfit(pulls, clicks, levels / pulls, more, more_clicks, now / more)
    return result


@noalloc
def changed_ratios(past: Floats, fresh: Floats, delta: float) -> bool:
    """Tell whether the ratios of several things to the reference, the first of them, are others than they were.

    `past` and `fresh` have outcomes, clicks and the sum of the reference's rates at the time, of each thing. Twice the
    evidence is about chi-square; its tail is bounded as by Laurent, Massart (2000), lemma 1.
    """
    things, evidence = 0.0, math.inf
    for thing in range(1, len(past)):
        things += past[thing, 2] > 0.0 and fresh[thing, 2] > 0.0
    if things == 0.0 or fresh[0, 0] == 0.0:
        return False
    level = (fresh[0, 1] + 0.5) / (fresh[0, 0] + 1.0)
    low, high = math.log(0.2), math.log(min(5.0, _NEARLY / level))
    doubt = -math.log(delta)
    enough = 0.5 * things + math.sqrt(things * doubt) + doubt
    for _ in range(_NARROWINGS // 2):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        against_left = _ratios_misfit(past, fresh, level, math.exp(left))
        against_right = _ratios_misfit(past, fresh, level, math.exp(right))
        evidence = min(evidence, against_left, against_right)
        if evidence <= enough:  # it only gets less
            return False
        if against_left < against_right:
            high = right
        else:
            low = left
    return evidence > enough


@noalloc
def evident_split(history: Floats, kept: Ints, thing: int, enough: float) -> int:
    """Return the split, the first bucket after it, with most evidence that a rate has changed; -1: none has enough."""
    own, buckets = history[thing], kept[thing]
    pulls = clicks = more_pulls = more_clicks = 0.0
    for index in range(buckets):
        pulls += own[index, BUCKET_PULLS]
        clicks += own[index, BUCKET_CLICKS]
    both, mean, result = pulls, clicks / pulls, -1
    for index in range(buckets - 1, 0, -1):
        more_pulls += own[index, BUCKET_PULLS]
        more_clicks += own[index, BUCKET_CLICKS]
        pulls, clicks = pulls - own[index, BUCKET_PULLS], clicks - own[index, BUCKET_CLICKS]
        apart = clicks / pulls - more_clicks / more_pulls
        # The divergence is at most the squared distance over the variance: most splits need no logarithm.
        if pulls * more_pulls / both * apart * apart <= enough * mean * (1.0 - mean):
            continue
        evidence = rate_evidence(pulls, clicks, more_pulls, more_clicks)
        if evidence > enough:
            enough, result = evidence, index
    return result


@noalloc
def changed_rate(history: Floats, kept: Ints, thing: int, delta: float) -> int:
    """Return the split at which the rate of a thing has changed most, at an error of about delta; -1: it has not."""
    pulls = 0.0
    for index in range(kept[thing]):
        pulls += history[thing, index, BUCKET_PULLS]
    return evident_split(history, kept, thing, threshold(pulls, delta))
