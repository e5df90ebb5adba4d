"""What a report says of each kind of directory: studies, sweeps, arenas and reproduced figures."""

import base64
import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from rankone.charts.chart import Chart
from rankone.charts.regret import spread_chart
from rankone.errors import InputError
from rankone.pages import recipes
from rankone.simulation.arena import Arena
from rankone.simulation.store import finished_runs, read_about
from rankone.simulation.study import TITLES, Study
from rankone.simulation.sweep import Sweep
from rankone.specs import amount

_MOST_POINTS = 20_000  # a curve is drawn on two kinds of axes only where that does not make the file large


@dataclass
class Part:
    """One part of a report."""

    title: str
    sentence: str
    settings: Mapping[str, Any]
    about: Mapping[str, Any]  # versions and machine, too
    charts: dict[str, dict[str, Any]] = field(default_factory=dict)  # by caption: Vega-Lite by the name of its axes
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)  # by caption
    code: dict[str, str] = field(default_factory=dict)  # by what it is
    files: dict[str, str] = field(default_factory=dict)  # by name: text to save
    warning: str = ""
    remarks: Sequence[str] = ()  # what else is to be said, a sentence or two each
    details: Sequence[str] = ()  # assumptions and method, folded away

    @property
    def downloads(self) -> list[tuple[str, str, str]]:
        """Files to save: what they are called on the page and on a disk, and what is in them, in base 64."""
        coded = {name: base64.b64encode(text.encode()).decode() for name, text in self.files.items()}
        return [(name, re.sub(r"[^\w. -]+", "-", name), text) for name, text in coded.items()]


def study_part(directory: Path) -> Part:
    """Tell a study from its runs, however many are finished."""
    about, study = read_about(directory, "study"), Study.load(directory)
    wanted = len(study.problems) * len(study.policies) * about["runs"]
    if not study.runs:
        raise InputError(f"finished runs in {directory}", "none yet", "let the study run, then ask again")
    named = all(recipes.is_named_problem(world) for world in study.problems)
    summary = study.summary()
    code = {"In Python": recipes.study_python(about, study.problems, named)}
    command = recipes.study_command(about, study.problems, named)
    if command is not None:
        code = {"On the command line": command} | code
    curves = {"linear axes": study.chart()}
    if study.table.height / max(1, about["runs"]) <= _MOST_POINTS:
        curves["log axes"] = study.chart(log_steps=True, log_regret=True)
    sources = {key for _, key, _ in finished_runs(directory)}
    warnings = {
        f"The study is not finished: {len(study.runs):,} of {wanted:,} runs.": len(study.runs) < wanted,
        "Runs of several versions of the policies are mixed in this directory.": len(sources) > 1,
    }
    finals = study.table.filter(pl.col("step") == study.horizon)
    titles = {problem.name: problem.title for problem in study.problems}
    settings = {"horizon": study.horizon, "runs of each policy on each problem": about["runs"], "seed": about["seed"]}
    settings |= {"feedback": study.feedback.label, "checkpoints": len(study.checkpoints)}
    files = {"summary.csv": summary.write_csv(), "curves.csv": _curves(study.table)}
    return Part(
        title=_meeting(len(study.policies), len(study.problems)),
        sentence=_least_regret(summary, study.horizon),
        settings=settings,
        about=about,
        charts={
            "Regret against time: mean over runs, band of two standard errors": _specs(curves),
            "Every run: its final regret, and the median": _specs({"": spread_chart(finals, titles=titles)}),
        },
        tables={"Final regret": _summary_for_people(summary), "Problems": _problems(study)},
        code=code,
        files=files | recipes.problem_files(study.problems),
        warning=" ".join(warning for warning, holds in warnings.items() if holds),
    )


def sweep_part(directory: Path) -> Part:
    """Tell a sweep that `Sweep.save` wrote."""
    about, sweep = read_about(directory, "sweep"), Sweep.load(directory)
    figures = ("runs", "regret_mean", "regret_se", "regret_median", "sync_points", "cut_off")
    shown = [*dict.fromkeys([*sweep.grid, sweep.x, "policy"]), *figures]
    exponents = sweep.exponents()
    laws = [
        f"{row['policy']}{' (' + row['panel'] + ')' if row['panel'] else ''} {row['exponent']:.2f} ± {row['se']:.2f}"
        for row in exponents.to_dicts()
        if row["exponent"] is not None
    ]
    drawn = {"log axes": sweep.chart(), "linear axes": sweep.chart(log=False)}
    return Part(
        title=f"Sweep: {directory.resolve().name}",
        sentence=f"Regret as a power of {sweep.x}: {'; '.join(laws[:6])}." if laws else f"Regret against {sweep.x}.",
        settings={**sweep.settings, "grid": sweep.grid, "x": sweep.x},
        about=about,
        charts={f"Regret against {sweep.x}": _specs(drawn)},
        tables={"Points": sweep.table.select(shown), f"Exponents of {sweep.x}": exponents},
        code={"In Python": recipes.sweep_python(about)},
        files={"sweep.csv": sweep.table.write_csv()},
    )


