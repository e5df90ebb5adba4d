"""What a policy believes: estimates and bounds, as it shows them to those who watch it (`rankone explain`).

A policy registers ``view(state) -> View`` for its state; of a policy without one, only the decisions can be shown.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.numerics.dispatch import optional

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


class View(NamedTuple):
    """Beliefs about lines (rows 0 to K - 1, then columns), or about pairs (``row * n_cols + col``)."""

    about: str  # "lines" or "pairs"
    pulls: Ints  # outcomes that the belief rests on
    clicks: Ints
    low: Floats  # not a number where the policy has no such bound
    high: Floats
    left: Mask  # not eliminated
    interval: str  # what low and high are; empty if there is neither
    leader: int = -1  # the pair that leads, if the policy has a leader
    score: Floats | None = None  # what the choice goes by, the largest first, where that is not `high`
    scored_by: str = ""


@optional
def view(state: Any) -> View | None:
    """Return what a policy believes; None: it does not say.

    >>> from rankone import policy
    >>> found = view(policy("rank1elim-kl:horizon=1000").start(2, 3))
    >>> found.about, found.high.tolist()
    ('lines', [1.0, 1.0, 1.0, 1.0, 1.0])
    """
    return None


def pair_view(state: Any, low: Floats, high: Floats, interval: str, **more: Any) -> View:
    """Return the view of a policy that counts pairs and eliminates none."""
    left = np.ones(len(state.pulls), bool)
    return View("pairs", state.pulls.copy(), state.clicks.copy(), low, high, left, interval, **more)


def posterior_view(state: Any, **more: Any) -> View:
    """Return the view of a Thompson sampler: Beta(clicks + 1, pulls - clicks + 1) of each pair."""
    mean = (state.clicks + 1.0) / (state.pulls + 2.0)
    width = 2.0 * np.sqrt(mean * (1.0 - mean) / (state.pulls + 3.0))
    return pair_view(state, mean - width, mean + width, "posterior mean ± 2 standard deviations", **more)
