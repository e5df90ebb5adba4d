"""``rankone fit``: from a click log to a click model and its problems."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankone.cli import _logs
from rankone.cli._commands import command
from rankone.cli._options import JSON, json_file, model_option, with_options
from rankone.cli._tables import print_json, show_table
from rankone.errors import InputError
from rankone.specs import amount

if TYPE_CHECKING:
    import polars as pl

    from rankone.clicks.models.base import ClickModel

_RATE = ("rate", "low", "high")


@command("fit", example="log.tsv.gz --top 5 --out models.json")
@with_options(_logs.READING)
def fit(
    log: list[str] = _logs.LOGS,
    model: str = model_option("pbm", "A click model: pbm, pbm:prior=1x2, ubm, ..."),
    top: int = _logs.TOP,
    min_impressions: int | None = typer.Option(
        None,
        min=0,
        help="Leave out items that a query showed less often than this (default 20); 0 keeps all, as the paper does.",
    ),
    out: Path | None = typer.Option(
        None,
        help="JSON file for the fitted problems; `rankone simulate --problem FILE#QUERY` plays one: pairs of items and "
        "positions (pbm), or lists in the world of the model (cascade, dcm, sdbn, ubm).",
    ),
    save: Path | None = typer.Option(
        None, help="JSON file for the fitted model itself, with every number; rankone.clicks.load_model reads it."
    ),
    chart: Path | None = typer.Option(None, help="Picture of attraction and examination (.png .svg .pdf .html)."),
    quarantine: Path | None = typer.Option(None, help="File for rows that cannot be read; default: beside --out."),
    as_json: bool = JSON,
    **reading: Any,
) -> None:
    """Fit a click model to a click log: how attractive each item is, and how often each position is seen."""
    from rankone import clicks
    from rankone.charts.chart import drawable
    from rankone.cli._progress import progress_bar

    chosen = clicks.as_model(model)
    if min_impressions is not None:
        chosen.min_impressions = min_impressions
    if out and type(chosen)._as_list is clicks.ClickModel._as_list:
        raise InputError("a model of problems with --out", chosen.name, "use --model pbm, or leave it out")
    json_file("--out", out)
    json_file("--save", save)
    picture = chart or (out and isinstance(chosen, clicks.PBM) and out.with_suffix(".png")) or None
    if picture is not None:
        drawable(picture)
    if quarantine is None and out is not None:
        quarantine = out.with_suffix(".quarantine.tsv")
    counts = _logs.read_counts(log, top, reading | {"quarantine": quarantine, "tails": chosen.uses_tails})
    with progress_bar("fitting") as fitting:
        chosen.fit(counts, progress=fitting)
    most_frequent = [query for query in counts.queries["query"] if query in chosen.cells_.query_numbers]
    summary, warnings = chosen.overview(), chosen.warnings()
    facts, headline = _facts(chosen, len(counts.queries)), _headline(summary)
    if out is not None:
        _save(chosen, most_frequent, out, {"fit": facts, "log": counts.report.to_dict()})
    if picture is not None:
        chosen.chart(most_frequent[:2] if len(most_frequent) > 4 else most_frequent).save(picture)
    if save is not None:
        chosen.save(save)
    if as_json:
        content = {
            "headline": headline,
            "log": counts.report.to_dict(),
            "model": facts,
            "warnings": warnings + counts.report.warnings(),
        }
        print_json(content | {"queries": summary.to_dicts()})
        return
    print(headline)
    _logs.show_account(counts.report)
    show_table(_telling(summary), f"{chosen.title}: {_words(facts)}", spare=("perplexity", "gamma", "p_max", "mu"))
    written = [str(path) for path in (out, save, picture, counts.report.rows_quarantined and quarantine) if path]
    for warning in warnings:
        print(f"Beware: {warning}")
    if written:
        print(f"Written: {', '.join(written)}")
    if out is not None:
        print(f"Next: rankone simulate --problem '{out}#{most_frequent[0]}'")


def _headline(summary: pl.DataFrame) -> str:
    """Say in at most 25 words which item does best in the first query, as far as the data support it."""
    from rankone.wording.lists import cut_text
    from rankone.wording.numbers import rate_text

    first = summary.row(0, named=True)
    if "supported_rate" not in first:
        return f"Fitted to {summary.height:,} {'query' if summary.height == 1 else 'queries'}."
    query = f"Query '{cut_text(str(first['query']), 3)}'"
    if first["too_little_data"]:
        return f"{query}: not enough data yet to say which item is best."
    item, rivals = cut_text(str(first["supported_item"]), 3), first["not_told_apart"]
    rate = rate_text(*(first[f"supported_{end}"] for end in _RATE))
    clicked = f"{rate} clicked at position {first['supported_position']}"
    if not rivals:
        return f"{query}: '{item}' is the {'only' if first['items'] == 1 else 'best'} item, {clicked}."
    return f"{query}: '{item}' is ahead, not proven yet: {clicked}; {amount(rivals, 'other item')} may be as good."


def _telling(summary: pl.DataFrame) -> pl.DataFrame:
    """Show what the data support first, then what was counted; what another column or the title says is left out."""
    import polars as pl

    if "supported_rate" not in summary.columns:
        return summary.drop("attraction", "log_likelihood", strict=False)
    texts = [pl.col(f"supported_{name}").map_elements(lambda rate: f"{rate:.2g}", pl.String) for name in _RATE]
    others = pl.when(pl.col("items") == 2).then(pl.lit("other")).otherwise(pl.lit("others"))
    few = pl.when("too_little_data").then(pl.lit("too little data")).otherwise(pl.lit(""))
    supported = {
        "item": pl.col("supported_item"),
        "position": pl.col("supported_position"),
        "click_rate": pl.format("{} ({} to {})", *texts),
        "clicked": pl.format("{} of {}", "supported_clicks", "supported_impressions"),
        "may_be_as_good": pl.format("{} of {} {}", "not_told_apart", pl.col("items") - 1, others),
        "verdict": few,
    }
    counted = ("impressions", "clicks", "components", "perplexity", "mu", "p_max", "gamma")
    shown = summary.select("query", *(each.alias(name) for name, each in supported.items()), *counted)
    idle = [] if summary["too_little_data"].any() else ["verdict"]
    idle += ["components"] if (shown["components"] == 1).all() else []
    return shown.drop(*idle, *(["p_max", "gamma"] if (shown["gamma"] == shown["mu"]).all() else []))


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
    few = f"with fewer than {facts['min_impressions']} impressions left out"
    words = [f"{amount(facts['items_left_out'], 'item')} {few}"]
    if facts["queries_left_out"]:
        words.append(f"and {facts['queries_left_out']:,} queries that have no others")
    if "scale" in facts:
        words.append(f"scale {facts['scale']}, examination {facts['examination']}")
    if "n_iter" in facts:
        words.append(amount(facts["n_iter"], "iteration") + ("" if facts["converged"] else ", NOT converged"))
    if "log_likelihood" in facts:
        words.append(f"log-likelihood {facts['log_likelihood']:,.1f}")
    return "; ".join(words)


def _save(model: ClickModel, queries: list[str], out: Path, about: dict[str, Any]) -> None:
    """Write the problems, the most frequent query first; of a product with the intervals of their parameters."""
    from rankone.clicks import PBM
    from rankone.problems.files import save_problems

    if not isinstance(model, PBM):
        save_problems([model.list_problem(query) for query in queries], out, extra=about)
        return
    attraction, examination = model.intervals()
    items = attraction.partition_by("query", as_dict=True)
    curves = examination.partition_by("query", as_dict=True) if "query" in examination.columns else {}
    each = []
    for query in queries:
        own, curve = items[(query,)], curves.get((query,), examination)
        rows, cols = (table.select("low", "high").rows() for table in (own, curve))
        each.append({"impressions": own["impressions"].to_list(), "row_intervals": rows, "col_intervals": cols})
    save_problems([model.problem(query) for query in queries], out, extra=about, each=each)
