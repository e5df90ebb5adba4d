"""Kernels give the same bits as plain Python and compiled: whole journals and reports, whichever policy plays."""

import contextlib
import json

import numpy as np
import pytest

from rankone import Experiment
from rankone.compiling import tiers
from rankone.compiling.tiers import tiered
from rankone.live.journal.events import COLUMNS
from rankone.live.operate.archive import whole_journal
from rankone.numerics.seeds import generator
from tests.golden.record import live_label
from tests.own_policies import own_policies

CHANCE = [COLUMNS.index(name) for name in ("secret", "at", "chain")]  # differ between any two experiments


@pytest.fixture(autouse=True)
def _fresh():
    yield
    tiered.cache_clear()


def play(how, monkeypatch, factors, policy, visits=60, segments=False, **settings):
    """Play an experiment in one tier, with late outcomes and a level that comes; return its journal and its report."""
    monkeypatch.setenv("RANKONE_COMPILE", how)
    tiered.cache_clear()
    rng, waiting = generator(1, "tiers"), []
    with Experiment("tiers", factors=factors, policy=policy, db=None, seed=3, **settings) as experiment:
        for visit in range(visits):
            if visit == visits // 2:
                experiment.add_level(next(iter(factors)), "new")
            waiting += experiment.ask(1 + visit % 3, context={"device": f"{visit % 2}"} if segments else None)
            rng.shuffle(waiting)
            while len(waiting) > 4:
                decision = waiting.pop()
                experiment.tell(
                    decision.id, bool(rng.random() < 0.1 + 0.2 * sum(n in "ax" for n in decision.levels.values()))
                )
        with experiment.database.reader() as storage:
            rows = whole_journal(storage, 1, None).tail(1, 0, 10**9)
        report = experiment.report().to_dict()
    return [[value for at, value in enumerate(row) if at not in CHANCE] for row in rows], json.dumps(
        report, default=str
    )


PAIRS = {"row": ["a", "b", "c"], "col": ["x", "y", "z"]}


@pytest.mark.parametrize("policy", own_policies())
def test_every_policy_writes_the_same_journal(policy, monkeypatch):
    label = live_label(policy) if policy != "glr-kl-ucb" else "glr-kl-ucb:horizon=9000"
    plain, compiled = (play(how, monkeypatch, PAIRS, label)[0] for how in ("never", "first"))
    assert plain == compiled


@pytest.mark.parametrize(
    ("factors", "settings"),
    [
        (PAIRS, {"aim": "both", "segments": True}),
        ({"one": ["a", "b"], "two": ["x", "y"], "three": ["a", "y", "z"]}, {"aim": "decide"}),
    ],
)
def test_evidence_is_the_same(factors, settings, monkeypatch):
    assert (
        play("never", monkeypatch, factors, "uts", 150, **settings)[0]
        == play("first", monkeypatch, factors, "uts", 150, **settings)[0]
    )


def test_a_switch_in_mid_run_and_a_restart(monkeypatch, tmp_path):
    """Each event may run in another tier; the journal folds again in either."""
    monkeypatch.setenv("RANKONE_COMPILE", "never")
    tiered.cache_clear()
    with Experiment("shop", ["a", "b"], ["x", "y"], "uts", tmp_path / "shop.db", seed=1) as experiment:
        for visit in range(40):
            with tiers.compiling_first() if visit % 3 else contextlib.nullcontext():
                experiment.tell(experiment.ask().id, visit % 4 == 0)
        state = experiment.look(lambda fold: [np.array(part) for part in fold.state])
    for how in ("never", "first"):
        monkeypatch.setenv("RANKONE_COMPILE", how)
        tiered.cache_clear()
        with Experiment("shop", db=tmp_path / "shop.db") as experiment:
            again = experiment.look(lambda fold: [np.array(part) for part in fold.state])
            assert all(np.array_equal(one, other) for one, other in zip(state, again, strict=True))
