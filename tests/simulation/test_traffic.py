"""A run of a study played again: the same regret, and who was shown when."""

import numpy as np
import polars as pl
import pytest

import rankone
from rankone.errors import InputError
from rankone.simulation.shown_counts import count_traffic, level_ratios

PAGE = rankone.Product(
    {"headline": [0.9, 0.3], "image": [0.8, 0.3, 0.2], "button": [0.9, 0.2]},
    forbidden=[{"headline": "headline 1", "button": "button 2"}],
    name="page",
)
QUICK = "per-factor"  # to compile


@pytest.mark.parametrize("feedback", [None, "delay:mean=20"])
def test_the_run_is_the_one_of_the_study(feedback):
    study = rankone.simulate(PAGE, QUICK, horizon=600, runs=2, workers=1, checkpoints=[50, 51, 600], feedback=feedback)
    for run in range(2):
        counts, regret = count_traffic(rankone.as_policy(QUICK), PAGE, study.checkpoints, 0, run, study.feedback)
        np.testing.assert_array_equal(regret, study.runs[run].regret)
        for factor in (slice(0, 2), slice(2, 5), slice(5, 7)):
            assert counts[:, factor].sum(axis=1).tolist() == [50, 1, 549]
    assert counts[2, 0] > 400, "the best headline, in the end"


def test_a_policy_that_has_settled_is_counted_to_the_end():
    """Studies stop playing it."""
    sharp = rankone.Product({"a": [1.0, 0.0], "b": [1.0, 0.0], "c": [1.0, 0.0]})
    study = rankone.simulate(sharp, "rank1elim-kl:c=0", horizon=8_000, runs=1, workers=1, checkpoints=4)
    table = study.traffic()
    assert set(table.group_by("step", "factor").agg(pl.col("share").sum())["share"]) == {1.0}
    last = table.filter(pl.col("step") == 8_000)
    assert last.filter(pl.col("level").str.ends_with(" 1"))["share"].to_list() == [1.0] * 3


def test_ratios_are_single_changes_of_the_best():
    found = level_ratios(PAGE)
    assert found["ratio"].to_list() == [
        1.0,
        pytest.approx(1 / 3),
        1.0,
        pytest.approx(3 / 8),
        pytest.approx(1 / 4),
        1.0,
        None,
    ]
    pairs = level_ratios(rankone.RankOne([0.5, 0.25], [0.4]))
    assert pairs.rows() == [("row", "row 1", 1.0), ("row", "row 2", 0.5), ("col", "col 1", 1.0)]


def test_a_chart_of_the_factors(tmp_path):
    policies = [QUICK, "uniform"]
    study = rankone.simulate([PAGE, "needle:2x9x2"], policies, horizon=300, runs=1, workers=1, checkpoints=90)
    spec = study.chart("factors").altair.to_dict()
    assert [panel["title"]["text"] for panel in spec["concat"]] == [
        "headline",
        *policies,
        "image",
        *policies,
        "button",
        *policies,
    ]
    assert spec["title"]["text"] == ["page"]
    pairs = study.chart("factors", problem="needle:2x9x2").altair.to_dict()
    names = {row["level"] for rows in pairs["datasets"].values() for row in rows}
    assert {"3 others, at best", "A2"} <= names, "columns that were shown least are drawn as one"
    for call, said in (
        (lambda: study.chart("factors", problem="needle"), "Expected problem as one of page, needle:2x9x2"),
        (lambda: study.chart("levels"), "Expected of as one of regret, factors, but got levels"),
    ):
        with pytest.raises(InputError, match=said):
            call()
    with pytest.raises(InputError, match=r"Expected a problem of factors, but got .*. Choose a Product or a RankOne"):
        level_ratios(rankone.as_problem("cascade:5x2"))


def test_a_report_draws_the_factors(tmp_path):
    rankone.simulate(PAGE, QUICK, horizon=300, runs=1, workers=1, out=tmp_path)
    page = rankone.report(tmp_path).read_text()
    assert "Levels, and who was shown when, in one run: page" in page
    assert "share of the best level's rate" in page or "share of the best level\\u0027s rate" in page
