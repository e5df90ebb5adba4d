"""What an experiment knows: the fold of its journal, and nothing else.

The fold keeps the counts of every combination, the decisions still open and the policy's state with its random
generator. Live requests and a journal being read go through the same `apply`: that is what makes a restart exact.

An *era* is a stretch of the journal over which the policy runs undisturbed. It begins at creation and wherever the
policy starts afresh on what is known (levels added or retired, outcomes excluded, another policy). The state at the
beginning of an era depends on counts only, so the policy itself is replayed for the last era alone. An alarm
(`rankone.live.commit.alarms`) begins one too; if it restarts the experiment, all counts and all evidence begin anew
with it, and the counts before are kept apart.
"""

import json
from collections import deque
from typing import Any

import numpy as np

from rankone.compiling.compiled import compile_errors_explained
from rankone.compiling.tiers import tiered
from rankone.kernels.policy import FILLER, adopt, with_room
from rankone.live.evidence.experiment_evidence import ExperimentEvidence
from rankone.live.evidence.goal_outcomes import GoalOutcomes
from rankone.live.evidence.segments import ASKED, CLICKS, PULLS, UNSAID, Segments
from rankone.live.factors import Factors, widened
from rankone.live.fold.fold_facts import FoldFacts, Held, Open, crosses_of
from rankone.live.fold.goal_events import follow_goals
from rankone.live.fold.policy_events import POLICY_EVENTS, note_shown, sort_outcomes
from rankone.live.fold.unknown_policy import policy_of
from rankone.live.journal.events import (
    AT,
    BY_AGE,
    CLOSING,
    DECISION,
    ERAS,
    KIND,
    LEARNED,
    SEQ,
    TAG,
    VALUE,
    Events,
    Kind,
    each_mark,
)
from rankone.live.journal.exclusions import Exclusions
from rankone.live.journal.packing import pack_cross, settle_rounding
from rankone.live.settings import RESTART, Settings, as_tuples
from rankone.live.visitor_attributes import Declaration, checked_declaration
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.seeds import generator
from rankone.policies.advance import ASK, NOTHING, Stretch, advance

_ASK, _HOLD, _EXPIRE, _LATE, _VOID, _CLOCK = (
    int(Kind[name]) for name in ("ASK", "HOLD", "EXPIRE", "LATE", "VOID", "CLOCK")
)
# Which kinds of events are learned, and which close a decision.
_LEARNED = np.isin(np.arange(max(Kind) + 1), LEARNED)
_CLOSES = np.isin(np.arange(max(Kind) + 1), CLOSING)


class Diverged(Exception):
    """The policy chooses something else than the journal tells: its code changed since."""


class Stale(Exception):
    """The journal now excludes outcomes that this fold has counted: fold it again from its beginning."""


