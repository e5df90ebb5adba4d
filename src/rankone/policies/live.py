"""What a live experiment needs of a policy beyond a study: one compiled step over a stretch of its journal, and a fresh
start on what is already known when rows or columns come and go.

`advance` is the only way a live policy moves. Asked live, it fills in the pairs it chooses; reading a journal, it
chooses again and compares. So a restart repeats history bit for bit, or says where it differs.

A restart begins with `policy.start` and then feeds back what is known::

    prepare(state, rng)                         lay the state out, where the first `choose` would (default: nothing)
    recall(state, row, col, pulls, clicks)      outcomes of a pair known from before (default: `update` with tag 0)
    defeats(state, n_lines) -> lines            for each line the line that eliminated it, or itself (default: itself)
    adopt(state, defeated_by)                   start with these lines eliminated (only where `defeats` is registered)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankone.numerics.dispatch import optional
from rankone.policies.kernels import choose, update, void

Ints = npt.NDArray[np.int64]

# What one event of a journal means to the policy.
ASK, LEARN, VOID, PREPARE, RECALL, NOTHING = range(6)


@optional
def prepare(state: Any, rng: Any) -> None:
    """Make a state that has just started ready to recall outcomes."""


@optional
def recall(state: Any, row: int, col: int, pulls: int, clicks: int) -> None:
    """Take in outcomes of a pair that are known from before the policy (re)started."""
    for place in range(pulls):
        update(state, row, col, 0, 1 if place < clicks else 0)


@optional
def defeats(state: Any, n_lines: int) -> Ints:
    """Return for each line the line that eliminated it; a line still in the race points at itself."""
    return np.arange(n_lines)


@optional
def adopt(state: Any, defeated_by: Ints) -> None:
    """Start with the eliminations of an earlier state; policies that eliminate no lines ignore it."""


def advance(state: Any, rng: Any, what: Ints, rows: Ints, cols: Ints, tags: Ints, rewards: Ints) -> int:
    """Move the policy over a stretch of events; return how many it passed (fewer than all: the next choice differs).

    An event ASK with a negative row is a live one: the choice is filled in. RECALL has the pulls in place of the tag
    and the clicks in place of the reward.
    """
    for place in range(len(what)):
        if what[place] == ASK:
            row, col, tag = choose(state, rng)
            if rows[place] < 0:
                rows[place], cols[place], tags[place] = row, col, tag
            elif rows[place] != row or cols[place] != col or tags[place] != tag:
                return place
        elif what[place] == LEARN:
            update(state, rows[place], cols[place], tags[place], rewards[place])
        elif what[place] == VOID:
            void(state, rows[place], cols[place], tags[place])
        elif what[place] == PREPARE:
            prepare(state, rng)
        elif what[place] == RECALL:
            recall(state, rows[place], cols[place], tags[place], rewards[place])
    return len(what)


def known_events(pulls: Ints, clicks: Ints) -> tuple[Ints, ...]:
    """Return the stretch of events that feeds known outcomes, (K, L) arrays, to a policy that has just started."""
    rows, cols = np.nonzero(pulls)
    what = np.concatenate([[PREPARE], np.full(len(rows), RECALL)])
    return what, *(np.concatenate([[0], values]) for values in (rows, cols, pulls[rows, cols], clicks[rows, cols]))
