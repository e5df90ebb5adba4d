"""A policy that chooses for each visitor: who is in memory, what is known of them, and that all is picked up again."""

import numpy as np
import polars as pl
import pytest

import rankone
from rankone.errors import InputError, KeyReused
from rankone.live import Experiment
from rankone.live.fold.journal_reading import replay
from rankone.numerics.seeds import generator
from rankone.problems.arrivals import latent

from .helpers import known, saved

POLICIES = ["mixture-ts", "lowrank-ts:rank=2", "user-ts", "pts:particles=3,rank=2"]
ITEMS = ["a", "b", "c", "d"]


def open_one(db, policy="mixture-ts", **settings):
    return Experiment("feed", factors={"item": ITEMS}, policy=policy, db=db, durability="off", seed=3, **settings)


def visit(experiment, count, seed=0, users=30, void=0.05):
    """Let visitors come, the even ones for 'a', the odd ones for 'c'; outcomes come late, some never, some are void."""
    rng, waiting, liked = generator(seed, "visitors"), [], []
    for _ in range(count):
        user = int(rng.integers(users))
        made = experiment.ask(visitor=f"visitor {user}")
        waiting.append((made, made["item"] == ("a" if user % 2 == 0 else "c")))
        liked.append(waiting[-1][1])
        while len(waiting) > 6:
            made, fits = waiting.pop(int(rng.random() * len(waiting)))
            if rng.random() < void:
                experiment.void(made)
            else:
                experiment.tell(made, bool(rng.random() < (0.8 if fits else 0.2)))
    for made, _ in waiting:
        experiment.tell(made, False)
    return liked


@pytest.mark.parametrize("policy", POLICIES)
def test_journal_and_snapshots_give_the_same_bits(db, policy, monkeypatch):
    """With levels that come and go, and fewer visitors in memory than come."""
    monkeypatch.setattr("rankone.live.commit.transactions._SNAPSHOT_EVERY", 150)
    monkeypatch.setattr("rankone.live.commit.transactions._BYTES_PER_EVENT", 10**6)
    policy = f"{policy}{',' if ':' in policy else ':'}users=70"
    with open_one(db, policy, explore=0.2) as experiment:
        visit(experiment, 300, users=90)
        before, number = saved(experiment), experiment._cached.number
        assert known(replay(experiment.database.transactions.storage, number)) == before
    with open_one(db, policy) as experiment:  # from a snapshot
        assert saved(experiment) == before
        experiment.add_level("item", "e")
        visit(experiment, 60, seed=1)
        experiment.retire_level("item", "b")
        experiment.add_factor("size", ["small", "large"])
        visit(experiment, 60, seed=2)
        after = saved(experiment)
        assert known(replay(experiment.database.transactions.storage, number)) == after
    with Experiment("feed", db=db) as experiment:
        assert saved(experiment) == after


@pytest.mark.parametrize("policy", ["mixture-ts", "lowrank-ts"])
def test_each_visitor_gets_what_suits(db, policy):
    with open_one(db, policy) as experiment:
        visit(experiment, 700)
        assert np.mean(visit(experiment, 300, seed=1)) > 0.7  # at random 0.25, one item for all 0.5


@pytest.mark.parametrize("policy", ["mixture-ts", "lowrank-ts"])
def test_what_is_known_of_visitors_outlasts_a_new_level(db, policy):
    with open_one(db, policy) as experiment:
        visit(experiment, 900)
        experiment.add_level("item", "e")
        assert np.mean(visit(experiment, 200, seed=1)) > 0.6


def counts_of(experiment):
    return experiment.look(lambda fold: fold.visitors.counts[:, : fold.visitors.users].copy())


def test_what_visitors_did_is_counted_and_whoever_leaves_joins_the_forgotten(db):
    with open_one(db, "mixture-ts:users=8") as experiment:
        for number in range(40):
            made = experiment.ask(visitor=f"visitor {number % 20}")
            experiment.tell(made, number % 3 == 0)
        counts = counts_of(experiment)
        assert counts.shape[1] == 8  # seven, and the forgotten
        total = experiment.look(lambda fold: np.stack([fold.pulls, fold.clicks]))
        assert (counts.sum(axis=1) == total).all()
        assert (counts[0, 1:].sum(axis=1) == 1).all()  # their second visit; the first was forgotten
        experiment.ask(visitor="visitor 19")  # takes in what waits
        pulls = experiment.look(lambda fold: fold.state.pulls[:8].copy())
        assert (pulls == counts[0]).all()  # the policy forgets the same


