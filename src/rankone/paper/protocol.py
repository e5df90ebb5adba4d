"""How results of papers are played again: how thoroughly, where finished runs are kept, and which policies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rankone.errors import InputError
from rankone.problems import Problem
from rankone.progress import Progress
from rankone.simulation import Study, simulate

AS_PRINTED = "as printed (c = 3)"
READINGS = {"rank1elim-kl": AS_PRINTED, "rank1elim-kl:c=0": "level log n (c = 0)"}
BASELINES = ("rank1elim", "ucb1-elim", "ucb1")
POLICIES = (*READINGS, *BASELINES, "kl-ucb")


class Played(NamedTuple):
    """A study to play: policies on problems."""

    problems: Sequence[Problem | str]
    policies: Sequence[str]
    horizon: int
    folder: str = ""  # of its runs


@dataclass(frozen=True)
class Protocol:
    """How thoroughly to reproduce, and from what.

    Args:
        out: directory that keeps finished runs, and a generated log: a stopped reproduction continues there.
        quick: fewer runs, and of a log shorter horizons, for a first look.
        workers: processes to use.
        progress: called with (finished, all).
        log: for Figures 2 and 3, a click log; without one, a generated log is used and labelled so.
        format: format of the log; recognised automatically by default.
        truth: play on the truth of the generated log instead of on its fit.
        preparing: called with (finished, all, what they are) while the log is made and read.
    """

    out: Path | None = None
    quick: bool = False
    workers: int | None = None
    progress: Progress = lambda finished, total: None
    log: str | None = None
    format: str | None = None
    truth: bool = False
    preparing: Callable[[int, int, str], None] = lambda finished, total, what: None

    def __post_init__(self) -> None:
        if self.log is not None and self.truth:
            raise InputError("a log of known truth", f"the log {self.log}", "leave out the log, or the truth")
        if self.log is None and self.format is not None:
            raise InputError("a log with the format", f"{self.format} and no log", "name the log, or leave it out")

    def play(self, studies: Sequence[Played], runs: int, seed: int = 1, **settings: Any) -> list[Study]:
        """Play studies one after the other, with one count of the runs of all."""
        sizes = [runs * len(study.problems) * len(study.policies) for study in studies]

        def progress(index: int) -> Progress:
            return lambda finished, _: self.progress(sum(sizes[:index]) + finished, sum(sizes))

        return [
            simulate(
                study.problems,
                study.policies,
                study.horizon,
                runs=runs,
                seed=seed,
                workers=self.workers,
                out=self.out and self.out / study.folder,
                progress=progress(index),
                on_stop="raise",
                **settings,
            )
            for index, study in enumerate(studies)
        ]
