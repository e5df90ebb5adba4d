"""The exponent of a power law through measured means: a weighted line through the logarithms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class PowerLaw(NamedTuple):
    """``y = factor * x ** exponent``, with the standard error of the exponent."""

    exponent: float
    se: float
    factor: float


def fit_power_law(x: npt.ArrayLike, y: npt.ArrayLike, y_se: npt.ArrayLike) -> PowerLaw:
    """Fit a power law to means `y` with standard errors `y_se`, each weighted by its relative error.

    The standard error covers both noise and lack of fit: it grows where the points scatter more than their errors say.

    >>> fit_power_law([1, 2, 4, 8], [3, 6, 12, 24], [0.1, 0.1, 0.1, 0.1]).exponent
    1.0
    """
    log_x, log_y = np.log(np.asarray(x, dtype=np.float64)), np.log(np.asarray(y, dtype=np.float64))
    relative = np.asarray(y_se, dtype=np.float64) / np.exp(log_y)
    weights = 1.0 / np.maximum(relative, 1e-3) ** 2  # points without spread must not outweigh all others
    mean_x, mean_y = np.average(log_x, weights=weights), np.average(log_y, weights=weights)
    spread = float(weights @ (log_x - mean_x) ** 2)
    exponent = float(weights @ ((log_x - mean_x) * (log_y - mean_y))) / spread
    residual = log_y - mean_y - exponent * (log_x - mean_x)
    freedom = len(log_x) - 2
    scatter = float(weights @ residual**2) / freedom if freedom > 0 else 1.0
    se = float(np.sqrt(max(1.0, scatter) / spread))
    return PowerLaw(round(exponent, 12), se, float(np.exp(mean_y - exponent * mean_x)))
