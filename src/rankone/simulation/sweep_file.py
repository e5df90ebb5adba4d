"""Sweeps written down in a file: TOML, or YAML where PyYAML is installed.

::

    runs = 20                                   # what stands above the sweeps holds for all of them
    policies = ["rank1elim-kl:c=0", "uts"]

    [sweep.size]                                # one or more sweeps, each with a name
    title = "Linear in K + L"
    problems = "needle:{k}x{k}"
    horizon = 1_000_000
    grid.k = [8, 16, 32]
    x = "lines"                                 # what to draw against
    exponent = 1                                # what theory promises
"""

import importlib.resources
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankone.errors import InputError, MissingExtra
from rankone.simulation.grid import lay_out
from rankone.specs import did_you_mean, number_in, one_of, parse_whole_number

_NEEDED = ("problems", "policies", "horizon", "grid")
_OPTIONAL = ("runs", "seed", "feedback", "x")
_ABOUT = ("title", "exponent")


@dataclass(frozen=True)
class WrittenSweep:
    """One sweep of a file: the settings of `rankone.sweep`, and what to say about it."""

    name: str
    settings: dict[str, Any]
    title: str
    exponent: float | None = None


def read_sweeps(path: str | Path) -> list[WrittenSweep]:
    """Read the sweeps of a file, or of a shipped example by its name.

    >>> [sweep.name for sweep in read_sweeps("scaling")]
    ['size', 'gap', 'mu']
    """
    where = _located(Path(path))
    content = _parsed(where)
    named = content.pop("sweep", None)
    if named is None:
        named = {Path(path).stem: {}}
    if not isinstance(named, dict) or not named or not all(isinstance(part, dict) for part in named.values()):
        raise InputError("sweeps as tables [sweep.NAME]", f"{named!r} in {where}", "see docs/sweeps.md for an example")
    return [_checked(name, content | part, where) for name, part in named.items()]


def shipped_sweeps() -> dict[str, Path]:
    """Return the examples that come with the package, by name."""
    folder = Path(str(importlib.resources.files("rankone"))) / "examples"
    return {file.stem: file for file in sorted(folder.glob("*.toml"))}


def _located(path: Path) -> Path:
    if path.is_file():
        return path
    shipped = shipped_sweeps()
    if str(path) in shipped:
        return shipped[str(path)]
    do = did_you_mean(str(path), shipped, "check the path")
    raise InputError(f"a file, or one of the shipped sweeps {', '.join(shipped)}", f"no file {path}", do)


def _parsed(path: Path) -> dict[str, Any]:
    if path.suffix in (".yaml", ".yml"):
        try:
            import yaml
        except ImportError:
            raise MissingExtra("a sweep in YAML (TOML needs nothing)", "yaml") from None
        read, wrong = yaml.safe_load, yaml.YAMLError
    else:
        read, wrong = tomllib.loads, tomllib.TOMLDecodeError
    try:
        content = read(path.read_text())
    except (wrong, UnicodeDecodeError) as error:
        text = " ".join(str(error).split())
        raise InputError(f"{path} in TOML or YAML", f"an error: {text}", "mend the file") from None
    if not isinstance(content, dict):
        raise InputError("settings by name", f"{content!r} in {path}", "see docs/sweeps.md for an example")
    return content


def _checked(name: str, settings: dict[str, Any], where: Path) -> WrittenSweep:
    known = (*_NEEDED, *_OPTIONAL, *_ABOUT)
    for key in settings:
        one_of(f"setting of sweep '{name}' in {where}", key, known)
    for key in _NEEDED:
        if key not in settings:
            raise InputError(f"'{key}' in sweep '{name}'", f"none in {where}", f"write {key} = ...")
    if not isinstance(settings["grid"], dict):
        raise InputError(f"a grid of names with values in sweep '{name}'", settings["grid"], "try grid.k = [8, 16]")
    values = {key: value for key, value in settings.items() if key not in _ABOUT}
    for key in ("horizon", "runs"):  # 1e6 is a float in TOML, and a text in YAML
        if isinstance(values.get(key), float):
            values[key] = parse_whole_number(key, str(values[key]))
    lay_out(**{key: value for key, value in values.items() if key not in ("runs", "seed")})  # before any is played
    exponent = settings.get("exponent")
    if exponent is not None:
        exponent = number_in(f"exponent of sweep '{name}'", exponent, "[-100, 100]", example=-1)
    return WrittenSweep(name, values, str(settings.get("title", name)), exponent)
