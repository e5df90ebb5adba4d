"""Who leads, who is beaten and whether there is a winner: what an experiment states about its levels.

There are two bases, and a statement always says which one it has:

* "any": probabilities of the decisions are known, so the evidence of `rankone.kernels.evidence` holds however the click
  rate of the whole site moves. A winner needs its row to beat every other row and its column every other column. If
  that is claimed wrongly, the truly best row or column was called beaten: K + L - 2 comparisons share the error. With
  more factors it is the sum of all (K_d - 1). That any level is called beaten wrongly: K (K - 1) + L (L - 1) + ...
  comparisons share it. So do the intervals of ratios.
  Each of these three has the error for itself. Once there is a winner, all others are beaten by it.
* "steady": most decisions left nothing to compare (journals of older programs, policies that do not draw), so the
  counts themselves are compared (`rankone.serving.winner`), as if click rates did not move.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from rankone.kernels.evidence import Evidence, Floats
from rankone.serving.fold import Fold
from rankone.serving.forbidden import forbids
from rankone.serving.winner import Standing, standing

_ENOUGH = 0.25  # of the outcomes have to leave something to compare
_AHEAD = 2.0  # log evidence from which on the level that is ahead leads; policies that show one pair gather it slowly
_RANGE = np.linspace(-math.log(100.0), math.log(100.0), 922)  # log ratios at which intervals may end, 1 % apart


class Verdict(NamedTuple):
    """What leads, as living levels, and how much doubt there is about each level.

    A level with a doubt of at most a can be called beaten; all such calls, at all times, are wrong with probability a.
    """

    leaders: tuple[int, ...]  # the leading level of each factor
    doubts: tuple[Floats, ...]  # for each factor (levels,) 1 for the leader's own
    doubt: float  # that what leads is not the best: an upper bound
    enough: float  # that it is not within the margin of the best either: an upper bound; `doubt` without a margin
    basis: str  # "any" or "steady"


def verdict_of(fold: Fold) -> Verdict:
    """Return what an experiment states by now."""
    weighing = fold.weighing
    if weighing.fits:
        found = _possible(fold, _timeproof(fold))
        decided = min(found.doubt, found.enough) <= weighing.error
        known = weighing.compared >= _ENOUGH * weighing.weighed and (weighing.weighed or not fold.learned_since)
        if decided or known:
            return found
    state = _standing(fold)
    return _possible(fold, Verdict(*state, enough=state.doubt, basis="steady"))


def _possible(fold: Fold, found: Verdict) -> Verdict:
    """Return the same, unless what leads is forbidden as a whole: then what counts say leads, and nothing is stated.

    The best levels of all factors make the best combination; where these are forbidden together, several others may
    be better than all their neighbours, and evidence about single levels does not tell which.
    """
    if not fold.forbidden or not forbids(fold.rules, found.leaders):
        return found
    nothing = tuple(np.ones(len(live)) for live in fold.live)
    return Verdict(_standing(fold).leaders, nothing, 1.0, 1.0, found.basis)


def _standing(fold: Fold) -> Standing:
    """Return what counts say, as if click rates did not move."""
    living = np.ix_(*fold.live)
    pulls, clicks = fold.pulls[living], fold.clicks[living]
    if not len(fold.rules):
        return standing(pulls, clicks)
    allowed = np.ones(pulls.shape, bool)
    for rule in fold.rules:
        part = tuple(slice(None) if level < 0 else level for level in rule)
        allowed[part] = False
    return standing(pulls * allowed, clicks * allowed, allowed)  # some were shown before they were forbidden


def _timeproof(fold: Fold) -> Verdict:
    weighing, leaders, sides = fold.weighing, [], []
    looks_best: Standing | None = None  # it takes time where there are many combinations, and is rarely asked for
    doubt = enough = 0.0
    for factor, levels in enumerate(weighing.levels_of_each()):
        among = np.ix_(levels, levels)
        proof, spared, now = (getattr(weighing.evidence, name)[among] for name in ("proof", "enough", "now"))
        doubts = np.minimum(1.0, weighing.error * np.exp(weighing.beaten_bar - proof.max(axis=0)))
        leader = _leader(proof, spared, now, doubts <= weighing.error, weighing.bar, weighing.error)
        if leader is None:
            looks_best = looks_best or _standing(fold)
            leader = looks_best.leaders[factor]
        doubts[leader] = 1.0
        leaders.append(leader)
        sides.append((doubts, weighing.statements * np.exp(-proof[leader])))
        doubt, enough = (
            max(so_far, weighing.statements * math.exp(-_least(found)[leader]))
            for so_far, found in ((doubt, proof), (enough, spared))
        )
    doubt = min(1.0, doubt)
    good = min(1.0, enough) if fold.settings.margin else doubt
    won = doubt <= weighing.error  # then nobody else is in the race: that is what the statement says
    each_doubt = tuple(
        np.where(np.arange(len(each)) == leader, 1.0, np.minimum(each, least)) if won else each
        for leader, (each, least) in zip(leaders, sides, strict=True)
    )
    return Verdict(tuple(leaders), each_doubt, doubt, good, "any")


def _leader(proof: Floats, spared: Floats, now: Floats, beaten: Any, bar: float, error: float) -> int | None:
    """Return who leads: the level with the most proof once that says something, until then the one that is ahead.

    Proof only grows, so what was said of a leader is not taken back: the doubt that is stated never rises, and a level
    that was called beaten does not lead. None: clicks say too little, and nothing is stated; let counts tell.
    """
    for found, least in ((proof, bar), (spared, bar), (proof, bar + math.log(2.0 * error))):  # the last: half sure
        proven = _least(found)
        if proven.max() >= least:
            return int(np.argmax(proven))
    ahead = np.where(beaten, -np.inf, _least(now - now.T))
    best = int(np.argmax(ahead))
    return best if ahead[best] >= _AHEAD or beaten.any() else None


def _least(found: Floats) -> Floats:
    """Return for each level the least of what there is for it against another; infinite where there is no other."""
    return np.asarray(np.where(np.eye(len(found), dtype=bool), np.inf, found).min(axis=1))


class Ratio(NamedTuple):
    """How a level compares with another: this many times its clicks."""

    estimate: float
    low: float
    high: float


def ratio_of(evidence: Evidence, x: int, y: int, error: float) -> Ratio:
    """Return the ratio of two levels of a factor with an interval that holds at all times with probability 1 - error.

    It rests on clicks alone: silence tells who is better, and not by how much. An end of the interval is where the
    evidence against all ratios beyond reaches 2 / error. Between the ratios of the grid the log-likelihood, which is
    concave, is at most what the lines through neighbouring points say; that bound is used, so the interval is never too
    short.
    """
    points, logs = likelihood(evidence, x, y)
    at = _upper_bound(points, logs, _RANGE)
    bar = math.log(2.0 / error)
    below = _mean_beyond(points, logs, _RANGE) - at >= bar  # all ratios up to here are rejected
    above = _mean_beyond(-points[::-1], logs[::-1], -_RANGE) - at >= bar
    places = np.flatnonzero(~below & ~above)  # an end lies between the last that is kept and the next
    kept = _RANGE[[max(0, places[0] - 1), min(len(_RANGE) - 1, places[-1] + 1)]] if len(places) else np.empty(0)
    best = peak(points, logs)
    low, high = (math.exp(kept[0]), math.exp(kept[-1])) if len(kept) else (math.exp(best), math.exp(best))
    return Ratio(min(max(math.exp(best), low), high), 0.0 if low <= math.exp(_RANGE[0]) else low, high)


def likelihood(evidence: Evidence, x: int, y: int) -> tuple[Floats, Floats]:
    """Return log ratios of two levels, rising, and the log-likelihood of each, by clicks, against that of 0."""
    grid = np.log(evidence.ratios)
    points = np.concatenate([-grid[::-1], [0.0], grid])
    return points, np.concatenate([evidence.logs[y, x, ::-1], [0.0], evidence.logs[x, y]])


def peak(points: Floats, logs: Floats) -> float:
    """Return where a parabola through the highest point and its neighbours is highest."""
    best = int(np.argmax(logs))
    if best in (0, len(points) - 1):
        return float(points[best])
    left, right = logs[best] - logs[best - 1], logs[best] - logs[best + 1]
    near, far = points[best] - points[best - 1], points[best + 1] - points[best]
    bend = near * right + far * left
    return float(points[best] - (0.5 * (near**2 * right - far**2 * left) / bend if bend > 0.0 else 0.0))


def _upper_bound(points: Floats, logs: Floats, at: Floats) -> Floats:
    """Return an upper bound, at each place, of a concave function that is known at some points."""
    slopes = np.diff(logs) / np.diff(points)
    right = np.searchsorted(points, at)  # the first point at or above
    found = np.full(len(at), np.inf)
    before = right >= 2  # the line through the two points below, prolonged
    place = np.clip(right, 2, len(points) - 1 + 1)
    found[before] = (logs[place - 1] + slopes[place - 2] * (at - points[place - 1]))[before]
    after = right <= len(points) - 2
    place = np.clip(right, 0, len(points) - 2)
    return np.minimum(found, np.where(after, logs[place] - slopes[place] * (points[place] - at), np.inf))


def _mean_beyond(points: Floats, logs: Floats, at: Floats) -> Floats:
    """Return the log of the average likelihood of the points above each place; minus infinity where there is none."""
    most = logs.max()
    sums = np.concatenate([np.cumsum(np.exp(logs - most)[::-1])[::-1], [0.0]])
    first = np.searchsorted(points, at, side="right")
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(sums[first]) + most - np.log(np.maximum(1, len(points) - first)))
