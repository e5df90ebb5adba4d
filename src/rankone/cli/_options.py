"""Options that several commands read in the same way."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer

from rankone.errors import InputError
from rankone.specs import parse_whole_number


def whole_number(text: Any) -> int:
    """Read a positive whole number as people write it: 2000000, 2_000_000 or 2e6.

    >>> whole_number("2e6")
    2000000
    """
    try:
        return parse_whole_number("the value", str(text), example=100_000)  # a default comes here too, as a number
    except InputError as error:
        raise typer.BadParameter(str(error)) from None  # Typer says which option it was


def json_file(option: str, path: Path | None) -> None:
    """Refuse a file that does not end in .json before any work is done."""
    if path is not None and path.suffix != ".json":
        raise InputError(f"a .json file for {option}", str(path), f"try {path.with_suffix('.json')}")


def policy_names(incomplete: str) -> list[str]:
    """Return the policies whose name begins so, for a shell that completes it.

    >>> policy_names("ut")
    ['uts']
    """
    from rankone.policies import known_policies

    return _beginning(known_policies(), incomplete)


def model_names(incomplete: str) -> list[str]:
    """Return the click models whose name begins so, for a shell that completes it.

    >>> model_names("pb")
    ['pbm']
    """
    from rankone.clicks import MODELS

    return _beginning(MODELS.known(), incomplete)


def format_names(incomplete: str) -> list[str]:
    """Return the log formats whose name begins so, for a shell that completes it.

    >>> format_names("open")
    ['open-bandit']
    """
    from rankone.clicks import FORMATS

    return _beginning(FORMATS.known(), incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))
