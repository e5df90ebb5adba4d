"""The arena of lists: its problems and worlds, policies in worlds they were not made for, and what it refuses."""

import polars as pl
import pytest

import rankone
from rankone.errors import InputError
from rankone.lists import CURVE
from rankone.simulation.arena_problems import ARENAS, WORLDS, random_loss

SMALL = ["pbm-10x3-last", "cascade-10x3-close"]


def arena(**settings):
    chosen = {"policies": ["gibbs-ts", "pbm-ucb"], "problems": SMALL, "of": "lists", "runs": 2} | settings
    return rankone.arena(**chosen, quick=True, workers=1)


def test_problems_cover_sizes_and_worlds_in_two_halves():
    worlds = {entry.name: entry.problem() for entry in ARENAS["lists"]}
    assert 12 <= len(worlds) == len({world.digest for world in worlds.values()}) <= 16
    assert all(world.name == name for name, world in worlds.items())
    assert {world.shape[0] for world in worlds.values()} == {10, 100, 1_000}
    assert {world.shape[1] for world in worlds.values()} == {3, 5, 10}
    assert {entry.world for entry in ARENAS["lists"]} == set(WORLDS)
    halves = [[entry for entry in ARENAS["lists"] if entry.half == half] for half in ("tune", "report")]
    assert len(halves[0]) == len(halves[1]) == len(ARENAS["lists"]) / 2
    for half in halves:
        assert {entry.world for entry in half} == set(WORLDS)
    for entry in ARENAS["lists"]:
        best_is_first = worlds[entry.name].weights.argmax() == 0
        assert best_is_first != entry.trap, entry.name


def test_a_policy_that_has_to_be_told_is_told_something_in_every_world():
    found = arena()
    assert found.table["policy"].to_list() == ["gibbs-ts", "pbm-ucb"] * 2, "without what they were told"
    problem = next(entry for entry in ARENAS["lists"] if entry.name == "cascade-10x3-close").problem()
    told = f"pbm-ucb:examination={'x'.join(f'{value:g}' for value in CURVE[:3])}"
    alone = rankone.simulate(problem, told, 2_000, runs=2, workers=1).summary()
    line = found.table.row(by_predicate=(pl.col("world") == "cascade") & (pl.col("policy") == "pbm-ucb"), named=True)
    assert line["regret_mean"] == pytest.approx(alone["regret_mean"][0])


def test_robustness_is_made_of_the_table(tmp_path):
    found = arena()
    rows = {(row["policy"], row["world"]): row for row in found.robustness().to_dicts()}
    assert set(rows) == {(name, world) for name in ("gibbs-ts", "pbm-ucb") for world in ("cascade", "pbm, any order")}
    assert rows["gibbs-ts", "cascade"]["against_mean"] == 1.0
    line = found.table.row(by_predicate=(pl.col("world") == "cascade") & (pl.col("policy") == "pbm-ucb"), named=True)
    problem = next(entry for entry in ARENAS["lists"] if entry.name == line["problem"]).problem()
    share = line["regret_p95"] / (line["horizon"] * problem.loss_at_random())
    assert rows["pbm-ucb", "cascade"]["lost"] == pytest.approx(share, rel=0.05), "random lists by 4,000 of them"
    found.save(tmp_path)
    assert rankone.simulation.Arena.load(tmp_path).robustness().equals(found.robustness())
    assert "robustness" in str(found._tables().keys())


def test_random_lists_lose_what_the_formula_says():
    for entry in ARENAS["lists"]:
        problem = entry.problem()
        if problem.loss_at_random() is not None:
            assert random_loss(problem) == pytest.approx(problem.loss_at_random(), rel=0.05), entry.name


def test_kinds_are_not_mixed():
    with pytest.raises(
        InputError, match="policy that plays lists, as the arena asks for, but got ucb1-elim, which plays pairs"
    ):
        arena(policies="ucb1-elim")
    with pytest.raises(InputError, match=r"Expected problem of the arena as one of .*, but got two-by-two"):
        arena(problems="two-by-two")
    with pytest.raises(InputError, match=r"an arena of lists, but got one of pairs. Pass of='lists'"):
        rankone.arena("two-by-two", "uniform", runs=1, quick=True, workers=1, against="uniform").robustness()
