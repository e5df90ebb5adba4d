"""Combinations of levels in sentences."""

from collections.abc import Mapping

from rankone.wording.lists import cut_text, listed, quoted

UNNAMED = ("row", "col")  # factors that nobody gave a name


def combination_text(levels: Mapping[str, str]) -> str:
    """Name a combination, by factor.

    >>> combination_text({"headline": "A", "image": "2"}), combination_text({"row": "A", "col": "1"})
    ("headline 'A' with image '2'", "'A' with '1'")
    >>> combination_text({"headline": "A", "image": "2", "button": "buy"})
    "headline 'A', image '2' and button 'buy'"
    """
    names = quoted(list(levels.values()))
    each = (
        names if tuple(levels) == UNNAMED else [f"{factor} {name}" for factor, name in zip(levels, names, strict=True)]
    )
    return " with ".join(each) if len(each) < 3 else listed(each)


def brief_combination(levels: Mapping[str, str], most: int = 11) -> str:
    """Name a combination in a headline: its levels alone, in at most so many words.

    >>> brief_combination({"headline": "Save money now", "image": "beach"})
    "'Save money now' with 'beach'"
    >>> brief_combination({"headline": "one two three four five six seven", "image": "a b c d e f"}, 9)
    "'one two three four…' with 'a b c d…'"
    >>> brief_combination({str(factor): f"level {factor}" for factor in range(9)})
    "'level 0' with 'level 1', 'level 2' and 6 more"
    """
    names = list(levels.values())
    shown = names if len(names) < 5 else names[:3]
    room = most - (1 if len(names) < 3 else 2 if len(names) < 5 else 4)
    first, *others = quoted([cut_text(name, max(1, room // len(shown))) for name in shown])
    rest = listed(others) if others else ""
    if len(names) > 4:
        rest = f"{', '.join(others)} and {len(names) - 3} more"
    return " with ".join(filter(None, [first, rest]))
