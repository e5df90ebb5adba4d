"""What a ranking knows: the fold of its journal, list by list.

Lists are drawn from a *lottery*, which is frozen: the policy's belief at one moment, and the shares of exploration and
control. A new one is made at the first list after enough has been learned (`renewal_due`). So what may be shown can
differ from list to list, and how likely anything was can be worked out when a click comes, however late: an open
decision only keeps the version of its lottery (`Open.segment`), which lives as long as one of them.

Counts are those of items at positions. A new era begins the evidence anew: it compares the items of its time.
"""

import json
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
from rankone.live.fold.feature_counts import Open
from rankone.live.fold.fold import Diverged, Fold
from rankone.live.journal.events import CLOSING, DECISION, KIND, LEARNED, SEQ, TAG, VALUE, Events, Kind, Texts
from rankone.live.journal.packing import pack_chances, unpack_shown
from rankone.live.lists import OTHER, limits_of, told_in
from rankone.live.visitor_attributes import Declaration, context_of, settled_by
from rankone.numerics.arrays import Floats, Ints, Mask
from rankone.numerics.states import fields_of, state_of
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


class Lotteries:
    """What lists of this era are drawn from: the newest lottery and, at least, those of open decisions."""

    def __init__(self) -> None:
        self.of: dict[int, ListLottery] = {}  # by version
        self.newest, self.made_at = -1, 0  # the newest version, and outcomes when it was made

    @property
    def nbytes(self) -> int:
        """How much memory they take."""
        return sum(array.nbytes for lottery in self.of.values() for array in lottery)

    def arrays(self) -> dict[str, Any]:
        """Return what a snapshot keeps as arrays."""
        return fields_of({str(version): lottery for version, lottery in self.of.items()})

    def facts(self) -> list[Any]:
        """Return what it keeps besides."""
        return [self.newest, self.made_at, list(self.of)]

    def restore(self, arrays: Mapping[str, Any], facts: list[Any]) -> None:
        """Go on from what a snapshot holds."""
        self.newest, self.made_at, versions = facts
        self.of = {version: state_of(ListLottery, arrays, str(version)) for version in versions}


