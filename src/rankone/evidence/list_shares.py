"""How many lists of a ranking explore, by its aim: until the best items are proven, and none after that.

Lists drawn uniformly cost more clicks than a wrong pair does, so `both` takes fewer than an experiment. *Gentle* lists
are the present list with one stranger at one position: nobody sees a random page, and a verdict takes about twice as
long (`rankone.evidence.list_lottery`).
"""

import math

import numpy as np

from rankone.evidence.list_lottery import CONTROL_LIST, EXPLORE, GENTLE, OWN
from rankone.evidence.steering import AIMS
from rankone.numerics.arrays import Floats

LIST_EXPLORE = {"earn": 0.02, "both": 0.3, "decide": 1.0}  # shares of lists, by aim
_LEAST = 1e-6  # a share is not halved below this


def list_shares(
    aim: str, explore: float, control: float, proven: bool, lists: int, n_items: int, gentle: bool = False
) -> Floats:
    """Return the share of each kind of list.

    The share of the aim `earn` is halved whenever lists double, from 100 for each item on.

    >>> list_shares("both", 0.3, 0.1, proven=False, lists=0, n_items=9).round(2).tolist()
    [0.63, 0.27, 0.0, 0.1]
    >>> list_shares("earn", 0.02, 0.0, proven=False, lists=3_600, n_items=9).tolist()
    [0.995, 0.005, 0.0, 0.0]
    """
    own = aim in AIMS and explore == LIST_EXPLORE.get(aim)
    times = lists / (AIMS[aim].patience * n_items) if own else 0.0
    if times >= 1.0:
        explore = max(_LEAST, explore * 0.5 ** math.floor(math.log2(times)))
    result, explores = np.zeros(4), 0.0 if proven else explore
    result[CONTROL_LIST] = control
    result[GENTLE if gentle else EXPLORE] = (1.0 - control) * explores
    result[OWN] = 1.0 - result.sum()
    return result
