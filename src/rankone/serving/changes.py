"""What an operator changes in an experiment: which events a stop, an exclusion or another row adds to its journal.

What visitors ask and tell is in `rankone.serving.planner`. Here as there the fold is read and never changed.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Sequence
from typing import Any

from rankone.errors import InputError
from rankone.serving.exclusions import Exclusion
from rankone.serving.fold import Fold
from rankone.serving.journal import BY_OPERATOR, Draft, Kind, Texts
from rankone.serving.make_report import make_report
from rankone.serving.settings import Levels, checked_pairs
from rankone.specs import did_you_mean


def draft_stop(fold: Fold, draft: Draft, row: str | None, col: str | None, why: str) -> tuple[str, str]:
    """Draft a stop on a pair, None: on what leads; return the names of the pair."""
    if fold.learned == 0 and (row is None or col is None):
        raise InputError("outcomes that tell which pair leads", "none yet", "name the pair: stop(row, col)")
    report = make_report(fold)
    pair = {
        "row": _living(fold.rows, "row", report.best_row if row is None else row),
        "col": _living(fold.cols, "column", report.best_col if col is None else col),
    }
    draft.add(Kind.STOP, -1, texts=Texts(note=json.dumps(pair | {"why": why})))
    return fold.rows.names[pair["row"]], fold.cols.names[pair["col"]]


def draft_resume(fold: Fold, draft: Draft) -> None:
    """Draft the end of a stop."""
    if fold.stopped is None:
        raise InputError("an experiment that is stopped", "one that runs", "nothing is to be done")
    draft.add(Kind.ERA, -1, texts=Texts(note=fold.era_note("resumed", fold.rows, fold.cols, stopped=None)))


def draft_exclusion(
    fold: Fold,
    draft: Draft,
    *,
    source: str | None,
    token: str | None,
    row: str | None,
    col: str | None,
    first: int | None,
    last: int | None,
    why: str,
    prior: bool = False,
) -> int:
    """Draft the exclusion of outcomes that fit everything given, and voids of those that are held; return how many are.

    `first` and `last` are the numbers of decisions.
    """
    fits: dict[str, Any] = {
        "source": source,
        "token": token,
        "first": first,
        "last": last,
        "row": None if row is None else _among(fold.rows.names, "row", row),
        "col": None if col is None else _among(fold.cols.names, "column", col),
    }
    fits = {what: value for what, value in fits.items() if value is not None}
    if prior and not fold.prior.any():
        raise InputError("an experiment that began with past counts", "one that did not", "leave prior out")
    if not fits and not prior:
        raise InputError(
            "something that tells which outcomes to exclude",
            "nothing",
            "name a source, a token, a row, a column or a time (since, until)",
        )
    if not fits:
        note = fold.era_note(why, fold.rows, fold.cols, forget=True, prior=False)
        draft.add(Kind.ERA, -1, texts=Texts(note=note))
        return 0
    # Told, but their windows are still open: they will not be learned either.
    exclusion = Exclusion(2**62, **fits)
    held = [number for number in fold.held if fold.held_fits(number, exclusion)]
    draft_voids(fold, draft, held)
    if (
        source is None and token is None
    ):  # nor those of a level that nobody has told yet: silence would count against it
        draft_voids(fold, draft, [number for number in _open_of(fold, exclusion) if number not in fold.held])
    forgotten = {"prior": False} if prior else {}
    note = fold.era_note(why, fold.rows, fold.cols, forget=True, exclude=fits, asked=fold.decisions, **forgotten)
    draft.add(Kind.ERA, -1, texts=Texts(note=note))
    return len(held)


def _open_of(fold: Fold, exclusion: Exclusion) -> list[int]:
    """Return the open decisions of the row or the column that an exclusion names."""
    row, col = exclusion.row, exclusion.col
    if row is None and col is None:
        return []
    return [
        number
        for number, opened in fold.open.items()
        if row in (None, opened.row) and col in (None, opened.col) and exclusion.first <= number <= exclusion.last
    ]


def draft_voids(fold: Fold, draft: Draft, numbers: Iterable[int]) -> None:
    """Draft the end of open decisions, of which nothing is learned."""
    for number in numbers:
        draft.add(Kind.VOID, number, fold.open[number].pair, BY_OPERATOR)


def draft_levels(fold: Fold, draft: Draft, side: str, name: str, add: bool) -> int:
    """Draft a row or column (`side`) more or less; return its number."""
    levels = {"row": copy.deepcopy(fold.rows), "col": copy.deepcopy(fold.cols)}
    if not add and name in (fold.settings.control or ())[side == "col" :][:1]:
        word = "row" if side == "row" else "column"
        raise InputError(f"a {word} that is not the control's", name, "the control keeps its share; retire another")
    number = _changed(levels[side], side, name, add)
    checked_pairs(len(levels["row"].names), len(levels["col"].names))
    why = f"{side} '{name}' {'added' if add else 'retired'}"
    draft.add(Kind.ERA, -1, texts=Texts(note=fold.era_note(why, levels["row"], levels["col"])))
    return number


def _among(names: Sequence[str], side: str, name: str) -> int:
    if name not in names:
        do = did_you_mean(name, names, f"name a {side} that is there")
        raise InputError(f"one of the {side}s {', '.join(names)}", f"{side} '{name}'", do)
    return names.index(name)


def _living(levels: Levels, side: str, name: str) -> int:
    _among(levels.names_living(), side, name)
    return levels.names.index(name)


def _changed(levels: Levels, side: str, name: str, add: bool) -> int:
    """Add or retire a level; return its number. A retired name may come back, under its old number."""
    side = "column" if side == "col" else side
    if name not in levels.names:
        if not add:
            raise InputError(f"one of the {side}s {', '.join(levels.names_living())}", name, "retire one of these")
        levels.names.append(name)
        levels.live.append(True)
        return len(levels.names) - 1
    number = levels.names.index(name)
    if levels.live[number] is add:
        raise InputError(
            f"a {side} that is {'not there yet' if add else 'still there'}",
            name,
            "see report() for those there are",
        )
    if not add and sum(levels.live) == 1:
        raise InputError(
            f"at least one {side} to remain", f"'{name}', the last one", f"add another {side} first, or stop()"
        )
    levels.live[number] = add
    return number
