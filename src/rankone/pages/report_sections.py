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
from rankone.errors import InputError
from rankone.problems.base import problem_to_dict
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
    if not study.runs:
        raise InputError(f"finished runs in {directory}", "none yet", "let the study run, then ask again")
    summary, curves = study.summary(), {"linear axes": study.chart()}
    if study.table.height / max(1, about["runs"]) <= _MOST_POINTS:
        curves["log axes"] = study.chart(log_steps=True, log_regret=True)
    warnings = {
        f"The study is not finished: {len(study.runs):,} of {study.wanted:,} runs.": study.is_partial,
        "Runs of several versions of the policies are mixed in this directory.": len(
            {key for _, key, _ in finished_runs(directory)}
        )
        > 1,
    }
    names = ("policies", "horizon", "runs", "seed", "checkpoints", "feedback", "paired")
    settings = {name: about[name] for name in names if name in about}
    problems = [problem_to_dict(problem) for problem in study.problems]
    return Part(
        title=f"{_policies(len(study.policies))} on {amount(len(study.problems), 'problem')}",
        sentence=study.headline or study._sentence(),
        settings=settings | {"checkpoints": len(study.checkpoints), "feedback": study.feedback.label},
        about=about,
        charts={"Regret against time: mean over runs, band of two standard errors": _specs(curves)},
        tables={"Final regret": _for_people(summary), "Who beats whom": study.versus(), "Problems": _problems(study)},
        code={"In Python": _again("simulate", problems, settings, "summary()")},
        files={"summary.csv": summary.write_csv()},
        warning=" ".join(warning for warning, holds in warnings.items() if holds),
    )


def sweep_part(directory: Path) -> Part:
    """Tell a sweep that `Sweep.save` wrote."""
    about, sweep = read_about(directory, "sweep"), Sweep.load(directory)
    settings = dict(sweep.settings) | {"grid": about["grid"], "x": sweep.x}
    return Part(
        title=f"Sweep: {directory.resolve().name}",
        sentence=f"Regret against {sweep.x}, at {amount(sweep.table.height, 'point')}.",
        settings=settings,
        about=about,
        charts={
            f"Regret against {sweep.x}": _specs({"log axes": sweep.chart(), "linear axes": sweep.chart(log=False)})
        },
        tables={"Points": sweep._shown(), f"Exponents of {sweep.x}": sweep.exponents()},
        code={"In Python": _again("sweep", settings.pop("problems"), settings, "table")},
        files={"sweep.csv": sweep.table.write_csv()},
    )


def arena_part(directory: Path) -> Part:
    """Tell an arena that `Arena.save` wrote."""
    about, arena = read_about(directory, "arena"), Arena.load(directory)
    scores = arena.scores()
    unit = f"the regret of {arena.against}" if arena.of_lists else "the lower bound"
    given = {name: value for name, value in arena.settings.items() if value is not None and value is not False}
    return Part(
        title=f"Arena: {_policies(scores.height)} on {amount(arena.table['problem'].n_unique(), 'problem')}",
        sentence=arena.headline,
        settings=arena.settings,
        about=about,
        charts={f"Regret as a multiple of {unit}": _specs({"": arena.chart()})},
        tables={f"Scores: ratios to {arena.against}": scores, "Every problem": arena.table.drop("half", "trap")},
        code={"In Python": _again("arena", given.pop("problems", None), given, "scores()")},
        files={"arena.csv": arena.table.write_csv(), "scores.csv": scores.write_csv()},
    )


def reproduction_part(directory: Path) -> Part:
    """Tell a reproduced figure of the paper: its claims first."""
    about = read_about(directory, "reproduction")
    claims = pl.read_csv(directory / "claims.csv")
    tables = {title: pl.read_csv(directory / f"{title}.csv", infer_schema_length=None) for title in about["tables"]}
    holds = int((claims["verdict"] == "holds").sum())
    command = about["command"] or "rankone reproduce"
    return Part(
        title=f"The paper reproduced: {command.removeprefix('rankone reproduce ')}",
        sentence=f"{holds} of {claims.height} claims hold, as measured here.",
        settings={"command": command},
        about=about,
        charts={name: {"": json.loads((directory / f"{name}.json").read_text())} for name in about["charts"]},
        tables={"The paper's claims, measured": claims, **tables},
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


def _again(function: str, problems: Sequence[Any] | None, settings: Mapping[str, Any], shown: str) -> str:
    made = ", ".join(
        f"problem_from_dict({each!r})" if isinstance(each, dict) else repr(each) for each in problems or ()
    )
    first = {} if problems is None else {"problems": f"[{made}]"}
    given = first | {name: repr(value) for name, value in settings.items()}
    lines = "".join(f"    {name}={value},\n" for name, value in given.items())
    # As CSV: a frame is shown with its middle columns left out, and the report offers the same CSV to compare with.
    imports = "import rankone\n" + "from rankone.problems.base import problem_from_dict\n" * ("problem_from" in made)
    return f"{imports}\nresult = rankone.{function}(\n{lines})\nprint(result.{shown}.write_csv())\n"


def _specs(charts: Mapping[str, Chart]) -> dict[str, Any]:
    return {name: chart.altair.to_dict() for name, chart in charts.items()}


def _policies(number: int) -> str:
    return f"{number} {'policy' if number == 1 else 'policies'}"


def _for_people(summary: pl.DataFrame) -> pl.DataFrame:
    titles = TITLES | {"regret_p95": "95% quantile", "seconds": "seconds per run"}
    return summary.select(pl.col(name).alias(title) for name, title in titles.items() if name != "steps_per_second")


def _problems(study: Study) -> pl.DataFrame:
    bound = "lower bound / log n"
    rows = [{"problem": own.name, **own.description(), bound: own.lower_bound_constant()} for own in study.problems]
    return pl.DataFrame(rows, infer_schema_length=None)
