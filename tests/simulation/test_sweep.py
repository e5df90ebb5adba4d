"""Sweeps: every point is the study it stands for; exponents, panels, files, resuming."""

import importlib
import json

import polars as pl
import pytest

import rankone
from rankone.cli import build_app
from rankone.errors import InputError, MissingExtra
from rankone.simulation.grid import lay_out
from rankone.simulation.sweep_file import read_sweeps, shipped_sweeps

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


SWEEPS = """
runs = 2
policies = ["uts"]
horizon = 1e3

[sweep.size]
title = "Size"
problems = "needle:{k}x{k}"
grid.k = [2, 4]
x = "lines"
exponent = 1

[sweep.wait]
problems = "needle:2x2"
feedback = "batch:size={size}"
grid.size = [1, 10]
x = "batch"
"""


def test_files(tmp_path):
    path = tmp_path / "some.toml"
    path.write_text(SWEEPS)
    size, wait = read_sweeps(path)
    assert (size.name, size.title, size.exponent) == ("size", "Size", 1)
    assert (wait.name, wait.title, wait.exponent) == ("wait", "wait", None)
    assert size.settings["horizon"] == 1_000
    yaml = pytest.importorskip("yaml")
    import tomllib

    (tmp_path / "some.yaml").write_text(yaml.safe_dump(tomllib.loads(SWEEPS)))
    assert read_sweeps(tmp_path / "some.yaml") == [size, wait]


def test_a_file_without_names_is_one_sweep(tmp_path):
    path = tmp_path / "one.toml"
    path.write_text('policies = "uts"\nproblems = "needle:{k}x2"\nhorizon = 10\ngrid.k = [2]\n')
    assert [sweep.name for sweep in read_sweeps(path)] == ["one"]


@pytest.mark.parametrize("name", sorted(shipped_sweeps()))
def test_shipped_sweeps_are_sound(name):
    for written in read_sweeps(name):
        settings = {key: value for key, value in written.settings.items() if key not in ("runs", "seed")}
        assert len(lay_out(**settings).points) >= 8


def test_the_command(tmp_path, capsys):
    path = tmp_path / "some.toml"
    path.write_text(SWEEPS)
    build_app()(["sweep", str(path), "--out", str(tmp_path / "out"), "--workers", "1"], standalone_mode=False)
    shown = capsys.readouterr().out
    assert "theory says 1" in shown
    for name in ("size", "wait"):
        folder = tmp_path / "out" / name
        assert {"sweep.png", "sweep.csv", "sweep.parquet", "exponents.csv"} <= {file.name for file in folder.iterdir()}
        assert (folder / "sweep.png").read_bytes().startswith(b"\x89PNG")
    command = ["sweep", str(path), "--out", str(tmp_path / "out"), "--runs", "3", "--workers", "1", "--json"]
    build_app()(command, standalone_mode=False)
    found = json.loads(capsys.readouterr().out)
    assert [line["runs"] for line in found["size"]["points"]] == [3, 3]
    build_app()([*command[:3], str(tmp_path / "short"), "--horizon", "1e2", *command[4:]], standalone_mode=False)
    found = json.loads(capsys.readouterr().out)
    assert {line["horizon"] for each in found.values() for line in each["points"]} == {100}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("runs = ", "in TOML or YAML, but got an error"),
        ('policies = "uts"', "Expected 'problems' in sweep 'bad'"),
        ('grids = 3\nproblems = "a"', "Expected setting of sweep 'bad' in .*, but got grids. Did you mean grid"),
        (SWEEPS.replace('"batch"', '"sizes"'), "Expected x as one of size, "),
        (SWEEPS + 'exponent = "one"', "Expected exponent of sweep 'wait' from -100 to 100, but got one"),
        (SWEEPS + "exponent = nan", "Expected exponent of sweep 'wait' from -100 to 100, but got nan"),
        (SWEEPS + f"exponent = 1{'0' * 400}", "Expected exponent of sweep 'wait' from -100 to 100, but got 1000"),
        ("sweep = 3", r"Expected sweeps as tables \[sweep.NAME\]"),
        ('problems = "a"\npolicies = "b"\nhorizon = 3\ngrid = 4', "a grid of names with values in sweep 'bad'"),
    ],
)
def test_bad_files(tmp_path, text, message):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_sweeps(path)


def test_a_file_that_is_not_there():
    with pytest.raises(InputError, match=r"one of the shipped sweeps delays, scaling, but got no file nowhere\.toml"):
        read_sweeps("nowhere.toml")


def test_without_yaml_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    (tmp_path / "some.yaml").write_text("runs: 3")
    with pytest.raises(MissingExtra, match=r"pip install 'rankone\[yaml\]'"):
        read_sweeps(tmp_path / "some.yaml")


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
