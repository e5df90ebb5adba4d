"""``rankone stop``, ``resume``, ``forbid``, ``context``, ``exclude``, ``void-open``: change a live experiment."""

from typing import Any

import typer

from rankone.cli._commands import command
from rankone.cli._experiments import ATTRIBUTE_HELP, DB, NAME, declared_attributes, experiment_of, level_of_each
from rankone.cli._options import moment_option
from rankone.wording.combinations import combination_text

_LEVEL_HELP = "A level of a factor, such as image=2; repeatable."


@command("stop", example="rankone.db homepage --level headline=A --level image=x")
def stop(
    db: str = DB,
    name: str = NAME,
    level: list[str] = typer.Option([], "--level", help=_LEVEL_HELP),
    items: str | None = typer.Option(None, "--list", help="Of a ranking: the list, such as news,shoes,hats."),
    why: str = typer.Option("by hand", help="Reason, shown in the report."),
) -> None:
    """Stop an experiment: every visitor now sees one combination or list, the leader unless you name another."""
    levels: Any = level_of_each(level) if items is None else [name.strip() for name in items.split(",")]
    with experiment_of(db, name) as experiment:
        experiment.stop(levels, why=why)
        print(experiment.report().brief)


@command("resume", example="rankone.db homepage")
def resume(db: str = DB, name: str = NAME) -> None:
    """Resume a stopped experiment with everything learned so far."""
    with experiment_of(db, name) as experiment:
        experiment.resume()
        print(experiment.report().brief)


@command("forbid", example="rankone.db page --level headline=A --level button=buy")
def forbid(
    db: str = DB,
    name: str = NAME,
    level: list[str] = typer.Option(..., "--level", help=_LEVEL_HELP),
    allow: bool = typer.Option(False, "--allow", help="Show them together again."),
) -> None:
    """Never show levels of two or more factors together, such as "20% off" with "19 dollars off"."""
    levels = level_of_each(level) or {}
    with experiment_of(db, name) as experiment:
        (experiment.allow if allow else experiment.forbid)(levels)
        print(f"{'Allowed again' if allow else 'Never shown together'}: {combination_text(levels)}.")


@command("context", example="rankone.db homepage --attribute device=phone,desktop --attribute country")
def context(
    db: str = DB,
    name: str = NAME,
    attribute: list[str] = typer.Option(..., "--attribute", help=f"{ATTRIBUTE_HELP}; repeatable, name all of them."),
) -> None:
    """Declare which attributes of visitors count; all others are ignored."""
    with experiment_of(db, name) as experiment:
        experiment.declare_context(declared_attributes(attribute))
        what = experiment.changes()[-1].what
        print(f"{what[:1].upper()}{what[1:]}.")


@command("exclude", example="rankone.db homepage --token 4f1c09ab77d2 --why robots")
def exclude(
    db: str = DB,
    name: str = NAME,
    source: str | None = typer.Option(None, help="Outcomes told with this source."),
    token: str | None = typer.Option(None, help="What was asked or told with this token, by its id."),
    level: list[str] = typer.Option([], "--level", help=_LEVEL_HELP),
    since: float | None = moment_option("Asked at this time or later."),
    until: float | None = moment_option("Asked before this time."),
    why: str = typer.Option("outcomes excluded", help="A note for the journal."),
) -> None:
    """Ignore false clicks: outcomes so far that match every option given no longer count."""
    from rankone.specs import amount

    levels = level_of_each(level)
    with experiment_of(db, name) as experiment:
        count = experiment.exclude(source=source, token=token, levels=levels, since=since, until=until, why=why)
        print(f"{amount(count, 'outcome')} of '{name}' excluded.")
        if experiment.look(lambda fold: fold.archived):
            print("Archived outcomes still count.")


@command("void-open", example="rankone.db homepage --older-than 600 --source newsletter")
def void_open(
    db: str = DB,
    name: str = NAME,
    older_than: float = typer.Option(..., help="Seconds that a decision must have been open."),
    source: str | None = typer.Option(None, help="Only decisions asked with this source."),
    token: str | None = typer.Option(None, help="Only decisions asked with this token, by its id."),
) -> None:
    """Cancel old open decisions: nothing is learned from them, and they make room for new ones."""
    from rankone.specs import amount

    with experiment_of(db, name) as experiment:
        voided = experiment.void_open(older_than, source=source, token=token)
        print(f"{amount(voided, 'decision')} of '{name}' cancelled.")
