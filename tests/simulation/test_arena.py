"""The arena: its problems, its figures, its halves; resumed, and refused when asked for what it has not."""

import importlib
import math

import polars as pl
import pytest

import rankone
from rankone.errors import InputError
from rankone.problems import RankOne, lower_bound, save_problems
from rankone.simulation.arena import _FIELDS, Arena, _players
from rankone.simulation.arena_problems import ARENAS

SMALL = ["two-by-two", "trap-6"]


def arena(**settings):
    chosen = {"policies": ["uts", "uniform"], "problems": SMALL, "runs": 4, "quick": True, "workers": 1} | settings
    return rankone.arena(**chosen)


def test_problems_are_named_once_and_split_in_two_like_halves():
    assert 24 <= len(ARENAS["pairs"]) <= 36
    assert (
        len({entry.name for entry in ARENAS["pairs"]})
        == len({entry.problem().digest for entry in ARENAS["pairs"]})
        == len(ARENAS["pairs"])
    )
    halves = {half: [entry for entry in ARENAS["pairs"] if entry.half == half] for half in ("tune", "report")}
    headlines = [entry.name for entry in ARENAS["pairs"] if entry.half == "headlines"]
    assert len(halves["tune"]) == len(halves["report"]) == len(headlines) == len(ARENAS["pairs"]) / 3
    assert all(any(entry.trap for entry in half) for half in halves.values())
    assert all(lower_bound(entry.problem(), entry.horizon) > 0 for entry in ARENAS["pairs"])


def test_the_third_part_is_played_where_it_is_named():
    from rankone.simulation.arena import _chosen

    halves = [entry.half for entry in _chosen(None, None, None, ARENAS["pairs"])]
    assert len(halves) == 22
    assert set(halves) == {"tune", "report"}, "figures of all of the arena are those of the two halves"
    assert {entry.half for entry in _chosen(None, "headlines", None, ARENAS["pairs"])} == {"headlines"}
    assert [entry.name for entry in _chosen(["headlines-2x2", "trap-6"], None, None, ARENAS["pairs"])] == [
        "trap-6",
        "headlines-2x2",
    ]


def test_figures_are_those_of_the_runs():
    found = arena(runs=20)
    assert found.table.height == 4
    line = found.table.row(by_predicate=(pl.col("problem") == "trap-6") & (pl.col("policy") == "uts"), named=True)
    entry = next(entry for entry in ARENAS["pairs"] if entry.name == "trap-6")
    study = rankone.simulate(entry.problem(), "uts", entry.horizon // 10, runs=20, workers=1, checkpoints=[2_000])
    assert line["horizon"] == 2_000
    assert line["trap"]
    regret = study.table["regret"]
    assert line["regret_mean"] == pytest.approx(regret.mean())
    assert line["regret_p99"] == pytest.approx(regret.quantile(0.99, "linear"))
    assert line["times_bound"] == pytest.approx(regret.mean() / lower_bound(entry.problem(), 2_000))


def test_scores_are_geometric_means_of_ratios():
    found = arena()
    means = dict(
        zip(zip(found.table["problem"], found.table["policy"], strict=True), found.table["regret_mean"], strict=True)
    )
    ratios = [means[problem, "uniform"] / means[problem, "uts"] for problem in SMALL]
    scores = found.scores()
    assert scores["policy"].to_list() == ["uts", "uniform"], "the best comes first"
    uniform = scores.row(1, named=True)
    assert uniform["against_mean"] == pytest.approx(math.sqrt(ratios[0] * ratios[1]))
    assert uniform["against_worst"] == pytest.approx(max(ratios))
    assert uniform["worst_problem"] == SMALL[ratios.index(max(ratios))]
    assert scores.row(0, named=True)["against_trap_p99"] == 1.0


def test_ratio_noise_comes_from_both_policies():
    lines = [
        {"problem": "p", "half": None, "trap": False, "policy": policy, "horizon": 10, "times_bound": 1.0}
        | {"regret_mean": mean, "regret_se": error, "regret_p99": mean}
        for policy, mean, error in (("uts", 10.0, 1.0), ("other", 20.0, 1.0))
    ]
    ratios = Arena(pl.DataFrame(lines, schema_overrides={"half": pl.String}), "uts").ratios()
    other = ratios.row(by_predicate=pl.col("policy") == "other", named=True)
    assert other["mean_ratio"] == 2.0
    assert other["mean_ratio_se"] == pytest.approx(2.0 * math.hypot(0.1, 0.05))


def test_the_reference_always_plays():
    found = arena(policies="uniform", problems=["two-by-two"])
    assert found.table["policy"].to_list() == ["uts", "uniform"]
    found = arena(policies="uniform", problems=["two-by-two"], against="uniform")
    assert found.table["policy"].to_list() == ["uniform"]


def test_halves_models_and_stretch(tmp_path):
    path = tmp_path / "models.json"
    save_problems([RankOne([0.5, 0.2], [0.4, 0.1], name="a query")], path)
    found = arena(problems=SMALL, half="tune", models=path, stretch=2, policies="uts", runs=1)
    assert found.table["problem"].to_list() == ["trap-6", "two-by-two", "a query"]
    assert found.table["horizon"].to_list() == [4_000, 2_000, 20_000]
    assert found.table["half"].to_list() == ["tune", "tune", None]


def test_continues_where_it_stopped(tmp_path, monkeypatch):
    asked = []
    module = importlib.import_module("rankone.simulation.executors")
    do = module.do
    monkeypatch.setattr(module, "do", lambda unit: asked.extend(unit.runs) or do(unit))
    reports = []
    first = arena(out=tmp_path, runs=2)
    assert len(asked) == 8
    again = arena(out=tmp_path, runs=3, progress=lambda finished, total: reports.append((finished, total)))
    assert len(asked) == 12
    assert reports[0] == (4, 12)
    assert reports[-1] == (12, 12)
    assert first.table.height == again.table.height
    again.save(tmp_path)
    assert {"arena.csv", "scores.csv", "arena.png", "arena.svg", "arena.html"} <= {
        file.name for file in tmp_path.iterdir()
    }


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"problems": ["three-by-three"]}, "Expected problem of the arena as one of .*, but got three-by-three"),
        ({"problems": ["two-by-tow"]}, "Did you mean two-by-two"),
        ({"half": "third"}, "Expected half as one of tune, report, headlines"),
        ({"problems": ["two-by-two"], "half": "report"}, "problems of the half 'report'"),
        ({"runs": 0}, "runs as a whole number"),
        ({"stretch": 0}, "stretch as a whole number"),
        ({"policies": ["ucb9"]}, "No such policy: ucb9"),
        ({"policies": 3}, "Expected policies or their names, but got 3"),
        ({"problems": 3}, "Expected problems of the arena or their names, but got 3"),
    ],
)
def test_bad_input(settings, message):
    with pytest.raises(InputError, match=message):
        arena(**settings)


