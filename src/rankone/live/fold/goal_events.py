"""How outcomes of goals are folded: in the order of events, and windows end by the time of events."""

from rankone.live.evidence.goal_outcomes import LATE, UNMATCHED, GoalOutcomes, Pending
from rankone.live.fold.fold_facts import FoldFacts
from rankone.live.journal.events import AT, BY_AGE, Events, Kind

_GOAL, _VOID = int(Kind.GOAL), int(Kind.VOID)


def follow_goals(fold: FoldFacts, goals: GoalOutcomes, events: Events) -> None:
    """Take in the outcomes of goals among events, and end windows up to the last of them."""
    for head, texts in zip(events.heads, events.texts, strict=True):
        _, kind, at, decision, goal, units = head
        if kind == _VOID and units != BY_AGE:
            goals.pass_time(at)
            goals.void(decision)
        if kind != _GOAL:
            continue
        goals.pass_time(at)
        details = texts.details()
        if decision < 0 or details.get("late"):
            goals.uncounted[goal, UNMATCHED if decision < 0 else LATE] += 1
            continue
        excluded = fold.exclusions.taking(head, texts)
        if excluded is not None:
            fold.exclusions.taken[excluded] += 1
        elif decision >= fold.restarted_at:
            hidden = tuple(fold.exclusions.hidden(head, texts, goals.sizes))
            told = Pending(0, details["due"], texts.shown or b"", texts.cross_chances, hidden)
            goals.add(goal, decision, units, told)
    goals.pass_time(events.heads[-1][AT])
