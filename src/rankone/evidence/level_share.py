"""Has a level changed against all others of its factor together? All clicks of a factor in one test.

A click on x is kept with probability ``min over y of p(y) / p(x)``, p(y) being the probability with which the decision
would have had level y, all else the same. Where levels multiply, kept clicks are throws of one die (`docs/proofs.md`),
so of each level the stretches before and after a moment are compared as those of a coin.
"""

from typing import Any

from rankone.compiling.compiled import noalloc
from rankone.evidence.trials import begin_trial, count_trial_click
from rankone.evidence.two_coins import FIRST, KEPT, SIZES, apart, moment_cost, two_coins

_EVERY = 4  # throws, of which the last is a reason to compare
_SUSPICIOUS = 20.0  # squared standard errors that are a reason for a trial: evidence enough for none


@noalloc
def least_chance(watch: Any, cross: Any, factor: int) -> float:
    """Return the least probability with which a living level of a factor would have been shown; 0: one never would."""
    least = 1.0
    for level in range(watch.starts[factor], watch.starts[factor + 1]):
        if watch.alive[level] and not cross[level] >= least:
            least = cross[level]
    return least


@noalloc
def count_level_click(watch: Any, factor: int, level: int, bar: float, scatter: float, result: Any) -> bool:
    """Enter a throw; return whether a level has changed. `result`: it, the one it changed most against, and both's
    throws before and after: tosses, heads, tosses, heads."""
    first, end = watch.starts[factor], watch.starts[factor + 1]
    watch.level_clicks[level] += 1
    count_trial_click(watch)
    throws = 0
    for each in range(first, end):
        throws += watch.level_clicks[each]
    if throws % _EVERY != 0:
        return False
    distance = FIRST
    for size in range(SIZES):
        last = throws // distance
        if last == 0:
            return False
        if last * distance == throws:
            for each in range(first, end):
                watch.level_moments[size, last % KEPT, each] = watch.level_clicks[each]
        for number in range(max(1, last - KEPT + 1), last + 1):
            then = number * distance
            if then == throws:
                continue
            needed = scatter * (bar + moment_cost(size, number))
            before = watch.level_moments[size, number % KEPT]
            for each in range(first, end):
                heads, more = before[each], watch.level_clicks[each] - before[each]
                if apart(then, heads, throws - then, more) >= scatter * _SUSPICIOUS:
                    begin_trial(watch)
                    if two_coins(then, heads, throws - then, more, needed) >= needed:
                        _tell(watch, first, end, each, before, result)
                        return True
        distance *= 2
    return False


@noalloc
def _tell(watch: Any, first: int, end: int, level: int, before: Any, result: Any) -> None:
    """Fill in what changed, against the other level for which the two stretches are furthest apart."""
    other, furthest = -1, -2.0
    for each in range(first, end):
        more, mores = watch.level_clicks[level] - before[level], watch.level_clicks[each] - before[each]
        distance = apart(before[level] + before[each], before[level], more + mores, more)
        if each != level and distance > furthest:
            other, furthest = each, distance
    x, y = min(level, other), max(level, other)
    more = watch.level_clicks[x] - before[x]
    result[0], result[1] = x, y
    result[2], result[3] = before[x] + before[y], before[x]
    result[4], result[5] = more + watch.level_clicks[y] - before[y], more
