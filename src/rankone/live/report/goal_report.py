"""What a report says of goals other than a click. Plain values: a client reads one without NumPy or Numba."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from rankone.specs import amount
from rankone.wording.numbers import percent
from rankone.wording.tables import aligned

if TYPE_CHECKING:
    from rankone.live.report.report import Report

VIOLATED, CLEARED, OPEN = "violated", "cleared", "open"  # what is known of a guardrail


@dataclasses.dataclass(frozen=True)
class GoalLevel:
    """What visitors who saw a level brought so far; whose windows are open may bring more."""

    factor: str
    name: str
    visitors: int
    outcomes: int  # visitors who brought something
    total: float  # each visitor counts for at most the cap
    ratio: float | None = None  # to what the baseline's level brings a visitor, at equal times; None: not known
    low: float = 0.0  # all intervals of a goal hold together, at all times, but for its error
    high: float | None = None  # None: no bound yet
    against: str = ""  # the same in words

    @property
    def per_visitor(self) -> float:
        """What a visitor brought on average."""
        return self.total / self.visitors if self.visitors else 0.0


@dataclasses.dataclass(frozen=True)
class GoalReport:
    """One goal: its levels against the baseline, and whether what leads keeps its guardrail."""

    name: str
    kind: str  # "yes-no", "count" or "amount"
    cap: float
    better: str  # "more" or "less"
    window: float  # seconds; 0: outcomes count when they are told
    steers: bool
    error: float  # that any of its intervals is ever wrong
    baseline: dict[str, str]  # by factor: the control, else the first levels
    levels: tuple[GoalLevel, ...]
    worse_by: float | None = None  # of a guardrail
    guardrail: str = ""  # "violated", "cleared" or "open", of what leads
    holds_back: bool = False  # nobody is declared the winner because of it
    unmatched: int = 0  # outcomes of visitors without a decision
    late: int = 0  # that came after the window
    since: float | None = None  # when its guardrail was violated or cleared, in seconds since 1970
    event: int | None = None  # the number of the event that said so

    @property
    def sentence(self) -> str:
        """What is known of its guardrail; empty if it has none."""
        if self.worse_by is None:
            return ""
        most = f"worse than the baseline by more than {percent(self.worse_by)}"
        if self.guardrail == VIOLATED:
            return f"Guardrail '{self.name}' is violated: what leads is {most}. So nobody is declared the winner."
        if self.guardrail == CLEARED:
            return f"Guardrail '{self.name}' is cleared: what leads is not {most}."
        wait = " Nobody wins before that is known." if self.holds_back else ""
        return f"Guardrail '{self.name}': not enough data yet to say whether what leads is {most}.{wait}"


def goal_warnings(report: Report) -> list[str]:
    """Say which guardrails are violated, and which outcomes did not count."""
    said = [goal.sentence for goal in report.goals if goal.guardrail == VIOLATED]
    for goal in report.goals:
        if goal.late:
            said.append(f"{amount(goal.late, 'outcome')} of '{goal.name}' came after its window and did not count.")
    return said


def goal_notes(report: Report) -> list[str]:
    """Say what is known of the other guardrails."""
    return [goal.sentence for goal in report.goals if goal.sentence and goal.guardrail != VIOLATED]


def goal_details(report: Report) -> list[str]:
    """Say what statements about goals rest on."""
    if not report.goals:
        return []
    said = [
        "Goals assume: a level changes the average by the same factor beside all others and at all times; outcomes "
        "are reported equally completely and promptly for every level.",
    ]
    others = [f"'{goal.name}' {goal.error:g}" for goal in report.goals if not goal.steers]
    if others:
        each = f"{report.error_rate:g} for the goal that steers, {', '.join(others)}"
        said.append(f"Goals share the chance of error: {each}. The winner and all said of other goals hold together.")
    if report.steering is not None:
        name = report.steering.name
        said.append(f"Clicks in the table are amounts of '{name}', rounded at random; statements use the amounts.")
    for goal in report.goals:
        if goal.unmatched:
            said.append(f"{amount(goal.unmatched, 'outcome')} of '{goal.name}' came from visitors without a decision.")
    return said


def goal_table(goal: GoalReport) -> list[str]:
    """Return the levels of a goal as lines of text."""
    yes_no = goal.kind == "yes-no"
    own = [goal.name, "rate"] if yes_no else [goal.name, "per visitor", "visitors with one", "average"]
    rows = [["factor", "level", "visitors", *own, "against the baseline"]]
    for level in goal.levels:
        rate = percent(level.outcomes / level.visitors) if level.visitors else "-"
        average = f"{level.total / level.outcomes:,.4g}" if level.outcomes else "-"
        amounts = [f"{level.total:,.6g}", f"{level.per_visitor:,.4g}", rate, average]
        counted = [f"{level.outcomes:,}", rate] if yes_no else amounts
        rows.append([level.factor, level.name, f"{level.visitors:,}", *counted, level.against])
    capped = "" if yes_no else f", capped at {goal.cap:g}"
    table = aligned(rows, f"< < >{' >' * len(own)} <")
    return [f"Goal '{goal.name}'{capped}, {goal.better} is better:", *table]
