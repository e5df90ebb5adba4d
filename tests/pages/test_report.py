"""A report says what a directory holds, and what it says to run gives the same numbers."""

import base64
import contextlib
import dataclasses
import io
import json
import re
import shlex
from html import unescape

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankone
from rankone.charts.regret import regret_chart
from rankone.paper.claims import Claim, Reproduction
from rankone.simulation.arena import Arena
from rankone.simulation.sweep import Sweep

HOSTILE = '</script><img src=x onerror="window.hacked=1">'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A study whose problem needs a file, and a label that wants to be markup."""
    path = tmp_path_factory.mktemp("study")
    mine = rankone.RankOne([0.9, 0.3], [0.8, 0.2], row_names=[HOSTILE, "b"], name=HOSTILE)
    rankone.simulate(
        [mine, "needle:2x2"], ["uts", "rank1elim-kl:c=0"], horizon=200, runs=3, seed=7, workers=1, out=path
    )
    return path


@pytest.fixture(scope="module")
def page(folder, tmp_path_factory):
    return rankone.report(folder, tmp_path_factory.mktemp("report") / "there" / "report.html").read_text()


def code(page):
    """The blocks of code of a page, and the files it offers."""
    blocks = [unescape(text) for text in re.findall("<pre>(.*?)</pre>", page, re.DOTALL)]
    files = re.findall(r'download="([^"]+)" href="data:text/plain;base64,([^"]+)"', page)
    return blocks, {name: base64.b64decode(text).decode() for name, text in files}


def run_python(block):
    names = {}
    block = re.sub(r"rankone\.(\w+)\(", r"rankone.\1(workers=1,", block, count=1)  # processes take long to start
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(block, "report", "exec"), names)
    assert "," in said.getvalue().partition("\n")[0]  # every column, none left out for the width of a terminal
    return names


FIGURES = ["problem", "policy", "runs", "regret_mean", "regret_se", "regret_median", "regret_p95"]


def test_what_it_says_to_run_gives_the_same_numbers(page):
    blocks, files = code(page)
    told = pl.read_csv(io.StringIO(files["summary.csv"]))
    assert told.height == 4
    again = run_python(blocks[0])["result"].summary()
    assert_frame_equal(again.select(FIGURES), told.select(FIGURES), check_dtypes=False, check_exact=True)


def test_it_says_versions_seed_and_machine(page, folder):
    about = json.loads((folder / "study.json").read_text())
    for fact in (*about["versions"].values(), *about["machine"].values(), "<td>7</td>"):
        assert fact in page
    assert set(about["machine"]) == {"Python", "system", "processor", "cores"}


def test_the_licence_of_vega_goes_where_vega_goes(page):
    assert "University of Washington Interactive Data Lab" in page


def test_foreign_names_are_only_text(page):
    assert HOSTILE not in page
    assert "&lt;/script&gt;&lt;img" in page
    assert "\\u003c/script>\\u003cimg" in page


def test_an_unfinished_study_is_told_as_far_as_it_is(folder, tmp_path):
    (tmp_path / "study.json").write_text((folder / "study.json").read_text())
    lines = (folder / "runs.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "runs.jsonl").write_text("".join(lines[:5]) + lines[5][:40])  # killed while it wrote
    assert "5 of 12 runs" in rankone.report(tmp_path).read_text()
    (tmp_path / "runs.jsonl").unlink()
    with pytest.raises(rankone.errors.InputError, match=r"Expected finished runs in .*, but got none yet"):
        rankone.report(tmp_path)


def test_a_study_loaded_is_the_study(folder):
    study = rankone.Study.load(folder)
    assert study.summary().height == 4
    assert study.table.height == 12 * len(study.checkpoints)


def test_sweeps_side_by_side(tmp_path):
    for name, feedback in (("size", "immediate"), ("wait", "delay:mean={k}")):
        found = rankone.sweep(
            ["needle:{k}x{k}", rankone.RankOne([0.9, 0.1], [0.5])], ["uts", rankone.UCB1()], 100, {"k": [2, 3]}, runs=2,
            feedback=feedback, x="k", workers=1, out=tmp_path / name,
        )  # fmt: skip
        found.save(tmp_path / name)
    assert_frame_equal(Sweep.load(tmp_path / "wait").table, found.table)
    page = rankone.report(tmp_path).read_text()
    assert page.count("<article>") == 2
    again = run_python(code(page)[0][1])["result"]  # that of the second article
    assert_frame_equal(again.table.drop("seconds"), found.table.drop("seconds"))


def test_an_arena(tmp_path):
    found = rankone.arena(["two-by-two"], ["ucb1"], runs=2, quick=True, workers=1)
    found.save(tmp_path)
    assert_frame_equal(Arena.load(tmp_path).scores(), found.scores())
    assert found.headline == "uts has the least regret over 1 problem."
    beaten = dataclasses.replace(found, against="ucb1")
    assert re.fullmatch(
        r"uts has the least regret: -\d+% against ucb1, at worst -\d+% on two-by-two\.", beaten.headline
    )
    blocks, _ = code(rankone.report(tmp_path).read_text())
    again = run_python(blocks[0])["result"]
    assert_frame_equal(again.table.drop("seconds"), found.table.drop("seconds"))


def test_a_reproduced_figure(tmp_path, monkeypatch):
    table = pl.DataFrame(
        {"problem": ["p"] * 2, "policy": ["a"] * 2, "run": [0, 0], "step": [1, 2], "regret": [0.1, 0.2]}
    )
    made = Reproduction(
        {"summary": table}, [Claim("it works", "here", "<yes>", True)], {"fig9": regret_chart(table, {})}
    )
    place = tmp_path / "fig 9"
    made.save(place, "rankone reproduce fig9 --quick")
    page = rankone.report(place).read_text()
    assert "1 of 1 claims hold" in page
    assert "&lt;yes&gt;" in page
    monkeypatch.chdir(place)
    for written in (page, rankone.report(".").read_text()):
        assert shlex.split(code(written)[0][0]) == ["rankone", "reproduce", "fig9", "--quick", "--out", "fig 9"]


def broken_kind(path):
    (path / "study.json").write_text('{"format": "rankone-study-1"}')


def other_format(path):
    (path / "study.json").write_text('{"format": "rankone-study-9"}')


def damaged(path):
    (path / "arena.json").write_text("{")


def half_an_arena(path):
    (path / "arena.json").write_text('{"format": "rankone-arena-1", "against": "uts", "settings": {}}')


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda path: None, "Expected results of rankone in .*, but got an empty directory. Name what"),
        (lambda path: (path / "notes.txt").write_text(""), "got notes.txt"),
        (broken_kind, "Expected a whole study of this version in .*, but got KeyError"),
        (other_format, "Expected format 'rankone-study-1' in .*, but got format 'rankone-study-9'"),
        (damaged, "Expected JSON in .*, but got a damaged text"),
        (half_an_arena, "Expected a whole arena of this version"),
    ],
)
def test_a_wrong_directory_gets_a_sentence(tmp_path, prepare, message):
    prepare(tmp_path)
    with pytest.raises(rankone.errors.InputError, match=message):
        rankone.report(tmp_path)


def test_no_directory_at_all(tmp_path):
    with pytest.raises(rankone.errors.InputError, match="got nothing there"):
        rankone.report(tmp_path / "nowhere")
    with pytest.raises(rankone.errors.InputError, match="got a file"):
        rankone.report(__file__)
