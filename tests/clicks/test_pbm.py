"""The position-based model: PyClick's rule, convergence, scale, components, uncertainty."""

import numpy as np
import polars as pl
import pytest

from rankone import clicks
from rankone.errors import InputError
from rankone.numerics.seeds import generator
from tests.clicks.logs import long_table, random_sessions
from tests.oracles import pbm_em


def simulated(seed, items=30, positions=6, shown=400, attraction=None, examination=None):
    """Counts of one query with known truth: every item is shown at two or three positions."""
    rng = generator(seed, "simulated counts")
    a = np.linspace(0.05, 0.9, items) if attraction is None else attraction
    g = 0.9 / np.arange(1, positions + 1) ** 0.7 if examination is None else examination
    places = [(item, (item + step) % positions) for item in range(items) for step in range(3)]
    item, position = np.array(places).T
    n = np.full(len(places), shown)
    table = pl.DataFrame(
        {"query": "q", "item": [f"i{value:03}" for value in item], "position": position + 1, "impressions": n,
         "clicks": rng.binomial(n, a[item] * g[position])}
    )  # fmt: skip
    return clicks.Counts(table), a, g


def simulated_logs(seeds, **settings):
    """Logs of one query each as the queries of one table, in the order of the seeds: they are fitted in one go."""
    made = [simulated(seed, **settings) for seed in seeds]
    tables = [counts.table.with_columns(query=pl.lit(f"log {place:04}")) for place, (counts, _, _) in enumerate(made)]
    return clicks.Counts(pl.concat(tables)), made[0][1], made[0][2]


@pytest.mark.parametrize("examination", ["shared", "per-query"])
def test_pyclicks_rule_agrees_with_the_loop_over_sessions(examination):
    sessions = random_sessions(seed=8, lists=250)
    counts = clicks.count(long_table(sessions), query="query", item="item", position="position", clicked="clicked")
    model = clicks.PBM.pyclick(examination=examination).fit(counts)
    attraction, curves = pbm_em.fit(sessions, 50, shared=examination == "shared")
    table = model.attraction_
    fast = dict(zip(zip(table["query"], table["item"], strict=True), table["attraction"], strict=True))
    assert fast == pytest.approx(attraction, abs=1e-9)
    queries = [""] * 5 if examination == "shared" else model.examination_["query"]
    places = zip(queries, model.examination_["position"], strict=True)
    assert dict(zip(places, model.examination_["examination"], strict=True)) == pytest.approx(curves, abs=1e-9)
    assert model.n_iter_ == 50
    assert (np.diff(model.log_likelihoods_) >= 0.0).all()


def test_likelihood_never_falls_and_acceleration_gets_further():
    counts, _, _ = simulated(1)
    plain = clicks.PBM(accelerate=False, tolerance=-1.0, max_iterations=90, method="em").fit(counts)
    fast = clicks.PBM(tolerance=-1.0, max_iterations=30, method="em").fit(counts)  # as many EM steps
    for model in (plain, fast):
        assert (np.diff(model.log_likelihoods_) >= -1e-9).all()
        assert model.log_likelihoods_[-1] == pytest.approx(model.log_likelihood_)
    assert fast.log_likelihood_ > plain.log_likelihood_


@pytest.mark.parametrize("prior", [(0.0, 0.0), (1.0, 2.0)])
@pytest.mark.parametrize("examination", ["shared", "per-query"])
def test_em_and_the_climb_meet(examination, prior):
    tables = []
    for query in range(3):
        counts, _, _ = simulated(10 + query)
        tables.append(counts.cells.with_columns(pl.lit(f"q{query}").alias("query")))
    counts = clicks.Counts(pl.concat(tables))
    settings = {"examination": examination, "prior": prior}
    em = clicks.PBM(**settings, tolerance=1e-11, method="em").fit(counts)
    climb = clicks.PBM(**settings).fit(counts)
    assert em.converged_
    assert climb.converged_
    assert climb.n_iter_ < min(30, em.n_iter_)
    assert climb._cell_probabilities(climb.cells_) == pytest.approx(em._cell_probabilities(em.cells_), abs=1e-4)
    missing = climb.log_likelihoods_[-1] - em.log_likelihoods_[-1]
    assert -1e-6 <= missing < 1e-3
    assert climb.log_likelihoods_[0] < climb.log_likelihoods_[1]


