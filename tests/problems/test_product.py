"""Products of any number of factors: against definitions written out, and what is refused."""

import itertools
import json
import math

import numpy as np
import pytest

import rankone
from rankone.errors import InputError
from rankone.problems import Product, RankOne, load_problem, save_problem
from rankone.problems.base import problem_from_dict, problem_to_dict
from tests.oracles.policies import kl

PLAIN = {"headline": [0.5, 0.9], "image": [0.8, 0.3, 0.2], "button": [0.6, 0.7]}
MORE = Product(
    PLAIN,
    level_names={"headline": ["A", "B"]},
    interactions={("image", "headline"): {("image 2", "A"): 1.5, ("image 3", "B"): 0.5}},
    forbidden=[{"headline": "B", "button": "button 2"}],
)


def slow_rate(levels):
    headline, image, button = levels
    together = {(1, 0): 1.5, (2, 1): 0.5}.get((image, headline), 1.0)
    return PLAIN["headline"][headline] * PLAIN["image"][image] * PLAIN["button"][button] * together


def test_a_factor_with_one_level_is_allowed_and_said():
    described = Product({"a": [0.5], "b": [0.4, 0.3], "c": [0.9]}).description()
    assert described["factors with one level, nothing to find out"] == "a, c"
    assert all("one level" not in key for key in Product(PLAIN).description())


def test_two_factors_are_rows_and_columns():
    rows, cols = [0.9, 0.5], [0.8, 0.3, 0.2]
    product, problem = Product({"row": rows, "col": cols}), RankOne(rows, cols)
    assert product == problem
    assert problem == product
    assert hash(product) == hash(problem)
    assert product.digest == problem.digest
    assert product.lower_bound_constant() == pytest.approx(problem.lower_bound_constant(), rel=1e-14)
    assert product != RankOne(rows, [0.8, 0.3, 0.1])


def test_rates_the_best_and_what_chance_loses_are_as_defined():
    allowed = [each for each in itertools.product(range(2), range(3), range(2)) if (each[0], each[2]) != (1, 1)]
    best = max(allowed, key=slow_rate)
    assert MORE.best_decision() == best
    assert MORE.best_mean == pytest.approx(slow_rate(best))
    assert MORE.loss_at_random() == pytest.approx(slow_rate(best) - np.mean([slow_rate(each) for each in allowed]))
    for levels in itertools.product(range(2), range(3), range(2)):
        assert MORE.means[levels] == pytest.approx(slow_rate(levels))
        assert MORE.rate(*levels) == pytest.approx(slow_rate(levels))


@pytest.mark.parametrize("scale", ["additive", "logit"])
def test_other_scales_add(scale):
    parts = {"a": [0.0, 0.01], "b": [-0.005, 0.0, 0.002]}
    problem = Product(parts, scale=scale, base=0.02, interactions={("a", "b"): {("a 2", "b 2"): 0.004}})
    for one, other in itertools.product(range(2), range(3)):
        added = parts["a"][one] + parts["b"][other] + (0.004 if (one, other) == (1, 1) else 0.0)
        odds = math.exp(math.log(0.02 / 0.98) + added)
        assert problem.rate(one, other) == pytest.approx(0.02 + added if scale == "additive" else odds / (1 + odds))
    assert problem.lower_bound_constant() is None
    assert problem_from_dict(problem_to_dict(problem)) == problem


def test_the_lower_bound_sums_over_single_changes():
    problem = Product(PLAIN)
    wanted = 0.0
    for factor, levels in PLAIN.items():
        for level in levels:
            mean = problem.best_mean / max(PLAIN[factor]) * level
            wanted += (problem.best_mean - mean) / kl(mean, problem.best_mean) if mean < problem.best_mean else 0.0
    assert problem.lower_bound_constant() == pytest.approx(wanted)


