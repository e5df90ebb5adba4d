"""Outcomes that no longer count: which ones an exclusion takes out of the fold of a journal."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rankone.errors import InputError
from rankone.live.journal.events import DECISION, KIND, SEQ, Events, Kind
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

    def among(self, numbers: Any) -> Any:
        """Return for each event whether the exclusion can speak of it at all."""
        return (numbers[:, SEQ] < self.seq) & (numbers[:, SEQ] > self.after)

    def fits(self, events: Events, asked: set[int]) -> Any:
        """Return for each event whether its outcome is excluded; `asked` are the decisions that its token asked for."""
        numbers = events.numbers
        fits = self.among(numbers) & (numbers[:, DECISION] >= self.first) & (numbers[:, DECISION] <= self.last)
        for factor, level in self.of_factors().items():
            cells, wanted = slice(2 * factor, 2 * factor + 2), pack_shown([level])
            fits &= np.array([((texts.shown or b"")[cells] or _FIRST) == wanted for texts in events.texts], bool)
        if self.source is not None:
            fits &= np.array([texts.source == self.source for texts in events.texts], bool)
        if self.token is not None:
            decisions = zip(numbers[:, DECISION].tolist(), events.texts, strict=True)
            fits &= np.array([number in asked or texts.token == self.token for number, texts in decisions], bool)
        return fits


class Exclusions:
    """The exclusions of a journal, all known before it is read, and what they take out of it as it is."""

    def __init__(self, marks: Events) -> None:
        self._all: list[Exclusion] = []
        # Decisions that had been asked by then: open ones of the level that an exclusion names were voided.
        self._before: dict[int, int] = {}
        self.taken: dict[int, int] = {}  # outcomes that each takes out
        self._fulfilled: dict[int, tuple[int, int]] = {}  # by the event that wanted it: which did, and outcomes held
        for index in np.flatnonzero(marks.numbers[:, KIND] == _ERA).tolist():
            note = marks.texts[index].details()
            if "exclude" in note:
                self._add(int(marks.numbers[index, SEQ]), note, 0)
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
        for index in np.flatnonzero(events.numbers[:, KIND] == _ASK).tolist() if self._asked else ():
            token = events.texts[index].token
            if token is not None and token in self._asked:
                self._asked[token].add(int(events.numbers[index, DECISION]))

    def remember(self, asked: Iterable[tuple[int, str | None]]) -> None:
        """Note who asked for decisions that are open where a journal begins to be read."""
        for decision, token in asked:
            if token is not None and token in self._asked:
                self._asked[token].add(decision)

    def hidden(self, events: Events, counted: Any, sizes: Sequence[int]) -> Any:
        """Return, for each of the events that count, levels whose outcomes were left out for being theirs.

        Clicks of a level that nobody counts make the others look better than it: there, they are not compared with it.
        None: there are no such levels.
        """
        result = None
        for exclusion in self._all:
            some = [
                sum(sizes[:factor]) + level
                for factor, level in exclusion.of_factors().items()
                if factor < len(sizes) and level < sizes[factor]  # some came later
            ]
            if some and len(events):
                others = exclusion._replace(levels=None)
                fits = others.fits(events, self._asked.get(exclusion.token or "", set()))
                earlier = events.numbers[:, DECISION] < self._before.get(exclusion.seq, 0)  # the level's were voided
                fits |= earlier & (events.numbers[:, SEQ] > exclusion.after)
                fits = fits[counted]
                result = np.zeros((int(counted.sum()), sum(sizes)), bool) if result is None else result
                result[np.ix_(fits, some)] = True
        return result

    def sift(self, events: Events, counted: Any) -> tuple[Any, dict[int, int]]:
        """Return which of the `counted` events still count, and how many each exclusion takes out."""
        taken = {}
        for exclusion in self._all:
            if len(events) and events.numbers[0, SEQ] < exclusion.seq:
                out = counted & exclusion.fits(events, self._asked.get(exclusion.token or "", set()))
                taken[exclusion.seq] = int(np.count_nonzero(out))
                counted = counted & ~out
        return counted, taken


def check_carried_out(wanted: Mapping[int, Any]) -> None:
    """Refuse to move outcomes that somebody is about to exclude: those in archives count on."""
    if wanted:
        do = "archive once it is finished; an interrupted one is finished by the next report, or by a service"
        raise InputError("an experiment whose exclusions are carried out", "one that is not finished", do)
