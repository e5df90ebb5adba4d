"""The exponent of a power law through measured means: a line through the logarithms."""

import numpy as np
import numpy.typing as npt


def fit_power_law(x: npt.ArrayLike, y: npt.ArrayLike, y_se: npt.ArrayLike) -> tuple[float, float]:
    """Return the exponent of a power law through points that weigh the same, and its error, of noise and lack of fit.

    >>> fit_power_law([1, 2, 4, 8], [3, 6, 12, 24], [0.1, 0.1, 0.1, 0.1])[0]
    1.0
    """
    log_x, log_y = np.log(np.asarray(x, dtype=np.float64)), np.log(np.asarray(y, dtype=np.float64))
    noise = float(np.mean((np.asarray(y_se, dtype=np.float64) / np.exp(log_y)) ** 2))
    away = log_x - log_x.mean()
    spread = float(away @ away)
    exponent = float(away @ log_y) / spread
    residual = log_y - log_y.mean() - exponent * away
    scatter = float(residual @ residual) / max(1, len(log_x) - 2)
    return round(exponent, 12), float((max(scatter, noise) / spread) ** 0.5)
