"""More than two factors in all that studies do: late outcomes, sweeps, other executors, the arena."""

import html
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import rankone
from rankone.cli import build_app
from rankone.errors import InputError
from rankone.problems import Product
from rankone.simulation.arena_problems import ARENAS

PAGE = rankone.Product({"headline": [0.9, 0.3], "image": [0.8, 0.3, 0.2], "button": [0.9, 0.2]}, name="page")


def test_late_outcomes_and_batches_cost_more():
    regrets = [
        rankone.simulate(PAGE, "per-factor", 2_000, runs=20, workers=1, feedback=feedback).summary()["regret_mean"][0]
        for feedback in (None, "delay:mean=200", "batch:size=500")
    ]
    assert regrets[0] < regrets[1] < 1_000
    assert regrets[0] < regrets[2] < 1_000


def test_other_executors_give_the_same_numbers(tmp_path):
    settings = {"horizon": 300, "runs": 4, "seed": 5}
    alone = rankone.simulate(PAGE, "uts", workers=1, **settings)
    with ThreadPoolExecutor(2) as pool:
        assert rankone.simulate(PAGE, "uts", executor=pool, **settings).table.equals(alone.table)
    rankone.simulate(PAGE, "uts", workers=1, out=tmp_path, **(settings | {"runs": 2}))
    again = rankone.simulate(PAGE, "uts", workers=1, out=tmp_path, **settings)
    assert again.table.equals(alone.table), "what was finished is kept"
    assert rankone.simulation.Study.load(tmp_path).problems == [PAGE]


def test_a_sweep_over_sizes(tmp_path):
    found = rankone.sweep("needle:{k}x{k}x{k}", "uts", 1_000, grid={"k": [2, 4]}, runs=6, workers=1)
    assert found.table["k"].to_list() == [2, 4]
    assert found.table["problem"].to_list() == ["needle:2x2x2", "needle:4x4x4"]
    assert found.table["regret_mean"].is_sorted()
    found.save(tmp_path)
    assert rankone.report(tmp_path).exists()


def test_problems_of_the_arena_are_of_all_kinds_in_two_halves():
    worlds = {entry.name: entry.problem() for entry in ARENAS["factors"]}
    assert 12 <= len(worlds) == len({world.digest for world in worlds.values()})
    assert {len(world.shape) for world in worlds.values()} >= {2, 3, 4, 5, 8}
    rates = [world.best_mean for world in worlds.values()]
    assert min(rates) == pytest.approx(0.01)
    assert max(rates) >= 0.7
    halves = [[entry for entry in ARENAS["factors"] if entry.half == half] for half in ("tune", "report")]
    assert len(halves[0]) == len(halves[1]) == len(ARENAS["factors"]) / 2
    for half in halves:
        assert sum(entry.trap for entry in half) == 2
        own = [worlds[entry.name] for entry in half]
        assert {world.scale for world in own if isinstance(world, Product)} == {"product", "additive"}
        assert any(isinstance(world, Product) and world.interactions for world in own)
        assert {2, 3, 8} <= {len(world.shape) for world in own}


def test_an_arena_of_factors(tmp_path):
    names = ["together-1.2", "needle-4x4x4"]
    words = ["arena", "--of", "factors", "--quick", "--runs", "2", "--policy", "uniform", "--workers", "1"]
    words += [word for name in names for word in ("--problem", name)]
    result = CliRunner().invoke(build_app(), [*words, "--out", str(tmp_path)], catch_exceptions=False)
    assert result.exit_code == 0
    found = rankone.simulation.Arena.load(tmp_path)
    assert found.table["problem"].unique().sort().to_list() == sorted(names)
    assert found.table["policy"].unique().sort().to_list() == ["uniform", "uts"]
    bounds = dict(found.table.filter(pl.col("policy") == "uts").select("problem", "times_bound").iter_rows())
    assert bounds["together-1.2"] is None, "no bound is known where levels interact"
    assert bounds["needle-4x4x4"] > 0
    assert found.scores()["policy"].to_list() == ["uts", "uniform"]
    assert np.isfinite(found.ratios()["mean_ratio"].to_numpy()).all()
    page = rankone.report(tmp_path).read_text()
    assert "rankone.arena(" in page
    assert "of='factors'" in html.unescape(page)
    assert (tmp_path / "arena.png").exists()
    for more, said in (
        ({"policies": "ucb1-elim"}, "Expected a policy that plays combinations, as the arena asks for"),
        ({"problems": "trap-6"}, "Expected problem of the arena as one of .*, but got trap-6"),
    ):
        with pytest.raises(InputError, match=said):
            rankone.arena(of="factors", runs=1, **more)


def test_by_default_every_policy_on_combinations_plays():
    from rankone.simulation.arena import _players

    names = {player.label for player in _players(None, "uts", "factors")}
    assert {"uts", "glm-thompson", "rank1elim-kl", "per-factor", "uniform"} <= names
    assert "ucb1-elim" not in names


def test_a_best_level_has_no_part_in_the_bound():
    """Nor where rounding makes its rate a little less than the best."""
    assert 1 < rankone.as_problem("product:6x6x6:seed=1").lower_bound_constant() < 1_000
