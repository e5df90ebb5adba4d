"""Logs whose truth is known, for `benchmarks evaluation` and the tests of `rankone.evaluate`."""

from __future__ import annotations

import itertools
import tempfile

import numpy as np
import polars as pl
from scipy.stats import beta

import rankone
from rankone.live.operate.export import decisions_table
from rankone.numerics.seeds import generator

ROWS, COLS = ["A", "B", "C"], ["1", "2"]
TRUTH = rankone.RankOne([0.3, 0.22, 0.15], [0.9, 0.6])
RATES = TRUTH.means.ravel()
# Targets of two kinds: always one pair, and all alike.
TARGETS = {"best": np.eye(6)[0], "second": np.eye(6)[2], "worst": np.eye(6)[5], "uniform": np.full(6, 1 / 6)}
FLOORS = {"5%": lambda _: 0.05, "1%": lambda _: 0.01, "t^-1/2": lambda t: t**-0.5, "6/t": lambda t: min(1.0, 6 / t)}
_GRID = np.linspace(0.0, 1.0, 1_001)


def as_target(probabilities) -> pl.DataFrame:
    names = [(row, col) for row in ROWS for col in COLS]
    row, col = zip(*names, strict=True)
    return pl.DataFrame({"row": row, "col": col, "probability": probabilities})


def draws_won(shown, clicked):
    """Probability of each pair to have the largest of independent Beta draws, by summing over a grid."""
    below = beta.cdf(_GRID, (clicked + 1.0)[:, None], (shown - clicked + 1.0)[:, None])
    middle = np.maximum((below[:, 1:] + below[:, :-1]) / 2.0, 1e-300)
    won = (np.diff(below) * middle.prod(axis=0) / middle).sum(axis=1)
    return won / won.sum()


def site_factors(decisions) -> dict[str, np.ndarray]:
    """How click rates move while a log is made: the factor of each decision and pair."""
    part = np.arange(decisions)[:, None] / decisions
    pairs = np.ones((decisions, 6))
    return {
        "stays": pairs,
        "doubles halfway": pairs * np.where(part < 0.5, 1.0, 2.0),
        "doubles early": pairs * np.where(part < 0.15, 1.0, 2.0),
        "halves halfway": pairs * np.where(part < 0.5, 1.0, 0.5),
        "+30% halfway": pairs * np.where(part < 0.5, 1.0, 1.3),
        "rises by half": pairs * (1.0 + 0.5 * part),
        "only A doubles": np.where((part < 0.5) | (np.arange(6) > 1), 1.0, 2.0),
    }


def thompson_log(seed, decisions, floor, batch=50, site=None) -> pl.DataFrame:
    """Thompson sampling on pairs that learns after each batch; a share `floor(t)` is spread evenly."""
    rng = generator(seed, "thompson log")
    shown, clicked, logged = np.zeros(6), np.zeros(6), []
    for first in range(0, decisions, batch):
        share = floor(first + batch)
        chances = (1.0 - share) * draws_won(shown, clicked) + share / 6.0
        pairs = rng.choice(6, batch, p=chances)
        rates = RATES[pairs] if site is None else RATES[pairs] * site[np.arange(first, first + batch), pairs]
        clicks = rng.random(batch) < rates
        shown += np.bincount(pairs, minlength=6)
        clicked += np.bincount(pairs, clicks, minlength=6)
        logged.append((pairs, clicks, chances[pairs]))
    pairs, clicks, chances = (np.concatenate(each) for each in zip(*logged, strict=True))
    names = {"row": np.array(ROWS)[pairs // 2], "col": np.array(COLS)[pairs % 2]}
    return pl.DataFrame({**names, "clicked": clicks, "chance": chances})


def live_log(seed, decisions, policy="uts", batch=20, **settings) -> pl.DataFrame:
    """Decisions of a live experiment, as its journal has them."""
    rng = generator(seed, "live log")
    with tempfile.TemporaryDirectory() as folder, rankone.Database(f"{folder}/live.db", durability="off") as database:
        page = rankone.Experiment("page", ROWS, COLS, policy, db=database, seed=seed, **settings)
        for _ in range(decisions // batch):
            asked = page.ask(batch)
            clicks = [
                bool(rng.random() < TRUTH.means[ROWS.index(each["row"]), COLS.index(each["col"])]) for each in asked
            ]
            page.tell_many(list(zip(asked, clicks, strict=True)))
        return decisions_table(database, "page")


def list_log(seed, n_lists, world, logger) -> pl.DataFrame:
    """Lists of two out of four items, drawn by `logger` (a probability for each list), with all their probabilities."""
    rng = generator(seed, "list log")
    every, chances = list(logger), np.array(list(logger.values()))
    chosen = rng.choice(len(every), n_lists, p=chances)
    items = np.array(every)[chosen]
    attracted = rng.random(items.shape) < ATTRACTION[items]
    seen = rng.random(items.shape) < EXAMINED
    clicked = attracted & (attracted.cumsum(axis=1) == 1) if world == "cascade" else attracted & seen
    begun = np.array(
        [[sum(p for o, p in logger.items() if o[: k + 1] == each[: k + 1]) for k in (0, 1)] for each in every]
    )
    placed = np.array([[sum(p for o, p in logger.items() if o[k] == each[k]) for k in (0, 1)] for each in every])
    return pl.DataFrame(
        {
            "list": np.repeat(np.arange(n_lists), 2),
            "position": np.tile([1, 2], n_lists),
            "item": np.array(list("abcd"))[items].ravel(),
            "clicked": clicked.ravel(),
            "beginning_chance": begun[chosen].ravel(),
            "position_chance": placed[chosen].ravel(),
        }
    )


ATTRACTION, EXAMINED = np.array([0.7, 0.5, 0.3, 0.2]), np.array([0.9, 0.5])


def drawn_in_turn(scores) -> dict[tuple[int, int], float]:
    """Probability of every list of two: items drawn one by one in proportion to their scores."""
    pairs = itertools.permutations(range(len(scores)), 2)
    return {(a, b): scores[a] / sum(scores) * scores[b] / (sum(scores) - scores[a]) for a, b in pairs}


def list_value(target, world) -> float:
    """Clicks that a target earns a list."""
    second = {"cascade": lambda a: 1.0 - ATTRACTION[a], "position-based": lambda _: EXAMINED[1]}[world]
    first = {"cascade": 1.0, "position-based": EXAMINED[0]}[world]
    return float(sum(p * (first * ATTRACTION[a] + second(a) * ATTRACTION[b]) for (a, b), p in target.items()))


def as_list_target(target) -> pl.DataFrame:
    rows = [(n, k + 1, "abcd"[i], p) for n, (each, p) in enumerate(target.items()) for k, i in enumerate(each)]
    return pl.DataFrame(rows, schema=["list", "position", "item", "probability"], orient="row")
