"""Does the best item depend on the user? What is said holds where it does not; and what policies start from."""

import numpy as np
import polars as pl
import pytest

import rankone
from rankone.analysis.personal import personal_gain, shares_differ
from rankone.analysis.personal_fits import fit_classes, fit_vectors
from rankone.errors import InputError
from rankone.numerics.seeds import generator
from rankone.problems.arrivals import latent, mixed

FIG3 = np.array([[0.370, 0.150, 0.671], [0.750, 0.290, 0.897], [0.609, 0.475, 0.781], [0.207, 0.464, 0.9]])
RUNS = 200


def nothing_to_personalise(kind, rng):
    """Click rates where one item is best for all, and how often each was shown."""
    if kind == "rank 1":
        rates = np.outer(rng.uniform(0.2, 1.0, 150), rng.uniform(0.05, 0.3, 6))
    elif kind == "ties":
        rates = np.full((200, 5), 0.05)
    elif kind == "classes with one best item":
        rates = FIG3[np.arange(100) % 4]
    else:  # what is second best depends on the class, and is nearly best
        rates = np.where(rng.random((150, 1)) < 0.5, [[0.30, 0.10, 0.295]], [[0.30, 0.295, 0.10]])
    return rates, rng.poisson(12.0, rates.shape)


@pytest.mark.parametrize("kind", ["rank 1", "ties", "classes with one best item", "near ties"])
def test_it_is_hardly_ever_said_where_one_item_is_best_for_all(kind):
    said = 0
    for run in range(RUNS):
        rng = generator(run, "nothing to personalise", kind)
        rates, shown = nothing_to_personalise(kind, rng)
        said += personal_gain(shown.astype(float), rng.binomial(shown, rates).astype(float), run).p_value <= 0.05
    assert said <= 0.05 * RUNS + 3.0 * np.sqrt(0.05 * 0.95 * RUNS)


def test_it_is_said_where_it_pays_and_by_how_much():
    problem = latent(60, 3, figure=2, arrivals="uniform")
    truth = problem.facts()["lost by one item for all"]
    for seed in range(10):
        shown, clicked = (each.astype(float) for each in problem.sample(20_000, seed))
        found = personal_gain(shown, clicked, seed)
        assert found.p_value < 0.001
        assert abs(found.gain - truth) < 4.0 * found.error


def broken_promise(kind, rng):
    """One item is best for all; items were not shown in the same shares to every user and at all times."""
    rates, users = np.array([0.30, 0.29, 0.20, 0.25]), 120
    shares = np.full((2, users, 4), 0.25)  # in both halves of the time
    moving = np.ones((2, 1))
    comes = np.ones((2, users))
    if kind == "shares by user":
        shares[:] = rng.dirichlet(np.full(4, 2.0), users)
    elif kind == "shares and rates move":
        shares[:], moving[1] = np.array([[[0.1, 0.1, 0.4, 0.4]], [[0.4, 0.4, 0.1, 0.1]]]), 0.5
    else:  # and users come at different times
        shares[:], moving[1] = np.array([[[0.1, 0.4, 0.4, 0.1]], [[0.4, 0.1, 0.1, 0.4]]]), 0.5
        comes = rng.dirichlet(np.full(2, 0.3), users).T * 2.0
    shown = rng.poisson(40.0 * comes[:, :, None] * shares)
    return shown.sum(axis=0), rng.binomial(shown, (moving * rates)[:, None, :]).sum(axis=0)


@pytest.mark.parametrize("kind", ["shares by user", "shares and rates move", "users come at different times"])
def test_where_its_promise_is_broken_it_is_noticed_or_harmless(kind):
    """Shares that differ between users are noticed; where all users have the same, one best item stays that."""
    said = 0
    for run in range(100):
        shown, clicked = broken_promise(kind, generator(run, "broken promise", kind))
        noticed = shares_differ(shown.astype(float))
        assert noticed == (kind != "shares and rates move")
        said += not noticed and personal_gain(shown.astype(float), clicked.astype(float), run).p_value <= 0.05
    assert said <= 5 + 3.0 * np.sqrt(5 * 0.95)
    cells = [(i, j, int(shown[i, j]), int(clicked[i, j])) for i, j in np.argwhere(shown)]
    frame = pl.DataFrame(cells, schema=["user", "item", "shown", "clicked"], orient="row")
    sentence = rankone.personal(frame, **COLUMNS).headline
    assert noticed == sentence.startswith("Users were shown items in different shares")
    assert len(sentence.split()) <= 25


