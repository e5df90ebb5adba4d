"""What other lists would have earned, from logged lists and their probabilities: the estimators.

List i shows items a_1 .. a_K, position k earns r_k, and the value is the mean of the sum over k. With q the target's
probabilities and p the log's, the weight of position k is

    sips    q(a_1 .. a_K) / p(a_1 .. a_K)      of the whole list: always right, and hardly ever narrow
    rips    q(a_1 .. a_k) / p(a_1 .. a_k)      right if r_k does not depend on what stands below (McInerney et al. 2020)
    iips    q_k(a_k) / p_k(a_k)                right if r_k depends on its own item only (Li et al. 2018)

and the estimate is the mean over lists of the sum over k of weight times r_k; `snsips`, `snrips` and `sniips` divide by
the mean weight (of each position). `dm` is a model's mean for the target, and

    cascade-dr    dm + mean over lists of sum over k of  rips weight * (r_k - m_k(a_1 .. a_k)),

the estimator of Kiyohara et al. (WSDM 2022) for a model whose value of a beginning is what it expects at that position
and below: their sum telescopes to this one. m, the dependent click model (Guo et al. 2009) in its closed form, is
fitted to other lists than those that it corrects; a wrong one does no harm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rankone.analysis.what_if.off_policy import FOLDS, Estimate, effective_size, mean_estimate
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.seeds import generator


class LoggedLists(NamedTuple):
    """Lists of one length by number, the target's, and the weights that the log's probabilities allow for."""

    items: Ints  # (lists, positions)
    reward: Floats  # (lists, positions)
    target: Ints  # (target's lists, positions)
    probability: Floats  # (target's lists,)
    n_items: int  # all above are of the target alone
    weights: dict[str, Floats]  # sips, rips, iips: (lists, positions), sips (lists, 1); as far as they are known


def list_estimates(log: LoggedLists, seed: int) -> list[Estimate]:
    """Return every estimate of the target's mean outcome that the log allows for."""
    estimates = []
    for name, weight in log.weights.items():
        reward = log.reward.sum(axis=1, keepdims=True) if name == "sips" else log.reward
        worth = least_effective(weight)
        estimates += [
            mean_estimate(name, (weight * reward).sum(axis=1), worth),
            _normalised(f"sn{name}", weight, reward, worth),
        ]
    model, by_model = cross_fitted_lists(log, seed)
    estimates.append(Estimate("dm", float(by_model.mean()), np.nan, np.nan))
    if "rips" in log.weights:
        weight = log.weights["rips"]
        scores = by_model + (weight * (log.reward - model)).sum(axis=1)
        estimates.append(mean_estimate("cascade-dr", scores, least_effective(weight)))
    return estimates


def least_effective(weight: Floats) -> float:
    """How many lists of the target's own the log is worth, at the position where it is worth least."""
    return min(effective_size(each) for each in weight.T)


def _normalised(name: str, weight: Floats, reward: Floats, effective: float) -> Estimate:
    """Divide by the mean weight of each position; the spread to first order."""
    mean = weight.mean(axis=0)
    if not (mean > 0.0).all():
        return Estimate(name, np.nan, np.nan, effective)
    values = (weight * reward).mean(axis=0) / mean
    scores = (weight * (reward - values) / mean).sum(axis=1)
    return mean_estimate(name, scores, effective)._replace(value=float(values.sum()))


def cross_fitted_lists(log: LoggedLists, seed: int) -> tuple[Floats, Floats]:
    """Return what a model fitted to the other folds expects at each place, and of the target's lists.

    Of items that the log never shows it knows nothing: then it has no value for the target.
    """
    fold = generator(seed, "folds").integers(FOLDS, size=len(log.items))
    parts = [fold == number for number in range(FOLDS)]
    counts = np.array([count_lists(log.items[own], log.reward[own], log.n_items) for own in parts])
    model, mean = np.empty(log.reward.shape), np.empty(len(log.items))
    unknown = bool((log.target >= log.n_items).any())
    for own, counted in zip(parts, counts, strict=True):
        predict = cascade(counts.sum(axis=0) - counted)
        model[own] = predict(log.items[own])
        mean[own] = np.nan if unknown else float(log.probability @ predict(log.target).sum(axis=1))
    return model, mean


def count_lists(items: Ints, clicked: Floats, n_items: int) -> Floats:
    """Add up lists by item and position, (3, items, positions): clicks, impressions that were reached, last clicks.

    Impressions are reached at or above the last click of their list, or in a list without one. Clicks may be fractions,
    any above 0 counts as one where the last is sought.
    """
    positions = items.shape[1]
    below = np.cumsum(clicked[:, ::-1] > 0.0, axis=1)[:, ::-1]  # clicks from here on
    last = (clicked > 0.0) & (below == 1)
    reached = (below > 0) | (below[:, :1] == 0)
    cells, size = (items * positions + np.arange(positions)).ravel(), n_items * positions
    sums = [np.bincount(cells, each.ravel(), size) for each in (clicked, reached, last)]
    return np.array(sums, np.float64).reshape(3, n_items, positions)


def cascade(counts: Floats) -> Callable[[Ints], Floats]:
    """Fit the dependent click model; return what takes lists by number to the probability of a click at each place."""
    clicked, reached, last = counts
    attraction = clicked.sum(axis=1) / np.maximum(reached.sum(axis=1), 1.0)
    clicks = clicked.sum(axis=0)
    stops = np.where(clicks > 0.0, last.sum(axis=0) / np.maximum(clicks, 1e-300), 0.0)

    def predict(lists: Ints) -> Floats:
        attracted = attraction[lists]
        left = np.cumprod(1.0 - attracted * np.minimum(stops, 1.0), axis=1)
        attracted[:, 1:] *= left[:, :-1]
        return attracted

    return predict
