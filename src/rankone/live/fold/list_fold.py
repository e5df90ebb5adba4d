"""What a ranking knows: the fold of its journal, list by list.

Lists are drawn from a *lottery*, which is frozen: the policy's belief at one moment, and the shares of exploration and
control. A new one is made at the first list after enough has been learned (`renewal_due`). So what may be shown can
differ from list to list, and how likely anything was can be worked out when a click comes, however late: an open
decision only keeps the version of its lottery (`Open.segment`), which lives as long as one of them.

Counts are those of items at positions. A new era begins the evidence anew: it compares the items of its time.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.tiers import tiered
from rankone.evidence.list_chances import ListLottery
from rankone.evidence.list_lottery import draw_list, renewal_due, start_lottery
from rankone.kernels.decision import Layout
from rankone.kernels.policy import FILLER, believe
from rankone.live.evidence.list_evidence import ListEvidence, WeighedList
from rankone.live.evidence.weighed_outcomes import Weighed
from rankone.live.factors import widened
from rankone.live.fold.feature_counts import Open
from rankone.live.fold.fold import Diverged, Fold
from rankone.live.fold.fold_facts import Held
from rankone.live.journal.events import (
    AT,
    BY_AGE,
    CLOSING,
    DECISION,
    KIND,
    LEARNED,
    SEQ,
    TAG,
    VALUE,
    Events,
    Kind,
    Texts,
)
from rankone.live.journal.packing import pack_chances, unpack_shown
from rankone.live.lists import OTHER, limits_of, told_in
from rankone.live.visitor_attributes import Declaration, context_of, settled_by
from rankone.numerics.arrays import Floats, Ints, Mask
from rankone.numerics.seeds import generator
from rankone.policies.advance import LEARN, PREPARE, RECALL, Stretch
from rankone.policies.engines.lists.layout import UNTIL, looked_at

_LEARNED, _CLOSING = frozenset(map(int, LEARNED)), frozenset(map(int, CLOSING))
_LOTTERY = "lottery_"  # before the parts of a lottery in a snapshot
_MOST_KNOWN = 1_000  # restrictions that are kept ready


class Limits(NamedTuple):
    """What may be shown in one list, as the policy counts items."""

    allowed: Mask  # (L,) may be drawn
    pinned: Ints  # (n,) the item at each position, -1: drawn, L: no living item of the ranking
    named: Ints  # (n,) the same as the ranking numbers items


class ListFold(Fold):
    """The state of one ranking."""

    evidence: Any  # a `ListEvidence`

    def __init__(self, marks: Events, with_policy: bool = True) -> None:
        super().__init__(marks, with_policy)
        self.n_lists_clicked = self.n_pinned = 0
        self._forget_lotteries()

    def _forget_lotteries(self) -> None:
        self.lotteries: dict[int, ListLottery] = {}  # by version: the newest, and those of open decisions
        self._uses: Counter[int] = Counter()  # open decisions by version
        self._newest, self._made_at = -1, 0  # the newest version, and outcomes when it was made
        self._known_limits: dict[str | None, Limits] = {}
        self._rooms: dict[int, Stretch] = {}

    @property
    def positions(self) -> int:
        """How long a list is, at most."""
        return self.settings.positions or 0

    @property
    def items(self) -> list[str]:
        """The names of all items, retired ones too."""
        return self.factors.each[0].names

    @property
    def n_clicked(self) -> int:
        """Lists with a click that count."""
        return self.n_lists_clicked

    @property
    def shown(self) -> dict[str, str] | None:
        """The list that every visitor sees since the ranking was stopped, by position; None while it runs."""
        return None if self.stopped is None else self.by_position(self.stopped["levels"])

    @property
    def control(self) -> dict[str, str] | None:
        """The list of the control, by position; None: there is none."""
        control = self.settings.control
        return None if control is None else {str(at): name for at, name in enumerate(control.levels, start=1)}

    def by_position(self, items: Sequence[int]) -> dict[str, str]:
        """Return the names of items by their position in a list."""
        return {str(position): self.items[item] for position, item in enumerate(items, start=1)}

    def new_evidence(self) -> ListEvidence:
        """Return evidence of which nothing is known yet."""
        return ListEvidence(self.settings, len(self.factors.each[0].numbers()))

    def started(self) -> Any:
        """Return the state of the policy before its first list, on the items that live now."""
        return self.policy.start(len(self.live[0]), self.positions)

    def more_arrays(self) -> dict[str, Any]:
        """Return lotteries, and what policies start afresh on."""
        facts = np.array([self._newest, self._made_at, self.n_lists_clicked, self.n_pinned])
        parts = {
            f"{_LOTTERY}{version}_{name}": part
            for version, lottery in self.lotteries.items()
            for name, part in lottery._asdict().items()
        }
        return {"list_facts": facts, "list_taught": self.taught, **parts}

    def restore_more(self, arrays: Mapping[str, Any]) -> None:
        """Go on from what `more_arrays` returned."""
        self._newest, self._made_at, self.n_lists_clicked, self.n_pinned = arrays["list_facts"].tolist()
        self.taught = arrays["list_taught"]
        first = ListLottery._fields[0]
        versions = [name for name in arrays if name.startswith(_LOTTERY) and name.endswith(f"_{first}")]
        for version in [int(name[len(_LOTTERY) :].partition("_")[0]) for name in versions]:
            parts = [arrays[f"{_LOTTERY}{version}_{name}"] for name in ListLottery._fields]
            self.lotteries[version] = ListLottery(*parts)
        drawn = (opened.segment for number, opened in self.open.items() if number >= self.era_first)
        self._uses = Counter(version for version in drawn if version in self.lotteries)

    def _apply_plain(self, events: Events) -> None:
        for index, head in enumerate(events.heads):
            kind, decision = head[KIND], head[DECISION]
            self.tallies[kind] += 1
            if kind == Kind.ASK:
                self._ask(events, index)
            elif kind in _CLOSING:
                self._close(head, events.texts[index])
            elif kind == Kind.HOLD:
                self.held[decision] = Held(head[VALUE], events.texts[index].source, events.texts[index].token)
            elif kind == Kind.LATE:
                self._count_late(head, events.texts[index])
            elif kind == Kind.CLOCK:
                self.clock_ahead = max(0, head[VALUE])
                self.clock_jumped = -head[VALUE] if head[VALUE] < 0 else self.clock_jumped
        while self.due and self.due[0] not in self.open:
            self.due.popleft()
        self.seq, self.at = head[SEQ], head[AT]

    def _ask(self, events: Events, index: int) -> None:
        """Draw a list, or draw the one again that the journal has; count it."""
        head, texts = events.heads[index], events.texts[index]
        limits = limits_of(texts)
        version, chances = -1, None
        drawn: tuple[tuple[int, ...], int] = ((), FILLER)
        if self.stopped is not None:
            drawn = self._stopped_list(limits), FILLER
        elif self.state is not None:
            drawn, chances = self._draw(limits)
            version = self._newest
        if texts.shown is None:
            events.show(index, *drawn)
            texts = events.texts[index]
            if chances is not None and (chances >= 0.0).all():
                texts = texts._replace(chance=float(np.prod(chances)), cross_chances=pack_chances(chances))
                events.texts[index] = texts
        elif version >= 0 and (unpack_shown(texts.shown), head[TAG]) != drawn:
            raise Diverged(head[SEQ])
        shown, tag = unpack_shown(texts.shown or b""), events.heads[index][TAG]
        self.decisions += 1
        self.fillers += tag < 0
        self.n_pinned += len(json.loads(limits).get("pinned", ())) if limits else 0
        for position, item in enumerate(shown):
            if item < len(self.items):
                self.asked[position, item] += 1
        self._note_visitor(texts)
        self._uses[version] += version >= 0
        known = head[AT], texts.secret or b"", texts.shown or b"", texts.token
        self.open[head[DECISION]] = Open(tag, *known, None, limits, version)
        if self.settings.outcomes.window:
            self.due.append(head[DECISION])

    def _note_visitor(self, texts: Texts) -> None:
        if texts.context is not None and self.segments.declared is None:
            self.segments.declared = settled_by(context_of(texts.context))
        if texts.note is not None:
            self.segments.ignored.update(texts.details().get("ignored", ()))

    def _stopped_list(self, limits: str | None) -> tuple[int, ...]:
        """Return the list that all see, as far as a request allows."""
        within, living = self.limits(limits), self.live[0].tolist()
        allowed = {living[place] for place in np.flatnonzero(within.allowed).tolist()}
        rest = iter([item for item in self.stopped["levels"] if item in allowed] if self.stopped else [])
        filled = [next(rest, -1) if item < 0 else item for item in within.named.tolist()]
        return tuple(item for item in filled if item >= 0)

    def _draw(self, limits: str | None) -> tuple[tuple[tuple[int, ...], int], Floats]:
        """Draw a list: its items and the branch of the lottery, and how likely each was (-1: not known)."""
        due = self._newest < 0 or renewal_due(self._made_at, self.learned) or self.evidence.renews
        if due:
            self._renew()
        allowed, pinned, named = self.limits(limits)
        shown, chances = np.empty(len(pinned), np.int64), np.empty(len(pinned))
        lottery, own = self.lotteries[self._newest], np.zeros(self.positions, np.int64)
        branch = tiered(draw_list, draw_list.__module__)(lottery, own, allowed, pinned, self.rng, shown, chances)
        items = np.where(named < 0, self.live[0][np.minimum(shown, len(self.live[0]) - 1)], named)
        return (tuple(items.tolist()), int(branch)), np.minimum(chances, 1.0)

    def _renew(self) -> None:
        """Make a lottery of what the policy believes by now."""
        if not self._uses[self._newest]:
            self.lotteries.pop(self._newest, None)
        belief, settings = believe(self.state, self.rng), self.settings
        share = settings.control.share if settings.control else 0.0
        first = [self.items.index(name) for name in settings.control.levels] if settings.control else []
        places = [self.places[0][item] for item in first if self.places[0][item] >= 0]
        control = np.array([*places, *(set(range(len(self.live[0]))) - set(places))], np.int64)
        self._newest, self._made_at = self._newest + 1, self.learned
        shares = self.evidence.shares(share, self.decisions)
        self.lotteries[self._newest] = start_lottery(belief, control, shares, self.positions)

    def policys_order(self) -> Ints:
        """Return the living items, as the policy counts them, in the order in which it prefers them now."""
        newest = self.lotteries.get(self._newest)
        if newest is not None:
            return newest.present
        looks, clicks = self.taught[:, :, self.live[0]].sum(axis=1)
        return np.argsort(-(clicks + 1.0) / (looks + 2.0), kind="stable")

    def limits(self, limits: str | None) -> Limits:
        """Return what a request allows among the items that live now."""
        found = self._known_limits.get(limits)
        if found is None:
            if len(self._known_limits) >= _MOST_KNOWN:
                self._known_limits.clear()
            found = self._known_limits[limits] = self._read_limits(json.loads(limits) if limits else {})
        return found

    def _read_limits(self, said: Mapping[str, Any]) -> Limits:
        living, numbers = self.live[0], {name: number for number, name in enumerate(self.items)}
        pins = {int(at): numbers.get(name, OTHER) for at, name in said.get("pinned", {}).items()}
        allowed = ~np.isin(living, [*said.get("exclude", ()), *pins.values()])
        if "candidates" in said:
            allowed &= np.isin(living, said["candidates"])
        size = min(self.positions, int(allowed.sum()) + len(pins))
        named = np.array([pins.get(at, -1) for at in range(1, size + 1)], np.int64)
        places = [-1 if item < 0 else self._place(item) for item in named.tolist()]
        return Limits(allowed, np.array(places, np.int64), named)

    def _place(self, item: int) -> int:
        """Return an item as the policy counts it; behind all others: it does not know it."""
        place = self.places[0][item] if item < len(self.items) else -1
        return place if place >= 0 else len(self.live[0])

    def _close(self, head: Sequence[int], texts: Texts) -> None:
        """Learn what came of a list, unless it is void or excluded."""
        opened = self.open.pop(head[DECISION], _NOT_OPEN)
        self.held.pop(head[DECISION], None)
        self.voided_by_age += head[KIND] == Kind.VOID and head[VALUE] == BY_AGE
        if head[KIND] in _LEARNED:
            excluded = self.exclusions.taking(head, texts)
            if excluded is None:
                self._learn_list(head, texts, opened)
            else:
                self.exclusions.taken[excluded] += 1
        if opened.segment >= 0 and head[DECISION] >= self.era_first:
            self._uses[opened.segment] -= 1
            if not self._uses[opened.segment] and opened.segment != self._newest:
                del self.lotteries[opened.segment]

    def _learn_list(self, head: Sequence[int], texts: Texts, opened: Open) -> None:
        """Count an outcome; let the policy learn it, and weigh its clicks."""
        shown, (_, seen) = unpack_shown(texts.shown or b""), told_in(head[VALUE])
        size = len(shown)
        clicked = [head[VALUE] >> position & 1 for position in range(size)]
        self.learned += 1
        self.expired += head[KIND] == Kind.EXPIRE
        self.n_lists_clicked += any(clicked)
        pinned = json.loads(opened.context).get("pinned", {}) if opened.context else {}
        counted = [at for at in range(size if seen is None else seen) if str(at + 1) not in pinned]
        looked = looked_at(clicked, UNTIL[getattr(self.policy, "until", "all")])
        for at in counted:
            self.pulls[at, shown[at]] += 1
            self.clicks[at, shown[at]] += clicked[at]
            if at < looked:
                self.taught[:, at, shown[at]] += 1, clicked[at]
        places = [self._place(shown[at]) if at in counted else -1 for at in range(size)]
        if self.state is not None and head[TAG] >= 0:
            self._teach(head, opened, places, clicked, min(looked, size))

    def _teach(self, head: Sequence[int], opened: Open, places: list[int], clicked: list[int], looked: int) -> None:
        """Let the policy learn a list; weigh it if it was drawn in this era."""
        if head[DECISION] < self.era_first or opened.segment not in self.lotteries:  # its tag means nothing now
            n_items = len(self.live[0])
            rows = [(at, place, 1, clicked[at]) for at, place in enumerate(places[:looked]) if 0 <= place < n_items]
            if rows:
                self._advance_by(self._recalled(rows))
            return
        lottery, stretch = self.lotteries[opened.segment], self._room_for(len(places))
        stretch.shown[0], stretch.outcomes[0], stretch.tags[0] = places, clicked, lottery.tag[0]
        self._advance_by(stretch)
        if any(clicked) or len(clicked) == 1:  # where there is one position, silence says something too
            limits = self.limits(opened.context)
            compared = [int(click and limits.pinned[at] < 0) for at, click in enumerate(clicked)]
            drawn = np.array([self._place(item) for item in unpack_shown(opened.shown)], np.int64)
            self.evidence.weigh(WeighedList(lottery, limits.allowed, limits.pinned, drawn, head[TAG], compared))
        else:
            self.evidence.weighed += 1

    def _room_for(self, size: int) -> Stretch:
        """Return room for one list that is learned."""
        if size not in self._rooms:
            self._rooms[size] = Stretch.room(Layout(size, size), 1)
            self._rooms[size].what[:] = LEARN
        return self._rooms[size]

    def _recalled(self, rows: Sequence[tuple[int, int, int, int]]) -> Stretch:
        """Return outcomes of items (position, item, looks, clicks) as the events that feed them to a policy."""
        shown = np.full((1 + len(rows), self.positions), -1)
        for row, (at, place, _, _) in enumerate(rows, start=1):
            shown[row, at] = place
        looks, clicks = (np.array([0, *column]) for column in list(zip(*rows, strict=True))[2:])
        return Stretch.of(np.array([PREPARE, *[RECALL] * len(rows)]), shown, looks, clicks[:, None])

    def _count_late(self, head: Sequence[int], texts: Texts) -> list[Weighed]:
        """Count clicks that came too late."""
        if self.exclusions.taking(head, texts) is None:
            for at, item in enumerate(unpack_shown(texts.shown or b"")):
                if item < len(self.items):
                    self.late[at, item] += head[VALUE] >> at & 1
        return []

    def _declare(self, declared: Declaration) -> None:
        """Note other attributes: lists are not told apart by them."""
        self.segments.declared = declared

    def _apply_create(self, details: dict[str, Any]) -> None:
        self.taught = np.zeros((2, details["positions"], len(details["factors"][0][1])), np.int64)
        super()._apply_create(details)

    def _begin_era(self, why: str, defeated: list[int]) -> None:
        """Start the policy afresh on the living items and on all that is known of them."""
        self.eras.append(why)
        self.era_first = self.decisions
        self.taught = np.stack([widened(part, self.counted_by) for part in self.taught])
        self.place_levels()
        self._forget_lotteries()
        self.state = None
        if self.seq < self._last_era:
            return
        self._last_era = self.seq
        self.rng = generator(self.settings.seed, "experiment", len(self.eras))
        self.state = self.started()
        known = self.taught[:, :, self.live[0]]
        rows = [(int(at), int(item), *known[:, at, item].tolist()) for at, item in np.argwhere(known[0])]
        if rows:
            self._advance_by(self._recalled(rows))


_NOT_OPEN = Open(0, 0, b"", b"")


def new_fold(marks: Events, with_policy: bool = True, lists: bool = False) -> Fold:
    """Return the fold of an experiment, or of a ranking, whose rare events are known; `lists`: it will be one."""
    each = zip(marks.heads, marks.texts, strict=True)
    made = any(head[KIND] == Kind.CREATE and texts.details().get("positions") for head, texts in each)
    return (ListFold if lists or made else Fold)(marks, with_policy)
