"""A watch on levels, worked out from all clicks at once: coins as lists of tosses, every moment by its definition."""

import math
from itertools import pairwise

from scipy.special import betaln


def kept_tosses(clicks, starts, luck):
    """Return the tosses of each coin (x, y, level of the next factor), oldest first.

    `clicks` are (levels shown, numbered factor after factor; probabilities of the cross; number of the decision).
    """
    coins = {}
    for shown, cross, number in clicks:
        for factor, level in enumerate(shown):
            following = shown[(factor + 1) % len(shown)]
            for other in range(starts[factor], starts[factor + 1]):
                if other != level and cross[level] > 0 < cross[other] and luck(number) < cross[other] / cross[level]:
                    coin = min(level, other), max(level, other), following
                    coins.setdefault(coin, []).append(level < other)
    return coins


def kept_throws(clicks, starts, luck):
    """Return the levels on which the clicks that are kept of each whole factor were, oldest first."""
    throws = {factor: [] for factor in range(len(starts) - 1)}
    for shown, cross, number in clicks:
        for factor, level in enumerate(shown):
            if luck(number) < min(cross[starts[factor] : starts[factor + 1]]) / cross[level]:
                throws[factor].append(level)
    return throws


def log_kt(heads, tosses):
    return betaln(heads + 0.5, tosses - heads + 0.5) - math.log(math.pi)


def log_two(first, second):
    """The log evidence that two lists of tosses are of two coins."""
    heads, tosses = sum(first) + sum(second), len(first) + len(second)
    if heads in (0, tosses):
        return -math.inf
    one = heads * math.log(heads / tosses) + (tosses - heads) * math.log(1 - heads / tosses)
    return log_kt(sum(first), len(first)) + log_kt(sum(second), len(second)) - one


def scatter(coins):
    """Squared differences of blocks of 16 in a row, for what one coin gives."""
    squared = expected = 50.0
    for tosses in coins.values():
        blocks = [sum(tosses[first : first + 16]) for first in range(0, len(tosses) - 15, 16)]
        for one, two in pairwise(blocks):
            squared += (one - two) ** 2
            expected += (one * (16 - two) + two * (16 - one)) / 16
    return max(1.0, squared / expected)


def most_changed(tosses, times=1.0):
    """The largest evidence of a change at a moment that is kept, over `times`, less the logarithm of its weight."""
    most, size = -math.inf, 0
    while len(tosses) >= 8 * 2**size:
        distance = 8 * 2**size
        last = len(tosses) // distance
        for number in range(max(1, last - 3), last + 1):
            then = number * distance
            if then < len(tosses):
                weight = math.log((size + 1) * (size + 2) * number * (number + 1))
                most = max(most, log_two(tosses[:then], tosses[then:]) / times - weight)
        size += 1
    return most
