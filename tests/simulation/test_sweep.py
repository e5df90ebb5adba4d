"""Sweeps: every point is the study it stands for; exponents, panels, files, resuming."""

import importlib
import json
import tomllib
from inspect import signature
from pathlib import Path

import polars as pl
import pytest

import rankone
from rankone.errors import InputError
from rankone.simulation.sweep import lay_out

COMMON = {"horizon": 1_000, "runs": 3, "seed": 5, "workers": 1}


def small(**settings):
    wanted = COMMON | {"grid": {"k": [2, 4]}} | settings
    return rankone.sweep("needle:{k}x3", ["rank1elim-kl:c=0", "uts"], **wanted)


def test_every_point_is_the_study_it_stands_for():
    result = rankone.sweep(
        "needle:{k}x3",
        ["rank1elim-kl:c={c}", "uts"],
        ["{n}", 500],
        {"k": [2, 4], "c": [0, 3], "n": [1e3, 2e3]},
        runs=3,
        seed=5,
        feedback=["immediate", "batch:size={k}"],
        workers=1,
    )
    assert result.table.height == 8 * 2 * 2 * 2
    for line in result.table.sample(6, seed=1).iter_rows(named=True):
        study = rankone.simulate(
            f"needle:{line['k']}x3",
            line["policy"],
            line["horizon"],
            runs=3,
            seed=5,
            workers=1,
            feedback=line["feedback"],
        )
        expected = study.summary().row(0, named=True)
        for figure in ("regret_mean", "regret_se", "regret_median", "sync_points"):
            assert line[figure] == expected[figure]
        assert line["policy"] == line["policy_text"].format(c=line["c"])
        assert line["horizon"] in (line["n"], 500)
        assert (line["lines"], line["pairs"]) == (line["k"] + 3, line["k"] * 3)
        assert line["batch"] == (1 if line["feedback"] == "immediate" else line["k"])


def test_problems_and_policies_may_be_objects_and_files(tmp_path):
    rankone.needle(2, 3).save(tmp_path / "needle.json")
    common = {"grid": {"n": [100, 200]}, "runs": 2, "workers": 1}
    texts = rankone.sweep("needle:2x3", "uts", "{n}", **common)
    for world in (rankone.needle(2, 3), tmp_path / "needle.json"):
        result = rankone.sweep(world, rankone.UTS(), "{n}", **common)
        assert result.table.drop("seconds").equals(texts.table.drop("seconds"))
        result.save(tmp_path / "out")
        assert rankone.Sweep.load(tmp_path / "out").settings == result.settings
    with pytest.raises(InputError, match="Expected a policy or its name, but got 3"):
        rankone.sweep("needle:2x3", 3, "{n}", **common)


def test_workers_and_directories_change_nothing(tmp_path, monkeypatch):
    executors = importlib.import_module("rankone.simulation.executors")
    asked, do = [], executors.do
    monkeypatch.setattr(executors, "do", lambda unit: asked.extend(unit.runs) or do(unit))
    seen = []
    first = small(out=tmp_path, feedback="delay:mean={k}", progress=lambda *counts: seen.append(counts))
    assert len(asked) == 12
    assert seen[-1] == (12, 12)
    again = small(out=tmp_path, feedback="delay:mean={k}")
    assert len(asked) == 12, "a sweep started again asks for nothing twice"
    here = small(feedback="delay:mean={k}", workers=2)
    assert first.table.drop("seconds").equals(again.table.drop("seconds"))
    assert first.table.drop("seconds").equals(here.table.drop("seconds"))


def test_panels_hold_what_else_varies():
    result = small(grid={"k": [2, 4, 8], "mean": [0, 10]}, feedback="delay:mean={mean}", x="lines")
    assert result.exponents()["panel"].unique().sort().to_list() == ["mean = 0", "mean = 10"]
    assert result.exponents("delay")["panel"].unique().sort().to_list() == ["k = 2", "k = 4", "k = 8"]
    assert result.exponents().height == 4
    one = small(grid={"k": [2, 4, 8]})
    assert one.exponents()["panel"].unique().to_list() == [""]
    assert one.x == "k"


