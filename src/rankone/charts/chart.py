"""A picture that saves itself: PNG, SVG and PDF for print, HTML that is interactive and works offline."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rankone.charts.bundle import LICENCE
from rankone.errors import InputError
from rankone.lazy import alt, pl
from rankone.writing import write_file

_SHARP = 2.0  # pixels of a screen that shows fine lines, for one of the picture
_SUFFIXES = (".png", ".svg", ".pdf", ".html", ".json")

# One look for every chart: legible in black and white (dashes and shapes repeat what colours say) and in print.
_LOOK: dict[str, Any] = {
    "background": "white",
    "axis": {"labelFontSize": 12, "titleFontSize": 13, "gridColor": "#e4e4e4", "titleFontWeight": "normal"},
    "legend": {"labelFontSize": 12, "titleFontSize": 12, "symbolSize": 120, "symbolStrokeWidth": 2, "labelLimit": 320},
    "header": {"labelFontSize": 13, "titleFontSize": 13},
    "title": {"fontSize": 15, "anchor": "start", "subtitleFontSize": 12, "subtitleColor": "#444"},
    "view": {"stroke": "#bbb"},
}
# Okabe and Ito's colours: told apart with any colour vision.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#56b4e9", "#e69f00", "#8c510a"]
GREY = "#777777"
ON_LIGHT = "#111111"  # text on a light cell: unlike black, it stays dark where a page is dark
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 3], [4, 2, 1, 2], [3, 2], [10, 2, 2, 2, 2, 2]]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left"]


def drawable(path: Path) -> Path:
    """Return a path whose ending names a kind of picture; refuse any other (before hours of work, if asked early)."""
    if path.suffix not in _SUFFIXES:
        raise InputError(f"a path ending in {', '.join(_SUFFIXES)}", str(path), "try 'regret.png'")
    return path


class Chart:
    """An Altair chart with one way to save it.

    Args:
        altair: the chart to wrap; it stays available as ``.altair``.
    """

    def __init__(self, altair: alt.TopLevelMixin) -> None:
        self.altair: Any = altair.configure(**_LOOK)

    def __repr__(self) -> str:
        return "<Chart: save(path) writes it, a notebook shows it>"

    def save(self, path: str | Path, scale: float = 2.0) -> Path:
        """Write the picture; the ending of the path (.png .svg .pdf .html .json) says how."""
        path = drawable(Path(path))
        picture = self._render(path.suffix, scale)
        write_file(path, picture)
        return path

    def html(self) -> str:
        """Return a whole HTML page, its JavaScript inside it, so that it needs no network."""
        import vl_convert

        page = vl_convert.vegalite_to_html(self.altair.to_json(), bundle=True)
        return f"{page}\n<!-- {LICENCE.read_text()} -->\n"

    def _render(self, suffix: str, scale: float) -> bytes:
        import vl_convert

        spec = self.altair.to_json()
        if suffix == ".png":
            return bytes(vl_convert.vegalite_to_png(spec, scale=scale))
        if suffix == ".pdf":
            return bytes(vl_convert.vegalite_to_pdf(spec))
        if suffix == ".svg":
            return str(vl_convert.vegalite_to_svg(spec)).encode()
        return (self.html() if suffix == ".html" else str(spec)).encode()

    def _repr_mimebundle_(self, *args: Any, **keywords: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Show the picture in a notebook: drawn here, so that it needs no network; `.altair` is the interactive one.

        As pixels, since whoever shows an SVG may have other fonts, and cuts texts off that are wider there.
        """
        picture = self._render(".png", _SHARP)
        width, height = (round(pixels / _SHARP) for pixels in struct.unpack(">II", picture[16:24]))
        return {"image/png": picture}, {"image/png": {"width": width, "height": height}}


def drawn(table: pl.DataFrame | Sequence[Mapping[str, Any]], **encodings: Any) -> Any:
    """Return an Altair chart of a table, its rows inside it, for marks to be chosen."""
    rows = table.to_dicts() if isinstance(table, pl.DataFrame) else list(table)
    return alt.Chart(alt.InlineData(rows)).encode(**encodings)


def small_title(text: str | list[str]) -> alt.TitleParams:
    """Return a title that explains a picture: a picture travels without its page."""
    return alt.TitleParams(text, fontSize=12, fontWeight="normal", color="#444")


