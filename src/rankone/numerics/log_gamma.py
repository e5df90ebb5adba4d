"""log Gamma with the same bits in compiled code and in plain Python, whose `math.lgamma` is not the C library's."""

import contextlib
import ctypes
import ctypes.util
import math
from typing import Any

from numba.extending import overload

from rankone.compiling.compiled import STEP

_lgamma: Any = math.lgamma  # where the C library cannot be found, the last bits may differ
with contextlib.suppress(OSError, TypeError, AttributeError):
    _lgamma = ctypes.CDLL(ctypes.util.find_library("m") or None).lgamma
    _lgamma.restype, _lgamma.argtypes = ctypes.c_double, [ctypes.c_double]


def log_gamma(x: float) -> float:
    """Return the logarithm of Gamma(x).

    >>> round(log_gamma(5.0), 12) == round(math.log(24.0), 12)
    True
    """
    return float(_lgamma(x))


_OPTIONS: Any = STEP


@overload(log_gamma, jit_options=_OPTIONS, strict=False)
def _compiled_log_gamma(x: Any) -> Any:
    def implementation(x: Any) -> Any:
        return math.lgamma(x)

    return implementation
