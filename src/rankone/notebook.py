"""What results look like in a notebook: a sentence and tables, as text, as HTML and as pandas, by one piece of code.

Plain Python, so that the client's report can use it. A table is a mapping of columns, or a frame of Polars.
"""

import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from rankone.errors import InputError

_LATEX = re.compile(r"[&%$#_{}]")  # characters that LaTeX reads as its own
_MOST_ROWS = 30  # of a table that is shown; `to_pandas` has them all
MORE = "Assumptions and method: --details, in Python .details"
_CELL = '<{0} style="padding:.15em .7em;text-align:{1}">{2}</{0}>'


class Shown:
    """Base of results. A subclass says what it found in `_sentence`, and names its tables in `_tables`.

    >>> class Found(Shown):
    ...     def _sentence(self):
    ...         return "Two levels."
    ...     def _tables(self):
    ...         return {"levels": {"name": ["A", "B"], "rate": [0.25, None]}}
    >>> Found()
    Two levels.
    <BLANKLINE>
      name  rate
      A     0.25
      B        -
    >>> Found().to_pandas().shape
    (2, 2)
    """

    def _sentence(self) -> str:
        """What was found, in words."""
        return ""

    def _tables(self) -> Mapping[str, Any]:
        """Tables by name; the first is the one that people look at."""
        return {}

    def _shown(self) -> Any:
        """Return the table that is shown: the first, where a subclass has none with fewer columns or other titles."""
        return next(iter(self._tables().values()), {})

    def __repr__(self) -> str:
        return "\n".join(filter(None, [self._sentence(), *text_table(self._shown())]))

    def _repr_html_(self) -> str:
        said = "<br>".join(escape(line) for line in self._sentence().splitlines())
        return f"<p>{said}</p>" * bool(said) + html_table(self._shown())

    def to_pandas(self, table: str | None = None) -> Any:
        """Return a table for pandas, which must be installed; nothing else is needed.

        Args:
            table: which one, by name; default: the first, of which a part is shown.
        """
        return to_pandas(self._table(table))

    def to_latex(self, table: str | None = None) -> str:
        """Return the table that is shown, or the one of that name, for LaTeX: a `tabular` with booktabs' rules."""
        columns = columns_of(self._shown() if table is None else self._table(table))
        sides = "".join("r" if _is_numeric(column) else "l" for column in columns.values())
        head, *rows = [
            " & ".join(_LATEX.sub(r"\\\g<0>", cell_text(cell)).replace("±", r"$\pm$") for cell in row) + r" \\"
            for row in [tuple(columns), *zip(*columns.values(), strict=True)]
        ]
        parts = [rf"\begin{{tabular}}{{{sides}}}", r"\toprule", head, r"\midrule", *rows, r"\bottomrule"]
        return "\n".join([*parts, r"\end{tabular}"])

    def _table(self, table: str | None) -> Any:
        tables = self._tables()
        if not tables or (table is not None and table not in tables):
            names = ", ".join(tables) or "none"
            raise InputError(f"a table of {type(self).__name__}: {names}", table, "leave it out for the first")
        return tables[next(iter(tables)) if table is None else table]


class Answer(Shown):
    """A result in three depths: `headline` (at most 25 words), what is printed with its table, and `details`.

    A subclass has `headline` and `details`, and may have `assumes`, `_before`, `_notes` and `_after`.
    """

    @property
    def headline(self) -> str:
        """The answer in at most 25 words."""
        return ""

    @property
    def assumes(self) -> str:
        """What the answer rests on, in one line."""
        return ""

    @property
    def details(self) -> str:
        """Assumptions and method."""
        return ""

    def _before(self) -> list[str]:
        """Reasons not to trust the headline: they are said first."""
        return []

    def _notes(self) -> list[str]:
        """Warnings and advice, below the headline."""
        return []

    def _after(self) -> list[str]:
        """What is said below the table."""
        return []

    @property
    def brief(self) -> str:
        """The headline and what it assumes; before both, why not to trust them."""
        return "\n".join(filter(None, [*self._before(), self.headline, self.assumes]))

    def _sentence(self) -> str:
        return "\n".join([self.brief, *self._notes()])

    def __repr__(self) -> str:
        after = self._after()
        return "\n".join([super().__repr__(), *([""] if after else []), *after, *([MORE] if self.details else [])])

    def _repr_html_(self) -> str:
        after = "<br>".join(map(escape, self._after()))
        return super()._repr_html_() + f"<p>{after}</p>" * bool(after) + folded(self.details)

    def depths(self) -> dict[str, Any]:
        """Return the texts for JSON."""
        return {"headline": self.headline, "assumes": self.assumes, "details": self.details.splitlines()}


