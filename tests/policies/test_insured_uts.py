"""Insured UTS: what is insured, planes of two factors, and what the insurance costs and saves."""

import numpy as np
import pytest

import rankone
from rankone.compiling.compiled import compiled
from rankone.errors import InputError
from rankone.numerics.seeds import generator
from rankone.policies.engines.draw_chances import STILL, show_chance
from rankone.policies.engines.insurance import in_plane, insures_all, n_insured
from tests.oracles.chances import chance_table

SHAPE = (6, 6, 6)  # 216 combinations: planes are insured


def test_what_is_insured():
    """All, up to 200 combinations and of two factors; else what two factors can do, counted one by one."""
    assert insures_all(np.array([30, 40]))
    assert insures_all(np.array([5, 5, 8]))
    assert not insures_all(np.array(SHAPE))
    near = [sum(level != 0 for level in each) <= 2 for each in np.ndindex(*SHAPE)]
    assert n_insured(np.array(SHAPE)) == sum(near)


def test_a_plane_has_all_levels_of_two_factors():
    for one, other in ((0, 1), (0, 2), (1, 2)):
        numbers = {in_plane.py_func(np.array(SHAPE), 100, one, other, place) for place in range(36)}
        own = np.unravel_index(100, SHAPE)
        held = ({0, 1, 2} - {one, other}).pop()
        assert numbers == {
            int(np.ravel_multi_index(each, SHAPE)) for each in np.ndindex(*SHAPE) if each[held] == own[held]
        }


def test_planes_as_often_as_it_says():
    """From one state again and again. Bernstein bound of e^-18 a combination."""
    agent, rng = rankone.as_policy("insured-uts:share=1").agent(*SHAPE, seed=1), generator(2, "planes")
    rates = np.full(SHAPE, 0.2)
    rates[2, 3, 1] = 0.9
    for _ in range(400):
        decision = agent.ask()
        agent.tell(decision, bool(rng.random() < rates[decision.shown]))
    before, shown, count = agent.state, np.zeros(SHAPE), 500
    for _ in range(count):
        agent.state = type(before)(*(array.copy() for array in before))
        shown[agent.ask().shown] += 1
    table = chance_table(agent)
    assert (np.abs(shown - count * table) <= 6.0 * np.sqrt(count * table * (1.0 - table)) + 12.0).all()


def regret(spec, policy, runs=12, horizon=10_000):
    study = rankone.simulate(spec, policy, horizon=horizon, runs=runs, workers=1)
    return study.summary()["regret_mean"][0]


def test_it_finds_what_uts_never_tries():
    """A tenth of the regret of UTS where one pair is off, and less than that of flat Thompson sampling elsewhere."""
    insured = regret("exception:8x8", "insured-uts")
    assert insured < 0.2 * regret("exception:8x8", "uts")
    assert insured < 1.2 * regret("exception:8x8", "thompson")
    on_product = regret("needle:8x8", "insured-uts")
    assert on_product < 0.7 * regret("needle:8x8", "thompson")
    assert on_product < 2.0 * regret("needle:8x8", "uts")  # 1.6 at 50,000 decisions, with 60 runs: see the page


def test_what_is_ruled_out_is_passed_over_and_comes_back():
    shows = compiled(_shows, __name__)
    assert shows(0, 0, 0.5, 100) == shows(2, 0, 0.9, 100) == 1.0  # too few outcomes
    assert shows(3, 0, 0.5, 100) == STILL
    assert shows(3, 0, 0.5, 10**9) == 1.0
    assert shows(3, 2, 0.5, 100) == shows(50, 0, 0.0, 100) == 1.0  # no worse than the best; nothing was clicked
    assert shows(3, 2, 1.0, 100) == STILL


def _shows(pulls, clicks, best, step):
    return show_chance(pulls, clicks, best, step)


@pytest.mark.parametrize("share", [-0.1, float("nan"), "much", None])
def test_a_share_that_is_none(share):
    with pytest.raises(InputError, match="Expected share of at least 0, but got"):
        rankone.policies.InsuredUTS(share=share)


def test_too_many_pairs_are_refused():
    with pytest.raises(InputError, match="Expected at most 10,000,000 combinations for insured-uts"):
        rankone.as_policy("insured-uts").start(4_000, 4_000)
