"""Who leads, who is beaten and whether that is proven, by the evidence about levels and by what may be shown together.

**Who leads.** Proof is the most that clicks ever said, and only late ones take back what was stated with the error: a
level that is proven to beat all others of its factor leads it, and one that is called beaten does not. Short of that
the present estimates tell (`rankone.live.evidence.ratios.level_scores`), so what leads has the best estimate of all
that may be shown. Clicks that came too late to count are clicks of their level all the same: estimates rest on them,
too. A level with few clicks or outcomes (`FEW_CLICKS`, `FEW_OUTCOMES`) neither leads nor is compared, and nobody
leads while one that is not beaten has a better estimate.

**What may be shown.** The best levels of all factors make the best combination. Where these are forbidden together, two
factors are looked at together (`log_excess`), and more statements share the error (`n_statements`): `docs/proofs.md`.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rankone.evidence.levels import Evidence
from rankone.live.evidence.ratios import Counted, level_scores, log_excess
from rankone.live.factors import Allowed, margin
from rankone.numerics.arrays import Floats, Ints
from rankone.wording.ratios import FEW_CLICKS

_LESS = 1e-9  # how far behind its better a beaten level is at least
_UNSEEN = -1e3  # far below all scores


class Claims(NamedTuple):
    """How much evidence statements take."""

    error: float
    statements: int  # comparisons that share the error of a winner
    comparisons: int  # that share the error of calling levels beaten, and that of intervals

    @property
    def bar(self) -> float:
        """The log evidence that each comparison needs for a verdict on all."""
        return math.log(max(1, self.statements) / self.error)

    @property
    def beaten_bar(self) -> float:
        """The log evidence from which on a level is called beaten."""
        return math.log(max(1, self.comparisons) / self.error)

    @property
    def interval_error(self) -> float:
        """The part of the error that one interval may use; each has two ends."""
        return 2.0 * self.error / max(1, self.comparisons)


class Standing(NamedTuple):
    """What leads, as living levels, and how much doubt there is about each level."""

    leaders: tuple[int, ...]  # the leading level of each factor
    leads: bool  # whether enough is known of each of them to say so
    scores: tuple[Floats, ...]  # for each factor (levels,) the log of what each level changes clicks by, as estimated
    compared: tuple[Any, ...]  # (levels,) whether enough is known to compare each with the leading level
    doubts: tuple[Floats, ...]  # (levels,) it is out at any error above this; 1 for the leader's own
    doubt: float  # that what leads is not the best: an upper bound
    enough: float  # that it is not within the margin of the best either; `doubt` without a margin


class Race(NamedTuple):
    """What is known of levels that compete."""

    evidence: Evidence  # about all levels there ever were; statements rest on it
    clicked: Evidence  # the same by all clicks, late ones too; estimates rest on it
    levels_of_each: Sequence[Ints]  # the numbers there of the living levels of each factor
    allowed: Allowed  # what may be shown
    claims: Claims
    asked: Ints  # decisions of each combination of living levels
    clicks: Ints  # the same of clicks, late ones too


def standing(race: Race, seen: Sequence[Any], counted: Sequence[Counted] | None = None) -> Standing:
    """Return how levels stand.

    For each factor, `seen` says of which living levels there is enough, and `counted` what plain counts say of them,
    for want of clicks that compare them.
    """
    evidence, clicked, levels_of_each, allowed, claims, *_ = race
    has_margin, bar = evidence.margin_ratio[0] >= 0, claims.bar
    proofs, within_margin = (
        [proof[np.ix_(each, each)] for each in levels_of_each] for proof in (evidence.proof, evidence.enough)
    )
    estimates = [
        level_scores(clicked, levels, None if counted is None else counted[factor])
        for factor, levels in enumerate(levels_of_each)
    ]
    scores, known, good = [], [], []
    for levels, proof, less, estimate, enough in zip(
        levels_of_each, proofs, within_margin, estimates, seen, strict=True
    ):
        better, pinned = _better(clicked.logs[np.ix_(levels, levels)], proof, claims), least_proof(proof) >= bar
        scores.append(_behind(estimate.logs, better))
        known.append(enough | better.any(axis=1) | (len(levels) == 1))
        good.append((least_proof(less) >= bar) & (pinned | (not pinned.any())))
    leaders = _best_of(allowed, scores, known)
    if has_margin:
        settled = _best_of(allowed, scores, good)
        leaders = settled if _all_of(good, settled) else leaders
    leads = _all_of(known, leaders) and _total(scores, leaders) >= _total(scores, allowed.best(scores)) - _LESS
    least = [
        min(map(lambda proof, level: least_proof(proof)[level], each, leaders)) for each in (proofs, within_margin)
    ]
    doubt, close = (min(1.0, claims.statements * math.exp(-each)) for each in least)
    won = doubt <= claims.error
    if not won and leads and allowed.named and _last_left(race, leaders):
        won, doubt = True, claims.error
    doubts = []
    for factor, (proof, leader) in enumerate(zip(proofs, leaders, strict=True)):
        each = np.minimum(1.0, claims.error * np.exp(claims.beaten_bar - proof))
        np.fill_diagonal(each, 1.0)
        doubts.append(allowed.doubts(factor, each))
        if won:  # then nobody else is in the race: that is what the statement says
            doubts[-1] = np.minimum(doubts[-1], np.minimum(claims.error, claims.statements * np.exp(-proof[leader])))
        doubts[-1][leader] = 1.0
    compared = [
        each & (estimate.clicks[leader] >= FEW_CLICKS)
        for each, estimate, leader in zip(known, estimates, leaders, strict=True)
    ]
    return Standing(
        leaders, leads, tuple(scores), tuple(compared), tuple(doubts), doubt, close if has_margin else doubt
    )


def _best_of(allowed: Allowed, scores: Sequence[Floats], among: Sequence[Any]) -> tuple[int, ...]:
    """Return the best combination that may be shown of levels among some, or of others where there is none."""
    return allowed.best([score + np.where(fits, 0.0, _UNSEEN) for score, fits in zip(scores, among, strict=True)])


def _total(scores: Sequence[Floats], levels: Sequence[int]) -> float:
    return math.fsum(float(score[level]) for score, level in zip(scores, levels, strict=True))


def _all_of(each: Sequence[Any], levels: Sequence[int]) -> bool:
    return all(result[level] for result, level in zip(each, levels, strict=True))


def _better(logs: Floats, proof: Floats, claims: Claims) -> Any:
    """Return which level (first) is taken to be better than which (second), whatever the estimates are.

    That is what was proven, and what the present interval of their ratio says, which rests on clicks alone.
    """
    most = logs.max(axis=2)
    now = np.log(np.exp(logs - most[..., None]).mean(axis=2)) + most
    better = (proof >= claims.beaten_bar) | (now >= claims.beaten_bar)
    least = least_proof(proof)
    if len(proof) > 1 and least.max() >= claims.bar:
        better[int(np.argmax(least))] = True
        better[:, int(np.argmax(least))] = False
    return better


def _behind(logs: Floats, better: Any) -> Floats:
    """Return estimates in which each level is behind all that are better, and so behind those that are better still."""
    for _ in range(len(logs)):  # as long as the longest chain; proofs of different times may also contradict each other
        before, logs = logs, np.minimum(logs, np.where(better, logs[:, None], np.inf).min(axis=0) - _LESS)
        if (logs == before).all():
            break
    return logs


def least_proof(proof: Floats) -> Floats:
    """Return for each level the least of what there is for it against another; infinite where there is no other."""
    return np.asarray(np.where(np.eye(len(proof), dtype=bool), np.inf, proof).min(axis=1))


def _last_left(race: Race, leaders: tuple[int, ...]) -> bool:
    """Return whether everything else that may be shown is proven to be worse than something that may be shown."""
    allowed, bar = race.allowed, race.claims.bar
    beats = [race.evidence.proof[np.ix_(levels, levels)] >= bar for levels in race.levels_of_each]
    free = [factor for factor in range(len(beats)) if factor not in allowed.named]
    if any(beats[factor][leaders[factor]].sum() < len(beats[factor]) - 1 for factor in free):
        return False
    rivals = allowed.rivals(leaders, beats)
    return rivals is not None and all(_beats_by_two(race, leaders, rival) for rival in rivals)


def _beats_by_two(race: Race, best: Sequence[int], rival: Sequence[int]) -> bool:
    """Return whether a combination is proven to beat one that differs in two levels, where these are kept apart.

    Late clicks count against that and never for it, as in all statements. Clicks on a level beside one that the other
    level is kept apart from do not compare the two.
    """
    apart = [factor for factor in range(len(best)) if best[factor] != rival[factor]]
    if len(apart) != 2:
        return False
    one, two = apart
    pairs = ((best, rival), (rival, best))
    kept = [race.allowed.never({one: first[one], two: last[two]}, race.asked) for first, last in pairs]
    if not any(kept):
        return False
    cells = ((one, best), (one, rival), (two, rival), (two, best))
    x, y, w, v = (int(race.levels_of_each[factor][levels[factor]]) for factor, levels in cells)
    table = race.clicks.sum(axis=tuple(factor for factor in range(race.clicks.ndim) if factor not in apart))
    alone = [table[levels[one], levels[two]] for levels in ((rival, best) if kept[0] else (best, rival))]
    compared = [
        margin(race.clicks, factor)[[best[factor], rival[factor]]].sum() - cell
        for factor, cell in zip(apart, alone, strict=True)
    ]
    each = (race.evidence,) if race.clicked.logs is race.evidence.logs else (race.evidence, race.clicked)
    return all(log_excess(evidence, compared, x, y, w, v) >= race.claims.bar for evidence in each)


def n_statements(sizes: Sequence[int], kept: bool, named: Sequence[int]) -> int:
    """Return how many comparisons share the error of a winner.

    Of two levels that are equal either may be called the winner, so a single factor of two levels has two.

    Args:
        sizes: the number of levels of each factor.
        kept: whether none was retired: who retires levels by what was seen picks the comparisons that are left, and all
            there were are charged.
        named: the factors that rules name.

    >>> n_statements((3, 2), kept=True, named=[]), n_statements((3, 2), kept=True, named=[0, 1])
    (3, 5)
    >>> n_statements((2,), kept=True, named=[])
    2
    """
    each = [size - 1 if kept else size * (size - 1) // 2 for size in sizes]
    both = sum(each[one] * each[two] for one, two in itertools.combinations(named, 2))
    return max(2, sum(each) + (both if kept else 2 * both))