def on_a_ridge():
    """Items that hardly move: what EM takes for convergence is .03 nats below the maximum, and attraction .4 off."""
    rng, rows = generator(4, "ridge"), []
    for item in range(18):
        home = item % 6
        rows.append((f"i{item}", home + 1, 500, int(rng.binomial(500, 0.25 / (home + 1)))))
        if item < 6:
            rows.append((f"i{item}", (home + 1) % 6 + 1, 4, int(rng.random() < 0.3)))
    table = pl.DataFrame(rows, schema=["item", "position", "impressions", "clicks"], orient="row")
    return clicks.Counts(table.with_columns(query=pl.lit("q")))


def test_no_query_is_called_converged_below_its_maximum():
    """The bar of the climb is the likelihood: nothing else that was tried, from any start, is higher."""
    counts = on_a_ridge()
    model = clicks.PBM(min_impressions=0).fit(counts)
    assert model.summary()["converged"].to_list() == [True]
    em = clicks.PBM(min_impressions=0, method="em").fit(counts)
    assert em.converged_, "as it says"
    assert em.log_likelihood_ < model.log_likelihood_ - 0.01, "and is not"
    assert np.abs(em.item_attraction_ - model.item_attraction_).max() > 0.3
    for start in (0.05, 0.9):
        again = clicks.PBM(min_impressions=0, start=start).fit(counts)
        assert again.log_likelihood_ == pytest.approx(model.log_likelihood_, abs=2e-6)
    short = clicks.PBM(min_impressions=0, max_iterations=3, method="em").fit(counts)
    assert not short.converged_
    assert short.summary()["converged"].to_list() == [False]


def test_rates_at_the_bounds_cost_no_likelihood():
    """Always clicked, and never: a cap of 1 - 1e-6 would cost 2 nats of a million certain clicks."""
    rows = {"query": "q", "item": ["a", "a", "b", "b"], "position": [1, 2, 1, 2], "impressions": 1_000_000}
    model = clicks.PBM().fit(clicks.Counts(pl.DataFrame({**rows, "clicks": [1_000_000, 400_000, 0, 0]})))
    saturated = 400_000 * np.log(0.4) + 600_000 * np.log(0.6)  # a rate of its own for every cell
    assert model.log_likelihood_ == pytest.approx(saturated, abs=1e-4)
    assert model.converged_


def test_truth_is_found_within_its_standard_errors():
    counts, a, g = simulated(2, shown=20_000)
    model = clicks.PBM().fit(counts)
    attraction, examination = model.intervals()
    z_a = (attraction["attraction"].to_numpy() - a * g.max()) / attraction["se"].to_numpy()
    z_g = (examination["examination"].to_numpy() - g / g.max())[1:] / examination["se"].to_numpy()[1:]
    assert np.abs(z_a).max() < 4.5
    assert np.abs(z_g).max() < 4.5
    assert examination["se"][0] == 0.0  # the reference of the scale


def test_intervals_are_those_of_a_single_rate_where_there_is_one():
    """One item at one position: the likelihood ratio of a binomial, also where every impression was clicked, or none."""
    rows = {"query": ["none", "some", "all"], "item": "a", "position": 1, "impressions": [20, 100, 20]}
    model = clicks.PBM().fit(clicks.Counts(pl.DataFrame({**rows, "clicks": [0, 30, 20]})))
    found = {row["query"]: (row["low"], row["high"]) for row in model.intervals()[0].to_dicts()}
    assert found["all"] == pytest.approx((np.exp(-1.9207 / 20), 1.0), abs=1e-4), "it was [.99999, 1]"
    assert found["none"] == pytest.approx((0.0, 1.0 - np.exp(-1.9207 / 20)), abs=1e-3)
    for end in found["some"]:
        fall = 30 * np.log(0.3 / end) + 70 * np.log(0.7 / (1.0 - end))
        assert fall == pytest.approx(1.9207, rel=0.01)


