"""What commands say while they work, and when they are stopped."""

import io
import os
import re
import signal
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rankone.cli import build_app
from rankone.cli._progress import progress_bar, stopped_by_hand


def test_a_bar_that_stands_says_that_it_may_be_the_compiler(monkeypatch):
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", screen)
    with progress_bar("runs", compiles=True) as draw:
        draw(2, 6)  # two are from an earlier call
        draw(6, 6)
    first, last = (each.rstrip() for each in screen.getvalue().split("\r")[1:])
    assert first.endswith("2 of 6 runs; compiling first, if new here, 0 s")
    assert last.endswith("6 of 6 runs, 0 s")


@pytest.mark.parametrize("words", [("simulate", "-p", "needle:2x2", "-P", "utts"), ("fit", "nowhere.tsv"),
                                   ("arena", "--runs", "0"), ("explain", "-P", "utts")])  # fmt: skip
def test_nothing_is_drawn_or_said_before_an_input_error(words):
    done = CliRunner().invoke(build_app(), words)
    assert re.match("Expected |No such (file|policy): ", str(done.exception))
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