def test_late_outcomes_are_played_and_kept_apart(tmp_path):
    at_once, late = (
        arena(policies="uts", problems=["trap-6"], out=tmp_path, feedback=feedback).table
        for feedback in (None, "batch:size=100")
    )
    assert late["sync_points"].to_list() == [19.0], "20 batches; the first decisions know nothing"
    assert at_once["sync_points"].to_list() == [1_999.0]
    assert late["regret_mean"][0] > at_once["regret_mean"][0]
    assert arena(policies="uts", problems=["trap-6"], out=tmp_path).table["regret_mean"].equals(at_once["regret_mean"])


def test_worlds_that_change_have_an_arena():
    """In which policies made for them play; elsewhere only where they are named."""
    names = [entry.name for entry in ARENAS["drifting"]]
    assert len(set(names)) == len(names)
    halves = [entry.half for entry in ARENAS["drifting"]]
    assert halves.count("tune") == halves.count("report")
    assert all(entry.problem().name == entry.name for entry in ARENAS["drifting"])
    found = rankone.arena("needle-moves-8", ["glr-uts"], of="drifting", quick=True, runs=2, workers=1)
    assert found.table["policy"].to_list() == ["uts", "glr-uts"]
    assert found.settings["of"] == "drifting"
    for entry in ARENAS["drifting"]:  # what changes does so within the horizon that is played
        whole, quick = entry.problem(), entry.problem(entry.horizon // 10)
        assert (entry.problem(entry.horizon).digest, quick.name) == (whole.digest, entry.name)
        if len(getattr(whole, "starts", ())) > 1:
            assert quick.starts.tolist() == (whole.starts // 10).tolist()
    everybody = {player.label for player in _players(None, "uts")}
    assert "glr-uts" not in everybody
    assert "glr-uts" in {player.label for player in _players(None, "uts", "drifting")}
    with pytest.raises(InputError, match="Expected of as one of pairs, lists, factors"):
        rankone.arena(of="everything")


@pytest.mark.parametrize(
    ("name", "entries"),
    [("features", ARENAS["features"]), ("visitors", ARENAS["visitors"]), ("arrivals", ARENAS["arrivals"])],
)
def test_features_have_arenas_of_their_own(name, entries):
    worlds = [entry.problem() for entry in entries]
    assert len({world.digest for world in worlds}) == len({world.name for world in worlds}) == len(entries)
    assert all(world.n_context > 0 for world in worlds)
    assert {entry.half for entry in entries} == {"tune", "report"}
    assert any(entry.trap for entry in entries)
    reference = _FIELDS[name].reference
    players = {player.name for player in _players(None, reference, name)}
    arrivals = {"mixture-ts", "lowrank-ts", "user-ts", "thompson"}
    expected = {"features": {"vac2-ucb", "c3-ucb", "cascade-ts"}, "visitors": {"logit-ts", "uts"}, "arrivals": arrivals}
    assert expected[name] <= players
    assert name == "arrivals" or not arrivals - {"thompson"} & players
    assert "gibbs-ts" not in players
    chosen = {"features": "linear-40x4", "visitors": "visitors-3x3-two", "arrivals": "mixed-100x40"}[name]
    other = {"features": "random-list", "visitors": "uniform", "arrivals": "uniform"}[name]
    found = rankone.arena(chosen, other, of=name, runs=2, quick=True, workers=1)
    assert found.scores()["policy"].to_list() == [reference, other]
    assert found.settings["of"] == name
