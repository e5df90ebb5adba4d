"""The answer as HTML: a report to hand on, and what a notebook shows."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from rankone.analysis import wording
from rankone.notebook import html_table
from rankone.pages.report import report_html
from rankone.pages.report_sections import Part
from rankone.simulation.provenance import made_with

if TYPE_CHECKING:
    from rankone.analysis.result import Analysis

_MOST_COMBINATIONS = 200


def analysis_html(found: Analysis) -> str:
    """Return the answer as one page that opens without a network."""
    charts = {"Levels against the best of their factor": {"": found.chart().altair.to_dict()}}
    tables = {"Levels": wording.level_columns(found)}
    if found.check is not None and any(check.p_value is not None for check in found.check.checks):
        charts["How far pairs are from a product"] = {"": found.heatmap().altair.to_dict()}
    kept = found.combinations.head(_MOST_COMBINATIONS)
    title = "Combinations" if kept.height == found.combinations.height else f"The best {kept.height} combinations"
    tables[title] = kept
    told = [*wording.certainty(found), *wording.against_control(found), *wording.winner(found), *wording.rank1(found)]
    told += [*wording.next_step(found), *wording.conditions(found), *wording.notes(found)]
    return report_html(
        [
            Part(
                title=f"The best {' and '.join(found.counts.factors)}",
                sentence=found.sentence,
                remarks=told,
                settings={
                    "impressions": int(found.counts.shown.sum()), "clicks": int(found.counts.clicked.sum()),
                    "factors": list(found.counts.factors), "confidence": found.confidence,
                    "dispersion": found.dispersion.value,
                },
                about=made_with(),
                charts=charts,
                tables=tables,
                code={"In Python": _recipe(found)},
                files={"levels.csv": found.levels.write_csv(), "combinations.csv": found.combinations.write_csv()},
                warning=" ".join([*wording.adaptive(found), *wording.few_data(found)]),
            )
        ]
    )  # fmt: skip


def _recipe(found: Analysis) -> str:
    """Python that makes the answer again from the file of combinations."""
    words = [f"factors={list(found.counts.factors)!r}", f"dispersion={found.dispersion.value!r}"]
    if found.control is not None:
        words.append(f"control={found.control!r}")
    if found.confidence != 0.95:
        words.append(f"confidence={found.confidence!r}")
    return f'import rankone\n\nprint(rankone.analyse("combinations.csv", {", ".join(words)}))'


def notebook_html(found: Analysis) -> str:
    """Return the answer as a notebook shows it."""
    before = [*wording.adaptive(found), *wording.certainty(found), *wording.against_control(found)]
    after = [*wording.winner(found), *wording.rank1(found), *wording.next_step(found), *wording.conditions(found)]
    head, tail = (
        "<br>".join(map(escape, lines))
        for lines in ([*before, *wording.few_data(found)], [*after, *wording.notes(found)])
    )
    return f"<p><b>{escape(found.sentence)}</b></p><p>{head}</p>{html_table(wording.level_columns(found))}<p>{tail}</p>"
