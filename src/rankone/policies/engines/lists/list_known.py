"""What policies on lists have to be told: the examination of positions, or the order of their termination."""

from __future__ import annotations

import numpy as np

from rankone.errors import InputError
from rankone.numerics.arrays import Floats, Ints
from rankone.policies.base import Policy
from rankone.policies.engines.lists.list_reading import places_by_order, places_by_weight
from rankone.specs import Numbers, amount, is_number

#: Policies that learn the examination, or do without it.
WITHOUT = ("gibbs-ts", "grab", "unirank", "toprank")


def check_probabilities(what: str, given: Numbers | None) -> None:
    """Refuse a parameter that is no examination or termination of positions."""
    if given is None:
        return
    if not isinstance(given, tuple) or not given:
        raise InputError(f"{what} as numbers, one per position", given, f"try {what}=(1.0, 0.5, 0.3)")
    for value in given:
        if not is_number(value) or not 0.0 < value <= 1.0:
            raise InputError(f"{what} in (0, 1] at every position", value, "leave out positions that nobody sees")


def needed_examination(policy: Policy, given: Numbers | None, n_positions: int) -> Floats:
    """Return the examination of each position, or say which policies can do without."""
    if given is None:
        names = ", ".join(WITHOUT)
        do = f"try '{policy.name}:examination=1x0.5x0.3', or take a policy that does not need it: {names}"
        raise InputError(f"the examination of each position for {policy.name}", "none", do)
    _check_count("examination", given, n_positions)
    return np.array(given, np.float64)


def places_by_termination(given: Numbers | None, n_positions: int) -> Ints:
    """Return the position of the best item, of the second best, ...: where most leave; from the top if nobody says."""
    if given is None:
        return places_by_order(n_positions, "best-first")
    _check_count("termination", given, n_positions)
    return places_by_weight(given)


def _check_count(what: str, given: Numbers, n_positions: int) -> None:
    if len(given) != n_positions:
        got = amount(len(given), "number")
        raise InputError(f"{what} of {amount(n_positions, 'position')}", got, "give one number per position")