def arena_part(directory: Path) -> Part:
    """Tell an arena that `Arena.save` wrote."""
    about, arena = read_about(directory, "arena"), Arena.load(directory)
    scores = arena.scores()
    best = scores.row(0, named=True)
    against = f"{best['against_mean']:.2f} times the regret of {arena.against} (geometric mean), at worst "
    against += f"{best['against_worst']:.2f} times, on {best['worst_problem']}"
    unit = f"the regret of {arena.against}" if arena.of_lists else "the lower bound"
    return Part(
        title=f"Arena: {_meeting(scores.height, arena.table['problem'].n_unique())}",
        sentence=f"Over all problems {best['policy']} has the least regret"
        f"{'' if best['policy'] == arena.against else ': ' + against}.",
        settings=arena.settings,
        about=about,
        charts={f"Regret as a multiple of {unit}": _specs({"": arena.chart()})},
        tables={f"Scores: ratios to {arena.against}": scores, "Every problem": arena.table.drop("half", "trap")},
        code={"On the command line": recipes.arena_command(about), "In Python": recipes.arena_python(about)},
        files={"arena.csv": arena.table.write_csv(), "scores.csv": scores.write_csv()},
    )


def reproduction_part(directory: Path) -> Part:
    """Tell a reproduced figure of the paper: its claims first."""
    about = read_about(directory, "reproduction")
    claims = pl.read_csv(directory / "claims.csv")
    tables = {title: pl.read_csv(directory / f"{title}.csv", infer_schema_length=None) for title in about["tables"]}
    holds = int((claims["verdict"] == "holds").sum())
    shown = {title: _summary_for_people(table) if _is_summary(table) else table for title, table in tables.items()}
    command = about["command"] or "rankone reproduce"
    return Part(
        title=f"The paper reproduced: {command.removeprefix('rankone reproduce ')}",
        sentence=f"{holds} of {claims.height} claims hold, as measured here.",
        settings={"command": command, **_studies(directory)},
        about=about,
        charts={name: {"": json.loads((directory / f"{name}.json").read_text())} for name in about["charts"]},
        tables={"The paper's claims, measured": claims, **shown},
        code={"On the command line": f"{command} --out {shlex.quote(directory.resolve().name)}"},
        files={f"{name}.csv": table.write_csv() for name, table in {"claims": claims, **tables}.items()},
    )


# In the order in which they are looked for: the directory of a reproduced figure may hold its study too.
KINDS: dict[str, Callable[[Path], Part]] = {
    "reproduction": reproduction_part,
    "arena": arena_part,
    "sweep": sweep_part,
    "study": study_part,
}


def _specs(charts: Mapping[str, Chart]) -> dict[str, Any]:
    return {name: chart.altair.to_dict() for name, chart in charts.items()}


def _meeting(policies: int, problems: int) -> str:
    return f"{policies} {'policy' if policies == 1 else 'policies'} on {amount(problems, 'problem')}"


def _least_regret(summary: pl.DataFrame, horizon: int) -> str:
    """Say who lost least, on the one problem or on how many."""
    ranked = summary.sort("regret_mean")
    best, after = ranked.group_by("problem", maintain_order=True).first(), f"fter {amount(horizon, 'decision')}"
    if best.height > 1:
        wins = best["policy"].value_counts(sort=True).rows()
        won = [f"{policy} on {amount(count, 'problem')}" for policy, count in wins]
        return f"Least regret a{after}: {', '.join(won)}."
    first, *others = ranked.to_dicts()[:4]
    error = f" ± {first['regret_se']:,.2g}" if first["regret_se"] else ""
    said = f"{first['policy']} has the least regret a{after}: {first['regret_mean']:,.4g}{error}."
    if others and first["regret_mean"] > 0:
        ratios = [f"{row['policy']} {row['regret_mean'] / first['regret_mean']:.1f} times" for row in others]
        said += f" Others have more: {', '.join(ratios)} as much."
    return said


def _studies(directory: Path) -> dict[str, str]:
    """What the studies behind a reproduced figure were played with, by their place."""
    studies = {path.parent: read_about(path.parent, "study") for path in sorted(directory.rglob("study.json"))}
    return {
        f"study {path.relative_to(directory)}".removesuffix(" ."): f"horizon {about['horizon']:,}, "
        f"{amount(about['runs'], 'run')} of each policy on each problem, seed {about['seed']}"
        for path, about in studies.items()
    }


# A page has room for whole words.
_FOR_PEOPLE = TITLES | {"regret_p95": "95% quantile", "seconds": "seconds per run"}
_FOR_PEOPLE.pop("steps_per_second")


def _is_summary(table: pl.DataFrame) -> bool:
    return set(_FOR_PEOPLE) <= set(table.columns)


def _summary_for_people(summary: pl.DataFrame) -> pl.DataFrame:
    return summary.select(*_FOR_PEOPLE).rename(_FOR_PEOPLE)


def _problems(study: Study) -> pl.DataFrame:
    bound = "lower bound / log n"
    rows = [{"problem": own.name, **own.description(), bound: own.lower_bound_constant()} for own in study.problems]
    return pl.DataFrame(rows, infer_schema_length=None)


def _curves(table: pl.DataFrame) -> str:
    """The means behind the curves, as CSV."""
    keys = [name for name in table.columns if name not in ("run", "regret")]
    regret = pl.col("regret")
    means = table.group_by(keys, maintain_order=True).agg(
        regret_mean=regret.mean(), regret_se=regret.std() / pl.len().sqrt(), runs=pl.len()
    )
    return means.write_csv()
