"""What an experiment knows: the fold of its journal, and nothing else.

The fold keeps the counts of every combination, the decisions still open and the policy's state with its random
generator. Live requests and a journal being read go through the same `apply`: that is what makes a restart exact.

An *era* is a stretch of the journal over which the policy runs undisturbed. It begins at creation and wherever the
policy starts afresh on what is known (levels added or retired, outcomes excluded, another policy). The state at the
beginning of an era depends on counts only, so the policy itself is replayed for the last era alone. An alarm
(`rankone.live.commit.alarms`) begins one too; if it restarts the experiment, all counts and all evidence begin anew
with it, and the counts before are kept apart.
"""

import operator
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from rankone.compiling.compiled import compile_errors_explained
from rankone.compiling.tiers import tiered
from rankone.evidence.steering import EXPLORED
from rankone.kernels.decision import Layout
from rankone.kernels.policy import FILLER, adopt, with_room
from rankone.live.evidence.experiment_evidence import ExperimentEvidence
from rankone.live.evidence.goal_outcomes import GoalOutcomes
from rankone.live.evidence.published import Published
from rankone.live.evidence.segments import ASKED, CLICKS, PULLS, UNSAID, Segments
from rankone.live.evidence.weighed_outcomes import Weighed
from rankone.live.factors import Factors, widened
from rankone.live.fold.event_meanings import follow_goals, follow_published, meaning, note_chances
from rankone.live.fold.feature_counts import FeatureCounts, Open, features_of_each
from rankone.live.fold.fold_facts import FoldFacts, Held
from rankone.live.fold.unknown_policy import policy_of
from rankone.live.fold.visitors import Visitors
from rankone.live.journal.events import (
    AT,
    BY_AGE,
    CLOSING,
    DECISION,
    ERAS,
    KIND,
    LEARNED,
    SEQ,
    VALUE,
    Events,
    Kind,
    Texts,
    each_mark,
)
from rankone.live.journal.exclusions import Exclusions
from rankone.live.journal.packing import unpack_shown
from rankone.live.setting_kinds import as_tuples
from rankone.live.settings import RESTART, Settings
from rankone.live.visitor_attributes import Declaration, checked_declaration, features_of
from rankone.numerics.arrays import Floats
from rankone.numerics.seeds import generator
from rankone.policies.advance import ASK, NOTHING, Stretch, advance
from rankone.policies.arrivals.users import with_users

_ASK, _HOLD, _EXPIRE, _LATE, _VOID, _CLOCK = (
    int(Kind[name]) for name in ("ASK", "HOLD", "EXPIRE", "LATE", "VOID", "CLOCK")
)
_LEARNED, _CLOSING = frozenset(map(int, LEARNED)), frozenset(map(int, CLOSING))
_NOT_OPEN = Open(0, 0, b"", b"")


class Diverged(Exception):
    """The policy chooses something else than the journal tells: its code changed since."""


class Stale(Exception):
    """The journal now excludes outcomes that this fold has counted: fold it again from its beginning."""


