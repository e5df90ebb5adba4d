"""``rankone hardness`` and ``rankone problems``, as a person and as a script reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rankone import RankOne, hardness, needle, save_problems
from rankone.cli import build_app
from rankone.errors import InputError
from tests.programs import rankone as rankone_command

run = CliRunner()


def output(*words: Any) -> str:
    result = run.invoke(build_app(), [str(word) for word in words], env={"COLUMNS": "120"}, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_json_is_what_the_library_says() -> None:
    said = json.loads(output("hardness", "needle:4x6:p=0.1", "--horizon", "1e5", "--json"))
    assert said == hardness(needle(4, 6, p=0.1), 100_000).to_dict()


def test_people_read_the_same_figures() -> None:
    text = output("hardness", "needle:32x32")
    for figure in (
        "32 x 32",
        "(0, 0)",
        "0.5625",
        "0.265625",
        "0.5 .. 0.5",
        "2,000,000",
        "4,217,622",
        "1,135.9",
        "78.2882",
    ):
        assert figure in text
    assert "says nothing yet" in text  # at this horizon the bound is above any policy's regret
    assert "says nothing yet" not in output("hardness", "needle:32x32", "--horizon", "1e9")


def test_more_than_two_factors() -> None:
    text = output("hardness", "needle:10x10x10x10")
    for figure in ("10 x 10 x 10 x 10", "10,000", "36", "0.316406", "lost with another C", "883.5", "616,612"):
        assert figure in text
    said = json.loads(output("hardness", "needle:3x2x2", "--horizon", "1e5", "--json"))
    assert said == hardness("needle:3x2x2", 100_000).to_dict()


def test_a_problem_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    save_problems([RankOne([0.5, 0.2], [0.4, 0.4], row_names=["red", "blue"], name="shoes"), needle(2, 2)], path)
    text = output("hardness", f"{path}#shoes")
    assert "red with col 1; red with col 2" in text
    assert "none: all tie" in text


def test_many_best_pairs_are_cut() -> None:
    assert "and 6 more" in output("hardness", "random:3x3:low=0.5,high=0.5")


def test_bad_horizons_name_the_option() -> None:
    for horizon in ("0", "2.5", "soon"):
        result = run.invoke(build_app(), ["hardness", "needle:2x2", "--horizon", horizon], env={"COLUMNS": "200"})
        assert result.exit_code == 2
        assert "--horizon" in result.stderr
        assert f"whole number of at least 1, but got {horizon}" in result.stderr


def test_bad_problems_are_one_sentence_on_standard_error() -> None:
    with pytest.raises(InputError):
        output("hardness", "neddle:2x2")
    result = rankone_command("hardness", "neddle:2x2")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("rankone: No such problem:")
    assert result.stderr.count("\n") == 1


def test_problems_lists_the_families() -> None:
    said = json.loads(output("problems", "--json"))
    spelled = [entry["problem"] for entry in said]
    assert {"headlines:AxBxC", "needle:AxBxC", "product:AxBxC", "random:ROWSxCOLS"} <= set(spelled)
    assert {"cascade:ITEMSxPOSITIONS", "pbm-list:ITEMSxPOSITIONS", "dcm:ITEMSxPOSITIONS"} <= set(spelled)
    assert spelled == sorted(spelled, key=lambda name: ("ITEMSxPOSITIONS" in name, name.partition(":")[0])), (
        "lists come last"
    )
    assert said[spelled.index("needle:AxBxC")]["parameters"] == "p=0.25, gap=0.5"
    text = output("problems")
    for part in ("needle:AxBxC", "seed=0, low=0, high=1", "FILE.json#NAME", "side (row or col)"):
        assert part in text
