"""What rankings ask and tell beyond experiments: who may be shown, who stands where, what was clicked and seen.

Plain checks, which the client makes too. The journal keeps what came of a list in one number: a bit for each position
that was clicked, the top one first, and above these how many positions were seen, one more than that (0: nobody said).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rankone.errors import InputError
from rankone.live.names import checked_name, plain_list
from rankone.specs import did_you_mean, is_number, whole_number

MAX_POSITIONS = 40
MAX_LISTED = 1_000  # items of a ranking, or named by a request
MOST_COMPARED = 200  # items of a ranking of which something is stated
ITEM = "item"  # the one factor of a ranking
CLICKED = (1 << MAX_POSITIONS) - 1  # the bits of clicks
OTHER = 2**16 - 1  # stands for what was pinned and is no item
IN, OUT, OPEN = "in", "out", "open"  # an item surely belongs to the best, surely does not, or neither is proven
NO_CLICK, VOID = "no click", "void"  # what silence may mean


class Told(NamedTuple):
    """What was told of a list."""

    positions: tuple[int, ...]  # that were clicked, from 1
    seen: int | None  # positions from the top; None: nobody said

    @property
    def packed(self) -> int:
        """The number that the journal keeps.

        >>> Told((1, 3), 4).packed == 0b101 + (5 << MAX_POSITIONS), told_in(Told((1, 3), 4).packed)
        (True, Told(positions=(1, 3), seen=4))
        """
        seen = 0 if self.seen is None else self.seen + 1
        return sum(1 << (position - 1) for position in self.positions) + (seen << MAX_POSITIONS)

    @property
    def text(self) -> str:
        """What was told, in words."""
        clicked = f"clicks at {', '.join(map(str, self.positions))}" if self.positions else "no click"
        return clicked + ("" if self.seen is None else f", {self.seen} seen")


def told_in(value: int) -> Told:
    """Return what `Told.packed` made."""
    seen, mask = value >> MAX_POSITIONS, value & CLICKED
    return Told(tuple(at + 1 for at in range(mask.bit_length()) if mask >> at & 1), seen - 1 if seen else None)


def together(one: int, other: int) -> int:
    """Return what two reports of a list say together: all clicks, and as far as was seen by then."""
    return (one | other) & CLICKED | max(one >> MAX_POSITIONS, other >> MAX_POSITIONS) << MAX_POSITIONS


def checked_clicks(clicked: Any) -> tuple[int | str, ...]:
    """Return what was clicked of a list, as positions or names; refuse what is none of it."""
    clicked = plain_list(clicked)
    if not isinstance(clicked, Sequence) or isinstance(clicked, str | bytes):
        raise InputError("clicked as positions or names", clicked, "tell clicked=[1, 3], or [] where nobody clicked")
    if len(clicked) > MAX_LISTED:
        raise InputError(f"at most {MAX_POSITIONS} clicks", len(clicked), "name each position once")
    for each in clicked:
        if not isinstance(each, int | str):
            raise InputError("clicked as positions or names", each, "tell clicked=[1, 3], or names of items")
    return tuple(clicked)


def clicked_positions(clicked: Any, seen: int | None, names: Sequence[str]) -> Told:
    """Return the clicked positions of a list that shows these items; refuse what it cannot have been.

    `clicked` has positions from 1 or names; a truth for each position is fine, too.

    >>> clicked_positions(["b"], None, ["a", "b"]), clicked_positions([True, False], 2, ["a", "b"])
    (Told(positions=(2,), seen=None), Told(positions=(1,), seen=2))
    """
    if clicked is True:
        raise InputError("which positions of the list were clicked", True, "tell clicked=[1, 3], or names of items")
    given = () if clicked is False else checked_clicks(clicked)
    size = f"a list of {len(names)}"
    if given and all(isinstance(each, bool) for each in given):
        if len(given) > len(names):
            raise InputError(f"a truth for each position of {size}", f"{len(given)} of them", "leave out the rest")
        given = tuple(at + 1 for at, each in enumerate(given) if each)
    positions = []
    for each in given:
        if isinstance(each, str):
            if each not in names:
                raise InputError(f"a click on an item of the list: {', '.join(names)}", f"'{each}'", "name one of them")
            positions.append(names.index(each) + 1)
        else:
            if not is_number(each) or each not in range(1, len(names) + 1):
                raise InputError(f"a position from 1 to {len(names)}", each, "count from 1, the top of the list")
            positions.append(int(each))
    if seen is not None:
        seen = whole_number("seen", seen, 0, len(names))
        if seen < max(positions, default=0):
            expected = f"at least {max(positions)} positions seen, as position {max(positions)} was clicked"
            raise InputError(expected, seen, "tell how far down the list was seen")
    return Told(tuple(sorted(set(positions))), seen)


def checked_items(value: Any, what: str) -> tuple[str, ...]:
    """Return names of items; refuse what is no list of them."""
    value = plain_list(value)
    if isinstance(value, str | bytes) or not isinstance(value, Sequence) or len(value) > MAX_LISTED:
        raise InputError(f"{what} as a list of at most {MAX_LISTED} names", value, f"pass {what}=['a', 'b']")
    return tuple(dict.fromkeys(checked_name(each, "name of an item") for each in value))


def checked_pins(value: Any) -> dict[int, str]:
    """Return what stands at which position, from 1; refuse what is no such thing.

    >>> checked_pins({"1": "ad"})
    {1: 'ad'}
    """
    if not isinstance(value, Mapping) or len(value) > MAX_POSITIONS:
        raise InputError("pinned as positions and names", value, "pass pinned={1: 'ad'}")
    result = {}
    for at, name in value.items():
        number = int(at) if isinstance(at, str) and at.isdecimal() else at
        result[whole_number("a pinned position", number, 1, MAX_POSITIONS)] = checked_name(name, "name of an item")
    if len(set(result.values())) < len(result):
        raise InputError("different items at pinned positions", ", ".join(result.values()), "pin each item once")
    return result


def restriction(candidates: Any, pinned: Any, exclude: Any) -> dict[str, Any]:
    """Return what a request restricts, checked, in plain values; nothing: nothing.

    >>> restriction(["a", "b"], {1: "ad"}, None)
    {'candidates': ['a', 'b'], 'pinned': {'1': 'ad'}}
    """
    said: dict[str, Any] = {}
    if candidates is not None:
        said["candidates"] = list(checked_items(candidates, "candidates"))
    if pinned:
        said["pinned"] = {str(at): name for at, name in sorted(checked_pins(pinned).items())}
    if exclude:
        said["exclude"] = list(checked_items(exclude, "exclude"))
    return said


def limits_of(texts: Any) -> str | None:
    """Return what the request of a list restricted, as its event ASK keeps it."""
    note = texts.details() if texts.note else {}
    return json.dumps(note["list"]) if "list" in note else None


def names_at(shown: Iterable[int], names: Sequence[str], pinned: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of a list; what is pinned and no item has its name from the request."""
    return tuple(
        names[item] if item < len(names) else pinned[str(position)] for position, item in enumerate(shown, start=1)
    )


