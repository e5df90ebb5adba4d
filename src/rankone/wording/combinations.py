"""Combinations of levels in sentences."""

from collections.abc import Mapping

from rankone.wording.lists import listed, quoted

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
