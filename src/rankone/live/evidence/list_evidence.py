"""The evidence of a ranking: what clicks on lists say about its items, and whether that is proven.

Each click is weighed with the probabilities that the lottery of its list gave to every item at that position, worked
out when the click comes. An era begins it anew. Only a STEER event says that a verdict is there and exploration ends:
what was decided is never worked out again from evidence.

A fault here does not stop lists: evidence is dropped, and nothing is stated.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.tiers import tiered
from rankone.evidence.levels import Evidence
from rankone.evidence.list_chances import ListLottery
from rankone.evidence.list_lottery import list_shares
from rankone.evidence.lists import MOST_ITEMS, compare_lists, start_comparison, start_list_evidence, weigh_list
from rankone.live.evidence.weighed_outcomes import Fallible, fault_text
from rankone.live.settings import Settings
from rankone.numerics.arrays import Floats, Ints, Mask
from rankone.numerics.states import fields_of, state_of


class WeighedList(NamedTuple):
    """A list with clicks, to be weighed; items as the policy counts them."""

    lottery: ListLottery
    allowed: Mask
    pinned: Ints
    shown: Ints
    branch: int
    clicked: Sequence[int]


class ListEvidence(Fallible):
    """What clicks have shown in this era, and how lists explore from here on."""

    steering = None  # lists are drawn from lotteries

    def __init__(self, settings: Settings, n_items: int) -> None:
        self._settings = settings
        self._begin(n_items)

    def _begin(self, n_items: int) -> None:
        self.n_items = n_items
        self.fits = n_items <= MOST_ITEMS
        positions, margin = self._settings.positions or 1, self._settings.stopping.margin
        # Of each two items.
        self.in_time: Evidence = start_list_evidence(n_items if self.fits else 0, positions, margin)
        self.versus: Evidence = start_comparison()  # of the policy's own lists with the control
        self.weighed = 0  # lists of this era
        self.proven = self.renews = False  # a verdict was noted; the lottery does not know it yet

    def begin_era(self, factors: Sequence[Any], *_: Any) -> None:
        """Begin anew with these items."""
        self._begin(len(factors[0].numbers()))

    def shares(self, control: float, lists: int) -> Floats:
        """Return the shares of the branches of a new lottery."""
        self.renews = False
        aim, explore, gentle = self._settings.aim, self._settings.explore, self._settings.gentle
        return list_shares(aim, explore, control, self.proven, lists, self.n_items, gentle)

    def weigh(self, told: WeighedList) -> None:
        """Learn from a list with clicks."""
        self.weighed += 1
        if self.broken or not self.fits:
            return
        try:
            lottery, allowed, pinned, shown, branch, clicked = told
            cross = np.empty(self.n_items)
            weigh_all = tiered(weigh_list, weigh_list.__module__)
            weigh_all(self.in_time, lottery, allowed, pinned, shown, branch, np.array(clicked), cross)
            if self._settings.control is not None:
                compare_lists(self.versus, lottery.shares, branch, any(clicked))
            if not math.isfinite(self.in_time.now.sum()):
                raise FloatingPointError("evidence that is no number")
        except Exception as error:
            self.broken = fault_text(error)
            self._begin(self.n_items)

    @property
    def error(self) -> float:
        """The error rate of statements."""
        return self._settings.stopping.error

    @property
    def exploring(self) -> float:
        """The share of lists that explore now."""
        return 0.0 if self.proven else self._settings.explore

    def follow(self, details: dict[str, Any]) -> None:
        """Note what a STEER says: that there is a verdict, or a fault, or its end."""
        self.noted = details.get("fault")
        if "proven" in details:
            self.proven, self.renews = details["proven"], True

    @property
    def nbytes(self) -> int:
        """How much memory this takes."""
        return sum(array.nbytes for array in (*self.in_time, *self.versus))

    def arrays(self) -> dict[str, Any]:
        """Return what a snapshot keeps as arrays."""
        return fields_of({"in_time": self.in_time, "versus": self.versus})

    def facts(self) -> list[Any]:
        """Return what it keeps besides."""
        return [self.broken, self.noted, self.weighed, self.proven, self.renews]

    def restore(self, arrays: Mapping[str, Any], facts: list[Any]) -> None:
        """Go on from what a snapshot holds."""
        self.in_time, self.versus = (state_of(Evidence, arrays, what) for what in ("in_time", "versus"))
        self.broken, self.noted, self.weighed, self.proven, self.renews = facts

    def frozen_copy(self) -> ListEvidence:
        """Return a copy of what a report needs, which stays unchanged while the ranking goes on."""
        frozen = copy.copy(self)
        frozen.in_time, frozen.versus = copy.deepcopy((self.in_time, self.versus))
        return frozen
