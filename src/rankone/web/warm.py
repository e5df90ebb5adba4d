"""Compile what live experiments run before somebody waits for it: one at a time decides and commits, so all would."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rankone.errors import InputError, StorageError
from rankone.numerics.compiled import compile_errors_explained, compiled
from rankone.numerics.seeds import generator
from rankone.policies import Policy, live
from rankone.serving import Database, winner
from rankone.serving.journal import of_rows
from rankone.serving.settings import DEFAULT_POLICY
from rankone.serving.unknown_policy import UnknownPolicy, policy_of

log = logging.getLogger("rankone.web")
_PATIENCE = 2.0  # seconds before it is said that something is compiled


def warm(policy: Policy) -> Callable[..., Any]:
    """Run what a live experiment runs on a state of no importance; return the compiled code, which is kept."""
    module = type(policy).__module__
    run, nothing = compiled(live.advance, module), np.zeros(0, np.int64)
    try:
        state = policy.with_horizon(1_000).for_problem(0, 0).start(2, 2)
    except InputError:  # made for another size: compiled when it is played
        return run
    with compile_errors_explained(module):
        run(state, generator(0, "warm"), nothing, nothing, nothing, nothing, nothing)
    counts = np.zeros((2, 2), np.int64)
    winner.standing(counts, counts)  # every report asks who leads
    return run


def warm_all(database: Database | None) -> None:
    """Compile for the policies of all experiments, and for the one that a new experiment has if it names none."""
    for label in sorted({DEFAULT_POLICY, *(_labels(database) if database else ())}):
        policy = policy_of(label)
        if not isinstance(policy, UnknownPolicy):
            try:
                warm(policy)
            except Exception as error:  # it is told again to whoever asks this policy; the others go on
                log.warning("compiling %s: %s", label, error)


def warm_up(db: str | Path, say: Callable[[str], None]) -> None:
    """Compile for the experiments of a database before a service says that it is ready; `say` so if it takes long."""
    late = threading.Timer(_PATIENCE, say, ["compiling the policies, the first time on this machine only ..."])
    late.start()
    try:
        with contextlib.ExitStack() as stack:
            database = None
            with contextlib.suppress(StorageError):  # a new one, or one that is away
                database = stack.enter_context(Database(db, read_only=True))
            warm_all(database)
    finally:
        late.cancel()


def _labels(database: Database) -> set[str]:
    """Return the policy that each experiment has now."""
    storage = database.transactions.storage

    def read() -> set[str]:
        found = set()
        for number in storage.names().values():
            with contextlib.suppress(ValueError, KeyError, TypeError):  # damaged; it is told when it is opened
                notes = [texts.details() for texts in of_rows(storage.marks(number)).texts]
                found.add(str([note for note in notes if "policy" in note][-1]["policy"]))
        return found

    with contextlib.suppress(StorageError):
        return database.transactions.alone(read)
    return set()
