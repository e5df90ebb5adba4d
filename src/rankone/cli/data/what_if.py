"""``rankone what-if``: what another combination would have earned, from logged decisions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankone.cli._commands import command
from rankone.cli._experiments import experiment_of
from rankone.cli._options import CONFIDENCE, DEPTHS, SEED, with_options
from rankone.cli._tables import show_answer
from rankone.errors import InputError

if TYPE_CHECKING:
    from rankone.analysis import ReplayedPolicy, WhatIf, WhatIfLists
    from rankone.live import Experiment


@command("what-if", example="decisions.csv --target headline=A,image=1")
@with_options(DEPTHS)
def what_if(
    log: str = typer.Argument(
        ...,
        help="A row per decision, with its probability: an export, the Open Bandit Dataset, VW's dsjson, ...",
    ),
    target: str | None = typer.Option(
        None,
        help="What would have been shown: headline=A,image=1. To groups of visitors their own: "
        "'headline=A if device=phone; headline=B if device=desktop'.",
    ),
    items: str | None = typer.Option(
        None, "--list", help="The list that would have been shown, from the top: A,B,C. The log has a row per position."
    ),
    policy: str | None = typer.Option(
        None, help="A policy that would have decided and learned, such as uts; its first decisions are replayed."
    ),
    of: str | None = typer.Option(
        None, help="Of a list: clicks, their number, or any, whether there is one. Default: clicks."
    ),
    factor: list[str] | None = typer.Option(
        None,
        "--factor",
        help="A factor that was chosen at random; repeatable. Default: all factors of an export or of --target.",
    ),
    attribute: list[str] | None = typer.Option(
        None,
        "--attribute",
        help="A column of what was known of visitors, such as device; repeatable. Default: an export's own.",
    ),
    clicked: str | None = typer.Option(None, help="Column of the outcome. Default: clicked, click, reward, ..."),
    chance: str | None = typer.Option(
        None, help="Column of the decision's probability. Default: chance, propensity_score, ..."
    ),
    time: str | None = typer.Option(
        None, help="Column that orders decisions. Default: the number of an export, asked_at, timestamp, as they stand."
    ),
    experiment: str | None = typer.Option(
        None, help="Name of a live experiment; the log is then its database, a SQLite file or postgresql:// address."
    ),
    uniform: bool = typer.Option(
        False, "--uniform", help="The log has no probabilities: every combination in it was equally likely."
    ),
    estimated: bool = typer.Option(
        False, "--estimated", help="The log has no probabilities and its policy never changed: take its shares instead."
    ),
    out: Path | None = typer.Option(
        None, help="Draw clicks as the model of visitors predicts them and as observed: .png, .svg, .pdf or .html."
    ),
    tuning: str | None = typer.Option(
        None, help="How estimators with a setting choose it: mse, the smallest estimated error (default), or slope."
    ),
    confidence: float = CONFIDENCE,
    seed: int = SEED,
    **depths: bool,
) -> None:
    """Estimate what another combination, list or policy would have earned, from logged decisions."""
    import rankone
    from rankone.charts.chart import drawable

    given = [each for each in (target, items, policy) if each is not None]
    if len(given) != 1:
        raise InputError("one of --target, --list and --policy", f"{len(given)} of them", "say what would be shown")
    if items is None and of is not None:
        raise InputError("--of together with --list", f"--of {of} without", "leave it out: only lists have it")
    if items is not None and (factor or time is not None):
        got = "--factor" if factor else "--time"
        raise InputError("--list without --factor and --time", got, "leave it out: a list has items and positions")

    if tuning is not None and target is None:
        raise InputError("--tuning together with --target", "another target", "leave it out")
    if out is not None:
        if target is None:
            raise InputError("--out together with --target", "another target", "leave it out: it draws that model")
        drawable(out)
    how: dict[str, Any] = {"clicked": clicked, "chance": chance, "uniform": uniform, "estimated": estimated}
    how |= {"level": confidence, "seed": seed}

    def ask(source: str | Experiment) -> WhatIf | WhatIfLists | ReplayedPolicy:
        if items is not None:
            wanted = [item.strip() for item in items.split(",")]
            return rankone.evaluate_lists(source, wanted, of=of or "clicks", **how)
        asked: Any = target if policy is None else rankone.as_policy(policy)
        named = {"factors": factor or (), "attributes": attribute or (), "time": time, "tuning": tuning or "mse"}
        return rankone.evaluate(source, asked, **named, **how)

    if experiment is None:
        answer = ask(log)
    else:
        with experiment_of(log, experiment) as live:
            answer = ask(live)
    show_answer(answer, **depths)
    if out is not None and isinstance(answer, rankone.WhatIf):
        answer.chart().save(out)
        if not depths["as_json"]:
            print(f"Written: {out}")