def test_every_combination_but_the_best_has_a_better_neighbour():
    for seed in range(20):
        problem = rankone.as_problem(f"product:{'3x2x4x2' if seed % 2 else '4x5x3'}:seed={seed}")
        peaks = np.ones(problem.shape, bool)
        for place in range(len(problem.shape)):
            peaks &= problem.means >= problem.means.max(axis=place, keepdims=True)
        assert np.argwhere(peaks).tolist() == [list(problem.best_decision())]


def test_says_when_single_changes_may_not_lead_to_the_best():
    assert MORE.peaks == 2
    assert MORE.description()["never shown together"] == "B + button 2"
    assert MORE.description()["combinations that no single change makes better"] == 2
    assert "combinations that no single change makes better" not in Product(PLAIN).description()


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_files_keep_it(tmp_path, suffix):
    problem = Product(PLAIN, name="page")
    save_problem(problem, tmp_path / f"page.{suffix}")
    assert load_problem(tmp_path / f"page.{suffix}") == problem


def test_a_file_keeps_interactions_and_rules(tmp_path):
    MORE.save(tmp_path / "page.json")
    assert load_problem(tmp_path / "page.json") == MORE
    assert load_problem(tmp_path / "page.json").digest == MORE.digest != Product(PLAIN).digest


def test_a_json_file_by_hand_needs_factors_only(tmp_path):
    (tmp_path / "page.json").write_text(json.dumps({"factors": PLAIN, "note": "left alone"}))
    assert load_problem(tmp_path / "page.json") == Product(PLAIN, name="page")


def test_many_factors_of_realistic_effects_have_the_rate_that_was_asked_for():
    many = rankone.as_problem("headlines:2x2x2x2x2x2x2x2:rate=0.05")
    effects = [values / values.max() for values in many.factors.values()]
    drawn = [values / values.max() for values in rankone.as_problem("headlines:2x2x2x2x2x2x2x2").factors.values()]
    assert np.allclose(effects, drawn, rtol=1e-12)
    logs = [np.log(values).mean() for values in many.factors.values()]
    small = [np.log(values).mean() for values in rankone.as_problem("headlines:2x2x2x2x2x2x2x2").factors.values()]
    assert sum(logs) - sum(small) == pytest.approx(math.log(0.05 / 0.013))
    with pytest.raises(InputError, match="Expected click rates of at most 1"):
        rankone.as_problem("headlines:20x20x20:rate=0.9,spread=3")


def test_families_have_any_number_of_factors():
    one = rankone.as_problem("needle:5")
    assert (one.name, one.shape, one.best_mean) == ("needle:5", (5,), 0.75)
    with pytest.raises(InputError, match="Expected levels of factor 2 as a whole number of at least 1, but got 0"):
        rankone.as_problem("product:4x0x3")
    with pytest.raises(
        InputError, match="Expected levels of factor 3 as a whole number of at least 1, but got nothing"
    ):
        rankone.as_problem("product:4x5x")
    needle = rankone.as_problem("needle:10x4x2:p=0.2,gap=0.3")
    assert needle.shape == (10, 4, 2)
    assert needle.name == "needle:10x4x2:p=0.2,gap=0.3"
    assert needle.best_mean == pytest.approx(0.125)
    larger = rankone.as_problem("product:9x9x9:seed=3").factors["B"]
    assert larger[:5].tolist() == rankone.as_problem("product:4x5x3:seed=3").factors["B"].tolist()
    assert rankone.as_problem("headlines:4x4x3").best_mean < 0.05


def test_studies_never_show_what_is_forbidden_and_lose_what_is_defined():
    study = rankone.simulate(MORE, "uniform", horizon=3_000, runs=1, workers=1)
    assert study.runs[0].regret[-1] / 3_000 == pytest.approx(MORE.loss_at_random(), rel=0.1)
    two = Product({"a": [0.5, 0.4], "b": [0.5, 0.4]}, forbidden=[{"a": "a 1", "b": "b 1"}])
    with pytest.raises(InputError, match=r"Expected a policy that can leave out what .* forbids, but got"):
        rankone.simulate(two, "ucb1-elim", horizon=10)


