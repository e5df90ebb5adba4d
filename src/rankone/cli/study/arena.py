"""``rankone arena``: judge policies on the named problems."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from rankone.cli._commands import STUDY, command
from rankone.cli._options import WORKERS, policy_names


@command("arena", example="--quick --policy uts --policy ucb1", topic=STUDY)
def arena(
    policy: list[str] = typer.Option(
        [], "--policy", "-P", autocompletion=policy_names, help="A policy; repeatable. Default: every policy."
    ),
    problem: list[str] = typer.Option(
        [], "--problem", "-p", help="A problem of the arena; repeatable. Default: those of both halves."
    ),
    lists: bool = typer.Option(False, "--lists", help="The arena of lists: 16 other problems, and policies that rank."),
    factors: bool = typer.Option(
        False, "--factors", help="The arena of two to eight factors: 18 other problems, policies that play any number."
    ),
    drifting: bool = typer.Option(
        False, "--drifting", help="The arena of 16 worlds: most change while they are played, some do not."
    ),
    half: str | None = typer.Option(None, help="'tune' or 'report', the two halves, or 'headlines', the third part."),
    models: Path | None = typer.Option(None, help="File of fitted click models that join the named problems."),
    runs: int | None = typer.Option(None, help="Runs of each policy on each problem; default 100, with --quick 10."),
    seed: int = typer.Option(0, help="Seed of the random numbers."),
    stretch: int = typer.Option(1, help="Play this many times each problem's horizon."),
    against: str | None = typer.Option(
        None, help="The policy that ratios compare with; default uts, for lists gibbs-ts."
    ),
    quick: bool = typer.Option(False, "--quick", help="A tenth of each horizon and fewer runs, for a first look."),
    feedback: str = typer.Option("immediate", help="When outcomes come: delay:mean=1000, batch:size=1000, ..."),
    workers: int | None = WORKERS,
    out: Path = typer.Option(Path("out/arena"), help="Directory for results; a stopped arena continues there."),
    as_json: bool = typer.Option(False, "--json", help="Print the table as JSON and nothing else."),
) -> None:
    """Judge policies on 22 named problems (others if you choose), each at its own horizon: table, scores, heat map."""
    from rankone.cli._progress import progress_bar
    from rankone.cli._summary import SPARE
    from rankone.cli._tables import show_table
    from rankone.simulation.arena import arena as play

    if runs is None:
        runs = 10 if quick else 100
    with progress_bar("runs", out=out, compiles=True) as progress:
        found = play(
            problem or None, policy or None, lists=lists, factors=factors, drifting=drifting, half=half, models=models,  # type: ignore[arg-type]
            runs=runs, seed=seed, stretch=stretch, quick=quick, against=against, workers=workers, out=out,
            progress=progress, feedback=feedback,
        )  # fmt: skip
    found.save(out)
    if as_json:
        print(json.dumps(found.table.to_dicts(), indent=1))
        return
    columns = {
        "problem": "problem", "policy": "policy", "runs": "runs", "horizon": "horizon", "regret_mean": "regret",
        "regret_se": "± se", "regret_median": "median", "regret_p95": "p95", "regret_p99": "p99",
        "times_bound": "x bound", "sync_points": "sync points", "seconds": "s per run",
    }  # fmt: skip
    show_table(found.table, f"The arena, seed {seed}, outcomes {feedback}", columns, ("runs", "p99", *SPARE))
    scores = {
        "policy": "policy", "times_bound": "x bound", "against_mean": f"x {found.against}", "against_worst": "worst",
        "worst_problem": "on", "against_trap_p99": "worst p99 on traps",
    }  # fmt: skip
    show_table(found.scores(), f"Geometric means over problems; ratios to {found.against}", scores)
    if lists:
        matrix = {
            "policy": "policy", "world": "world", "against_mean": f"x {found.against}", "lost": "p95 of random's loss",
        }  # fmt: skip
        show_table(found.robustness(), "Each policy in each world, also where it was not made for", matrix)
    print(
        f"Written: {out}/arena.csv, scores.csv, {'robustness.csv, ' if lists else ''}arena.png, arena.svg, arena.html"
    )
