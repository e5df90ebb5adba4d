"""Unimodal Thompson sampling for visitors of several segments: together while they agree, apart when they do not.

Own policy; the question, who may learn from whom, is that of Maillard and Mannor, "Latent Bandits" (ICML 2014), and of
Gentile, Li, Zappella, "Online Clustering of Bandits" (ICML 2014). The context of a decision is the number of the
visitor's segment. All segments begin in one *group*; a group runs UTS (Trinh et al. 2020, Algorithm 1) on the outcomes
of all its members, and each segment has a UTS of its own besides, on its own outcomes.

**Does a segment differ** from the rest of its group? For each level i the ratio of the segment's clicks to the rest's
is estimated by Mantel and Haenszel (strata: the levels of the other factors, so that what was shown how often does not
matter): x_i is its logarithm, v_i the variance of Greenland and Robins (Biometrics, 1985). That visitors of a segment
click more, or less, on everything moves all x_i alike and is no difference. So let x_i ~ N(mu, v_i) if they agree,
x_i ~ N(mu, v_i + 0.3^2) if they differ, mu anything: the ratio of the two likelihoods, mu integrated out, averaged over
the factors, times prior odds of 0.01, are the odds that they differ. Where the segment's own outcomes speak for another
leader than its group's, that likelihood ratio, over the square root of the smaller number of outcomes, is taken if it
is larger.

**Rule.** A decision is made by the segment's own UTS with the probability that the segment differs, at least with 0.8
over the square root of its outcomes; else by its group's. Above 0.9 the segment leaves its group; a segment that is
alone joins another group from which it differs with probability below 0.0001.

With ``apart=True`` every segment is on its own from the beginning: the yardstick of separate experiments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from rankone.compiling.compiled import inlined, noalloc
from rankone.errors import InputError
from rankone.kernels.policy import chances, decide, learn, recognise, relearn
from rankone.numerics.beta_maximum import Crowd, fields_with_crowd
from rankone.numerics.kl import bernoulli_kl
from rankone.policies.base import check_coin
from rankone.policies.combination_policy import CombinationPolicy
from rankone.policies.engines.combinations import number_of
from rankone.policies.engines.unimodal import LEADER_CHAMPION
from rankone.policies.pairs.uts import UTS, UTSState, take_in
from rankone.specs import whole_number

_OWN = tuple(field for field in UTSState._fields if field not in Crowd._fields)
_SHARED = ("level", "sizes", "forbidden", "keys", "table")  # of a UTS, the same for all
_PRIOR_ODDS, _SPREAD = 0.01, 0.3
_LEAVE, _JOIN = 0.9, 1e-4
_ALONE = 0.8  # over the square root of its outcomes: how often at least a segment is asked for itself
_FIRST_LOOK = 16  # outcomes of a segment; then whenever there are a sixteenth more
_MOST = 4_000_000  # counts in all
# Rows of `SegmentedState.place`: the group of each segment, members of each group, outcomes so far, when to look next.
SEG_GROUP, SEG_MEMBERS, SEG_SEEN, SEG_NEXT = range(4)
# Fields of `SegmentedState.last`: which UTS decided last; whose outcomes are recalled.
SEG_USED, SEG_WHOSE = range(2)


class SegmentedState(fields_with_crowd(*_OWN, "place", "doubt", "last", "sums")):  # type: ignore[misc]
    """Twice as many UTS as segments, stacked: each segment's own, then each group's; the last is as new.

    place, (4, segments); doubt, (segments,) the probability that it differs from its group; last, (2,); sums,
    (levels, 3) scratch space.
    """


@dataclass(frozen=True)
class SegmentedUTS(CombinationPolicy):
    """Thompson sampling that shares what segments have in common, and takes them apart when they differ.

    Args:
        segments: how many segments there are at most; those beyond count as the last.
        coin: as in `UTS`.
        apart: every segment is on its own from the beginning.

    >>> SegmentedUTS(segments=4).label
    'segmented-uts:segments=4'
    """

    segments: int = 16
    coin: bool = False
    apart: bool = False
    name: ClassVar[str] = "segmented-uts"
    suits: ClassVar[str] = "visitors of a few segments that may differ in what is best (needs a context)"
    by_segment: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole_number("segments", self.segments, most=256)
        check_coin(self.coin)
        if not isinstance(self.apart, bool):
            raise InputError("apart as True or False", self.apart, "leave it out")

    def live(self) -> Self:
        """Return the form that tosses a coin."""
        return replace(self, coin=True)

    def begin(self, sizes: Any, forbidden: Any) -> SegmentedState:
        """Return the state before the first decision."""
        n, parts = math.prod(sizes.tolist()), 2 * self.segments + 1
        if n * parts > _MOST:
            got = f"{n:,} x {self.segments} segments"
            raise InputError(
                f"at most {_MOST // 2:,} combinations of all segments", got, "take levels or segments away"
            )
        one = UTS(coin=self.coin).begin(sizes, forbidden)._asdict()
        stacked = {
            field: array if field in _SHARED else np.repeat(array[None], parts, axis=0) for field, array in one.items()
        }
        place = np.zeros((4, self.segments), np.int64)
        place[SEG_GROUP] = np.arange(self.segments) if self.apart else 0
        place[SEG_MEMBERS] = 1 if self.apart else 0
        if not self.apart:
            place[SEG_MEMBERS, 0] = self.segments
        place[SEG_NEXT] = np.iinfo(np.int64).max if self.apart else _FIRST_LOOK
        doubt = np.full(self.segments, _PRIOR_ODDS / (1.0 + _PRIOR_ODDS))
        return SegmentedState(
            **stacked, place=place, doubt=doubt, last=np.zeros(2, np.int64), sums=np.zeros((int(sizes.sum()), 3))
        )


@inlined
def part(state: Any, number: int) -> Any:
    """Return one of the UTS."""
    return UTSState(
        state.pulls[number], state.clicks[number], state.led[number], state.best[number], state.ties[number],
        state.clock[number], state.level, state.sizes, state.forbidden, state.reach[number], state.keys, state.table,
        state.watch[number], state.seats[number], state.groups[number], state.curves[number], state.tally[number],
    )  # fmt: skip


@noalloc
def _copy(array: Any, into: int, of: int) -> None:
    """Make one part of an array like another, number by number: slices would make arrays."""
    for place in range(array.shape[1]):
        array[into, place] = array[of, place]


@noalloc
def _copy_table(array: Any, into: int, of: int) -> None:
    for line in range(array.shape[1]):
        for place in range(array.shape[2]):
            array[into, line, place] = array[of, line, place]


@noalloc
def _renew(state: Any, number: int) -> None:
    """Let one of the UTS forget everything."""
    new = len(state.pulls) - 1
    for counts in (
        state.pulls,
        state.clicks,
        state.led,
        state.ties,
        state.clock,
        state.reach,
        state.watch,
        state.tally,
    ):
        _copy(counts, number, new)
    _copy(state.best, number, new)
    for table in (state.seats, state.groups):
        _copy_table(table, number, new)
    _copy_table(state.curves, number, new)


@noalloc
def _add(state: Any, number: int, segment: int) -> None:
    """Let one of the UTS take in all outcomes of a segment."""
    into = part(state, number)
    for pair in range(state.pulls.shape[1]):
        clicks = state.clicks[segment, pair]
        for place in range(state.pulls[segment, pair]):
            take_in(into, pair, 1 if place < clicks else 0)


@noalloc
def _odds_of_factor(state: Any, first: int, end: int) -> float:
    """Return by how much the ratios of a factor's levels speak for a difference: a ratio of likelihoods."""
    ours, theirs, spread = 0.0, 0.0, _SPREAD * _SPREAD
    mean_ours = mean_theirs = logs = 0.0
    for again in range(2):
        scatter_ours = scatter_theirs = 0.0
        for level in range(first, end):
            up, down, noise = state.sums[level, 0], state.sums[level, 1], state.sums[level, 2]
            if up + down <= 0.0:
                continue
            value = math.log((up + 0.25) / (down + 0.25))
            variance = (noise + 0.25) / ((up + 0.25) * (down + 0.25))
            alike, apart = 1.0 / variance, 1.0 / (variance + spread)
            if again == 0:
                ours += apart
                theirs += alike
                mean_ours += apart * value
                mean_theirs += alike * value
                logs += math.log(apart / alike)
            else:
                scatter_ours += apart * (value - mean_ours) ** 2
                scatter_theirs += alike * (value - mean_theirs) ** 2
        if ours <= 0.0:
            return 1.0
        if again == 0:
            mean_ours /= ours
            mean_theirs /= theirs
    evidence = 0.5 * (logs - math.log(ours / theirs) - scatter_ours + scatter_theirs)
    return math.exp(min(evidence, 100.0))


