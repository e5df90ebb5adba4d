"""Problems in files: what is written is read again, and every broken file is refused with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankone import RankOne, as_problem, load_problem, load_problems, needle, save_problem, save_problems
from rankone.errors import InputError, StorageError

PROBLEM = RankOne([0.9, 1 / 3], [0.1 + 0.2], row_names=["red, dark", 'the "best"'], col_names=["Grün"], name="a / b")


def same_lines(one: RankOne, other: RankOne) -> bool:
    return {**one.to_dict(), "name": ""} == {**other.to_dict(), "name": ""}


def test_json_keeps_everything(tmp_path: Path) -> None:
    PROBLEM.save(tmp_path / "p.json")
    assert as_problem(str(tmp_path / "p.json")).to_dict() == PROBLEM.to_dict()


def test_csv_keeps_all_but_the_name(tmp_path: Path) -> None:
    save_problem(PROBLEM, tmp_path / "clicks.csv")
    again = as_problem(str(tmp_path / "clicks.csv"))
    assert same_lines(again, PROBLEM)
    assert again.name == "clicks"


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5), st.sampled_from(["json", "csv"]))
def test_probabilities_keep_every_digit(
    tmp_path_factory: pytest.TempPathFactory, rows: list[float], suffix: str
) -> None:
    path = tmp_path_factory.mktemp("digits") / f"p.{suffix}"
    found = RankOne(rows, rows)
    found.save(path)
    assert load_problem(path).digest == found.digest


def test_csv_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "hand.csv"
    path.write_text("\ufefflevel,factor,seen,probability\nA,row,10, 0.5\ntop,col,3,0.25\nB,row,7,1\n", encoding="utf-8")
    found = load_problem(path)
    assert (found.rows.tolist(), found.cols.tolist()) == ([0.5, 1.0], [0.25])
    assert (found.row_names, found.col_names) == (["A", "B"], ["top"])


def test_json_by_hand_needs_rows_and_cols_only(tmp_path: Path) -> None:
    path = tmp_path / "hand.json"
    path.write_text('{"rows": [0.5, 1], "cols": [0.25], "source": "a guess", "name": null}')
    found = load_problem(path)
    assert found.name == "hand"
    assert found.row_names == ["row 1", "row 2"]


def test_several_problems_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    saved = [PROBLEM, needle(2, 3), RankOne([0.5], [0.5], name="query#7.json#x")]
    save_problems(saved, path, extra={"model": "pbm"}, each=[{"clicks": 12}, {}, {}])
    assert [found.to_dict() for found in load_problems(path)] == [found.to_dict() for found in saved]
    for one in saved:
        assert as_problem(f"{path}#{one.name}").to_dict() == one.to_dict()
    content = json.loads(path.read_text())
    assert (content["format"], content["version"], content["model"]) == ("rankone-problems", 1, "pbm")
    assert content["problems"][0]["clicks"] == 12
    assert [file.name for file in tmp_path.iterdir()] == ["models.json"]  # no part of a file is left behind


def test_a_file_of_one_needs_no_name(tmp_path: Path) -> None:
    save_problems([PROBLEM], tmp_path / "one.json")
    assert load_problem(tmp_path / "one.json").name == PROBLEM.name


def test_an_unknown_name_is_answered_with_near_ones(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    save_problems([RankOne([0.5], [0.5], name=name) for name in ("shoes", "red shoes", "hats")], path)
    with pytest.raises(InputError, match=r"got the name 'shoos'. Did you mean shoes"):
        as_problem(f"{path}#shoos")
    with pytest.raises(InputError, match=r"The names are shoes, red shoes, hats"):
        as_problem(f"{path}#zzzz")
    with pytest.raises(InputError, match=r"Expected one of the 3 problems of .*, but got no name. Try .*#shoes"):
        as_problem(str(path))


def test_long_lists_of_names_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    save_problems([RankOne([0.5], [0.5], name=f"q{number}") for number in range(100)], path)
    with pytest.raises(InputError, match=r"the names begin with q0, q1, q2, q3, q4, q5, q6, q7\.$"):
        as_problem(str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "factor,probability\nrow,0.5\n",
            r"Expected columns factor, level, probability in .*b.csv, but got none called level. ",
        ),
        ("", r"none called factor, level, probability"),
        (
            "factor,level,probability\nrow,a,0.5\ncol,b\n",
            r"Expected a probability from 0 to 1 in line 3 of .*, but got ''. ",
        ),
        ("factor,level,probability\nrow,a,half\n", r"got 'half'. Try 0.25"),
        ("factor,level,probability\nrow,a,nan\ncol,b,0.5\n", r"in line 2 of .*, but got 'nan'"),
        ("factor,level,probability\nrow,a,-1\ncol,b,0.5\n", r"got '-1'"),
        ("factor,level,probability\n,a,0.1\n", r"Expected names of factors as texts in .*b.csv"),
        (
            "factor,level,probability\nrow,a,0.1\nrow,a,0.2\ncol,b,0.5\n",
            r"Expected distinct names of row in .*, but got 'a' more",
        ),
    ],
)
def test_bad_csv_is_refused_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "b.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        as_problem(str(path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{not json", r"Expected JSON in .*b.json, but got Expecting property name"),
        ([0.5], r"Expected rows and cols, or factors, in .*b.json, but got list. "),
        (
            {"rows": [0.5], "columns": [0.5]},
            r"Expected rows and cols, or factors, in .*, but got the keys rows, columns. ",
        ),
        (
            {"rows": [0.5], "cols": [2]},
            r"Expected probabilities in \[0, 1\] in the factor col in .*b.json, but got 2.0 at index 0. ",
        ),
        (
            {"rows": [0.5], "cols": [0.5], "row_names": ["a", "b"]},
            r"Expected 1 names of row as a list of texts in .*, but got \['a', 'b'\]. ",
        ),
        ({"problems": []}, r"Expected a list of at least one problem in .*, but got \[\]. "),
        (
            {"problems": [{"rows": [0.5]}]},
            r"Expected rows and cols, or factors, in problem 1 of .*b.json, but got the keys rows. ",
        ),
        ({"version": 2, "problems": [1]}, r"Expected format 'rankone-problems', version 1 in .* version 2. "),
        ({"format": "other", "problems": [1]}, r"got format 'other'"),
        (
            {"problems": [{"name": "a", "rows": [0.5], "cols": [0.5]}] * 2},
            r"Expected distinct problem names in .*, but got 'a' more than once. ",
        ),
    ],
)
def test_bad_json_is_refused_with_its_place(tmp_path: Path, content: Any, message: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(InputError, match=message):
        as_problem(str(path))


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^No such file: .*none.csv"):
        as_problem(str(tmp_path / "none.csv"))
    (tmp_path / "latin.csv").write_bytes(b"factor,level,probability\nrow,\xe9,0.5\n")
    with pytest.raises(InputError, match=r"got not utf-8 text"):
        as_problem(str(tmp_path / "latin.csv"))
    with pytest.raises(InputError, match=r"Expected a file name that ends in .csv or .json, but got .*p.txt. "):
        PROBLEM.save(tmp_path / "p.txt")
    with pytest.raises(InputError, match=r"ends in .csv or .json, but got \. Try problem.json"):
        PROBLEM.save("")
    with pytest.raises(InputError, match=r"Expected a .json file for several problems"):
        save_problems([PROBLEM], tmp_path / "p.csv")
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="Expected to write"):
        PROBLEM.save(tmp_path / "file" / "p.json")


def test_several_problems_need_distinct_names_and_keys_for_all(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Expected distinct problem names"):
        save_problems([PROBLEM, PROBLEM], tmp_path / "p.json")
    with pytest.raises(InputError, match=r"Expected 1 sets of keys in each=, one per problem, but got 2. "):
        save_problems([PROBLEM], tmp_path / "p.json", each=[{}, {}])
    assert not list(tmp_path.iterdir())
