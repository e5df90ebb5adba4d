"""How to make results again: the exact command and the exact Python, from what a directory says of itself."""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from rankone.errors import InputError
from rankone.problems import Problem, RankOne, as_problem
from rankone.problems.base import problem_to_dict
from rankone.problems.files import FORMAT, VERSION, is_problem_file
from rankone.simulation.simulate import checkpoint_steps

PROBLEM_FILE = "problems.json"


def is_named_problem(world: Problem) -> bool:
    """Tell whether a problem's name, such as needle:8x8, is all that is needed to make it again.

    >>> import rankone
    >>> is_named_problem(rankone.needle(8, 8)), is_named_problem(rankone.RankOne([0.5], [0.5], name="mine"))
    (True, False)
    """
    if is_problem_file(world.name):
        return False
    try:
        return as_problem(world.name).digest == world.digest
    except InputError:
        return False


def problem_files(worlds: Sequence[Problem]) -> dict[str, str]:
    """Return the file that holds these problems, for `rankone simulate -p problems.json#NAME`, if a file can."""
    if not in_files(worlds):
        return {}
    problems = [world.to_dict() for world in worlds]
    return {PROBLEM_FILE: json.dumps({"format": FORMAT, "version": VERSION, "problems": problems}, indent=1)}


def checkpoints_of(steps: list[int]) -> int | str | list[int]:
    """Return the shortest `checkpoints` argument that gives these steps.

    >>> checkpoints_of([250, 500, 750, 1000]), checkpoints_of([10, 1000])
    (4, [10, 1000])
    """
    for short in (len(steps), "log"):
        if checkpoint_steps(short, steps[-1]).tolist() == steps:
            return short
    return steps


def command_text(command: str, options: Mapping[str, Any], out: str) -> str:
    """Return a command of rankone with its options; one that is None or False is left out, a list is repeated."""
    words = ["rankone", command]
    for name, value in {**options, "out": out}.items():
        for item in value if isinstance(value, list) else [value]:
            if item is not None and item is not False:
                words += [f"--{name}"] if item is True else [f"--{name}", str(item)]
    return shlex.join(words)


def study_command(about: Mapping[str, Any], worlds: Sequence[Problem], named: bool) -> str | None:
    """Return the command that makes a study again; None if its checkpoints or problems can be said in Python only."""
    marks = checkpoints_of(about["checkpoints"])
    if marks not in ("log", min(100, about["horizon"])) or not (named or in_files(worlds)):
        return None
    texts = [world.name if named else f"{PROBLEM_FILE}#{world.name}" for world in worlds]
    options: dict[str, Any] = {
        "problem": texts,
        "policy": list(about["policies"]),
        "feedback": about.get("feedback") or None,
    }
    options |= {name: about[name] for name in ("horizon", "runs", "seed")}
    return command_text("simulate", options | {"log": marks == "log"}, "study")


def study_python(about: Mapping[str, Any], worlds: Sequence[Problem], named: bool) -> str:
    """Return the Python that makes a study again."""
    problems = repr([world.name for world in worlds]) if named else f'rankone.load_problems("{PROBLEM_FILE}")'
    if not named and not in_files(worlds):
        problems = f"[{', '.join(_made(problem_to_dict(world)) for world in worlds)}]"
    late = {"feedback": about["feedback"]} if about.get("feedback") else {}
    settings = {name: about[name] for name in ("policies", "horizon", "runs", "seed")}
    settings |= {"checkpoints": checkpoints_of(about["checkpoints"]), **late}
    return _call("study", "simulate", [("problems", problems), *_said(settings)], "study.summary()")


def sweep_python(about: Mapping[str, Any]) -> str:
    """Return the Python that makes a sweep again."""
    settings = dict(about["settings"])
    given = settings.pop("problems")
    problems = ", ".join(_made(one) if isinstance(one, dict) else repr(one) for one in given)
    rest = _said({**settings, "grid": about["grid"], "x": about["x"]})
    return _call("result", "sweep", [("problems", f"[{problems}]"), *rest], "result.table")


def arena_python(about: Mapping[str, Any]) -> str:
    """Return the Python that makes an arena again."""
    given = {name: value for name, value in about["settings"].items() if value is not None and value is not False}
    return _call("found", "arena", _said(given), "found.scores()")


def arena_command(about: Mapping[str, Any]) -> str:
    """Return the command that makes an arena again."""
    called = {"policies": "policy", "problems": "problem"}
    return command_text("arena", {called.get(name, name): value for name, value in about["settings"].items()}, "arena")


def in_files(worlds: Sequence[Problem]) -> bool:
    """Tell whether files can hold these problems: those with rows and columns."""
    return all(isinstance(world, RankOne) for world in worlds)


def _made(values: Mapping[str, Any]) -> str:
    """Return the Python that makes a problem of its plain values; the module of another kind has to be imported."""
    return (
        f"rankone.problems.base.problem_from_dict({values!r})" if "kind" in values else f"rankone.RankOne(**{values!r})"
    )


def _said(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, repr(value)) for name, value in settings.items()]


def _call(result: str, function: str, arguments: list[tuple[str, str]], shown: str) -> str:
    lines = "".join(f"    {name}={value},\n" for name, value in arguments)
    # As CSV: a frame is shown with its middle columns left out, and the report offers the same CSV to compare with.
    return f"import rankone\n\n{result} = rankone.{function}(\n{lines})\nprint({shown}.write_csv())\n"
