"""The evidence of an experiment, the lottery of its decisions, and when the one changes the other.

All of it is a fold of the journal: outcomes are weighed with the probabilities that were stored with their decisions,
and the lottery is what the last STEER says. So what was decided is never worked out again from evidence, and a newer
program may weigh evidence differently without changing what an older one chose.

Nor does a fault here stop decisions: where a look fails, a STEER notes it (`noted`), until one succeeds.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankone.compiling.tiers import tiered
from rankone.evidence.amounts import error_shares, log_likelihoods, present
from rankone.evidence.change_monitor import reversal_bar, reversed_levels, start_watch
from rankone.evidence.levels import Evidence, resized, settle_sums, weigh_sums, with_late
from rankone.evidence.mixing import mix_evenly, mix_racing
from rankone.evidence.steering import (
    EXPLORE,
    PARTS,
    SAME,
    aim_of,
    comparisons,
    margin_ratio_of_each,
    measure_allowed,
    renew,
    start_steering,
)
from rankone.evidence.trials import CLICKS_LEFT, TRIAL, probe_shares
from rankone.evidence.visitors_left import visitors_left
from rankone.live.evidence.goal_outcomes import GoalOutcomes
from rankone.live.evidence.published import CLICKED, SHOWN, Published
from rankone.live.evidence.ratios import Counted
from rankone.live.evidence.segments import Segments
from rankone.live.evidence.standing import Claims, Race, Standing, least_proof, n_statements, standing
from rankone.live.evidence.weighed_outcomes import MAX_LEVELS, WeighedOutcomes
from rankone.live.factors import Allowed, Levels, margins
from rankone.live.settings import IGNORE, RESTART, TEST_ALL, Settings
from rankone.numerics.arrays import Floats, Ints, starts_of
from rankone.numerics.states import fields_of, state_of

PROBES = 0.1  # the least share of decisions that explore where an alarm restarts or insures, also after a verdict; and
# the part of all decisions in which any level may be drawn there, beaten or not: what is never shown never rings
_REPORTED = ("_evidence", "_traffic", "_late", "_segments", "steering")  # arrays that a report reads


class ExperimentEvidence(WeighedOutcomes):
    """What clicks have shown so far, and how decisions are drawn from here on."""

    def __init__(
        self,
        settings: Settings,
        factors: Sequence[Levels],
        forbidden: Ints | None = None,
        segments: Segments | None = None,
        misfit: bool = False,
        goals: GoalOutcomes | None = None,
    ) -> None:
        self.goals = goals
        self._sums: Published | None = None  # of an experiment that decides at the edge, until they are weighed
        super().__init__(settings, tuple(len(levels.names) for levels in factors), segments)
        self._aim = aim_of(settings.aim, settings.explore)
        self.watches = -1  # watches before the present one
        self.begin_era(factors, forbidden, misfit=misfit)

    def begin_era(
        self, factors: Sequence[Levels], forbidden: Ints | None = None, forget: bool = False, misfit: bool = False
    ) -> None:
        """Go on with these levels: what is known stays known, exploration is even again, without what is forbidden.

        `forget`: nothing stays known. `misfit`: that levels are no product is known, and need not be found again.
        """
        self._settle()
        if forget:
            self._begin_evidence(self.sizes if self.fits else (1,) * len(self.sizes))
            self.weighed, self._compared, self.broken = 0, 0, None
        before, self.sizes = len(self.sizes), tuple(len(levels.names) for levels in factors)
        self.fits = self.fits and sum(self.sizes) <= MAX_LEVELS
        self._segments.resize(self.sizes)
        if not self.fits:
            self._begin_evidence((1,) * len(factors))
        else:
            self._evidence, self._traffic = (resized(each, self.sizes) for each in (self.in_time, self.traffic))
            late = len(self._late.now) > 0
            self._late = resized(self._late, self.sizes) if late else self._start_late((0,) * len(factors))
            if self._settings.stopping.margin and len(factors) > before:
                self._spare_less(len(factors))
        self.watches, self._misfit = self.watches + 1, misfit
        wanted = self._settings.watch
        living = [np.array(levels.numbers(), np.int64) for levels in factors]
        self.starts = starts_of(self.sizes)
        self.live = np.concatenate([numbers + first for numbers, first in zip(living, self.starts, strict=False)])
        scatter = self._watch.scatter  # as long as the sums that it is about
        self._watch = start_watch(
            self.sizes if self.fits else (),
            self.watches,
            self.fits and wanted.change != IGNORE,
            self.fits and wanted.interaction != IGNORE and not misfit,
            product=not misfit,
            trials=wanted.change == RESTART and self._settings.explore > 0.0,
            live=self.live,
        )
        self._watch.scatter[:] = scatter
        control, share = None, 0.0
        if self._settings.control is not None:
            share, names = self._settings.control.share, self._settings.control.levels
            held = [levels.names.index(name) for levels, name in zip(factors, names, strict=False)]
            held += [0] * (len(factors) - len(held))  # of factors that came later, the first level
            control = [int(np.searchsorted(numbers, level)) for numbers, level in zip(living, held, strict=True)]
        explore = self._settings.explore if self.fits else 0.0  # without evidence there is nothing to explore for
        sizes = tuple(len(numbers) for numbers in living)
        self.steering = start_steering(sizes, explore, control, share, forbidden)
        self.allowed = Allowed(self.steering.forbidden, sizes)
        self.statements = n_statements(self.sizes, sizes == self.sizes, self.allowed.named)

    def _spare_less(self, n_factors: int) -> None:
        """Prove "good enough" anew: each of more factors may lose less. All else that is known stays known.

        Of a ratio that was not looked at so far nothing is known, so it is the next smaller one that was; if there is
        none, nothing is called good enough any more.
        """
        less = margin_ratio_of_each(self._settings.stopping.margin, n_factors)
        self._evidence.margin_ratio[0] = np.searchsorted(self._evidence.ratios, less, side="right") - 1
        self._evidence.enough[:] = 0.0

    def follow_sums(self, published: Published) -> None:
        """Weigh the sums of published lotteries, all of them, when that is next asked for."""
        self._sums = published

    def _settle(self) -> None:
        super()._settle()
        sums, self._sums = self._sums, None
        if sums is None or not self.fits:
            return
        self._compared = self.weighed
        for what, evidence in ((CLICKED, self._evidence), (SHOWN, self._traffic)):
            for factor, size in enumerate(self.sizes):
                weigh_sums(evidence, factor, *sums.rows(factor, size, what))
            settle_sums(evidence)

    def levels_of_each(self) -> list[Ints]:
        """Return the numbers of the living levels of each factor, as evidence numbers them."""
        return np.split(self.live, self.steering.starts[1:-1])

    @property
    def exploring(self) -> float:
        """The share of decisions that explore now."""
        return float(self.steering.shares[EXPLORE]) if self.fits else 0.0

    @property
    def error(self) -> float:
        """The error rate of statements about the goal that steers."""
        return error_shares(self._settings.stopping.error, len(self._settings.all_goals))[0]

    @property
    def stated(self) -> Evidence:
        """What all statements rest on: clicks, as far as late ones do not contradict it, or amounts."""
        if self.goals is None or not self.goals.steers:
            return with_late(self.in_time, self._late)
        amounts = self.goals.amounts()
        return self.in_time._replace(now=present(amounts), proof=amounts.proof, enough=amounts.enough)

    @property
    def clicked(self) -> Evidence:
        """What estimates and intervals rest on: all clicks, also late ones, or amounts."""
        if self.goals is not None and self.goals.steers:
            return self.in_time._replace(logs=log_likelihoods(self.goals.amounts(), self.in_time.ratios))
        late = self.late
        return self._evidence._replace(logs=self._evidence.logs + late.logs) if len(late.now) else self._evidence

    @property
    def claims(self) -> Claims:
        """How much evidence statements take."""
        return Claims(self.error, self.statements, comparisons(self.sizes))

    @property
    def may_be_decided(self) -> bool:
        """Whether a look at who leads could find a verdict: False where some factor has nobody proven to win it."""
        known = self.in_time if self.goals is None or not self.goals.steers else self.stated
        proofs, bar = (known.proof, known.enough), self.claims.bar
        return bool(self.allowed.named) or all(
            max(least_proof(proof[np.ix_(each, each)]).max() for proof in proofs) >= bar
            for each in self.levels_of_each()
        )

    def standing(self, seen: Any, asked: Ints, clicks: Ints, counted: Sequence[Counted] | None = None) -> Standing:
        """Return who leads; `seen`: of which living levels there are enough outcomes to compare them.

        `asked` and `clicks`, late ones too, are of each combination of all levels; `counted` as `standing` has it.
        """
        each = self.levels_of_each()
        living = np.ix_(*(levels - first for levels, first in zip(each, self.starts, strict=False)))
        race = Race(self.stated, self.clicked, each, self.allowed, self.claims, asked[living], clicks[living])
        return standing(race, np.split(seen, self.steering.starts[1:-1]), counted)

    def frozen_copy(self) -> ExperimentEvidence:
        """Return a copy of what a report needs, which stays as it is while the experiment goes on."""
        self._settle()
        frozen = copy.copy(self)
        frozen.goals = None if self.goals is None else self.goals.frozen_copy()
        frozen._waiting = []
        frozen.__dict__ |= copy.deepcopy({name: value for name, value in vars(self).items() if name in _REPORTED})
        return frozen

    def follow(self, details: dict[str, Any]) -> None:
        """Draw decisions as a STEER says; one that only notes a fault, or its end, leaves that as it is."""
        self.noted = details.get("fault")
        if "mix" not in details:
            return
        self.steering.mix[:] = np.array(details["mix"]) / PARTS
        self.steering.shares[EXPLORE] = details["explore"]
        measure_allowed(self.steering)

    def reversed_levels(self, restarts: int) -> tuple[int, int] | None:
        """Return two levels, numbered factor after factor, the second of which now beats the first; None: no two do."""
        if not self.fits or self._settings.watch.change == IGNORE:
            return None
        bar = reversal_bar(self.sizes, restarts)
        first, second = tiered(reversed_levels, reversed_levels.__module__)(self.in_time, bar)
        return (first, second) if first >= 0 else None

    @property
    def _states(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("_evidence", "_traffic", "steering", "_watch", "_late")}

    @property
    def nbytes(self) -> int:
        """How much memory this takes, roughly; without settling, as a look at the size changes nothing."""
        return sum(array.nbytes for state in self._states.values() for array in state)

    def arrays(self) -> dict[str, Any]:
        """Return what a snapshot keeps as arrays."""
        self._settle()
        return fields_of(self._states)

    def facts(self) -> list[Any]:
        """Return what it keeps besides."""
        self._settle()
        return [self.broken, self.noted, self.weighed, self._compared, self.watches]

    def restore(self, arrays: Mapping[str, Any], facts: list[Any]) -> None:
        """Go on from what a snapshot holds."""
        for name, state in self._states.items():
            setattr(self, name, state_of(type(state), arrays, name))
        self.broken, self.noted, self.weighed, self._compared, self.watches = facts

    def full_cross(self, cross: Floats) -> Floats:
        """Return the probabilities of the living levels with zeros for the others."""
        if len(cross) == sum(self.sizes):
            return cross
        whole = np.zeros(sum(self.sizes))
        whole[self.live] = cross
        return whole

    def visitors_left(self, leaders: Sequence[int], clicks: int) -> tuple[int, int] | None:
        """Return from how many to how many visitors a verdict on what leads still needs; None: nobody can say.

        The guess rests on exploration that goes on as it did: there is none where that shrinks or never was. Nor where
        something is forbidden: what may be shown is compared by more than one level at a time.
        """
        shrinks = math.isfinite(self._aim.patience)
        explores = self.fits and bool(self.steering.shares[EXPLORE]) and not shrinks
        if not explores or self.fault or self.allowed.named or (self.goals is not None and self.goals.steers):
            return None
        starts = self.steering.starts
        return visitors_left(
            self.stated, self.live, starts, starts[:-1] + leaders, self.claims.bar, self.weighed, clicks
        )

    def steering_note(
        self, asked: Ints, clicks: Ints, *, if_changed: bool = False, waits: bool = False
    ) -> dict[str, Any] | None:
        """Return how decisions should be drawn by now, as a STEER says it. `waits`: a guardrail needs more visitors.

        None: the policy runs alone, or what there is stays, where it is asked for only `if_changed`.
        """
        self._settle()
        if not self.fits or not self._settings.explore or self.broken:
            return None
        shown, claims = margins(asked)[self.live].astype(float), self.claims
        mix, leaders = np.empty(len(self.live)), np.zeros(len(self.sizes), np.int64)
        changed, explore, won = tiered(renew, renew.__module__)(
            self.stated, self.live, self.steering, shown, claims.bar, claims.beaten_bar, self._aim, mix, leaders
        )
        rules = bool(self.allowed.named) and not won
        if rules:
            state = self.standing(np.ones(len(self.live), bool), asked, clicks)
            planned, leaders = leaders, np.array(state.leaders, np.int64) + self.steering.starts[:-1]
            explore = 0.0 if state.doubt <= self.error else explore
            racing, part = np.concatenate(state.doubts) > self.error, 0.5 if (planned == leaders).all() else 1.0
            mix_racing(mix, self.steering.starts, leaders, racing, self._aim.lead, part)
        insures = self._settings.watch.interaction == TEST_ALL and not self._misfit
        probes = self._settings.explore and (self._settings.watch.change == RESTART or insures)
        if waits:
            explore = max(explore, self._aim.explore)
            mix_evenly(mix, self.steering.starts, 1.0)
        elif probes:
            explore, part = probe_shares(explore, PROBES, TRIAL if self.watch.trial[CLICKS_LEFT] else 0.0)
            mix_evenly(mix, self.steering.starts, part)
        if rules or probes or waits:
            apart = float(np.abs(mix / PARTS - self.steering.mix).max())
            changed = (apart >= SAME and explore > 0.0) or self.steering.shares[EXPLORE] != explore
        return {"explore": explore, "mix": [int(part) for part in mix]} if changed or not if_changed else None