@pytest.mark.parametrize("scale", ["exam1", "as-is"])
def test_rates_of_pairs_fall_by_as_much_as_they_should(scale):
    """At an end of a pair's interval the best fit with that rate, found by brute force, is 1.92 nats below the top."""
    rows = {"query": "q", "item": ["a", "a", "b", "b"], "position": [1, 2, 1, 2], "impressions": 200}
    counts = clicks.Counts(pl.DataFrame({**rows, "clicks": [90, 30, 40, 20]}))
    model = clicks.PBM(scale=scale).fit(counts)
    pair = model.rates("q").row(1, named=True)
    a, b = np.meshgrid(np.linspace(0.2, 0.8, 300), np.linspace(0.05, 0.5, 300))  # attraction at the first position
    for end in (pair["low"], pair["high"]):
        second = end / a  # examination of the second that gives the pair this rate
        gain = 90 * np.log(a) + 110 * np.log1p(-a) + 30 * np.log(end) + 170 * np.log1p(-end)
        gain += 40 * np.log(b) + 160 * np.log1p(-b) + 20 * np.log(b * second) + 180 * np.log1p(-b * second)
        assert model.log_likelihood_ - gain[second <= 1.0].max() == pytest.approx(1.92, abs=0.02)


def test_the_highest_of_equal_positions_is_the_highest_by_luck():
    """A flat curve: the interval of examination, relative to the best position, still holds 95% of the time."""
    logs = 60
    flat = {"items": 12, "shown": 150, "attraction": np.full(12, 0.3), "examination": np.ones(6)}
    counts, _, _ = simulated_logs(range(7_000, 7_000 + logs), **flat)
    attraction, examination = clicks.PBM().fit(counts).intervals()
    for table, truth in ((attraction, 0.3), (examination, 1.0)):
        hits = covered(table, np.full(table.height, truth)).reshape(logs, -1).mean(axis=1)
        assert hits.mean() > 0.95 - 3 * hits.std() / np.sqrt(logs)


def covered(table, truth):
    return (table["low"].to_numpy() <= truth + 1e-12) & (truth <= table["high"].to_numpy() + 1e-12)


def test_intervals_cover_the_truth_as_often_as_they_say():
    """95% intervals, 150 simulated logs: coverage within 4 standard errors (of correlated intervals: a log each)."""
    logs = 150
    counts, a, g = simulated_logs(range(1_000, 1_000 + logs), items=24, shown=150)
    attraction, examination = clicks.PBM().fit(counts).intervals(0.95)
    inside_a = covered(attraction, np.tile(a * g.max(), logs)).reshape(logs, -1)
    inside_g = covered(examination, np.tile(g / g.max(), logs)).reshape(logs, -1)
    for inside in (inside_a, inside_g[:, 1:]):  # the first position is certain
        hits = inside.mean(axis=1)
        assert abs(hits.mean() - 0.95) < 4 * hits.std() / np.sqrt(logs)


def test_items_and_positions_without_clicks_have_intervals_that_cover():
    """A true attraction of 0.004 over 3 x 150 impressions is often not clicked at all; its upper bound must hold."""
    logs, a = 200, np.linspace(0.05, 0.9, 12)
    a[0] = 0.004
    counts, a, g = simulated_logs(range(5_000, 5_000 + logs), items=12, shown=150, attraction=a)
    attraction, _ = clicks.PBM().fit(counts).intervals(0.95)
    rare = attraction.filter(pl.col("item") == "i000")
    assert rare.height == logs
    unclicked = rare.filter(pl.col("clicks") == 0)
    assert 0 < unclicked.height < logs
    assert (unclicked["low"] == 0.0).all()
    assert unclicked["se"].is_null().all()
    assert 1.0 - covered(rare, a[0] * g.max()).mean() < 0.05 + 4 * np.sqrt(0.05 * 0.95 / logs)