class ListFold(Fold):
    """The state of one ranking."""

    evidence: Any  # a `ListEvidence`
    plain = (*Fold.plain, "n_lists_clicked", "n_pinned")

    def __init__(self, marks: Events, with_policy: bool = True) -> None:
        super().__init__(marks, with_policy)
        self.n_lists_clicked = self.n_pinned = 0

    def place_levels(self) -> None:
        """Work out which item of the policy is which item of the ranking; lists are drawn anew."""
        super().place_levels()
        self.lotteries = Lotteries()
        self._known_limits: dict[str | None, Limits] = {}
        self._rooms: dict[int, Stretch] = {}

    def parts(self) -> dict[str, Any]:
        """Return what else is known."""
        return super().parts() | {"lotteries": self.lotteries}

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

    @property
    def taught(self) -> Ints:
        """Looks and clicks that the policy learned, (2, positions, items); experiments keep what was explored there."""
        return self.explored

    def _new_evidence(self) -> ListEvidence:
        return ListEvidence(self.settings, len(self.factors.each[0].numbers()))

    def started(self) -> Any:
        """Return the state of the policy before its first list, on the items that live now."""
        return self.policy.start(len(self.live[0]), self.positions)

    def _segments_of(self, events: Events) -> None:
        """Lists are not told apart by segments; who says something of a visitor first settles the attributes."""
        said = next((texts.context for texts in events.texts if texts.context is not None), None)
        if said is not None and self.segments.declared is None:
            self.segments.declared = settled_by(context_of(said))

    def _advance(self, events: Events, segments: list[int] | None, visitors: Floats | None) -> None:
        """Lists are drawn and learned one by one, as their events are counted."""

    def _count_ask(self, events: Events, index: int, segment: int | None) -> None:
        """Draw a list, or draw the one again that the journal has; count it."""
        head, texts = events.heads[index], events.texts[index]
        limits = limits_of(texts)
        version, chances = -1, None
        drawn: tuple[tuple[int, ...], int] = ((), FILLER)
        if self.stopped is not None:
            drawn = self._stopped_list(limits), FILLER
        elif self.state is not None:
            drawn, chances = self._draw(limits)
            version = self.lotteries.newest
        if texts.shown is None:
            events.show(index, *drawn)
            if chances is not None and (chances >= 0.0).all():
                whole, packed = float(np.prod(chances)), pack_chances(chances)
                events.texts[index] = events.texts[index]._replace(chance=whole, cross_chances=packed)
        elif version >= 0 and (unpack_shown(texts.shown), head[TAG]) != drawn:
            raise Diverged(head[SEQ])
        self.n_pinned += len(json.loads(limits).get("pinned", ())) if limits else 0
        for position, item in enumerate(unpack_shown(events.texts[index].shown or b"")):
            if item < len(self.items):
                self.asked[position, item] += 1
        self._open(events.heads[index], events.texts[index], None, limits, version)

    def _stopped_list(self, limits: str | None) -> tuple[int, ...]:
        """Return the list that all see, as far as a request allows."""
        within, living = self.limits(limits), self.live[0].tolist()
        allowed = {living[place] for place in np.flatnonzero(within.allowed).tolist()}
        rest = iter([item for item in self.stopped["levels"] if item in allowed] if self.stopped else [])
        filled = [next(rest, -1) if item < 0 else item for item in within.named.tolist()]
        return tuple(item for item in filled if item >= 0)

    def _draw(self, limits: str | None) -> tuple[tuple[tuple[int, ...], int], Floats]:
        """Draw a list: its items and the branch of the lottery, and how likely each was (-1: not known)."""
        lotteries = self.lotteries
        if lotteries.newest < 0 or renewal_due(lotteries.made_at, self.learned) or self.evidence.renews:
            self._renew()
        allowed, pinned, named = self.limits(limits)
        shown, chances = np.empty(len(pinned), np.int64), np.empty(len(pinned))
        lottery, own = lotteries.of[lotteries.newest], np.zeros(self.positions, np.int64)
        branch = tiered(draw_list, draw_list.__module__)(lottery, own, allowed, pinned, self.rng, shown, chances)
        items = np.where(named < 0, self.live[0][np.minimum(shown, len(self.live[0]) - 1)], named)
        return (tuple(items.tolist()), int(branch)), np.minimum(chances, 1.0)

    def _renew(self) -> None:
        """Make a lottery of what the policy believes by now; keep those of open decisions."""
        used = {opened.segment for number, opened in self.open.items() if number >= self.era_first}
        belief, settings = believe(self.state, self.rng), self.settings
        share = settings.control.share if settings.control else 0.0
        first = [self.items.index(name) for name in settings.control.levels] if settings.control else []
        places = [self.places[0][item] for item in first if self.places[0][item] >= 0]
        control = np.array([*places, *(set(range(len(self.live[0]))) - set(places))], np.int64)
        shares, lotteries = self.evidence.shares(share, self.decisions), self.lotteries
        lotteries.newest, lotteries.made_at = lotteries.newest + 1, self.learned
        lotteries.of = {version: lottery for version, lottery in lotteries.of.items() if version in used}
        lotteries.of[lotteries.newest] = start_lottery(belief, control, shares, self.positions)

    def policys_order(self) -> Ints:
        """Return the living items, as the policy counts them, in the order in which it prefers them now."""
        newest = self.lotteries.of.get(self.lotteries.newest)
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

    def _learn(self, head: Sequence[int], texts: Texts, opened: Open, segment: int | None) -> list[Weighed]:
        """Count an outcome; let the policy learn it, and weigh its clicks."""
        shown, (_, seen) = unpack_shown(texts.shown or b""), told_in(head[VALUE])
        size = len(shown)
        clicked = [head[VALUE] >> position & 1 for position in range(size)]
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
        return []

    def _teach(self, head: Sequence[int], opened: Open, places: list[int], clicked: list[int], looked: int) -> None:
        """Let the policy learn a list; weigh it if it was drawn in this era."""
        if head[DECISION] < self.era_first or opened.segment not in self.lotteries.of:  # its tag means nothing now
            n_items = len(self.live[0])
            rows = [(at, place, 1, clicked[at]) for at, place in enumerate(places[:looked]) if 0 <= place < n_items]
            if rows:
                self._advance_by(self._recalled(rows))
            return
        lottery, stretch = self.lotteries.of[opened.segment], self._room_for(len(places))
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
        if self.exclusions.taking(head, texts) is None:
            for at, item in enumerate(unpack_shown(texts.shown or b"")):
                if item < len(self.items):
                    self.late[at, item] += head[VALUE] >> at & 1
        return []

    def _declare(self, declared: Declaration) -> None:
        """Note other attributes: lists are not told apart by them."""
        self.segments.declared = declared

    def _recall(self) -> None:
        known = self.taught[:, :, self.live[0]]
        rows = [(int(at), int(item), *known[:, at, item].tolist()) for at, item in np.argwhere(known[0])]
        if rows:
            self._advance_by(self._recalled(rows))


def new_fold(marks: Events, with_policy: bool = True, lists: bool = False) -> Fold:
    """Return the fold of an experiment, or of a ranking, whose rare events are known; `lists`: it will be one."""
    each = zip(marks.heads, marks.texts, strict=True)
    made = any(head[KIND] == Kind.CREATE and texts.details().get("positions") for head, texts in each)
    return (ListFold if lists or made else Fold)(marks, with_policy)
