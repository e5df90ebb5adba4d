"""``rankone explain``, ``rankone report``: a run of a policy, and a directory of results, as pages to hand on."""

import sys
from pathlib import Path

import typer

from rankone.cli._commands import command
from rankone.cli._options import SEED, policy_option, problem_option, whole_number


@command("explain", example="--policy uts --out out/explain")
def explain(
    policy: str | None = policy_option(None, "The policy to explain: rank1elim-kl:c=0, uts; default: one that suits."),
    problem: str | None = problem_option(
        None, "A small problem: needle:4x4, latent:50x10, a file; default: headlines and images."
    ),
    horizon: int = typer.Option(20_000, parser=whole_number, help="Decisions of the run.", metavar="N"),
    seed: int = SEED,
    out: Path = typer.Option(Path("out/explain"), help="Directory for the page."),
) -> None:
    """Show how a policy works, step by step: a page to click through."""
    import rankone

    chosen = policy and rankone.as_policy(policy)  # a wrong name is refused before anything is said
    if problem is not None:
        rankone.as_problem(problem)
    print(f"Playing {chosen or 'a run'}; the first time on a machine this takes longer ...", file=sys.stderr)
    explained = rankone.explain(chosen, problem, horizon=horizon, seed=seed)
    paths = explained.save(out)
    print(explained.frames[-1].text)
    print(f"Written: {', '.join(str(path) for path in paths)}")


@command("report", example="out/study")
def report(
    directory: Path = typer.Argument(..., help="What simulate, arena or reproduce wrote with --out."),
    out: Path | None = typer.Option(None, help="The file to write; default: report.html in the directory."),
) -> None:
    """Write one HTML report about a directory of results: charts, tables, settings and how to reproduce it."""
    import rankone

    path = rankone.report(directory, out)
    print(f"Written: {path} ({path.stat().st_size / 1e6:.1f} MB, opens without a network)")
