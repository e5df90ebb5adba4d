"""What exploration draws besides what `rankone.evidence.steering.renew` plans: levels still in the race, all levels."""

from typing import Any

import numpy as np

from rankone.evidence.steering import PARTS, round_parts
from rankone.numerics.arrays import Floats, Ints


def mix_racing(mix: Floats, starts: Ints, leaders: Ints, racing: Any, lead: float, part: float) -> None:
    """Give a part of exploration to what leads of all that may be shown and, evenly, to the levels still in the race.

    Where levels are forbidden together, one that leads its factor may have nothing to be compared with: that needs
    levels of the other factors that `_plan` has done with. In whole parts, as `renew` has them.

    >>> mix = np.array([1e6, 0.0, 5e5, 5e5])
    >>> mix_racing(mix, np.array([0, 2, 4]), np.array([0, 2]), np.ones(4, bool), lead=0.5, part=0.5)
    >>> mix.tolist()
    [750000.0, 250000.0, 500000.0, 500000.0]
    """
    for first, end, leader in zip(starts[:-1], starts[1:], leaders, strict=True):
        own = np.arange(first, end)
        others = own[racing[first:end] & (own != leader)]
        mix[own] *= 1.0 - part
        mix[others] += part * PARTS * (1.0 - lead) / max(1, len(others))
        mix[own] = np.floor(mix[own])
        mix[leader] += PARTS - mix[own].sum()


def mix_evenly(mix: Floats, starts: Ints, part: float) -> None:
    """Draw levels evenly in this part of exploration, in whole parts: what is beaten may be best tomorrow."""
    for factor in range(len(starts) - 1):
        first, end = starts[factor], starts[factor + 1]
        for level in range(first, end):
            mix[level] = (1.0 - part) * mix[level] + part * PARTS / (end - first)
        round_parts(mix, first, end)
