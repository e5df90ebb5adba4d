"""``rankone examination``: how often positions are looked at, which of them the data link, and what would fix it."""

from typing import Any

import typer

from rankone.cli import _logs
from rankone.cli._commands import command
from rankone.cli._options import CONFIDENCE, JSON, with_options
from rankone.cli._tables import print_json


@command("examination", example="log.tsv.gz --precision 0.1 --loss 0.01")
@with_options(_logs.READING)
def examination(
    log: list[str] = _logs.LOGS,
    method: str = typer.Option("likelihood", help="likelihood, or all-pairs for intervention harvesting."),
    level: float = CONFIDENCE,
    precision: float | None = typer.Option(
        None, help="Plan swaps after which every interval ends at most this far above its estimate: 0.1 is 10%."
    ),
    loss: float = typer.Option(0.01, help="Share of the clicks that the swaps may cost while they run."),
    swapped: float = typer.Option(0.1, help="Share of the lists that may have a swap."),
    lists_a_day: float | None = typer.Option(None, help="Lists shown per day, to say how long the swaps take."),
    swaps_alone: bool = typer.Option(
        False, "--swaps-alone", help="Do not use the log in the plan, because its items moved for reasons of their own."
    ),
    top: int = typer.Option(0, min=0, help=_logs.TOP_HELP),
    as_json: bool = JSON,
    **reading: Any,
) -> None:
    """Estimate how often visitors look at each position of a list, and plan swaps that would measure it."""
    from rankone import clicks

    counts = _logs.read_counts(log, top, reading)
    curve = clicks.examination_curve(counts, method=method, level=level)
    plan = None
    if precision is not None:
        wanted: dict[str, Any] = {"loss": loss, "swapped": swapped, "lists_a_day": lists_a_day, "level": level}
        plan = clicks.swap_plan(counts, precision=precision, swaps_alone=swaps_alone, **wanted)
    if as_json:
        content = {"log": counts.report.to_dict(), "curve": curve.to_dict()}
        print_json(content | ({"plan": plan.to_dict()} if plan else {}))
        return
    print(curve)
    for warning in counts.report.warnings():
        print(f"Beware: {warning}")
    if plan is not None:
        print(f"\n{plan}")
        if plan.lists:
            print(f"\nThe policy: {plan.policy()}")
