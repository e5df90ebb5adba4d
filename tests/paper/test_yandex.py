"""Figures 2 and 3: the judges see what they should; both are written whole, from a generated log and from a given one."""

import numpy as np
import polars as pl
import pytest

import rankone
from rankone import clicks
from rankone.errors import InputError
from rankone.paper import figures_2_and_3 as figures
from rankone.paper.protocol import BASELINES, READINGS, Protocol
from rankone.simulation.study import Study
from rankone.simulation.work_unit import Run

HARD = rankone.RankOne([0.9, 0.05, 0.05], [0.85, 0.05, 0.05], name="hard")
EASY = rankone.RankOne([0.6, 0.3], [0.6, 0.3], name="easy")
REGRETS = {
    "rank1elim-kl": 80.0,
    "rank1elim-kl:c=0": 70.0,
    "rank1elim": 400.0,
    "ucb1-elim": 300.0,
    "ucb1": 90.0,
    "kl-ucb": 9.0,
}


def made_up_study(changes=None, easy_share=0.5):
    """Regret of each policy on the hard query; on the easy one `easy_share` of it, a little more for the baselines."""
    regrets = REGRETS | (changes or {})
    runs = [
        Run(problem.name, policy, run, 0.1, np.array([0.5, 1.0]) * regret * share * (1.0 + 0.01 * run))
        for problem, share in ((HARD, 1.0), (EASY, easy_share))
        for policy, regret in regrets.items()
        for run in range(3)
    ]
    return Study([HARD, EASY], list(regrets), np.array([50, 100]), runs)


def test_figure_2_claims_hold_and_fail_where_they_should():
    def verdicts(**options):
        return [claim.holds for claim in figures.judge_two(made_up_study(**options), "rank1elim-kl", "made up")]

    assert verdicts() == [True, True, True]
    assert verdicts(changes={"ucb1": 60.0}) == [False, False, True]
    assert verdicts(changes={"ucb1": 79.5}) == [True, False, True]  # no worse within two standard errors
    assert verdicts(changes={"rank1elim": 70.0}) == [False, False, True]
    assert verdicts(easy_share=1.5) == [True, True, False]
    assert figures.judge_hardness((HARD, EASY), "made up").holds
    assert not figures.judge_hardness((EASY, HARD), "made up").holds


def test_figure_3_averages_over_queries_and_judges_over_runs():
    curves = figures.averaged(made_up_study())
    assert curves.height == len(REGRETS) * 3 * 2
    ends = figures.final(curves).filter(pl.col("policy") == "ucb1").row(0, named=True)
    runs = 90.0 * 0.75 * np.array([1.0, 1.01, 1.02])
    assert ends["regret_mean"] == pytest.approx(runs.mean())
    assert ends["regret_se"] == pytest.approx(runs.std(ddof=1) / np.sqrt(3))
    claims = figures.judge_average(curves, "rank1elim-kl", "as printed (c = 3), n = 100")
    assert [claim.holds for claim in claims] == [True, True, True]
    assert claims[1].measured.startswith("11.1% ± ")
    one_run = figures.judge_average(curves.filter(pl.col("run") == 0), "rank1elim-kl", "x, n = 1")
    assert one_run[1].measured == "11.1% (one run) lower"
    worse = figures.judge_average(
        figures.averaged(made_up_study({"ucb1": 85.0, "rank1elim": 300.0})), "rank1elim-kl", "x, n = 1"
    )
    assert [claim.holds for claim in worse] == [True, False, False]
    lost = figures.judge_average(figures.averaged(made_up_study({"ucb1": 79.0})), "rank1elim-kl", "x, n = 1")
    assert not lost[0].holds
    table = figures.by_horizon(claims)
    assert table.columns == ["claim", "reading", "n = 100"]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(figures, "QUERIES", 2)
    monkeypatch.setattr(figures, "GENERATED_LISTS", 5_000)
    monkeypatch.setattr(figures, "QUICK_HORIZONS", (300,))
    monkeypatch.setattr(figures, "POLICIES", (*READINGS, *BASELINES))


def test_figures_are_written_whole_from_a_generated_log(small, tmp_path):
    result = figures.fig2(Protocol(tmp_path, quick=True, workers=1))
    result.save(tmp_path)
    assert {"claims.csv", "queries.csv", "summary.csv", "fig2_models.png", "fig2_regret.png"} <= {
        path.name for path in tmp_path.iterdir()
    }
    assert "GENERATED" in result.claims[0].reading
    result = figures.fig3(Protocol(tmp_path, quick=True, truth=True, workers=1))
    assert "GENERATED" in result.tables["average"]["source"][0]
    assert set(result.charts) == {"fig3"}
    assert result.tables["queries"]["mu"].to_list() == pytest.approx([0.13, 0.28])


def test_a_log_of_the_users_own(small, tmp_path):
    log = clicks.generate_log(tmp_path / "mine.tsv", 2_000, queries=3, items=30)
    result = figures.fig2(Protocol(tmp_path, log=str(log.path), quick=True, workers=1))
    assert result.claims[0].reading.startswith("mine.tsv (2,000 lists)")
    queries = result.tables["queries"]
    products = queries["mu"] * queries["gamma"]
    assert queries["figure"].to_list() == ["Query 1", "Query 2"]
    assert products[0] < products[1]


def test_choices_that_contradict_one_another_are_refused(tmp_path):
    with pytest.raises(InputError, match="a log of known truth"):
        Protocol(tmp_path, log="mine.tsv", truth=True)
    with pytest.raises(InputError, match="and no log"):
        Protocol(tmp_path, format="yandex-rpc")
    with pytest.raises(InputError, match="at least two queries"):
        figures.two_queries([HARD], generated=False)


def test_a_log_on_which_every_pair_is_as_good_is_judged_too():
    nothing = dict.fromkeys(REGRETS, 0.0)
    for claim in figures.judge_two(made_up_study(nothing), "rank1elim-kl", "x"):
        assert not claim.holds
    assert [
        claim.holds for claim in figures.judge_average(figures.averaged(made_up_study(nothing)), "rank1elim-kl", "x")
    ] == [False] * 3
    assert figures.ratio(1.0, 0.0) == float("inf")
