"""The answer as a report to hand on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankone.analysis import wording
from rankone.pages.report import report_html
from rankone.pages.report_sections import Part
from rankone.simulation.store import made_with
from rankone.wording.lists import listed
from rankone.wording.numbers import percent

if TYPE_CHECKING:
    from rankone.analysis.result import Analysis

_MOST_COMBINATIONS = 200
_RATES = ("rate", "average_day", "fitted", "shrunken")
_TITLES = {
    "average_day": "average day",
    "fitted": "without interaction",
    "shrunken": "corrected for luck",
    "deviation": "standard errors apart",
}


def analysis_html(result: Analysis) -> str:
    """Return the answer as one page that opens without a network."""
    charts = {"Levels against the best of their factor": {"": result.chart().altair.to_dict()}}
    tables = {"Levels": wording.level_columns(result)}
    if result.check is not None and any(check.p_value is not None for check in result.check.checks):
        charts["Do combinations interact?"] = {"": result.heatmap().altair.to_dict()}
    kept = result.combinations.head(_MOST_COMBINATIONS)
    title = "Combinations" if kept.height == result.combinations.height else f"The best {kept.height} combinations"
    tables[title] = _for_people(kept)
    return report_html(
        [
            Part(
                title=f"The best {listed(result.counts.factors)}",
                sentence=result.headline,
                remarks=wording.sentences(result, *wording.REMARKS),
                details=wording.sentences(result, *wording.DETAILS),
                settings={
                    "impressions": int(result.counts.shown.sum()),
                    "clicks": int(result.counts.clicked.sum()),
                    "factors": list(result.counts.factors),
                    "confidence": result.confidence,
                    "dispersion": result.dispersion.value,
                },
                about=made_with(),
                charts=charts,
                tables=tables,
                code={"In Python": _recipe(result)},
                files=_files(result),
                warning=" ".join(wording.sentences(result, *wording.WARNING)),
            )
        ]
    )


def _for_people(combinations: pl.DataFrame) -> pl.DataFrame:
    rates = {name: [percent(rate) for rate in combinations[name]] for name in _RATES if name in combinations.columns}
    return combinations.with_columns(**rates).rename(
        {name: _TITLES[name] for name in combinations.columns if name in _TITLES}
    )


def _recipe(result: Analysis) -> str:
    settings = {
        "factors": list(result.counts.factors),
        "slice": None if result.counts.slices is None else "slice",
        "dispersion": None if result.dispersion.origin == "slices" else result.dispersion.value,
        "control": result.control,
        "confidence": None if result.confidence == 0.95 else result.confidence,
    }
    words = ", ".join(f"{name}={value!r}" for name, value in settings.items() if value is not None)
    return f'import rankone\n\nprint(rankone.analyse("{_counts_file(result)}", {words}))'


def _files(result: Analysis) -> dict[str, str]:
    files = {"levels.csv": result.levels.write_csv(), "combinations.csv": result.combinations.write_csv()}
    counts, slices = result.counts, result.counts.slices
    if slices is not None:
        names = counts.name_columns(counts.cells[slices.cell])
        when = [slices.names[day] for day in slices.when]
        by_day = pl.DataFrame({**names, "slice": when, "shown": slices.shown, "clicked": slices.clicked})
        files[_counts_file(result)] = by_day.write_csv()
    return files


def _counts_file(result: Analysis) -> str:
    return "combinations.csv" if result.counts.slices is None else "days.csv"
