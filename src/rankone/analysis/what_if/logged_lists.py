"""Logged lists as numbers: from a table with a row per position, and a target, to `LoggedLists`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import polars as pl

from rankone.analysis.what_if.list_off_policy import LoggedLists
from rankone.analysis.what_if.list_target import ListTarget, position_probabilities, prefix_probabilities
from rankone.analysis.what_if.logged_decisions import (
    OUTCOMES,
    check_average,
    check_columns,
    check_outcomes,
    check_probabilities,
    found_column,
    number_column,
)
from rankone.errors import InputError
from rankone.numerics.arrays import Floats, Ints

# What a column of probabilities may be of, and how it may be called: the item given those above, the list down to here,
# the item at this position whatever stands above, the whole list.
KINDS = {
    "above": ("chance",),
    "beginning": ("beginning_chance", "pscore_cascade"),
    "position": ("position_chance", "pscore_item_position"),
    "list": ("list_chance", "pscore"),
}
LISTS, POSITIONS = ("list", "list_id", "slate_id", "session", "impression"), ("position", "rank")
ITEMS = ("item", "item_id", "action", "doc")
_ROUNDING = 1e-9


@dataclasses.dataclass(frozen=True)
class Columns:
    """Names of columns; None: one of the usual names."""

    list: str | None = None
    position: str | None = None
    item: str | None = None
    clicked: str | None = None
    chance: str | Mapping[str, str] | None = None


@dataclasses.dataclass(frozen=True)
class ListReading:
    """Lists that can be used, numbered and weighed, and what was found on the way."""

    logged: LoggedLists
    left_out: int  # lists
    unsupported: dict[str, float]  # by kind of weight, the share of the target that the log does not have


def read_lists(
    table: pl.DataFrame, target: ListTarget, columns: Columns, assumed: str, first_click: bool
) -> ListReading:
    """Take the lists of a table that are whole down to the length of the target."""
    names = {
        "list": columns.list or found_column(table, LISTS, "the list of a row", "list"),
        "position": columns.position or found_column(table, POSITIONS, "the position", "position"),
        "item": columns.item or found_column(table, ITEMS, "the item", "item"),
        "reward": columns.clicked or found_column(table, OUTCOMES, "the outcome", "clicked"),
    }
    kinds = {} if assumed else _chance_columns(table, columns.chance)
    check_columns(table, [*names.values(), *kinds.values()])
    rows = table.select(
        list=pl.col(names["list"]),
        item=pl.col(names["item"]).cast(pl.String),
        place=number_column(table, names["position"]),
        reward=number_column(table, names["reward"]),
        **{f"chance {kind}": number_column(table, column) for kind, column in kinds.items()},
    )
    if rows["place"].min() == 0.0:  # as the Open Bandit Pipeline counts them
        rows = rows.with_columns(pl.col("place") + 1.0)
    asked = rows["list"].n_unique()
    longer = bool((rows["place"] > target.positions).any())
    rows = _whole_lists(rows.filter(pl.col("place") <= target.positions), target.positions)
    if rows.is_empty():
        got = f"none of {asked:,} down to position {target.positions}"
        raise InputError(
            "whole lists with outcomes and probabilities", got, "check the columns, or ask for a shorter list"
        )
    check_outcomes(rows["reward"])
    items = {name: number for number, name in enumerate(rows["item"].unique().sort().to_list())}
    shape = (-1, target.positions)
    shown: Ints = rows["item"].replace_strict(items, return_dtype=pl.Int64).to_numpy().reshape(shape)
    chances = {kind: _matrix(rows, f"chance {kind}", shape) for kind in kinds if not (kind == "list" and longer)}
    if "list" in chances and np.ptp(chances["list"], axis=1).max() > _ROUNDING:
        got = f"several within a list in '{kinds['list']}'"
        raise InputError("one probability for each whole list", got, "say with chance= what the column is of")
    if kinds and not chances:
        got = "only those of whole lists, which are longer than the target's"
        raise InputError(
            f"probabilities of {target.positions} positions", got, "ask for lists as long as those of the log"
        )
    weights, unsupported = _weights(target, items, shown, _usable(chances, shown, len(items), assumed))
    reward = rows["reward"].to_numpy().reshape(shape)
    if first_click:
        if set(weights) == {"iips"}:
            got = "only those of items at their positions"
            raise InputError(
                "probabilities of lists, or of their beginnings, as of='any' needs", got, "ask for of='clicks'"
            )
        reward = np.where(np.cumsum(reward > 0.0, axis=1) <= 1, reward, 0.0)
        weights.pop("iips", None)  # a first click depends on what stands above in every world
    logged = LoggedLists(shown, reward, target.numbered(items), target.probability, len(items), weights)
    return ListReading(logged, asked - len(shown), unsupported)


def _chance_columns(table: pl.DataFrame, given: str | Mapping[str, str] | None) -> dict[str, str]:
    if given is not None:
        found = {"above": given} if isinstance(given, str) else dict(given)
        if wrong := set(found) - set(KINDS):
            raise InputError(f"probabilities of {', '.join(KINDS)}", ", ".join(wrong), "name one of these")
        return found
    known = {kind: next((name for name in names if name in table.columns), None) for kind, names in KINDS.items()}
    found = {kind: name for kind, name in known.items() if name is not None}
    if not found:
        got = f"the columns {', '.join(table.columns)}"
        raise InputError(
            "a column of probabilities, such as 'chance'", got, "name it with chance, or say uniform or estimated"
        )
    return found


def _whole_lists(rows: pl.DataFrame, positions: int) -> pl.DataFrame:
    """Keep lists with every position once and nothing missing, their rows together and from the top down."""
    rows = rows.drop_nulls()
    if rows.is_empty():
        return rows
    place = rows["place"].to_numpy()
    runs = rows["list"].rle_id().to_numpy()
    in_order = bool(((np.diff(place) > 0.0) | (np.diff(runs) > 0)).all())
    if not in_order or int(runs[-1]) + 1 != rows["list"].n_unique():
        rows = rows.sort("list", "place", maintain_order=True)
        place, runs = rows["place"].to_numpy(), rows["list"].rle_id().to_numpy()
    sizes = np.bincount(runs)
    kept = (sizes == positions)[runs]
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])[runs]
    wrong = np.unique(runs[kept & (place != np.arange(len(runs)) - first + 1.0)])
    kept &= ~np.isin(runs, wrong)
    return rows if kept.all() else rows.filter(kept)


def _matrix(rows: pl.DataFrame, column: str, shape: tuple[int, int]) -> Floats:
    check_probabilities(rows[column])
    found: Floats = rows[column].to_numpy().reshape(shape)
    return found


def _usable(chances: dict[str, Floats], shown: Ints, n_items: int, assumed: str) -> dict[str, Floats]:
    """Return the probabilities of whole lists, of beginnings and of items at positions, as far as they follow."""
    positions = shown.shape[1]
    if assumed == "uniform":
        if positions > n_items:
            raise InputError(f"a list of at most {n_items} items", positions, "name items of the log")
        chances = {
            "above": 1.0 / (n_items - np.arange(positions, dtype=float))[None],
            "position": np.full((1, positions), 1.0 / n_items),
        }
    elif assumed:
        chances = _shares(shown, n_items)
    found = {}
    if positions == 1:
        only = next(iter(chances.values()))
        return {"sips": only, "rips": only, "iips": only}
    beginning: Floats | None = chances.get("beginning")
    if beginning is None and "above" in chances:
        beginning = np.asarray(np.cumprod(chances["above"], axis=1), np.float64)
    if "list" in chances:
        found["sips"] = chances["list"][:, :1]
    elif beginning is not None:
        found["sips"] = beginning[:, -1:]
    if beginning is not None:
        found["rips"] = beginning
    if "position" in chances:
        found["iips"] = chances["position"]
    return found


def _shares(shown: Ints, n_items: int) -> dict[str, Floats]:
    """Return how often each beginning, and each item at its position, is in the log."""
    begun, placed = np.empty(shown.shape), np.empty(shown.shape)
    at = np.zeros(len(shown), np.int64)
    for place in range(shown.shape[1]):
        at = np.unique(at * n_items + shown[:, place], return_inverse=True)[1]
        begun[:, place] = np.bincount(at)[at]
        placed[:, place] = np.bincount(shown[:, place])[shown[:, place]]
    return {"beginning": begun / len(shown), "position": placed / len(shown)}


def _weights(
    target: ListTarget, items: Mapping[str, int], shown: Ints, chances: dict[str, Floats]
) -> tuple[dict[str, Floats], dict[str, float]]:
    """Divide the target's probabilities by the log's; also the share of the target that the log does not have."""
    lists = target.numbered(items)
    beginnings, unseen = prefix_probabilities(lists, target.probability, shown)
    weights, unsupported = {}, {}
    for kind, chance in chances.items():
        if kind == "iips":
            wanted, missing = position_probabilities(lists, target.probability, shown)
        else:
            wanted, missing = (beginnings[:, -1:], unseen[-1:]) if kind == "sips" else (beginnings, unseen)
        weights[kind] = wanted / chance
        unsupported[kind] = round(float(missing.mean()), 9)
        for place in range(wanted.shape[1]):
            check_average(weights[kind][:, place], 1.0 - float(missing[place]), kind)
    return weights, unsupported