def test_nobody_with_an_open_decision_is_forgotten(db):
    with open_one(db, "mixture-ts:users=3") as experiment:
        opened = [experiment.ask(visitor=f"visitor {number}") for number in range(10)]
        assert counts_of(experiment).shape[1] == 11
        for made in opened:
            experiment.tell(made, True)
        assert (counts_of(experiment)[0, 1:].sum(axis=1) == 1).all()
        experiment.ask(visitor="another")
        counts = counts_of(experiment)
        assert counts.shape[1] == 11
        assert counts[0, 0].sum() == 1


def test_a_visitor_is_asked_for_and_gets_a_new_choice_each_time(db):
    with open_one(db) as experiment:
        with pytest.raises(InputError, match="a visitor"):
            experiment.ask()
        first, again = experiment.ask(visitor="ann"), experiment.ask(visitor="ann")
        assert first.id != again.id
        once = experiment.ask(visitor="ann", key="one")
        assert experiment.ask(visitor="ann", key="one").id == once.id
        with pytest.raises(KeyReused, match="visitor"):
            experiment.ask(visitor="bob", key="one")
        assert experiment.track("ann", "click").status == "learned"
        assert experiment.look(lambda fold: once.number not in fold.open and first.number in fold.open)
        assert experiment.track("nobody", "click").status == "unmatched"
        experiment.stop({"item": "b"})
        assert experiment.ask(visitor="ann")["item"] == experiment.ask()["item"] == "b"


def test_elsewhere_a_visitor_and_a_key_are_too_much(db):
    with (
        Experiment("plain", rows=["A", "B"], cols=["1"], db=db) as experiment,
        pytest.raises(InputError, match="a key or a visitor"),
    ):
        experiment.ask(visitor="ann", key="one")


def test_statements_rest_on_what_was_drawn_at_random(db):
    """Each of two items is liked by half of the visitors; chosen for them, both seem to be clicked far more often."""
    with open_one(db, "mixture-ts", explore=0.3) as experiment:
        visit(experiment, 1_500, void=0.0)
        report = experiment.report()
        random = experiment.look(lambda fold: fold.explored.copy())
        assert report.drawn == random[0].sum()
        assert 300 < report.drawn < 600
        rates = {level.name: level.rate for level in report.factors[0].levels}
        raw = {level.name: level.clicks / level.outcomes for level in report.factors[0].levels}
        for item in ("a", "c"):
            assert raw[item] > 0.6
            error = np.sqrt(0.25 / random[0, ITEMS.index(item)])
            assert rates[item] is None or abs(rates[item] - 0.5) < 4.0 * error
        assert report.headline.startswith("For all visitors together")
        assert "mix of visitors" in report.assumes
        assert "Nothing is claimed of any one visitor" in report.details
        assert type(report).of_dict(report.to_dict()) == report


def test_past_counts_are_of_nobody_in_particular(db):
    table = pl.DataFrame({"item": ITEMS, "shown": [900] * 4, "clicked": [90, 90, 600, 90]})
    with open_one(db, "mixture-ts", prior={"counts": table}, explore=0) as experiment:
        shown = [experiment.ask(visitor=f"visitor {number}")["item"] for number in range(40)]
        assert shown.count("c") > 10  # one class of visitors of eight is known, and that is theirs


@pytest.mark.parametrize("policy", ["mixture-ts", "lowrank-ts", "mts"])
def test_a_model_of_a_log_is_where_it_starts(db, policy, tmp_path):
    problem = latent(60, 4, classes=2, arrivals="uniform", seed=5)
    shown, clicked = problem.sample(20_000)
    cells = [(i, j, int(shown[i, j]), int(clicked[i, j])) for i in range(60) for j in range(4)]
    frame = pl.DataFrame(cells, schema=["user", "item", "shown", "clicked"], orient="row")
    found = rankone.personal(frame, user="user", item="item", shown="shown", clicked="clicked")
    path = tmp_path / "users.json"
    found.save(path)
    rng, earned = generator(8, "model"), {}
    for label in (f"{policy}:model={path}", "user-ts"):
        with Experiment(label[:5], factors={"item": ITEMS}, policy=label, db=db, seed=3, explore=0) as experiment:
            lost = []
            for _ in range(400):
                user = int(rng.integers(60))
                made = experiment.ask(visitor=str(user))
                item = ITEMS.index(made["item"])
                experiment.tell(made, bool(rng.random() < problem.rates[user, item]))
                lost.append(problem.rates[user].max() - problem.rates[user, item])
            earned[label] = np.mean(lost)
    assert earned[f"{policy}:model={path}"] < 0.5 * earned["user-ts"]


def test_a_policy_that_has_to_know_its_users_is_refused(db):
    for policy in ("club:users=10,features=2", "nmf-bandit:users=100"):
        with pytest.raises(InputError, match="visitors as they come"):
            Experiment("feed", factors={"item": ITEMS}, policy=policy, db=db)
