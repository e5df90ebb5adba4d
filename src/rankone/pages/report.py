"""A report to hand to a colleague: one HTML file with all that is needed to understand results and repeat them."""

from pathlib import Path
from typing import Any

import polars as pl

from rankone import __version__
from rankone.charts.bundle import make_bundle
from rankone.charts.page import filled, whole_page
from rankone.errors import InputError
from rankone.notebook import cell_text
from rankone.pages.report_sections import KINDS, Part
from rankone.writing import write_file

_HERE = Path(__file__).parent


def report(directory: str | Path, out: str | Path | None = None) -> Path:
    """Write a report on a directory of results and return where it is.

    Args:
        directory: what `rankone simulate`, `arena` or `reproduce` wrote with ``--out``, `Sweep.save`, or
            `rankone.simulate(..., out=...)`; a study that still runs is reported as far as it has got.
        out: the file to write; default: ``report.html`` in the directory.

    >>> import rankone, tempfile
    >>> directory = tempfile.mkdtemp()
    >>> study = rankone.simulate("needle:2x2", "uts", horizon=100, runs=2, workers=1, out=directory)
    >>> rankone.report(directory).name
    'report.html'
    """
    directory = Path(directory)
    parts = find_parts(directory)
    path = directory / "report.html" if out is None else Path(out)
    write_file(path, report_html(parts))
    return path


def find_parts(directory: Path) -> list[Part]:
    """Return what a directory holds, or what the directories in it hold."""
    if not directory.is_dir():
        got = "a file" if directory.exists() else "nothing there"
        raise InputError(f"a directory of results at {directory}", got, _ADVICE)
    inside = sorted(path for path in directory.iterdir() if path.is_dir())
    parts = [(path, kind) for path in ([directory] if _kind(directory) else inside) if (kind := _kind(path))]
    if not parts:
        there = ", ".join(sorted(path.name for path in directory.iterdir())[:5]) or "an empty directory"
        raise InputError(f"results of rankone in {directory}", there, _ADVICE)
    return [_read(path, kind) for path, kind in parts]


def _read(directory: Path, kind: str) -> Part:
    try:
        return KINDS[kind](directory)
    except (KeyError, TypeError, OSError, pl.exceptions.PolarsError) as error:
        got = f"{type(error).__name__} {error}"
        do = "use the version that wrote it, or make it again"
        raise InputError(f"a whole {kind} of this version in {directory}", got, do) from error


_ADVICE = "name what `rankone simulate`, `arena` or `reproduce` wrote with --out"


def _kind(directory: Path) -> str | None:
    return next((kind for kind in KINDS if (directory / f"{kind}.json").exists()), None)


def report_html(parts: list[Part]) -> str:
    """Return the report as a page."""
    charts = [specs for part in parts for specs in part.charts.values()]  # the script draws them by their place
    title = parts[0].title if len(parts) == 1 else f"{len(parts)} results"
    body = filled(_HERE / "report.html", version=__version__, parts=parts, cell_text=cell_text, said=_said)
    style, script = ((_HERE / f"report.{kind}").read_text() for kind in ("css", "js"))
    library = make_bundle().read_text(encoding="utf-8").replace("</script", "<\\/script")
    return whole_page(f"{title} · rankone", body, style, [library, script], charts)


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_said(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(_said(inner) for inner in value)
    return cell_text(value)
