"""Views that policies share: what a policy believes, as it shows it to those who watch (`view` of its contract)."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankone.kernels.policy import Floats, View


def pair_view(state: Any, low: Floats, high: Floats, interval: str, **more: Any) -> View:
    """Return the view of a policy that counts pairs and eliminates none."""
    left = np.ones(len(state.pulls), bool)
    return View("pairs", state.pulls.copy(), state.clicks.copy(), low, high, left, interval, **more)


def posterior_view(state: Any, **more: Any) -> View:
    """Return the view of a Thompson sampler: Beta(clicks + 1, pulls - clicks + 1) of each pair."""
    mean = (state.clicks + 1.0) / (state.pulls + 2.0)
    width = 2.0 * np.sqrt(mean * (1.0 - mean) / (state.pulls + 3.0))
    return pair_view(state, mean - width, mean + width, "posterior mean ± 2 standard deviations", **more)