@pytest.mark.parametrize(
    ("factors", "more", "said"),
    [
        ({}, {}, "Expected factors by name"),
        ({"a": []}, {}, "Expected the factor a as a list of at least one number"),
        ({"a": [0.5], "b": [1.2]}, {}, r"Expected probabilities in \[0, 1\] in the factor b"),
        ({"a": [0.5, 0.4]}, {"level_names": {"a": ["x", "x"]}}, "Expected distinct names of a"),
        (
            {"a": [0.5, 0.4]},
            {"level_names": {"b": ["x", "x"]}},
            "Expected factor in level_names as one of a, but got b",
        ),
        ({"a": [0.5, 0.4]}, {"level_names": {"a": ["x"]}}, "Expected 2 names of a as a list of texts"),
        ({str(n): [0.5] for n in range(21)}, {}, "Expected from 1 to 20 factors, but got 21"),
        ({str(n): [0.5] * 1_000 for n in range(5)}, {}, "Expected at most 1,000,000,000,000 combinations"),
        (
            {"a": [0.5, 0.4], "b": [0.5]},
            {"interactions": {("a", "a"): {}}},
            "Expected interactions by the names of two",
        ),
        (
            {"a": [0.5], "b": [0.5]},
            {"interactions": {("a", "b"): {("x", "b 1"): 2}}},
            "Expected level of a as one of a 1",
        ),
        ({"a": [0.9], "b": [0.9]}, {"interactions": {("a", "b"): {("a 1", "b 1"): 2}}}, "Expected click rates in"),
        (
            {"a": [0.9], "b": [0.9]},
            {"interactions": {("a", "b"): {("a 1", "b 1"): -1}}},
            "a number of at least 0 for a 1",
        ),
        (
            {"a": [0.9], "b": [0.9]},
            {"interactions": {("a", "b"): {("a 1", "b 1"): 1}, ("b", "a"): {("b 1", "a 1"): 0.9}}},
            "Expected one number for b 1 and a 1 together, but got another one, 0.9",
        ),
        ({"a": [0.5], "b": [0.5]}, {"forbidden": [{"c": "x"}]}, "Expected factor as one of a, b, but got c"),
        ({"a": [0.5], "b": [0.5]}, {"forbidden": {"a": "a 1"}}, "Expected forbidden as a list of rules"),
        ({"a": [0.5], "b": [0.5]}, {"forbidden": [{"a": "a 1"}]}, "Expected rules that leave something to show"),
        (
            {"a": [0.5, 0.4], "b": [0.5]},
            {"forbidden": [{"a": "a 1"}]},
            "got rules that forbid a 1 of a with everything",
        ),
        ({"a": [0.5]}, {"scale": "cubic"}, "Expected scale as one of product, additive, logit"),
        ({"a": [0.5]}, {"scale": "logit"}, "Expected base between 0 and 1"),
        ({"a": [0.5]}, {"base": 0.1}, "Expected no base where probabilities are multiplied"),
        ({"a": [-0.5]}, {"scale": "additive", "base": 0.1}, "Expected click rates in"),
    ],
)
def test_bad_input_is_a_sentence(factors, more, said):
    with pytest.raises(InputError, match=said):
        Product(factors, **more)


def test_one_level_and_names_in_two_factors_are_fine():
    problem = Product({"a": [0.5], "b": [0.4, 0.3]}, level_names={"a": ["x"], "b": ["x", "y"]})
    assert problem.best_decision() == (0, 0)


def test_the_lowest_rate_is_that_of_a_combination():
    """The worst levels need not be those that an interaction makes worse."""
    parts = {"a": [0.0, 0.05], "b": [0.0, 0.05]}
    together = {("a", "b"): {("a 2", "b 2"): -0.05}}
    problem = Product(parts, base=0.02, scale="additive", interactions=together)
    assert problem.rate(1, 1) == pytest.approx(0.07)
    with pytest.raises(InputError, match=r"got -0\.01"):
        Product(parts, base=0.02, scale="additive", interactions={("a", "b"): {("a 2", "b 2"): -0.13}})
