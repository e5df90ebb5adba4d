"""``rankone hardness``: how hard a problem is, and the bounds on regret at a horizon."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

from rankone.cli._commands import STUDY, command
from rankone.cli._options import whole_number

if TYPE_CHECKING:
    from rankone.problems import Hardness

_SHOWN_PAIRS = 5


@command("hardness", example="needle:32x32 --horizon 1e6", topic=STUDY)
def hardness(
    problem: str = typer.Argument(help="A problem: needle:32x32, FILE.csv, FILE.json or FILE.json#NAME."),
    horizon: int = typer.Option(2_000_000, parser=whole_number, help="Decisions; 2e6 is fine.", metavar="N"),
    as_json: bool = typer.Option(False, "--json", help="Print JSON and nothing else."),
) -> None:
    """Say how hard a problem is: gaps, mu, p_max, gamma, Theorem 1's bound and the lower bound.

    Of more than two factors: what another level loses, the lower bound, and what showing everything evenly costs.
    """
    from rankone.problems import Hardness
    from rankone.problems import hardness as measure

    found = measure(problem, horizon)
    if as_json:
        print(json.dumps(found.to_dict(), indent=1))
    else:
        _show(found.problem.name, _facts(found) if isinstance(found, Hardness) else found.facts())


def _show(name: str, rows: Iterable[tuple[str, str, str]]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(name), title_justify="left", box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    for row in rows:
        table.add_row(*map(escape, row))
    Console().print(table)


def _facts(found: Hardness) -> list[tuple[str, str, str]]:
    problem, bound = found.problem, found.upper_bound
    return [
        ("rows x columns", f"{problem.n_rows} x {problem.n_cols}", ""),
        ("best pair", *_best_pairs(found)),
        ("best mean", f"{problem.best_mean:.6g}", "its click probability"),
        ("mu", f"{problem.mu:.6g}", "smaller mean of u and v"),
        ("p_max", f"{problem.p_max:.6g}", "largest of u and v"),
        ("gamma", f"{problem.gamma:.6g}", "max(mu, 1 - p_max)"),
        ("row gaps", _range(problem.min_row_gap, problem.row_gaps.max()), "smallest positive .. largest"),
        ("column gaps", _range(problem.min_col_gap, problem.col_gaps.max()), "smallest positive .. largest"),
        ("horizon n", f"{found.horizon:,}", ""),
        ("Theorem 1's bound", f"{bound.total:,.0f}", "on the regret of rank1elim-kl"),
        ("  from rows", f"{bound.row_shares.sum():,.0f}", f"up to {bound.row_shares.max():,.0f} a row"),
        ("  from columns", f"{bound.col_shares.sum():,.0f}", f"up to {bound.col_shares.max():,.0f} a column"),
        ("  constant", f"{bound.constant:,.0f}", "(6e + 82)(K + L)"),
        ("most regret", f"{found.most_regret:,.0f}", _verdict(found)),
        ("lower bound", f"{found.lower_bound:,.1f}", f"C(u, v) log n with C = {found.lower_bound_constant:.6g}"),
    ]


def _best_pairs(found: Hardness) -> tuple[str, str]:
    problem, pairs = found.problem, found.problem.best_pairs
    shown = ", ".join(f"({row}, {col})" for row, col in pairs[:_SHOWN_PAIRS])
    names = "; ".join(f"{problem.row_names[row]} with {problem.col_names[col]}" for row, col in pairs[:_SHOWN_PAIRS])
    more = len(pairs) - _SHOWN_PAIRS
    return (f"{shown} and {more} more", names) if more > 0 else (shown, names)


def _range(smallest: float, largest: float) -> str:
    return f"{smallest:.4g} .. {largest:.4g}" if largest > 0.0 else "none: all tie"


def _verdict(found: Hardness) -> str:
    vacuous = found.upper_bound.total >= found.most_regret
    return "worst pair always" + ("; Theorem 1 says nothing yet" if vacuous else "")
