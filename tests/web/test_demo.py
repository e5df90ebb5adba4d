"""The demo of the README: under the defaults a verdict comes while somebody still watches."""

import rankone
from rankone.client.client import Client
from rankone.web.traffic import simulate_traffic

from .helpers import running


def test_the_demo_is_decided_within_5000_visitors(tmp_path):
    problem = rankone.as_problem("needle:8x6")
    with running(tmp_path / "rankone.db") as url, Client(url) as client:
        client.create("demo", problem.row_names, problem.col_names, seed=1)
        simulate_traffic(client, "demo", problem, rate=1e6, visits=5000, batch=100, workers=1, seed=1)
        report = client.experiment("demo").report()
    (row, col) = problem.best_pairs[0]
    assert report.decided
    assert report.aim == "both"
    assert report.basis == "any"
    assert (report.best["row"], report.best["col"]) == (problem.row_names[row], problem.col_names[col])
    assert " wins: " in report.headline