class Fold(FoldFacts):
    """The state of one experiment. `marks` are the rare events of the whole journal, known before it is read."""

    def __init__(self, marks: Events, with_policy: bool = True) -> None:
        self.seq = self.at = self.decisions = self.fillers = self.learned = self.learned_before = self.expired = 0
        self.voided_by_age = self.faults = self.clock_ahead = self.clock_jumped = 0
        self.began = marks.heads[0][AT] if len(marks) else 0
        self.tallies = np.zeros(max(Kind) + 1, np.int64)
        self.chain, self.open, self.held, self.due, self.wanted = b"", {}, {}, deque(), {}
        self.stopped = self.resumed = self.state = self.goals = self.visitors = self.published = None
        self._one: Stretch | None = None  # room for one event, used again and again
        self._ran: tuple[Any, ...] = ()  # what it was run with last, and the code for just that
        self._run: Callable[..., int] | None = None
        self.feature_counts = FeatureCounts()
        self.eras, self.alarms, self.forbidden, self.archives, self.guards = [], [], [], [], {}
        self.exclusions = Exclusions(marks)
        starts = [head[SEQ] for head in marks.heads if head[KIND] in ERAS and with_policy]
        self._last_era = max(starts, default=2**62)

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
        segments = self._segments_of(events)
        visitors = None if self.visitors is None else self.visitors.follow(events, self.exclusions)
        if self.state is not None:
            self._advance(events, segments, visitors)
        outcomes: list[Weighed] = []
        late: list[Weighed] = []
        for index, (head, texts) in enumerate(zip(events.heads, events.texts, strict=True)):
            kind, segment = head[KIND], None if segments is None else segments[index]
            self.tallies[kind] += 1
            if kind == _ASK:
                self._count_ask(events, index, segment)
            elif kind in _CLOSING:
                outcomes += self._close(head, texts, segment)
            elif kind == _HOLD:
                self.held[head[DECISION]] = Held(head[VALUE], texts.source, texts.token)
            elif kind == _LATE:
                late += self._count_late(head, texts)
            elif kind == _CLOCK:
                self.clock_ahead = max(0, head[VALUE])
                self.clock_jumped = -head[VALUE] if head[VALUE] < 0 else self.clock_jumped
        if outcomes:
            self.evidence.weigh(outcomes)
        if late:
            self.evidence.weigh_late(late)
        while self.due and self.due[0] not in self.open:
            self.due.popleft()
        if self.goals is not None:
            follow_goals(self, self.goals, events)
        self.seq, self.at = head[SEQ], head[AT]

    def _segments_of(self, events: Events) -> list[int] | None:
        """Return the segment of the visitor of each event; None: nobody ever said anything of one."""
        if self.segments.attributes is None:
            if all(texts.context is None for texts in events.texts):
                return None
            self.segments.rest_unsaid(self.asked, self.pulls, self.clicks)
        result, asked = [], {}
        for (_, kind, _, decision, _, _), texts in zip(events.heads, events.texts, strict=True):
            if kind == _ASK:
                asked[decision] = self.segments.number(texts.context)
            opened = self.open.get(decision)
            result.append(asked.get(decision, UNSAID) if opened is None else opened.segment)
        return result

    def _count_ask(self, events: Events, index: int, segment: int | None) -> None:
        texts = events.texts[index]
        levels = unpack_shown(texts.shown or b"", len(self.factors))
        self.asked[levels] += 1
        if segment is not None:
            self.segments.count(ASKED, segment, levels)
        context = texts.context if self.policy.by_features else None
        self._open(events.heads[index], texts, texts.cross_chances, context, UNSAID if segment is None else segment)

    def _open(self, head: Sequence[int], texts: Texts, cross: bytes | None, context: str | None, segment: int) -> None:
        """Count a decision and keep it open."""
        _, _, at, decision, tag, _ = head
        self.decisions += 1
        self.fillers += tag < 0
        if texts.note is not None:
            note = texts.details()
            self.segments.ignored.update(note.get("ignored", ()))
            self.faults += "fault" in note
        known = texts.secret or b"", texts.shown or b"", texts.token
        self.open[decision] = Open(tag, at, *known, cross, context, segment)
        if self.settings.outcomes.window:
            self.due.append(decision)

    def _close(self, head: Sequence[int], texts: Texts, segment: int | None) -> Sequence[Weighed]:
        """Close a decision; return its outcome to be weighed, if it counts."""
        opened = self.open.pop(head[DECISION], _NOT_OPEN)
        self.held.pop(head[DECISION], None)
        self.voided_by_age += head[KIND] == _VOID and head[VALUE] == BY_AGE
        if head[KIND] not in _LEARNED or not self.exclusions.spare(head, texts):
            return ()
        self.learned += 1
        self.expired += head[KIND] == _EXPIRE
        return self._learn(head, texts, opened, segment)

    def _learn(self, head: Sequence[int], texts: Texts, opened: Open, segment: int | None) -> list[Weighed]:
        """Count an outcome that is not excluded; return it to be weighed."""
        _, _, _, decision, tag, value = head
        levels = unpack_shown(texts.shown or b"", len(self.factors))
        self.pulls[levels] += 1
        self.clicks[levels] += value
        if tag == EXPLORED and self.policy.uses_context:
            self.explored[(0, *levels)] += 1
            self.explored[(1, *levels)] += value
        if segment is not None:
            self.segments.count(PULLS, segment, levels)
            self.segments.count(CLICKS, segment, levels, value)
        self.feature_counts.count(opened.context, levels, value)
        hidden, cross = self.exclusions.hidden(head, texts, self.evidence.sizes), opened.cross
        return [Weighed(levels, value, cross, hidden, decision, tag >= 0 or cross is not None, segment)]

    def _count_late(self, head: Sequence[int], texts: Texts) -> list[Weighed]:
        """Count a click that came too late to count; return it to be compared with those that did not."""
        decision, value = head[DECISION], head[VALUE]
        if value <= 0 or decision < self.restarted_at or self.exclusions.taking(head, texts) is not None:
            return []
        levels = unpack_shown(texts.shown or b"", len(self.factors))
        self.late[levels] += 1
        hidden = self.exclusions.hidden(head, texts, self.evidence.sizes)
        return [Weighed(levels, value, texts.cross_chances, hidden, decision)]

    def _advance(self, events: Events, segments: list[int] | None, visitors: Floats | None) -> None:
        what, shown, tags, stopped = [], [], [], self.stopped_on()
        for index, (head, texts) in enumerate(zip(events.heads, events.texts, strict=True)):
            places = self.places_of(texts.shown)
            means, tag = meaning(head, places, self.era_first)
            if stopped is not None and means == ASK:
                means = NOTHING
                if texts.shown is None:
                    events.show(index, stopped, FILLER)
            what.append(means)
            shown.append(places)
            tags.append(tag)
        asks = [index for index, means in enumerate(what) if means == ASK]
        # Decisions whose probabilities are not stored: new ones, and those of which the policy could not say.
        unknown = [index for index in asks if events.texts[index].cross_chances is None and self.evidence.fits]
        stretch = self._room(len(what), bool(unknown))
        stretch.fill(what, shown, tags, [head[VALUE] for head in events.heads])
        if visitors is not None:
            stretch.context[:] = visitors
        elif self.policy.by_segment:
            stretch.context[:] = self.segments.told_to_policy(segments, len(what))
        elif self.policy.by_features:
            stretch.context[:] = features_of_each(events, self.open, self.segments.declared or ())
        passed = self._advance_by(stretch)
        if passed < len(what):
            raise Diverged(events.heads[passed][SEQ])
        for index in unknown:
            note_chances(events, index, self.evidence, stretch.crosses[index], int(stretch.shown[index, 0]))
        for index in asks:
            if events.texts[index].shown is None:
                levels = self.numbers_of(stretch.shown[index].tolist())
                events.show(index, levels, int(stretch.tags[index]))

    def _apply_mark(self, mark: Events) -> None:
        (self.seq, number, self.at, *_), details = mark.heads[0], mark.texts[0].details()
        kind = Kind(number)
        self.tallies[kind] += 1
        if self.goals is not None:
            self.goals.pass_time(self.at)
        if kind is Kind.STEER:
            self.evidence.follow(details)
        elif kind is Kind.STOP:
            self.stopped, self.resumed = details, None
        elif kind in (Kind.PUBLISH, Kind.SUMS):
            follow_published(self, kind, details)
        elif kind is Kind.ARCHIVE:
            self.archives.append(details)
        elif kind is Kind.GUARD:
            times = self.guards.get(details["goal"], {"times": 0})["times"] + 1
            self.guards[details["goal"]] = details | {"seq": self.seq, "at": self.at, "times": times}
        elif kind is Kind.EXCLUDE:
            self.wanted[self.seq] = details | {"at": self.at, "token": mark.texts[0].token}
        else:
            self._apply_create(details) if kind is Kind.CREATE else self._apply_era(details)

    def _apply_create(self, details: dict[str, Any]) -> None:
        self.began = self.at
        self.settings = Settings.of_note(details)
        self.policy = policy_of(self.settings.policy)
        self.factors = Factors.new(self.settings.levels)
        self.asked, self.pulls, self.clicks, self.late = (np.zeros(self.counted_by, np.int64) for _ in range(4))
        self.earlier, self.explored = (np.zeros((parts, *self.asked.shape), np.int64) for parts in (3, 2))
        self.prior = np.array(self.settings.prior or np.zeros((2, *self.asked.shape)), np.int64)
        self.make_parts()
        declared = self.settings.context
        self.segments.declared = checked_declaration(declared) if declared else None
        self._begin_era("created", [])

    def make_parts(self) -> None:
        """Make the parts of which nothing is known yet."""
        sizes, policy = self.factors.sizes, cast(Any, self.policy)
        self.segments = Segments(sizes, policy.by_features)
        self.visitors = Visitors(policy.n_users(), sizes) if policy.by_visitor else None
        self.goals = GoalOutcomes(self.settings, sizes) if self.settings.goals else None
        self.published = Published() if policy.decides_away else None
        self.evidence = self._new_evidence()

    def _new_evidence(self) -> Any:
        own = self.segments, self.misfit_known, self.goals
        return ExperimentEvidence(self.settings, self.factors.each, self.rules, *own)

    def _apply_era(self, details: dict[str, Any]) -> None:
        if "exclude" in details and not self.exclusions.known(self.seq):
            raise Stale
        self.wanted.pop(details.get("wanted", 0), None)
        self.factors = Factors.of_note(details)
        self.policy = policy_of(details["policy"])
        self.stopped, self.resumed = details.get("stopped"), details.get("resumed", self.resumed)
        sizes = self.counted_by
        counts = self.asked, self.pulls, self.clicks, self.late
        self.asked, self.pulls, self.clicks, self.late = (widened(each, sizes) for each in counts)
        self.prior, self.earlier, self.explored = (
            np.stack([widened(part, sizes) for part in each]) for each in (self.prior, self.earlier, self.explored)
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
        if self.visitors is not None:
            self.visitors.begin_era(self.factors.sizes, forgets)
        if self.goals is not None:
            self.goals.begin_era(self.factors.sizes, forgets)
        self.evidence.begin_era(self.factors.each, self.rules, forgets, self.misfit_known)
        if "segments" in details:
            self._declare(as_tuples(details["segments"]))
        if "steer" in details:  # an alarm that is only told changes nothing of how decisions are drawn
            self.evidence.follow(details["steer"])
        self._begin_era(details["why"], details["defeats"])

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
        self.prior[:] = self.late[:] = self.explored[:] = 0
        self.learned_before = self.learned
        self.feature_counts.forget()
        self.evidence.segments.forget()  # once what waits to be weighed was: it is of the time before

    def _begin_era(self, why: str, defeated: list[int]) -> None:
        """Start the policy afresh on the living levels and on all that is known of them."""
        self.eras.append(why)
        self.era_first = self.decisions
        self.place_levels()
        self.state = None
        if self.seq < self._last_era or self.published is not None:
            return
        self._last_era = self.seq
        self.rng = generator(self.settings.seed, "experiment", len(self.eras))
        self.state = self.started()
        if defeated:
            adopt(self.state, np.array(defeated, np.int64))
        self._recall()

    def _recall(self) -> None:
        """Let the policy learn what is known of the living levels."""
        known = np.ix_(*self.live)
        pulls, clicks = self.pulls[known] + self.prior[0][known], self.clicks[known] + self.prior[1][known]
        if pulls.any() or self.decisions:  # decisions of earlier eras may still have outcomes
            self._advance_by(self.known(pulls, clicks))

    def _room(self, size: int, with_crosses: bool) -> Stretch:
        """Return room for so many events; for one event it is always the same, with room for probabilities."""
        if size == 1 and self._one is not None:
            return self._one
        features = len(features_of(None, self.segments.declared or ())) if self.policy.by_features else 0
        layout = Layout(shown=len(self.factors), outcome=1, context=features or int(self.policy.by_segment))
        stretch = Stretch.room(layout, size)
        if (with_crosses or size == 1) and self.evidence.fits:
            stretch = stretch._replace(crosses=np.empty((size, len(self.evidence.live))))
        self._one = stretch if size == 1 else self._one
        return stretch

    def _advance_by(self, stretch: Stretch) -> int:
        self.state = with_room(self.state, len(stretch.what))
        if self.visitors is not None:
            self.state = with_users(self.state, self.visitors.users)
        arguments = self.state, self.evidence.steering, self.rng, stretch
        if self._run is not None and all(map(operator.is_, arguments, self._ran)):
            return self._run(*arguments)
        module = type(self.policy).__module__
        with compile_errors_explained(module):
            passed: int = tiered(advance, module)(*arguments, size=len(stretch.what))
        if stretch is self._one:
            self._ran, self._run = arguments, tiered(advance, module).known(*arguments)
        return passed
