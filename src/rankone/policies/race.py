"""Who is still in the race: what an elimination policy tells those who watch it.

A policy that eliminates registers ``race(state) -> Race`` for its state; the others have none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.numerics.dispatch import optional

Mask = npt.NDArray[np.bool_]


class Race(NamedTuple):
    """The stage (from 0), and which rows and columns are not eliminated."""

    stage: int
    rows: Mask  # (K,)
    cols: Mask  # (L,)


@optional
def race(state: Any) -> Race | None:
    """Return who is still in the race; None: the policy eliminates nothing.

    >>> from rankone import policy
    >>> race(policy("rank1elim-kl:horizon=1000").start(2, 3))
    Race(stage=0, rows=array([ True,  True]), cols=array([ True,  True,  True]))
    """
    return None