@noalloc
def differs(state: Any, segment: int, group: int) -> float:
    """Return the probability that a segment differs from a group, but for its own outcomes if it is a member."""
    sizes, sums, size = state.sizes, state.sums, len(state.doubt)
    member = state.place[SEG_GROUP, segment] == group
    for level in range(len(sums)):
        sums[level, 0] = sums[level, 1] = sums[level, 2] = 0.0
    for pair in range(state.pulls.shape[1]):
        ours, clicks = float(state.pulls[segment, pair]), float(state.clicks[segment, pair])
        others, theirs = float(state.pulls[size + group, pair]), float(state.clicks[size + group, pair])
        if member:
            others, theirs = others - ours, theirs - clicks
        if ours <= 0.0 or others <= 0.0:
            continue
        both = ours + others
        up, down = clicks * others / both, theirs * ours / both
        noise = (clicks + theirs) * ours * others / (both * both) - clicks * theirs / both
        rest, end = pair, len(sums)
        for factor in range(len(sizes) - 1, -1, -1):
            level = end - sizes[factor] + rest % sizes[factor]
            rest //= sizes[factor]
            end -= sizes[factor]
            sums[level, 0] += up
            sums[level, 1] += down
            sums[level, 2] += noise
    odds, first = 0.0, 0
    for factor in range(len(sizes)):
        odds += _PRIOR_ODDS / len(sizes) * _odds_of_factor(state, first, first + sizes[factor])
        first += sizes[factor]
    return odds / (1.0 + odds)


