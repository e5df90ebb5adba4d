"""``rankone sweep``: regret against a parameter, over a grid written in a file."""

from pathlib import Path

import typer

from rankone.cli._commands import command
from rankone.cli._options import CLUSTER, JSON, WORKERS, executor_of, whole_number
from rankone.cli._tables import print_json, show_table


@command("sweep", example="delays --runs 4 --out out/delays")
def sweep(
    file: str = typer.Argument(..., help="A TOML or YAML file, or a shipped example: scaling, delays."),
    out: Path = typer.Option(..., help="Directory for runs, tables and charts; a stopped sweep continues there."),
    runs: int | None = typer.Option(None, help="Runs at each point, instead of the file's."),
    horizon: int | None = typer.Option(
        None, parser=whole_number, help="Decisions per run, instead of the file's; 1e5 is fine.", metavar="N"
    ),
    workers: int | None = WORKERS,
    cluster: str | None = CLUSTER,
    as_json: bool = JSON,
) -> None:
    """Simulate a grid of problems, policies, horizons and delays, and draw regret against one of them."""
    import rankone
    from rankone.cli._progress import progress_bar
    from rankone.simulation.study import TITLES
    from rankone.simulation.sweep_file import read_sweeps

    written = read_sweeps(file)
    results = {}
    with executor_of(cluster) as executor:
        for plan in written:
            instead = {"runs": runs, "horizon": horizon}
            settings = plan.settings | {name: value for name, value in instead.items() if value is not None}
            with progress_bar(f"runs of {plan.name}", out=out, compiles=True) as progress:
                result = rankone.sweep(
                    **settings, workers=workers, executor=executor, out=out / plan.name, progress=progress
                )
            result.save(out / plan.name, title=plan.title, theory=plan.exponent)
            results[plan.name] = result
    if as_json:
        tables = {name: {"points": each.table, "exponents": each.exponents()} for name, each in results.items()}
        print_json({name: {what: table.to_dicts() for what, table in own.items()} for name, own in tables.items()})
        return
    for plan in written:
        result = results[plan.name]
        shown = {**dict.fromkeys(result.grid), result.x: None, "policy": None}
        figures = {name: TITLES[name] for name in ("regret_mean", "regret_se", "regret_median", "sync_points")}
        show_table(result.table.select(*shown, *figures, "cut_off").rename(figures), f"{plan.title} ({plan.name})")
        if plan.exponent is not None:
            title = f"Regret as a power of {result.x}: theory says {plan.exponent:g}"
            show_table(result.exponents(), title)
        print(f"Written: {out / plan.name}/ (sweep.png, sweep.csv, sweep.parquet, exponents.csv)\n")
