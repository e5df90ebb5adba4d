"""What somebody says a product of factors is, checked: expected - got - do this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankone.errors import InputError
from rankone.kernels.decision import check_combinations
from rankone.notebook import index_names
from rankone.problems.product_world import SCALES, Scale
from rankone.problems.rank_one import Vector, check_distinct, probabilities
from rankone.specs import is_number

Names = Mapping[str, Sequence[str]]


def checked_scale(scale: Any, base: Any) -> tuple[Scale, float]:
    """Return how levels make a click rate, and the rate without any effect."""
    if scale not in SCALES:
        raise InputError(f"scale as one of {', '.join(SCALES)}", scale, "leave it out: probabilities are multiplied")
    if scale == "product":
        if base is not None:
            raise InputError(
                "no base where probabilities are multiplied", base, "leave it out, or say scale='additive'"
            )
        return scale, 1.0
    if not is_number(base) or not 0.0 < base < 1.0:
        raise InputError(f"a base between 0 and 1, as the scale is {scale}", base, "try base=0.02")
    return scale, float(base)


def checked_parts(factors: Any, scale: Scale) -> dict[str, Vector]:
    """Return for each factor the probabilities of its levels, or their effects."""
    example = "try {'headline': [0.9, 0.5], 'image': [0.8, 0.3]}"
    if not isinstance(factors, Mapping) or not factors:
        raise InputError("factors by name, each with its probabilities", factors, example)
    found = {}
    for name, values in factors.items():
        if not isinstance(name, str) or not name:
            raise InputError("names of factors as texts", name, example)
        if scale == "product":
            found[name] = probabilities(values, f"the factor {name}")
        else:
            found[name] = np.array(values, np.float64)
            if found[name].ndim != 1 or not len(found[name]) or not np.isfinite(found[name]).all():
                raise InputError(f"effects of {name} as a list of numbers", values, "try [0.0, 0.01]")
    check_combinations([len(values) for values in found.values()])
    return found


def names_of_levels(
    given: Mapping[str, Any], names: Names | None, factors: Mapping[str, Vector]
) -> dict[str, list[str]]:
    """Return for each factor the names of its levels: as said, as the index of a column has them, or by number."""
    names = names or {}
    unknown = [name for name in names if name not in factors]
    if unknown:
        raise InputError(f"level_names of the factors {', '.join(factors)}", f"'{unknown[0]}'", "name them as there")
    found = {}
    for factor, values in factors.items():
        own = names.get(factor, index_names(given[factor]))
        levels = [f"{factor} {place + 1}" for place in range(len(values))] if own is None else list(own)
        if not all(isinstance(level, str) for level in levels) or len(levels) != len(values):
            raise InputError(f"{len(values)} names of levels of {factor}", own, "leave them out, or name every one")
        check_distinct(f"levels of {factor}", levels)
        found[factor] = levels
    return found
