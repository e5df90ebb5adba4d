"""Ctrl-C in a study: it is heard in the middle of a run, and what is finished is returned."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

import pytest

import rankone

ENDLESS = 10**14  # decisions; the yardstick is settled after the first and takes no time


def interrupting() -> Callable[[int, int], None]:
    """Progress that presses Ctrl-C a moment after the first run is finished, when the next has begun."""

    def report(finished: int, total: int) -> None:
        if finished:
            main = threading.main_thread().ident
            assert main is not None
            threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT)).start()

    return report


@pytest.mark.parametrize("workers", [1, 2])
def test_a_stopped_study_has_the_runs_that_are_finished(workers: int) -> None:
    with pytest.warns(UserWarning, match="stopped by hand: the study has the 1 of 2 runs that are finished"):
        study = rankone.simulate(
            "needle:2x2", ["best", "uniform"], ENDLESS, runs=1, workers=workers, checkpoints=1, progress=interrupting()
        )
    assert [run.policy for run in study.runs] == ["best"]
    assert study.is_partial
    assert "(1 of 2 runs are finished)" in repr(study)


def test_what_is_finished_is_kept_on_disk_too(tmp_path) -> None:
    with pytest.raises(KeyboardInterrupt):
        rankone.simulate(
            "needle:2x2",
            ["best", "uniform"],
            ENDLESS,
            runs=1,
            workers=1,
            checkpoints=1,
            out=tmp_path,
            progress=interrupting(),
            on_stop="raise",
        )
    assert [run.policy for run in rankone.Study.load(tmp_path).runs] == ["best"]


def test_a_stop_before_the_first_run_is_finished_is_raised() -> None:
    def stop(finished: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rankone.simulate("needle:2x2", "uniform", 1000, runs=1, workers=1, progress=stop)


def test_pauses_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even with late outcomes, which the loop may have to make room for in the middle of a stretch."""
    from rankone.kernels import play

    def regret(feedback: str | None) -> list[float]:
        study = rankone.simulate("needle:3x3", "ucb1", 3000, runs=1, workers=1, checkpoints=7, feedback=feedback)
        return study.table["regret"].to_list()

    expected = [regret(feedback) for feedback in (None, "delay:mean=1500")]
    monkeypatch.setattr(play, "_FIRST_STRETCH", 13)
    monkeypatch.setattr(play, "_STRETCH_SECONDS", 1e-9)
    assert [regret(feedback) for feedback in (None, "delay:mean=1500")] == expected
