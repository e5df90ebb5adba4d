"""Models of clicks on lists that an off-policy estimate is corrected from: quick to fit, and wrong ones do no harm.

    cascade      a visitor goes down the list; an item is clicked with its attraction; after a click at position k the
                 visitor goes on with probability g_k, else always (the dependent click model, Guo et al. 2009; its
                 closed form: attraction = clicks / impressions down to the last click)
    product      attraction of the item times examination of the position, the likeliest such product

Either says how probable a click at position k is, given the items down to k.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.product_fit import Design


class ListCounts(NamedTuple):
    """What some lists add up to, by item and position, (items, positions)."""

    shown: Floats
    clicked: Floats
    reached: Floats  # impressions at or above the last click of their list, or in a list without one
    last: Floats  # last clicks of a list

    def less(self, others: ListCounts) -> ListCounts:
        """Return what is left without others."""
        return ListCounts(*(own - other for own, other in zip(self, others, strict=True)))


#: From lists by number, (lists, positions), to the probability of a click at each place.
Baseline = Callable[[Ints], Floats]


def count_lists(items: Ints, clicked: Floats, n_items: int) -> ListCounts:
    """Add up lists; clicks may be fractions, any above 0 counts as one where the last is sought."""
    positions = items.shape[1]
    below = np.cumsum(clicked[:, ::-1] > 0.0, axis=1)[:, ::-1]  # clicks from here on
    last = (clicked > 0.0) & (below == 1)
    reached = (below > 0) | (below[:, :1] == 0)
    cells = (items * positions + np.arange(positions)).ravel()
    return ListCounts(
        *(
            np.bincount(cells, None if each is None else each.ravel(), n_items * positions)
            .astype(float)
            .reshape(n_items, positions)
            for each in (None, clicked, reached, last)
        )
    )


def cascade(counts: ListCounts) -> Baseline:
    """Fit the dependent click model by its closed form."""
    attraction = counts.clicked.sum(axis=1) / np.maximum(counts.reached.sum(axis=1), 1.0)
    clicks = counts.clicked.sum(axis=0)
    stops = np.where(clicks > 0.0, counts.last.sum(axis=0) / np.maximum(clicks, 1e-300), 0.0)

    def predict(lists: Ints) -> Floats:
        attracted = attraction[lists]
        left = np.cumprod(1.0 - attracted * np.minimum(stops, 1.0), axis=1)
        attracted[:, 1:] *= left[:, :-1]
        return attracted

    return predict


def product(counts: ListCounts) -> Baseline:
    """Fit the likeliest product of item and position."""
    items, positions = np.nonzero(counts.shown)
    rates = np.zeros(counts.shown.shape)
    if counts.clicked.sum():
        places, cells = np.column_stack([items, positions]), (items, positions)
        x = Design.of(places, counts.shown.shape, counts.shown[cells], counts.clicked[cells]).maximise().x
        rates = np.minimum(np.exp(x[: len(rates), None] + x[len(rates) :]), 1.0)

    def predict(lists: Ints) -> Floats:
        return rates[lists, np.arange(lists.shape[1])]

    return predict


BASELINES: dict[str, Callable[[ListCounts], Baseline]] = {"cascade": cascade, "product": product}
