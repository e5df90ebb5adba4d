"""Effects: how many more or fewer clicks, with an interval. Plain Python: a client reads a report too."""

import math

from rankone.wording.numbers import percent

FEW_CLICKS, FEW_OUTCOMES = 10, 30  # with fewer of a level, it neither leads nor is compared
FEW = "not enough data"
APART = "forbidden with the leader"
BEATEN = "beaten by the leader"
UNLIKE = "not known: outcomes are not reported equally"
_WIDE = 20.0  # an interval that holds 0% and is wider than this ratio of its ends says nothing


def signed_percent(ratio: float) -> str:
    """Write a ratio as a change in percent.

    >>> signed_percent(1.17), signed_percent(0.5), signed_percent(1.0), signed_percent(1.002), signed_percent(22.0)
    ('+17%', '-50%', '0%', '+0.2%', '+2,100%')
    """
    change = ratio - 1.0
    return f"{'+' if change >= 1e-7 else ''}{percent(change, 2)}"


def effect_text(ratio: float | None, low: float, high: float | None, wins: bool = False) -> str:
    """Write a ratio with its interval as people write an effect; what `wins` is better, however little.

    >>> effect_text(1.17, 1.02, 1.33), effect_text(0.5, 0.14, 1.0), effect_text(None, 0.0, None)
    ('+17% (+2% to +33%)', '-50% (-86% to 0%)', 'not enough data')
    >>> effect_text(0.02, 0.0, 22.0), effect_text(1.59, 1.24, None), effect_text(math.inf, 1.24, math.inf)
    ('not enough data', '+59% (at least +24%)', 'at least +24%')
    >>> effect_text(1.59, 1.0, 2.06, wins=True)
    '+59% (above 0% to +106%)'
    """
    most = math.inf if high is None else high
    if ratio is None or math.isnan(ratio) or math.isnan(low):
        return FEW
    if low < 1.0 < most and not most <= _WIDE * low:
        return FEW
    above = wins and signed_percent(low) == "0%"
    least = "above 0%" if above else f"at least {signed_percent(low)}"
    if math.isinf(ratio):
        return least
    between = f"{'above 0%' if above else signed_percent(low)} to {signed_percent(most)}" if most < math.inf else least
    return f"{signed_percent(ratio)} ({between})"
