"""``rankone generate-log``: a Yandex-like click log with known truth."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from rankone.cli._commands import DATA, command
from rankone.cli._options import json_file, whole_number


@command("generate-log", example="log.tsv.gz --lists 1e5 --truth truth.json", topic=DATA)
def generate_log(
    out: Path = typer.Argument(..., help="The log to write; a name that ends in .gz or .zst is compressed."),
    lists: int = typer.Option(400_000, parser=whole_number, help="Sessions to write; 1e6 is fine.", metavar="N"),
    format: str = typer.Option("yandex-rpc", "--format", "-f", help="yandex-rpc or yandex-pwsc."),
    queries: int = typer.Option(20, help="Queries; 1 and 2 have the paper's size and hardness."),
    items: int | None = typer.Option(None, help="Items per query; default: 871, 807, then 800 to 900."),
    edges: bool = typer.Option(False, "--edges", help="Inject edge cases, counted exactly."),
    sigma: float = typer.Option(0.1, help="Error of the ranker that made the lists."),
    steepness: float = typer.Option(2.5, help="How strongly the ranker's order decides the lists."),
    seed: int = typer.Option(0, help="Seed of the random numbers."),
    truth: Path | None = typer.Option(None, help="JSON file for the true problems."),
    as_json: bool = typer.Option(False, "--json", help="Print what was written as JSON and nothing else."),
) -> None:
    """Write a click log with known attraction and examination, to try things on."""
    import polars as pl

    from rankone import clicks
    from rankone.cli._progress import progress_bar
    from rankone.cli._tables import show_table
    from rankone.problems.files import save_problems

    json_file("--truth", truth)
    with progress_bar("sessions") as progress:
        log = clicks.generate_log(
            out, lists, format, queries=queries, items=items, edges=edges, sigma=sigma, steepness=steepness, seed=seed,
            progress=progress,
        )  # fmt: skip
    if truth is not None:
        save_problems(log.problems, truth, extra={"truth_of": out.name})
    numbers = {"rows": log.rows, "lists": log.lists, "clicks": log.clicks} | (log.injected if edges else {})
    if as_json:
        print(json.dumps({"path": str(out), "format": format} | numbers, indent=1))
        return
    show_table(pl.DataFrame({"written": list(numbers), "number": list(numbers.values())}), f"{out} ({format})")
    hardness = pl.DataFrame(
        [(p.name, p.n_rows, p.n_cols, p.mu, p.p_max, p.gamma, p.best_mean) for p in log.problems[:20]],
        schema=["query", "items", "positions", "mu", "p_max", "gamma", "best click probability"],
        orient="row",
    )
    show_table(hardness, "The truth" + (", first 20 queries" if queries > 20 else ""))
