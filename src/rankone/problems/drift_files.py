"""Click rates over time in a CSV file: ``decision,row,col,rate``, a line for each rate that is new from then on."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from rankone.errors import InputError
from rankone.problems.drifting import Drifting
from rankone.problems.means import Means

COLUMNS = ("decision", "row", "col", "rate")


def drifting_from_csv(table: csv.DictReader[str], path: Path) -> Drifting | Means:
    """Return the problem of a file; a table of means where nothing ever changes."""
    missing = [column for column in COLUMNS if column not in (table.fieldnames or ())]
    if missing:
        got = f"none called {', '.join(missing)}"
        raise InputError(f"columns {', '.join(COLUMNS)} in {path}", got, "name them in the first line")
    found: dict[int, dict[tuple[str, str], float]] = {}
    for line in table:
        where = f"in line {table.line_num} of {path}"
        if None in line:
            got = f"{len(line) - 1 + len(line[None])}"
            raise InputError(f"{len(line) - 1} values {where}, as in the first line", got, "put names in quotes")
        decision, row, col, rate = ((line[column] or "").strip() for column in COLUMNS)
        if not (decision.isascii() and decision.isdigit()):
            raise InputError(f"a decision as a whole number from 0 on {where}", f"'{decision}'", "try 5000")
        if found and int(decision) < max(found):
            expected = f"a decision that is not before that of the line above, {where}"
            raise InputError(expected, f"'{decision}'", "sort the lines by decision")
        if not row or not col:
            raise InputError(f"a name of the row and of the column {where}", f"'{row}' and '{col}'", "fill it in")
        segment, pair = found.setdefault(int(decision), {}), (row, col)
        if pair in segment:
            got = f"two, for {row} + {col} from decision {decision} on"
            raise InputError(f"one rate of a pair at a time, {where}", got, "take one of them away")
        segment[pair] = _rate(rate, where)
    return _problem(found, path)


def _rate(text: str, where: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = float("nan")
    if not 0.0 <= rate <= 1.0:  # written so that NaN is wrong too
        raise InputError(f"a click rate in [0, 1] {where}", f"'{text}'", "try 0.25")
    return rate


def _problem(found: dict[int, dict[tuple[str, str], float]], path: Path) -> Drifting | Means:
    pairs = [pair for segment in found.values() for pair in segment]
    rows, cols = (list(dict.fromkeys(pair[side] for pair in pairs)) for side in (0, 1))
    first = min(found, default=-1)
    absent = [f"{row} + {col}" for row in rows for col in cols if (row, col) not in found.get(0, {})]
    if first != 0 or absent:
        got = f"none for {absent[0]}" if absent and first == 0 else "no line for decision 0"
        raise InputError(f"a rate of every pair from decision 0 on in {path}", got, "add a line for it")
    rates, made = np.zeros((len(rows), len(cols))), []
    for decision, segment in found.items():
        for (row, col), rate in segment.items():
            rates[rows.index(row), cols.index(col)] = rate
        made.append((decision, Means(rates, row_names=rows, col_names=cols, name=path.stem)))
    return Drifting(made[0][1], made[1:], name=path.stem) if len(made) > 1 else made[0][1]
