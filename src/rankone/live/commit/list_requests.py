"""What a request for a list restricts, as the journal keeps it: the numbers of items, and what is pinned where."""

from typing import Any

from rankone.errors import InputError
from rankone.live.fold.fold import Fold
from rankone.live.lists import restriction
from rankone.live.messages import Ask
from rankone.specs import did_you_mean


def list_limits(fold: Fold, request: Ask) -> dict[str, Any]:
    """Return the part of a note that says what a request restricts, nothing if it restricts nothing.

    Items that were retired are no candidates any more, whoever still names them. What is pinned need not be an item.
    Where a pin is deeper than the list is long, it is the last one.
    """
    said = restriction(request.candidates, request.pinned, request.exclude)
    positions = fold.settings.positions
    if not positions:
        if said:
            raise InputError("candidates, pinned and exclude of a ranking", "an experiment", "leave them out")
        return {}
    if not said:
        return {}
    items = fold.factors.each[0]
    numbers = {what: _numbers(items.names, said[what], what) for what in ("candidates", "exclude") if what in said}
    pinned = {int(at): name for at, name in said.get("pinned", {}).items()}
    if pinned and max(pinned) > positions:
        expected = f"a pinned position from 1 to {positions}, the length of the list"
        raise InputError(expected, max(pinned), "pin it further up")
    allowed = {number for number, live in enumerate(items.live) if live and items.names[number] not in pinned.values()}
    allowed -= set(numbers.get("exclude", ()))
    allowed &= set(numbers.get("candidates", allowed))
    size = min(positions, len(allowed) + len(pinned))
    if not size:
        raise InputError("at least one item that may be shown", "none", "name more candidates, or exclude fewer")
    deep = sorted((at for at in pinned if at > size), reverse=True)
    free = [at for at in range(size, 0, -1) if at not in pinned]
    moved = dict(zip(deep, free, strict=False))
    places = {str(moved.get(at, at)): name for at, name in pinned.items()}
    stands = {"pinned": dict(sorted(places.items(), key=lambda each: int(each[0])))} if places else {}
    return {"list": numbers | stands}


def _numbers(names: list[str], given: list[str], what: str) -> list[int]:
    known = {name: number for number, name in enumerate(names)}
    for name in given:
        if name not in known:
            expected = f"items of the ranking to {'choose from' if what == 'candidates' else what}"
            raise InputError(expected, f"'{name}'", did_you_mean(name, names, "add it first, or leave it out"))
    return sorted(known[name] for name in given)