class Fold(FoldFacts):
    """The state of one experiment. `marks` are the rare events of the whole journal, known before it is read."""

    def __init__(self, marks: Events, with_policy: bool = True) -> None:
        self.seq = self.at = self.decisions = self.fillers = self.learned = self.learned_before = self.expired = 0
        self.voided_by_age = self.faults = self.clock_ahead = self.clock_jumped = 0
        self.began = int(marks.numbers[0, AT]) if len(marks) else 0
        self.tallies = np.zeros(max(Kind) + 1, np.int64)
        self.chain, self.open, self.held, self.due, self.wanted = b"", {}, {}, deque(), {}
        self.stopped = self.resumed = self.state = self.goals = None
        self.eras, self.alarms, self.forbidden, self.archives = [], [], [], []
        self.exclusions = Exclusions(marks)
        starts = marks.numbers[np.isin(marks.numbers[:, KIND], ERAS), SEQ]
        self._last_era = int(starts.max()) if with_policy and len(starts) else 2**62

    def runs_at(self, seq: int) -> bool:
        """Return whether the policy is replayed over an event: its last era has begun there."""
        return self._last_era <= seq

    def apply(self, events: Events, restart: bool = False) -> None:
        """Move over events that follow the ones seen so far; choices still to be made are filled in.

        `restart`: they begin a new era of a journal whose last one cannot be replayed, so the policy starts with it.
        """
        if restart:
            self._last_era = self.seq + 1
        self.exclusions.follow(events, self.seq)
        for plain, mark in each_mark(events):
            if len(plain):
                self._apply_plain(plain)
            if mark is not None:
                self._apply_mark(mark)

    def _apply_plain(self, events: Events) -> None:
        numbers = events.numbers
        kinds = numbers[:, KIND]
        segments = self._segments_of(events)
        if self.state is not None:
            self._advance(events, segments)
        tallies = np.bincount(kinds, minlength=len(self.tallies))
        self.tallies += tallies
        counts: list[int] = tallies.tolist()  # most commits hold one or two events: NumPy's small steps count here
        if counts[_ASK]:
            asks = kinds == _ASK
            shown = events.shown(len(self.factors))[asks]
            np.add.at(self.asked, tuple(shown.T), 1)
            for index in asks.nonzero()[0].tolist():
                if events.texts[index].note is not None:
                    note = events.texts[index].details()
                    self.segments.ignored.update(note.get("ignored", ()))
                    self.faults += "fault" in note
            if segments is not None:
                self.segments.count(ASKED, segments[asks], shown)
            self.fillers += int(np.count_nonzero(numbers[asks, TAG] < 0))
        if any(counts[kind] for kind in LEARNED):
            self._learn(events, segments)
        if counts[_LATE]:
            self._count_late(events)
        if counts[_VOID]:
            self.voided_by_age += int(np.count_nonzero((kinds == _VOID) & (numbers[:, VALUE] == BY_AGE)))
        if counts[_CLOCK]:
            noted = numbers[kinds == _CLOCK, VALUE]
            self.clock_ahead = max(0, int(noted[-1]))
            self.clock_jumped = -int(noted[noted < 0][-1]) if (noted < 0).any() else self.clock_jumped
        self._follow_decisions(events, counts, segments)
        if self.goals is not None:
            follow_goals(self, self.goals, events)
        self.decisions += counts[_ASK]
        self.seq, self.at = int(numbers[-1, SEQ]), int(numbers[-1, AT])

    def counted(self, events: Events) -> Any:
        """Return for each of the events that were just applied whether it is an outcome that counts."""
        return self.exclusions.sift(events, _LEARNED[events.numbers[:, KIND]])[0]

    def _segments_of(self, events: Events) -> Ints | None:
        """Return the segment of the visitor of each event; None: nobody ever said anything of one."""
        said = [texts.context for texts in events.texts]
        if self.segments.attributes is None and said.count(None) == len(said):
            return None
        if self.segments.attributes is None:
            self.segments.rest_unsaid(self.asked, self.pulls, self.clicks)
        result = np.array([self.segments.number(text) for text in said], np.int64)
        asks = events.numbers[:, KIND] == _ASK
        asked = dict(zip(events.numbers[asks, DECISION].tolist(), result[asks].tolist(), strict=True))
        for index in (~asks).nonzero()[0].tolist():
            decision = int(events.numbers[index, DECISION])
            opened = self.open.get(decision)
            result[index] = asked.get(decision, UNSAID) if opened is None else opened.segment
        return result

    def _learn(self, events: Events, segments: Ints | None) -> None:
        counted, taken = self.exclusions.sift(events, _LEARNED[events.numbers[:, KIND]])
        for seq, count in taken.items():
            self.exclusions.taken[seq] += count
        outcomes = events.numbers[counted]
        self.learned += len(outcomes)
        self.expired += int(np.count_nonzero(outcomes[:, KIND] == _EXPIRE))
        shown = events.shown(len(self.factors))[counted]
        np.add.at(self.pulls, tuple(shown.T), 1)
        np.add.at(self.clicks, tuple(shown.T), outcomes[:, VALUE])
        if len(outcomes):
            hidden = self.exclusions.hidden(events, counted, self.evidence.sizes)
            crosses = crosses_of(events, outcomes[:, DECISION].tolist(), self.open)
            drawn = sum(tag >= 0 or cross is not None for tag, cross in zip(outcomes[:, TAG], crosses, strict=True))
            whose = None if segments is None else segments[counted]
            self.evidence.weigh(shown, outcomes[:, VALUE], crosses, hidden, int(drawn), outcomes[:, DECISION], whose)
            if whose is not None:
                self.segments.count(PULLS, whose, shown)
                self.segments.count(CLICKS, whose, shown, outcomes[:, VALUE])

    def _count_late(self, events: Events) -> None:
        """Count clicks that came too late to count, and compare their levels with those of the others."""
        numbers = events.numbers
        clicks = (numbers[:, KIND] == _LATE) & (numbers[:, VALUE] > 0) & (numbers[:, DECISION] >= self.restarted_at)
        late = self.exclusions.sift(events, clicks)[0]
        shown = events.shown(len(self.factors))[late]
        np.add.at(self.late, tuple(shown.T), 1)
        packed = [events.texts[index].cross_chances for index in late.nonzero()[0].tolist()]
        self.evidence.weigh_late(shown, packed, self.exclusions.hidden(events, late, self.evidence.sizes))

    def _advance(self, events: Events, segments: Ints | None) -> None:
        """Let the policy choose and learn."""
        numbers, kinds = events.numbers, events.numbers[:, KIND]
        what, fresh = POLICY_EVENTS[kinds], np.array([texts.shown is None for texts in events.texts])
        stopped = self.stopped_on()
        if stopped is not None:
            asks = what == ASK
            what[asks] = NOTHING
            indices = (fresh & asks).nonzero()[0]
            note_shown(events, indices, np.array([stopped] * len(indices), np.int64), FILLER)
        shown, tags = self._places[events.shown(len(self.factors)), self._each], numbers[:, TAG].copy()
        if np.count_nonzero(what != ASK):
            sort_outcomes(numbers, what, shown, tags, self.era_first)
        chosen = (fresh & (what == ASK)).nonzero()[0]
        stretch = Stretch.of(what, shown, tags, numbers[:, VALUE : VALUE + 1].copy())
        if self.policy.by_segment:
            stretch = stretch._replace(context=self.segments.told_to_policy(segments, len(what)))
        # Decisions whose probabilities are not stored: new ones, and those of which the policy could not say.
        asks = (what == ASK).nonzero()[0].tolist() if self.evidence.fits else []
        unknown = [index for index in asks if events.texts[index].cross_chances is None]
        if len(unknown):
            stretch = stretch._replace(crosses=np.empty((len(what), len(self.evidence.live))))
        passed = self._advance_by(stretch)
        if passed < len(what):
            raise Diverged(int(numbers[passed, SEQ]))
        if len(unknown):
            self._note_chances(events, unknown, stretch.crosses[unknown], shown)
        if len(chosen):
            note_shown(events, chosen, self._numbers[shown[chosen], self._each], tags[chosen])

    def _note_chances(self, events: Events, indices: list[int], crosses: Floats, shown: Ints) -> None:
        """Write down the probabilities of decisions; where they are none, that: decisions never wait for them."""
        said = crosses[:, 0] != -1.0  # else the policy cannot say
        sound = settle_rounding(crosses) & said
        for at, index in enumerate(indices):
            texts, cross = events.texts[index], crosses[at]
            if sound[at]:
                packed = pack_cross(self.evidence.full_cross(cross), self.evidence.sizes)
                events.texts[index] = texts._replace(chance=float(cross[shown[index, 0]]), cross_chances=packed)
            elif said[at]:
                fault = f"probabilities from {np.min(cross):.6g} to {np.max(cross):.6g}"
                events.texts[index] = texts._replace(note=json.dumps(texts.details() | {"fault": fault}))

    def _follow_decisions(self, events: Events, counts: list[int], segments: Ints | None) -> None:
        numbers, kinds = events.numbers, events.numbers[:, KIND]
        closed: set[int] = set()
        if any(counts[kind] for kind in CLOSING):
            closed.update(numbers[_CLOSES[kinds], DECISION].tolist())
            for decision in closed:
                self.open.pop(decision, None)
                self.held.pop(decision, None)
            while self.due and self.due[0] not in self.open:
                self.due.popleft()
        if counts[_ASK]:
            asks = (kinds == _ASK).nonzero()[0]
            asked = zip(asks.tolist(), numbers[asks, DECISION].tolist(), strict=True)
            still = [index for index, decision in asked if decision not in closed]  # reading a journal, few are
            for index, (_, _, at, decision, tag, _) in zip(still, numbers[still].tolist(), strict=True):
                texts, segment = events.texts[index], UNSAID if segments is None else int(segments[index])
                self.open[decision] = Open(
                    tag, at, texts.secret or b"", texts.shown or b"", texts.token, texts.cross_chances, segment
                )
                if self.settings.outcomes.window:
                    self.due.append(decision)
        if counts[_HOLD]:
            for index in np.flatnonzero(kinds == _HOLD).tolist():
                decision = int(numbers[index, DECISION])
                if decision not in closed:
                    texts = events.texts[index]
                    self.held[decision] = Held(int(numbers[index, VALUE]), texts.source, texts.token)

    def _apply_mark(self, mark: Events) -> None:
        kind, details = Kind(int(mark.numbers[0, KIND])), mark.texts[0].details()
        self.seq, self.at = int(mark.numbers[0, SEQ]), int(mark.numbers[0, AT])
        self.tallies[kind] += 1
        if self.goals is not None:
            self.goals.pass_time(self.at)
        if kind is Kind.STEER:
            self.evidence.follow(details)
        elif kind is Kind.STOP:
            self.stopped, self.resumed = details, None
        elif kind is Kind.ARCHIVE:
            self.archives.append(details)
        elif kind is Kind.EXCLUDE:
            self.wanted[self.seq] = details | {"at": self.at, "token": mark.texts[0].token}
        else:
            self._apply_create(details) if kind is Kind.CREATE else self._apply_era(details)

    def _apply_era(self, details: dict[str, Any]) -> None:
        if "exclude" in details and not self.exclusions.known(self.seq):
            raise Stale
        self.wanted.pop(details.get("wanted", 0), None)
        self.factors = Factors.of_note(details)
        self.policy = policy_of(details["policy"])
        self.stopped, self.resumed = details.get("stopped"), details.get("resumed", self.resumed)
        sizes = self.factors.sizes
        counts = self.asked, self.pulls, self.clicks, self.late
        self.asked, self.pulls, self.clicks, self.late = (widened(each, sizes) for each in counts)
        self.prior, self.earlier = (
            np.stack([widened(part, sizes) for part in each]) for each in (self.prior, self.earlier)
        )
        if details.get("prior") is False:
            self.prior[:] = 0
        self.forbidden = details.get("forbidden", self.forbidden)
        alarm = details.get("alarm")
        if alarm is not None:
            self.alarms.append(alarm)
        forgets = alarm is not None and alarm["did"] == RESTART
        if forgets:
            self._forget()
        if self.goals is not None:
            self.goals.begin_era(sizes, forgets)
        self.evidence.begin_era(self.factors.each, self.rules, forgets, self.misfit_known)
        if "segments" in details:
            self._declare(as_tuples(details["segments"]))
        if "steer" in details:  # an alarm that is only told changes nothing of how decisions are drawn
            self.evidence.follow(details["steer"])
        self._begin_era(details["why"], details["defeats"])

    def _apply_create(self, details: dict[str, Any]) -> None:
        self.began = self.at
        self.settings = Settings.of_note(details)
        self.policy = policy_of(self.settings.policy)
        self.factors = Factors.new(self.settings.levels)
        self.asked, self.pulls, self.clicks, self.late = (np.zeros(self.factors.sizes, np.int64) for _ in range(4))
        self.earlier = np.zeros((3, *self.asked.shape), np.int64)
        self.prior = np.array(self.settings.prior or np.zeros((2, *self.asked.shape)), np.int64)
        self.segments = Segments(self.factors.sizes)
        declared = self.settings.watch.segments
        self.segments.declared = checked_declaration(declared) if declared else None
        self.goals = GoalOutcomes(self.settings, self.factors.sizes) if self.settings.goals else None
        self.evidence = ExperimentEvidence(self.settings, self.factors.each, segments=self.segments, goals=self.goals)
        self._begin_era("created", [])

    def _declare(self, declared: Declaration) -> None:
        """Tell other segments apart; open decisions go with the segments of their visitors."""
        segments = self.evidence.segments  # once what waits to be weighed was: it has the numbers of before
        if segments.declared is None:
            segments.rest_unsaid(self.asked, self.pulls, self.clicks)
        numbers = segments.declare(declared)
        for decision, opened in self.open.items():
            if opened.segment in numbers:
                self.open[decision] = opened._replace(segment=numbers[opened.segment])

    def _forget(self) -> None:
        """Begin to count anew: what was known was of another world."""
        for before, counts in zip(self.earlier, (self.asked, self.pulls, self.clicks), strict=True):
            before += counts
            counts[:] = 0
        self.prior[:] = self.late[:] = 0
        self.learned_before = self.learned
        self.evidence.segments.forget()  # once what waits to be weighed was: it is of the time before

    def _begin_era(self, why: str, defeated: list[int]) -> None:
        """Start the policy afresh on the living levels and on all that is known of them."""
        self.eras.append(why)
        self.era_first = self.decisions
        self.place_levels()
        self.state = None
        if self.seq < self._last_era:
            return
        self._last_era = self.seq
        self.rng = generator(self.settings.seed, "experiment", len(self.eras))
        self.state = self.started()
        if defeated:
            adopt(self.state, np.array(defeated, np.int64))
        known = np.ix_(*self.live)
        pulls, clicks = self.pulls[known] + self.prior[0][known], self.clicks[known] + self.prior[1][known]
        if pulls.any() or self.decisions:  # decisions of earlier eras may still have outcomes
            by_segment = self.policy.by_segment
            pulls, clicks = self.segments.parts(pulls, clicks, known) if by_segment else (pulls, clicks)
            self._advance_by(Stretch.known(pulls, clicks, by_segment))

    def started(self) -> Any:
        """Return the state of the policy before its first decision, on the levels that live now."""
        sizes = [len(numbers) for numbers in self.live]
        return self.policy.start(*sizes, forbidden=self.rules) if len(self.rules) else self.policy.start(*sizes)

    def place_levels(self) -> None:
        """Work out which level of the policy is which level of the experiment."""
        self.live, self._each = self.factors.living(), np.arange(len(self.factors))
        # The place of each level of each factor among the living ones; -1: retired, or (at -1, the last) none yet.
        self._places = np.full((1 + max(self.factors.sizes), len(self.factors)), -1)
        self._numbers = np.zeros((max(len(live) for live in self.live), len(self.factors)), np.int64)  # and back
        for factor, live in enumerate(self.live):
            self._places[live, factor] = np.arange(len(live))
            self._numbers[: len(live), factor] = live

    def _advance_by(self, stretch: Stretch) -> int:
        module = type(self.policy).__module__
        with compile_errors_explained(module):
            self.state = with_room(self.state, len(stretch.what))
            passed: int = tiered(advance, module)(
                self.state, self.evidence.steering, self.rng, stretch, size=len(stretch.what)
            )
        return passed
