"""Counts of pairs from files, with the names people give their columns."""

import polars as pl
import pytest

from rankone import clicks
from rankone.clicks.counts.pair_counts import holds_pair_counts
from rankone.errors import InputError

ROWS = {"item": ["A", "A", "B", "B"], "position": ["top", "low", "top", "low"], "impressions": [10, 20, 5, 8]}


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_files_of_counts(tmp_path, ending):
    table = pl.DataFrame(ROWS | {"clicks": [1, 2, 3, 4]})
    path = tmp_path / f"counts.{ending}"
    if ending == "parquet":
        table.write_parquet(path)
    else:
        table.write_csv(path, separator="\t" if ending == "tsv" else ",")
    assert holds_pair_counts(path)
    (found,) = clicks.read_pair_counts(path)
    assert found.levels == (("A", "B"), ("top", "low"))
    assert found.shown.tolist() == [10, 20, 5, 8]
    assert found.clicked.tolist() == [1, 2, 3, 4]


def test_rows_of_a_pair_are_added_and_queries_kept_apart(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("query,row,col,shown,clicked\nq,A,x,1,1\nq,A,x,2,1\nr,A,x,5,0\n")
    first, second = clicks.read_pair_counts(path)
    assert (first.name, first.shown.tolist(), first.clicked.tolist()) == ("q", [3], [2])
    assert (second.name, second.shown.tolist()) == ("r", [5])


def test_a_log_of_impressions_is_not_taken_for_counts(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("query,item,position,clicked\nq,a,1,0\n")
    assert not holds_pair_counts(log)
    assert not holds_pair_counts(tmp_path / "missing.csv")


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("row,col,shown\nA,x,1\n", "none in counts.csv"),
        ("row,col,shown,clicks\n", "The file has a header but no rows"),
        ("row,col,shown,clicks\nA,x,many,1\n", "missing ones in counts.csv"),
        ("row,col,shown,clicks\nA,x,3,2\nB,y,1,2\n", "2 of 1 for 'B' with 'y'"),
        ("query,row,col,shown,clicks\nq,A,x,0,0\n", "none of 'q'"),
    ],
)
def test_wrong_files_are_sentences(tmp_path, text, got):
    path = tmp_path / "counts.csv"
    path.write_text(text)
    assert holds_pair_counts(path), "so the command says what its counts lack"
    with pytest.raises(InputError, match=got):
        clicks.read_pair_counts(path)


@pytest.mark.parametrize("name", ["missing.csv", "missing.parquet", "", "empty.csv", "text.parquet"])
def test_files_that_cannot_be_read_are_sentences(tmp_path, name):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "text.parquet").write_text("row,col,shown,clicks\n")
    with pytest.raises(InputError):
        clicks.read_pair_counts(tmp_path / name)
