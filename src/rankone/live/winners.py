"""Winners of all experiments of a database together, so that few of them are false however many experiments run.

Wang and Ramdas, "False discovery rate control with e-values" (2022): the e-BH procedure. Each experiment states that
what leads it is the best, with an e-value E: a number that is at most 1 on average where that is false. Of N
experiments the k with the largest E are listed, for the largest k with ``E >= N / (share * k)`` for all of them. Then
the expected share of false ones in the list is at most `share`, however experiments depend on each other.

**The e-value.** Let b be the best level of a factor, and x the one that leads. While x is not b, the likelihood ratio
"x beats b" (`rankone.evidence.levels`, as it stands now, not the largest it ever was) has mean at most 1 at any time of
looking, and so has a sum of such ratios divided by how many they are. What leads is chosen by the same data, so each
level that could lead wrongly is counted: E is the least ratio of the leading levels against a rival, divided by the
number of levels, or, where levels were retired, of ordered pairs of levels. Levels that tie are false winners here.

Late clicks count against E and never for it. Where levels are forbidden together, outcomes are not reported equally, or
an alarm casts doubt, E is 0.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankone.live.database import Database
from rankone.live.evidence.standing import least_proof
from rankone.live.experiment import Experiment
from rankone.live.fold.fold import Fold
from rankone.live.report.make_report import make_report
from rankone.live.verdict.verdict import verdict_of
from rankone.specs import number_in
from rankone.wording.combinations import brief_combination
from rankone.wording.numbers import percent

_FALSE_SHARE = 0.05


@dataclasses.dataclass(frozen=True)
class Candidate:
    """What leads an experiment, and how sure that is among all experiments."""

    name: str  # of the experiment
    best: dict[str, str]  # what leads, by factor
    rate: float | None  # its click rate; None: not known
    decided: bool  # it has won by the experiment's own standard
    log_e_value: float  # -inf: nothing is stated
    listed_from: float = 1.0  # the least share of false winners with which it is listed
    winner: bool = False  # it is listed


@dataclasses.dataclass(frozen=True)
class Winners:
    """Which experiments have a winner; at most `false_share` of those listed are false, on average."""

    false_share: float
    experiments: int  # that were looked at
    candidates: tuple[Candidate, ...]  # of experiments in which something leads, the surest first

    @property
    def winners(self) -> tuple[Candidate, ...]:
        """Those that are listed."""
        return tuple(each for each in self.candidates if each.winner)

    @property
    def headline(self) -> str:
        """How many there are."""
        found, share = f"{len(self.winners):,} of {self.experiments:,}", percent(self.false_share)
        return f"{found} experiments have a winner; on average at most {share} of these are false."

    assumes = (
        "Assumes: what each experiment assumes. Holds for one list, whenever you read it; "
        "winners collected from many lists may hold more false ones."
    )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        each = [dataclasses.asdict(one) | {"log_e_value": _finite(one.log_e_value)} for one in self.candidates]
        values = {"false_share": self.false_share, "experiments": self.experiments, "candidates": each}
        return {"headline": self.headline, "assumes": self.assumes} | values

    def __str__(self) -> str:
        lines, width = [self.headline, self.assumes], max((len(each.name) for each in self.candidates), default=0)
        for each in self.candidates:
            rate = "" if each.rate is None else f" ({percent(each.rate)} clicked)"
            known = each.listed_from < 1.0
            sure = f"only with a false share of {percent(each.listed_from, 2)}" if known else "not sure enough"
            said = "wins" if each.winner else f"is ahead; {sure}"
            lines.append(f"  {each.name:<{width}}  {brief_combination(each.best)}{rate} {said}")
        return "\n".join(lines)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def candidate(fold: Fold) -> Candidate | None:
    """Return what leads an experiment, with its e-value; None: nothing leads."""
    report = make_report(fold)
    if not report.leads or report.ranking is not None:  # a ranking has no one winner
        return None
    held_back = any(goal.holds_back for goal in report.goals)
    doubtful = report.shortfalls or report.doubted or report.fault or held_back
    log_e = -math.inf if doubtful else _log_e_value(fold)
    return Candidate(report.name, report.best, report.leader.rate, report.decided, log_e)


def _log_e_value(fold: Fold) -> float:
    evidence, verdict = fold.evidence, verdict_of(fold)
    if verdict.basis != "any" or evidence.allowed.named or verdict.standing is None:
        return -math.inf
    now = evidence.stated.now
    if evidence.goals is None or not evidence.goals.steers:
        now = np.minimum(now, evidence.in_time.now)
    each = evidence.levels_of_each()
    least = [least_proof(now[np.ix_(own, own)])[leader] for own, leader in zip(each, verdict.leaders, strict=True)]
    kept = sum(map(len, each)) == sum(evidence.sizes)
    claims = sum(size if kept else size * (size - 1) for size in evidence.sizes if size > 1)
    return float(min(least)) - math.log(claims) if claims else -math.inf


def listed_from(log_e_values: Sequence[float], experiments: int) -> list[float]:
    """Return for each e-value the least share of false ones with which e-BH lists it.

    >>> [round(share, 3) for share in listed_from([math.log(400.0), math.log(20.0), 0.0], 4)]
    [0.01, 0.1, 1.0]
    """
    order = sorted(range(len(log_e_values)), key=lambda index: -log_e_values[index])
    result, least = [1.0] * len(order), 1.0
    for rank in range(len(order), 0, -1):
        log_e = log_e_values[order[rank - 1]]
        least = min(least, math.exp(min(0.0, math.log(experiments / rank) - log_e)))
        result[order[rank - 1]] = least
    return result


def chosen(looked_at: Mapping[str, Candidate | None], false_share: float) -> Winners:
    """Return which of the experiments that were looked at have a winner."""
    share = number_in("the share of false winners", false_share, "(0, 1)", _FALSE_SHARE)
    known = [each for each in looked_at.values() if each is not None]
    froms = listed_from([each.log_e_value for each in known], max(1, len(looked_at)))
    ranked = [
        dataclasses.replace(each, listed_from=least, winner=least <= share)
        for each, least in zip(known, froms, strict=True)
    ]
    return Winners(share, len(looked_at), tuple(sorted(ranked, key=lambda each: (each.listed_from, -each.log_e_value))))


def winners(database: Database, false_share: float = _FALSE_SHARE) -> Winners:
    """Return which experiments of a database have a winner, at most so large a share of them falsely.

    >>> from rankone import Database, Experiment
    >>> with Database(None) as database:
    ...     experiment = Experiment("homepage", ["A", "B"], ["1", "2"], db=database)
    ...     print(winners(database).headline)
    0 of 1 experiments have a winner; on average at most 5% of these are false.
    """
    return chosen({name: Experiment(name, db=database).look(candidate) for name in database.names()}, false_share)
