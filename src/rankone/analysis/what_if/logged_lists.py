"""Logged lists as numbers: from a table with a row per position, and a target, to `LoggedLists`."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from rankone.analysis.what_if import logged_decisions as reading
from rankone.analysis.what_if.list_off_policy import LoggedLists
from rankone.clicks.counts.counts import check_columns
from rankone.clicks.counts.frames import known_frame, to_polars
from rankone.errors import InputError
from rankone.numerics.arrays import Floats, Ints, starts_of

# What a column of probabilities may be of, and how it may be called: the item given those above, the list down to here,
# the item at this position whatever stands above, the whole list.
KINDS = {
    "above": ("chance",),
    "beginning": ("beginning_chance", "pscore_cascade"),
    "position": ("position_chance", "pscore_item_position"),
    "list": ("list_chance", "pscore"),
}
# The other columns by the arguments that name them: what they may be called, and what each is.
_COLUMNS = {
    "list": (("list", "list_id", "slate_id", "session", "impression"), "the list of a row"),
    "position": (("position", "rank"), "the position"),
    "item": (("item", "item_id", "action", "doc"), "the item"),
    "clicked": (reading.OUTCOMES, "the outcome"),
}
# The columns of a target: what each row must have, and what to do where one has none.
_TARGET = {
    "list": ("a list", "name the list of every row"),
    "position": ("a position that is a number", "write 1, 2, ..."),
    "item": ("an item", "name the item of every row"),
    "probability": ("a probability that is a number", "write the probability of the list in all its rows"),
}
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

    @property
    def text(self) -> str:
        """The target in words."""
        return ", ".join(self.lists[0]) if len(self.lists) == 1 else f"{len(self.lists):,} lists with probabilities"

    def numbered(self, items: Mapping[str, int]) -> Ints:
        """Return the lists as numbers; items that are not known get numbers of their own."""
        unknown = sorted({name for each in self.lists for name in each} - set(items))
        known = {**items, **{name: len(items) + index for index, name in enumerate(unknown)}}
        return np.array([[known[name] for name in each] for each in self.lists], np.int64)


def read_list_target(target: Any) -> ListTarget:
    """Return a list of items, or a table with the columns list, position, item and probability, as a target.

    >>> read_list_target(["A", "B"]).text
    'A, B'
    """
    if isinstance(target, Sequence) and not isinstance(target, str):
        result = ListTarget((tuple(str(item) for item in target),), np.ones(1))
    else:
        result = _of_table(to_polars(known_frame(target)))
    if not result.positions or any(len(set(each)) < len(each) for each in result.lists):
        raise InputError("lists of different items", result.text, "name each item once")
    return result


def _of_table(table: pl.DataFrame) -> ListTarget:
    for name in _TARGET:
        if name not in table.columns:
            got = f"the columns {', '.join(table.columns)}"
            raise InputError(f"the columns {', '.join(_TARGET)} in the target", got, f"add {name}")
    table = table.with_columns(**{name: reading.number_column(table, name) for name in ("position", "probability")})
    for name, (what, do) in _TARGET.items():
        if missing := table[name].null_count():
            raise InputError(f"{what} in each row of the target", f"{missing:,} without", do)
    each = _from_one(table, "position").sort("position").group_by("list", maintain_order=True)
    lists = each.agg(pl.col("item").cast(pl.String), "position", "probability")
    for name, _, positions, probabilities in lists.iter_rows():
        if positions != list(range(1, len(positions) + 1)):
            got = f"{', '.join(f'{position:g}' for position in positions)} in list {name}"
            raise InputError("positions 1, 2, ..., each once, in each list of the target", got, "name an item for each")
        if max(probabilities) - min(probabilities) > _ROUNDING:
            got = f"{', '.join(f'{value:g}' for value in dict.fromkeys(probabilities))} in list {name}"
            raise InputError("one probability for each list of the target", got, _TARGET["probability"][1])
    chances = lists["probability"].list.first()
    reading.check_target(chances, "probabilities of the target's lists")
    sizes = set(lists["item"].list.len().to_list())
    if len(sizes) != 1:
        raise InputError("lists of one length in the target", f"lengths {sorted(sizes)}", "cut them to the shortest")
    return ListTarget(tuple(map(tuple, lists["item"].to_list())), chances.to_numpy())


def _from_one(table: pl.DataFrame, column: str) -> pl.DataFrame:
    """Count positions from 1; the Open Bandit Pipeline counts them from 0."""
    return table.with_columns(pl.col(column) + 1.0) if table[column].min() == 0.0 else table


def probabilities_of(lists: Ints, probability: Floats, shown: Ints, above: bool) -> tuple[Floats, Floats]:
    """Return for each shown list and position how probable the target shows the same, and the unseen share by position.

    The same item at the position; if what stands `above` counts, the same beginning of the list.

    >>> lists, shown = np.array([[0, 1], [0, 2]]), np.array([[0, 2], [1, 0]])
    >>> found = probabilities_of(lists, np.array([0.25, 0.75]), shown, above=True)
    >>> found[0].tolist(), found[1].tolist()
    ([[1.0, 0.75], [0.0, 0.0]], [0.0, 0.25])
    """
    size = int(max(lists.max(), shown.max(initial=0))) + 1
    own, at = np.zeros(len(lists), np.int64), np.zeros(len(shown), np.int64)  # the beginning so far; -1: none such
    result, unseen = np.zeros(shown.shape), np.zeros(lists.shape[1])
    for position in range(lists.shape[1]):
        if not above:
            own, at = np.zeros_like(own), np.zeros_like(at)
        keys, own = np.unique(own * size + lists[:, position], return_inverse=True)
        chance = np.bincount(own, probability)
        wanted = np.where(at >= 0, at * size + shown[:, position], -1)
        near = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        at = np.where(keys[near] == wanted, near, -1)
        result[:, position] = np.where(at >= 0, chance[near], 0.0)
        unseen[position] = chance[np.bincount(at[at >= 0], minlength=len(keys)) == 0].sum()
    return result, unseen


class ListReading(NamedTuple):
    """Lists that can be used, numbered and weighed, and what was found on the way."""

    logged: LoggedLists
    left_out: int  # lists
    unsupported: dict[str, float]  # by kind of weight, the share of the target that the log does not have


def read_lists(
    table: pl.DataFrame,
    target: ListTarget,
    columns: Mapping[str, str | None],
    chance: str | Mapping[str, str] | None,
    assumed: str,
    first_click: bool,
) -> ListReading:
    """Take the lists of a table that are whole down to the length of the target; `columns` by argument, as named."""
    names = {
        name: columns[name] or reading.find_column(table, known, what, name) for name, (known, what) in _COLUMNS.items()
    }
    kinds = {} if assumed else _chance_columns(table, chance)
    check_columns(table.columns, [*names.values(), *kinds.values()])
    rows = table.select(
        list=pl.col(names["list"]),
        item=pl.col(names["item"]).cast(pl.String),
        position=reading.number_column(table, names["position"]),
        reward=reading.number_column(table, names["clicked"]),
        **{f"chance {kind}": reading.number_column(table, column) for kind, column in kinds.items()},
    )
    rows = _from_one(rows, "position")
    asked, longer = rows["list"].n_unique(), bool((rows["position"] > target.positions).any())
    rows = _whole_lists(rows.filter(pl.col("position") <= target.positions), target.positions)
    if rows.is_empty():
        got = f"none of {asked:,} down to position {target.positions}"
        do = "check the columns, or ask for a shorter list"
        raise InputError("whole lists with outcomes and probabilities", got, do)
    reading.check_outcomes(rows["reward"])
    items = {name: number for number, name in enumerate(rows["item"].unique().sort().to_list())}
    shape = (-1, target.positions)
    shown: Ints = rows["item"].replace_strict(items, return_dtype=pl.Int64).to_numpy().reshape(shape)
    chances = {kind: _matrix(rows, f"chance {kind}", shape) for kind in kinds if not (kind == "list" and longer)}
    if "list" in chances and np.ptp(chances["list"], axis=1).max() > _ROUNDING:
        got = f"several within a list in '{kinds['list']}'"
        raise InputError("one probability for each whole list", got, "say with chance= what the column is of")
    if kinds and not chances:
        got = "only probabilities of whole lists, which are longer than the target"
        raise InputError(f"probabilities of {target.positions} positions", got, "ask for lists as long as the log's")
    weights, unsupported = _weights(target, items, shown, _usable(chances, shown, len(items), assumed))
    reward = rows["reward"].to_numpy().reshape(shape)
    if first_click:
        if set(weights) == {"iips"}:
            expected = "probabilities of lists, or of their beginnings, as of='any' needs"
            raise InputError(expected, "only probabilities of items at their positions", "ask for of='clicks'")
        reward = np.where(np.cumsum(reward > 0.0, axis=1) <= 1, reward, 0.0)
        weights.pop("iips", None)  # a first click depends on what stands above in every world
    logged = LoggedLists(shown, reward, target.numbered(items), target.probability, len(items), weights)
    return ListReading(logged, asked - len(shown), unsupported)


def _chance_columns(table: pl.DataFrame, given: str | Mapping[str, str] | None) -> dict[str, str]:
    if given is not None:
        columns = {"above": given} if isinstance(given, str) else dict(given)
        if wrong := set(columns) - set(KINDS):
            raise InputError(f"probabilities of {', '.join(KINDS)}", ", ".join(wrong), "name one of these")
        return columns
    known = {kind: next((name for name in names if name in table.columns), None) for kind, names in KINDS.items()}
    columns = {kind: name for kind, name in known.items() if name is not None}
    if not columns:
        got, do = f"the columns {', '.join(table.columns)}", "name it with chance, or say uniform or estimated"
        raise InputError("a column of probabilities, such as 'chance'", got, do)
    return columns


def _whole_lists(rows: pl.DataFrame, positions: int) -> pl.DataFrame:
    """Keep lists with every position once and nothing missing, their rows together and from the top down."""
    rows = rows.drop_nulls()
    if rows.is_empty():
        return rows
    runs, position = rows["list"].rle_id().to_numpy(), rows["position"].to_numpy()
    in_order = bool(((np.diff(position) > 0.0) | (np.diff(runs) > 0)).all())
    if not in_order or int(runs[-1]) + 1 != rows["list"].n_unique():
        rows = rows.sort("list", "position", maintain_order=True)
        runs, position = rows["list"].rle_id().to_numpy(), rows["position"].to_numpy()
    sizes = np.bincount(runs)
    kept = (sizes == positions)[runs]
    wrong = np.unique(runs[kept & (position != np.arange(len(runs)) - starts_of(sizes)[runs] + 1.0)])
    kept &= ~np.isin(runs, wrong)
    return rows if kept.all() else rows.filter(kept)


def _matrix(rows: pl.DataFrame, column: str, shape: tuple[int, int]) -> Floats:
    reading.check_probabilities(rows[column])
    return np.asarray(rows[column].to_numpy().reshape(shape), np.float64)


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
        once = np.ones(len(shown))
        shares = [probabilities_of(shown, once, shown, above)[0] / len(shown) for above in (True, False)]
        chances = {"beginning": shares[0], "position": shares[1]}
    if positions == 1:
        return dict.fromkeys(("sips", "rips", "iips"), next(iter(chances.values())))
    if "above" in chances:
        beginning = np.asarray(np.cumprod(chances["above"], axis=1), np.float64)
        chances = {"beginning": beginning, **chances}
    if "beginning" in chances:
        chances = {"list": chances["beginning"][:, -1:], **chances}
    known = {"sips": "list", "rips": "beginning", "iips": "position"}
    result = {kind: chances[of] for kind, of in known.items() if of in chances}
    return result | ({"sips": result["sips"][:, :1]} if "sips" in result else {})


def _weights(
    target: ListTarget, items: Mapping[str, int], shown: Ints, chances: dict[str, Floats]
) -> tuple[dict[str, Floats], dict[str, float]]:
    """Divide the target's probabilities by the log's; also the share of the target that the log does not have."""
    lists = target.numbered(items)
    weights, unsupported, ways = {}, {}, {kind != "iips" for kind in chances}
    chance_of = {above: probabilities_of(lists, target.probability, shown, above) for above in ways}
    for kind, chance in chances.items():
        wanted, missing = chance_of[kind != "iips"]
        if kind == "sips":
            wanted, missing = wanted[:, -1:], missing[-1:]
        weights[kind], unsupported[kind] = wanted / chance, round(float(missing.mean()), 9)
        for weight, share in zip(weights[kind].T, missing.tolist(), strict=True):
            reading.check_average(weight, 1.0 - share, kind)
    return weights, unsupported
