"""UTS, flat Thompson sampling and insured UTS have the law of their naive twins: regret over thousands of short runs.

Small problems would often use plain draws, where those are cheaper; with endless credit they always use the crowd.
"""

import functools

import numpy as np
import pytest

import rankone
from rankone.numerics.betas.beta_maximum import GROUPS_CREDIT
from rankone.numerics.seeds import generator
from rankone.simulation.work_unit import play_run
from tests.oracles.naive_insured import NaiveInsured
from tests.oracles.naive_thompson import NaiveThompson
from tests.oracles.naive_uts import NaiveUTS

TWINS = {
    "uts": (rankone.UTS(), NaiveUTS()),
    "uts:gamma=3": (rankone.UTS(gamma=3), NaiveUTS(gamma=3)),
    "thompson": (rankone.Thompson(), NaiveThompson()),
    "insured-uts": (rankone.as_policy("insured-uts"), NaiveInsured()),
}
PROBLEMS = {
    "needle": ([0.75, 0.25, 0.25, 0.25], [0.75, 0.25, 0.25]),
    "steep": ([0.9, 0.6, 0.3, 0.2, 0.1], [0.8, 0.7, 0.05]),
    "tied": ([0.8, 0.8, 0.3], [0.7, 0.7]),
    "rows of zeros": ([0.5, 0.0, 0.0, 0.0], [0.5, 0.0, 0.0]),
    "certain": ([1.0, 0.0, 0.5], [1.0, 1.0, 0.0]),
    "one row": ([0.6], [0.9, 0.5, 0.1, 0.1]),
    "one column": ([0.2, 0.8, 0.7], [0.6]),
    "rare clicks": ([0.1, 0.02, 0.02], [0.2, 0.1]),
}
RUNS, CHECKPOINTS = 2_000, np.array([20, 60, 200])


@functools.cache
def regrets(policy, problem, credit=None):
    world, found = rankone.RankOne(*PROBLEMS[problem]), []
    rng = generator(1, "law", policy.label)
    for _ in range(RUNS):
        state = policy.start(*world.shape)
        if credit is not None:
            state.group_counters[GROUPS_CREDIT] = credit
            if hasattr(state, "flat_group_counters"):
                state.flat_group_counters[GROUPS_CREDIT] = credit
        found.append(play_run(state, world, CHECKPOINTS, rng)[0])
    return np.array(found)


@pytest.mark.parametrize("credit", [None, 10**12])
@pytest.mark.parametrize(
    ("name", "problem"),
    [(name, problem) for name in ("uts", "thompson") for problem in PROBLEMS]
    + [("uts:gamma=3", "needle"), ("insured-uts", "steep"), ("insured-uts", "tied"), ("insured-uts", "rare clicks")],
)
def test_same_regret_as_the_naive_twin(name, problem, credit):
    """Means and spreads at three times; each difference is within 4.5 of its standard errors."""
    fast, naive = regrets(TWINS[name][0], problem, credit), regrets(TWINS[name][1], problem)
    for power in (1, 2):
        error = np.sqrt(((fast**power).var(axis=0) + (naive**power).var(axis=0)) / RUNS)
        difference = np.abs((fast**power).mean(axis=0) - (naive**power).mean(axis=0))
        assert (difference <= 4.5 * error + 1e-9).all(), (difference / error, fast.mean(axis=0), naive.mean(axis=0))
