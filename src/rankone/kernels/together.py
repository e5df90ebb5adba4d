"""Do levels of two factors act together? Asked of clicks alone, whatever the rate of the whole site does.

The model is that of `rankone.kernels.evidence`: at time t a visitor clicks with probability ``s_t * m(combination)``,
where s_t is ANY sequence and m stays as it is. Take two levels x and y of a factor, the other levels held, and let a
and b be the probabilities with which the decision would have had x or y. *Each click counts as much as both had the
same chance*:

    a click on x counts min(1, b / a),      one on y counts min(1, a / b)

and with X and Y the sums of what clicks on x and on y count, given the past,

    a step of X has mean  s_t min(a, b) m(x),      one of Y has mean  s_t min(a, b) m(y).

So beside whatever levels, X - r Y is a martingale with r = m(x) / m(y): the site cancels, and so does the policy. (To
keep a click with that probability, as `rankone.kernels.watching` does, has the same mean and more scatter.) If levels
are a product, r is the same beside every level z of another factor. With X, Y beside z and X', Y' beside the others,

    X Y' - X' Y  =  (X - r Y) Y' - (X' - r Y') Y

is 0 but for the scatter of two martingales, whose variances are about the sums of squares of what clicks count: that is
tested (`rankone.serving.interactions`), and these sums are what is kept.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.kernels.evidence import Floats, Ints

_FEWEST_FACTORS = 3  # of two, `rankone.kernels.watching` and the rank-1 test know more
_MOST = 200_000  # sums of ordered pairs of levels, each beside each level: more are not kept


class Together(NamedTuple):
    """What clicks on each level count in a comparison with each other level of its factor, beside each level."""

    starts: Ints  # (factors + 1,) the first level of each factor, and the number of levels
    pairs: Ints  # (levels, levels) the number of the ordered pair x, y; -1: of two factors, or the same level
    sums: Floats  # (pairs, levels, 2) of clicks on x in the comparison with y beside each level: sum, and of squares


def start_together(sizes: tuple[int, ...]) -> Together:
    """Return sums before the first click; none at all where nobody asks for them.

    >>> start_together((2, 2, 3)).sums.shape, start_together((2, 2)).sums.shape
    ((10, 7, 2), (0, 0, 2))
    """
    ordered = sum(size * (size - 1) for size in sizes)
    asked = sizes if len(sizes) >= _FEWEST_FACTORS and ordered * sum(sizes) <= _MOST else ()
    starts = np.concatenate([[0], np.cumsum(asked)]).astype(np.int64)
    levels, count = int(starts[-1]), itertools.count()
    pairs = np.full((levels, levels), -1, np.int64)
    for first, end in itertools.pairwise(starts.tolist()):
        for x, y in itertools.permutations(range(first, end), 2):
            pairs[x, y] = next(count)
    return Together(starts, pairs, np.zeros((ordered if asked else 0, levels, 2)))


def widened_together(together: Together, sizes: tuple[int, ...]) -> Together:
    """Return the same sums with room for new levels, the last ones of their factor, and for new factors."""
    found = start_together(sizes)
    if not len(found.sums) or not len(together.sums):
        return found
    spans = zip(itertools.pairwise(together.starts.tolist()), found.starts.tolist(), strict=False)
    old = np.concatenate([np.arange(end - first) + new for (first, end), new in spans])
    before = together.pairs >= 0
    after = found.pairs[np.ix_(old, old)][before]
    found.sums[np.ix_(after, old)] = together.sums[together.pairs[before]]
    return found


@noalloc
def count_together(together: Any, shown: Any, cross: Any) -> None:
    """Learn from one click; `shown` and `cross` are as in `rankone.kernels.evidence.weigh_click`."""
    if len(together.sums) == 0:  # nobody asks
        return
    for factor in range(len(shown)):
        x = shown[factor]
        a = cross[x]
        for y in range(together.starts[factor], together.starts[factor + 1]):
            b = cross[y]
            if y == x or not a > 0.0 or not b > 0.0:
                continue
            counts = b / a if b < a else 1.0
            sums = together.sums[together.pairs[x, y]]
            for each in range(len(shown)):
                if each != factor:
                    sums[shown[each], 0] += counts
                    sums[shown[each], 1] += counts * counts


def count_all_together(together: Any, shown: Ints, clicked: Ints, crosses: Floats) -> None:
    """Learn from outcomes, one per row; those whose probabilities are not known have a cross of zeros."""
    for place in range(len(clicked)):
        if clicked[place]:
            count_together(together, shown[place], crosses[place])
