"""Attractions of a query's items, shrunk towards what the items of the query have in common (empirical Bayes).

The item with the highest fitted attraction owes that to luck, too, and an item that was shown three times has an
attraction of 0 or 1. Here the attractions of a query are draws from a Beta distribution whose mean and strength the
items tell (Carlin and Louis, "Bayes and empirical Bayes methods", chapter 3; averaged over a grid of means and
strengths by their likelihood, so that few items do not claim more than they know). The clicks of an item are those of
the position-based model with the examination that was fitted, which is taken as known. Everything is summed on a grid
of attractions; an item that is known more finely than the grid keeps what was fitted but for the pull of the prior.
"""

from itertools import pairwise
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from rankone.clicks.counts.count_arrays import Cells, summed
from rankone.numerics.arrays import Floats, Ints

_NODES = 801
_MEANS, _STRENGTHS = 24, 14
_FINE = 4.0  # spacings of the grid that a standard error must have


class Shrunken(NamedTuple):
    """Posterior mean and the ends of an interval, of each item."""

    mean: Floats
    low: Floats
    high: Floats


def shrink_attractions(cells: Cells, attraction: Floats, examination: Floats, level: float = 0.95) -> Shrunken:
    """Shrink the fitted attractions of every query; `examination` is that of each cell's position."""
    nodes, priors, strength, centre = _grid()
    result = Shrunken(*(np.zeros(cells.n_items) for _ in range(3)))
    for first, last in pairwise(cells.query_items.tolist()):
        inside = slice(int(cells.item_cells[first]), int(cells.item_cells[last]))
        item = cells.item[inside] - first
        each = _log_likelihood(
            nodes, item, examination[inside], cells.impressions[inside], cells.clicks[inside], last - first
        )
        posterior, pull = _posterior(each, priors, strength, centre)
        own = slice(first, last)
        result.mean[own] = posterior @ nodes
        for ends, share in ((result.low, (1.0 - level) / 2.0), (result.high, (1.0 + level) / 2.0)):
            ends[own] = nodes[np.minimum((posterior.cumsum(axis=1) < share).sum(axis=1), len(nodes) - 1)]
        _keep_the_well_known(
            result, own, attraction[own], item, examination[inside], cells.impressions[inside], nodes, pull, level
        )
    return result


def _grid() -> tuple[Floats, Floats, Floats, Floats]:
    """Nodes of attraction, the weight of each under each prior, and the priors' strengths and means."""
    logits = np.linspace(np.log(1e-4 / (1 - 1e-4)), np.log((1 - 1e-4) / 1e-4), _NODES)
    nodes = 1.0 / (1.0 + np.exp(-logits))
    means = 1.0 / (1.0 + np.exp(-np.linspace(-6.0, 4.0, _MEANS)))
    centre, strength = (grid.ravel() for grid in np.meshgrid(means, np.geomspace(0.7, 400.0, _STRENGTHS)))
    log = np.outer(centre * strength, np.log(nodes)) + np.outer((1.0 - centre) * strength, np.log1p(-nodes))
    weights = np.exp(log - log.max(axis=1, keepdims=True))  # Beta density times the width of a step of the logit
    return nodes, weights / weights.sum(axis=1, keepdims=True), strength, centre


def _log_likelihood(nodes: Floats, item: Ints, g: Floats, n: Floats, c: Floats, items: int) -> Floats:
    """Of each item at each node, up to a constant of the item."""
    total = summed(item, c, items)[:, None] * np.log(nodes)
    for level in np.unique(g):  # cells at positions of the same examination together
        there = g == level
        misses = summed(item[there], (n - c)[there], items)
        total += misses[:, None] * np.log1p(-np.minimum(level, 1.0) * nodes)
    return total - total.max(axis=1, keepdims=True)


def _posterior(each: Floats, priors: Floats, strength: Floats, centre: Floats) -> tuple[Floats, tuple[float, float]]:
    """Weights of the nodes for each item, and strength and mean of the average prior."""
    likelihood = np.exp(each)
    marginal = likelihood @ priors.T + 1e-300  # (items, priors)
    log = np.log(marginal).sum(axis=0)
    share = np.exp(log - log.max())
    share /= share.sum()
    posterior = likelihood * ((share / marginal) @ priors)
    posterior /= posterior.sum(axis=1, keepdims=True)
    return posterior, (float(share @ strength), float(share @ centre))


def _keep_the_well_known(
    posterior: Shrunken,
    own: slice,
    fitted: Floats,
    item: Ints,
    g: Floats,
    n: Floats,
    nodes: Floats,
    pull: tuple[float, float],
    level: float,
) -> None:
    """Items whose likelihood is too narrow for the grid: the fitted value, moved a little by the prior."""
    chance = np.clip(fitted[item] * g, 1e-9, 1.0 - 1e-9)
    information = summed(item, n * chance / (1.0 - chance), len(fitted))
    kept = np.clip(fitted, 1e-9, 1.0 - 1e-9)
    error = kept / np.sqrt(np.maximum(information, 1e-300))  # of the attraction
    step = np.log(nodes[1] / (1 - nodes[1])) - np.log(nodes[0] / (1 - nodes[0]))
    narrow = error / (kept * (1.0 - kept)) < _FINE * step
    looks = kept * (1.0 - kept) / np.maximum(error**2, 1e-300)
    mean = (looks * kept + pull[0] * pull[1]) / (looks + pull[0])
    reach = NormalDist().inv_cdf(0.5 + level / 2.0) * error
    for ends, values in ((posterior.mean, mean), (posterior.low, mean - reach), (posterior.high, mean + reach)):
        ends[own] = np.where(narrow, np.clip(values, 0.0, 1.0), ends[own])
