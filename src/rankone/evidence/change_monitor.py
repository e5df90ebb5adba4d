"""Has the world changed, or is it no product? Both asked of clicks alone, whatever the rate of the whole site does.

Clicks on two levels are *thinned to even chances*: one on x is kept with probability min(1, b / a), one on y with
min(1, a / b). Kept ones are tosses of one coin as long as nothing changes, whatever the policy does. Which are kept is
drawn from the number of their decision, so a journal that is read again gives the same. A *change* is a coin that is
another before and after a moment (`rankone.evidence.two_coins`), a level that is another against all others
(`rankone.evidence.level_share`), or two levels proven to beat each other (`reversed_levels`); a *misfit* is a coin that
is another beside one level of another factor than beside the rest. Evidence is divided by how much more than coins the
tosses *scatter*, block by block. How the error is shared, and the proofs: `docs/proofs.md`.
"""

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.evidence.level_share import count_level_click, least_chance
from rankone.evidence.trials import follow_rate
from rankone.evidence.two_coins import FIRST, KEPT, SIZES, moment_cost, two_coins
from rankone.numerics.arrays import Floats, Ints, starts_of
from rankone.numerics.change_point import start_history

ERROR_RATE = 0.05  # of all alarms of a kind together
_BLOCK = 16
_PRIOR = 50.0  # squared heads: how much blocks have to differ before scatter is believed
_MOST = 40_000  # coins, each beside each level of another factor, that are watched for a change
_MOST_COMPARED = 1_000_000  # the same for a misfit
# Fields of `Watch.alarm`.
ALARM_KIND, LEVEL_1, LEVEL_2, BESIDE, TOSSES_1, HEADS_1, TOSSES_2, HEADS_2 = range(8)
CHANGE, MISFIT = 1, 2  # what may ring
LEVELS = 2  # place of their bar in `Watch.bars`, after those of a change and of a misfit


class Watch(NamedTuple):
    """Kept clicks of each two levels of a factor: a coin, whose heads are clicks on the level with the lower number."""

    starts: Ints  # (factors + 1,) the first level of each factor, and the number of levels
    coins: Ints  # (levels, levels) the number of the coin of two levels; -1: they are not compared
    flips: Ints  # (coins, groups, 2) tosses and heads, beside each level of the next factor; one group: whatever beside
    moments: Ints  # (coins, groups, sizes, kept) heads at the last multiples of each distance
    blocks: Ints  # (coins, groups, 2) heads of the last whole block, -1: there is none, and when it began
    scatter: Floats  # (2,) sums over pairs of blocks: squared differences, and what one coin would give
    beside: Ints  # (coins, levels, 2) tosses and heads beside each level of other factors; no coins: nobody asks
    alive: Ints  # (levels,) 1: it may be shown
    level_clicks: Ints  # (levels,) clicks kept of all of a factor: throws of a die; no levels: nobody asks
    level_moments: Ints  # (sizes, kept, levels) what `level_clicks` was at the last multiples of each distance
    trial: Ints  # (4,) see `rankone.evidence.trials`
    rate_history: Floats  # (1, buckets, 2) outcomes of what is shown most; (0, ...): nobody asks
    rate_kept: Ints  # (1,)
    bars: Floats  # (3,) log evidence at which a coin rings, at which a misfit does, and at which a level does
    scratch: Ints  # (6,)
    alarm: Ints  # (8,) what rang, the two levels, the level beside them (-1: any), tosses and heads of both stretches


def error_of(number: int) -> float:
    """Return how probable a false alarm of a watch may be, with so many watches before it: together `ERROR_RATE`.

    >>> error_of(0), round(sum(error_of(number) for number in range(1000)), 4)
    (0.025, 0.05)
    """
    return ERROR_RATE / ((number + 1) * (number + 2))


def reversal_bar(sizes: tuple[int, ...], number: int) -> float:
    """Return the log evidence at which `reversed_levels` rings, after so many restarts."""
    return math.log(2.0 * max(1, sum(size * (size - 1) for size in sizes)) / error_of(number))


def reversed_levels(evidence: Any, bar: float) -> tuple[int, int]:
    """Return two levels each of which was proven to beat the other, the one that did so first in front; -1: no two.

    For a product whose levels keep their ratios one of the two is wrong, so the error of such proofs is that of the
    alarm. It sees a change soon after a verdict, when there are few clicks from before it that coins could compare.
    """
    proof = evidence.proof
    for x in range(len(proof)):
        for y in range(x):
            if proof[x, y] >= bar and proof[y, x] >= bar:
                return (y, x) if evidence.now[x, y] > evidence.now[y, x] else (x, y)
    return -1, -1


