"""Trials: where something looks as if it had changed, decisions explore more for a while, and then it is known.

What rings must be proven from clicks on several levels, and a policy that has made up its mind hardly shows any level
but one. But it learns the rate of what it shows most from nearly every visitor. If that rate changes
(`rankone.numerics.change_point`), it may be night, or a change: a reason to look, never to ring. So is a level whose
share of clicks looks unlike before (`rankone.evidence.level_share`). Then a trial begins: until so many clicks were
kept, half of all decisions explore, all levels evenly. That costs some clicks and can mislead nobody, since evidence
counts decisions with the probabilities they had.

Where the rate of the whole site moves all the time there would be trials all the time: they are rationed.
"""

from typing import Any

from rankone.compiling.compiled import noalloc
from rankone.numerics.change_point import begin_history, changed_rate, note_outcome

TRIAL = 0.5  # the share of decisions that explore in one
# Fields of `Watch.trial`.
CLICKS_LEFT, TRIED, OUTCOMES, FOLLOWED = range(4)
_CLICKS = 400  # kept of all factors together, after which a trial has found nothing
_RATION = 0.1  # of all outcomes may be of trials before another begins
_FREE = 1_000  # besides these
_MOSTLY_SHOWN = 0.25  # the chance from which on a combination is what is shown most
_TEST_ERROR = 0.05  # of the test of its rate


@noalloc
def begin_trial(watch: Any) -> None:
    """Begin a trial, unless one is under way or there were too many."""
    trial = watch.trial
    if len(watch.rate_kept) > 0 and trial[CLICKS_LEFT] == 0 and trial[TRIED] <= _RATION * trial[OUTCOMES] + _FREE:
        trial[CLICKS_LEFT] = _CLICKS
        begin_history(watch.rate_history, watch.rate_kept, 0, 0, 0)


@noalloc
def count_trial_click(watch: Any) -> None:
    """Count a click that was kept."""
    if watch.trial[CLICKS_LEFT] > 0:
        watch.trial[CLICKS_LEFT] -= 1


@noalloc
def follow_rate(watch: Any, shown: Any, cross: Any, clicked: int) -> None:
    """Learn from an outcome; begin a trial if the rate of what is shown most is another."""
    if len(watch.rate_kept) == 0:  # nobody asks
        return
    trial = watch.trial
    trial[OUTCOMES] += 1
    if trial[CLICKS_LEFT] > 0:
        trial[TRIED] += 1
        if trial[TRIED] > 2.0 * (_RATION * trial[OUTCOMES] + _FREE):  # clicks are too rare
            trial[CLICKS_LEFT] = 0
        return
    if not cross[shown[0]] >= _MOSTLY_SHOWN:
        return
    number = 0
    for factor in range(len(shown)):
        number = number * (watch.starts[factor + 1] - watch.starts[factor]) + shown[factor] - watch.starts[factor]
    if trial[FOLLOWED] != number:
        trial[FOLLOWED] = number
        begin_history(watch.rate_history, watch.rate_kept, 0, 0, 0)
    full = note_outcome(watch.rate_history, watch.rate_kept, 0, clicked)
    if full and changed_rate(watch.rate_history, watch.rate_kept, 0, _TEST_ERROR) >= 0:
        begin_trial(watch)


def probe_shares(share: float, least: float, trial: float) -> tuple[float, float]:
    """Return the share that explores, at least `least` and `trial`, and the part of it in which all levels are alike.

    >>> probe_shares(0.0, 0.1, 0.0), probe_shares(0.5, 0.1, 0.0)
    ((0.1, 0.5), (0.5, 0.2))
    >>> probe_shares(0.1, 0.1, 0.5), probe_shares(1.0, 0.1, 0.5)  # in a trial
    ((0.5, 1.0), (1.0, 1.0))
    """
    share = max(least, trial, share)
    return share, 1.0 if trial > 0.0 else min(0.5, least / share)