def check_ranking(result: dict[str, Any]) -> None:
    """Refuse what a ranking cannot have."""
    for name, what in (("goals", "goals"), ("prior", "past counts"), ("watch", "a watch")):
        if name in result:
            raise InputError(f"a ranking without {what}", what, f"leave {name} out")
    names, positions = dict(result.get("factors", ())), result["positions"]
    if names and (set(names) != {ITEM} or not positions <= len(names[ITEM]) <= MAX_LISTED):
        got = f"{len(names[ITEM])} items" if set(names) == {ITEM} else f"the factors {', '.join(names)}"
        expected = f"from {positions} to {MAX_LISTED:,} items for a list of {positions}"
        raise InputError(expected, got, "pass items=['a', 'b', 'c'] and fewer positions")
    if positions == 1 and result.get("stopping", {}).get("decide") == "order":
        do = "leave out decide: a list of one position has no order"
        raise InputError("a list of at least 2 positions, or decide='set'", "decide='order' with positions=1", do)
    if "control" in result:
        result["control"]["levels"] = list_of_items(result["control"]["levels"], positions, names.get(ITEM))


def list_of_items(given: Any, positions: int, names: Sequence[str] | None) -> tuple[str, ...]:
    """Return a list as the names of its items, from the top; refuse what is none."""
    items = checked_items(given, "list")
    unknown = [name for name in items if names is not None and name not in names]
    if len(items) != positions or len(given) != positions or unknown:
        got = f"'{unknown[0]}'" if unknown else f"{len(given)} of them"
        do = did_you_mean(unknown[0], names or (), "name items of the ranking") if unknown else "name each item once"
        raise InputError(f"a list of {positions} items of the ranking", got, do)
    return items
