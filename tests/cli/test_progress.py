"""What commands say while they work, and when they are stopped."""

import os
import re
import signal
from pathlib import Path

import pytest
from rich.progress import Progress
from rich.text import Text
from typer.testing import CliRunner

from rankone.cli import build_app
from rankone.cli._progress import CompilingOrBar, progress_bar, stopped_by_hand


def test_a_bar_that_stands_says_that_it_may_be_the_compiler():
    now = [0.0]
    column = CompilingOrBar()
    bar = Progress(column, get_time=lambda: now[0])
    bar.add_task("runs", total=6, first=2, completed=2, compiles=True)
    task = bar.tasks[0]

    def says_so():
        shown = column.render(task)
        return isinstance(shown, Text) and "first time only" in shown.plain

    assert not says_so()  # perhaps all goes fast
    now[0] = 3.0
    assert says_so()
    bar.update(0, completed=3)
    assert not says_so()
    bar.update(0, completed=2, compiles=False)
    assert not says_so()


@pytest.mark.parametrize("words", [("simulate", "-p", "needle:2x2", "-P", "utts"), ("fit", "nowhere.tsv"),
                                   ("arena", "--runs", "0"), ("explain", "-P", "utts")])  # fmt: skip
def test_nothing_is_drawn_or_said_before_an_input_error(words):
    done = CliRunner().invoke(build_app(), words)
    assert re.match("Expected |No such file: ", str(done.exception))
    assert done.output == ""


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
    raise AssertionError("Ctrl-C is told to the main thread before it goes on")


def test_ctrl_c_says_at_once_that_it_stops_and_then_what_is_kept(capsys):
    said_at_once = []

    def work():
        with progress_bar("runs", out=Path("long")) as draw:
            draw(0, 1_000, "reading")
            draw(16, 24)
            try:
                interrupt()
            finally:
                said_at_once.append(capsys.readouterr().err)

    with pytest.raises(SystemExit) as ended:
        work()
    assert ended.value.code == 130
    assert "rankone: stopping ..." in said_at_once[0]
    assert "rankone: stopped; 16 of 24 runs are kept in long; the same command continues" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_before_the_first_figure(capsys):
    with pytest.raises(SystemExit), progress_bar("runs", out=Path("long")):
        interrupt()
    assert "stopped; what was finished is kept in long; the same command continues" in capsys.readouterr().err


def test_who_ignores_ctrl_c_goes_on_ignoring_it():
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stopped_by_hand(lambda: ""):
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, usual)
