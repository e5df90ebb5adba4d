"""Numbers in sentences, with the figures that they deserve."""

import math

_YEAR = 365.0  # days
_NOTHING = 1e-7  # a share that is written as 0%


def percent(share: float | None, figures: int = 3) -> str:
    """Write a share in percent: rates with three figures, effects and other shares with two.

    >>> percent(0.0412345), percent(0.5), percent(0.0), percent(1.0), percent(None)
    ('4.12%', '50%', '0%', '100%', '-')
    >>> percent(0.1718, 2), percent(0.034, 2), percent(0.9996, 2), percent(12.346, 2), percent(-0.026, 2)
    ('17%', '3.4%', '100%', '1,235%', '-2.6%')
    """
    if share is None or not math.isfinite(share):
        return "-" if share is None or math.isnan(share) else "any"
    if abs(share) < _NOTHING:
        return "0%"
    decimals = max(0, figures - 1 - math.floor(math.log10(abs(100.0 * share)) + 1e-9))
    text = f"{100.0 * share:,.{decimals}f}"
    return f"{text.rstrip('0').rstrip('.') if decimals else text}%"


def rate_text(value: float, low: float, high: float, interval: bool = True) -> str:
    """Write a rate with its interval, or alone, with the decimals that the interval deserves.

    >>> rate_text(0.0487, 0.0412, 0.0552), rate_text(0.0487, 0.0412, 0.0552, interval=False)
    ('4.9% (4.1% to 5.5%)', '4.9%')
    >>> rate_text(0.5, 0.0126, 0.9874), rate_text(0.01234, 0.01201, 0.01267)
    ('50% (1% to 99%)', '1.23% (1.20% to 1.27%)')
    >>> rate_text(0.0002, 0.00004, 0.011)  # what is not nothing is not written as 0%
    '0.02% (0.004% to 1.1%)'
    """
    width = 100.0 * (high - low)
    if not math.isfinite(width):
        return percent(value)
    decimals = 2 if width <= 0.0 else max(0, -math.floor(math.log10(width / 3.0)))
    ends = [f"{100.0 * each:.{decimals}f}%" for each in (value, low, high)]
    both = zip((value, low, high), ends, strict=True)
    ends = [percent(each, 1) if each > 0.0 and float(text[:-1]) == 0.0 else text for each, text in both]
    return f"{ends[0]} ({ends[1]} to {ends[2]})" if interval else ends[0]


def rounded(value: float) -> float:
    """Return a number of visitors, clicks or days to two figures, which is what some dozens of rehearsals can tell.

    >>> rounded(1234567.0), rounded(8.23), rounded(math.inf)
    (1200000.0, 8.2, inf)
    """
    return float(f"{value:.2g}")


def count_text(value: float) -> str:
    """Write a number of visitors, clicks or days with the figures that it deserves.

    >>> count_text(1234567.0), count_text(8.23), count_text(432.0)
    ('1,200,000', '8.2', '430')
    """
    return f"{value:.1f}" if value < 9.95 else f"{rounded(value):,.0f}"


def days_text(days: float) -> str:
    """Write a stretch of days.

    >>> days_text(0.2), days_text(31.4), days_text(236.0), days_text(4000.0)
    ('less than a day', '31 days', '240 days', '11 years')
    """
    if days < 1.5:
        return "about a day" if days > 0.5 else "less than a day"
    if days < 2.0 * _YEAR:
        return f"{count_text(days)} days"
    return f"{count_text(days / _YEAR)} years"