def start_watch(
    sizes: tuple[int, ...],
    number: int = 0,
    change: bool = True,
    misfit: bool = True,
    *,
    product: bool = True,
    trials: bool = False,
    live: Ints | None = None,
) -> Watch:
    """Return a watch before the first click, with so many watches before it (`number`).

    `change` and `misfit` say what rings, `product` whether levels may be a product, `trials` whether a suspicion is a
    reason to explore more, `live` the levels that are shown, numbered factor after factor (None: all).
    """
    asked = sizes if change or misfit else ()
    starts = starts_of(asked)
    levels = int(starts[-1])
    coins, count = np.full((levels, levels), -1, np.int64), 0
    for first, end in itertools.pairwise(starts.tolist()):
        for x in range(first, end):
            for y in range(x + 1, end):
                coins[x, y] = coins[y, x] = count
                count += 1
    groups = max(sizes) if len(asked) > 1 and count * max(sizes) <= _MOST else 1
    kept = count if change else 0
    fits = count if misfit and len(asked) > 1 and count * levels <= _MOST_COMPARED else 0
    level_clicks = levels if change and product else 0
    error = error_of(number)
    others = sum(math.comb(size, 2) * (levels - size) for size in asked)
    alive = np.ones(levels, np.int64)
    if live is not None and levels:
        alive[:] = 0
        alive[live] = 1
    rate_history, rate_kept = start_history(1 if change and trials else 0)
    return Watch(
        starts=starts,
        coins=coins,
        flips=np.zeros((count, groups, 2), np.int64),
        moments=np.zeros((kept, groups, SIZES, KEPT), np.int32),
        blocks=np.full((count, groups, 2), [-1, 0], np.int64),
        scatter=np.zeros(2),
        beside=np.zeros((fits, levels, 2), np.int32),
        alive=alive,
        level_clicks=np.zeros(level_clicks, np.int64),
        level_moments=np.zeros((SIZES, KEPT, level_clicks), np.int64),
        trial=np.array([0, 0, 0, -1], np.int64),
        rate_history=rate_history,
        rate_kept=rate_kept,
        bars=np.log(np.array([4.0 * max(1, count * groups), max(1, others), 4.0 * max(1, level_clicks)]) / error),
        scratch=np.zeros(6, np.int64),
        alarm=np.zeros(8, np.int64),
    )


@noalloc
def _uniform_of(number: int) -> float:
    """Return a number from 0 to 1 that the number of a decision gives (splitmix64)."""
    mixed = np.uint64(number) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11)) / 9007199254740992.0


def scattered(watch: Any) -> float:
    """Return how much more than a coin's the tosses scatter; 1 if not more, or if nothing is known."""
    return max(1.0, (watch.scatter[0] + _PRIOR) / (watch.scatter[1] + _PRIOR))


_scattered = noalloc(scattered)


@noalloc
def _raise_alarm(watch: Any, what: int, x: int, y: int, beside: int, first: Any, second: Any) -> None:
    alarm = watch.alarm
    alarm[ALARM_KIND], alarm[LEVEL_1], alarm[LEVEL_2], alarm[BESIDE] = what, x, y, beside
    alarm[TOSSES_1], alarm[HEADS_1] = first
    alarm[TOSSES_2], alarm[HEADS_2] = second


@noalloc
def _changed(watch: Any, coin: int, group: int, bar: float) -> int:
    """Note the moment that the last toss of a coin ends; return tosses up to when it changed, 0: it has not."""
    tosses, heads = watch.flips[coin, group]
    scatter, distance = _scattered(watch), FIRST
    for size in range(SIZES):
        last = tosses // distance
        if last == 0:
            return 0
        kept = watch.moments[coin, group, size]
        if last * distance == tosses:
            kept[last % KEPT] = heads
        for number in range(max(1, last - KEPT + 1), last + 1):
            then, heads_then = number * distance, kept[number % KEPT]
            if then < tosses:
                needed = scatter * (bar + moment_cost(size, number))
                if two_coins(then, heads_then, tosses - then, heads - heads_then, needed) >= needed:
                    watch.scratch[0] = heads_then
                    return then
        distance *= 2
    return 0


