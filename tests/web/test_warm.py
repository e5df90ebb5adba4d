"""Nothing is compiled when an experiment is first asked: it was before."""

from rankone import policy
from rankone.numerics.compiled import compiled
from rankone.policies import live
from rankone.serving import Experiment
from rankone.web.warm import warm


def test_a_warm_policy_compiles_nothing_more(sqlite_db):
    found = policy("ucb1")
    warm(found)
    kernel = compiled(live.advance, type(found).__module__)
    before = len(kernel.signatures)
    with Experiment("homepage", 3, 4, found, sqlite_db, durability="off") as experiment:
        experiment.tell(experiment.ask().id, True)
        experiment.add_row("new")
    assert len(kernel.signatures) == before >= 1
