"""Views that policies share: what a policy believes, as it shows it to those who watch (`view` of its contract)."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankone.kernels.policy import View
from rankone.numerics.arrays import Floats
from rankone.policies.combination_policy import allowed_mask


def combination_view(state: Any, low: Floats, high: Floats, interval: str, **more: Any) -> View | None:
    """Return the view of a policy that counts combinations and eliminates none; None where it keeps only some."""
    if len(getattr(state, "keys", ())):
        return None
    left = np.ones(len(state.pulls), bool) & allowed_mask(state.sizes, state.forbidden)
    about = "pairs" if len(state.sizes) == 2 else "combinations"
    return View(about, state.pulls.copy(), state.clicks.copy(), low, high, left, interval, **more)


def posterior_view(state: Any, **more: Any) -> View | None:
    """Return the view of a Thompson sampler: Beta(clicks + 1, pulls - clicks + 1) of each combination."""
    mean = (state.clicks + 1.0) / (state.pulls + 2.0)
    width = 2.0 * np.sqrt(mean * (1.0 - mean) / (state.pulls + 3.0))
    return combination_view(state, mean - width, mean + width, "posterior mean ± 2 standard deviations", **more)
