"""``rankone fit``: from a click log to a click model and its problems."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankone.cli import _logs
from rankone.cli._commands import DATA, command
from rankone.cli._options import json_file, model_names
from rankone.cli._wording import told_as_format_options
from rankone.errors import InputError
from rankone.specs import amount

if TYPE_CHECKING:
    import polars as pl

    from rankone.clicks.models.base import ClickModel
    from rankone.clicks.models.product import ProductModel

_FEW_CLICKS = 20  # of the best item


@command("fit", example="log.tsv.gz --top 5 --out models.json", topic=DATA)
def fit(
    log: list[str] = _logs.LOGS,
    format: str | None = _logs.FORMAT,
    option: list[str] | None = _logs.OPTION,
    model: str = typer.Option(
        "pbm",
        "--model",
        "-m",
        autocompletion=model_names,
        help="A click model: pbm, pbm:scale=balanced, ubm, ...",
    ),
    top: int = _logs.TOP,
    min_impressions: int | None = typer.Option(
        None,
        min=0,
        help="Leave out items that a query showed less often than this (default 20); 0 keeps all, as the paper does.",
    ),
    positions: int = _logs.POSITIONS,
    out: Path | None = typer.Option(
        None,
        help="JSON file for the fitted problems; `rankone simulate --problem FILE#QUERY` plays one: pairs of items and "
        "positions (pbm), or lists in the world of the model (cascade, dcm, sdbn, ubm).",
    ),
    chart: Path | None = typer.Option(None, help="Picture of attraction and examination (.png .svg .pdf .html)."),
    quarantine: Path | None = typer.Option(None, help="File for rows that cannot be read; default: beside --out."),
    strict: bool = _logs.STRICT,
    max_bad: float = _logs.MAX_BAD,
    as_json: bool = typer.Option(False, "--json", help="Print account and summary as JSON and nothing else."),
) -> None:
    """Read a click log and fit a click model to its queries."""
    from rankone import clicks
    from rankone.charts.chart import drawable
    from rankone.cli._progress import progress_bar
    from rankone.clicks.models.product import ProductModel

    chosen = clicks.as_model(model)
    if min_impressions is not None:
        chosen.min_impressions = min_impressions
    if not isinstance(chosen, ProductModel) and chart:
        raise InputError("a model of products with --chart", chosen.name, "use --model pbm, or leave it out")
    if out and type(chosen)._as_list is clicks.ClickModel._as_list:
        raise InputError("a model of problems with --out", chosen.name, "use --model pbm, or leave it out")
    json_file("--out", out)
    picture = chart or (out and isinstance(chosen, ProductModel) and out.with_suffix(".png")) or None
    if picture is not None:
        drawable(picture)
    if quarantine is None and out is not None:
        quarantine = out.with_suffix(".quarantine.tsv")
    with _logs.reading_bar() as reading:
        counts = clicks.read(
            log, format, positions=positions, strict=strict, max_bad=max_bad, quarantine=quarantine, progress=reading,
            **_logs.format_options(option),
        )  # fmt: skip
    if top:
        counts = counts.top(top)
    with told_as_format_options(), progress_bar("fitting") as fitting:
        chosen.fit(counts, progress=fitting)
    most_frequent = [query for query in counts.queries["query"] if query in chosen.cells_.query_numbers]
    summary = chosen.summary().sort("impressions", descending=True)
    facts = _facts(chosen, len(counts.queries))
    if isinstance(chosen, ProductModel):
        sure = chosen.best().select(
            "query", best_low="low", best_high="high", best_impressions="impressions", best_clicks="clicks"
        )
        summary = summary.join(sure, on="query", how="left", maintain_order="left")
    warnings = _warnings(summary)
    if out is not None and not isinstance(chosen, ProductModel):
        from rankone.problems.files import save_problems

        worlds = [chosen.list_problem(query) for query in most_frequent]
        save_problems(worlds, out, extra={"fit": facts, "log": counts.report.to_dict()})
    if isinstance(chosen, ProductModel):
        if out is not None:
            _save(chosen, most_frequent, out, facts, counts.report.to_dict())
        if picture is not None:
            from rankone.charts.click_models import click_model_chart

            shown = most_frequent[:2] if len(most_frequent) > 4 else most_frequent
            click_model_chart(*chosen.intervals(), shown).save(picture)
    if as_json:
        found = {"log": counts.report.to_dict(), "model": facts, "warnings": warnings, "queries": summary.to_dicts()}
        print(json.dumps(found, indent=1))
        return
    _logs.show_account(counts.report)
    from rankone.cli._tables import show_table

    show_table(_telling(summary), f"{chosen.title}: {_words(facts)}")
    for warning in warnings:
        print(f"Beware: {warning}")
    written = [str(path) for path in (out, picture) if path]
    if counts.report.rows_quarantined and quarantine is not None:
        written.append(str(quarantine))
    if written:
        print(f"Written: {', '.join(written)}")
    if out is not None:
        print(f"Next: rankone simulate --problem '{out}#{most_frequent[0]}'")


def _telling(summary: pl.DataFrame) -> pl.DataFrame:
    """Leave out what another column or the title says: on the scale exam1, p_max is 1 and gamma is mu."""
    import polars as pl

    shown = summary.drop("attraction", "log_likelihood", "best_impressions", "best_clicks", strict=False)
    if "best_low" in shown.columns:
        names = ("best_click_rate", "best_low", "best_high")
        texts = [pl.col(name).map_elements(lambda rate: f"{rate:.2g}", pl.String) for name in names]
        shown = shown.with_columns(best_click_rate=pl.format("{} ({} to {})", *texts)).drop("best_low", "best_high")
    if "components" in shown.columns and (shown["components"] == 1).all():
        shown = shown.drop("components")
    if "gamma" in shown.columns and (shown["gamma"] == shown["mu"]).all():
        shown = shown.drop("p_max", "gamma")
    best = [name for name in ("best_item", "best_position", "best_click_rate") if name in shown.columns]
    return shown.select("query", *best, pl.exclude("query", *best))


def _warnings(summary: pl.DataFrame) -> list[str]:
    """Say which queries should not be trusted, and why."""
    silent = summary.filter(clicks=0)["query"].to_list()
    apart = summary.filter(summary["components"] > 1)["query"].to_list() if "components" in summary.columns else []
    warnings = [*_resting_on_few(summary)]
    if silent:
        warnings.append(
            f"not a single click in {_some(silent, len(summary))}: nothing can be learned there; "
            "check the column of clicks"
        )
    if apart:
        warnings.append(
            f"positions that no item connects in {_some(apart, len(summary))} (components above 1): what is in two "
            "components cannot be compared, so beware of the best pair; --model pbm:examination=shared connects them"
        )
    return warnings


def _resting_on_few(summary: pl.DataFrame) -> list[str]:
    """Say which best items are little known."""
    if "best_low" not in summary.columns:
        return []
    little = (summary["best_clicks"] < _FEW_CLICKS) | (summary["best_low"] < summary["best_click_rate"] / 2)
    few = summary.filter(little & (summary["clicks"] > 0))
    if few.is_empty():
        return []
    told = [
        f"{row['query']} (item {row['best_item']}: {amount(row['best_clicks'], 'click')} of "
        f"{amount(row['best_impressions'], 'impression')})"
        for row in few.head(3).to_dicts()
    ]
    more = f" and {few.height - 3:,} more" if few.height > 3 else ""
    return [
        f"the best item rests on few impressions in query {', '.join(told)}{more}: its true click rate may be far "
        "lower, as the interval says, and another item the best; raise --min-impressions, or collect more"
    ]


def _some(queries: list[str], total: int) -> str:
    """Name a few of some queries."""
    if len(queries) == 1:
        return f"query {queries[0]}"
    names = ", ".join(queries[:5]) + (", ..." if len(queries) > 5 else "")
    return f"{len(queries):,} of {total:,} queries ({names})"


def _facts(model: ClickModel, queries: int) -> dict[str, Any]:
    """Return what the fit says about itself."""
    cells = model.cells_
    facts: dict[str, Any] = {"model": model.name, "queries": len(cells.queries), "items": cells.n_items}
    facts |= {"queries_left_out": queries - len(cells.queries)}
    facts |= {"items_left_out": cells.dropped_items, "impressions_left_out": cells.dropped_impressions}
    facts |= {"min_impressions": model.min_impressions}
    settings = {field.name for field in dataclasses.fields(model)}
    for name in ("examination", "scale", "prior", "n_iter_", "converged_", "log_likelihood_"):
        if name in settings or (name.endswith("_") and hasattr(model, name)):
            facts[name.rstrip("_")] = getattr(model, name)
    return facts


def _words(facts: dict[str, Any]) -> str:
    words = [
        f"{amount(facts['items_left_out'], 'item')} with fewer than {facts['min_impressions']} impressions left out"
    ]
    if facts["queries_left_out"]:
        words.append(f"and {facts['queries_left_out']:,} queries that have no others")
    if "scale" in facts:
        words.append(f"scale {facts['scale']}, examination {facts['examination']}")
    if "n_iter" in facts:
        words.append(amount(facts["n_iter"], "iteration") + ("" if facts["converged"] else ", NOT converged"))
    if "log_likelihood" in facts:
        words.append(f"log-likelihood {facts['log_likelihood']:,.1f}")
    return "; ".join(words)


def _save(model: ProductModel, queries: list[str], out: Path, facts: dict[str, Any], log: dict[str, Any]) -> None:
    """Write the problems, the most frequent query first, with the intervals of their parameters."""
    from rankone.problems.files import save_problems

    attraction, examination = model.intervals()
    items = attraction.partition_by("query", as_dict=True)
    curves = examination.partition_by("query", as_dict=True) if "query" in examination.columns else {}
    each = []
    for query in queries:
        own, curve = items[(query,)], curves.get((query,), examination)
        each.append(
            {
                "impressions": own["impressions"].to_list(),
                "row_intervals": own.select("low", "high").rows(),
                "col_intervals": curve.select("low", "high").rows(),
            }
        )
    problems = [model.problem(query) for query in queries]
    save_problems(problems, out, extra={"fit": facts, "log": log}, each=each)
