"""What a target of lists shows: how probable a list is, its beginning, and an item at a position."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from rankone.analysis.what_if.logged_decisions import check_target, number_column
from rankone.clicks.counts.frames import known_frame, to_polars
from rankone.errors import InputError
from rankone.numerics.arrays import Floats, Ints

_COLUMNS = ("list", "position", "item", "probability")
_EACH_ROW = (
    ("list", "a list", "name the list of every row"),
    ("position", "a position that is a number", "write 1, 2, ..."),
    ("item", "an item", "name the item of every row"),
    ("probability", "a probability that is a number", "write that of the list in all its rows"),
)
_ROUNDING = 1e-9


@dataclasses.dataclass(frozen=True)
class ListTarget:
    """Lists of equal length by the names of their items, and how probable each is."""

    lists: tuple[tuple[str, ...], ...]
    probability: Floats

    @property
    def positions(self) -> int:
        """Length of the lists."""
        return len(self.lists[0])

    def told(self) -> str:
        """Name the target in words."""
        return ", ".join(self.lists[0]) if len(self.lists) == 1 else f"{len(self.lists):,} lists with probabilities"

    def numbered(self, items: Mapping[str, int]) -> Ints:
        """Return the lists as numbers; items that are not known get numbers of their own."""
        known = dict(items)
        for name in sorted({name for each in self.lists for name in each} - set(known)):
            known[name] = len(known)
        return np.array([[known[name] for name in each] for each in self.lists], np.int64)


def read_list_target(target: Any) -> ListTarget:
    """Return a list of items, or a table with the columns list, position, item and probability, as a target.

    >>> read_list_target(["A", "B"]).told()
    'A, B'
    """
    if isinstance(target, Sequence) and not isinstance(target, str):
        found = ListTarget((tuple(str(item) for item in target),), np.ones(1))
    else:
        found = _of_table(to_polars(known_frame(target)))
    if not found.positions or any(len(set(each)) < len(each) for each in found.lists):
        raise InputError("lists of different items", found.told(), "name each item once")
    return found


def _of_table(table: pl.DataFrame) -> ListTarget:
    for name in _COLUMNS:
        if name not in table.columns:
            got = f"the columns {', '.join(table.columns)}"
            raise InputError(f"the columns {', '.join(_COLUMNS)} in the target", got, f"add {name}")
    numbers = {name: number_column(table, name) for name in ("position", "probability")}
    table = table.with_columns(**numbers)
    for name, what, do in _EACH_ROW:
        if missing := table[name].null_count():
            raise InputError(f"{what} in each row of the target", f"{missing:,} without", do)
    if table["position"].min() == 0.0:  # as the Open Bandit Pipeline counts them
        table = table.with_columns(pl.col("position") + 1.0)
    each = table.sort("position").group_by("list", maintain_order=True)
    lists = each.agg(
        pl.col("item").cast(pl.String),
        pl.col("position"),
        pl.col("probability").first(),
        apart=pl.col("probability").max() - pl.col("probability").min(),
        again=pl.col("position").is_duplicated().any(),
    )
    sizes = set(lists["item"].list.len().to_list())
    if lists["again"].any():
        raise InputError("every position once in each list of the target", "some twice", "name one item for each")
    _refuse_gaps(lists)
    for name in lists.filter(pl.col("apart") > _ROUNDING)["list"].head(1):
        told = ", ".join(f"{value:g}" for value in table.filter(list=name)["probability"].unique(maintain_order=True))
        got = f"{told} in list {name}"
        raise InputError("one probability for each list of the target", got, "write that of the list in all its rows")
    check_target(lists["probability"], "probabilities of the target's lists")
    if len(sizes) != 1:
        raise InputError("lists of one length in the target", f"lengths {sorted(sizes)}", "cut them to the shortest")
    return ListTarget(tuple(tuple(items) for items in lists["item"].to_list()), lists["probability"].to_numpy())


def _refuse_gaps(lists: pl.DataFrame) -> None:
    for name, places in lists.select("list", "position").iter_rows():
        if places != [float(place) for place in range(1, len(places) + 1)]:
            got = f"{', '.join(f'{place:g}' for place in places)} in list {name}"
            raise InputError("positions 1, 2, ... without a gap in each list of the target", got, "name every position")


def prefix_probabilities(lists: Ints, probability: Floats, shown: Ints) -> tuple[Floats, Floats]:
    """Return for each shown list and position how probable the target begins so; and the unseen share by position.

    >>> found = prefix_probabilities(np.array([[0, 1], [0, 2]]), np.array([0.25, 0.75]), np.array([[0, 2], [1, 0]]))
    >>> found[0].tolist(), found[1].tolist()
    ([[1.0, 0.75], [0.0, 0.0]], [0.0, 0.25])
    """
    size = int(max(lists.max(), shown.max(initial=0))) + 1
    own, at = np.zeros(len(lists), np.int64), np.zeros(len(shown), np.int64)  # the beginning so far; -1: none such
    found, unseen = np.zeros(shown.shape), np.zeros(lists.shape[1])
    for place in range(lists.shape[1]):
        keys, own = np.unique(own * size + lists[:, place], return_inverse=True)
        chance = np.bincount(own, probability)
        wanted = np.where(at >= 0, at * size + shown[:, place], -1)
        near = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        at = np.where(keys[near] == wanted, near, -1)
        found[:, place] = np.where(at >= 0, chance[near], 0.0)
        unseen[place] = chance[np.bincount(at[at >= 0], minlength=len(keys)) == 0].sum()
    return found, unseen


def position_probabilities(lists: Ints, probability: Floats, shown: Ints) -> tuple[Floats, Floats]:
    """Return for each shown item how probable the target shows it at that position; and the unseen share by position.

    >>> found = position_probabilities(np.array([[0, 1], [0, 2]]), np.array([0.25, 0.75]), np.array([[0, 2], [1, 0]]))
    >>> found[0].tolist(), found[1].tolist()
    ([[1.0, 0.75], [0.0, 0.0]], [0.0, 0.25])
    """
    size = int(max(lists.max(), shown.max(initial=0))) + 1
    found, unseen = np.zeros(shown.shape), np.zeros(lists.shape[1])
    for place in range(lists.shape[1]):
        chance = np.bincount(lists[:, place], probability, size)
        found[:, place] = chance[shown[:, place]]
        unseen[place] = chance[np.bincount(shown[:, place], minlength=size) == 0].sum()
    return found, unseen
