"""The demo of the README: under the defaults a verdict comes while somebody still watches."""

import numpy as np

import rankone
from rankone.client.client import Client
from rankone.live import Database
from rankone.live.operate.export import decisions_table
from rankone.web.traffic import names_of, simulate_traffic, truth_of

from .helpers import running


def test_the_demo_is_decided_within_5000_visitors(tmp_path):
    problem = rankone.as_problem("needle:8x6")
    with running(tmp_path / "rankone.db") as url, Client(url) as client:
        client.create("demo", problem.row_names, problem.col_names, seed=1)
        simulate_traffic(client, "demo", problem, rate=1e6, visits=5000, batch=100, seed=1)
        report = client.experiment("demo").report()
    (row, col) = problem.best_pairs[0]
    assert report.decided
    assert report.aim == "both"
    assert report.basis == "any"
    assert (report.best["row"], report.best["col"]) == (problem.row_names[row], problem.col_names[col])
    assert " wins: " in report.headline


def test_visitors_with_features_are_simulated(tmp_path):
    """The experiment is made for them: it learns who is shown what."""
    problem = rankone.as_problem("visitors:2x2:d=2,crossed=3,seed=1")
    names = names_of(problem)
    assert truth_of(problem, names).startswith("'row ")
    with running(tmp_path / "rankone.db") as url, Client(url) as client:
        visits, _ = simulate_traffic(client, "demo", problem, rate=1e6, visits=1_200, batch=20, seed=1)
        (shown,) = client.experiments()
        report = client.experiment("demo").report()
        with Database(tmp_path / "rankone.db", read_only=True) as database:
            log = decisions_table(database, "demo")
    assert visits == report.decisions == 1_200
    assert shown["policy"].startswith("logit-ts")
    assert shown["context"] == {"feature 1": "bool", "feature 2": "bool"}
    # What they clicked is what the world says, kind by kind.
    truth = problem.rates()
    features = [(log[f"context_feature {k + 1}"] == "true").to_numpy().astype(int) for k in (0, 1)]
    shown_as = [np.array([names[factor].index(each) for each in log[factor]]) for factor in ("row", "col")]
    expected = truth[features[0] + 2 * features[1], shown_as[0], shown_as[1]]
    clicked = log["clicked"].cast(float).to_numpy()
    assert abs((clicked - expected).sum()) < 4.0 * np.sqrt((expected * (1.0 - expected)).sum())
    best = truth.reshape(4, -1).max(axis=1).mean()
    assert expected[600:].mean() > truth.mean() + 0.3 * (best - truth.mean())
