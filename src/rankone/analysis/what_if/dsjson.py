"""Decisions as Vowpal Wabbit's tools log them (dsjson): JSON lines, one contextual bandit event each.

The fields are those of VW's wiki: `_label_cost` (the reward with a minus), `_label_probability`, `_label_Action` (from
1), `c` (the context, with the actions in `_multi`), `Timestamp`, and `_skipLearn` of what was never shown.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from rankone.clicks.logs.source import Oversized, Source
from rankone.errors import InputError

_LABELS = ("_label_cost", "_label_probability", "_label_Action")
_NAMES = ("_tag", "id", "name")  # of an action
CONTEXT = "context_"  # before the names of attributes, as in an export


def is_dsjson(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins as such a log does.

    >>> is_dsjson("no such file")
    False
    """
    if not Path(path).is_file():
        return False
    head = Source(Path(path)).head().lstrip()
    return head.startswith(b"{") and b'"_label_cost"' in head.partition(b"\n")[0]


def read_dsjson(path: str | os.PathLike[str]) -> pl.DataFrame:
    """Return a row for each event: `action`, `reward`, `chance`, `asked_at`, and the context's plain values.

    An action has the name that its `_tag`, `id` or `name` says, else its number. Observations that came without their
    decision, and decisions that were never shown, are left out.
    """
    rows = [row for number, line in _lines(Path(path)) if (row := _row(number, line)) is not None]
    if not rows:
        raise InputError(f"No event of a contextual bandit in {path}.", "", "slates and slots are not read")
    columns = dict.fromkeys(name for row in rows for name in row)
    return pl.DataFrame({name: pl.Series([row.get(name) for row in rows], strict=False) for name in columns})


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    for block in Source(path).blocks():
        if isinstance(block, Oversized):
            raise InputError("This line is too long to be an event:", f"in {path}", "take it out")
        yield from enumerate(block.data.splitlines(), start=block.first_line)


def _row(number: int, line: bytes) -> dict[str, Any] | None:
    if not line.strip():
        return None
    try:
        event = dict(json.loads(line).items())
        if any(name not in event for name in _LABELS) or event.get("_skipLearn"):
            return None
        cost, chance, action = (event[name] for name in _LABELS)
        context = event.get("c") or {}
        actions = context.get("_multi") or []
        named = _name(actions[action - 1]) if 0 < action <= len(actions) else None
        row = {"action": named or f"action {action}", "reward": -float(cost) + 0.0, "chance": float(chance)}
        return row | {"asked_at": event.get("Timestamp")} | dict(_attributes(context))
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"Line {number} is no event of dsjson:", str(error), "correct it, or take it out") from None


def _name(action: Any) -> str | None:
    parts = [action, *(part for part in action.values() if isinstance(part, dict))]
    return next((str(part[name]) for part in parts for name in _NAMES if name in part), None)


def _attributes(context: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in context.items():
        if name.startswith("_"):
            continue
        inner = value.items() if isinstance(value, dict) else [("", value)]
        for feature, said in inner:
            if isinstance(said, str | int | float):
                yield CONTEXT + ".".join(filter(None, (name, feature))), str(said)
