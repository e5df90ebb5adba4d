"""``rankone identify``: decisions until a rule is sure of the best, and how often it is wrong."""

import typer

from rankone.cli._commands import command
from rankone.cli._options import JSON, SEED, policy_option, problem_option, whole_number
from rankone.cli._tables import print_json


@command("identify", example="--problem needle:4x4 --aim decide --aim both --runs 50")
def identify(
    problem: list[str] = problem_option(..., "A product of factors: needle:8x8, a file; repeatable."),
    policy: list[str] = policy_option(["uts"], "The policy, where it decides instead of exploring; repeatable."),
    aim: list[str] = typer.Option(["both", "decide"], help="earn, both, decide, or policy (alone); repeatable."),
    error: float = typer.Option(0.05, help="Probability of a wrong verdict, at most."),
    budget: list[int] = typer.Option(
        [], parser=whole_number, help="Also name the best after N decisions.", metavar="N"
    ),
    longest: int = typer.Option(100_000, parser=whole_number, help="Decisions of a run, at most.", metavar="N"),
    runs: int = typer.Option(100, help="Runs of each rule on each problem."),
    seed: int = SEED,
    as_json: bool = JSON,
) -> None:
    """Count decisions until a rule is sure of the best combination, and wrong answers."""
    from rankone.cli._progress import progress_bar
    from rankone.simulation.identification import identify as play

    with progress_bar("rules", compiles=True) as progress:
        wanted = {"aims": aim, "error": error, "budgets": budget, "longest": longest, "runs": runs, "seed": seed}
        found = play(problem, policy, progress=progress, **wanted)  # type: ignore[arg-type]
    if as_json:
        print_json({"confidence": found.confidence, "budget": found.budget, "error": error})
        return
    print(found)
    if found.budget:
        print(found.budget_text)
