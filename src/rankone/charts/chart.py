"""A picture that saves itself: PNG, SVG and PDF for print, HTML that is interactive and works offline."""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import Any

import altair as alt

from rankone.charts.bundle import LICENCE
from rankone.errors import InputError
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
