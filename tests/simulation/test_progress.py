"""What people give as progress, seed and horizon of a study."""

from __future__ import annotations

import io
import re
import sys

import pytest

import rankone
from rankone.errors import InputError
from rankone.progress import as_progress
from rankone.testing import FamilySuite


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_true_draws_a_bar_that_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    rankone.simulate("needle:2x2", "uniform", 100, runs=2, workers=1, progress=True)
    drawn = screen.getvalue().split("\r")
    assert "] 0 of 2 runs" in drawn[1]
    assert drawn[-1].startswith(f"[{'#' * 30}] 2 of 2 runs")
    assert drawn[-1].endswith("\n")


def test_a_file_gets_the_last_line_only(capsys: pytest.CaptureFixture[str]) -> None:
    bar = as_progress(True)
    bar(1, 3)
    assert capsys.readouterr().err == ""
    bar(3, 3)
    assert "3 of 3 runs" in capsys.readouterr().err


def test_who_asks_for_no_bar_sees_one_after_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now, screen = [0.0], Terminal()
    monkeypatch.setattr("rankone.progress.time.monotonic", lambda: now[0])
    monkeypatch.setattr(sys, "stderr", screen)
    bar = as_progress(None, "tests", late=True)
    bar(1, 3)
    assert screen.getvalue() == ""
    now[0] = 1.5
    bar(2, 3)
    assert screen.getvalue().rstrip().endswith("] 2 of 3 tests, 2 s, about 2 s left")
    quiet = as_progress(False, "tests", late=True)
    now[0] = 9.0
    quiet(3, 3)
    assert "3 of 3" not in screen.getvalue()


def test_a_suite_and_a_plan_that_take_long_say_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rankone.progress._LATE", 0.0)
    FamilySuite.check(family="needle")
    rankone.plan(rows=2, cols=2, rate=0.2, lift=0.5, aim="decide")
    assert re.search(r"\] (\d+) of \1 tests", told := capsys.readouterr().err)
    assert re.search(r"\] ([\d,]+) of \1 rehearsals", told)


def test_whatever_takes_long_takes_progress(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    made = rankone.clicks.generate_log(tmp_path / "log.tsv", 300, queries=1, items=15, progress=True)
    counts = rankone.clicks.read(made.path, progress=True)
    rankone.clicks.RankCTR().fit(counts, progress=True)
    rankone.clicks.PBM().fit(counts, progress=True)
    rankone.check_rank1(([[90, 90], [90, 90]], [[9, 5], [8, 4]]), simulations=20, progress=True)
    rankone.analyse(([[90, 90], [90, 90]], [[9, 5], [8, 4]]), simulations=20, progress=True)
    told = capsys.readouterr().err
    for what in ("300 of 300 lists", " bytes, ", "20 of 20 simulations"):
        assert what in told


def test_a_stop_that_nobody_knows_is_refused() -> None:
    with pytest.raises(InputError, match="Expected on_stop as one of return, raise, but got never"):
        rankone.simulate("needle:2x2", "uniform", 10, on_stop="never")  # type: ignore[arg-type]


def test_progress_that_is_no_function_is_refused() -> None:
    with pytest.raises(InputError, match="Expected progress as True or a function"):
        rankone.simulate("needle:2x2", "uniform", 100, progress="yes")  # type: ignore[arg-type]


def test_a_horizon_may_be_written_as_a_float() -> None:
    study = rankone.simulate("needle:2x2", "rank1elim-kl", 1e2, runs=2.0, workers=1)  # type: ignore[arg-type]
    assert study.horizon == 100
    again = rankone.simulate("needle:2x2", "rank1elim-kl", 100, runs=2, workers=1)
    assert study.table.equals(again.table)
    assert rankone.hardness("needle:2x2", 1e4).horizon == 10_000  # type: ignore[arg-type]
    assert rankone.explain("uts", horizon=5e1).horizon == 50  # type: ignore[arg-type]
    for wrong in (1.5, float("inf"), float("nan")):
        with pytest.raises(InputError, match="Expected horizon as a whole number"):
            rankone.simulate("needle:2x2", "uniform", wrong)  # type: ignore[arg-type]


def test_no_seed_draws_one_and_tells(tmp_path) -> None:
    drawn = rankone.simulate("needle:2x2", "uniform", 50, runs=2, workers=1, seed=None, out=tmp_path)
    assert f"seed {drawn.seed}" in repr(drawn)
    again = rankone.simulate("needle:2x2", "uniform", 50, runs=2, workers=1, seed=drawn.seed)
    assert again.table.equals(drawn.table)
    more = rankone.simulate("needle:2x2", "uniform", 50, runs=3, workers=1, seed=None, out=tmp_path)
    assert more.seed == drawn.seed == rankone.Study.load(tmp_path).seed
    assert rankone.UTS().agent(2, 2, seed=None).seed != rankone.UTS().agent(2, 2, seed=None).seed
    assert rankone.explain("uts", horizon=10, seed=None).seed >= 0
