"""Outcomes by what is known of visitors: on these a policy that looks at features starts afresh, era by era.

Numbers are kept in few steps, so visitors come twice. Of the first `_MOST` kinds of visitor with a combination counts
are kept; what comes later is learned by the policy when it comes, and after a new start counts as a visitor of whom
nothing is known.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rankone.live.journal.events import Events, Kind
from rankone.live.visitor_attributes import Declaration, features_of
from rankone.numerics.arrays import Ints
from rankone.policies.advance import PREPARE, RECALL, Stretch

_MOST = 4_096  # as many as the policy tells apart


class Open(NamedTuple):
    """A decision that waits for its outcome."""

    tag: int
    at: int
    secret: bytes
    shown: bytes  # the level of each factor that there was
    token: str | None = None  # that asked
    cross: bytes | None = None  # the probabilities of its cross
    context: str | None = None  # what was said of the visitor, where the policy looks at features; of a list, what
    # its request restricted
    segment: int = -1  # of the visitor, see `rankone.live.evidence.segments`; -1: nobody said; of a list, the version
    # of the lottery it was drawn from


def features_of_each(events: Events, open: Mapping[int, Open], declared: Declaration) -> list[tuple[float, ...]]:
    """Return the features of the visitor of each event; `open` are the decisions that were open before."""
    asked, result = dict[int, str | None](), []
    for (_, kind, _, decision, _, _), texts in zip(events.heads, events.texts, strict=True):
        if kind == Kind.ASK:
            asked[decision] = texts.context
        opened = open.get(decision)
        result.append(features_of(asked.get(decision) if opened is None else opened.context, declared))
    return result


class FeatureCounts:
    """Outcomes and clicks of each combination shown to each kind of visitor, in the order they came."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str, tuple[int, ...]], list[int]] = {}

    def count(self, context: str | None, shown: tuple[int, ...], clicked: int) -> None:
        """Count an outcome."""
        if context is not None:
            cell = self._cells.get((context, shown))
            if cell is None and len(self._cells) < _MOST:
                cell = self._cells[context, shown] = [0, 0]
            if cell is not None:
                cell[0] += 1
                cell[1] += clicked

    def forget(self) -> None:
        """Begin to count anew."""
        self._cells = {}

    def facts(self) -> list[Any]:
        """Return all that is counted as plain values."""
        return [[*key, *cell] for key, cell in self._cells.items()]

    def restore(self, facts: list[Any]) -> None:
        """Go on from what `facts` returned."""
        self._cells = {(text, tuple(shown)): [pulls, clicks] for text, shown, pulls, clicks in facts}

    def known(self, pulls: Ints, clicks: Ints, places: Sequence[Sequence[int]], declared: Declaration) -> Stretch:
        """Return the events that feed what is known to a policy that has just started.

        Args:
            pulls: all outcomes of each combination of living levels; `clicks` the same.
            places: the place of each level of each factor among the living ones; -1: retired.
            declared: the attributes of visitors.
        """
        rest: Any = np.stack([pulls, clicks])
        unknown = features_of(None, declared)
        rows: list[Any] = []
        for (text, shown), cell in self._cells.items():
            levels = (*shown, *[0] * (len(places) - len(shown)))  # a factor that came later: its first
            own = tuple(place[level] for place, level in zip(places, levels, strict=True))
            if min(own) >= 0:
                rows.append((own, *cell, features_of(text, declared)))
                rest[:, *own] -= cell
        rows += [(tuple(own), *rest[:, *own].tolist(), unknown) for own in np.argwhere(rest[0]).tolist()]
        what = np.full(1 + len(rows), RECALL)
        what[0] = PREPARE
        first = [((0,) * pulls.ndim, 0, 0, unknown)]
        shown, pulled, clicked, features = zip(*first, *rows, strict=True)
        result = Stretch.of(what, np.array(shown), np.array(pulled), np.array(clicked)[:, None])
        return result._replace(context=np.array(features, np.float64))
