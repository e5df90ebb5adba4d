"""Insured UTS: unimodal Thompson sampling (see `rankone.policies.factors.unimodal.uts`) with a shrinking share of flat
Thompson steps (`rankone.policies.factors.thompson`) on the same counts. Ours.

The rule: at decision t, with probability ``min(1, share * sqrt(M / t))``, every combination draws from its posterior
and the largest draw is chosen, unless its outcomes rule it out (`rankone.policies.engines.draw_chances`); otherwise a
step of UTS follows. The leader is the best of *all* combinations, so a best one off the cross of every other good one,
which UTS would never try, is tried until it leads. M: see `rankone.policies.engines.insurance`.

Both parts run on the exact engine, each with a crowd of its own.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankone.compiling.compiled import inlined, noalloc
from rankone.compiling.dispatch import extends
from rankone.kernels.policy import chances, decide, relearn
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.betas.beta_maximum import start_beta_groups
from rankone.numerics.structures.hash_tables import number_at
from rankone.policies.base import AtLeast0
from rankone.policies.combination_policy import check_kept
from rankone.policies.engines.combinations import may_show, record_outcome, relearn_combination, write_levels
from rankone.policies.engines.draw_chances import add_all_draws, counts_of, show_chance
from rankone.policies.engines.insurance import add_planes, draw_in_plane, insures_all, n_insured, share_at
from rankone.policies.engines.leader_chances import leaders_among, nothing_known
from rankone.policies.engines.unimodal import clicks_of, find_leader, mean_at, pulls_of
from rankone.policies.factors.thompson import ThompsonState, draw_winner, tell_groups
from rankone.policies.factors.unimodal.uts import UTS, UTSState, chances_of_uts, choose_on_cross, record_of_uts

# More fields of `InsuredState.watch`, after those of UTS.
INSURED_STEPS, INSURED_ALL = range(3, 5)
# Fields of `InsuredState.constants`.
INSURED_SHARE, INSURED_COUNT = range(2)


_record_of_uts, _chances_of_uts = inlined(record_of_uts), noalloc(chances_of_uts)
_relearn_combination = inlined(relearn_combination)


@extends(UTSState)
class InsuredState:
    """A state of UTS; constants, (2,): share, combinations insured; watch, (5,): as UTS's, then decisions so far and
    whether all combinations are insured; and what flat Thompson sampling keeps."""

    flat_counters: Ints
    flat_seats: Ints
    flat_groups: Ints
    flat_curves: Floats
    flat_group_counters: Ints


@dataclass(frozen=True)
class InsuredUTS(UTS):
    """UTS that also finds a best pair which is no product of a good row and a good column, for some more regret.

    Args:
        share: decision t is a step of flat Thompson sampling with probability ``share * sqrt(M / t)``, M being the
            number of combinations.

    >>> InsuredUTS().label, InsuredUTS(share=0.3).live().label
    ('insured-uts', 'insured-uts:coin=true,share=0.3')
    """

    share: AtLeast0 = 0.5
    name = "insured-uts"
    use_when = "up to 200 combinations of which nobody knows whether they are rank-1"

    def _begin(self, sizes: Ints, forbidden: Ints) -> Any:
        everything = insures_all(sizes)
        if everything:
            check_kept(sizes, self.name)
        own: UTSState = super()._begin(sizes, forbidden)
        members = math.prod(sizes.tolist()) if everything and not len(forbidden) else 1
        crowd = start_beta_groups(members, absent=1)
        values = own._asdict() | {
            "constants": np.array([self.share, n_insured(sizes)]),
            "watch": np.append(own.watch, [0, int(everything)]),
            "flat_counters": np.array([members - 1, int(len(forbidden) > 0)]),
            **{f"flat_{name}": array for name, array in crowd._asdict().items()},
        }
        return InsuredState(**values)


@inlined
def flat_part(state: Any) -> Any:
    """Return what flat Thompson sampling sees of the state: the same counts, and a crowd of its own."""
    seats, groups, curves, counters = state.flat_seats, state.flat_groups, state.flat_curves, state.flat_group_counters
    own, sizes, forbidden = state.flat_counters, state.sizes, state.forbidden
    return ThompsonState(state.pulls, state.clicks, own, sizes, forbidden, seats, groups, curves, counters)


@inlined
def share_now(state: Any) -> float:
    """Return the probability that the last decision was an insurance step."""
    return share_at(state.constants[INSURED_SHARE], state.constants[INSURED_COUNT], state.watch[INSURED_STEPS])


@decide.register(InsuredState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    leader = find_leader(state, rng)
    state.watch[INSURED_STEPS] += 1
    insured = False
    combination = leader
    if rng.random() < share_now(state):
        if state.watch[INSURED_ALL]:
            combination = draw_winner(flat_part(state), rng)
        else:
            combination = draw_in_plane(state, leader, rng)
        pulls, clicks = pulls_of(state, combination), clicks_of(state, combination)
        best = clicks_of(state, leader) / max(1, pulls_of(state, leader))
        shows = show_chance(pulls, clicks, best, state.watch[INSURED_STEPS])
        insured = shows == 1.0 or rng.random() < shows
    if not insured:
        combination = choose_on_cross(state, leader, rng)
    write_levels(state.sizes, combination, shown)
    return 0


@record_outcome.register(InsuredState)
def _record_outcome(state: Any, combination: int, clicked: int) -> None:
    """Count an outcome; both crowds hear of it."""
    _record_of_uts(state, combination, clicked)
    if state.watch[INSURED_ALL]:
        tell_groups(flat_part(state), combination)


@relearn.register(InsuredState)
def _relearn(state: Any, shown: Any, pulls: int, clicks: int) -> None:
    state.watch[INSURED_STEPS] += pulls  # decisions, too, of which the outcomes are known
    _relearn_combination(state, shown, pulls, clicks)


@chances.register(InsuredState)
def _chances(state: Any, shown: Any, cross: Any) -> bool:
    share = share_now(state)
    known = _chances_of_uts(state, shown, cross)
    if not known or nothing_known(state):  # all combinations are alike, to both kinds of steps
        return known
    if state.watch[INSURED_ALL]:
        _, _, best, _ = leaders_among(state)
        step = state.watch[INSURED_STEPS]
        add_all_draws(state.pulls, state.clicks, state.sizes, state.forbidden, share, best, step, shown, cross)
        return True
    # What a plane passes over leaves the decision to UTS: that is known only once all planes were looked at.
    passed_over = _add_all_planes(state, 0.0, shown, cross)
    for level in range(len(cross)):
        cross[level] *= 1.0 - share + share * passed_over
    _add_all_planes(state, share, shown, cross)
    return True


@noalloc
def _add_all_planes(state: Any, share: AtLeast0, shown: Any, cross: Any) -> float:
    """Add the probabilities of an insurance step, times a share; return how probably it shows nothing."""
    first, end, best, weight = leaders_among(state)
    step, passed_over = state.watch[INSURED_STEPS], 0.0
    for leader in range(first, end):
        number = number_at(state.keys, leader)
        if mean_at(state, leader) == best and may_show(state, number):
            passed_over += weight * add_planes(counts_of(state), number, weight * share, best, step, shown, cross)
    return passed_over
