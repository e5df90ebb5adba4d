"""Levels that act together: found where they do, rarely where they do not, however combinations were chosen."""

import numpy as np
import pytest

import rankone
from rankone.numerics.seeds import generator
from rankone.serving import Experiment
from rankone.serving.even_test import uniform_rate
from rankone.serving.interactions import Together, _Fitted, _Table, fit_product, strongest
from rankone.simulation.rehearsal import rehearse
from tests import dice as dice  # registers the policy

LEVELS = {"a": [0.5, 0.3], "b": [0.9, 0.6, 0.5], "c": [0.8, 0.7]}
MEANS = rankone.Product(LEVELS).means


def at_most(runs, level=0.05):
    """Return how many of the runs may be wrong at a level."""
    return runs * level + 3 * np.sqrt(runs * level * (1 - level))


def strikes(pulls, clicks):
    found = strongest(pulls, clicks)
    return bool(found) and found[0].p < 0.05


def test_they_are_found_and_others_rarely():
    rng, false = generator(0, "together"), 0
    for _ in range(200):
        pulls = rng.integers(50, 2000, MEANS.shape)
        false += strikes(pulls, rng.binomial(pulls, MEANS))
    assert false <= at_most(200)
    means = MEANS.copy()
    means[0, 1] *= 1.5
    pulls = np.full(means.shape, 2000)
    found = strongest(pulls, rng.binomial(pulls, means))[0]
    assert (found.factors, found.p < 0.001) == ((0, 1), True)


@pytest.mark.parametrize(("policy", "goal"), [("uts", "earn"), ("uts", "both")])
def test_a_policy_that_chooses_by_clicks_makes_none_up_while_rates_are_steady(policy, goal):
    problem, runs = rankone.Product({"a": [0.3, 0.25, 0.2], "b": [0.5, 0.4], "c": [0.5, 0.4]}), 60
    found = rehearse(problem, policy=policy, goal=goal, visitors=8_000, runs=runs)
    assert sum(strikes(each.pulls, each.clicks) for each in found) <= at_most(runs)


def test_a_planted_one_is_found_although_a_policy_chose():
    """Of two levels half as many again together: 35 of 40 other experiments that explore found them."""
    page = rankone.Product(
        {"a": [0.5, 0.45], "b": [0.5, 0.45, 0.4], "c": [0.6, 0.5]}, interactions={("a", "b"): {("a 2", "b 2"): 1.5}}
    )
    found = [strongest(each.pulls, each.clicks)[0] for each in rehearse(page, goal="decide", visitors=20_000, runs=20)]
    least = 20 * 0.875 - 3 * np.sqrt(20 * 0.875 * 0.125)
    assert sum(each.p < 0.05 and each.factors == (0, 1) for each in found) >= least


def test_clicks_that_scatter_more_are_allowed_for():
    """Twice the binomial scatter: without the dispersion a third of the tables would strike."""
    rng, runs, false, bare = generator(1, "scatter"), 200, 0, 0
    means = rankone.Product({"a": [0.3, 0.2, 0.2], "b": [0.5, 0.4, 0.4], "c": [0.5, 0.4, 0.3]}).means
    for _ in range(runs):
        pulls = rng.integers(500, 2000, means.shape)
        strength = pulls - 2.0  # of a Beta whose clicks have about twice the variance
        clicks = rng.binomial(pulls, rng.beta(means * strength, (1.0 - means) * strength))
        false += strikes(pulls, clicks)
        bare += min(each.p for each in _without_dispersion(pulls, clicks)) < 0.05
    assert false <= at_most(runs)
    assert bare > 2 * at_most(runs)


def _without_dispersion(pulls, clicks):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankone.serving.interactions._dispersion", lambda table: (1.0, np.inf))
        return strongest(pulls, clicks)


def test_what_fitting_leaves_of_the_scatter_is_what_matrices_say():
    """The slow twin: the whole linearised fit as one matrix."""
    rng = generator(2, "left")
    pulls = rng.integers(1, 500, MEANS.shape) * (rng.random(MEANS.shape) < 0.9)
    clicks = rng.binomial(pulls, MEANS)
    cells = np.argwhere(pulls)
    told, clicked = pulls[tuple(cells.T)], clicks[tuple(cells.T)]
    levels = fit_product(cells, told, clicked, pulls.shape)
    expected = told * np.prod([each[cells[:, place]] for place, each in enumerate(levels)], axis=0)
    design = np.concatenate([np.eye(size)[cells[:, place]] for place, size in enumerate(pulls.shape)], axis=1)
    weights = np.diag(expected)
    residuals = np.eye(len(cells)) - weights @ design @ np.linalg.pinv(design.T @ weights @ design) @ design.T
    scatter = residuals @ np.diag(expected * (1 - expected / told)) @ residuals.T
    inside = ((cells[:, 0] == 1) & (cells[:, 1] == 2)).astype(float)
    found = _Fitted(_Table(cells, pulls.shape, told, clicked, expected)).left(Together((0, 1), (1, 2), 0, 1.0, 1.0))
    assert found == pytest.approx(inside @ scatter @ inside, rel=1e-8)


def test_a_report_names_them_with_their_condition(sqlite_db):
    rng, factors = generator(3, "report"), {name: ["1", "2"] for name in "abc"}
    settings = {"policy": "test-dice", "explore": 0.5, "seed": 1}
    with Experiment("page", db=sqlite_db, durability="off", factors=factors, **settings) as page:
        assert page.report().interactions == ()
        decisions = [each for _ in range(3) for each in page.ask(1_000)]
        page.tell_many(
            (each, bool(rng.random() < (0.5 if each.levels["a"] == each.levels["b"] else 0.25))) for each in decisions
        )
        report = page.report()
        pulls, clicks = page.look(lambda fold: (fold.pulls.copy(), fold.clicks.copy()))
    assert set(report.interactions[0].levels) == {"a", "b"}
    assert "a and b seem to act together" in report.sentence
    assert "while the click rate of the whole site stays as it is" in report.sentence
    assert report.even_clicks == pytest.approx(uniform_rate(pulls, clicks) * pulls.sum())
    assert "An even test of all combinations would have had about" in report.sentence
    assert type(report).of_dict(report.to_dict()) == report


def test_an_even_test_shows_nothing_forbidden():
    pulls = np.full((2, 2), 1000)
    clicks = np.array([[400, 200], [200, 100]])
    assert uniform_rate(pulls, clicks, np.array([[0, 0]])) == pytest.approx(0.5 / 3)
    assert uniform_rate(pulls // 50, clicks // 50) is None