def test_the_chart_draws_every_point_and_the_exponents():
    result = small(grid={"k": [2, 4, 8]}, x="lines")
    spec = json.dumps(result.chart().altair.to_dict())
    assert "rows + columns, K + L" in spec
    slope = result.exponents().filter(pl.col("policy") == "uts").row(0, named=True)
    assert f"uts: exponent {slope['exponent']:.2f}" in spec
    for mean in result.table["regret_mean"]:
        assert str(mean) in spec
    assert "exponent" not in json.dumps(result.chart(log=False).altair.to_dict())
    delays = rankone.sweep("needle:3x3", "uts", grid={"mean": [0, 5]}, feedback="delay:mean={mean}", **COMMON)
    assert "symlog" in json.dumps(delays.chart().altair.to_dict()), "a delay of 0 has its place too"


def test_theory_is_a_line_above_the_points_of_the_first_policy():
    result = small(grid={"k": [2, 4, 8]}, x="lines")
    chart = result.chart(title="Linear in K + L", theory=1).altair.to_dict()
    assert chart["title"]["text"] == "Linear in K + L"
    (rows,) = chart["datasets"].values()
    promise = {row["x"]: row["mean"] for row in rows if row["label"] == "theory: exponent 1"}
    assert list(promise) == [5, 11]
    assert promise[11] / promise[5] == pytest.approx(11 / 5)
    first = {row["x"]: row["mean"] for row in rows if row["label"].startswith("rank1elim-kl")}
    assert all(mean < promise[5] * x / 5 for x, mean in first.items())
    assert "theory" not in json.dumps(result.chart(log=False, theory=1).altair.to_dict()), "no line without powers"


def test_x_is_checked_before_anything_is_played():
    def play(*_):
        raise AssertionError("played")

    with pytest.raises(InputError, match="Expected x as one of k, "):
        small(x="size", progress=play)
    chosen = rankone.sweep("needle:3x3", "{p}", grid={"p": ["uts", "ucb1"]}, **COMMON)
    assert chosen.x == "horizon", "names are no numbers"
    assert chosen.table["p"].to_list() == ["uts", "ucb1"]


def test_a_policy_cut_off_by_the_horizon_is_left_out_of_the_exponents():
    result = rankone.sweep(
        "needle:{k}x{k}", ["rank1elim", "best"], grid={"k": [2, 16]}, horizon=3_000, runs=2, workers=1
    )
    table = {(line["k"], line["policy"]): line["cut_off"] for line in result.table.iter_rows(named=True)}
    assert table[16, "rank1elim"]
    assert not table[16, "best"]
    found = {line["policy"]: line for line in result.exponents().iter_rows(named=True)}
    assert found["rank1elim"]["cut_off"] >= 1
    assert found["best"]["exponent"] is None, "no regret, no exponent"


@pytest.mark.parametrize("file", sorted((Path(__file__).parents[2] / "benchmarks" / "sweeps").glob("*.toml")))
def test_the_sweeps_of_the_benchmarks_are_sound(file):
    written = tomllib.loads(file.read_text())
    for own in written.pop("sweep").values():
        settings = {key: value for key, value in (written | own).items() if key in signature(lay_out).parameters}
        assert len(lay_out(**settings)[0]) >= 8


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"grid": {}}, "a grid of at least one name"),
        ({"grid": None}, "a grid of at least one name"),
        ({"grid": ["k"]}, "a grid of at least one name"),
        ({"grid": {"k": 3}}, "a list of values for 'k'"),
        ({"grid": {"k": []}}, "a list of values for 'k'"),
        ({"grid": {"k": [2], "j": [3]}}, r"Expected '\{j\}' in a problem, policy, horizon or feedback, but got none"),
        ({"horizon": "{n}"}, r"Expected values for '\{n\}', but got none in the grid"),
        ({"horizon": "{n"}, "Close every brace"),
        ({"horizon": "{k:d}"}, "Write nothing but the name between the braces"),
        ({"horizon": None}, "Expected horizon as a whole number"),
        ({"horizon": 2.5}, "Expected horizon as a whole number"),
        ({"feedback": 3}, "Expected feedback as a text, but got 3"),
        ({"x": "size"}, "Expected x as one of k, "),
        ({"feedback": "later"}, "as feedback"),
    ],
)
def test_bad_sweeps(settings, message):
    with pytest.raises(InputError, match=message):
        small(**settings)
