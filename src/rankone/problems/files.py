"""Problems in files: JSON (one problem, or several by name) and CSV (one problem).

* CSV: a header ``side,name,probability`` and a line for each row and column; `side` is ``row`` or ``col``. Of any
  number of factors: a header ``factor,level,probability`` and a line for each level.
* CSV of a problem that changes: a header ``decision,row,col,rate``; from that decision on (the first is 0) the pair is
  clicked at that rate. Pairs that a decision does not name stay as they are (`rankone.Drifting`).
* JSON, one problem: the values of `RankOne.to_dict`; only ``rows`` and ``cols`` must be there. Of any number of
  factors: those of `Product.to_dict`; only ``factors`` must be there.
* JSON, one problem of another kind (`rankone.lists`): the values of its `to_dict`, and its ``kind``.
* JSON, several: ``{"format": "rankone-problems", "version": 1, "problems": [{"name": ..., "rows": ..., ...}, ...]}``.
  One of them is meant by ``file.json#NAME``.

Keys and columns that are not named here are left alone, so that a model can keep what else it knows in the same file.
"""

from __future__ import annotations

import csv
import difflib
import inspect
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankone.errors import InputError
from rankone.problems.base import Problem, kind_of, problem_from_dict, problem_to_dict
from rankone.problems.drifting import Drifting
from rankone.problems.means import Means
from rankone.problems.product import Product
from rankone.problems.product_input import check_distinct
from rankone.problems.rank_one import RankOne
from rankone.writing import write_file

FORMAT, VERSION = "rankone-problems", 1
_COLUMNS, _FACTOR_COLUMNS = ("side", "name", "probability"), ("factor", "level", "probability")
_SUFFIXES = (".csv", ".json")
_KEYS = ("name", "rows", "cols", "row_names", "col_names")


def is_problem_file(spec: str | Path) -> bool:
    """Whether the text reads like a file of problems (whether it exists or not)."""
    return _split(spec)[0].suffix.lower() in _SUFFIXES


def load_problem(spec: str | Path) -> Any:
    """Return the problem of a CSV or JSON file, or of ``file.json#NAME``.

    A file of several problems needs the ``#NAME``. A problem without a name of its own is called like the file.
    """
    path, name = _split(spec)
    found = load_problems(path)
    names = [problem.name for problem in found]
    if name is None and len(found) == 1:
        return found[0]
    if name is None:
        raise InputError(
            f"one of the {len(found)} problems of {path}", "no name", f"try {path}#{names[0]}; {_some(names)}"
        )
    if name not in names:
        near = difflib.get_close_matches(name, names, n=5, cutoff=0.4)
        hint = f"did you mean {', '.join(near)}?" if near else _some(names)
        raise InputError(f"a problem of {path}", f"the name '{name}'", hint)
    return found[names.index(name)]


def load_problems(path: str | Path) -> list[Any]:
    """Return every problem of a CSV or JSON file, in the order of the file."""
    path = Path(path)
    text = _read(path)
    if _suffix(path) == ".csv":
        return [_from_csv(text, path)]
    try:
        content = json.loads(text)
    except ValueError as error:
        raise InputError(f"JSON in {path}", str(error), "see `rankone problems` for the format") from None
    if isinstance(content, dict) and "problems" in content:
        return _from_collection(content, path)
    return [_from_values(content, path.stem, str(path))]


def save_problem(problem: Problem, path: str | Path) -> None:
    """Write one problem to a CSV or JSON file (a CSV file has no place for the problem's own name)."""
    path = Path(path)
    if _suffix(path) == ".json":
        _write_json(path, problem_to_dict(problem))
        return
    out = io.StringIO(newline="")
    table = csv.writer(out, lineterminator="\n")
    if not isinstance(problem, Product) or not problem.is_plain:
        raise InputError("a rank-1 problem or a plain product in a CSV file", problem, "write a .json file")
    table.writerow(_COLUMNS if isinstance(problem, RankOne) else _FACTOR_COLUMNS)
    for factor, parts in problem.factors.items():
        levels = zip(problem.level_names[factor], parts.tolist(), strict=True)
        table.writerows((factor, level, repr(part)) for level, part in levels)
    write_file(path, out.getvalue())