def folded(details: str) -> str:
    """Return details as HTML that opens with a click."""
    said = "<br>".join(map(escape, details.splitlines()))
    return f"<details><summary>Assumptions and method</summary><p>{said}</p></details>" * bool(said)


def columns_of(table: Any) -> Mapping[str, list[Any]]:
    """Return the columns of a table as lists."""
    return table if isinstance(table, Mapping) else dict(table.to_dict(as_series=False))


def to_pandas(table: Any) -> Any:
    """Return a table as a frame of pandas, without pyarrow, which Polars' own method asks for.

    >>> to_pandas({"name": ["A"], "clicks": [3]}).loc[0, "clicks"]
    np.int64(3)
    """
    try:
        import pandas
    except ImportError:
        raise InputError("pandas", "no such package", "run: pip install pandas") from None
    return pandas.DataFrame(dict(columns_of(table)))


def html_table(table: Any) -> str:
    """Return the first rows of a table as HTML, all texts escaped."""
    columns = columns_of(table)
    if not columns:
        return ""
    sides = ["right" if _is_numeric(column) else "left" for column in columns.values()]

    def line(kind: str, row: Iterable[Any]) -> str:
        cells = (_CELL.format(kind, side, escape(cell_text(each))) for each, side in zip(row, sides, strict=True))
        return f"<tr>{''.join(cells)}</tr>"

    head, body = line("th", columns), "".join(line("td", row) for row in _rows(columns))
    left = _rows_left(columns)
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>" + f"<p>{left}</p>" * bool(left)


def text_table(table: Any) -> list[str]:
    """Return the first rows of a table as lines of text, with an empty one above."""
    columns = columns_of(table)
    if not columns:
        return []
    rows = [[str(name) for name in columns], *([cell_text(value) for value in row] for row in _rows(columns))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = [_is_numeric(column) for column in columns.values()]
    lines = [
        "  ".join(
            cell.rjust(width) if numeric else cell.ljust(width)
            for cell, width, numeric in zip(row, widths, right, strict=True)
        )
        for row in rows
    ]
    left = _rows_left(columns)
    return ["\n" + "\n".join(f"  {line}".rstrip() for line in lines), *([f"  {left}"] if left else [])]


def _rows(columns: Mapping[str, list[Any]]) -> list[tuple[Any, ...]]:
    return list(zip(*(column[:_MOST_ROWS] for column in columns.values()), strict=True))


def _rows_left(columns: Mapping[str, list[Any]]) -> str:
    number = max(map(len, columns.values())) - _MOST_ROWS
    return f"... and {number:,} more; to_pandas() has them all" if number > 0 else ""


def _is_numeric(column: list[Any]) -> bool:
    return all(isinstance(value, (int, float, type(None))) and not isinstance(value, bool) for value in column)


def cell_text(value: Any) -> str:
    """Write a value of a table for people, numbers no longer than they need to be.

    >>> cell_text(1234.5), cell_text(0.12345), cell_text(None), cell_text(True)
    ('1,234', '0.1235', '-', 'yes')
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return str(value)


def index_names(values: Any, axis: str = "index") -> list[str] | None:
    """Return the names in the index of a Series or a frame; None where there is none, or it merely counts.

    >>> import pandas
    >>> index_names(pandas.Series([0.3, 0.1], index=["A", "B"])), index_names(pandas.Series([0.3])), index_names([0.3])
    (['A', 'B'], None, None)
    """
    index = getattr(values, axis, None)
    if index is None or callable(index):  # a list has a method of this name
        return None
    labels = list(index)
    return None if labels == list(range(len(labels))) else [str(label) for label in labels]
