"""What a fold holds, and what can be told of it without changing anything."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rankone.live.evidence.experiment_evidence import ExperimentEvidence
from rankone.live.evidence.goal_outcomes import GoalOutcomes
from rankone.live.evidence.published import Published
from rankone.live.evidence.segments import Segments
from rankone.live.factors import Factors, living_rules
from rankone.live.fold.feature_counts import FeatureCounts, Open
from rankone.live.fold.visitors import Visitors
from rankone.live.journal.events import KIND, LEARNED, Events
from rankone.live.journal.exclusions import Exclusions
from rankone.live.journal.packing import unpack_shown
from rankone.live.settings import RESTART, Settings
from rankone.numerics.arrays import Ints
from rankone.policies import Policy
from rankone.policies.advance import Stretch
from rankone.policies.arrivals.users import start_alone

_BYTES, _OPEN_BYTES = 30_000, 600  # of memory besides arrays: of a fold, and of each decision that is open


class Held(NamedTuple):
    """An outcome that waits for the end of its window."""

    clicked: int
    source: str | None
    token: str | None = None  # that told


class FoldFacts:
    """The facts of an experiment that its journal adds up to (`rankone.live.fold.fold`)."""

    seq: int  # events so far
    at: int  # when the last one was
    chain: bytes  # its checksum
    began: int  # when the experiment was created
    settings: Settings
    policy: Policy
    evidence: ExperimentEvidence
    exclusions: Exclusions
    segments: Segments
    feature_counts: FeatureCounts
    goals: GoalOutcomes | None  # None: one goal, a click
    visitors: Visitors | None  # None: the policy does not choose for each
    published: Published | None  # what deciding at the edge leaves; None: decisions are asked for
    factors: Factors
    live: list[Ints]  # the numbers of the living levels of each factor
    places: list[list[int]]  # the place of each level of each factor among the living ones; -1: retired
    prior: Ints  # pulls and clicks of each combination from before the experiment, (2, *sizes)
    asked: Ints  # decisions of each combination, and below outcomes that count and clicks; since the last restart
    pulls: Ints
    clicks: Ints
    late: Ints  # clicks of each combination that came too late to count; since the last restart
    earlier: Ints  # all three before it, (3, *sizes)
    # Of policies that look at visitors: outcomes and clicks of decisions that did not, (2, *sizes). The others are of
    # visitors whom a level suits, so they do not say how often all would click.
    explored: Ints
    state: Any  # of the policy
    decisions: int  # asked so far; the next decision's number
    fillers: int
    tallies: Ints  # events by kind
    open: dict[int, Open]  # decisions without an outcome, oldest first
    held: dict[int, Held]
    due: deque[int]  # with a window: decisions in the order theirs end; the first is always open
    learned: int  # outcomes that count
    learned_before: int  # the last restart
    expired: int  # outcomes that count by silence
    voided_by_age: int
    faults: int  # decisions whose probabilities were none: no statement rests on them
    clock_ahead: int  # of the journal over the machine's clock, in microseconds, when last noted
    clock_jumped: int  # ahead, the journal with the machine's clock, in microseconds, the last time
    stopped: dict[str, Any] | None
    resumed: str | None  # why it experiments again although nobody resumed it
    eras: list[str]  # why each began
    alarms: list[dict[str, Any]]  # see `rankone.live.commit.alarms`
    forbidden: list[list[int]]  # a level of each factor, -1: any; all that fits is never shown
    wanted: dict[int, dict[str, Any]]  # exclusions that are not carried out yet, by their event
    guards: dict[str, dict[str, Any]]  # what the journal last said of each guardrail, by its goal; see `GUARD`
    archives: list[dict[str, Any]]  # what each moved to a file, see `rankone.live.operate.archive`

    _last_era: int  # the event with which it began
    _one: Stretch | None  # room for one event
    _run: Callable[..., int] | None  # the code for just that
    _all_live: bool

    def runs_at(self, seq: int) -> bool:
        """Return whether the policy is replayed over an event: its last era has begun there."""
        return self._last_era <= seq

    @property
    def counted_by(self) -> tuple[int, ...]:
        """The shape of counts: of a ranking positions and items, else the sizes of the factors."""
        of_list = (self.settings.positions,) if self.settings.positions else ()
        return (*of_list, *self.factors.sizes)

    @property
    def n_clicked(self) -> int:
        """Outcomes with a click that count, also those before a restart."""
        return int(self.clicks.sum() + self.earlier[2].sum())

    # What a snapshot keeps as it is.
    plain: ClassVar[tuple[str, ...]] = (
        *("seq", "at", "decisions", "fillers", "learned", "learned_before", "expired", "voided_by_age", "faults"),
        *("guards", "alarms", "stopped", "resumed", "clock_ahead", "clock_jumped", "eras", "era_first", "archives"),
        "forbidden",
    )

    def parts(self) -> dict[str, Any]:
        """Return what else is known: of each part a snapshot keeps `arrays()` and `facts()`, which it restores."""
        each = {
            "evidence": self.evidence,  # first: once what waits to be weighed was, segments have it
            "segments": self.segments,
            "goals": self.goals,
            "visitors": self.visitors,
            "published": self.published,
        }
        return {name: part for name, part in each.items() if part is not None}

    def counted(self, events: Events) -> list[bool]:
        """Return for each of the events that were just applied whether it is an outcome that counts."""
        each = zip(events.heads, events.texts, strict=True)
        return [head[KIND] in LEARNED and self.exclusions.taking(head, texts) is None for head, texts in each]

    @property
    def archived(self) -> int:
        """The last event that was moved to a file; 0: none was."""
        return int(self.archives[-1]["upto"]) if self.archives else 0

    @property
    def nbytes(self) -> int:
        """How much memory this takes, roughly."""
        counts = (self.pulls, self.clicks, self.asked, self.late, self.earlier, self.prior, self.explored)
        known = sum(part.nbytes for part in (*(self.state or ()), *counts, *self.parts().values()))
        return _BYTES + known + _OPEN_BYTES * len(self.open)

    @property
    def shown(self) -> dict[str, str] | None:
        """What every visitor sees since the experiment was stopped, by factor; None while it runs."""
        levels = self.stopped_on()
        return None if levels is None else self.factors.named(levels)

    @property
    def control(self) -> dict[str, str] | None:
        """The control's level of each factor, of factors that came later the first; None: there is no control."""
        return self.factors.with_first(tuple(self.settings.control.levels) if self.settings.control else None)

    def stopped_on(self) -> list[int] | None:
        """Return the level of each factor that every visitor sees; None while it runs."""
        if self.stopped is None:
            return None
        levels = self.stopped["levels"]
        return [*levels, *[0] * (len(self.factors) - len(levels))]

    @property
    def learned_since(self) -> int:
        """Outcomes that count since the last restart."""
        return self.learned - self.learned_before

    @property
    def restarted_at(self) -> int:
        """The first decision since the last restart."""
        return max((int(alarm["decisions"]) for alarm in self.alarms if alarm["did"] == RESTART), default=0)

    def since_restart(self) -> list[dict[str, Any]]:
        """Return the alarms since the last restart, and the one that caused it."""
        restarts = [index for index, alarm in enumerate(self.alarms) if alarm["did"] == RESTART]
        return self.alarms[restarts[-1] if restarts else 0 :]

    @property
    def misfit_known(self) -> bool:
        """Whether it rang that levels are no product."""
        return any(alarm["what"] == "misfit" for alarm in self.since_restart())

    @property
    def doubted(self) -> bool:
        """Whether something rang since the last restart: statements about all that time may be wrong."""
        return any(alarm["did"] != RESTART for alarm in self.since_restart())

    def numbers_of(self, levels: Sequence[int]) -> list[int]:
        """Return the numbers of a level of each factor that is counted among the living ones."""
        return [int(live[level]) for live, level in zip(self.live, levels, strict=True)]

    def of_living(self, counts: Ints) -> Ints:
        """Return counts of the combinations of living levels, not to be changed."""
        return counts if self.factors.sizes == tuple(map(len, self.live)) else counts[np.ix_(*self.live)]

    def measured(self) -> tuple[Ints, Ints]:
        """Return outcomes and clicks of all combinations from which rates of all visitors are told.

        What a policy chose for each visitor says nothing of all: then these are of what was drawn at random.
        """
        pulls, clicks = (self.pulls, self.clicks) if self.visitors is None else self.explored
        return pulls, clicks

    def known(self, pulls: Ints, clicks: Ints) -> Stretch:
        """Return the events that feed what is known to a policy that has just started."""
        if self.policy.by_features:
            return self.feature_counts.known(pulls, clicks, self.places, self.segments.declared or ())
        if self.visitors is not None:
            return self.visitors.known(pulls, clicks, np.ix_(*self.live))
        if self.policy.by_segment:
            pulls, clicks = self.segments.parts(pulls, clicks, np.ix_(*self.live))
        return Stretch.known(pulls, clicks, self.policy.by_segment)

    def started(self) -> Any:
        """Return the state of the policy before its first decision, on the levels that live now."""
        sizes, policy = [len(numbers) for numbers in self.live], self.policy
        if self.visitors is not None:
            return start_alone(policy, sizes, self.rules)
        return policy.start(*sizes, forbidden=self.rules) if len(self.rules) else policy.start(*sizes)

    @property
    def rules(self) -> Ints:
        """What is forbidden, as the policy counts levels."""
        return living_rules(self.forbidden, self.factors)

    def place_levels(self) -> None:
        """Work out which level of the policy is which level of the experiment."""
        self.live, self._one, self._run = self.factors.living(), None, None
        self._all_live = self.factors.sizes == tuple(map(len, self.live))
        self.places = [[-1] * size for size in self.factors.sizes]
        for places, live in zip(self.places, self.live, strict=True):
            for place, level in enumerate(live.tolist()):
                places[level] = place

    def places_of(self, shown: bytes | None) -> tuple[int, ...]:
        """Return the levels of what was shown as the policy counts them; -1: retired, or none yet."""
        if shown is None:
            return (-1,) * len(self.factors)
        levels = unpack_shown(shown, len(self.factors))
        return levels if self._all_live else tuple([place[level] for place, level in zip(self.places, levels)])  # noqa: B905
