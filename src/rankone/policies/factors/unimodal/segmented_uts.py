"""Unimodal Thompson sampling for visitors of several segments: together while they agree, apart when they do not.

Own policy; the question, who may learn from whom, is that of Maillard and Mannor, "Latent Bandits" (ICML 2014), and of
Gentile, Li, Zappella, "Online Clustering of Bandits" (ICML 2014). The context of a decision is the number of the
visitor's segment. All segments begin in one *group*; a group runs UTS (Trinh et al. 2020, Algorithm 1) on the outcomes
of all its members, and each segment has a UTS of its own besides, on its own outcomes.

**Does a segment differ** from the rest of its group, and in which factors? `rankone.policies.engines.segment_tests` has
the odds. Where its own outcomes speak for another level of a factor than that of the group's leader, that likelihood
ratio, over the square root of the level's clicks, is taken if it is larger.

**Rule.** A decision is made by the segment's own UTS with the probability that the segment differs, else by its
group's. But with probability 3 over the square root of its outcomes, at most a half, the segment is *asked* for one
factor, drawn at random: its own outcomes decide that factor. Where the probability that it differs is above 0.9, the
segment leaves its group; one that is alone joins another from which it differs with probability below 0.0001.

**What stays common.** A segment that has left a group, its *source*, goes its own way in the factor that said so the
loudest. Any other factor is its own with the probability that the segment differs from its source in it, for good once
that is above 0.9, and where the segment is asked for it (one random number decides all of this). Otherwise the segment
shows the level that leads in the source, which goes on exploring the factor for both, and explores its own factors only
(`rankone.policies.engines.common_factors`). A source has a lower number than the group of who learns from it.

With ``apart=True`` every segment is on its own from the beginning: the yardstick of separate experiments.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from rankone.compiling.compiled import inlined, kernel, noalloc
from rankone.errors import InputError
from rankone.kernels.policy import chances, decide, learn, relearn, set_context
from rankone.numerics.betas.beta_maximum import BetaGroups, fields_with_beta_groups
from rankone.numerics.structures.hash_tables import NOBODY
from rankone.policies.combination_policy import CombinationPolicy
from rankone.policies.engines.combinations import is_forbidden, number_of, record_outcome, write_levels
from rankone.policies.engines.common_factors import draw_near, lead_with, level_of, near_chances, top_of
from rankone.policies.engines.segment_tests import PRIOR_ODDS, differs, differs_in, prefers, probability
from rankone.policies.factors.unimodal.uts import UTS, UTS_CENTRE, UTS_COIN, UTS_GAMMA, UTSState, is_forced

_OWN = tuple(field for field in UTSState._fields if field not in BetaGroups._fields)
_SHARED = ("constants", "sizes", "forbidden", "keys", "table")  # of a UTS, the same for all
_LEAVE, _JOIN = 0.9, 1e-4
_ASKED = 3.0  # over the square root of its outcomes: how often a segment is asked for one factor
_FIRST_LOOK = 16  # outcomes of a segment; then whenever there are a sixteenth more
_MOST = 3_000_000  # counts in all: each UTS keeps those of all combinations
# Rows of `SegmentedState.grouping`: the group of each segment, members of each group, outcomes so far, when to look
# next, the source of each segment or NOBODY.
SEG_GROUP, SEG_MEMBERS, SEG_SEEN, SEG_NEXT, SEG_SOURCE = range(5)
# Fields of `SegmentedState.last`: which UTS decided last; whose outcomes are recalled; the factors that were common, a
# bit for each, and who led if there were any.
SEG_USED, SEG_WHOSE, SEG_COMMON, SEG_LED = range(4)


class SegmentedState(fields_with_beta_groups(*_OWN, "grouping", "doubt", "own", "last", "sums", "near")):  # type: ignore[misc]
    """Twice as many UTS as segments, stacked: each segment's own, then each group's; the last is as new.

    grouping, (5, segments); doubt, (segments,) the probability that it differs from its group; own, (segments, D) that
    it differs from its source in a factor; last, (4,); sums, (levels, 3) and near, (levels,) scratch space.
    """


@dataclass(frozen=True)
class SegmentedUTS(CombinationPolicy):
    """Thompson sampling that shares what segments have in common, and takes them apart when they differ.

    Args:
        segments: how many segments there are at most; those beyond count as the last.
        coin: as in `UTS`.
        apart: every segment is on its own from the beginning.
    """

    segments: Annotated[int, "[1, 256]"] = 16
    coin: bool = False
    apart: bool = False
    name = "segmented-uts"
    use_when = "visitors of a few segments that may differ in what is best (needs a context)"
    uses_context = True
    by_segment = True

    def _begin(self, sizes: Any, forbidden: Any) -> SegmentedState:
        n, parts = math.prod(sizes.tolist()), 2 * self.segments + 1
        if n * parts > _MOST:
            got = f"{n:,} x {self.segments} segments"
            raise InputError(
                f"at most {_MOST // 2:,} combinations of all segments", got, "take levels or segments away"
            )
        one = UTS(coin=self.coin).start(*sizes.tolist(), forbidden=forbidden)._asdict()
        stacked = {
            field: array if field in _SHARED else np.repeat(array[None], parts, axis=0) for field, array in one.items()
        }
        grouping, levels = np.zeros((5, self.segments), np.int64), int(sizes.sum())
        grouping[SEG_GROUP] = np.arange(self.segments) if self.apart else 0
        grouping[SEG_MEMBERS] = 1 if self.apart else 0
        if not self.apart:
            grouping[SEG_MEMBERS, 0] = self.segments
        grouping[SEG_NEXT] = np.iinfo(np.int64).max if self.apart else _FIRST_LOOK
        grouping[SEG_SOURCE] = NOBODY
        if self.apart:
            stacked["watch"][self.segments : -1, UTS_CENTRE] = NOBODY  # as in `_renew`
        doubt, own = np.full(self.segments, PRIOR_ODDS / (1.0 + PRIOR_ODDS)), np.zeros((self.segments, len(sizes)))
        last, near, sums = np.zeros(4, np.int64), np.zeros(levels, np.int64), np.zeros((levels, 3))
        return SegmentedState(**stacked, grouping=grouping, doubt=doubt, own=own, last=last, sums=sums, near=near)


@inlined
def part(state: Any, number: int) -> Any:
    """Return one of the UTS."""
    return UTSState(
        state.pulls[number],
        state.clicks[number],
        state.led[number],
        state.best[number],
        state.ties[number],
        state.counters[number],
        state.constants,
        state.sizes,
        state.forbidden,
        state.reach[number],
        state.keys,
        state.table,
        state.watch[number],
        state.seats[number],
        state.groups[number],
        state.curves[number],
        state.group_counters[number],
    )


@kernel
def _renew(state: Any, number: int) -> None:
    """Make one of the UTS as new."""
    new = len(state.pulls) - 1
    for counts in (state.pulls, state.clicks, state.led, state.ties, state.counters, state.reach, state.watch):
        counts[number] = counts[new]
    state.best[number], state.group_counters[number] = state.best[new], state.group_counters[new]
    state.seats[number], state.groups[number] = state.seats[new], state.groups[new]
    state.curves[number] = state.curves[new]
    state.watch[number, UTS_CENTRE] = NOBODY  # a crowd is kept only where it is asked


@noalloc
def _add(state: Any, number: int, segment: int) -> None:
    """Let one of the UTS take in all outcomes of a segment."""
    into = part(state, number)
    for combination in range(state.pulls.shape[1]):
        clicks = state.clicks[segment, combination]
        for index in range(state.pulls[segment, combination]):
            record_outcome(into, combination, 1 if index < clicks else 0)


@noalloc
def _leave(state: Any, segment: int, factor: int) -> None:
    """Let a segment go its own way, at first in one factor."""
    grouping, size = state.grouping, len(state.doubt)
    group = grouping[SEG_GROUP, segment]
    empty = (group + 1) % size
    while grouping[SEG_MEMBERS, empty] > 0:
        empty = (empty + 1) % size
    grouping[SEG_MEMBERS, group] -= 1
    grouping[SEG_GROUP, segment], grouping[SEG_MEMBERS, empty] = empty, 1
    grouping[SEG_SOURCE, segment] = group if group < empty else NOBODY
    for other in range(len(state.sizes)):
        state.own[segment, other] = 1.0 if other == factor else 0.0
    for changed in (group, empty):
        _renew(state, size + changed)
        for other in range(size):
            if grouping[SEG_GROUP, other] == changed:
                _add(state, size + changed, other)


@noalloc
def _join(state: Any, segment: int) -> None:
    """Let a segment that is alone join the group that it agrees with, if there is one."""
    grouping, size = state.grouping, len(state.doubt)
    group = grouping[SEG_GROUP, segment]
    closest, least = group, _JOIN
    for other in range(size):
        if other != group and grouping[SEG_MEMBERS, other] > 0:
            result, _ = differs(state, segment, size + other, False)
            if result < least:
                closest, least = other, result
    if closest != group:
        grouping[SEG_MEMBERS, group] -= 1
        grouping[SEG_MEMBERS, closest] += 1
        grouping[SEG_GROUP, segment] = closest
        if grouping[SEG_SOURCE, segment] >= closest:
            grouping[SEG_SOURCE, segment] = NOBODY
            state.own[segment, :] = 0.0
        _add(state, size + closest, segment)
        state.doubt[segment] = least


@noalloc
def _look(state: Any, segment: int) -> None:
    """See whether a segment still belongs where it is, and what it has in common with its source."""
    grouping, size, sizes = state.grouping, len(state.doubt), state.sizes
    group = grouping[SEG_GROUP, segment]
    if grouping[SEG_MEMBERS, group] > 1:
        leader = top_of(part(state, size + group))
        doubt, loudest = differs(state, segment, size + group, True)
        for factor in range(len(sizes)):
            level = level_of(sizes, leader, factor)
            result = probability(PRIOR_ODDS * prefers(state, factor, segment, level))
            if result > doubt:
                doubt, loudest = result, factor
        state.doubt[segment] = doubt
        if doubt >= _LEAVE:
            _leave(state, segment, loudest)
            _join(state, segment)
    else:
        _join(state, segment)
    source = grouping[SEG_SOURCE, segment]
    if source != NOBODY:
        leader = top_of(part(state, size + source))
        for factor in range(len(sizes)):
            if state.own[segment, factor] < 1.0:
                level = level_of(sizes, leader, factor)
                result = differs_in(state, factor, segment, size + source, level)
                state.own[segment, factor] = result if result < _LEAVE else 1.0


@inlined
def _record(state: Any, segment: int, combination: int, clicked: int) -> None:
    size = len(state.doubt)
    record_outcome(part(state, segment), combination, clicked)
    record_outcome(part(state, size + state.grouping[SEG_GROUP, segment]), combination, clicked)
    state.grouping[SEG_SEEN, segment] += 1
    seen = state.grouping[SEG_SEEN, segment]
    if seen >= state.grouping[SEG_NEXT, segment]:
        state.grouping[SEG_NEXT, segment] = seen + max(_FIRST_LOOK, seen // 16)
        _look(state, segment)


@inlined
def _segment_in(state: Any, context: Any) -> int:
    return min(max(int(context[0]), 0), len(state.doubt) - 1) if len(context) else 0


@decide.register(SegmentedState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    segment = _segment_in(state, context)
    group, source, size = state.grouping[SEG_GROUP, segment], state.grouping[SEG_SOURCE, segment], len(state.doubt)
    alone, common = state.grouping[SEG_MEMBERS, group] == 1, 0
    learns = source != NOBODY and state.grouping[SEG_MEMBERS, source] > 0
    used = segment if alone else size + group
    if learns or not alone:
        drawn, factors, asked = rng.random(), len(state.sizes), -1
        seen = state.grouping[SEG_SEEN, segment]
        least = min(0.5, _ASKED / math.sqrt(seen)) if seen > 0 else 0.0
        if drawn < least:
            drawn *= factors / least
            asked = int(drawn)
            drawn -= asked  # a new number from 0 to 1
            used = segment
        elif drawn < state.doubt[segment]:
            used = segment
        if learns or asked >= 0:
            for factor in range(factors):
                common |= int(factor != asked and drawn >= state.own[segment, factor]) << factor
    state.last[SEG_USED], state.last[SEG_COMMON] = used, common
    like = size + (source if learns else group)
    if common == 0 or not _decide_with(state, part(state, used), top_of(part(state, like)), rng, shown):
        state.last[SEG_COMMON] = 0
        decide(part(state, used), context, rng, shown)
    return segment


@noalloc
def _decide_with(state: Any, one: Any, like: int, rng: Any, shown: Any) -> bool:
    """Let one of the UTS decide with the common levels of a combination; False where that is forbidden."""
    leader, count = lead_with(one, like, state.last[SEG_COMMON], state.near)
    if is_forbidden(state.sizes, state.forbidden, leader):
        return False
    state.last[SEG_LED] = leader
    one.led[leader] += 1
    if one.watch[UTS_CENTRE] != leader:
        one.watch[UTS_CENTRE] = NOBODY  # its crowd would hear of every outcome, and nobody asks it
    combination = leader if is_forced(one, leader, rng) else draw_near(one, leader, state.near, count, rng)
    write_levels(state.sizes, combination, shown)
    return True


@learn.register(SegmentedState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    _record(state, tag, number_of(state.sizes, shown), outcome[0])


@set_context.register(SegmentedState)
def _set_context(state: Any, context: Any) -> None:
    state.last[SEG_WHOSE] = _segment_in(state, context)


@relearn.register(SegmentedState)
def _relearn(state: Any, shown: Any, pulls: int, clicks: int) -> None:
    combination = number_of(state.sizes, shown)
    for index in range(pulls):
        _record(state, state.last[SEG_WHOSE], combination, 1 if index < clicks else 0)


@chances.register(SegmentedState)
def _chances(state: Any, shown: Any, cross: Any) -> bool:
    one, common, leader = part(state, state.last[SEG_USED]), state.last[SEG_COMMON], state.last[SEG_LED]
    if common == 0:
        return chances(one, shown, cross)
    gamma = one.watch[UTS_GAMMA]
    forced = 1.0 if one.led[leader] % gamma == 0 else 0.0
    if one.watch[UTS_COIN]:
        forced = 1.0 / gamma
    near_chances(one, leader, common, state.near, forced, shown, cross)
    return True
