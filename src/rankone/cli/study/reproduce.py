"""``rankone reproduce``: the paper's figures, with its claims checked one by one."""

from __future__ import annotations

import importlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankone.cli._commands import command
from rankone.cli._options import WORKERS, Options, format_names, with_options
from rankone.cli._tables import SPARE, show_table, summary_columns

if TYPE_CHECKING:
    from rankone.paper.claims import Reproduction

_QUICK = typer.Option(False, "--quick", help="A quick look: fewer runs (and for fig2 and fig3 a shorter horizon).")
_FORMAT_HELP = "Format of the log; recognised automatically."
_LOG: Options = {
    "log": (str | None, typer.Option(None, help="Your click log; without one, a generated log is used.")),
    "format": (str | None, typer.Option(None, "--format", "-f", autocompletion=format_names, help=_FORMAT_HELP)),
    "truth": (bool, typer.Option(False, "--truth", help="Play on the truth of the generated log, not on its fit.")),
}
_TODAY = typer.Option(False, "--today", help="Add today's policies and the lower bound, on a log scale.")
_ABOUT = "Reproduce the paper's figures and check its claims."


def _reproducing(name: str, module: str, about: str, more: Options | None = None) -> None:
    """Make the command of a figure or a table, with `more` options than all have."""

    def run(
        quick: bool = _QUICK,
        out: Path = typer.Option(Path("out", name), help="Directory for runs, tables and figures."),
        workers: int | None = WORKERS,
        **choices: Any,
    ) -> None:
        from rankone.cli._progress import progress_bar
        from rankone.paper.protocol import Protocol

        reproduce = getattr(importlib.import_module(f"rankone.paper.{module}"), name)
        own = {"today": choices.pop("today")} if "today" in choices else {}
        choices["quick"] = quick
        with progress_bar("runs", out=out, compiles=True) as progress:
            protocol = Protocol(out, workers=workers, progress=progress, preparing=progress, **choices)
            result = reproduce(protocol, **own)
        show_reproduction(result, out, name, **choices, **own)

    run.__doc__, run.__qualname__ = about, name
    command(f"reproduce {name}", example="--quick", group=_ABOUT)(with_options(more or {})(run))


_reproducing("fig1", "fig1", "Figure 1: needle problems, K = L = 32, 64, 128.", {"today": (bool, _TODAY)})
_QUERIES = "Figure 2: two queries of a click log, their models and the regret on them."
_reproducing("fig2", "figures_2_and_3", _QUERIES, _LOG)
_AVERAGE = "Figure 3: regret averaged over the 20 most frequent queries of a click log."
_reproducing("fig3", "figures_2_and_3", _AVERAGE, _LOG)


def show_reproduction(result: Reproduction, out: Path, figure: str, **options: str | bool | None) -> None:
    """Show the tables and claims of a reproduced figure and write it; `options` are those it was asked for with."""
    summary = summary_columns()
    for title, table in result.tables.items():
        show_table(table, title, summary if set(summary) <= set(table.columns) else None, SPARE)
    show_table(result.claim_table(), "The paper's claims, measured")
    if options.get("quick"):
        print("Beware: --quick plays few runs, so these verdicts are a first look. Without --quick they are evidence.")
    words = ["rankone", "reproduce", figure]
    for name, value in options.items():
        if value:
            words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    result.save(out, shlex.join(words))
    print(f"Written: {out}/ ({', '.join(sorted(path.name for path in out.iterdir() if path.is_file()))})")
