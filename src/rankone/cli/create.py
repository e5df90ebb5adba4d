"""``rankone create``: a new live experiment."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import typer

from rankone.cli._commands import LIVE, command
from rankone.cli._experiments import DB, NAME, level_of_each, levels_of_factors
from rankone.cli._options import policy_names


@command("create", example="rankone.db homepage --row A --row B --col x --col y --window 600", topic=LIVE)
def create(
    db: str = DB,
    name: str = NAME,
    row: list[str] = typer.Option([], "--row", help="Name of a row, such as a headline; repeatable."),
    col: list[str] = typer.Option([], "--col", help="Name of a column, such as an image; repeatable."),
    factor: list[str] = typer.Option(
        [],
        "--factor",
        help="Any number of factors instead of rows and columns: a name and its levels, such as headline=A,B,C; "
        "repeatable, also for more levels of one factor.",
    ),
    window: float | None = typer.Option(
        None, help="Seconds after which silence counts as not clicked. Without it, tell both: clicked and not clicked."
    ),
    policy: str | None = typer.Option(
        None, "--policy", "-P", autocompletion=policy_names, help="Policy that chooses what is shown; default: uts."
    ),
    auto_stop: float | None = typer.Option(
        None, help="Stop when a winner is known with at most this probability of error, such as 0.05."
    ),
    max_open: int | None = typer.Option(None, help="How many decisions may wait for their outcomes; default: 100,000."),
    max_age: float | None = typer.Option(
        None,
        help="Seconds after which a decision without an outcome may be closed to make room; default: an hour. "
        "Not with --window, which closes decisions itself.",
    ),
    reward_cap: float | None = typer.Option(
        None,
        help="Largest reward there can be, such as 100: outcomes may then be rewards. Without it, they are clicks.",
    ),
    goal: str | None = typer.Option(
        None,
        help="What it is for: earn (clicks), decide (find the winner soonest) or both; both if left out, earn if you "
        "name a policy.",
    ),
    explore: float | None = typer.Option(
        None,
        help="Share of decisions that explore until there is a verdict; if left out, 0.02 to earn, 0.5 for both, 1 to "
        "decide. 0: the policy alone.",
    ),
    margin: float | None = typer.Option(
        None, help="A leading pair within this part of the best one is good enough, such as 0.05."
    ),
    control: str | None = typer.Option(
        None,
        help='What keeps a share of the traffic until the end: a pair as row,column, such as "A,x", or with --factor '
        "headline=A,image=1.",
    ),
    share: float | None = typer.Option(None, help="The share of the control; a tenth if left out."),
    on_change: str | None = typer.Option(
        None,
        help="What to do when clicks of levels change against each other: restart (begin anew), tell (in the report) "
        "or ignore.",
    ),
    on_misfit: str | None = typer.Option(
        None,
        help="What to do when levels are no product: insure (go on with a policy that looks at all combinations), tell "
        "or ignore.",
    ),
    per_segment: bool = typer.Option(
        False, "--per-segment", help="Show visitors what is best in their segment (ask with a segment)."
    ),
    prior: Path | None = typer.Option(
        None, help="Past counts to begin with: a table of what was shown and clicked, as rankone analyse reads it."
    ),
    prior_weight: float | None = typer.Option(
        None, help="How much a past impression counts, up to 1; 0.5 if left out."
    ),
) -> None:
    """Create an experiment in a database, and the database if it is new; a running service picks it up."""
    from rankone.errors import InputError
    from rankone.serving import Database, Experiment
    from rankone.serving.prior import WEIGHT, read_prior, weighted
    from rankone.serving.report_wording import alone_text, prior_text
    from rankone.serving.settings import checked_number, checked_settings, policy_for_segments

    factors = levels_of_factors(factor) or None
    chosen_policy = policy_for_segments(policy) if per_segment else policy
    held = None if control is None else level_of_each(control.split(",")) if factors else _pair(control, row, col)
    more: dict[str, Any] = {"window": window, "auto_stop": auto_stop, "max_open": max_open, "max_age": max_age}
    more |= {"reward_cap": reward_cap, "on_change": on_change, "on_misfit": on_misfit}
    more |= {"goal": goal, "explore": explore, "margin": margin, "control": held, "share": share}
    more |= {"factors": factors, "rows": row or None, "cols": col or None}
    if not factors and not (row and col):
        expected = "--row and --col, or --factor, to say what is tried"
        raise InputError(expected, "none" if not row and not col else "one of them", "try --row A --row B --col x")
    checked_settings(policy=chosen_policy, seed=None, **more)  # before there is a file
    if prior is None and prior_weight is not None:
        raise InputError("--prior with --prior-weight", "no past counts", "name their file, or leave the weight out")
    past = None if prior is None else read_prior(prior)
    weight = (
        WEIGHT if prior_weight is None else checked_number(prior_weight, "--prior-weight", 0, 1, "--prior-weight 0.5")
    )
    if past is not None:
        weighted(past, factors or {"row": row, "col": col}, weight)
    with Database(db) as database:
        where = database.where
        if name in database.names():
            do = f"see it: rankone experiments {shlex.quote(where)}, or choose another name"
            raise InputError("the name of a new experiment", name, do)
        made = Experiment(name, policy=chosen_policy, db=database, prior=past, weight=weight, **more).report()
    one = all(len(each.levels) == 1 for each in made.factors)
    what = "pairs" if made.are_pair else f"combination{'' if one else 's'} of {', '.join(made.best)}"
    size = " x ".join(str(len(each.levels)) for each in made.factors)
    chosen = f"{size} {what}, goal {made.goal}, policy {made.policy}"
    print(f"'{name}' is ready: {chosen}, in {where}.", file=sys.stderr)
    for sentence in [*alone_text(made), *prior_text(made)]:
        print(sentence, file=sys.stderr)


def _pair(control: str, rows: list[str], cols: list[str]) -> tuple[str, str]:
    """Return the names of a row and a column that are written with a comma between; names may have commas too."""
    from rankone.errors import InputError

    parts = control.split(",")
    cut = [(",".join(parts[:place]), ",".join(parts[place:]).lstrip()) for place in range(1, len(parts))]
    found = [pair for pair in cut if pair[0] in rows and pair[1] in cols] or cut
    if not found:
        raise InputError("a control as the names of a row and a column", control, 'try --control "A,x"')
    return found[0]
