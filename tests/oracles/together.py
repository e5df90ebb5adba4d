"""The slow twin of `rankone.kernels.together`: every comparison by itself, clicks in a list."""

from __future__ import annotations


def sums_of(starts, shown, clicked, crosses, x, y, z):
    """Return what clicks on level x count in the comparison with y beside z: the sum, and the sum of squares."""
    counts = []
    factor = max(place for place, first in enumerate(starts[:-1]) if first <= x)
    for levels, click, cross in zip(shown, clicked, crosses, strict=True):
        if click and levels[factor] == x and z in levels and cross[x] > 0 and cross[y] > 0:
            counts.append(min(1.0, cross[y] / cross[x]))
    return sum(counts), sum(each**2 for each in counts)