@pytest.mark.parametrize("visits", [3, 20, 400])
def test_equal_shares_are_not_called_different(visits):
    rng = generator(visits, "equal shares")
    tables = [rng.multinomial(rng.poisson(visits), rng.dirichlet(np.full(8, 3.0)), 300) for _ in range(300)]
    assert sum(shares_differ(table.astype(float)) for table in tables) <= 1


def frame_of(problem, decisions):
    shown, clicked = problem.sample(decisions)
    cells = [(f"u{i}", f"i{j}", int(shown[i, j]), int(clicked[i, j])) for i, j in np.argwhere(shown)]
    return pl.DataFrame(cells, schema=["user", "item", "shown", "clicked"], orient="row")


COLUMNS = {"user": "user", "item": "item", "clicked": "clicked", "shown": "shown"}


def test_sentences_and_advice():
    found = rankone.personal(frame_of(latent(60, 3, figure=2), 20_000), **COLUMNS)
    assert repr(found).startswith("The best item depends on the user: personal choice earns +")
    assert found.recommended == "mixture-ts"
    found = rankone.personal(frame_of(mixed(60, 3, classes=1, seed=2), 5_000), **COLUMNS)
    assert repr(found).startswith("No sign that the best item depends on the user: show '")
    assert found.recommended == "thompson"
    assert len(found.headline.split()) <= 25
    assert found.brief == f"{found.headline}\n{found.assumes}"
    assert found.to_dict()["headline"] == found.headline
    alone = frame_of(mixed(60, 3, seed=2), 5_000).filter(item="i0")
    assert rankone.personal(alone, **COLUMNS).headline == "Nothing to compare: only 'i0' was shown."
    assert repr(rankone.personal(frame_of(mixed(20, 3, rate=0.1), 100), **COLUMNS)).startswith("Not enough data yet")


def test_any_frame_and_a_row_per_display():
    frame = frame_of(latent(30, 3, figure=2), 3_000)
    long = frame.select(pl.all().repeat_by("shown")).explode("user", "item", "shown", "clicked")
    first = pl.int_range(pl.len()).over("user", "item")
    long = long.with_columns(clicked=(first < pl.col("clicked")).cast(pl.Int64))
    one = rankone.personal(frame.to_pandas(), **COLUMNS)
    other = rankone.personal(long, user="user", item="item", clicked="clicked")
    assert np.array_equal(one.shown, other.shown)
    assert one.gain == other.gain


def test_what_is_wrong_is_named():
    frame = pl.DataFrame({"user": ["a"], "item": ["x"], "shown": [1], "clicked": [2]})
    with pytest.raises(InputError, match="2 of 1 for user a"):
        rankone.personal(frame, **COLUMNS)
    with pytest.raises(InputError, match="a column 'who'"):
        rankone.personal(frame, **COLUMNS | {"user": "who"})


def test_classes_and_vectors_are_found():
    shown, clicked = (each.astype(float) for each in latent(200, 6, classes=3, seed=1).sample(60_000))
    assert len(fit_classes(shown, clicked).members) == 3
    problem = mixed(300, 12, classes=3, seed=1)
    vectors = fit_vectors(*(each.astype(float) for each in problem.sample(200_000)))
    pooled = vectors.centre[0] + vectors.item_mean @ vectors.user_mean
    assert np.abs(pooled - problem.rates.mean(axis=0)).max() < 0.03


def test_a_model_of_a_log_is_a_better_start(tmp_path):
    """For new users of the same classes."""
    rankone.personal(frame_of(latent(200, 6, seed=3), 40_000), **COLUMNS).save(tmp_path / "users.json")
    model = f"model={tmp_path / 'users.json'}"
    both = "mixture-ts", "lowrank-ts"
    policies = [*both, *(f"{name}:{model}" for name in (*both, "mts", "icf-ucb"))]
    study = rankone.simulate("latent:300x6:seed=3,arrivals=uniform", policies, 6_000, runs=4, workers=1)
    regret = dict(study.summary().select("policy", "regret_mean").iter_rows())
    for name in both:
        assert regret[f"{name}:{model}"] < regret[name]
    assert regret[f"icf-ucb:{model}"] < regret[f"mts:{model}"] < regret["mixture-ts"]  # 20 visits a user
    with pytest.raises(InputError, match="a model of 5 items"):
        rankone.as_policy(f"mts:users=3,{model}").start(5)
    with pytest.raises(InputError, match="no such file"):
        rankone.as_policy("icf-ts:users=3,model=nofile.json").start(5)
