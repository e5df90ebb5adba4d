"""``rankone hardness``, ``rankone identify``: the bounds on regret, and decisions until the best is known."""

import typer

from rankone.cli._commands import command
from rankone.cli._options import JSON, SEED, policy_option, problem_option, whole_number
from rankone.cli._tables import print_json


@command("hardness", example="needle:32x32 --horizon 1e6")
def hardness(
    problem: str = typer.Argument(help="A problem: needle:32x32, FILE.csv, FILE.json or FILE.json#NAME."),
    horizon: int = typer.Option(2_000_000, parser=whole_number, help="Decisions; 2e6 is fine.", metavar="N"),
    as_json: bool = JSON,
) -> None:
    """Say how many clicks any policy must lose on a problem, and how many an equal split loses.

    For rows and columns also gaps, mu, p_max, gamma and the bound of Theorem 1.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from rankone.problems import hardness as measure

    facts = measure(problem, horizon)
    if as_json:
        print_json(facts.to_dict())
        return
    table = Table(title=escape(facts.problem.name), title_justify="left", box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    for row in facts.facts():
        table.add_row(*map(escape, row))
    print(facts.headline)
    Console().print(table)


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
