"""Sweeps: studies over a grid of sizes, gaps, parameters, horizons, delays and batches; regret against a parameter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from rankone.charts.chart import Chart
from rankone.errors import InputError
from rankone.lazy import pl
from rankone.notebook import Shown
from rankone.numerics.power_law import fit_power_law
from rankone.policies import Policy
from rankone.problems import Problem
from rankone.problems.base import problem_to_dict
from rankone.progress import Progress
from rankone.simulation.feedback import Feedback
from rankone.simulation.grid import Grid, Point, checked_x, lay_out, several
from rankone.simulation.simulate import Part, simulate_parts
from rankone.simulation.store import read_about, write_about
from rankone.specs import amount, as_seed, as_whole_number
from rankone.writing import write_table, writing_under

# A policy that lost more than this share of what choosing at random loses was cut off while it still explored.
CUT_OFF = 0.5
MEASURED = ("runs", "regret_mean", "regret_se", "regret_median", "regret_p95", "sync_points", "seconds")


class Sweep(Shown):
    """Regret at every point of a grid, as `rankone.sweep` returns it: against `x`.

    `table` has one row per point: the values of the `grid`, what they led to (problem, policy, horizon, feedback),
    facts of the problem (lines is K + L), and the summary of its runs. `settings` are the other arguments, as plain
    values.
    """

    def __init__(self, table: pl.DataFrame, grid: Grid, x: str, settings: dict[str, Any] | None = None) -> None:
        self.table, self.grid, self.settings = table, grid, settings or {}
        self.x = self._checked(x)

    @classmethod
    def load(cls, directory: str | Path) -> Sweep:
        """Return the sweep that `save` wrote into a directory."""
        about = read_about(Path(directory), "sweep")
        return cls(pl.read_parquet(Path(directory) / "sweep.parquet"), about["grid"], about["x"], about["settings"])

    def _sentence(self) -> str:
        return f"Regret at {amount(self.table.height, 'point')}; chart() draws it against {self.x}."

    def _tables(self) -> dict[str, pl.DataFrame]:
        return {"table": self.table, "exponents": self.exponents()}

    def _shown(self) -> pl.DataFrame:
        texts = [name for name in ("problem_text", "feedback") if self.table[name].n_unique() > 1]
        titles = {"policy_text": "policy", "runs": "runs", "regret_mean": "regret", "regret_se": "± se"}
        names = dict.fromkeys([*self.grid, *texts, *titles, "cut_off"])
        return self.table.select(pl.col(name).alias(titles.get(name, name)) for name in names)

    def _checked(self, x: str) -> str:
        return checked_x(x, self.table.drop(*MEASURED, "cut_off"))

    def _panels(self, x: str) -> pl.DataFrame:
        """Return the table with a column `panel`: what else varies besides x and the policy."""
        held: list[str] = []
        for name in ["problem_text", *self.grid, "horizon", "feedback"]:
            if not self._follows(name, [x]) and not (held and self._follows(name, held)):
                held.append(name)
        texts = [
            pl.col(name) if name in ("problem_text", "feedback") else pl.format("{} = {}", pl.lit(name), name)
            for name in held
        ]
        return self.table.with_columns(panel=pl.concat_str(texts, separator=", ") if texts else pl.lit(""))

    def _follows(self, name: str, known: list[str]) -> bool:
        """Whether the values of some columns settle the value of another, as K + L settles K."""
        return self.table.group_by(known).agg(pl.col(name).n_unique().alias("values"))["values"].max() == 1

    def exponents(self, x: str | None = None) -> pl.DataFrame:
        """Return the exponent of x in the regret of every policy: a line through log regret against log x.

        Points at which a policy was cut off while it still explored say nothing and are left out.
        """
        x = self._checked(x or self.x)
        rows = []
        for (panel, policy), part in self._panels(x).group_by("panel", "policy_text", maintain_order=True):
            explored = (pl.col(x) > 0) & (pl.col("regret_mean") > 0) & ~pl.col("cut_off")
            useful = part.filter(explored).unique(x, maintain_order=True)
            exponent, se = None, None
            if len(useful) > 1:
                exponent, se = fit_power_law(useful[x], useful["regret_mean"], useful["regret_se"].fill_null(0.0))
            rows.append((panel, policy, exponent, se, len(useful), int(part["cut_off"].sum())))
        return pl.DataFrame(
            rows, ["panel", "policy", "exponent", "se", "points", "cut_off"], orient="row", infer_schema_length=None
        )

    def chart(self, x: str | None = None, *, log: bool = True, title: str = "", theory: float | None = None) -> Chart:
        """Draw regret against x, a line for each policy, a panel for each value of what else varies.

        Args:
            x: a column of numbers; default: the x of the sweep.
            log: logarithmic axes.
            title: what the chart shows.
            theory: the exponent of x that theory promises: a grey line of that slope.
        """
        from rankone.charts.parameter import parameter_chart

        x = self._checked(x or self.x)
        return parameter_chart(self._panels(x), x, self.exponents(x), log=log, title=title, theory=theory)

    def save(self, directory: str | Path, *, title: str = "", theory: float | None = None) -> None:
        """Write ``sweep.csv``, ``.parquet``, ``.json`` and ``.png``, and ``exponents.csv`` into a directory."""
        directory = Path(directory)
        with writing_under(directory):
            write_about(directory, "sweep", {"grid": dict(self.grid), "x": self.x, "settings": self.settings})
            write_table(directory / "sweep.csv", self.table)
            write_table(directory / "sweep.parquet", self.table)
            write_table(directory / "exponents.csv", self.exponents())
            self.chart(title=title, theory=theory).save(directory / "sweep.png")


def sweep(
    problems: Problem | str | Path | Sequence[Problem | str | Path],
    policies: Policy | str | Sequence[Policy | str],
    horizon: int | str | Sequence[int | str],
    grid: Grid,
    *,
    runs: int = 20,
    seed: int | None = 0,
    feedback: Feedback | str | Sequence[Feedback | str] = "immediate",
    x: str | None = None,
    workers: int | None = None,
    out: str | Path | None = None,
    executor: Executor | Any | None = None,
    progress: Progress | bool | None = None,
) -> Sweep:
    """Simulate at every point of a grid.

    Any text may hold names in braces, and `grid` gives each name its values. Runs are the same as `rankone.simulate`
    would give, and are shared: a point that does not depend on a name is played once.

    Args:
        problems: problems or their texts, such as ``"needle:{k}x{k}:gap={gap}"``.
        policies: policies or their texts, such as ``"rank1elim-kl:c={c}"``.
        horizon: decisions per run; one or several, numbers or texts.
        grid: the values of each name.
        runs: runs at each point.
        seed: root of the seed tree; None draws one, which is then among the `settings`.
        feedback: when outcomes come, such as ``"delay:mean={delay}"``; one or several.
        x: what charts and exponents are drawn against: a name of the grid, or a fact such as ``lines`` (K + L),
            ``pairs``, ``min_gap``, ``mu``, ``horizon``, ``delay`` or ``batch``; default: the first number that varies.
        out: directory that keeps finished runs; the same sweep started again continues there.
        workers, executor, progress: as in `rankone.simulate`.

    >>> import rankone
    >>> result = rankone.sweep("needle:{k}x{k}", "uts", horizon=2_000, grid={"k": [2, 4, 8]}, runs=4, workers=1)
    >>> result.table.select("k", "lines", "policy", "runs").rows()
    [(2, 4, 'uts', 4), (4, 8, 'uts', 4), (8, 16, 'uts', 4)]
    """
    points, _, x = lay_out(problems, policies, horizon, grid, feedback, x)
    runs, seed = as_whole_number("runs", runs), as_seed(seed)
    parts = _parts(points)
    summaries: dict[tuple[str, str, int, str], dict[str, Any]] = {}
    for part, study in zip(parts, simulate_parts(parts, runs, seed, workers, executor, progress, out), strict=True):
        for row in study.summary().to_dicts():
            summaries[row["problem"], row["policy"], part.horizon, part.feedback.label] = row
    table = pl.DataFrame([_row(point, summaries) for point in points], infer_schema_length=None)
    settings = {
        "problems": _plain(problems),
        "policies": _plain(policies),
        "horizon": several(horizon),
        "runs": runs,
        "seed": seed,
        "feedback": _plain(feedback),
    }
    return Sweep(table, {name: list(values) for name, values in grid.items()}, x, settings)


def _parts(points: list[Point]) -> list[Part]:
    """Group the points into as few studies as can play them all: every problem of a study meets every policy."""
    policies_of: dict[tuple[int, Feedback], dict[str, dict[str, Policy]]] = {}
    worlds: dict[str, Problem] = {}
    for point in points:
        other = worlds.setdefault(point.problem.name, point.problem)
        if other.digest != point.problem.digest:
            raise InputError("problems with distinct names", f"two named {other.name}", "give each a name=")
        here = policies_of.setdefault((point.horizon, point.feedback), {})
        here.setdefault(point.problem.name, {})[point.policy.label] = point.policy
    parts = []
    for (horizon, late), players_of in policies_of.items():
        folder = re.sub(r"[^A-Za-z0-9.]+", "-", f"{horizon}-{late.label}")
        same: dict[tuple[str, ...], list[str]] = {}
        for name, players in players_of.items():
            same.setdefault(tuple(players), []).append(name)
        for names in same.values():
            policies = list(players_of[names[0]].values())
            parts.append(Part([worlds[name] for name in names], policies, horizon, late, folder))
    return parts


def _row(point: Point, summaries: dict[tuple[str, str, int, str], dict[str, Any]]) -> dict[str, Any]:
    world = point.problem
    summary = summaries[world.name, point.policy.label, point.horizon, point.feedback.label]
    at_random = world.loss_at_random()
    cut_off = at_random is not None and summary["regret_mean"] > CUT_OFF * at_random * point.horizon
    return {**point.facts, **{name: summary[name] for name in MEASURED}, "cut_off": cut_off}


def _plain(given: Any) -> list[Any]:
    """Return what JSON can hold and `rankone.sweep` takes again: texts, or the values of a problem."""
    values = [problem_to_dict(item) if isinstance(item, Problem) else item for item in several(given)]
    values = [item.label if isinstance(item, (Policy, Feedback)) else item for item in values]
    return [str(item) if isinstance(item, Path) else item for item in values]
