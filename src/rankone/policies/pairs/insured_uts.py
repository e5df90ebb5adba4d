"""Insured UTS: unimodal Thompson sampling (see `rankone.policies.pairs.uts`) with a shrinking share of flat Thompson
steps (`rankone.policies.pairs.thompson`) on the same counts. Ours.

The rule: at decision t, with probability ``min(1, share * sqrt(M / t))``, every combination draws from its posterior
and the largest draw is chosen, unless its outcomes rule it out (`rankone.policies.engines.ruled_out`); otherwise a step
of UTS follows. All outcomes go to the same counts, and the leader is the best of *all* combinations. So a best
combination that lies off the cross of every other good one, which UTS would never try, is tried by the flat steps until
it leads. The insurance is cheap, as flat Thompson sampling concentrates: its steps soon repeat the leader.

M is the number of combinations, or, of more than two factors with more than 200 combinations, of those that differ from
the leader in two factors at most (`rankone.policies.engines.insurance`).

No policy can be as good as UTS on every product and as good as Thompson sampling elsewhere (Lai, Robbins 1985: whoever
is good on all tables pays for every pair): docs/when-rank-1-is-wrong.md says what the insurance costs and saves.

Both parts run on the exact engine, each with a crowd of its own. Where flat steps are few, their crowd does not pay
(`pays` of `rankone.numerics.beta_maximum`), and all combinations simply draw.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankone.compiling.compiled import inlined, noalloc
from rankone.errors import InputError
from rankone.kernels.policy import chances, decide, grown, learn, relearn, room, view
from rankone.numerics.beta_maximum import fields_with_crowd, start_crowd
from rankone.numerics.slots import number_at
from rankone.policies.combination_policy import check_kept
from rankone.policies.engines.combinations import number_of, write_levels
from rankone.policies.engines.draw_chances import add_all_draws
from rankone.policies.engines.insurance import add_planes, draw_in_plane, insures_all, n_insured, share_at
from rankone.policies.engines.leader_chances import leaders_among, never_leads, nothing_known
from rankone.policies.engines.ruled_out import show_chance
from rankone.policies.engines.unimodal import (
    Ints,
    LeaderState,
    clicks_of,
    find_leader,
    leading_posterior_view,
    mean_at,
    pulls_of,
)
from rankone.policies.pairs.thompson import ThompsonState, draw_winner, tell_crowd
from rankone.policies.pairs.uts import UTS, UTSState, choose_on_cross, fill_chances, take_in
from rankone.specs import is_number

# More fields of `InsuredState.watch`, after those of UTS.
INSURED_STEPS, INSURED_ALL = range(3, 5)
# Fields of `InsuredState.level`.
INSURED_SHARE, INSURED_COUNT = range(2)


_FLAT = ("flat_clock", "flat_seats", "flat_groups", "flat_curves", "flat_tally")


class InsuredState(fields_with_crowd(*LeaderState._fields, "watch", *_FLAT)):  # type: ignore[misc]
    """A state of UTS; level, (2,): share, combinations insured; watch, (5,): as UTS's, then decisions so far and
    whether all combinations are insured; what flat Thompson sampling keeps: its clock and its crowd."""


@dataclass(frozen=True)
class InsuredUTS(UTS):
    """UTS that also finds a best pair which is no product of a good row and a good column, for some more regret.

    Args:
        share: decision t is a step of flat Thompson sampling with probability ``share * sqrt(M / t)``, M being the
            number of combinations.

    >>> InsuredUTS().label, InsuredUTS(share=0.3).live().label
    ('insured-uts', 'insured-uts:coin=true,share=0.3')
    """

    share: float = 0.5
    name: ClassVar[str] = "insured-uts"
    suits: ClassVar[str] = "up to 200 combinations of which nobody knows whether they are rank-1"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_number(self.share) or not 0.0 <= self.share < math.inf:
            raise InputError("share as a number of at least 0", self.share, "leave share=0.5")

    def begin(self, sizes: Ints, forbidden: Ints) -> InsuredState:
        """Return the state before the first decision."""
        everything = insures_all(sizes)
        if everything:
            check_kept(sizes, self.name)
        own: UTSState = super().begin(sizes, forbidden)
        members = math.prod(sizes.tolist()) if everything and not len(forbidden) else 1
        crowd = start_crowd(members, absent=1)
        values = own._asdict() | {
            "level": np.array([self.share, n_insured(sizes)]),
            "watch": np.append(own.watch, [0, int(everything)]),
            "flat_clock": np.array([members - 1, int(len(forbidden) > 0)]),
            **{f"flat_{name}": array for name, array in crowd._asdict().items()},
        }
        return InsuredState(**values)


@inlined
def flat_part(state: Any) -> Any:
    """Return what flat Thompson sampling sees of the state: the same counts, and a crowd of its own."""
    return ThompsonState(
        state.pulls, state.clicks, state.flat_clock, state.sizes, state.forbidden, state.flat_seats,
        state.flat_groups, state.flat_curves, state.flat_tally,
    )  # fmt: skip


@noalloc
def insurance_step(state: Any, leader: int, rng: Any) -> int:
    """Return the winner of the draws among all that is insured."""
    if state.watch[INSURED_ALL]:
        return draw_winner(flat_part(state), rng)
    return draw_in_plane(state, leader, rng)


@inlined
def share_now(state: Any) -> float:
    """Return the probability that the last decision was an insurance step."""
    return share_at(state.level[INSURED_SHARE], state.level[INSURED_COUNT], state.watch[INSURED_STEPS])


@decide.register(InsuredState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    leader = find_leader(state, rng)
    state.watch[INSURED_STEPS] += 1
    insured = False
    pair = leader
    if rng.random() < share_now(state):
        pair = insurance_step(state, leader, rng)
        best = clicks_of(state, leader) / max(1, pulls_of(state, leader))
        shows = show_chance(pulls_of(state, pair), clicks_of(state, pair), best, state.watch[INSURED_STEPS])
        insured = shows == 1.0 or rng.random() < shows
    if not insured:
        pair = choose_on_cross(state, leader, rng)
    write_levels(state.sizes, pair, shown)
    return 0


@noalloc
def take_in_both(state: Any, pair: int, reward: int) -> None:
    """Count an outcome; both crowds hear of it."""
    take_in(state, pair, reward)
    if state.watch[INSURED_ALL]:
        tell_crowd(flat_part(state), pair)


@learn.register(InsuredState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    take_in_both(state, number_of(state.sizes, shown), outcome[0])


@relearn.register(InsuredState)
def _relearn(state: Any, shown: Any, pulls: int, clicks: int) -> None:
    pair = number_of(state.sizes, shown)
    state.watch[INSURED_STEPS] += pulls  # decisions, too, of which the outcomes are known
    for place in range(pulls):
        take_in_both(state, pair, 1 if place < clicks else 0)


@chances.register(InsuredState)
def _chances(state: Any, shown: Any, found: Any) -> bool:
    share = share_now(state)
    known = fill_chances(state, shown, found)
    if not known or nothing_known(state):  # all combinations are alike, to both kinds of steps
        return known
    if state.watch[INSURED_ALL]:
        _, _, best, _ = leaders_among(state)
        step = state.watch[INSURED_STEPS]
        add_all_draws(state.pulls, state.clicks, state.sizes, state.forbidden, share, best, step, shown, found)
        return True
    # What a plane passes over leaves the decision to UTS: that is known only once all planes were looked at.
    passed_over = _add_all_planes(state, 0.0, shown, found)
    for level in range(len(found)):
        found[level] *= 1.0 - share + share * passed_over
    _add_all_planes(state, share, shown, found)
    return True


@noalloc
def _add_all_planes(state: Any, share: float, shown: Any, found: Any) -> float:
    """Add the probabilities of an insurance step, times a share; return how probably it shows nothing."""
    first, end, best, weight = leaders_among(state)
    step, passed_over = state.watch[INSURED_STEPS], 0.0
    for leader in range(first, end):
        if mean_at(state, leader) == best and not never_leads(state, leader):
            passed_over += weight * add_planes(
                state.pulls, state.clicks, state.keys, state.table, state.sizes, state.forbidden,
                number_at(state.keys, leader), weight * share, best, step, shown, found,
            )  # fmt: skip
    return passed_over


view.register(InsuredState)(leading_posterior_view)
room.register(InsuredState)(room.of(LeaderState))
grown.register(InsuredState)(grown.of(LeaderState))
