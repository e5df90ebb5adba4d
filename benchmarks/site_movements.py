"""How the click rate of a whole site may move while an experiment runs: what verdicts have to bear."""

from collections.abc import Callable

import numpy as np

from rankone.numerics.arrays import Floats

_DAY = 2_000  # visitors


def _step(times: float) -> Callable[[Floats], Floats]:
    return lambda passed: np.where(passed < 0.25, 1.0, times)


#: By name, the factor of the site after each part of all visitors, from 0 to 1; the cycle counts visitors.
_MOVEMENTS: dict[str, Callable[[Floats], Floats]] = {
    "steady": np.ones_like,
    "doubled": _step(2.0),
    "up by half": _step(1.5),
    "halved": _step(0.5),
    "trend": lambda passed: 0.5 + passed,
    "two changes": lambda passed: np.select([passed < 1 / 3, passed < 2 / 3], [1.0, 2.0], 0.5),
}
MOVEMENTS = (*_MOVEMENTS, "cycle")


def movement(name: str, visitors: int) -> Floats:
    """Return the factor of the site's click rate at each visitor.

    Args:
        name: "steady"; "doubled", "up by half" and "halved" after a quarter of the visitors; "trend", from a half to
            one and a half in a straight line; "two changes", doubled after a third and a quarter of that after two
            thirds; "cycle", a day of 2,000 visitors in which the rate goes up and down by 60%.
        visitors: how many.

    >>> movement("doubled", 4).tolist(), movement("two changes", 3).tolist()
    ([1.0, 2.0, 2.0, 2.0], [1.0, 2.0, 0.5])
    """
    if name == "cycle":
        return np.asarray(1.0 + 0.6 * np.sin(2.0 * np.pi * np.arange(visitors) / _DAY))
    return np.asarray(_MOVEMENTS[name](np.arange(visitors) / visitors))
