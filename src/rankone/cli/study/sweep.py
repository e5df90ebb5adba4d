"""``rankone sweep``: regret against a parameter, over a grid written in a file."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from rankone.cli._commands import STUDY, command
from rankone.cli._options import CLUSTER, WORKERS, executor_of, whole_number


@command("sweep", example="delays --runs 4 --out out/delays", topic=STUDY)
def sweep(
    file: str = typer.Argument(..., help="A TOML or YAML file, or a shipped example: scaling, delays."),
    out: Path = typer.Option(..., help="Directory for runs, tables and charts; a stopped sweep continues there."),
    runs: int | None = typer.Option(None, help="Runs at each point, instead of the file's."),
    horizon: int | None = typer.Option(
        None, parser=whole_number, help="Decisions per run, instead of the file's; 1e5 is fine.", metavar="N"
    ),
    workers: int | None = WORKERS,
    cluster: str | None = CLUSTER,
    as_json: bool = typer.Option(False, "--json", help="Print the points and exponents as JSON and nothing else."),
) -> None:
    """Simulate over a grid of problems, policies, horizons and delays; chart regret against a parameter."""
    import rankone
    from rankone.cli._progress import progress_bar
    from rankone.cli._tables import show_table
    from rankone.simulation.sweep_file import read_sweeps

    written = read_sweeps(file)
    found = {}
    with executor_of(cluster) as executor:
        for plan in written:
            instead = {"runs": runs, "horizon": horizon}
            settings = plan.settings | {name: value for name, value in instead.items() if value is not None}
            with progress_bar(f"runs of {plan.name}", out=out, compiles=True) as progress:
                result = rankone.sweep(
                    **settings, workers=workers, executor=executor, out=out / plan.name, progress=progress
                )
            result.save(out / plan.name, title=plan.title, theory=plan.exponent)
            found[plan.name] = result
    if as_json:
        content = {
            name: {"points": result.table.to_dicts(), "exponents": result.exponents().to_dicts()}
            for name, result in found.items()
        }
        print(json.dumps(content, indent=1))
        return
    for plan in written:
        result = found[plan.name]
        shown = {**dict.fromkeys(result.grid), result.x: None, "policy": None}
        figures = {
            "regret_mean": "regret", "regret_se": "± se", "regret_median": "median", "sync_points": "sync points",
        }  # fmt: skip
        show_table(result.table.select(*shown, *figures, "cut_off").rename(figures), f"{plan.title} ({plan.name})")
        if plan.exponent is not None:
            title = f"Regret as a power of {result.x}: theory says {plan.exponent:g}"
            show_table(result.exponents(), title)
        print(f"Written: {out / plan.name}/ (sweep.png, sweep.csv, sweep.parquet, exponents.csv)\n")
