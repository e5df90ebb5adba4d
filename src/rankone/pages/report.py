"""A report to hand to a colleague: one HTML file with all that is needed to understand results and repeat them."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import polars as pl

from rankone import __version__
from rankone.charts.bundle import make_bundle
from rankone.charts.page import cell_text, table_html, whole_page
from rankone.errors import InputError
from rankone.pages.report_sections import KINDS, Part
from rankone.writing import write_file

_HERE = Path(__file__).parent


def report(directory: str | Path, out: str | Path | None = None) -> Path:
    """Write a report on a directory of results and return where it is.

    Args:
        directory: what `rankone simulate`, `sweep`, `arena` or `reproduce` wrote with ``--out``, or
            `rankone.simulate(..., out=...)`; a study that still runs is told as far as it is.
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
    found = [(path, kind) for path in ([directory] if _kind(directory) else inside) if (kind := _kind(path))]
    if not found:
        there = ", ".join(sorted(path.name for path in directory.iterdir())[:5]) or "an empty directory"
        raise InputError(f"results of rankone in {directory}", there, _ADVICE)
    return [_read(path, kind) for path, kind in found]


def _read(directory: Path, kind: str) -> Part:
    try:
        return KINDS[kind](directory)
    except (KeyError, TypeError, OSError, pl.exceptions.PolarsError) as error:
        got = f"{type(error).__name__} {error}"
        do = "use the version that wrote it, or make it again"
        raise InputError(f"a whole {kind} of this version in {directory}", got, do) from error


_ADVICE = "name what `rankone simulate`, `sweep`, `arena` or `reproduce` wrote with --out"


def _kind(directory: Path) -> str | None:
    return next((kind for kind in KINDS if (directory / f"{kind}.json").exists()), None)


def report_html(parts: list[Part]) -> str:
    """Return the report as a page."""
    charts: list[dict[str, Any]] = []
    bodies = [_body(part, charts) for part in parts]
    title = parts[0].title if len(parts) == 1 else f"{len(parts)} results"
    head = f"<header><p class='note'>Report by rankone {escape(__version__)}</p></header>"
    head += "<noscript><p class='note'>The charts need JavaScript; all else is here without it.</p></noscript>"
    style, script = ((_HERE / f"report.{kind}").read_text() for kind in ("css", "js"))
    library = make_bundle().read_text(encoding="utf-8").replace("</script", "<\\/script")
    return whole_page(f"{title} · rankone", f"{head}<main>{''.join(bodies)}</main>", style, [library, script], charts)


def _body(part: Part, charts: list[dict[str, Any]]) -> str:
    """Return the markup of one part, its charts added to `charts`, which the script draws by their place."""
    parts = [f"<h1>{escape(part.title)}</h1><p class='lead'>{escape(part.sentence)}</p>"]
    if part.warning:
        parts.append(f"<p class='warning card'>{escape(part.warning)}</p>")
    for caption, specs in part.charts.items():
        place = len(charts)
        charts.append(specs)
        parts.append(
            f"<section><h2>{escape(caption)}</h2><div class='axes' data-of='{place}'></div>"
            f"<div class='chart'><div data-chart='{place}'></div></div></section>"
        )
    for caption, table in part.tables.items():
        parts.append(f"<section><h2>{escape(caption)}</h2><div class='scroll'>{table_html(table)}</div></section>")
    parts.append(f"<section><h2>Make it again</h2>{_again(part)}</section>")
    parts.append(f"<section><h2>Where it comes from</h2>{_provenance(part)}</section>")
    return f"<article>{''.join(parts)}</article>"


def _again(part: Part) -> str:
    versions = part.about.get("versions", {})
    wanted = [name for name in ("rankone", "NumPy", "Numba") if name in versions]
    packages = " ".join(f"{name.lower()}=={versions[name]}" for name in wanted)
    note = f"With the same versions (<code>{escape(packages)}</code>) the numbers are the same, on any number of cores."
    parts = [f"<p class='note'>{note if packages else 'The versions were not recorded.'}</p>"]
    if any("problems.json" in text for text in part.code.values()):
        parts.append("<p class='note'>Save problems.json (below) beside it first.</p>")
    for what, text in part.code.items():
        parts.append(
            f"<div class='code'><b>{escape(what)}</b><button type='button' class='copy'>Copy</button>"
            f"<pre>{escape(text)}</pre></div>"
        )
    links = [
        f'<a download="{escape(_safe(name), quote=True)}" '
        f'href="data:text/plain;base64,{base64.b64encode(text.encode()).decode()}">{escape(name)}</a>'
        for name, text in part.files.items()
    ]
    return f"{''.join(parts)}<p class='note'>Save: {' · '.join(links)}</p>"


def _provenance(part: Part) -> str:
    versions, machine = part.about.get("versions", {}), part.about.get("machine", {})
    if not versions:
        versions = {"rankone": part.about.get("version", "not recorded")}
    groups = (("Settings", part.settings), ("Versions", versions), ("Machine", machine or {"machine": "not recorded"}))
    return f"<div class='facts'>{''.join(_facts(title, values) for title, values in groups)}</div>"


def _facts(title: str, values: Mapping[str, Any]) -> str:
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(_said(value))}</td></tr>" for name, value in values.items())
    return f"<div><h3>{escape(title)}</h3><table>{rows}</table></div>"


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_said(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(_said(inner) for inner in value)
    return cell_text(value)


def _safe(name: str) -> str:
    return re.sub(r"[^\w. -]+", "-", name)
