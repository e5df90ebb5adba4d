"""Ratios, shares and their intervals in words. Plain Python: a client reads a report too."""

from rankone.wording.numbers import percent

FEW_CLICKS, FEW_OUTCOMES = 10, 30  # with fewer of a level, it neither leads nor is compared
FEW = "not enough data"
APART = "forbidden with the leader"
BEATEN = "beaten by the leader"
UNLIKE = "not known: outcomes do not come back alike"


def against_text(ratio: float | None, low: float, high: float | None) -> str:
    """Return how a level compares with the leading one.

    >>> against_text(0.82, 0.74, 0.91), against_text(None, 0.0, None)
    ('18% fewer, between 9% and 26%', 'not enough data')
    >>> against_text(1.0, 0.82, 1.0)
    'as many, at most 18% fewer'
    """
    if ratio is None:
        return FEW
    alike, between = abs(ratio - 1.0) < 0.0005, between_text(low, high)
    if alike and between.endswith("%"):  # there is no "fewer" or "more" before it that it could borrow
        between += " fewer" if low < 1.0 else " more"
    return f"{'as many' if alike else compared_text(ratio)}, {between}"


def compared_text(ratio: float) -> str:
    """Return how many clicks there are for one of another.

    >>> compared_text(0.82), compared_text(1.1), compared_text(2.345)
    ('18% fewer', '10% more', '2.3 times as many')
    """
    if ratio >= 2.0:
        return f"{ratio:,.{1 if ratio < 9.95 else 0}f} times as many"
    return f"{percent(abs(ratio - 1.0), 2)} {'fewer' if ratio < 1.0 else 'more'}"


def between_text(low: float, high: float | None) -> str:
    """Return an interval of such ratios.

    >>> between_text(0.74, 0.91), between_text(0.74, 1.03), between_text(1.03, 1.22), between_text(0.0, 0.8)
    ('between 9% and 26%', 'between 26% fewer and 3% more', 'between 3% and 22%', 'at least 20%')
    >>> between_text(0.74, 1.0)
    'at most 26%'
    """
    if high is None:
        return "no bound yet" if low <= 0.0 else f"at least {compared_text(low)}"
    if low <= 0.0 and 0.9995 < high <= 1.0:
        return "not more"
    if low <= 0.0:
        return f"at least {percent(1.0 - high, 2)}" if high <= 1.0 else f"at most {compared_text(high)}"
    if high == 1.0:  # cut there, by what was proven
        return f"at most {percent(1.0 - low, 2)}"
    if high <= 1.0:
        return f"between {percent(1.0 - high, 2)} and {percent(1.0 - low, 2)}"
    if low >= 1.0 and high < 2.0:
        return f"between {percent(low - 1.0, 2)} and {percent(high - 1.0, 2)}"
    return f"between {compared_text(low)} and {compared_text(high)}"
