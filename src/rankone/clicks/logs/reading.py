"""Reading a click log: which files, which format, how strictly, what to hold out; or its rows as they are."""

import codecs
import contextlib
import inspect
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from rankone.clicks.counts.counts import Counts, position_number
from rankone.clicks.formats.base import FORMATS, Format
from rankone.clicks.formats.table import Table
from rankone.clicks.logs.collector import Collector, Progress, Rules
from rankone.clicks.logs.delimited import guessed_separator
from rankone.clicks.logs.long_tables import find_columns
from rankone.clicks.logs.source import PARQUET, Paths, Source, find_files
from rankone.errors import InputError
from rankone.progress import as_progress
from rankone.specs import number_in


def read(
    paths: Paths,
    format: str | None = None,
    *,
    positions: int | None = None,
    strict: bool = False,
    max_bad: float = 0.01,
    quarantine: str | os.PathLike[str] | None = None,
    tails: bool = False,
    progress: Progress | bool | None = None,
    **options: Any,
) -> Counts:
    """Read a click log into counts, in memory that follows the number of distinct cells and not the log's length.

    Args:
        paths: a file, a glob, or several of them; plain, gzip or zstd.
        format: name of the format; recognised by default. A file that does not look like it is refused.
        positions: how many positions of a result list count, longer lists are cut; by default all of a table, and 10 of
            a log of sessions.
        strict: stop at the first row that cannot be read.
        max_bad: stop when a larger share of the rows cannot be read.
        quarantine: file that takes the rows that cannot be read, with line and reason.
        tails: count what stands below the last click of lists too, as the likelihoods of DCM, SDBN, DBN and CCM need.
        progress: True for a bar, or a function, called with bytes done, bytes in all, rows so far.
        **options: options of the format, such as ``regions="merge"`` (yandex-rpc) or ``query="q"`` (table).

    >>> import pathlib, tempfile
    >>> log = pathlib.Path(tempfile.mkdtemp(), "log.tsv")
    >>> _ = log.write_text("7\\t0\\tQ\\t15\\t2\\t101\\t102\\n7\\t9\\tC\\t102\\n")
    >>> read(log).cells.rows()
    [('15_2', '101', 1, 1, 0), ('15_2', '102', 2, 1, 1)]
    """
    rules = Rules(positions, strict, max_bad, quarantine, tails=tails)
    return _read(paths, format, rules, progress, options).counts()


def read_split(
    paths: Paths,
    format: str | None = None,
    *,
    holdout: float = 0.25,
    holdout_lists: int = 200_000,
    seed: int = 0,
    positions: int | None = None,
    strict: bool = False,
    max_bad: float = 0.01,
    quarantine: str | os.PathLike[str] | None = None,
    tails: bool = True,
    progress: Progress | bool | None = None,
    **options: Any,
) -> tuple[Counts, pl.DataFrame]:
    """Read a log once into counts to fit on and a long table of held-out lists to evaluate on.

    Whole sessions are held out, chosen by a hash, until `holdout_lists` lists are held out; so memory stays bounded.
    """
    number_in("holdout", holdout, "(0, 1)", example=0.25)
    rules = Rules(positions, strict, max_bad, quarantine, holdout, holdout_lists, seed, tails)
    collector = _read(paths, format, rules, progress, options)
    if not collector.held_out:
        do = "use a longer log or a larger holdout, and name the lists of a table"
        raise InputError("lists to hold out", "none", do)
    counts, lists = collector.counts(), pl.concat(collector.held_out)
    if counts.position_names:
        lists = lists.with_columns(position_number(counts.position_names)).drop_nulls("position")
    return counts, lists


def read_lists(
    paths: Paths,
    format: str | None = None,
    *,
    positions: int | None = None,
    strict: bool = False,
    max_bad: float = 0.01,
    progress: Progress | bool | None = None,
    **options: Any,
) -> pl.DataFrame:
    """Read a log as a long table in memory, one row per impression: list, query, item, position, clicked.

    The arguments are those of `read`; what `count` and `propensities` do with dataframes can then be done with any log.

    >>> import pathlib, tempfile
    >>> log = pathlib.Path(tempfile.mkdtemp(), "log.tsv")
    >>> _ = log.write_text("7\\t0\\tQ\\t15\\t2\\t101\\t102\\n7\\t9\\tC\\t102\\n")
    >>> read_lists(log).rows()
    [(0, '15_2', '101', 1, 0), (0, '15_2', '102', 2, 1)]
    """
    everything = Rules(positions, strict, max_bad, holdout=1.0, holdout_lists=2**62)
    collector = _read(paths, format, everything, progress, options)
    if not collector.held_out:
        raise InputError("at least one result list or impression", "none in the log", "check the file and format")
    return pl.concat(collector.held_out)


