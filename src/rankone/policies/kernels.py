"""The kernels every policy answers to, dispatched on the type of its state.

They are written once per policy as plain functions of its state (a NamedTuple of arrays) and registered:
``@choose.register(MyState)``. Compiled code that calls `choose(state, rng)` gets the implementation of that state's
class inlined, which is what lets one compiled loop play every policy and still be cached on disk.

::

    choose(state, rng) -> (row, col, tag)       pick a pair; the tag files its outcome, however late it comes
    update(state, row, col, tag, reward)        learn an outcome; in any order
    void(state, row, col, tag)                  the decision will never have an outcome (default: nothing happens)
    settled(state) -> bool                      True when the choice can never change again (default: False)
    syncs(state) -> int                         how often outcomes were taken in (default -1: at every decision);
                                                asked after a run, from Python only

A negative tag marks a filler: a decision whose outcome the policy does not learn from.

These kernels are inlined into the loop that plays and count no references to the state's arrays, so they cannot make
arrays: keep scratch space in the state, or call a helper declared with `rankone.numerics.compiled.kernel`.
"""

from __future__ import annotations

from typing import Any

from rankone.numerics.dispatch import dispatched, optional

FILLER = -1


@dispatched
def choose(state: Any, rng: Any) -> tuple[int, int, int]:
    """Pick a pair."""
    raise NotImplementedError


@dispatched
def update(state: Any, row: int, col: int, tag: int, reward: int) -> None:
    """Learn the outcome of a decision."""


@optional
def void(state: Any, row: int, col: int, tag: int) -> None:
    """Note that a decision will never have an outcome."""


@optional
def settled(state: Any) -> bool:
    """Tell whether the choice can never change again."""
    return False


@optional
def syncs(state: Any) -> int:
    """Return how often the policy has taken outcomes in so far; -1 if it does so at every decision."""
    return -1
