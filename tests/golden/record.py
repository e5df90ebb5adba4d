"""Choices that must not change: what every policy does in studies and live, bit for bit, as recorded once.

A change of the engine, of the loop that plays or of the journal must leave all of it as it is. Where a policy itself
is changed on purpose, record again: ``python -m tests.golden.record`` (and say why in the commit).
"""

import tempfile
from pathlib import Path

import numpy as np

import rankone
from rankone.numerics.seeds import generator
from tests.levels import col_of, row_of
from tests.own_policies import own_policies

FILE = Path(__file__).parent / "choices.npz"
VARIANTS = ("kl-ucb:c=3", "osub:c=3", "rank1elim-kl:c=0", "uts:gamma=5")
PROBLEMS = {
    "needle": rankone.needle(32, 32),
    "smooth": rankone.RankOne([0.9, 0.8, 0.65, 0.5, 0.1], [0.3, 0.7, 0.6, 0.68, 0.2, 0.05, 0.4]),
    "rare": rankone.RankOne([0.08, 0.1, 0.05, 0.1], [0.3, 0.25, 0.2]),
    "ties": rankone.RankOne([0.0, 1.0, 1.0, 0.5], [0.9, 0.9, 0.0]),
}
FEEDBACKS = ("immediate", "delay:mean=40+batch:size=16")
HORIZON, CHECKPOINTS, RUNS = 20_000, 12, 2
DECISIONS = 2_000


def labels() -> list[str]:
    """The policies on pairs of the package and some of their variants."""
    return own_policies() + list(VARIANTS)


def regrets(label: str, feedback: str) -> np.ndarray:
    """Regret of a policy at each checkpoint, (problems, runs, checkpoints)."""
    study = rankone.simulate(
        [rankone.RankOne(found.rows, found.cols, name=name) for name, found in PROBLEMS.items()],
        label, HORIZON, runs=RUNS, seed=5, workers=1, checkpoints=CHECKPOINTS, feedback=feedback,
    )  # fmt: skip
    runs = {(run.problem, run.run): run.regret for run in study.runs}
    return np.array([[runs[name, run] for run in range(RUNS)] for name in PROBLEMS])


def live_label(label: str) -> str:
    """The policy as a live experiment takes it: what a study fills in has to be said."""
    needed = {
        "best": "levels=1x2",
        "rank1elim": "horizon=9000",
        "rank1elim-kl": "horizon=9000",
        "ucb1-elim": "horizon=9000",
    }
    name, _, given = label.partition(":")
    settings = ",".join(filter(None, (given, needed.get(name, ""))))
    return f"{name}:{settings}" if settings else name


def live_choices(label: str) -> np.ndarray:
    """Row and column of the first decisions of a live experiment, (decisions, 2), with late, missing and void outcomes,
    batches, a row that comes and a column that goes."""
    rng, rates = generator(11, "golden"), np.outer([0.9, 0.5, 0.3, 0.8, 0.7], [0.6, 0.7, 0.2, 0.4])
    found, waiting = [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        rankone.Experiment(
            "golden", rows=["a", "b", "c", "d"], cols=["1", "2", "3", "4"], policy=live_label(label),
            db=f"{folder}/golden.db", seed=3, durability="off", explore=0,
        ) as experiment,
    ):  # fmt: skip
        while len(found) < DECISIONS:
            if len(found) == 1_000:
                experiment.add_level("row", "e")
            if len(found) == 1_500:
                experiment.retire_level("col", "4")
            decisions = experiment.ask(10)
            found += [(row_of(decision), col_of(decision)) for decision in decisions]
            waiting += decisions
            rng.shuffle(waiting)
            told = [waiting.pop() for _ in range(max(0, len(waiting) - 25))]
            for decision in told[:1]:
                experiment.void(decision)
            experiment.tell_many((made, bool(rng.random() < rates[row_of(made), col_of(made)])) for made in told[1:])
    return np.array(found, np.uint8)


def record() -> dict[str, np.ndarray]:
    """Everything, by name."""
    found = {}
    for label in labels():
        found[f"live {label}"] = live_choices(label)
        for feedback in FEEDBACKS:
            found[f"{feedback} {label}"] = regrets(label, feedback)
    return found


if __name__ == "__main__":
    np.savez_compressed(FILE, **record())
