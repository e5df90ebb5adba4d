"""The index of KL-UCB, for whatever state keeps counts: pairs or items of lists (Garivier, Cappe 2011).

``max{q : pulls * d(mean, q) <= level}`` with the level log t + c log log t; log log t counts as 0 while log t < 1.
"""

from __future__ import annotations

import math
from typing import Any

from rankone.numerics.kl import kl_upper
from rankone.policies.engines.indices.index_groups import CONSTANT


def kl_level(state: Any, asked: int) -> float:
    """Return the level after so many decisions; the constant of the state is c."""
    level = math.log(asked) if asked > 1 else 0.0
    return level + state.levels[CONSTANT] * math.log(level) if level > 1.0 else level


def kl_index(state: Any, pulls: int, clicks: int, level: float) -> float:
    """Return the index of these counts at a level."""
    return kl_upper(clicks / pulls, level / pulls)


def kl_slope(state: Any, pulls: int, clicks: int, level: float, index: float) -> float:
    """Return its derivative by the level: one over that of pulls * d(mean, index) by index."""
    return index * (1.0 - index) / (pulls * index - clicks) if index < 1.0 else 0.0
