"""``rankone examination``: how often positions are looked at, which of them the data link, and what would fix it."""

from __future__ import annotations

import json

import typer

from rankone.cli import _logs
from rankone.cli._commands import DATA, command
from rankone.cli._wording import as_format_options, told_as


@command("examination", example="log.tsv.gz --precision 0.1 --loss 0.01", topic=DATA)
def examination(
    log: list[str] = _logs.LOGS,
    format: str | None = _logs.FORMAT,
    option: list[str] | None = _logs.OPTION,
    method: str = typer.Option("likelihood", help="likelihood, or all-pairs for intervention harvesting."),
    level: float = typer.Option(0.95, help="Level of the intervals."),
    precision: float | None = typer.Option(
        None, help="Plan swaps after which every interval ends at most this far above its estimate: 0.1 is 10 %."
    ),
    loss: float = typer.Option(0.01, help="Share of the clicks that the swaps may cost while they run."),
    swapped: float = typer.Option(0.1, help="Share of the lists that may have a swap."),
    lists_a_day: float | None = typer.Option(None, help="Lists shown per day, to say how long the swaps take."),
    swaps_alone: bool = typer.Option(
        False, "--swaps-alone", help="Plan as if the log said nothing, because items moved for reasons of their own."
    ),
    top: int = typer.Option(0, min=0, help="Keep this many queries, the most frequent ones; 0 keeps all."),
    positions: int | None = _logs.POSITIONS,
    strict: bool = _logs.STRICT,
    max_bad: float = _logs.MAX_BAD,
    as_json: bool = typer.Option(False, "--json", help="Print JSON and nothing else."),
) -> None:
    """Estimate how often each position is looked at, say which positions the data link, and plan swaps that would."""
    from rankone import clicks

    counts = _logs.read_counts(log, format, option, top, positions=positions, strict=strict, max_bad=max_bad)
    plan = None
    with told_as(as_format_options):
        curve = clicks.examination_curve(counts, method=method, level=level)
        if precision is not None:
            plan = clicks.swap_plan(
                counts, precision=precision, loss=loss, swapped=swapped, lists_a_day=lists_a_day,
                swaps_alone=swaps_alone, level=level,
            )  # fmt: skip
    if as_json:
        found = {"log": counts.report.to_dict(), "curve": curve.to_dict()}
        print(json.dumps(found | ({"plan": plan.to_dict()} if plan else {}), indent=1))
        return
    print(curve)
    for warning in counts.report.warnings():
        print(f"Beware: {warning}")
    if plan is not None:
        print(f"\n{plan}")
        if plan.lists:
            print(f"\nThe policy: {plan.policy()}")
