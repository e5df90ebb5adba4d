"""Sweeps: studies over a grid of sizes, gaps, parameters, horizons, delays and batches; regret against a parameter.

Texts have ``{names}`` in them, which are filled in with every combination of the names' values.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

from rankone.charts.chart import Chart
from rankone.errors import InputError
from rankone.lazy import pl
from rankone.notebook import Shown
from rankone.numerics.power_law import fit_power_law
from rankone.policies import Policy, as_policy
from rankone.problems import Problem, as_problem
from rankone.problems.base import problem_to_dict
from rankone.progress import Progress
from rankone.simulation.feedback import IMMEDIATE, Feedback, as_feedback
from rankone.simulation.simulate import Part, simulate_parts
from rankone.simulation.store import read_about, write_about
from rankone.specs import amount, as_seed, as_whole_number, one_of, parse_whole_number, value_text
from rankone.writing import write_table, writing_under

# A policy that lost more than this share of what choosing at random loses was cut off while it still explored.
CUT_OFF = 0.5
MEASURED = ("runs", "regret_mean", "regret_se", "regret_median", "regret_p95", "sync_points", "seconds")

Grid = Mapping[str, Sequence[Any]]


class Point(NamedTuple):
    """One policy on one problem for one horizon under one feedback, and the values of the grid that led there."""

    values: dict[str, Any]
    problem: Problem
    policy: Policy
    horizon: int
    feedback: Feedback
    problem_text: str  # as written, with the names of the grid in it
    policy_text: str

    @property
    def facts(self) -> dict[str, Any]:
        """Everything known of the point before it is played; the values of the grid win over facts of the same name."""
        world, late = self.problem, self.feedback
        facts = {
            "problem_text": self.problem_text,
            "policy_text": self.policy_text,
            "problem": world.name,
            "policy": self.policy.label,
            "horizon": self.horizon,
            "feedback": late.label,
            **world.facts(),
            "delay": late.steps + late.mean,
            "batch": late.size,
        }
        return {**self.values, **facts, **self.values}


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
        return str(one_of("x", x, _numbers(self.table.drop(*MEASURED, "cut_off"))))

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
    points, x = lay_out(problems, policies, horizon, grid, feedback, x)
    runs, seed = as_whole_number("runs", runs), as_seed(seed)
    parts = _parts(points)
    summaries: dict[tuple[str, str, int, str], dict[str, Any]] = {}
    for part, study in zip(parts, simulate_parts(parts, runs, seed, workers, executor, progress, out), strict=True):
        for row in study.summary().to_dicts():
            summaries[row["problem"], row["policy"], part.horizon, part.feedback.label] = row
    table = pl.DataFrame([_row(point, summaries) for point in points], infer_schema_length=None)
    settings: dict[str, Any] = {"problems": _plain(problems), "policies": _plain(policies)}
    settings |= {"horizon": _several(horizon), "runs": runs, "seed": seed, "feedback": _plain(feedback)}
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
    values = [problem_to_dict(item) if isinstance(item, Problem) else item for item in _several(given)]
    values = [item.label if isinstance(item, (Policy, Feedback)) else item for item in values]
    return [str(item) if isinstance(item, Path) else item for item in values]


def lay_out(
    problems: Problem | str | Path | Sequence[Problem | str | Path],
    policies: Policy | str | Sequence[Policy | str],
    horizon: int | str | Sequence[int | str],
    grid: Grid,
    feedback: Feedback | str | Sequence[Feedback | str] = IMMEDIATE,
    x: str | None = None,
) -> tuple[list[Point], str]:
    """Return the points of a sweep and what to draw against; refuse what cannot be played or drawn."""
    if not isinstance(grid, Mapping) or not grid:
        raise InputError("a grid of at least one name with values", grid, "try grid={'k': [8, 16, 32]}")
    points = list(_points(grid, *(_several(given) for given in (problems, policies, horizon, feedback))))
    facts = pl.DataFrame([point.facts for point in points], infer_schema_length=None)
    varied = (name for name in _numbers(facts) if facts[name].n_unique() > 1)
    return points, one_of("x", next(varied, "horizon") if x is None else x, _numbers(facts))


def _numbers(facts: pl.DataFrame) -> list[str]:
    """Return the names of what may be drawn against, those of the grid first."""
    return [name for name, kind in facts.schema.items() if kind.is_numeric()]


def _several(given: Any) -> list[Any]:
    return list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]


def _points(grid: Grid, *given: list[Any]) -> Iterator[Point]:
    """Yield every point of the grid; given are problems, policies, horizons and feedbacks."""
    combined = list(itertools.product(*given))
    _check_grid(grid, {text for entry in combined for text in entry if isinstance(text, str)})
    known: dict[tuple[Any, str], Any] = {}

    def made(make: Any, text: Any, values: dict[str, Any]) -> Any:
        if not isinstance(text, str):
            return make(text)
        filled = text.format(**{name: value_text(value) for name, value in values.items()})
        if (make, filled) not in known:
            known[make, filled] = make(filled)
        return known[make, filled]

    for chosen in itertools.product(*grid.values()):
        values = dict(zip(grid, chosen, strict=True))
        for world_text, player_text, horizon, late in combined:
            world, player = made(as_problem, world_text, values), made(as_policy, player_text, values)
            player.check_kind(world.decision_kind, world.shape, f"the problem {world.name}")
            texts = [
                text if isinstance(text, str) else name
                for text, name in ((world_text, world.name), (player_text, player.label))
            ]
            steps, when = made(_horizon, horizon, values), made(as_feedback, late, values)
            yield Point(values, world, player, steps, when, *texts)


def _check_grid(grid: Grid, texts: Iterable[str]) -> None:
    used = {name for text in texts for _, name, _, _ in _names_in(text) if name is not None}
    for name, values in grid.items():
        if isinstance(values, (str, bytes)) or not isinstance(values, Sequence) or len(values) == 0:
            raise InputError(f"a list of values for '{name}' of the grid", values, f"try {name} = [1, 2, 4]")
        if name not in used:
            raise InputError(f"'{{{name}}}' in a problem, policy, horizon or feedback", "none", f"leave {name} out")
    for name in sorted(used - set(grid)):
        raise InputError(f"values for '{{{name}}}'", "none in the grid", f"try {name} = [1, 2, 4] in the grid")


def _names_in(text: str) -> list[tuple[str, str | None, str | None, str | None]]:
    try:
        parts = list(Formatter().parse(text))
    except ValueError as error:
        raise InputError("names in braces, such as {gap}", f"{text} ({error})", "close every brace") from None
    if any(style or conversion for _, _, style, conversion in parts):
        raise InputError("names in braces, such as {gap}", text, "write nothing but the name between the braces")
    return parts


def _horizon(given: Any) -> int:
    return parse_whole_number("horizon", given) if isinstance(given, str) else as_whole_number("horizon", given)
