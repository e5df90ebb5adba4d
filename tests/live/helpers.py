"""What the tests of live experiments share."""

import contextlib
import sqlite3

import numpy as np

import rankone
from rankone.errors import RankoneError
from rankone.live import Database, Experiment
from rankone.live.fold import snapshot
from rankone.live.goals import UNITS
from rankone.live.journal import clock
from rankone.live.journal.events import COLUMNS, DECISION, KIND, TAG, VALUE, Kind
from rankone.live.journal.packing import pack_shown, unpack_shown
from rankone.numerics.seeds import generator
from tests.levels import col_of, row_of
from tests.own_policies import own_policies

POLICIES = own_policies()


def live_policy(name, horizon=400):
    """A policy by name, with everything it cannot start without."""
    policy = rankone.as_policy(name).with_horizon(horizon)
    return policy.for_problem(0, 0) if hasattr(policy, "for_problem") else policy


class Clock(clock.Clock):
    """A clock that stands still until it is moved; in microseconds."""

    def __init__(self, now=1_000_000_000):
        self.now, self._steady = now, 0

    def wall(self):
        return self.now

    def steady(self):
        return self._steady

    def pass_seconds(self, seconds):
        """Let time pass."""
        self.now += round(seconds * 1e6)
        self._steady += round(seconds * 1e6)

    def jump(self, seconds):
        """Set the machine's clock; no time passes."""
        self.now += round(seconds * 1e6)


ORDERS = {"click": {}, "order": {"kind": "amount", "cap": 10}}


def orders_of(experiment, rows=None):
    """Return what was told of orders by decision and key, and check that every count of them is the same."""
    if rows is None:
        rows = experiment.database.use(lambda storage: storage.tail(1, 0, 10**9))
    told = [row for row in rows if row[KIND] == Kind.GOAL]
    keys = [row[COLUMNS.index("key")] for row in told]
    assert len(set(keys)) == len(keys), "counted twice"
    report = experiment.report()
    (goal,) = report.goals
    for factor in goal.baseline:
        assert sum(level.total for level in goal.levels if level.factor == factor) == 2.5 * len(told)
    assert all(row[VALUE] == 2.5 * UNITS and row[TAG] == 1 for row in told)
    return {(row[DECISION], key.rpartition("\t")[2]) for row, key in zip(told, keys, strict=True)}


def at(clock):
    """The class of experiments whose time is that of a clock; None: the machine's."""
    return type("Experiment", (Experiment,), {"_clock": clock})


def start(db, policy="ucb1", n_rows=3, n_cols=2, name="homepage", clock=None, **settings):
    """Open an experiment that does not wait for the disk."""
    settings = {"seed": 7, "durability": "off"} | settings
    return at(clock)(name, rows=n_rows, cols=n_cols, policy=policy, db=db, **settings)


def damage(db, experiment):
    """Change times in the journal of one experiment, by its number, so that nobody can read it any more."""
    with Database(db) as database:
        database.transactions.storage.query(f"UPDATE rankone_journal SET at = at + 1 WHERE experiment = {experiment}")


def set_note(sqlite_db, note):
    """Put something in the place of the note with which the first experiment was made."""
    with contextlib.closing(sqlite3.connect(sqlite_db)) as connection:
        connection.execute("UPDATE rankone_journal SET note = ? WHERE experiment = 1 AND seq = 1", (note,))
        connection.commit()


class Audience:
    """Clicks with the probabilities of a rank-1 problem, tells in random order and forgets some decisions."""

    def __init__(self, rows=(0.9, 0.5, 0.3), cols=(0.8, 0.4), seed=0, void=0.05, silent=0.0):
        self.means = np.outer(rows, cols)
        self.rng = generator(seed, "audience")
        self.void, self.silent = void, silent
        self.waiting = []

    def step(self, experiment):
        """Do one thing: ask, tell or void."""
        if not self.waiting or self.rng.random() < 0.5:
            self.waiting.append(experiment.ask())
            return
        decision = self.waiting.pop(int(self.rng.random() * len(self.waiting)))
        if self.rng.random() < self.void:
            experiment.void(decision.id)
        elif self.rng.random() >= self.silent:
            experiment.tell(
                decision.id, bool(self.rng.random() < self.means[row_of(decision) % 3, col_of(decision) % 2])
            )


def known(fold):
    """Everything a fold knows, to be compared bit for bit."""
    return {
        name: (str(values.dtype), values.shape, values.tobytes()) for name, values in snapshot.contents(fold).items()
    }


def saved(experiment):
    """Everything an experiment knows, to be compared bit for bit."""
    return experiment.look(known)


def pairs(decisions):
    return [(row_of(decision), col_of(decision), decision.filler) for decision in decisions]


def with_other_col(shown):
    row, col = unpack_shown(shown)
    return pack_shown([row, 1 - col])


def error_of(function, *arguments, **keywords):
    """The error that a call raises, or None."""
    try:
        function(*arguments, **keywords)
    except RankoneError as error:
        return error
    return None
