"""``rankone arena``: judge policies on the named problems."""

from pathlib import Path
from typing import Any

import typer

from rankone.cli._commands import command
from rankone.cli._options import JSON, SEED, WORKERS, policy_option, problem_option
from rankone.cli._tables import SPARE, print_json, show_table

_RESULTS = "problem policy runs horizon regret_mean regret_se regret_median regret_p95 regret_p99 times_bound "
_RESULTS += "sync_points seconds"
_SCORES = "policy times_bound against_mean against_worst worst_problem against_trap_p99"
_WORLDS = "policy world against_mean lost"
_TITLES = {"regret_p99": "p99", "times_bound": "x bound", "against_worst": "worst", "worst_problem": "on"}
_TITLES |= {"against_trap_p99": "worst p99 on traps", "lost": "p95 of random's loss"}


@command("arena", example="--quick --policy uts --policy ucb1")
def arena(
    policy: list[str] = policy_option([], "A policy; repeatable. Default: every policy."),
    problem: list[str] = problem_option([], "A problem of the arena; repeatable. Default: both halves."),
    of: str = typer.Option(
        "pairs", help="Which arena: pairs, lists, factors, drifting, features, visitors or arrivals (users who come)."
    ),
    half: str | None = typer.Option(None, help="'tune' or 'report', the two halves, or 'headlines', the third part."),
    models: Path | None = typer.Option(None, help="File of fitted click models that join the named problems."),
    runs: int | None = typer.Option(None, help="Runs of each policy on each problem; default 100, with --quick 10."),
    seed: int = SEED,
    stretch: int = typer.Option(1, help="Play this many times each problem's horizon."),
    against: str | None = typer.Option(
        None, help="The policy that ratios compare with; default uts, of lists gibbs-ts."
    ),
    quick: bool = typer.Option(False, "--quick", help="A tenth of each horizon and fewer runs, for a first look."),
    feedback: str = typer.Option("immediate", help="When outcomes come: delay:mean=1000, batch:size=1000, ..."),
    workers: int | None = WORKERS,
    out: Path = typer.Option(Path("out/arena"), help="Directory for results; a stopped arena continues there."),
    as_json: bool = JSON,
) -> None:
    """Compare policies on 22 named problems, each at its own horizon: table, scores, heat map."""
    from rankone.cli._progress import progress_bar
    from rankone.simulation.arena import arena as play
    from rankone.simulation.study import TITLES

    runs = (10 if quick else 100) if runs is None else runs
    which: Any = {"of": of, "half": half, "models": models}
    how: Any = {"runs": runs, "seed": seed, "stretch": stretch, "quick": quick, "against": against}
    how["feedback"] = feedback
    with progress_bar("runs", out=out, compiles=True) as progress:
        result = play(problem or None, policy or None, workers=workers, out=out, progress=progress, **which, **how)
    result.save(out)
    if as_json:
        print_json(result.table.to_dicts())
        return
    print(result.headline)
    titles = TITLES | {"against_mean": f"x {result.against}"}
    for table, shown, title in (
        (result.table, _RESULTS, f"The arena, seed {seed}, outcomes {feedback}"),
        (result.scores(), _SCORES, f"Geometric means over problems; ratios to {result.against}"),
        (
            result.robustness() if result.of_lists else None,
            _WORLDS,
            "Each policy in each world, also where it was not made for",
        ),
    ):
        if table is not None:
            columns = {name: titles.get(name, _TITLES.get(name, name)) for name in shown.split()}
            show_table(table, title, columns, ("runs", "p99", *SPARE))
    print(
        f"Written: {out}/arena.csv, scores.csv, {'robustness.csv, ' * result.of_lists}arena.png, arena.svg, arena.html"
    )
