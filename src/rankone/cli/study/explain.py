"""``rankone explain``: a run of a policy as a page to step through, and as a figure."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from rankone.cli._commands import STUDY, command
from rankone.cli._options import policy_names, whole_number


@command("explain", example="--policy uts --out out/explain", topic=STUDY)
def explain(
    policy: str = typer.Option(
        "rank1elim-kl",
        "--policy",
        "-P",
        autocompletion=policy_names,
        help="The policy to explain: rank1elim-kl:c=0, uts.",
    ),
    problem: str | None = typer.Option(
        None, "--problem", "-p", help="A small problem, such as needle:4x4 or a file; default: headlines and images."
    ),
    horizon: int = typer.Option(20_000, parser=whole_number, help="Decisions of the run.", metavar="N"),
    seed: int = typer.Option(0, help="Seed of the policy and of the outcomes."),
    out: Path = typer.Option(Path("out/explain"), help="Directory for the page and the figure."),
) -> None:
    """Show how a policy works: stages, intervals, eliminations, traffic; a page to step through and a figure."""
    import rankone

    chosen = rankone.as_policy(policy)  # a wrong name is refused before anything is said
    shown = None if problem is None else rankone.as_problem(problem)
    print(f"Playing {chosen}; the first time on a machine it is compiled before ...", file=sys.stderr)
    told = rankone.explain(chosen, shown, horizon=horizon, seed=seed)
    paths = told.save(out)
    print(told.frames[-1].text)
    print(f"Written: {', '.join(str(path) for path in paths)}")
