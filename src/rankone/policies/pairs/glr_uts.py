"""UTS that notices when the world changes: unimodal Thompson sampling (`rankone.policies.pairs.uts`) with the
change-point test of Besson, Kaufmann, Maillard, Seznec (2022), section 3; but what ends an era is a ratio of rates that
has changed, not a rate. Ours.

The rules:

1. *Suspicion.* The rate of the leader is tested at geometrically spaced splits (`rankone.numerics.change_point`). That
   it has changed may mean that the whole site has (night, a campaign), which changes no choice: nothing is forgotten.
2. *Trial.* Instead, the leader has to win again. From now on the leader and its cross are counted afresh, and every
   second decision is a Thompson step on these counts alone. The level of the site is the same for all of them, whatever
   it does, so that only ratios count. The trial ends well when the leader wins 8 such draws in a row; after 128 draws
   that went to others which looked worse, it is broken off and taken up again later. A trial begins only while at most
   sqrt(t) of the t decisions of an era were such draws: that is about all that a moving site costs.
3. *Alarm.* The era ends when, beyond doubt, another combination is better than the leader by the counts of the trial,
   or the ratios to the leader are others in the trial than before it. (Before it, each outcome counts beside the rate
   that the leader had at the time.) Everything else is forgotten, and UTS starts anew on the counts of the trial.

No horizon is needed: era k = 0, 1, ... may err with probability delta_k = 0.05 / ((k + 1) (k + 2)), and so all eras
together with 0.05; within an era trials share delta_k in the same way. docs/when-the-world-changes.md has what was
measured. What becomes best unseen, while the leader's rate stays, raises no suspicion: it is found only when UTS
happens to try it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankone.compiling.compiled import inlined, noalloc
from rankone.kernels.policy import decide, learn, relearn, view
from rankone.numerics.beta import draw_beta
from rankone.numerics.beta_maximum import fields_with_crowd
from rankone.numerics.change_point import (
    begin_history,
    changed_rate,
    changed_ratios,
    note_outcome,
    rate_evidence,
    start_history,
)
from rankone.numerics.rekeyable_table import NOBODY
from rankone.policies.combination_policy import check_kept
from rankone.policies.engines.combinations import is_forbidden, number_of, on_cross, place_on_cross, write_levels
from rankone.policies.engines.unimodal import (
    Ints,
    LeaderState,
    clicks_of,
    find_leader,
    forget_leaders,
    leading_posterior_view,
    pulls_of,
)
from rankone.policies.pairs.uts import UTS, UTS_CENTRE, UTSState, choose_on_cross, take_in

# Fields of `GLRState.alarm`.
GLR_CENTRE, GLR_STRANGE, GLR_ERA, GLR_STEPS, GLR_TRIAL, GLR_TRIALS = range(6)
GLR_SPENT, GLR_WINS, GLR_COST, GLR_DUE, GLR_LAST = range(6, 11)
_ERROR = 0.05
_RECENT = 32  # outcomes of the leader that make its present rate
_EVERY = 4  # decisions of a trial between two looks at all ratios
_WINS = 8  # in a row that end a trial
_DEAREST = 128  # decisions of a trial that may go to others that look worse than the leader
_PATIENCE = 32  # decisions in a row that another has to lead before it is taken for the leader


class GLRState(fields_with_crowd(*LeaderState._fields, "watch", "history", "kept", "past", "fresh", "alarm")):  # type: ignore[misc]
    """A state of UTS; the history of the leader's outcomes; past, (1 + cross, 3): pulls and clicks of its cross before
    a trial, and the sum of the leader's rates at these times, but first the leader's latest pulls and their mean;
    fresh, (1 + cross, 2): pulls and clicks in a trial, first of the leader; alarm, (11,): combination taken for the
    leader, decisions in a row at which another led, era, decisions in it, decisions of this trial (0: there is none),
    trials of the era, decisions in trials of the era and in this one that went to others which looked worse, wins in
    a row, whether a trial is due, whether the last decision was one of a trial."""


@dataclass(frozen=True)
class GLRUTS(UTS):
    """UTS that starts anew when another pair has become the best; a moving level of the whole site is no reason.

    >>> GLRUTS().label, GLRUTS().live().label
    ('glr-uts', 'glr-uts:coin=true')
    """

    name: ClassVar[str] = "glr-uts"
    suits: ClassVar[str] = "a world in which another pair becomes the best now and then"

    def begin(self, sizes: Ints, forbidden: Ints) -> GLRState:
        """Return the state before the first decision."""
        check_kept(sizes, self.name)
        own: UTSState = super().begin(sizes, forbidden)
        history, kept = start_history(1)
        alarm = np.zeros(11, np.int64)
        alarm[GLR_CENTRE] = NOBODY
        cross = 1 + int((sizes - 1).sum())
        more = {"past": np.zeros((cross, 3)), "fresh": np.zeros((cross, 2), np.int64), "alarm": alarm}
        return GLRState(**own._asdict(), history=history, kept=kept, **more)


@noalloc
def watch_leader(state: Any, leader: int) -> None:
    """Begin to watch another leader."""
    alarm = state.alarm
    if alarm[GLR_TRIAL] > 0:
        alarm[GLR_DUE] = 1  # the trial goes on with whoever leads now
    alarm[GLR_CENTRE], alarm[GLR_STRANGE], alarm[GLR_TRIAL] = leader, 0, 0
    if leader != NOBODY:
        begin_history(state.history, state.kept, 0, pulls_of(state, leader), clicks_of(state, leader))
    for place in range(len(state.past)):
        state.past[place, 0] = state.past[place, 1] = state.past[place, 2] = 0.0


@noalloc
def error_of_era(state: Any) -> float:
    """Return the probability with which this era may err."""
    era = state.alarm[GLR_ERA]
    return _ERROR / ((era + 1.0) * (era + 2.0))


@noalloc
def on_trial(state: Any, place: int) -> int:
    """Return the combination at a place of a trial: the leader, then its cross."""
    centre = state.alarm[GLR_CENTRE]
    return centre if place == 0 else on_cross(state.sizes, centre, place - 1)


@noalloc
def begin_trial(state: Any, budget: int) -> None:
    """Let the leader prove itself, as soon as that has not cost too much already: more than sqrt(budget) decisions."""
    alarm = state.alarm
    alarm[GLR_DUE] = 1
    if alarm[GLR_SPENT] * alarm[GLR_SPENT] > budget:
        return
    alarm[GLR_TRIALS] += 1
    alarm[GLR_DUE], alarm[GLR_TRIAL], alarm[GLR_WINS], alarm[GLR_COST] = 0, 1, 0, 0
    for place in range(len(state.fresh)):
        state.fresh[place, 0] = state.fresh[place, 1] = 0


@noalloc
def end_trial(state: Any) -> None:
    """The leader has won: what was seen of the others belongs to the past."""
    past, fresh = state.past, state.fresh
    state.alarm[GLR_TRIAL] = 0
    for place in range(1, len(past)):
        past[place, 0] += fresh[place, 0]
        past[place, 1] += fresh[place, 1]
        past[place, 2] += fresh[place, 0] * (fresh[0, 1] / max(fresh[0, 0], 1))


@noalloc
def begin_era(state: Any) -> None:
    """Forget everything but the trial."""
    forget_leaders(state)
    state.watch[UTS_CENTRE] = NOBODY
    for place in range(len(state.fresh)):
        pair = on_trial(state, place)
        for step in range(state.fresh[place, 0]):
            take_in(state, pair, 1 if step < state.fresh[place, 1] else 0)
    watch_leader(state, NOBODY)
    state.alarm[GLR_ERA] += 1
    state.alarm[GLR_DUE] = state.alarm[GLR_STEPS] = state.alarm[GLR_SPENT] = state.alarm[GLR_TRIALS] = 0


@noalloc
def step_of_trial(state: Any, rng: Any) -> int:
    """Let the leader and its cross draw, on what the trial has seen; return the winner."""
    alarm, best, largest = state.alarm, 0, -1.0
    for place in range(len(state.fresh)):
        if len(state.forbidden) > 0 and is_forbidden(state.sizes, state.forbidden, on_trial(state, place)):
            continue
        draw = draw_beta(state.fresh[place, 0], state.fresh[place, 1], rng)
        if draw > largest:
            best, largest = place, draw
    if best == 0:
        alarm[GLR_WINS] += 1
    else:
        alarm[GLR_WINS] = 0
        if state.fresh[best, 1] * state.fresh[0, 0] <= state.fresh[0, 1] * state.fresh[best, 0]:
            alarm[GLR_COST] += 1
            alarm[GLR_SPENT] += 1
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
    if alarm[GLR_DUE] and alarm[GLR_TRIAL] == 0 and leader == alarm[GLR_CENTRE]:
        begin_trial(state, alarm[GLR_STEPS] // 4)
    if alarm[GLR_TRIAL] > 0:
        alarm[GLR_TRIAL] += 1
        alarm[GLR_LAST] = alarm[GLR_TRIAL] % 2
        if alarm[GLR_WINS] >= _WINS or alarm[GLR_COST] > _DEAREST:
            alarm[GLR_DUE], alarm[GLR_LAST] = int(alarm[GLR_WINS] < _WINS), 0
            end_trial(state)
    pair = step_of_trial(state, rng) if alarm[GLR_LAST] else choose_on_cross(state, leader, rng)
    write_levels(state.sizes, pair, shown)
    return 0


@noalloc
def has_changed(state: Any, place: int) -> bool:
    """Tell whether a combination on trial is better than the leader beyond doubt, or ratios are others than before."""
    fresh, trials = state.fresh, state.alarm[GLR_TRIALS]
    pulls, clicks, own, own_clicks = fresh[place, 0], fresh[place, 1], fresh[0, 0], fresh[0, 1]
    if own == 0:
        return False
    delta = error_of_era(state) / (trials * (trials + 1.0))
    if clicks * own > own_clicks * pulls:
        enough = math.log((len(fresh) - 1) / delta)
        if rate_evidence(float(own), float(own_clicks), float(pulls), float(clicks)) > enough:
            return True
    return state.alarm[GLR_TRIAL] % _EVERY == 1 and changed_ratios(state.past, fresh, delta)


@noalloc
def look(state: Any, pair: int, reward: int) -> None:
    """Look at an outcome: is the leader's rate suspicious, or has a trial shown that the world has changed?"""
    alarm, past, place = state.alarm, state.past, 0
    if pair == alarm[GLR_CENTRE]:
        past[0, 0] = min(past[0, 0] + 1.0, _RECENT)
        past[0, 1] += (reward - past[0, 1]) / past[0, 0]
        full = note_outcome(state.history, state.kept, 0, reward)
        if full and alarm[GLR_TRIAL] == 0 and changed_rate(state.history, state.kept, 0, error_of_era(state)) != NOBODY:
            begin_history(state.history, state.kept, 0, 0, 0)  # its rate is what it is now
            begin_trial(state, alarm[GLR_STEPS])
            return
    else:
        place = 1 + place_on_cross(state.sizes, alarm[GLR_CENTRE], pair)
        if place == 0:
            return
        if alarm[GLR_TRIAL] == 0:
            if past[0, 0] >= _RECENT:
                past[place, 0] += 1.0
                past[place, 1] += reward
                past[place, 2] += past[0, 1]
            return
    if alarm[GLR_TRIAL] > 0:
        state.fresh[place, 0] += 1
        state.fresh[place, 1] += reward
        if place > 0 and has_changed(state, place):
            begin_era(state)


@inlined
def take_in_and_look(state: Any, pair: int, reward: int) -> None:
    """Count an outcome and look whether something has changed."""
    take_in(state, pair, reward)
    if state.alarm[GLR_CENTRE] != NOBODY:
        look(state, pair, reward)


@learn.register(GLRState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    take_in_and_look(state, number_of(state.sizes, shown), outcome[0])


@relearn.register(GLRState)
def _relearn(state: Any, shown: Any, pulls: int, clicks: int) -> None:
    pair = number_of(state.sizes, shown)
    for place in range(pulls):  # when they came is not known, so they are counted and not looked at
        take_in(state, pair, 1 if place < clicks else 0)


view.register(GLRState)(leading_posterior_view)
