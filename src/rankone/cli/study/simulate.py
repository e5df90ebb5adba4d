"""``rankone simulate``: compare policies on problems; table, chart and Parquet."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankone.cli._commands import command
from rankone.cli._options import CLUSTER, JSON, SEED, WORKERS, executor_of, policy_option, problem_option, whole_number
from rankone.cli._tables import SPARE, print_json, show_table, summary_columns

if TYPE_CHECKING:
    from rankone.simulation import Study


_VERSUS = {
    "problem": "problem",
    "policy": "policy",
    "other": "beats",
    "difference": "by (regret)",
    "se": "± se",
    "better": "better in (share of runs)",
}
# What a newcomer sees on lists: learns examination too, the best where lists are read from the top, and a yardstick.
_LISTS_COMPARED = ("gibbs-ts", "cascade-ts", "random-list")


@command("simulate", example="--problem needle:8x8 --policy uts --policy ucb1 --horizon 1e5 --out out/study")
def simulate(
    problem: list[str] = problem_option(..., "A problem: needle:32x32, a file, models.json#QUERY; repeatable."),
    policy: list[str] = policy_option(
        [], "A policy: uts, kl-ucb:c=3; repeatable. Default: the recommended one and two to compare with."
    ),
    horizon: int = typer.Option(100_000, parser=whole_number, help="Decisions per run; 2e6 is fine.", metavar="N"),
    runs: int = typer.Option(20, help="Runs of each policy on each problem."),
    seed: int = SEED,
    workers: int | None = WORKERS,
    cluster: str | None = CLUSTER,
    feedback: str = typer.Option(
        "immediate", help="When outcomes come: immediate, delay:steps=100, delay:mean=100, batch:size=1000."
    ),
    log: bool = typer.Option(False, "--log", help="Checkpoints and axes on a log scale."),
    paired: bool = typer.Option(False, "--paired", help="Give all policies the same visitors, and say who beats whom."),
    out: Path | None = typer.Option(
        None, help="Directory for runs, table, summary and chart; a stopped study continues there."
    ),
    as_json: bool = JSON,
) -> None:
    """Compare policies in simulation: which one loses the fewest clicks on a problem?"""
    import rankone
    from rankone.cli._progress import NOTHING_KEPT, progress_bar, said_first
    from rankone.simulation.recommend import COMPARED_WITH
    from rankone.specs import amount

    note = None
    if not policy and problem and rankone.as_problem(problem[0]).decision_kind == "list":
        policy = list(_LISTS_COMPARED)
        note = f"No --policy given: comparing {', '.join(policy)}, which play lists."
    elif not policy:
        advice = rankone.recommend(horizon=horizon, feedback=feedback)
        policy = [advice.policy.label, *COMPARED_WITH]
        note = f"No --policy given: comparing {', '.join(policy)}.\n{advice}"
    kept = f"{NOTHING_KEPT}; --out DIRECTORY keeps what is finished"
    with executor_of(cluster) as executor, progress_bar("runs", kept, out=out, compiles=True) as progress:
        how: Any = {"seed": seed, "workers": workers, "executor": executor, "out": out, "on_stop": "raise"}
        how |= {"checkpoints": "log" if log else 100, "feedback": feedback, "progress": said_first(note, progress)}
        study = rankone.simulate(problem, policy, horizon=horizon, runs=runs, paired=paired, **how)
    if out is not None:
        whole = rankone.Study.load(out)  # with what earlier calls have left there
        whole.save(out, log_steps=log, log_regret=log)
    if as_json:
        summary, versus = study.summary().to_dicts(), study.versus().to_dicts()
        print_json({"summary": summary, "versus": versus} if paired else summary)
        return
    if study.headline:
        print(study.headline)
    when = "" if study.feedback.is_immediate else f", feedback {study.feedback}"
    played = f"{amount(horizon, 'decision')}, {amount(runs, 'run')}"
    show_table(study.summary(), f"{played}, seed {seed}{when}", summary_columns(), SPARE)
    if paired:
        show_table(study.versus(), "Who beats whom: less regret in the same runs", _VERSUS)
    if out is not None:
        print(f"Written: {out / 'table.parquet'}, summary.csv, summary.json, regret.png")
        if earlier := _earlier(whole, study):
            print(f"The files also show what {out} already held: {earlier}.")
    else:
        print("Nothing is kept: --out DIRECTORY keeps the runs and draws regret over time.", file=sys.stderr)


def _earlier(whole: Study, study: Study) -> str:
    """Name what a directory held before: other policies, other problems."""
    asked = {problem.digest for problem in study.problems}
    problems = [problem.name for problem in whole.problems if problem.digest not in asked]
    policies = [policy for policy in whole.policies if policy not in study.policies]
    return "; ".join(
        f"{what} {', '.join(names)}" for what, names in (("policies", policies), ("problems", problems)) if names
    )
