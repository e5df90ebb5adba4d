"""Off-policy estimates of lists, one list at a time and by their definitions."""

import itertools

import numpy as np


def uniform_lists(n_items, positions):
    """Every list, each with the same probability."""
    lists = list(itertools.permutations(range(n_items), positions))
    return {each: 1.0 / len(lists) for each in lists}


def plackett_luce(scores, positions):
    """Probability of every list: items drawn one by one in proportion to their scores."""
    found = {}
    for each in itertools.permutations(range(len(scores)), positions):
        left, chance = float(sum(scores)), 1.0
        for item in each:
            chance *= scores[item] / left
            left -= scores[item]
        found[each] = chance
    return found


def beginning(policy, items):
    return sum(chance for each, chance in policy.items() if each[: len(items)] == tuple(items))


def at_position(policy, place, item):
    return sum(chance for each, chance in policy.items() if each[place] == item)


def weights(kind, target, logger, shown):
    """Weight of each position of one shown list."""
    if kind == "sips":
        return [target.get(tuple(shown), 0.0) / logger[tuple(shown)]] * len(shown)
    if kind == "rips":
        ends = range(1, len(shown) + 1)
        return [beginning(target, shown[:end]) / beginning(logger, shown[:end]) for end in ends]
    return [at_position(target, k, item) / at_position(logger, k, item) for k, item in enumerate(shown)]


def expected(kind, target, logger, clicks):
    """What an estimator by weights is on average; `clicks(list)` are the click probabilities of its positions."""
    return sum(
        chance * float(np.dot(weights(kind, target, logger, each), clicks(each))) for each, chance in logger.items()
    )


def value(policy, clicks):
    return sum(chance * float(np.sum(clicks(each))) for each, chance in policy.items())


def cascade_dr(target, logger, lists, rewards, q, positions):
    """Kiyohara et al. (2022), by their recursion: q(items so far) is what a model expects there and below."""
    items = sorted({item for each in logger for item in each})

    def go_on(above):
        """The target's mean of q after these items."""
        mass = beginning(target, above) if above else 1.0
        if mass == 0.0:
            return 0.0
        return sum(beginning(target, (*above, item)) / mass * q((*above, item)) for item in items if item not in above)

    total = 0.0
    for shown, reward in zip(lists, rewards, strict=True):
        before = 1.0
        for k in range(positions):
            above, here = tuple(shown[:k]), tuple(shown[: k + 1])
            now = beginning(target, here) / beginning(logger, here)
            total += now * (reward[k] - q(here)) + before * go_on(above)
            before = now
    return total / len(lists)
