"""``rankone create``: a new live experiment. Its options are the settings that are declared (`live/settings.py`)."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from rankone.cli._commands import command
from rankone.cli._experiments import DB, NAME, declared_attributes, level_of_each, levels_of_factors
from rankone.cli._options import policy_names, with_options
from rankone.errors import InputError
from rankone.live.goals import parse_goals
from rankone.live.lists import ITEM
from rankone.live.setting_kinds import Setting
from rankone.live.settings import SETTINGS

_TYPES: dict[str, Any] = {
    "number": float,
    "whole": int,
    "flag": bool,
    "attributes": list[str],
    "goals": list[str],
    "counts": Path,
}
_WRITTEN = {
    "combination": " Written headline=A,image=1, or A,x for a row and a column; of a ranking, its list: news,shoes.",
    "attributes": " Written device=phone,desktop, country, age=18..90 or returning=bool; repeatable.",
    "goals": " Written order:kind=amount,cap=500; repeatable.",
}


def _option(setting: Setting) -> tuple[Any, Any]:
    """Return the type and the option of a setting."""
    word = setting.kind.word
    kind, is_policy = _TYPES.get(word, str), word == "policy"
    default = f" Default: {setting.default}." if setting.default else ""
    option = typer.Option(
        {"flag": False, "attributes": [], "goals": []}.get(word),
        f"--{setting.option}",
        *(["-P"] if is_policy else []),
        help=setting.help + _WRITTEN.get(word, "") + default,
        autocompletion=policy_names if is_policy else None,
    )
    return kind if word in ("flag", "attributes", "goals") else kind | None, option


_OPTIONS = {setting.option.replace("-", "_"): setting for setting in SETTINGS}


@command("create", example="rankone.db homepage --row A --row B --col x --col y --window 600")
@with_options({name: _option(setting) for name, setting in _OPTIONS.items()})
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
    items: list[str] = typer.Option(
        [],
        "--items",
        help="What the lists of a ranking may show, such as news,shoes,hats; repeatable. With --positions.",
    ),
    **options: Any,
) -> None:
    """Create an experiment, and its database if there is none yet. A running service picks it up."""
    from rankone.live import Database, Experiment
    from rankone.live.opening import checked_settings, weighted
    from rankone.live.report.report_wording import alone_text, prior_text

    factors = levels_of_factors([*factor, *(f"{ITEM}={names}" for names in items)]) or None
    if bool(items) != (options["positions"] is not None):
        got = "--items alone" if items else "--positions alone"
        raise InputError("--items with --positions", got, "try --items news,shoes,hats --positions 2")
    if not factors and not (row and col):
        expected = "--row and --col, or --factor"
        raise InputError(expected, "none" if not row and not col else "one of them", "try --row A --row B --col x")
    wanted = _wanted(options, row, col) | {"factors": factors, "rows": row or None, "cols": col or None}
    asked = checked_settings(wanted)  # before there is a file
    past = asked.get("prior", {}).get("counts")
    if past is not None:
        weighted(past, dict(asked["factors"]), 1.0)
        wanted["prior"]["counts"] = past
    with Database(db) as database:
        where = database.where
        if name in database.names():
            do = f"choose another name, or see it: rankone experiments {shlex.quote(where)}"
            raise InputError("the name of a new experiment", name, do)
        made = Experiment(name, db=database, **wanted).report()
    if made.ranking is not None:
        lists = f"lists of {made.ranking.positions} of {len(made.ranking.standing)} items"
        print(f"'{name}' is ready: {lists}, aim {made.aim}, policy {made.policy}, in {where}.", file=sys.stderr)
        return
    one = all(len(each.levels) == 1 for each in made.factors)
    what = f"combination{'' if one else 's'} of {', '.join(made.best)}"
    size = " x ".join(str(len(each.levels)) for each in made.factors)
    chosen = f"{size} {what}, aim {made.aim}, policy {made.policy}"
    print(f"'{name}' is ready: {chosen}, in {where}.", file=sys.stderr)
    for sentence in [*alone_text(made), *prior_text(made), *([] if past is None else past.taken)]:
        print(sentence, file=sys.stderr)


def _wanted(options: Mapping[str, Any], rows: Sequence[str], cols: Sequence[str]) -> dict[str, Any]:
    """Return the settings that options give, group by group."""
    wanted: dict[str, Any] = {}
    for name, setting in _OPTIONS.items():
        value = options[name]
        if value is None or value is False or value == []:
            continue
        if setting.kind.word == "attributes":
            value = declared_attributes(value)
        if setting.kind.word == "goals":
            value = parse_goals(value)
        if setting.kind.word == "combination":
            value = _control(value, rows, cols, options["positions"])
        value = setting.kind.check(value, f"--{setting.option}", f"try --{setting.option} {setting.example}")
        (wanted.setdefault(setting.group, {}) if setting.group else wanted)[setting.name] = value
    return wanted


def _control(value: str, rows: Sequence[str], cols: Sequence[str], positions: int | None) -> Any:
    """Return a control from how it is written: a list of items, a row and a column, or a level of each factor."""
    if positions:
        return [item.strip() for item in value.split(",")]
    return _pair(value, rows, cols) if rows or cols else level_of_each(value.split(","))


def _pair(control: str, rows: Sequence[str], cols: Sequence[str]) -> tuple[str, str]:
    """Return the names of a row and a column that are written with a comma between; names may have commas too."""
    parts = control.split(",")
    cut = [(",".join(parts[:comma]), ",".join(parts[comma:]).lstrip()) for comma in range(1, len(parts))]
    if not cut:
        raise InputError("a control as the names of a row and a column", control, 'try --control "A,x"')
    return next((pair for pair in cut if pair[0] in rows and pair[1] in cols), cut[0])
