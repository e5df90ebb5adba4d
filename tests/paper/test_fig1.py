"""Figure 1: the judges of the paper's claims see what they should, and the figure is written whole."""

import json

import numpy as np
import pytest

import rankone
from rankone.paper import fig1
from rankone.paper.protocol import Protocol
from rankone.simulation.study import Study
from rankone.simulation.work_unit import Run

SIZES = (2, 4, 8)
REGRETS = {
    "rank1elim-kl": 100.0,
    "rank1elim-kl:c=0": 90.0,
    "rank1elim": 400.0,
    "ucb1-elim": 300.0,
    "ucb1": 200.0,
    "kl-ucb": 50.0,
}
GROWTH = {"rank1elim-kl": 2, "rank1elim-kl:c=0": 2, "rank1elim": 2, "ucb1-elim": 4, "ucb1": 4, "kl-ucb": 4}


def made_up_study(regrets=REGRETS, growth=GROWTH, last_tenth=0.0):
    """A study whose regret curves are known: a rise in the first tenth, flat, and `last_tenth` of it at the end."""
    problems = [rankone.needle(size, size) for size in SIZES]
    steps = np.arange(1, 11) * 100
    runs = []
    for place, problem in enumerate(problems):
        for policy, regret in regrets.items():
            curve = np.full(10, regret * growth[policy] ** place)
            curve[:-1] *= 1.0 - last_tenth
            runs += [Run(problem.name, policy, run, 0.1, curve) for run in range(2)]
    return Study(problems, list(regrets), steps, runs)


def verdicts(study):
    return [claim.holds for claim in fig1.judge(study, "rank1elim-kl", "made up")]


def test_all_claims_hold_where_they_should():
    assert verdicts(made_up_study()) == [True] * 5


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"last_tenth": 0.05}, 0),
        ({"growth": GROWTH | {"rank1elim-kl": 3, "rank1elim": 3}}, 1),
        ({"growth": GROWTH | {"ucb1-elim": 2}}, 2),
        ({"regrets": REGRETS | {"ucb1": 80.0}}, 3),
        ({"regrets": REGRETS | {"rank1elim": 210.0}}, 4),
    ],
)
def test_each_claim_fails_where_it_should(change, wrong):
    assert verdicts(made_up_study(**change)) == [place != wrong for place in range(5)]


def test_reproduction_is_written_whole(tmp_path):
    finished = []
    protocol = Protocol(tmp_path, quick=True, workers=1, progress=lambda *now: finished.append(now))
    result = fig1.fig1(protocol, sizes=(2, 4))
    result.save(tmp_path)
    assert finished[-1] == (60, 60)
    assert result.tables["summary"].height == 12
    assert result.claim_table().columns == ["claim", "reading", "measured", "verdict"]
    assert len(result.claims) == 10
    assert {path.name for path in tmp_path.iterdir()} >= {
        "fig1.png",
        "fig1.svg",
        "fig1.html",
        "claims.csv",
        "summary.csv",
    }


def test_today_adds_policies_and_the_lower_bound_on_a_log_scale(monkeypatch):
    monkeypatch.setattr(fig1, "HORIZON", 2_000)
    result = fig1.fig1(Protocol(quick=True, workers=1), sizes=(2, 4), today=True)
    assert set(result.charts) == {"fig1", "fig1-today"}
    papers, todays = (json.loads(result.charts[name].altair.to_json()) for name in ("fig1", "fig1-today"))
    drawn = [spec["concat"][0]["layer"][1]["encoding"] for spec in (papers, todays)]
    assert "uts" not in drawn[0]["color"]["scale"]["domain"], "the paper's figure stays the paper's"
    assert drawn[1]["color"]["scale"]["domain"] == [*fig1.TODAY, "asymptotic lower bound"]
    assert {"uts", "kl-ucb"} <= set(fig1.TODAY)
    assert drawn[1]["y"]["scale"]["type"] == "log"
    assert len(result.claims) == 10
