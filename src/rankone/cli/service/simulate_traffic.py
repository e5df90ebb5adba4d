"""``rankone simulate-traffic``: a simulated audience against a running service."""

import sys
from typing import Any

import typer

from rankone.cli._commands import command
from rankone.cli._options import policy_option, problem_option, whole_number
from rankone.wording.numbers import percent


@command("simulate-traffic", example="http://127.0.0.1:8000 demo --problem needle:8x8")
def simulate_traffic(
    url: str = typer.Argument(..., help="Address of the service, such as http://127.0.0.1:8000."),
    name: str = typer.Argument(..., help="Name of the experiment; created if it is missing."),
    problem: str = problem_option(..., "How visitors click: needle:8x8, visitors:5x4:d=3 (with features), a file, ..."),
    policy: str | None = policy_option(None, "Policy, if the experiment has to be created."),
    rate: float = typer.Option(200.0, help="Visits per second.", min=0.1),
    visits: int | None = typer.Option(None, parser=whole_number, help="Stop after this many visits.", metavar="N"),
    batch: int = typer.Option(10, help="Visits per request.", min=1, max=1000),
    seed: int = typer.Option(0, help="Seed of the clicks."),
    context: str | None = typer.Option(None, help="Attributes of all these visitors: device=phone,country=DE."),
    token: str = typer.Option(None, envvar="RANKONE_TOKEN", help="Token with the scopes ask, tell, read and admin."),
) -> None:
    """Send simulated visitors to an experiment, marked as simulated; watch it on the page."""
    from rich.console import Console

    import rankone
    from rankone.client.client import Client
    from rankone.live.visitor_attributes import context_in_line
    from rankone.specs import amount
    from rankone.web.traffic import simulate_traffic as run

    world = rankone.as_problem(problem)
    said = None if context is None else context_in_line(context)
    how: Any = {"policy": policy, "rate": rate, "visits": visits, "batch": batch, "seed": seed, "context": said}
    console = Console(stderr=True, markup=False, highlight=False)

    def begin(truth: str) -> None:
        console.print(f"Simulated visitors for '{name}'. The truth, which the experiment does not know: {truth}.")
        console.print(f"Watch it at {url}. Press Ctrl-C to stop.")

    with Client(url, token) as client, console.status("") as status:

        def progress(visits: int, clicks: int) -> None:
            status.update(f"{amount(visits, 'visit')}, {amount(clicks, 'click')} ({percent(clicks / max(1, visits))})")

        total, clicks = run(client, name, world, begin=begin, progress=progress, **how)
        report = client.experiment(name).report()
    print(f"{amount(total, 'visit')}, {amount(clicks, 'click')}.", file=sys.stderr)
    print(report.brief)
