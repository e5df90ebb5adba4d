"""UTS that notices when the world changes: unimodal Thompson sampling (`rankone.policies.factors.unimodal.uts`) with
the change-point test of Besson, Kaufmann, Maillard, Seznec (2022), section 3; but what ends an era is a ratio of rates
that has changed, not a rate. Ours.

1. *Suspicion.* The rates of the leader, and of the three that led before it, are tested at geometrically spaced splits
   (`rankone.numerics.change_point`). A change may mean that the whole site has changed (night, a campaign), which
   changes no choice: nothing is forgotten.
2. *Trial.* Instead, the leader has to win again. The leader and its cross are counted afresh, and every second decision
   is a Thompson step on these counts alone, until the leader wins 8 such draws in a row. Each outcome counts beside the
   rate that the leader had at the time, so that only ratios count. Another suspicion, or another leader, and the trial
   begins anew. Draws that go to others cost what they seem to lose, as a share of the leader's clicks, and at least a
   tenth: they rest while those of an era have cost more than 45 at first and sqrt(t / 2) in its t decisions later (less
   after many trials: then it is the site that moves).
3. *Alarm.* The era ends when, beyond doubt, another combination is better than the leader by the counts of the trial,
   or the ratios to the leader are others in the trial than before it. UTS starts anew on the counts of the trial.

No horizon is needed: era k = 0, 1, ... may err with probability delta_k = 0.05 / ((k + 1) (k + 2)), and so all eras
together with 0.05; trials share delta_k in the same way. That is what thresholds aim at, not a bound. What becomes best
unseen, while the leader's rate stays, raises no suspicion. docs/when-the-world-changes.md has what was measured.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.kernels.policy import decide, learn, relearn, view
from rankone.numerics.arrays import Ints
from rankone.numerics.betas.beta import draw_beta_above
from rankone.numerics.betas.beta_maximum import fields_with_beta_groups
from rankone.numerics.change_point import (
    begin_history,
    changed_ratios,
    evident_split,
    note_outcome,
    rate_evidence,
    start_history,
)
from rankone.numerics.structures.hash_tables import NOBODY
from rankone.policies.engines.combinations import (
    may_show,
    number_of,
    on_cross,
    position_on_cross,
    record_outcome,
    relearn_combination,
    write_levels,
)
from rankone.policies.engines.unimodal import (
    LeaderState,
    clicks_of,
    find_leader,
    forget_leaders,
    leading_posterior_view,
    pulls_of,
)
from rankone.policies.factors.unimodal.uts import UTS, UTS_CENTRE, UTSState, choose_on_cross, record_of_uts

# Fields of `GLRState.alarm`.
GLR_CENTRE, GLR_STRANGE, GLR_ERA, GLR_STEPS, GLR_TRIAL, GLR_TRIALS, GLR_WINS, GLR_DUE, GLR_LAST, GLR_TURN = range(10)
_ERROR = 0.05
_WATCHED = 4  # combinations that led last, whose rates are tested
_SUSPICIOUS = 11.0  # log likelihood ratio: reached by chance in a few of a thousand runs
_RECENT = 32  # outcomes of the leader that make its present rate
_UNSURE = 4  # and how many what it was before a trial is worth
_EVERY = 4  # decisions of a trial between two looks at all ratios
_WINS = 8  # in a row that end a trial
_LEAST_COST = 0.1  # of a draw of a trial that goes to another, in clicks of the leader's
_RATION = 0.5  # what draws of an era may have cost, squared, in each decision
_FREE = 4_096  # decisions for which there is a ration beforehand
_MANY = 64  # trials of an era, by which this is halved
_PATIENCE = 32  # decisions in a row that another has to lead before it is taken for the leader


_FIELDS = ("watch", "history", "kept", "watched", "past", "fresh", "spent", "alarm")


class GLRState(fields_with_beta_groups(*LeaderState._fields, *_FIELDS)):  # type: ignore[misc]
    """A state of UTS; the histories of the outcomes of those that led last, and which these are; past, (1 + cross, 3):
    pulls and clicks of the leader's cross before a trial, and the sum of its rates at these times, but first the
    leader's latest pulls and their mean; fresh, likewise, in a trial, but first pulls and clicks of the leader; spent,
    (1,): what draws of trials have cost in this era; alarm, (10,): see GLR_ERA and those beside it.
    """


@dataclass(frozen=True)
class GLRUTS(UTS):
    """UTS that starts anew when another pair has become the best; a moving level of the whole site is no reason.

    >>> GLRUTS().label, GLRUTS().live().label
    ('glr-uts', 'glr-uts:coin=true')
    """

    name = "glr-uts"
    use_when = "a world in which another pair becomes the best now and then"
    keeps_each = True

    def _begin(self, sizes: Ints, forbidden: Ints) -> GLRState:
        own: UTSState = super()._begin(sizes, forbidden)
        history, kept = start_history(_WATCHED)
        alarm = np.zeros(10, np.int64)
        alarm[GLR_CENTRE] = NOBODY
        cross = 1 + int((sizes - 1).sum())
        counts = {"past": np.zeros((cross, 3)), "fresh": np.zeros((cross, 3)), "spent": np.zeros(1)}
        watched = np.full(_WATCHED, NOBODY)
        return GLRState(**own._asdict(), history=history, kept=kept, watched=watched, **counts, alarm=alarm)


@noalloc
def history_of(state: Any, combination: int) -> int:
    """Return which history is of a combination; -1: none."""
    for index in range(_WATCHED):
        if state.watched[index] == combination:
            return index
    return -1


@noalloc
def watch_leader(state: Any, leader: int) -> None:
    """Begin to watch another leader; a trial goes on with it."""
    alarm = state.alarm
    alarm[GLR_CENTRE], alarm[GLR_STRANGE] = leader, 0
    if history_of(state, leader) < 0:
        index = alarm[GLR_TURN] = (alarm[GLR_TURN] + 1) % _WATCHED
        state.watched[index] = leader
        begin_history(state.history, state.kept, index, pulls_of(state, leader), clicks_of(state, leader))
    state.past[:] = 0.0
    if alarm[GLR_TRIAL] > 0:
        demand_trial(state)


@noalloc
def on_trial(state: Any, index: int) -> int:
    """Return the combination at a place of a trial: the leader, then its cross."""
    centre = state.alarm[GLR_CENTRE]
    return centre if index == 0 else on_cross(state.sizes, centre, index - 1)


@noalloc
def demand_trial(state: Any) -> None:
    """Let the leader prove itself, anew if it is about to, as soon as there may be a trial."""
    state.alarm[GLR_DUE], state.alarm[GLR_TRIAL] = 1, 0


@noalloc
def may_draw(state: Any) -> bool:
    """Tell whether trials have not cost too much so far; after many it is the site that moves, most likely."""
    ration = _RATION * (_FREE + state.alarm[GLR_STEPS]) / (1.0 + state.alarm[GLR_TRIALS] / _MANY)
    return bool(state.spent[0] * state.spent[0] <= ration)


@noalloc
def begin_trial(state: Any) -> None:
    """Count the leader and its cross afresh."""
    alarm = state.alarm
    alarm[GLR_TRIALS] += 1
    alarm[GLR_DUE], alarm[GLR_TRIAL], alarm[GLR_WINS] = 0, 1, 0
    state.past[0, 0] = min(state.past[0, 0], _UNSURE)
    state.fresh[:] = 0.0


@noalloc
def end_trial(state: Any) -> None:
    """The leader has won: what was seen of the others belongs to the past."""
    state.alarm[GLR_TRIAL] = 0
    for index in range(1, len(state.past)):
        for column in range(3):
            state.past[index, column] += state.fresh[index, column]


@noalloc
def begin_era(state: Any) -> None:
    """Forget everything but the trial."""
    forget_leaders(state)
    state.watch[UTS_CENTRE] = NOBODY
    for index in range(len(state.fresh)):
        combination = on_trial(state, index)
        for step in range(int(state.fresh[index, 0])):
            record_outcome(state, combination, 1 if step < state.fresh[index, 1] else 0)
    alarm = state.alarm
    alarm[GLR_ERA] += 1
    alarm[GLR_CENTRE] = NOBODY
    alarm[GLR_STEPS] = alarm[GLR_TRIAL] = alarm[GLR_TRIALS] = alarm[GLR_DUE] = 0
    state.spent[0] = 0.0
    state.watched[:] = NOBODY


@noalloc
def step_of_trial(state: Any, rng: Any) -> int:
    """Let the leader and its cross draw, on what the trial has seen; return the winner."""
    alarm, fresh, best, largest = state.alarm, state.fresh, 0, -1.0
    for index in range(len(fresh)):
        if len(state.forbidden) > 0 and not may_show(state, on_trial(state, index)):
            continue
        draw = draw_beta_above(int(fresh[index, 0]), int(fresh[index, 1]), largest, rng)
        if draw > largest:
            best, largest = index, draw
    if best == 0:
        alarm[GLR_WINS] += 1
    else:
        alarm[GLR_WINS] = 0
        ratio = (fresh[best, 1] + 1.0) / (fresh[best, 0] + 2.0) * ((fresh[0, 0] + 2.0) / (fresh[0, 1] + 1.0))
        state.spent[0] += max(1.0 - ratio, _LEAST_COST)
    return on_trial(state, best)


@decide.register(GLRState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    leader, alarm = find_leader(state, rng), state.alarm
    alarm[GLR_STEPS] += 1
    alarm[GLR_LAST] = 0
    if leader == alarm[GLR_CENTRE]:
        alarm[GLR_STRANGE] = 0
    else:
        alarm[GLR_STRANGE] += 1
        if alarm[GLR_CENTRE] == NOBODY or alarm[GLR_STRANGE] >= _PATIENCE:
            watch_leader(state, leader)
    if alarm[GLR_DUE] and leader == alarm[GLR_CENTRE] and may_draw(state):
        begin_trial(state)
    if alarm[GLR_TRIAL] > 0:
        alarm[GLR_TRIAL] += 1
        if alarm[GLR_WINS] >= _WINS:
            end_trial(state)
        elif alarm[GLR_TRIAL] % 2 and may_draw(state):
            alarm[GLR_LAST] = 1
    combination = step_of_trial(state, rng) if alarm[GLR_LAST] else choose_on_cross(state, leader, rng)
    write_levels(state.sizes, combination, shown)
    return 0


@noalloc
def has_changed(state: Any, index: int) -> bool:
    """Tell whether a combination on trial is better than the leader beyond doubt, or ratios are others than before."""
    fresh, era, trials = state.fresh, state.alarm[GLR_ERA], state.alarm[GLR_TRIALS]
    pulls, clicks, own = fresh[index, 0], fresh[index, 1], fresh[0, 0]
    if own == 0.0:
        return False
    delta = _ERROR / ((era + 1.0) * (era + 2.0)) / (trials * (trials + 1.0))
    level = min(fresh[index, 2] / pulls, 1.0)
    if clicks > level * pulls:
        enough = math.log((len(fresh) - 1) / delta * math.sqrt(1.0 + pulls))
        if rate_evidence(own, level * own, pulls, clicks) > enough:
            return True
    return state.alarm[GLR_TRIAL] % _EVERY == 1 and changed_ratios(state.past, fresh, delta)


@noalloc
def look(state: Any, combination: int, reward: int) -> None:
    """Look at an outcome: is a rate suspicious, or has a trial shown that the world has changed?"""
    alarm, past, counted = state.alarm, state.past, state.past
    watched = history_of(state, combination)
    full = watched >= 0 and note_outcome(state.history, state.kept, watched, reward)
    if full and evident_split(state.history, state.kept, watched, _SUSPICIOUS) >= 0:
        for index in range(_WATCHED):
            begin_history(state.history, state.kept, index, 0, 0)  # rates are what they are now
        demand_trial(state)
        return
    index = 0
    if combination == alarm[GLR_CENTRE]:
        past[0, 0] = min(past[0, 0] + 1.0, _RECENT)
        past[0, 1] += (reward - past[0, 1]) / past[0, 0]
    else:
        index = 1 + position_on_cross(state.sizes, alarm[GLR_CENTRE], combination)
        if index == 0:
            return
    if alarm[GLR_TRIAL] > 0:
        counted = state.fresh
    elif index == 0 or past[0, 0] < _RECENT:
        return
    counted[index, 0] += 1.0
    counted[index, 1] += reward
    counted[index, 2] += past[0, 1]
    if alarm[GLR_TRIAL] > 0 and index > 0 and has_changed(state, index):
        begin_era(state)


@learn.register(GLRState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    combination = number_of(state.sizes, shown)
    record_outcome(state, combination, outcome[0])
    if state.alarm[GLR_CENTRE] != NOBODY:
        look(state, combination, outcome[0])


record_outcome.register(GLRState)(record_of_uts)
relearn.register(GLRState)(relearn_combination)  # when they came is not known: they are counted and not looked at
view.register(GLRState)(leading_posterior_view)
