"""Evidence that one level beats another, whatever the click rate of the whole site does meanwhile.

A visitor at time t clicks with probability ``s_t * (product of one number per level)``, where s_t is any sequence. With
a and b the probabilities with which a decision would have had level x or y, the other levels held,

    P(a click on either was on x) = a r / (a r + b),      r = (number of x) / (number of y)

So for a ratio r > 1 the likelihood ratio of r against 1,

    M(r) = product over those clicks of   r (a + b) / (a r + b)   if it was on x,   (a + b) / (a r + b)   if on y,

is a supermartingale if x is at most as good as y, and so is its average over a fixed grid of ratios: it ever reaches
1 / e with probability at most e, for any policy and however often one looks. So its largest value so far (`proof`)
counts. Visitors who do not click are weighed the same way, with ratios that are estimated before (`recent`). What is
proven is lowered by clicks that come late (`with_late`). The same arithmetic on all outcomes instead of clicks tells
whether levels were told as often as they were chosen: there every true ratio is 1.

Why all that holds, and what it assumes: `docs/proofs.md`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.numerics.arrays import Floats, Ints, moved, starts_of

# Ratios to tell apart: from a difference of 3% up to one that a few clicks show.
RATIOS = (1.03, 1.07, 1.15, 1.25, 1.4, 1.7, 2.3, 4.0, 10.0, 20.0, 50.0)
TRAFFIC_RATIOS = (1.1, 1.5)
RARE = 0.25  # of the visitors who came lately; where fewer click, silence is not asked
_SITE_MEMORY, _LEVEL_MEMORY = 200.0, 1000.0  # outcomes over which the site's rate, and a level's to it, are averaged
LEAST_NONCLICKS = 0.1  # visitors who do not click, at least, for what they add
_SHARE_OF_RATE, _HIGHEST = 0.9, 0.95  # of an estimated rate this part is used; a rate is taken to be at most so high


class Evidence(NamedTuple):
    """What clicks say about each ordered pair of levels of one factor; levels are numbered factor after factor.

    ``[x, y]`` is about "x beats y"; across factors everything is 0.
    """

    ratios: Floats  # (g,) above 1, rising
    logs: Floats  # (levels, levels, g) log M of each ratio, of clicks
    silent: Floats  # (levels, levels, g) the same of visitors who did not click; g is 0 where nobody asks
    recent: Floats  # (levels + 1, 2) clicks of each level and how many there would be at the site's rate; last, of all:
    # clicks and outcomes. All of them fade away
    now: Floats  # (levels, levels) log of the average of M over the ratios
    proof: Floats  # (levels, levels) the largest it ever was
    enough: Floats  # (levels, levels) the largest log evidence ever that x loses at most a factor `margin_ratio` to y
    starts: Ints  # (factors + 1,) the first level of each factor, and the number of levels
    margin_ratio: Ints  # (1,) the place of that factor among the ratios; -1: nobody asks


def start_evidence(
    sizes: tuple[int, ...], ratios: tuple[float, ...] = RATIOS, margin_ratio: float = 1.0, silence: bool = True
) -> Evidence:
    """Return evidence before the first click.

    Args:
        sizes: the number of levels of each factor.
        ratios: above 1.
        margin_ratio: the factor, from 1, that a level may lose and still be good enough; 1: nobody asks.
        silence: whether visitors who do not click are weighed, too.
    """
    grid = sorted({*ratios, margin_ratio} - {1.0})
    levels = sum(sizes)
    starts = starts_of(sizes)
    now, proof, enough = np.zeros((3, levels, levels))
    index = grid.index(margin_ratio) if margin_ratio != 1.0 else -1
    logs = np.zeros((levels, levels, len(grid)))
    silent = np.zeros((levels, levels, len(grid) if silence else 0))
    recent = np.zeros((levels + 1, 2))
    return Evidence(np.array(grid), logs, silent, recent, now, proof, enough, starts, np.array([index], np.int64))


def resized(evidence: Evidence, sizes: tuple[int, ...]) -> Evidence:
    """Return the same evidence with room for new levels, the last ones of their factor, and for new factors."""
    margin_ratio = 1.0 if evidence.margin_ratio[0] < 0 else float(evidence.ratios[evidence.margin_ratio[0]])
    silence = evidence.silent.shape[2] > 0
    result = start_evidence(sizes, tuple(evidence.ratios.tolist()), margin_ratio, silence)
    old = moved(evidence.starts, result.starts)
    for name in ("logs", "silent", "now", "proof", "enough"):
        getattr(result, name)[np.ix_(old, old)] = getattr(evidence, name)
    result.recent[[*old, -1]] = evidence.recent
    return result


def with_late(evidence: Evidence, late: Evidence) -> Evidence:
    """Return evidence of which late clicks take what they contradict.

    Where silence is weighed, their decisions were silence before: near ties a click in its place is worth 1 / (1 - p)
    of one, p being the share of visitors who click.
    """
    if not len(late.now):
        return evidence
    clicks, outcomes = evidence.recent[-1]
    times = 1.0 / max(1.0 - clicks / (outcomes + 1.0), LEAST_NONCLICKS) if evidence.silent.any() else 1.0
    before, more = evidence.logs, times * late.logs
    before = before + evidence.silent if evidence.silent.shape[2] else before
    now, proof, enough = _mean(before + more), evidence.proof.copy(), evidence.enough.copy()
    proof += np.minimum(now - _mean(before), 0.0)
    margin_ratio = int(evidence.margin_ratio[0])
    if margin_ratio >= 0:
        with_one = [np.concatenate([each, np.zeros((*now.shape, 1))], axis=2) for each in (before + more, before)]
        enough += np.minimum(_mean(with_one[0]) - _mean(with_one[1]) - more[:, :, margin_ratio].T, 0.0)
    return evidence._replace(now=now, proof=np.maximum(proof, 0.0), enough=np.maximum(enough, 0.0))


def _mean(logs: Floats) -> Floats:
    return np.asarray(np.logaddexp.reduce(logs, axis=2) - np.log(logs.shape[2]))


def weigh_sums(evidence: Evidence, factor: int, chances: Floats, counts: Ints) -> None:
    """Say what sums of clicks show of the levels of a factor, in place of what was said.

    Clicks that were drawn with the same probabilities say the same in any order, so each row is weighed in one step:
    its chances of each level, and how many clicks each had, (rows, levels). Nothing is said from silence.
    """
    first, ratios = int(evidence.starts[factor]), evidence.ratios[:, None]
    for x in range(counts.shape[1]):
        for y in range(counts.shape[1]):
            rows = (chances[:, x] > 0.0) & (chances[:, y] > 0.0)
            if x != y:
                a, b = chances[rows, x], chances[rows, y]
                down = np.log((a + b) / (a * ratios + b))
                up = (np.log(ratios) + down) * counts[rows, x] + down * counts[rows, y]
                evidence.logs[first + x, first + y] = up.sum(axis=1)


def settle_sums(evidence: Evidence) -> None:
    """Bring what is said up to date: what holds now, whatever was proven on the way."""
    evidence.now[:] = _mean(evidence.logs)
    evidence.proof[:] = np.maximum(evidence.now, 0.0)
    margin_ratio = int(evidence.margin_ratio[0])
    if margin_ratio >= 0:
        with_one = np.concatenate([evidence.logs, np.zeros((*evidence.now.shape, 1))], axis=2)
        evidence.enough[:] = np.maximum(_mean(with_one) - evidence.logs[:, :, margin_ratio].T, 0.0)


@noalloc
def log_average(logs: Any, more: Any, among: int) -> float:
    """Return the logarithm of the average of ``exp(logs + more)``; ones are averaged in until there are `among`.

    `more` may be empty: then there is nothing more.
    """
    most, both = 0.0 if among > len(logs) else -math.inf, len(more) > 0
    for index in range(len(logs)):
        each = logs[index] + more[index] if both else logs[index]
        most = each if each > most else most
    total = (among - len(logs)) * math.exp(-most)
    for index in range(len(logs)):
        total += math.exp((logs[index] + more[index] if both else logs[index]) - most)
    return most + math.log(total / among)


@noalloc
def _note(evidence: Any, x: int, y: int) -> None:
    up, silent, n_ratios = evidence.logs[x, y], evidence.silent[x, y], len(evidence.ratios)
    evidence.now[x, y] = log_average(up, silent, n_ratios)
    if evidence.now[x, y] > evidence.proof[x, y]:
        evidence.proof[x, y] = evidence.now[x, y]
    if evidence.margin_ratio[0] >= 0:
        enough = log_average(up, silent, n_ratios + 1) - evidence.logs[y, x, evidence.margin_ratio[0]]
        if enough > evidence.enough[x, y]:
            evidence.enough[x, y] = enough


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
            for index in range(n_ratios):
                ratio = ratios[index]
                up[index] += math.log(ratio * (a + b) / (a * ratio + b))
                down[index] += math.log((a + b) / (b * ratio + a))
            _note(evidence, x, y)
            _note(evidence, y, x)


@noalloc
def _relative_rate(evidence: Any, level: int) -> float:
    """Return how often a level is clicked for what the site as a whole is; 1 as long as nothing is known."""
    return (evidence.recent[level, 0] + 1.0) / (evidence.recent[level, 1] + 1.0)


@noalloc
def uses_nonclicks(evidence: Any) -> bool:
    """Return whether enough visitors click by now that those who do not are worth a look."""
    clicks, outcomes = evidence.recent[-1]
    return clicks >= RARE * (outcomes + 1.0)


@noalloc
def _nonclick_ratio(ratio: float, better: float, worse: float) -> float:
    """Return how much more often silence falls on the worse of two levels, if the rates are about these."""
    rate = _SHARE_OF_RATE * min(worse, better / ratio)
    return (1.0 - rate) / (1.0 - ratio * rate)


@noalloc
def weigh_nonclick(evidence: Any, shown: Any, cross: Any) -> None:
    """Learn from a visitor who did not click; `shown` and `cross` as in `weigh_click`."""
    ratios, n_ratios = evidence.ratios, len(evidence.ratios)
    site = evidence.recent[-1, 0] / (evidence.recent[-1, 1] + 1.0)
    for factor in range(len(shown)):
        x = shown[factor]
        a, here = cross[x], site
        for each in range(len(shown)):
            if each != factor:
                here *= _relative_rate(evidence, shown[each])
        rate = min(_HIGHEST, here * _relative_rate(evidence, x))
        for y in range(evidence.starts[factor], evidence.starts[factor + 1]):
            b = cross[y]
            if y == x or not a > 0.0 or not b > 0.0:
                continue
            other = min(_HIGHEST, here * _relative_rate(evidence, y))
            up, down = evidence.silent[y, x], evidence.silent[x, y]
            for index in range(n_ratios):
                ratio = ratios[index]
                times = _nonclick_ratio(ratio, other, rate)
                up[index] += math.log(times * (a + b) / (a * times + b))
                times = _nonclick_ratio(ratio, rate, other)
                down[index] += math.log((a + b) / (b * times + a))
            _note(evidence, x, y)
            _note(evidence, y, x)


@noalloc
def remember(evidence: Any, shown: Any, clicked: Any) -> None:
    """Note how often visitors click, for `weigh_nonclick` of those to come."""
    recent = evidence.recent
    site = recent[-1, 0] / (recent[-1, 1] + 1.0)
    for factor in range(len(shown)):
        level = shown[factor]
        recent[level, 0] += clicked - recent[level, 0] / _LEVEL_MEMORY
        recent[level, 1] += site - recent[level, 1] / _LEVEL_MEMORY
    recent[-1, 0] += clicked - recent[-1, 0] / _SITE_MEMORY
    recent[-1, 1] += 1.0 - recent[-1, 1] / _SITE_MEMORY


def weigh(evidence: Any, traffic: Any, shown: Ints, clicked: Ints, crosses: Floats) -> None:
    """Learn from outcomes, one per row; those whose probabilities are not known have a cross of zeros."""
    for index in range(len(clicked)):
        weigh_click(traffic, shown[index], crosses[index])
        if clicked[index]:
            weigh_click(evidence, shown[index], crosses[index])
        elif uses_nonclicks(evidence):
            weigh_nonclick(evidence, shown[index], crosses[index])
        remember(evidence, shown[index], clicked[index])
