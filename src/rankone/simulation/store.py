"""Finished runs on disk, one line of JSON each, appended as they finish: a killed study loses only runs in progress."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np

from rankone._version import __version__
from rankone.errors import InputError
from rankone.simulation.work import Run

_FORMAT = "rankone-study-1"


class RunStore:
    """The runs of one study directory: ``study.json`` says what they are, ``runs.jsonl`` holds them."""

    def __init__(self, directory: Path, description: dict[str, Any]) -> None:
        """Open or continue a study; `description` must agree with what the directory already holds."""
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        description = {"format": _FORMAT, "version": __version__, **description}
        header = directory / "study.json"
        if header.exists():
            present = json.loads(header.read_text())
            for key in ("format", "version", "horizon", "seed", "checkpoints"):
                if present.get(key) != description[key]:
                    raise InputError(
                        f"a study with {key} {_short(description[key])} in {directory}",
                        f"one with {key} {_short(present.get(key))}",
                        "choose another directory, or delete this one",
                    )
        header.write_text(json.dumps(description, indent=1))
        self._mend()
        self._file: IO[str] = self._path.open("a")

    @property
    def _path(self) -> Path:
        return self.directory / "runs.jsonl"

    def _mend(self) -> None:
        """Cut a last line that a killed process left unfinished."""
        if self._path.exists():
            data = self._path.read_bytes()
            whole = data[: data.rfind(b"\n") + 1]
            if len(whole) < len(data):
                self._path.write_bytes(whole)

    def __iter__(self) -> Iterator[tuple[str, Run]]:
        """Every finished run with the digest of its problem."""
        if self._path.exists():
            with self._path.open() as lines:
                for line in lines:
                    entry = json.loads(line)
                    digest, regret = entry.pop("digest"), np.array(entry.pop("regret"))
                    yield digest, Run(**entry, regret=regret)

    def append(self, digest: str, runs: Iterable[Run]) -> None:
        """Add finished runs; they survive a kill from here on."""
        for run in runs:
            entry = {"digest": digest, **run._asdict(), "regret": [float(value) for value in run.regret]}
            self._file.write(json.dumps(entry, separators=(",", ":")) + "\n")
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
