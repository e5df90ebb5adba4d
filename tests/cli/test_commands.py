"""The command, as a person or a script meets it."""

import json
import subprocess
import sys

import polars as pl
import pytest

from rankone.cli.study.reproduce import show_reproduction
from rankone.paper.claims import Claim, Reproduction
from tests.programs import rankone

SIMULATE = ("simulate", "--problem", "needle:3x3", "--policy", "ucb1", "--policy", "rank1elim-kl:c=0", "--horizon", "1e3",
            "--runs", "3", "--workers", "1")  # fmt: skip


def test_simulate_writes_table_summary_and_chart(tmp_path):
    done = rankone(*SIMULATE, "--out", str(tmp_path / "study"))
    assert done.returncode == 0, done.stderr
    assert "rank1elim-kl:c=0" in done.stdout
    table = pl.read_parquet(tmp_path / "study" / "table.parquet")
    assert table["policy"].unique(maintain_order=True).to_list() == ["ucb1", "rank1elim-kl:c=0"]
    assert (tmp_path / "study" / "regret.png").read_bytes().startswith(b"\x89PNG")


def test_json_is_all_there_is_on_standard_output():
    done = rankone(*SIMULATE, "--json")
    summary = json.loads(done.stdout)
    assert [line["runs"] for line in summary] == [3, 3]
    assert summary[0]["horizon"] == 1_000


def test_policies_and_their_parameters():
    found = {line["policy"]: line for line in json.loads(rankone("policies", "--json").stdout)}
    assert "c=3" in found["rank1elim-kl"]["parameters"]
    assert "ucb1" in rankone("policies").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("simulate", "--problem", "needle:3x3", "--policy", "ucb9"), "No such policy: ucb9"),
        (("simulate", "--problem", "haystack:3x3", "--policy", "ucb1"), "haystack"),
        (("simulate", "--problem", "needle:3x3", "--policy", "ucb1", "--horizon", "-5"), "-5"),
        (("hardness", "nowhere.csv"), "nowhere.csv"),
        (("arena", "--runs", "0"), "Expected runs"),
        (("simulate", "-p", "needle:2x2", "--horizon", "1k"), "Try 100000"),
        (("simulate", "-p", "needl:2x2", "-P", "ucb1"), "Did you mean needle?"),
        (("serve", "--port", "99999"), "--port"),
        (("fit", "log.tsv", "--top", "-1"), "--top"),
        (("simulate", "-p", "needle:100000x100000", "-P", "thompson"), "Choose 'uts', which keeps only what was shown"),
    ],
)
def test_errors_are_one_sentence(words, message):
    done = rankone(*words)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_help_and_version():
    assert "simulate" in rankone("--help").stdout
    assert rankone("--version").stdout.count(".") >= 1


def test_help_imports_nothing_heavy():
    code = "import sys; sys.argv = ['rankone', '--help']\ntry:\n  from rankone.cli import main; main()\nexcept SystemExit: pass\n"
    code += "print([name for name in ('numpy', 'numba', 'polars', 'altair', 'sqlalchemy', 'fastapi') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip().endswith("[]"), done.stdout[-200:]


def test_simulate_without_a_policy_compares_the_recommended_one():
    done = rankone("simulate", "--problem", "needle:2x2", "--horizon", "300", "--runs", "2", "--workers", "1", "--json")
    assert [line["policy"] for line in json.loads(done.stdout)] == ["uts", "rank1elim-kl", "ucb1"]
    assert "No --policy given: comparing uts, rank1elim-kl, ucb1." in done.stderr
    assert "least regret" in done.stderr


def test_arena_prints_table_and_scores_and_writes_the_rest(tmp_path):
    words = ("arena", "--quick", "--runs", "2", "--workers", "1", "-P", "uniform", "-p", "two-by-two", "-p", "trap-6")
    done = rankone(*words, "--out", str(tmp_path / "arena"))
    assert done.returncode == 0, done.stderr
    for part in ("two-by-two", "trap-6", "uniform", "x bound", "ratios to uts", "worst p99 on traps", "2,000"):
        assert part in done.stdout
    assert (tmp_path / "arena" / "arena.png").read_bytes().startswith(b"\x89PNG")
    said = json.loads(rankone(*words, "--out", str(tmp_path / "arena"), "--json").stdout)
    assert [line["policy"] for line in said] == ["uts", "uniform"] * 2
    assert rankone("arena", "--half", "third").returncode == 2


def test_what_one_sees_without_out_and_that_out_is_no_file(tmp_path):
    words = ("simulate", "-p", "needle:2x2", "-P", "uniform", "--horizon", "100", "--runs", "1", "--workers", "1")
    done = rankone(*words)
    assert "100 decisions, 1 run, seed 0" in done.stdout
    assert "--out DIRECTORY keeps the runs" in done.stderr
    (tmp_path / "file").write_text("")
    for out in ("file", "file/below"):
        refused = rankone(*words, "--out", str(tmp_path / out))
        assert refused.returncode == 2
        assert f"Expected a directory {tmp_path / out}, but got a file" in refused.stderr


@pytest.mark.parametrize("quick", [True, False])
def test_a_quick_reproduction_says_that_it_is_a_first_look(tmp_path, capsys, quick):
    show_reproduction(Reproduction({}, [Claim("it works", "here", "yes", True)], {}), tmp_path, "fig1", quick=quick)
    assert ("a first look" in capsys.readouterr().out) == quick


def test_what_is_refused_is_refused_alone():
    """Which policies would have been compared is not said above an error."""
    done = rankone("simulate", "--problem", "needl:3x3")
    assert done.stderr.startswith("rankone: No such problem: needl")
    assert rankone("explain", "--problem", "needl:3x3").stderr.startswith("rankone: No such problem: needl")


def test_another_policy_in_the_same_directory_replaces_nothing(tmp_path):
    words = ("simulate", "-p", "needle:2x2", "--horizon", "100", "--runs", "2", "--workers", "1", "--out")
    rankone(*words, str(tmp_path), "-P", "uniform")
    done = rankone(*words, str(tmp_path), "-P", "ucb1")
    assert f"The files also show what {tmp_path} already held: policies uniform." in done.stdout
    assert [line["policy"] for line in json.loads((tmp_path / "summary.json").read_text())] == ["uniform", "ucb1"]
    assert pl.read_parquet(tmp_path / "table.parquet")["policy"].unique(maintain_order=True).to_list() == [
        "uniform",
        "ucb1",
    ]
    again = rankone(*words, str(tmp_path), "-P", "uniform", "-P", "ucb1")
    assert "already held" not in again.stdout


def test_the_picture_of_a_study_is_drawn_once(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from rankone.charts.chart import Chart
    from rankone.cli import build_app

    drawn = []
    monkeypatch.setattr(Chart, "save", lambda chart, path: drawn.append(path))
    words = ["simulate", "-p", "needle:2x2", "-P", "uniform", "--horizon", "50", "--runs", "1", "--workers", "1"]
    assert CliRunner().invoke(build_app(), [*words, "--log", "--out", str(tmp_path)]).exit_code == 0
    assert drawn == [tmp_path / "regret.png"]