@noalloc
def _end_block(watch: Any, coin: int, group: int) -> None:
    """Compare the block of tosses that has just ended with the one before."""
    heads, blocks = watch.flips[coin, group, 1], watch.blocks[coin, group]
    now, before = heads - blocks[1], blocks[0]
    if before >= 0:
        watch.scatter[0] += (now - before) * (now - before)
        watch.scatter[1] += (now * (_BLOCK - before) + before * (_BLOCK - now)) / _BLOCK
    blocks[0], blocks[1] = now, heads


@noalloc
def _follow(watch: Any, coin: int, group: int, x: int, y: int, beside: int) -> None:
    tosses, heads = watch.flips[coin, group]
    if tosses % _BLOCK == 0:
        _end_block(watch, coin, group)
    if len(watch.moments) > 0:
        then = _changed(watch, coin, group, watch.bars[CHANGE - 1])
        if then > 0:
            before = watch.scratch[0]
            _raise_alarm(watch, CHANGE, x, y, beside, (then, before), (tosses - then, heads - before))


@noalloc
def _compare(watch: Any, coin: int, x: int, y: int, level: int, factor: int) -> None:
    """Ring if a coin falls otherwise beside a level of another factor than beside the others."""
    tosses = heads = 0
    for other in range(watch.starts[factor], watch.starts[factor + 1]):
        tosses += watch.beside[coin, other, 0]
        heads += watch.beside[coin, other, 1]
    here, there = watch.beside[coin, level, 0], watch.beside[coin, level, 1]
    needed = _scattered(watch) * watch.bars[MISFIT - 1]
    if two_coins(here, there, tosses - here, heads - there, needed) >= needed:
        _raise_alarm(watch, MISFIT, x, y, level, (here, there), (tosses - here, heads - there))


@noalloc
def _follow_level(watch: Any, factor: int, level: int) -> None:
    result = watch.scratch
    changed = count_level_click(watch, factor, level, watch.bars[LEVELS], _scattered(watch), result)
    if changed and watch.alarm[ALARM_KIND] == 0:
        _raise_alarm(watch, CHANGE, result[0], result[1], -1, (result[2], result[3]), (result[4], result[5]))


@noalloc
def watch_outcome(watch: Any, shown: Any, cross: Any, number: int, clicked: int) -> None:
    """Learn from the outcome of decision `number`, and ring if it gives reason to.

    `shown` and `cross` are as in `rankone.evidence.levels.weigh_click`.
    """
    follow_rate(watch, shown, cross, clicked)
    if not clicked or len(watch.flips) == 0:  # silence says nothing, or nobody asks
        return
    luck, n_factors, groups = _uniform_of(number), len(shown), watch.flips.shape[1]
    for factor in range(n_factors):
        level = shown[factor]
        a = cross[level]
        # A level that was retired while the decision was open has no face: the die is of those that live.
        if len(watch.level_clicks) > 0 and watch.alive[level] and luck * a < least_chance(watch, cross, factor):
            _follow_level(watch, factor, level)
        following = (factor + 1) % n_factors
        group = shown[following] - watch.starts[following] if groups > 1 else 0
        for other in range(watch.starts[factor], watch.starts[factor + 1]):
            b = cross[other]
            if other == level or not a > 0.0 or not b > 0.0 or luck * a >= b:
                continue
            x, y = min(level, other), max(level, other)
            coin, head = watch.coins[x, y], 1 if level == x else 0
            watch.flips[coin, group, 0] += 1
            watch.flips[coin, group, 1] += head
            if len(watch.beside) > 0:
                for each in range(n_factors):
                    if each != factor:
                        watch.beside[coin, shown[each], 0] += 1
                        watch.beside[coin, shown[each], 1] += head
                        if watch.alarm[ALARM_KIND] == 0:
                            _compare(watch, coin, x, y, shown[each], each)
            if watch.alarm[ALARM_KIND] == 0:
                _follow(watch, coin, group, x, y, shown[following] if groups > 1 else -1)


def watch_outcomes(watch: Any, shown: Ints, clicked: Ints, crosses: Floats, decisions: Ints) -> None:
    """Learn from outcomes, one per row; those whose probabilities are not known have a cross of zeros."""
    for index in range(len(clicked)):
        watch_outcome(watch, shown[index], crosses[index], decisions[index], clicked[index])
