"""Compile what live experiments run before visitors ask, who would all wait for it."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from pathlib import Path

from rankone.errors import StorageError
from rankone.serving import Database
from rankone.serving.journal import of_rows
from rankone.serving.settings import DEFAULT_POLICY
from rankone.serving.unknown_policy import UnknownPolicy, policy_of
from rankone.serving.warm import warm

log = logging.getLogger("rankone.web")
_PATIENCE = 2.0  # seconds before it is said that something is compiled


def warm_all(database: Database | None, say: Callable[[str], None] = log.info) -> None:
    """Compile for the policies of all experiments, and for the one that a new experiment has if it names none.

    `say` which one takes long.
    """
    for label in sorted({DEFAULT_POLICY, *(labels(database) if database else ())}):
        policy = policy_of(label)
        if isinstance(policy, UnknownPolicy):
            continue
        late = threading.Timer(_PATIENCE, say, [f"compiling {label} ..."])
        late.start()
        try:
            warm(policy)
        except Exception as error:  # it is told again to whoever asks this policy; the others go on
            log.warning("compiling %s: %s", label, error)
        finally:
            late.cancel()


def warm_up(db: str | Path, say: Callable[[str], None]) -> None:
    """Compile for the experiments of a database before a service says that it is ready; `say` which one takes long."""
    with contextlib.ExitStack() as stack:
        database = None
        with contextlib.suppress(StorageError):  # a new one, or one that is away
            database = stack.enter_context(Database(db, read_only=True))
        warm_all(database, say)


def labels(database: Database) -> set[str]:
    """Return the policy that each experiment has now, as far as their journals can be read."""
    storage, found = database.transactions.storage, set()
    with contextlib.suppress(StorageError):
        for rows in database.transactions.alone(lambda: [storage.marks(each) for each in storage.names().values()]):
            with contextlib.suppress(Exception):  # damaged, in whatever way; that is told when it is opened
                notes = [texts.details() for texts in of_rows(rows).texts]
                found.add(str([note for note in notes if "policy" in note][-1]["policy"]))
    return found