def format_of(paths: Paths, format: str | None = None) -> type[Format]:
    """Return the one format that all files of a log have."""
    return _format_of([Source(path) for path in find_files(paths)], format)


def _read(
    paths: Paths, format: str | None, rules: Rules, progress: Progress | bool | None, options: dict[str, Any]
) -> Collector:
    sources = [Source(path) for path in find_files(paths)]
    kind = _format_of(sources, format)
    _check_options(options, [*inspect.signature(kind).parameters], kind.name)
    reader = kind(**options)
    if rules.quarantine is not None and Path(rules.quarantine).is_file():  # of an earlier reading
        if any(source.path.samefile(rules.quarantine) for source in sources):
            got = f"{rules.quarantine}, the log itself"
            raise InputError("a quarantine file of its own", got, "name another file")
        Path(rules.quarantine).unlink()
    collector = Collector(rules, sum(source.total_bytes for source in sources), as_progress(progress, "bytes"))
    collector.report.format = kind.name
    with contextlib.closing(collector):
        for source in sources:
            collector.begin(source)
            reader.read(source, collector)
            collector.end(source)
        reader.finish(collector)
        collector.judge(at_end=True)
    return collector


def _format_of(sources: list[Source], name: str | None) -> type[Format]:
    """Find the one format that all files have; refuse a file that looks like another one."""
    wanted = FORMATS.get(name) if name is not None else None
    for source in sources:
        head = source.head()
        if not head.strip():
            continue
        seen = [kind for kind in FORMATS.known().values() if kind.recognises(head)]
        seen.sort(key=lambda kind: (kind is Table, -len(kind.__mro__)))  # any table last, special kinds of it before
        if wanted is None and seen:
            wanted = seen[0]
        if wanted is None or not wanted.recognises(head):
            expected = f"the format {wanted.name}" if wanted else f"one of {', '.join(FORMATS.known())}"
            looks = f"{source.path.name}, which looks like {seen[0].name if seen else 'none'}"
            raise InputError(f"a log in {expected}", looks, _remedy(head))
    if wanted is None:
        raise InputError("at least one result list or impression", "nothing but empty files", "check the path")
    return wanted


def _remedy(head: bytes) -> str:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "save it in UTF-8 (it is in UTF-16)"
    if head.startswith(b"#"):
        return "delete the lines above its header (# ...)"
    return "name the right format, or convert it to a table with a header"


def _check_options(options: dict[str, Any], known: Sequence[str], whose: str) -> None:
    for name in options:
        if name not in known:
            expected = ", ".join(known) or "no options"
            raise InputError(f"{expected} as options of {whose}", name, "leave it out or correct it")


_OPTIONS = ("query", "item", "position", "clicked", "separator")


class LogRows(NamedTuple):
    """One row per impression, and which column holds what (item, position, clicked and, if there is one, query)."""

    frame: pl.LazyFrame
    columns: dict[str, str]


def log_rows(paths: Paths, format: str | None = None, *, positions: int | None = None, **options: Any) -> LogRows:
    """Return the rows of a log; the options are those of its format, and of lists that are no table so many positions.

    >>> import pathlib, tempfile
    >>> log = pathlib.Path(tempfile.mkdtemp(), "log.csv")
    >>> _ = log.write_text("doc,position,clicked,price\\na,1,0,9.5\\n")
    >>> log_rows(log, item="doc").columns
    {'item': 'doc', 'position': 'position', 'clicked': 'clicked'}
    """
    if format_of(paths, format) is not Table:
        return LogRows(
            read_lists(paths, format, positions=positions, **options).lazy(),
            {"query": "query", "item": "item", "position": "position", "clicked": "clicked"},
        )
    _check_options(options, _OPTIONS, "a table's rows")
    frame = _scan(paths, options.get("separator"))
    header = frame.collect_schema().names()
    lower = [name.casefold() for name in header]
    if "impressions" in lower or "shown" in lower:
        got = "an aggregated log, whose rows are counts"
        raise InputError("a table with one row per impression", got, "weigh the rows that were counted")
    named = {"query": None, "item": "item", "position": "position", "clicked": "clicked"}
    return LogRows(frame, find_columns(header, {what: options.get(what, usual) for what, usual in named.items()}))


def _scan(paths: Paths, separator: str | None) -> pl.LazyFrame:
    files = find_files(paths)
    heads = [Source(file).head() for file in files]
    try:
        if all(head.startswith(PARQUET) for head in heads):
            frame = pl.scan_parquet(files)
        else:
            guessed = guessed_separator(heads[0].split(b"\n", 1)[0].rstrip(b"\r"))
            frame = pl.scan_csv(files, separator={"tab": "\t"}.get(separator or "", separator) or guessed)
        frame.collect_schema()
    except pl.exceptions.PolarsError as error:
        got = str(error).partition("\n")[0]
        raise InputError(f"{files[0].name} as a table", got, "write it as Parquet, or correct it") from None
    return frame
