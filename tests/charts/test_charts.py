"""Charts are drawn in every format, and show every policy, the lower bound and the band."""

import json

import polars as pl
import pytest

import rankone
from rankone.charts.regret import regret_chart
from rankone.errors import InputError, StorageError


@pytest.fixture(scope="module")
def study():
    problems = [rankone.needle(2, 2), rankone.needle(3, 3)]
    return rankone.simulate(problems, ["ucb1", "rank1elim-kl"], horizon=500, runs=3, workers=1, checkpoints=20)


@pytest.mark.parametrize(
    ("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<svg"), (".pdf", b"%PDF"), (".html", b"<!DOCTYPE html>")]
)
def test_saves_in_every_format(study, tmp_path, suffix, start):
    path = study.chart().save(tmp_path / f"regret{suffix}")
    assert path.read_bytes().lstrip()[: len(start)] == start


def test_html_needs_no_network(study, tmp_path):
    page = study.chart().save(tmp_path / "regret.html").read_text()
    assert "<script src=" not in page
    assert "cdn." not in page.split("vegaEmbed")[0][:2_000]
    assert "University of Washington Interactive Data Lab" in page, "Vega's licence goes where Vega goes"


@pytest.mark.parametrize("log", [False, True])
def test_shows_policies_band_and_lower_bound(study, log):
    spec = json.loads(study.chart(log_steps=log, log_regret=log).altair.to_json())
    assert [panel["title"] for panel in spec["concat"]] == ["needle, 2 x 2", "needle, 3 x 3"]
    assert spec["title"]["text"] == "Lines: mean of 3 runs. Bands: two standard errors to each side."
    line = spec["concat"][0]["layer"][1]
    assert line["encoding"]["color"]["scale"]["domain"] == ["ucb1", "rank1elim-kl", "asymptotic lower bound"]
    assert (line["encoding"]["y"]["scale"].get("type") == "log") == log
    panel = spec["concat"][0]
    data = panel.get("data") or panel["layer"][0]["data"]
    values = data["values"] if "values" in data else spec["datasets"][data["name"]]
    assert any(value["policy"] == "asymptotic lower bound" for value in values)
    assert all(value["low"] <= value["mean"] <= value["high"] for value in values if value.get("low") is not None)


def test_log_regret_has_one_scale_of_round_numbers_around_everything(study):
    panels = json.loads(study.chart(log_regret=True).altair.to_json())["concat"]
    first, second = (panel["layer"][1]["encoding"]["y"] for panel in panels)
    assert first == second
    low, high = first["scale"]["domain"]
    assert {f"{value:e}"[0] for value in (low, high, *first["axis"]["values"])} <= {"1", "2", "5"}
    positive = study.table.filter(study.table["regret"] > 0)["regret"]
    assert low <= positive.mean() <= high


def test_a_place_that_cannot_be_written(study, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(
        StorageError, match=r"Expected to write .*regret.svg, but got .*. Make room, or write elsewhere"
    ):
        study.chart().save(tmp_path / "file" / "regret.svg")


def test_unknown_ending(study, tmp_path):
    with pytest.raises(InputError, match="Expected a path ending in"):
        study.chart().save(tmp_path / "regret.gif")


def test_log_axes_begin_where_there_is_something_to_see():
    """Not at a hundredth of a lost click, nor at the first decision, up to which all policies are the same line."""
    steps = [2**power for power in range(15)]
    rows = [("p", policy, 0, step, loss * step) for policy, loss in (("a", 0.01), ("b", 0.1)) for step in steps]
    table = pl.DataFrame(rows, schema=["problem", "policy", "run", "step", "regret"], orient="row")
    spec = json.loads(regret_chart(table, {}, log_steps=True, log_regret=True).altair.to_json())
    encoding = spec["concat"][0]["layer"][1]["encoding"]
    assert encoding["y"]["scale"]["domain"] == [1, 2000]
    assert encoding["x"]["scale"]["domain"] == [16, 16384]
    assert spec["title"]["text"] == "One run of each."
    small = table.with_columns(regret=pl.col("regret") / 1_000)  # where nobody loses ten clicks, all is shown
    encoding = json.loads(regret_chart(small, {}, log_regret=True).altair.to_json())["concat"][0]["layer"][1][
        "encoding"
    ]
    assert encoding["y"]["scale"]["domain"] == [1e-5, 2]


@pytest.mark.parametrize(
    ("problem", "title"),
    [
        (rankone.RankOne([0.9, 0.5, 0.2], [0.8, 0.3]), "row (3) x col (2), best click rate 0.72"),
        (rankone.needle(4, 4, p=0.1), "needle, 4 x 4, p = 0.1"),
        (rankone.RankOne([0.5], [0.5], name="Spring sale: shoes"), "Spring sale: shoes"),
    ],
)
def test_problems_are_titled_in_words(problem, title):
    assert problem.title == title
