"""Problems in files: JSON (one problem, or several by name) and CSV (one problem).

* CSV: a header ``factor,level,probability`` and a line for each level. The factors ``row`` and ``col`` are a `RankOne`.
* JSON, one problem: the values of its `to_dict`, and its ``kind``. Only ``rows`` and ``cols``, or ``factors``, must be
  there, and need no kind.
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

from rankone.errors import InputError, naming
from rankone.problems.base import RANK_ONE, Problem, kind_of, problem_from_dict, problem_to_dict
from rankone.problems.product import Product
from rankone.problems.rank_one import RankOne
from rankone.specs import distinct
from rankone.writing import write_file

FORMAT, VERSION = "rankone-problems", 1
_COLUMNS = ("factor", "level", "probability")
_SUFFIXES = (".csv", ".json")


def is_problem_file(spec: str | Path) -> bool:
    """Whether the text reads like a file of problems (whether it exists or not)."""
    return _split(spec)[0].suffix.lower() in _SUFFIXES


def load_problem(spec: str | Path) -> Any:
    """Return the problem of a CSV or JSON file, or of ``file.json#NAME``.

    A file of several problems needs the ``#NAME``. A problem without a name of its own is called like the file.
    """
    path, name = _split(spec)
    problems = {problem.name: problem for problem in load_problems(path)}
    names = list(problems)
    if name in problems:
        return problems[name]
    if name is None and len(names) == 1:
        return problems[names[0]]
    some = f"the names {'are' if len(names) <= 8 else 'begin with'} {', '.join(names[:8])}"
    if name is None:
        raise InputError(f"one of the {len(names)} problems of {path}", "no name", f"try {path}#{names[0]}; {some}")
    near = difflib.get_close_matches(name, names, n=5, cutoff=0.4)
    raise InputError(f"a problem of {path}", f"the name '{name}'", f"did you mean {', '.join(near)}?" if near else some)


def load_problems(path: str | Path) -> list[Any]:
    """Return every problem of a CSV or JSON file, in the order of the file."""
    path = Path(path)
    suffix = _suffix(path)
    try:
        text = path.read_text(encoding="utf-8-sig")  # spreadsheets put a byte order mark first
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        if isinstance(error, FileNotFoundError):
            raise InputError("No such file:", str(path), "") from None
        raise InputError(f"a file {path} that can be read", str(reason).lower(), "check the path") from None
    if suffix == ".csv":
        return [_from_csv(text, path)]
    try:
        content = json.loads(text)
    except ValueError as error:
        raise InputError(f"JSON in {path}", str(error), "see `rankone problems` for the format") from None
    if not isinstance(content, dict) or "problems" not in content:
        return [_from_values(content, path.stem, str(path))]
    entries, written = content["problems"], (content.get("format", FORMAT), content.get("version", VERSION))
    if written != (FORMAT, VERSION):
        got = f"format {content.get('format')!r}, version {content.get('version')!r}"
        do = "write it with rankone.problems.save_problems"
        raise InputError(f"format '{FORMAT}', version {VERSION} in {path}", got, do)
    if not isinstance(entries, list) or not entries:
        raise InputError(f"a list of at least one problem in {path}", entries, "see `rankone problems` for the format")
    result = [_from_values(entry, None, f"problem {index + 1} of {path}") for index, entry in enumerate(entries)]
    distinct(f"problem names in {path}", [problem.name for problem in result])
    return result


def save_problem(problem: Problem, path: str | Path) -> None:
    """Write one problem to a CSV or JSON file (a CSV file has no place for the problem's own name)."""
    path = Path(path)
    if _suffix(path) == ".json":
        _write_json(path, problem_to_dict(problem))
        return
    if not isinstance(problem, Product) or not problem.is_plain:
        raise InputError("a rank-1 problem or a plain product in a CSV file", problem, "write a .json file")
    out = io.StringIO(newline="")
    table = csv.writer(out, lineterminator="\n")
    table.writerow(_COLUMNS)
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
    path, written = Path(path), list(problems)
    if _suffix(path) != ".json":
        raise InputError("a .json file for several problems", str(path), f"write {path.with_suffix('.json')}")
    distinct(f"problem names in {path}", [problem.name for problem in written])
    more = list(each) if each is not None else [{}] * len(written)
    if len(more) != len(written):
        expected = f"{len(written)} sets of keys in each=, one per problem"
        raise InputError(expected, len(more), "leave each= out, or give all")
    entries = [dict(keys) | problem_to_dict(problem) for keys, problem in zip(more, written, strict=True)]
    _write_json(path, {"format": FORMAT, "version": VERSION} | dict(extra or {}) | {"problems": entries})


def _write_json(path: Path, content: dict[str, Any]) -> None:
    write_file(path, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def _split(spec: str | Path) -> tuple[Path, str | None]:
    head, mark, name = str(spec).partition(".json#")
    return (Path(head + ".json"), name) if mark else (Path(spec), None)


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        example = path.with_suffix(".json") if path.name else "problem.json"
        raise InputError("a file name that ends in .csv or .json", str(path), f"try {example}")
    return suffix


def _from_values(values: Any, default_name: str | None, where: str) -> Problem:
    """Return the problem of plain values; keys that its class does not take are left alone."""
    if not isinstance(values, dict) or not ("kind" in values or "factors" in values or {"rows", "cols"} <= set(values)):
        got = f"the keys {', '.join(map(str, values))}" if isinstance(values, dict) else type(values).__name__
        do = 'try {"rows": [0.9, 0.5], "cols": [0.8, 0.3]}'
        raise InputError(f"rows and cols, or factors, in {where}", got, do)
    kind = values.get("kind", Product.kind if "factors" in values else RANK_ONE)
    taken = inspect.signature(kind_of(kind)).parameters
    known = {key: _with_texts(key, value) for key, value in values.items() if key in taken and value is not None}
    with naming(where):
        try:
            return problem_from_dict({"name": default_name} | known | {"kind": kind})
        except TypeError as error:
            raise InputError("its values", error, "see its class") from None


def _with_texts(key: str, value: Any) -> Any:
    if key.endswith("_names") and isinstance(value, list):
        return [str(name) for name in value]
    return str(value) if key == "name" else value


def _from_csv(text: str, path: Path) -> Problem:
    table = csv.DictReader(io.StringIO(text))
    missing = [column for column in _COLUMNS if column not in (table.fieldnames or ())]
    if missing:
        do = "name them in the first line, with commas between them"
        raise InputError(f"columns {', '.join(_COLUMNS)} in {path}", f"none called {', '.join(missing)}", do)
    factors: dict[str, list[float]] = {}
    names: dict[str, list[str]] = {}
    for line in table:
        factor, level, probability = ((line[column] or "").strip() for column in _COLUMNS)  # short lines give None
        factors.setdefault(factor, []).append(_probability(probability, f"in line {table.line_num} of {path}"))
        names.setdefault(factor, []).append(level)
    with naming(path):
        if set(factors) != {"row", "col"}:
            return Product(factors, level_names=names, name=path.stem)
        names_of_both = {"row_names": names["row"], "col_names": names["col"]}
        return RankOne(factors["row"], factors["col"], **names_of_both, name=path.stem)


def _probability(text: str, where: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = float("nan")
    if not 0.0 <= rate <= 1.0:  # written so that NaN is wrong too
        raise InputError(f"a probability from 0 to 1 {where}", f"'{text}'", "try 0.25")
    return rate
