"""The command check-rank1, on a log, on a file of counts and on a live experiment."""

import json

import pytest
from typer.testing import CliRunner

import rankone
from rankone.cli import build_app
from rankone.errors import InputError


def run(*words):
    done = CliRunner().invoke(build_app(), ["check-rank1", *map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def counts(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("row,col,shown,clicks\nA,x,500,300\nA,y,500,50\nB,x,500,60\nB,y,500,310\n")
    return path


def test_a_file_of_counts(counts, tmp_path):
    text = run(counts, "--chart", tmp_path / "rank1.png", "--simulations", 99)
    assert "doubtful, p = 0.01" in text
    assert "farthest from rank 1" in text
    assert (tmp_path / "rank1.png").stat().st_size > 5_000


def test_json_is_only_json(counts):
    found = json.loads(run(counts, "--json", "--simulations", 99))
    assert found["doubtful"] is True
    assert found["checks"][0]["largest_deviations"][0]["row"] in ("A", "B")


def test_a_log_query_by_query(tmp_path):
    log = tmp_path / "log.tsv.gz"
    words = ["generate-log", str(log), "--lists", "2000", "--queries", "2", "--items", "12"]
    assert CliRunner().invoke(build_app(), words).exit_code == 0
    found = json.loads(run(log, "--json", "--simulations", 49))
    assert len(found["checks"]) == 2
    assert "queries" in run(log, "--simulations", 49)


def test_a_live_experiment(tmp_path):
    with rankone.Experiment("page", rows=2, cols=2, db=tmp_path / "page.db") as page:
        page.tell_many([(one.id, True) for one in page.ask(40)])
    assert "played again" in run(tmp_path / "page.db", "page", "--simulations", 20)


def test_wrong_input_is_a_sentence(tmp_path, counts):
    db = tmp_path / "page.db"
    with rankone.Experiment("page", rows=2, cols=2, db=db):
        pass
    for words in ((db,), (tmp_path / "none.csv",), (counts, "--level", 2), (db, "page", "--simulations", 0)):
        with pytest.raises(InputError, match=r"expected .* - got .* - "):
            run(*words)
