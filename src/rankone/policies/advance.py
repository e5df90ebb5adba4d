"""How a policy moves outside of studies: one compiled step over a stretch of its journal.

Asked live, `advance` fills in what the policy chooses; reading a journal, it chooses again and compares. So a restart
repeats history bit for bit, or says where it differs. Where a live experiment steers the policy (`steering`), it also
gets the probabilities of each decision.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from rankone.compiling.tiers import tiered
from rankone.evidence.steering import steered_decide
from rankone.kernels.decision import Layout
from rankone.kernels.policy import decide, learn, prepare, relearn, set_context, settled, withdraw
from rankone.numerics.arrays import Floats, Ints

# What one event of a journal means to the policy.
ASK, LEARN, VOID, PREPARE, RECALL, NOTHING = range(6)


class Stretch(NamedTuple):
    """Events in the order they happened, one per row."""

    what: Ints  # (n,) what each event means
    shown: Ints  # (n, s) what was shown; -1 in an event ASK that is live: the choice is filled in
    tags: Ints  # (n,) tags; in an event RECALL, pulls
    outcomes: Ints  # (n, o) what was clicked; in an event RECALL, clicks
    context: Floats  # (n, c) what was known before a decision
    choice: Ints  # (s,) scratch space
    crosses: Floats  # (n, levels) room for the probabilities of decisions, their first -1 where they are not known;
    # (n, 0): nobody asks for them

    @classmethod
    def of(cls, what: Ints, shown: Ints, tags: Ints, outcomes: Ints) -> Self:
        """Return a stretch of events without context."""
        nothing = np.zeros((len(what), 0))
        return cls(what, shown, tags, outcomes, nothing, np.zeros(shown.shape[1], np.int64), nothing)

    @classmethod
    def room(cls, layout: Layout, size: int = 0) -> Self:
        """Return room for so many events of decisions laid out so."""
        shown, outcomes = np.zeros((size, layout.shown), np.int64), np.zeros((size, layout.outcome), np.int64)
        result = cls.of(np.zeros(size, np.int64), shown, np.zeros(size, np.int64), outcomes)
        return result._replace(context=np.zeros((size, layout.context)))

    def fill(self, what: Sequence[int], shown: Sequence[Any], tags: Sequence[int], clicked: Sequence[int]) -> None:
        """Write events into a room for so many."""
        self.what[:], self.shown[:], self.tags[:], self.outcomes[:, 0] = what, shown, tags, clicked

    @classmethod
    def known(cls, pulls: Ints, clicks: Ints, by_segment: bool = False) -> Self:
        """Return the events that feed known outcomes, arrays of counts, to a policy that has just started.

        `by_segment`: the first axis of the counts is the number of a segment, which is the context.
        """
        cells = np.argwhere(pulls)
        what = np.concatenate([[PREPARE], np.full(len(cells), RECALL)])
        shown = np.concatenate([np.zeros((1, pulls.ndim), np.int64), cells])
        pulled, clicked = (np.concatenate([[0], counts[tuple(cells.T)]]) for counts in (pulls, clicks))
        whose = 1 if by_segment else 0
        levels = np.ascontiguousarray(shown[:, whose:])  # another layout would be compiled for anew
        result = cls.of(what, levels, pulled, clicked[:, None])
        return result._replace(context=np.ascontiguousarray(shown[:, :whose].astype(np.float64)))


def advance(state: Any, steering: Any, rng: Any, stretch: Any) -> int:
    """Move a policy over a stretch of events; return how many passed (fewer than all: the next choice differs).

    `steering` is None where nobody steers: what only the others need is then not even compiled.
    """
    what, shown, tags, outcomes, choice = stretch.what, stretch.shown, stretch.tags, stretch.outcomes, stretch.choice
    for index in range(len(what)):
        if what[index] == ASK:
            if steering is None:
                tag = decide(state, stretch.context[index], rng, choice)
            else:
                tag = steered_decide(state, steering, stretch.context[index], rng, choice, stretch.crosses[index])
            live = shown[index, 0] < 0
            if live:
                tags[index] = tag
            same = tags[index] == tag
            for part in range(len(choice)):
                if live:
                    shown[index, part] = choice[part]
                same &= shown[index, part] == choice[part]
            if not same:
                return index
        elif what[index] == LEARN:
            learn(state, shown[index], tags[index], outcomes[index])
        elif what[index] == VOID:
            withdraw(state, shown[index], tags[index])
        elif what[index] == PREPARE:
            prepare(state, rng)
        elif what[index] == RECALL:
            set_context(state, stretch.context[index])
            relearn(state, shown[index], tags[index], outcomes[index, 0])
    return len(what)


def is_settled(state: Any) -> bool:
    """Tell whether a policy's choice can never change again; from Python, where kernels of a step cannot be called.

    Nothing is compiled for a policy that never says so.
    """
    return settled.has(type(state)) and bool(tiered(_is_settled, type(state).__module__)(state))


def _is_settled(state: Any) -> bool:
    return settled(state)
