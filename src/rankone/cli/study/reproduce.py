"""``rankone reproduce``: the paper's figures and theory, with its claims checked one by one."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankone.cli._commands import STUDY, command
from rankone.cli._options import WORKERS, format_names

if TYPE_CHECKING:
    from rankone.paper.claims import Reproduction

_QUICK = typer.Option(False, "--quick", help="A quick look: fewer runs (and for fig2 and fig3 a shorter horizon).")
_LOG = typer.Option(None, "--log", help="Your click log; without one, a generated log is used and labelled so.")
_FORMAT = typer.Option(
    None, "--format", "-f", autocompletion=format_names, help="Format of the log; recognised automatically."
)
_TRUTH = typer.Option(False, "--truth", help="Play on the truth of the generated log instead of on its fit.")
_ABOUT = "Reproduce the paper's figures and check its claims."


@command("reproduce fig1", example="--quick", topic=STUDY, group=_ABOUT)
def fig1(
    quick: bool = _QUICK,
    out: Path = typer.Option(Path("out/fig1"), help="Directory for runs, tables and the figure."),
    workers: int | None = WORKERS,
    today: bool = typer.Option(False, "--today", help="Add today's policies and the lower bound, on a log scale."),
) -> None:
    """Figure 1: needle problems, K = L = 32, 64, 128."""
    from rankone.paper.fig1 import reproduce

    _reproduce("fig1", reproduce, "runs", out, {"today": today}, quick=quick, workers=workers)


def _figure_of_log(figure: str, about: str) -> None:
    """Make the command of a figure that rests on a click log."""

    def run(
        log: str | None = _LOG,
        format: str | None = _FORMAT,
        truth: bool = _TRUTH,
        quick: bool = _QUICK,
        out: Path = typer.Option(
            Path("out", figure), help="Directory for the generated log, runs, tables and figures."
        ),
        workers: int | None = WORKERS,
    ) -> None:
        reproduce = getattr(importlib.import_module("rankone.paper.figures_2_and_3"), figure)
        _reproduce(figure, reproduce, "runs", out, log=log, format=format, truth=truth, quick=quick, workers=workers)

    run.__doc__, run.__qualname__ = about, figure
    command(f"reproduce {figure}", example="--quick", topic=STUDY, group=_ABOUT)(run)


def _played(name: str, module: str, unit: str, about: str) -> None:
    """Make the command of what is played without choices of its own."""

    def run(
        quick: bool = _QUICK,
        out: Path = typer.Option(Path("out", name), help="Directory for runs, tables and figures."),
        workers: int | None = WORKERS,
    ) -> None:
        reproduce = getattr(importlib.import_module(f"rankone.paper.{module}"), name)
        _reproduce(name, reproduce, unit, out, quick=quick, workers=workers)

    run.__doc__, run.__qualname__ = about, name
    command(f"reproduce {name}", example="--quick", topic=STUDY, group=_ABOUT)(run)


_figure_of_log("fig2", "Figure 2: two queries of a click log, their models and the regret on them.")
_figure_of_log("fig3", "Figure 3: regret averaged over the 20 most frequent queries of a click log.")
_played("theory", "theory", "parts", "Theorem 1, Lemma 2, Lemma 3 and the extreme needle: theory against measurement.")


@command("reproduce upworthy", example="--data upworthy.parquet --out out/upworthy", topic=STUDY, group=_ABOUT)
def upworthy(
    data: Path = typer.Option(..., help="A .csv or .parquet file of the Upworthy Research Archive (CC BY 4.0)."),
    out: Path | None = typer.Option(None, help="Directory for the tables, as CSV."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON and nothing else."),
) -> None:
    """Does a click need both? Past tests of headlines and images: product against sum and logit, scatter, effects."""
    import json

    from rankone.cli._tables import show_table
    from rankone.clicks.ab_tests.crossed import crossed_tests
    from rankone.writing import write_table, writing_under

    found = crossed_tests(data)
    tables = {"summary": found.summary(), "effects": found.effects, "tests": found.tests}
    if out is not None:
        with writing_under(out):
            for name, table in tables.items():
                write_table(out / f"{name}.csv", table)
    if as_json:
        figures = {"dispersion": found.dispersion, "repeats": found.repeats, "all_tests": found.all_tests}
        print(json.dumps(figures | {name: table.to_dicts() for name, table in tables.items()}, indent=1))
        return
    print(found._sentence())
    show_table(tables["summary"], "Lack of fit (G2) of three ways to combine two effects")
    show_table(tables["effects"], "Effects on log click rates (standard deviations), by what is taken for noise")
    if out is not None:
        print(f"Written: {out}/summary.csv, effects.csv, tests.csv")


_played("cascading", "published", "runs", "Published tables about cascades (Kveton 2015, Cheung 2019), cell by cell.")
_played("rank1elim", "published", "runs", 'Table 1 of "Stochastic Rank-1 Bandits" (Katariya et al. 2017), by cell.')


def _reproduce(
    name: str,
    reproduce: Callable[..., Reproduction],
    unit: str,
    out: Path,
    own: Mapping[str, Any] | None = None,
    **choices: Any,
) -> None:
    """Reproduce by a protocol with these choices; `own` are what only this one can be asked for."""
    from rankone.cli._progress import progress_bar
    from rankone.paper.protocol import Protocol

    with progress_bar(unit, out=out, compiles=True) as progress:
        result = reproduce(Protocol(out, progress=progress, preparing=progress, **choices), **own or {})
    asked = {choice: value for choice, value in choices.items() if choice != "workers"}
    show_reproduction(result, out, name, **asked, **own or {})


def show_reproduction(result: Reproduction, out: Path, figure: str, **options: str | bool | None) -> None:
    """Show the tables and claims of a reproduced figure and write it; `options` are those it was asked for with."""
    import shlex

    from rankone.cli._summary import SPARE, SUMMARY
    from rankone.cli._tables import show_table

    for title, table in result.tables.items():
        show_table(table, title, SUMMARY if set(SUMMARY) <= set(table.columns) else None, SPARE)
    show_table(result.claim_table(), "The paper's claims, measured")
    if options.get("quick"):
        print("Beware: --quick plays few runs, so these verdicts are a first look. Without --quick they are evidence.")
    words = ["rankone", "reproduce", figure]
    for name, value in options.items():
        if value:
            words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    result.save(out, shlex.join(words))
    print(f"Written: {out}/ ({', '.join(sorted(path.name for path in out.iterdir() if path.is_file()))})")
