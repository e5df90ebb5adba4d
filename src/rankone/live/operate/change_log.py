"""Who has changed what in an experiment, and when: the rare events of its journal, in words."""

from typing import Any

from rankone.live.factors import Factors
from rankone.live.journal.events import AT, KIND, SEQ, Kind, of_rows
from rankone.live.messages import Change
from rankone.live.settings import Settings
from rankone.live.storage import Storage
from rankone.wording.combinations import combination_text


def changes_of(storage: Storage, number: int) -> list[Change]:
    """Return the changes of an experiment, oldest first.

    Whoever tells others what happens (a page, a webhook) asks here; `seq` says what is new.
    """
    marks, result = of_rows(storage.marks(number)), []
    factors = Factors({})
    for numbers, texts in zip(marks.heads, marks.texts, strict=True):
        note, kind = texts.details(), Kind(numbers[KIND])
        if kind is Kind.CREATE:
            factors = Factors.new(Settings.of_note(note).levels)
        elif kind is Kind.ERA:
            factors = Factors.of_note(note)
        what, seq, at = _what(kind, note, factors), numbers[SEQ], numbers[AT] / 1e6
        result.append(Change(seq, at, what, texts.token, _kind(kind, note)))
    return result


def _what(kind: Kind, note: dict[str, Any], factors: Factors) -> str:
    if kind is Kind.CREATE:
        return "created"
    if kind is Kind.ARCHIVE:
        return f"events up to {note['upto']:,} archived in {note['file']}"
    if kind is Kind.EXCLUDE:
        return f"to be excluded: {note['why']}"
    if kind is Kind.STOP:
        levels = note["levels"]
        if len(factors) == 1 and len(levels) != 1:
            names = next(iter(factors.values())).names
            return f"stopped on {', '.join(names[item] for item in levels)}: {note['why']}"
        return f"stopped on {combination_text(factors.named(levels))}: {note['why']}"
    return str(note["why"])


def _kind(kind: Kind, note: dict[str, Any]) -> str:
    if kind is Kind.GUARD:
        return f"guardrail {note['status']}"
    return ("alarm" if "alarm" in note else "change") if kind is Kind.ERA else kind.name.lower()
