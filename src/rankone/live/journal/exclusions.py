"""Outcomes that no longer count: which ones an exclusion takes out of the fold of a journal."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rankone.errors import InputError
from rankone.live.journal.events import DECISION, KIND, SEQ, Events, Kind, Texts
from rankone.live.journal.packing import pack_shown

_ASK, _ERA = int(Kind.ASK), int(Kind.ERA)
_LAST = 2**62
_FIRST = pack_shown([0])  # the level that decisions had before there was the factor


class Exclusion(NamedTuple):
    """Outcomes not to count: those of events behind `after` and before `seq` that fit everything that is given."""

    seq: int
    first: int = 0
    last: int = _LAST
    source: str | None = None
    token: str | None = None  # that told the outcome, or asked for its decision
    after: int = 0  # events up to this one count: they were in an archive by then
    levels: Mapping[str, int] | None = None  # by the number of their factor, as text

    def of_factors(self) -> dict[int, int]:
        """Return the level that is excluded of each factor that is named, by its number."""
        return {int(factor): level for factor, level in (self.levels or {}).items()}

    def fits(self, head: Sequence[int], texts: Texts, asked: Container[int]) -> bool:
        """Return whether the outcome of an event is excluded; `asked` are the decisions that its token asked for."""
        if not (self.after < head[SEQ] < self.seq and self.first <= head[DECISION] <= self.last):
            return False
        for factor, level in self.of_factors().items():
            if ((texts.shown or b"")[2 * factor : 2 * factor + 2] or _FIRST) != pack_shown([level]):
                return False
        if self.source is not None and texts.source != self.source:
            return False
        return self.token is None or texts.token == self.token or head[DECISION] in asked


class Exclusions:
    """The exclusions of a journal, all known before it is read, and what they take out of it as it is."""

    def __init__(self, marks: Events) -> None:
        self._all: list[Exclusion] = []
        # Decisions that had been asked by then: open ones of the level that an exclusion names were voided.
        self._before: dict[int, int] = {}
        self.taken: dict[int, int] = {}  # outcomes that each takes out
        self._fulfilled: dict[int, tuple[int, int]] = {}  # by the event that wanted it: which did, and outcomes held
        for head, texts in zip(marks.heads, marks.texts, strict=True):
            note = texts.details() if head[KIND] == _ERA else {}
            if "exclude" in note:
                self._add(head[SEQ], note, 0)
        # Decisions asked by tokens that are excluded further on; until then only.
        self._asked: dict[str, set[int]] = {each.token: set() for each in self._all if each.token is not None}

    def _add(self, seq: int, note: Mapping[str, Any], taken: int) -> None:
        self._all.append(Exclusion(seq, **note["exclude"]))
        self._before[seq], self.taken[seq] = int(note["asked"]), taken
        if "wanted" in note:
            self._fulfilled[note["wanted"]] = seq, note["held"]

    def taken_for(self, wanted: int) -> int:
        """Return how many outcomes were taken out because of the event that wanted it, with those held then."""
        seq, held = self._fulfilled[wanted]
        return self.taken[seq] + held

    def written(self, pretended: int, seq: int, note: Mapping[str, Any]) -> int:
        """Let the last exclusion, which was only `pretended` so far, be event `seq`; return how many it takes out."""
        self._all.pop()
        self._add(seq, note, self.taken.pop(pretended))
        return self.taken[seq]

    def __iter__(self) -> Iterator[Exclusion]:
        return iter(self._all)

    def known(self, seq: int) -> bool:
        """Return whether the exclusion at an event was known when the journal began to be read."""
        return seq in self.taken

    def after(self, seq: int) -> bool:
        """Return whether there is an exclusion behind an event."""
        return any(exclusion.seq > seq for exclusion in self._all)

    def follow(self, events: Events, seq: int) -> None:
        """Note who asked, of events behind event `seq`, as far as an exclusion further on wants to know."""
        if not self._asked:
            return
        still = {exclusion.token for exclusion in self._all if exclusion.seq > seq}
        self._asked = {token: asked for token, asked in self._asked.items() if token in still}
        each = zip(events.heads, events.texts, strict=True)
        self.remember((head[DECISION], texts.token) for head, texts in each if head[KIND] == _ASK)

    def remember(self, asked: Iterable[tuple[int, str | None]]) -> None:
        """Note who asked for decisions that are open where a journal begins to be read."""
        for decision, token in asked:
            if token is not None and token in self._asked:
                self._asked[token].add(decision)

    def hidden(self, head: Sequence[int], texts: Texts, sizes: Sequence[int]) -> list[int]:
        """Return levels whose outcomes were left out for being theirs where the one of an event counts.

        Clicks of a level that nobody counts make the others look better than it: there, they are not compared with it.
        """
        result = []
        for exclusion in self._all:
            some = [
                sum(sizes[:factor]) + level
                for factor, level in exclusion.of_factors().items()
                if factor < len(sizes) and level < sizes[factor]  # some came later
            ]
            # The level's own were voided.
            earlier = head[DECISION] < self._before.get(exclusion.seq, 0) and head[SEQ] > exclusion.after
            if some and (earlier or exclusion._replace(levels=None).fits(head, texts, self._asked_for(exclusion))):
                result += some
        return result

    def taking(self, head: Sequence[int], texts: Texts) -> int | None:
        """Return the event of the exclusion that takes out the outcome of an event; None: it counts."""
        for exclusion in self._all:
            if exclusion.fits(head, texts, self._asked_for(exclusion)):
                return exclusion.seq
        return None

    def spare(self, head: Sequence[int], texts: Texts) -> bool:
        """Return whether an outcome counts; note the exclusion that takes it out."""
        excluded = self.taking(head, texts)
        if excluded is not None:
            self.taken[excluded] += 1
        return excluded is None

    def _asked_for(self, exclusion: Exclusion) -> Container[int]:
        return self._asked.get(exclusion.token or "", ())


def check_carried_out(wanted: Mapping[int, Any]) -> None:
    """Refuse to move outcomes that somebody is about to exclude: those in archives count on."""
    if wanted:
        do = "archive once it is finished; an interrupted one is finished by the next report, or by a service"
        raise InputError("an experiment whose exclusions are carried out", "one that is not finished", do)