def names_of(table: pl.DataFrame, column: str) -> list[Any]:
    """Return the values of a column in their order, each once."""
    return table[column].unique(maintain_order=True).to_list()


class Marks:
    """How the values of a column look: colours, dashes and shapes, each of which tells them apart by itself.

    `names` are its values, `grey` one more, with a stroke for a shape; `options` are of the encodings.
    """

    def __init__(self, column: str, names: Sequence[str], grey: str | None = None, **options: Any) -> None:
        self.column, self.names = column, [*names, *([] if grey is None else [grey])]
        self.options = {"title": None, "sort": self.names} | options
        self._own, self._grey = len(names), grey is not None
        self.colour = alt.Color(f"{column}:N", scale=self._scale(COLOURS, GREY), **self.options)
        self.shape = alt.Shape(f"{column}:N", scale=self._scale(SHAPES, "stroke"), **self.options)

    def dash(self, last: list[int] = DASHES[0]) -> alt.StrokeDash:
        """Return the dashes; `last` is that of the grey value."""
        return alt.StrokeDash(f"{self.column}:N", scale=self._scale(DASHES, last), **self.options)

    def _scale(self, values: Sequence[Any], last: Any) -> alt.Scale:
        cycled = [values[index % len(values)] for index in range(self._own)]
        return alt.Scale(domain=self.names, range=[*cycled, *([last] if self._grey else [])])


def heat_cells(base: Any, colour: alt.Color, text: Any, dark: str, stroke: str = "white") -> Any:
    """Return cells with their numbers, which are white where a cell is `dark`, an expression."""
    numbers = base.mark_text(fontSize=11).encode(
        text=text, color=alt.condition(dark, alt.value("white"), alt.value(ON_LIGHT))
    )
    return alt.layer(base.mark_rect(stroke=stroke).encode(color=colour), numbers)


def grid_axes(x: str, y: str, across: Sequence[str], down: Sequence[str]) -> dict[str, Any]:
    """Return the axes of cells: names across above them, names down to their left."""
    above = alt.Axis(orient="top", labelAngle=-40, labelLimit=200)
    return {
        "x": alt.X(f"{x}:N", sort=list(across), title=None, axis=above),
        "y": alt.Y(f"{y}:N", sort=list(down), title=None, axis=alt.Axis(labelLimit=220)),
    }


# Each tick by itself, "0 500 1k": Vega's own labels would share a prefix, "0k 0.5k 1k". Empty ones stay empty.
# Below 1 there are no thousandths: 0.5, not 500m.
_SHORT = "datum.label == '' ? '' : format(datum.value, abs(datum.value) < 1 ? '~g' : '~s')"
_MOST_LINES = 18  # across a logarithmic axis, before powers of ten alone are drawn


def short_axis(**options: Any) -> alt.Axis:
    """Return an axis on which 500,000 is written 500k, and 0.5 as it is."""
    return alt.Axis(format="~s", labelExpr=_SHORT, **options)


def round_numbers(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times powers of ten, from the last that is not above `low` to the first not below `high`.

    >>> round_numbers(3, 40)
    [2.0, 5.0, 10.0, 20.0, 50.0]
    """
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)  # one more: log10 may round
    rounds = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    bottom, top = max(value for value in rounds if value <= low), min(value for value in rounds if value >= high)
    return [value for value in rounds if bottom <= value <= top]


def log_lines(rounds: list[float], most: int = _MOST_LINES) -> list[float]:
    """Return the round numbers at which a logarithmic axis has lines: powers of ten alone where they are many."""
    if len(rounds) <= most:
        return rounds
    return [value for value in rounds if math.log10(value).is_integer()]


def log_axis(
    low: float, high: float, exact: bool = False, most: int = _MOST_LINES, **options: Any
) -> tuple[alt.Scale, alt.Axis]:
    """Return a logarithmic scale and an axis with lines at round numbers.

    The scale ends at the two numbers, if it is to be `exact`, else at 1, 2 or 5 times a power of ten.
    """
    rounds = round_numbers(low, high)
    if exact:
        rounds = [value for value in rounds if low <= value <= high]
    ends = [low, high] if exact else [rounds[0], rounds[-1]]
    return alt.Scale(type="log", domain=ends, **options), short_axis(values=log_lines(rounds, most))
