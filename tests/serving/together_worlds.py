"""Visitors of 2 x 3 x 2 levels whose clicks are a product, but for what moves, and what a report would say of them."""

import itertools

import numpy as np

import rankone
from rankone.compiling.compiled import compiled
from rankone.kernels.together import count_all_together, start_together
from rankone.kernels.watching import scattered, start_watch, watch_outcomes
from rankone.serving.interactions import strongest

SIZES = (2, 3, 2)
STARTS = np.concatenate([[0], np.cumsum(SIZES)])
MEANS = rankone.Product({"a": [0.8, 0.6], "b": [0.9, 0.6, 0.5], "c": [0.8, 0.7]}).means
EVEN = [[0.5, 0.5], [0.4, 0.3, 0.3], [0.5, 0.5]]


def visits(rng, rates, visitors, mixes):
    """Outcomes of visitors who see each level of a factor with the chances in `mixes`; `rates` may have a row each."""
    levels = [rng.choice(size, visitors, p=mix) for size, mix in zip(SIZES, mixes, strict=True)]
    clicked = (rng.random(visitors) < rates(levels)).astype(np.int64)
    own = [np.asarray(mix)[level] for mix, level in zip(mixes, levels, strict=True)]
    crosses = np.concatenate(
        [
            np.prod([each for other, each in enumerate(own) if other != place], axis=0)[:, None] * np.asarray(mix)
            for place, mix in enumerate(mixes)
        ],
        axis=1,
    )
    return np.stack(levels, axis=1) + STARTS[:-1], clicked, crosses


def scattering(rng, visitors, hour, scatter):
    """Clicks of combinations that scatter by hours of so many visitors, with this standard deviation of logarithms."""
    times = np.exp(rng.normal(0.0, scatter, (-(-visitors // hour), *SIZES)))
    when = np.arange(visitors) // hour
    return visits(rng, lambda levels: 0.3 * MEANS[tuple(levels)] * times[(when, *levels)], visitors, EVEN)


def drifting(rng, visitors, times):
    """A level of `a` has that many times the clicks from half-way on, when the policy shifts to one level of `b`."""
    parts = []
    for now, mix in ((1.0, EVEN[1]), (times, [0.9, 0.05, 0.05])):

        def rates(levels, now=now):
            return 0.3 * MEANS[tuple(levels)] * np.where(levels[0] == 1, now, 1.0)

        parts.append(visits(rng, rates, visitors // 2, [EVEN[0], mix, EVEN[2]]))
    return tuple(np.concatenate(each) for each in zip(*parts, strict=True))


def counted(found):
    together = start_together(SIZES)
    compiled(count_all_together, count_all_together.__module__)(together, *found)
    return together


def allowance(found):
    """Return how much more than coins the clicks scatter, as alarms measure it."""
    watch = start_watch(SIZES)
    compiled(watch_outcomes, watch_outcomes.__module__)(watch, *found, np.arange(len(found[1])))
    return scattered(watch)


def struck(together, scatter=1.0):
    """Return the first finding of an experiment if it is one."""
    living = [np.arange(first, end) for first, end in itertools.pairwise(together.starts)]
    found = strongest(together, living, scatter)
    return found[0] if found and found[0].p < 0.05 else None