@noalloc
def prefers(state: Any, segment: int, group: int) -> float:
    """Return by how much a segment's own outcomes speak for what leads there against what leads its group."""
    ours, theirs = state.clock[segment, LEADER_CHAMPION], state.clock[len(state.doubt) + group, LEADER_CHAMPION]
    pulls, clicks = float(state.pulls[segment, ours]), float(state.clicks[segment, ours])
    others, their_clicks = float(state.pulls[segment, theirs]), float(state.clicks[segment, theirs])
    if pulls <= 0.0 or others <= 0.0 or clicks * others <= their_clicks * pulls:
        return 0.0
    mean = (clicks + their_clicks) / (pulls + others)
    evidence = pulls * bernoulli_kl(clicks / pulls, mean) + others * bernoulli_kl(their_clicks / others, mean)
    return math.exp(min(evidence, 100.0)) / math.sqrt(1.0 + min(pulls, others))


@noalloc
def _look(state: Any, segment: int) -> None:
    """See whether a segment still belongs where it is."""
    place, size = state.place, len(state.doubt)
    group = place[SEG_GROUP, segment]
    if place[SEG_MEMBERS, group] > 1:
        odds = _PRIOR_ODDS * prefers(state, segment, group)
        state.doubt[segment] = max(differs(state, segment, group), odds / (1.0 + odds))
        if state.doubt[segment] < _LEAVE:
            return
        empty = 0
        while place[SEG_MEMBERS, empty] > 0:
            empty += 1
        place[SEG_MEMBERS, group] -= 1
        place[SEG_GROUP, segment], place[SEG_MEMBERS, empty] = empty, 1
        for changed in (group, empty):
            _renew(state, size + changed)
            for other in range(size):
                if place[SEG_GROUP, other] == changed:
                    _add(state, size + changed, other)
        group = empty
    closest, least = group, _JOIN
    for other in range(size):
        if other != group and place[SEG_MEMBERS, other] > 0:
            found = differs(state, segment, other)
            if found < least:
                closest, least = other, found
    if closest != group:
        place[SEG_MEMBERS, group] -= 1
        place[SEG_MEMBERS, closest] += 1
        place[SEG_GROUP, segment] = closest
        _add(state, size + closest, segment)
        state.doubt[segment] = least


@inlined
def _take_in(state: Any, segment: int, pair: int, reward: int) -> None:
    size = len(state.doubt)
    take_in(part(state, segment), pair, reward)
    take_in(part(state, size + state.place[SEG_GROUP, segment]), pair, reward)
    state.place[SEG_SEEN, segment] += 1
    seen = state.place[SEG_SEEN, segment]
    if seen >= state.place[SEG_NEXT, segment]:
        state.place[SEG_NEXT, segment] = seen + max(_FIRST_LOOK, seen // 16)
        _look(state, segment)


@inlined
def _segment_in(state: Any, context: Any) -> int:
    """Return the segment that a context names."""
    return min(max(int(context[0]), 0), len(state.doubt) - 1) if len(context) else 0


@decide.register(SegmentedState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    segment = _segment_in(state, context)
    group, size = state.place[SEG_GROUP, segment], len(state.doubt)
    used = size + group
    if state.place[SEG_MEMBERS, group] == 1 or rng.random() < max(
        state.doubt[segment], min(0.5, _ALONE / math.sqrt(state.place[SEG_SEEN, segment] + 1.0))
    ):
        used = segment
    state.last[SEG_USED] = used
    decide(part(state, used), context, rng, shown)
    return segment


@learn.register(SegmentedState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    _take_in(state, tag, number_of(state.sizes, shown), outcome[0])


@recognise.register(SegmentedState)
def _recognise(state: Any, context: Any) -> None:
    state.last[SEG_WHOSE] = _segment_in(state, context)


@relearn.register(SegmentedState)
def _relearn(state: Any, shown: Any, pulls: int, clicks: int) -> None:
    pair = number_of(state.sizes, shown)
    for place in range(pulls):
        _take_in(state, state.last[SEG_WHOSE], pair, 1 if place < clicks else 0)


@chances.register(SegmentedState)
def _chances(state: Any, shown: Any, found: Any) -> bool:
    return chances(part(state, state.last[SEG_USED]), shown, found)
