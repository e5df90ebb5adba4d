"""Results on disk: finished runs, a line of JSON each, appended as they finish; and what made them, beside them."""

import contextlib
import json
import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from rankone._version import __version__
from rankone.errors import InputError
from rankone.problems.base import Problem, problem_from_dict
from rankone.simulation.work_unit import Run, versions
from rankone.writing import write_file, writing_under

_FORMAT = "rankone-study-1"
_RUNS = "runs.jsonl"
_OTHER = "choose another directory, or delete this one"


class RunStore:
    """The runs of one study directory: ``study.json`` says what they are, ``runs.jsonl`` holds them."""

    def __init__(self, directory: Path, description: dict[str, Any], code: Mapping[tuple[str, str], str]) -> None:
        """Open or continue a study; `description` must agree with what the directory already holds.

        `code` names the sources behind each problem and policy, by digest and label: runs of other sources are left
        alone and asked again.
        """
        self.directory, self._code = directory, code
        description = {"format": _FORMAT, "version": __version__, **description}
        with writing_under(directory):
            self._describe(description)
            self._mend()
            self._file = self._path.open("ab", buffering=0)

    @property
    def _path(self) -> Path:
        return self.directory / _RUNS

    def _describe(self, description: dict[str, Any]) -> None:
        """Say what is in the directory: what is asked for now, and what was asked for before."""
        header = self.directory / "study.json"
        if header.exists():
            present = _read(header.read_text(), str(header))
            for key in ("format", "horizon", "seed", "checkpoints", "feedback", "paired"):  # other versions: `code`
                if present.get(key) != description.get(key):
                    wanted, got = (f"{key} {_short(about.get(key))}" for about in (description, present))
                    raise InputError(f"a study with {wanted} in {self.directory}", f"one with {got}", _OTHER)
            ours, theirs = description["problems"], present.get("problems", [])
            if not any(problem in theirs for problem in ours):
                raise InputError(f"a study of {_names(ours)} in {self.directory}", f"one of {_names(theirs)}", _OTHER)
            description = description | {
                "policies": [*dict.fromkeys([*present.get("policies", []), *description["policies"]])],
                "problems": _together(theirs, ours),
                "runs": max(present.get("runs", 1), description["runs"]),
            }
        write_file(header, json.dumps(description, indent=1))

    def _mend(self) -> None:
        """Cut a last line that a killed process or a full disk left unfinished."""
        if self._path.exists():
            data = self._path.read_bytes()
            os.truncate(self._path, data.rfind(b"\n") + 1)

    def append(self, digest: str, runs: Iterable[Run]) -> None:
        """Add finished runs; they survive a kill from here on."""
        for run in runs:
            about = {"digest": digest, "code": self._code[digest, run.policy]}
            entry = about | run._asdict() | {"regret": [float(value) for value in run.regret]}
            line = json.dumps(entry, separators=(",", ":")).encode() + b"\n"
            with writing_under(self.directory):
                while line:  # a disk that fills up takes a part first, and refuses the rest
                    line = line[self._file.write(line) :]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()


def finished_runs(directory: Path, code: Mapping[tuple[str, str], str] | None = None) -> Iterator[tuple[str, str, Run]]:
    """Yield every finished run with the digest of its problem and the key of the sources that played it.

    With `code`, the sources behind each problem and policy, only runs of these.
    """
    path = directory / _RUNS
    if not path.exists():
        return
    with path.open() as lines:
        for number, line in enumerate(lines, start=1):
            if not line.endswith("\n"):  # a process was killed while it wrote
                continue
            entry = _read(line, f"{path}, line {number}")
            try:
                key = entry.pop("code")
                if code is not None and key != code.get((entry["digest"], entry["policy"])):
                    continue
                digest, regret = entry.pop("digest"), np.array(entry.pop("regret"))
                run = Run(**entry, regret=regret)
            except (KeyError, TypeError) as error:
                got = f"another entry ({error})"
                raise InputError(f"a finished run in {path}, line {number}", got, _OTHER) from None
            yield digest, key, run


def kept_runs(
    directory: Path,
    problems: Sequence[Problem],
    policies: Sequence[str],
    runs: int,
    code: Mapping[tuple[str, str], str] | None = None,
) -> list[Run]:
    """Return the finished runs of a study, under the names that its problems have now; each once."""
    names = {problem.digest: problem.name for problem in problems}
    kept = {
        (digest, run.policy, run.run): run._replace(problem=names[digest])
        for digest, _, run in finished_runs(directory, code)
        if digest in names and run.policy in policies and run.run < runs
    }
    return list(kept.values())


def _read(text: str | bytes, where: str, do: str = _OTHER) -> dict[str, Any]:
    try:
        return dict(json.loads(text))
    except (ValueError, TypeError):
        raise InputError(f"JSON in {where}", "a damaged text", do) from None


def _together(theirs: list[dict[str, Any]], ours: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return all problems, each once; a name stands for what it stands for now."""
    worlds = {problem_from_dict(values).digest: values for values in (*theirs, *ours)}
    named = {values["name"] for values in ours}
    return [values for values in worlds.values() if values in ours or values["name"] not in named]


def _names(problems: list[dict[str, Any]]) -> str:
    return ", ".join(str(problem.get("name")) for problem in problems)


def _short(value: Any) -> str:
    text = f"{value:,}" if isinstance(value, int) else json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def made_with() -> dict[str, dict[str, str]]:
    """Return the versions behind a result and the machine it is made on; nothing that names a person or a host.

    >>> sorted(made_with())
    ['machine', 'versions']
    """
    machine = {
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": str(os.cpu_count() or 1),
    }
    return {"versions": dict(versions()), "machine": machine}


def write_about(directory: Path, kind: str, content: dict[str, Any]) -> None:
    """Write ``KIND.json`` into a directory of results: what they are and where they come from."""
    about = {"format": f"rankone-{kind}-1", **content, **made_with()}
    write_file(directory / f"{kind}.json", json.dumps(about, indent=1, default=lambda number: number.item()))


def read_about(directory: Path, kind: str) -> dict[str, Any]:
    """Return what ``KIND.json`` of a directory says."""
    path = directory / f"{kind}.json"
    if not path.is_file():
        wanted = f"{'an' if kind == 'arena' else 'a'} {kind} in {directory}"
        raise InputError(wanted, f"no {path.name} there", "name the directory that was given as out=")
    about = _read(path.read_bytes(), str(path), f"make the {kind} again")
    if about.get("format") != f"rankone-{kind}-1":
        got = f"format {about.get('format')!r}"
        raise InputError(f"format 'rankone-{kind}-1' in {path}", got, "use the version that wrote it")
    return about


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
