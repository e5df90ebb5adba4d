"""How outcomes of goals are folded: in the order of events, and windows end by the time of events."""

import numpy as np

from rankone.live.evidence.goal_outcomes import LATE, UNMATCHED, GoalOutcomes, Pending
from rankone.live.fold.fold_facts import FoldFacts
from rankone.live.journal.events import AT, BY_AGE, DECISION, KIND, VALUE, Events, Kind

_GOAL, _VOID = int(Kind.GOAL), int(Kind.VOID)


def follow_goals(fold: FoldFacts, goals: GoalOutcomes, events: Events) -> None:
    """Take in the outcomes of goals among events, and end windows up to the last of them."""
    numbers, kinds = events.numbers, events.numbers[:, KIND]
    told = kinds == _GOAL
    rows = np.flatnonzero(told | ((kinds == _VOID) & (numbers[:, VALUE] != BY_AGE)))
    if len(rows):
        counted, taken = fold.exclusions.sift(events, told & (numbers[:, DECISION] >= 0))
        for seq, count in taken.items():
            fold.exclusions.taken[seq] += count
        hidden = fold.exclusions.hidden(events, counted, goals.sizes)
        place, since = np.cumsum(counted) - 1, fold.restarted_at
        for row in rows.tolist():
            _, kind, at, decision, goal, units = numbers[row].tolist()
            goals.pass_time(at)
            if kind == _VOID:
                goals.void(decision)
                continue
            texts = events.texts[row]
            details = texts.details()
            if decision < 0 or details.get("late"):
                goals.uncounted[goal, UNMATCHED if decision < 0 else LATE] += 1
            elif counted[row] and decision >= since:
                apart = () if hidden is None else tuple(np.flatnonzero(hidden[place[row]]).tolist())
                pending = Pending(0, details["due"], texts.shown or b"", texts.cross_chances, apart)
                goals.add(goal, decision, units, pending)
    goals.pass_time(int(numbers[-1, AT]))
