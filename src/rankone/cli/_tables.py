"""What commands print: tables for people, JSON for programs."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.cells import cell_len
from rich.markup import escape

if TYPE_CHECKING:
    import polars as pl


_PIPE_WIDTH = 160  # a pipe or a file has no width of its own: leave room for every column
_SENTENCE_WIDTH = 16  # sentences are wrapped, but not into columns narrower than this
SPARE = ("steps/s", "s per run", "sync points", "p95", "median")  # on a narrow terminal; the first one first


def summary_columns() -> dict[str, str]:
    """Return the columns of a study's summary; how many runs there were stands above the table."""
    from rankone.simulation.study import TITLES

    return {name: title for name, title in TITLES.items() if name != "runs"}


def print_json(content: Any) -> None:
    """Print a value for programs."""
    print(json.dumps(content, indent=1))


def show_answer(answer: Any, brief: bool, details: bool, as_json: bool) -> None:
    """Print an answer in the depth that was asked for."""
    if as_json:
        print_json(answer.to_dict())
        return
    print(answer.brief if brief else answer)
    if details and answer.details:
        print(f"\n{answer.details}")


def show_facts(facts: Sequence[Mapping[str, Any]], as_json: bool) -> None:
    """Print facts, each a dictionary with the same keys, as JSON or as a table."""
    import polars as pl

    if as_json:
        print_json(facts)
    else:
        show_table(pl.DataFrame(facts))


def utc(seconds: float) -> str:
    """Return a moment, seconds since 1970, as text."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(" ", "seconds")


def show_rows(rows: Sequence[Sequence[Any]], columns: Sequence[str], title: str | None = None) -> None:
    """Print rows as a table."""
    import polars as pl

    show_table(pl.DataFrame(rows, schema=list(columns), orient="row", infer_schema_length=None), title)


class _Column(NamedTuple):
    name: str
    numeric: bool
    cells: list[str]

    @property
    def natural(self) -> int:
        """The width that wraps nothing."""
        return max(map(cell_len, (self.name, *self.cells)))

    @property
    def least(self) -> int:
        """The width that cuts no figure and no name: only between words is there a new line."""
        words = [word for text in (self.name, *self.cells) for word in text.split()]
        longest = max(map(cell_len, words), default=1)
        return min(self.natural, max(longest, _SENTENCE_WIDTH)) if self._has_sentences else longest

    @property
    def _has_sentences(self) -> bool:
        return any(" " in cell for cell in self.cells)


def show_table(
    table: pl.DataFrame,
    title: str | None = None,
    columns: Mapping[str, str] | None = None,
    spare: Sequence[str] = (),
) -> None:
    """Print a table on standard output, numbers to the right and no longer than they need to be.

    With `columns`, only these columns are shown, under their new names. A terminal too narrow for all does without the
    columns `spare`, the first one first; what is still too wide goes on below, under the leading names again. No
    figure and no name is ever cut.
    """
    from rich.console import Console

    from rankone.notebook import cell_text

    if columns is not None:
        table = table.select(*columns).rename(dict(columns))
    all_columns = [
        _Column(name.replace("_", " "), kind.is_numeric(), [cell_text(value) for value in table[name]])
        for name, kind in table.schema.items()
    ]
    console = Console()
    room = console.width if console.is_terminal else _PIPE_WIDTH
    kept, left_out = _without_spare(all_columns, [name.replace("_", " ") for name in spare], room)
    for number, part in enumerate(_parts(kept, room)):
        _print(part, title if number == 0 else None, room)
    if left_out:
        console.print(f"Not shown, the window is too narrow: {', '.join(left_out)}.", markup=False, highlight=False)


def _needed(widths: Sequence[int]) -> int:
    """Return the width of a table: three characters between columns, one at each edge."""
    return sum(widths) + 3 * (len(widths) - 1) + 2


def _without_spare(columns: list[_Column], spare: Sequence[str], room: int) -> tuple[list[_Column], list[str]]:
    left_out: list[str] = []
    for name in spare:
        if _needed([column.least for column in columns]) <= room:
            break
        left_out += [column.name for column in columns if column.name == name]
        columns = [column for column in columns if column.name != name]
    return columns, left_out


def _parts(columns: list[_Column], room: int) -> Iterator[list[_Column]]:
    """Yield columns that fit side by side; each part begins with the names that say what its rows are."""
    names = 1
    while names < len(columns) and not columns[names].numeric:
        names += 1
    names = names if names < len(columns) else 1  # a table of words alone
    keys, rest = columns[:names], columns[names:]
    part: list[_Column] = []
    for column in rest:
        if part and _needed([each.least for each in (*keys, *part, column)]) > room:
            yield [*keys, *part]
            part = []
        part.append(column)
    yield [*keys, *part]


def _print(columns: list[_Column], title: str | None, room: int) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    widths, least = [column.natural for column in columns], [column.least for column in columns]
    while _needed(widths) > room:
        slack = [(width, index) for index, width in enumerate(widths) if width > least[index]]
        if not slack:
            break  # the terminal wraps the line: that cuts nothing either
        widths[max(slack)[1]] -= 1
    shown = Table(title=title and escape(title), box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for column, width in zip(columns, widths, strict=True):
        shown.add_column(escape(column.name), justify="right" if column.numeric else "left", width=width)
    for cells in zip(*(column.cells for column in columns), strict=True):
        shown.add_row(*map(escape, cells))  # square brackets mean colours to rich
    Console(width=max(room, _needed(widths))).print(shown)
