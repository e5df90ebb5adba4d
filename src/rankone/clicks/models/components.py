"""Which positions can be compared: connected components of the graph of items and positions with impressions.

Attraction and examination are known up to one scale a component: multiply one and divide the other, and every click
probability stays. An item that was shown at two positions connects them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import compiled

Ints = npt.NDArray[np.int64]


def place_components(item_starts: Ints, item_cells: Ints, place: Ints, n_places: int) -> Ints:
    """Return per group and place the lowest place it is connected with; -1 for a place without impressions.

    >>> place_components(np.array([0, 2]), np.array([0, 2, 3]), np.array([0, 2, 1]), 4)
    array([[ 0,  1,  0, -1]])
    """
    labels = np.full((len(item_starts) - 1, n_places), -1, np.int64)
    compiled(_label, __name__)(item_starts, item_cells, place, labels)
    return labels


def _label(item_starts: Ints, item_cells: Ints, place: Ints, labels: Ints) -> None:
    for group in range(len(labels)):
        label = labels[group]
        for item in range(item_starts[group], item_starts[group + 1]):
            first = -1
            for cell in range(item_cells[item], item_cells[item + 1]):
                if label[place[cell]] < 0:
                    label[place[cell]] = place[cell]
                if first < 0:
                    first = label[place[cell]]
                elif label[place[cell]] != first:  # the item joins two components: keep the lower label
                    low, high = min(first, label[place[cell]]), max(first, label[place[cell]])
                    for other in range(len(label)):
                        if label[other] == high:
                            label[other] = low
                    first = low
