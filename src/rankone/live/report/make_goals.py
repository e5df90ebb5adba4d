"""What is known of goals other than a click: each level against the baseline, and whether what leads keeps guardrails.

The baseline is the control or, without one, the first level of each factor. All intervals of a goal hold together, at
all times, with probability 1 - error of the goal (`rankone.evidence.amounts.error_shares`): each level but the baseline
has its part of it. A combination's ratio to the baseline is the product of those of its levels, so a guardrail is
violated where the product of the lower ends is beyond it and cleared where that of the upper ends is not. Both follow
from the intervals and need no error of their own, whoever comes to lead.
"""

import json
import math
from collections.abc import Iterator

from rankone.evidence.amounts import error_shares, estimate, ratio_interval
from rankone.live.evidence.goal_outcomes import BROUGHT, LATE, TOTAL, UNMATCHED, window_of
from rankone.live.factors import margins
from rankone.live.fold.fold import Fold
from rankone.live.goals import MORE, Goal
from rankone.live.report.comparing import Compared, shortfalls
from rankone.live.report.goal_report import CLEARED, OPEN, VIOLATED, GoalLevel, GoalReport
from rankone.live.verdict.verdict import Verdict, verdict_of
from rankone.wording.combinations import combination_text
from rankone.wording.ratios import UNLIKE, effect_text


def make_goals(fold: Fold, state: Verdict, alike: bool) -> tuple[GoalReport, ...]:
    """Return what is known of each goal; of a yes-no goal that steers, the report itself says it.

    Where outcomes do not come back `alike`, nothing is compared.
    """
    goals = fold.evidence.goals
    known = enumerate(() if goals is None else goals.goals)
    return tuple(_goal_report(fold, state, index, alike) for index, goal in known if index or goal.adds_up)


def _goal_report(fold: Fold, state: Verdict, index: int, alike: bool) -> GoalReport:
    goals, visitors, baseline = fold.evidence.goals, margins(fold.asked), _baseline(fold)
    assert goals is not None
    goal, counts, levels = goals.goals[index], goals.counts[index], []
    for own, (factor, those) in enumerate(fold.factors.items()):
        for number, (name, live) in enumerate(zip(those.names, those.live, strict=True)):
            if not live and number != baseline[own]:
                continue
            level = int(fold.evidence.starts[own]) + number
            compared = _against(fold, index, own, number) if alike else Compared(why=UNLIKE)
            said = compared.why or effect_text(compared.ratio, compared.low, compared.high)
            said = "baseline" if number == baseline[own] else said
            brought = int(visitors[level]), int(counts[level, BROUGHT]), float(counts[level, TOTAL])
            levels.append(GoalLevel(factor, name, *brought, compared.ratio, compared.low, compared.high, said))
    status = _status(fold, state, index) if goal.worse_by is not None and alike else ""
    noted = fold.guards.get(goal.name, {})
    noted = noted if noted.get("status") == status else {}
    return GoalReport(
        goal.name,
        goal.kind,
        goal.cap,
        goal.better,
        window_of(goal, fold.settings) / 1e6,
        index == 0,
        _error(fold, index),
        fold.factors.named(baseline),
        tuple(levels),
        goal.worse_by,
        status,
        _holds_back(goal, status),
        int(goals.uncounted[index, UNMATCHED]),
        int(goals.uncounted[index, LATE]),
        noted["at"] / 1e6 if noted else None,
        noted.get("seq"),
    )


def _error(fold: Fold, index: int) -> float:
    """Return that any interval of a goal is ever wrong."""
    return error_shares(fold.settings.stopping.error, len(fold.settings.all_goals))[index]


def _baseline(fold: Fold) -> list[int]:
    control = fold.control
    if control is None:
        return [0] * len(fold.factors)
    return [levels.names.index(control[factor]) for factor, levels in fold.factors.items()]


def _against(fold: Fold, index: int, factor: int, number: int) -> Compared:
    goals, first, base = fold.evidence.goals, int(fold.evidence.starts[factor]), _baseline(fold)[factor]
    if number == base:
        return Compared(1.0, 1.0, 1.0)
    if goals is None or not goals.fits or goals.broken:
        return Compared()
    amounts = goals.amounts(index)
    others = max(1, sum(fold.factors.sizes) - len(fold.factors))
    low, high = ratio_interval(amounts, first + number, first + base, _error(fold, index) / others)
    ratio = estimate(amounts, first + number, first + base)
    if ratio is not None:
        ratio = min(max(ratio, low), math.inf if high is None else high)
    return Compared(ratio, low, high)


def _status(fold: Fold, state: Verdict, index: int) -> str:
    """Return what is known of a guardrail, of the combination that leads."""
    if not fold.learned:
        return OPEN
    goal = fold.settings.all_goals[index]
    cleared = CLEARED if state.leads else OPEN  # while nothing leads, a guess is not said to keep it
    each = [_against(fold, index, factor, number) for factor, number in enumerate(fold.numbers_of(state.leaders))]
    low = math.prod(one.low for one in each)
    high = math.prod(math.inf if one.high is None else one.high for one in each)
    worse = goal.worse_by or 0.0
    if goal.better == MORE:
        return VIOLATED if high < 1.0 - worse else cleared if low >= 1.0 - worse else OPEN
    return VIOLATED if low > 1.0 + worse else cleared if high <= 1.0 + worse else OPEN


def _holds_back(goal: Goal, status: str) -> bool:
    return goal.worse_by is not None and (status == VIOLATED or (goal.must_clear and status != CLEARED))


def guardrails(fold: Fold, state: Verdict) -> Iterator[tuple[Goal, str]]:
    """Yield each guardrail, and what is known of it."""
    for index, goal in enumerate(fold.settings.all_goals):
        if goal.worse_by is not None:
            yield goal, _status(fold, state, index)


def held_back(fold: Fold, state: Verdict) -> bool:
    """Return whether a guardrail keeps what leads from being declared the winner."""
    return any(_holds_back(goal, status) for goal, status in guardrails(fold, state))


def guardrail_notes(fold: Fold) -> list[str]:
    """Return what has changed of guardrails since the journal last said so, a note for each GUARD event.

    From nothing known to violated or cleared, between the two, and that a violation is over.
    """
    if not _has_guardrails(fold) or fold.evidence.fault or shortfalls(fold):
        return []
    state, result = verdict_of(fold), []
    leads = fold.factors.named(fold.numbers_of(state.leaders))
    for goal, status in guardrails(fold, state):
        before = fold.guards.get(goal.name, {}).get("status", OPEN)
        if status != before and (status != OPEN or before == VIOLATED):
            said = {OPEN: "not violated any more"}.get(status, status)
            why = f"guardrail '{goal.name}' {said}; leading: {combination_text(leads)}"
            result.append(json.dumps({"goal": goal.name, "status": status, "leads": leads, "why": why}))
    return result


def guardrails_wait(fold: Fold) -> bool:
    """Return whether visitors are still to be compared once there is a winner: some guardrail is not cleared."""
    if not _has_guardrails(fold) or fold.evidence.fault:
        return False
    state = verdict_of(fold)
    if min(state.doubt, state.enough) > fold.evidence.error:
        return False  # it explores anyway
    return any(status != CLEARED for _, status in guardrails(fold, state))


def _has_guardrails(fold: Fold) -> bool:
    return any(goal.worse_by is not None for goal in fold.settings.all_goals)