def test_scales_change_parameters_but_no_click_probability():
    counts, _, _ = simulated(3)
    models = {scale: clicks.PBM(scale=scale).fit(counts) for scale in ("as-is", "exam1")}
    products = [model._cell_probabilities(model.cells_) for model in models.values()]
    assert products[0] == pytest.approx(products[1], abs=1e-12)
    assert models["exam1"].problem("q").cols.max() == pytest.approx(1.0)
    for wrong in (
        {"scale": "metric"},
        {"examination": "mine"},
        {"start": 0.0},
        {"max_iterations": 0},
        {"prior": (2, 1)},
        {"method": "guess"},
        {"tolerance": 0.0},
    ):
        with pytest.raises(InputError):
            clicks.PBM(**wrong).fit(counts)


def test_components_are_found_and_scaled_apart():
    table = pl.DataFrame(
        {"query": "q", "item": ["a", "a", "b", "b", "c"], "position": [1, 2, 1, 2, 3], "impressions": 1000,
         "clicks": [400, 100, 200, 50, 70]}
    )  # fmt: skip
    model = clicks.PBM().fit(clicks.Counts(table))
    assert model.examination_["component"].to_list() == [1, 1, 3]
    assert model.summary()["components"].to_list() == [2]
    assert model.examination_["examination"].to_list() == pytest.approx([1.0, 0.25, 1.0], abs=1e-3)
    assert model.attraction_["attraction"].to_list() == pytest.approx([0.4, 0.2, 0.07], abs=1e-3)


def test_a_shared_curve_connects_queries():
    one = pl.DataFrame(
        {"query": "q1", "item": ["a", "a"], "position": [1, 2], "impressions": 1000, "clicks": [400, 100]}
    )
    two = pl.DataFrame(
        {"query": "q2", "item": ["a", "a"], "position": [2, 3], "impressions": 1000, "clicks": [100, 50]}
    )
    counts = clicks.Counts(pl.concat([one, two]))
    assert clicks.PBM(examination="shared").fit(counts).summary()["components"].to_list() == [1, 1]
    curve = clicks.PBM(examination="shared").fit(counts).examination_["examination"]
    assert curve.to_list() == pytest.approx([1.0, 0.25, 0.125], abs=1e-3)


def test_unclicked_positions_and_items_stay_off_zero():
    table = pl.DataFrame(
        {
            "query": "q",
            "item": ["a", "a", "b", "b"],
            "position": [1, 2, 1, 2],
            "impressions": 100,
            "clicks": [50, 0, 0, 0],
        }
    )
    for model in (clicks.PBM(), clicks.PBM(method="em")):
        model.fit(clicks.Counts(table))
        assert 0.0 < model.attraction_["attraction"][1] < 1e-4
        assert 0.0 < model.examination_["examination"][1] < 1e-4
        assert np.isfinite(model.log_likelihood_)


def test_progress_reaches_the_end():
    counts, _, _ = simulated(4)
    for examination in ("per-query", "shared"):
        calls = []
        clicks.PBM(examination=examination).fit(counts, progress=lambda *call: calls.append(call))  # noqa: B023
        assert calls
        assert all(done <= total for done, total in calls)


def test_what_is_said_of_the_best_pair_allows_for_the_choice():
    """Many equal items: one is best by luck. Its rate's interval holds, and the others are not said to be worse."""
    logs, _, _ = simulated_logs(range(150), items=20, positions=4, shown=60, attraction=np.full(20, 0.3))
    found = clicks.PBM().fit(logs).best()
    truth = 0.3 * 0.9  # of any item at the first position
    held = ((found["low"] <= truth) & (truth <= found["high"])).mean()
    assert (found["best_click_rate"] > truth).mean() > 0.9, "the best of many is overrated"
    error = np.sqrt(0.95 * 0.05 / found.height)
    assert held >= 0.95 - 3.0 * error
    assert (found["not_told_apart"] < 19).mean() <= 0.05 + 3.0 * error, "all of the others are as good"
    with pytest.raises(InputError, match="level between 0 and 1"):
        clicks.PBM().fit(logs).best(level=95)
