"""``rankone generate-log``: a Yandex-like click log with known truth."""

from pathlib import Path
from typing import Any

import typer

from rankone.cli._commands import command
from rankone.cli._options import JSON, SEED, json_file, whole_number
from rankone.cli._tables import print_json, show_rows


@command("generate-log", example="log.tsv.gz --lists 1e5 --truth truth.json")
def generate_log(
    out: Path = typer.Argument(..., help="The log to write; a name that ends in .gz or .zst is compressed."),
    lists: int = typer.Option(400_000, parser=whole_number, help="Sessions to write; 1e6 is fine.", metavar="N"),
    queries: int = typer.Option(20, help="Queries; 1 and 2 have the paper's size and hardness."),
    items: int | None = typer.Option(None, help="Items per query; default: 871, 807, then 800 to 900."),
    edges: bool = typer.Option(False, "--edges", help="Inject edge cases, counted exactly."),
    sigma: float = typer.Option(0.1, help="Error of the ranker that made the lists."),
    steepness: float = typer.Option(2.5, help="How strongly the ranker's order decides the lists."),
    seed: int = SEED,
    truth: Path | None = typer.Option(None, help="JSON file for the true problems."),
    as_json: bool = JSON,
) -> None:
    """Write a simulated click log whose true values are known, to experiment with."""
    from rankone import clicks
    from rankone.cli._progress import progress_bar
    from rankone.problems.files import save_problems

    json_file("--truth", truth)
    with progress_bar("sessions") as progress:
        how: dict[str, Any] = {"queries": queries, "items": items, "sigma": sigma, "steepness": steepness}
        log = clicks.generate_log(out, lists, edges=edges, seed=seed, progress=progress, **how)
    if truth is not None:
        save_problems(log.problems, truth, extra={"truth_of": out.name})
    numbers = {"rows": log.rows, "lists": log.lists, "clicks": log.clicks} | (log.injected if edges else {})
    if as_json:
        print_json({"path": str(out)} | numbers)
        return
    show_rows(list(numbers.items()), ("written", "number"), str(out))
    truths = [(p.name, p.n_rows, p.n_cols, p.mu, p.p_max, p.gamma, p.best_mean) for p in log.problems[:20]]
    columns = ("query", "items", "positions", "mu", "p_max", "gamma", "best click probability")
    show_rows(truths, columns, "The truth" + (", first 20 queries" if queries > 20 else ""))