def save_problems(
    problems: Iterable[Problem],
    path: str | Path,
    *,
    extra: Mapping[str, Any] | None = None,
    each: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """Write several problems to one JSON file; each is found again by ``path#NAME``.

    Args:
        problems: the problems, with distinct names.
        path: a file name that ends in ``.json``.
        extra: more keys for the file (what model it is, what it was fitted on).
        each: more keys for each problem, in the same order.
    """
    path, found = Path(path), list(problems)
    if _suffix(path) != ".json":
        raise InputError("a .json file for several problems", str(path), f"write {path.with_suffix('.json')}")
    check_distinct(f"problem names in {path}", [problem.name for problem in found])
    more = list(each) if each is not None else [{}] * len(found)
    if len(more) != len(found):
        raise InputError(
            f"{len(found)} sets of keys in each=, one per problem", len(more), "leave each= out, or give all"
        )
    entries = [dict(keys) | problem_to_dict(problem) for keys, problem in zip(more, found, strict=True)]
    _write_json(path, {"format": FORMAT, "version": VERSION} | dict(extra or {}) | {"problems": entries})


def _split(spec: str | Path) -> tuple[Path, str | None]:
    head, mark, name = str(spec).partition(".json#")
    return (Path(head + ".json"), name) if mark else (Path(spec), None)


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        example = path.with_suffix(".json") if path.name else "problem.json"
        raise InputError("a file name that ends in .csv or .json", str(path), f"try {example}")
    return suffix


def _read(path: Path) -> str:
    _suffix(path)
    try:
        return path.read_text(encoding="utf-8-sig")  # spreadsheets put a byte order mark first
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise InputError(f"a file {path} that can be read", str(reason).lower(), "check the path") from None


def _product_from_csv(table: csv.DictReader[str], path: Path) -> Product:
    factors: dict[str, list[float]] = {}
    names: dict[str, list[str]] = {}
    for line in table:
        factor, level, probability = ((line[column] or "").strip() for column in _FACTOR_COLUMNS)
        try:
            factors.setdefault(factor, []).append(float(probability))
        except ValueError:
            where = f"in line {table.line_num} of {path}"
            raise InputError(f"a number as the probability {where}", f"'{probability}'", "try 0.25") from None
        names.setdefault(factor, []).append(level)
    try:
        return Product(factors, level_names=names, name=path.stem)
    except InputError as error:
        raise InputError(f"{error.expected} in {path}", error.got, error.do) from None


def _from_csv(text: str, path: Path) -> Problem:
    table = csv.DictReader(io.StringIO(text))
    named = set(table.fieldnames or ())
    if "decision" in named or ("rate" in named and not named & {"side", "factor"}):
        from rankone.problems.files import drifting_from_csv

        return drifting_from_csv(table, path)
    if {"factor", "level"} <= named:
        return _product_from_csv(table, path)
    missing = [column for column in _COLUMNS if column not in named]
    if missing:
        others = "; for levels of factors: factor, level, probability; for rates over time: decision, row, col, rate"
        raise InputError(
            f"columns {', '.join(_COLUMNS)} in {path}",
            f"none called {', '.join(missing)}",
            f"name them in the first line, with commas between them{others}",
        )
    names: dict[str, list[str]] = {"row": [], "col": []}
    values: dict[str, list[float]] = {"row": [], "col": []}
    for line in table:
        side, name, probability = ((line[column] or "").strip() for column in _COLUMNS)  # short lines give None
        where = f"in line {table.line_num} of {path}"
        if side not in names:
            raise InputError(f"row or col as the side {where}", f"'{side}'", "write row or col")
        try:
            values[side].append(float(probability))
        except ValueError:
            raise InputError(f"a number as the probability {where}", f"'{probability}'", "try 0.25") from None
        names[side].append(name)
    return _from_values(
        {"rows": values["row"], "cols": values["col"], "row_names": names["row"], "col_names": names["col"]},
        path.stem,
        str(path),
    )


def _from_collection(content: dict[str, Any], path: Path) -> list[Any]:
    if content.get("format", FORMAT) != FORMAT or content.get("version", VERSION) != VERSION:
        got = f"format {content.get('format')!r}, version {content.get('version')!r}"
        raise InputError(
            f"format '{FORMAT}', version {VERSION} in {path}", got, "write it with rankone.problems.save_problems"
        )
    entries = content["problems"]
    if not isinstance(entries, list) or not entries:
        raise InputError(f"a list of at least one problem in {path}", entries, "see `rankone problems` for the format")
    result = [_from_values(entry, None, f"problem {index + 1} of {path}") for index, entry in enumerate(entries)]
    check_distinct(f"problem names in {path}", [problem.name for problem in result])
    return result


def _from_values(values: Any, default_name: str | None, where: str) -> Any:
    if isinstance(values, dict) and "factors" in values:
        values = {"kind": Product.kind} | values
    if isinstance(values, dict) and values.get("kind", RankOne.kind) != RankOne.kind:
        return _of_its_kind({"name": default_name} | values, where)
    if not isinstance(values, dict) or "rows" not in values or "cols" not in values:
        got = f"the keys {', '.join(map(str, values))}" if isinstance(values, dict) else type(values).__name__
        do = 'try {"rows": [0.9, 0.5], "cols": [0.8, 0.3]}'
        raise InputError(f"rows and cols, or factors, in {where}", got, do)
    known = {key: _with_texts(key, values[key]) for key in _KEYS if values.get(key) is not None}
    try:
        return RankOne(**({"name": default_name} | known))
    except InputError as error:
        raise InputError(f"{error.expected} in {where}", error.got, error.do) from None


def _of_its_kind(values: dict[str, Any], where: str) -> Problem:
    """Return a problem that says which kind it is of; keys that its class does not take are left alone."""
    taken = inspect.signature(kind_of(values["kind"])).parameters
    try:
        return problem_from_dict({key: value for key, value in values.items() if key == "kind" or key in taken})
    except (InputError, TypeError) as error:
        told = error if isinstance(error, InputError) else InputError("its values", error, "see its class")
        raise InputError(f"{told.expected} in {where}", told.got, told.do) from None


def _with_texts(key: str, value: Any) -> Any:
    """Return names as texts: in a file, a number may be a name."""
    if key.endswith("_names") and isinstance(value, list):
        return [str(name) for name in value]
    return str(value) if key == "name" else value


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:8])
    return f"the names are {shown}" if len(names) <= 8 else f"the names begin with {shown}"


def _write_json(path: Path, content: dict[str, Any]) -> None:
    write_file(path, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


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
