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
and below: their sum telescopes to this one. m is fitted to other lists than those that it corrects.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from rankone.analysis.what_if.list_baselines import BASELINES, count_lists
from rankone.analysis.what_if.off_policy import FOLDS, Estimate, effective_size, mean_estimate
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.seeds import generator


@dataclasses.dataclass(frozen=True)
class LoggedLists:
    """Lists of one length by number, the target's, and the weights that the log's probabilities allow for."""

    items: Ints  # (lists, positions)
    reward: Floats  # (lists, positions)
    target: Ints  # (target's lists, positions)
    probability: Floats  # (target's lists,)
    n_items: int  # all above are of the target alone
    weights: dict[str, Floats]  # sips, rips, iips: (lists, positions), sips (lists, 1); as far as they are known


def list_estimates(log: LoggedLists, baseline: str, seed: int) -> list[Estimate]:
    """Return every estimate of the target's mean outcome that the log allows for."""
    found = []
    for name, weight in log.weights.items():
        reward = log.reward.sum(axis=1, keepdims=True) if name == "sips" else log.reward
        worth = least_effective(weight)
        found += [
            mean_estimate(name, (weight * reward).sum(axis=1), worth),
            _normalised(f"sn{name}", weight, reward, worth),
        ]
    model, by_model = cross_fitted_lists(log, baseline, seed)
    found.append(Estimate("dm", float(by_model.mean()), np.nan, np.nan))
    if "rips" in log.weights:
        weight = log.weights["rips"]
        scores = by_model + (weight * (log.reward - model)).sum(axis=1)
        found.append(mean_estimate("cascade-dr", scores, least_effective(weight)))
    return found


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
    return dataclasses.replace(mean_estimate(name, scores, effective), value=float(values.sum()))


def cross_fitted_lists(log: LoggedLists, baseline: str, seed: int) -> tuple[Floats, Floats]:
    """Return what a model fitted to the other folds expects at each place, and of the target's lists.

    Of items that the log never shows it knows nothing: then it has no value for the target.
    """
    fold = generator(seed, "folds").integers(FOLDS, size=len(log.items))
    parts = [fold == number for number in range(FOLDS)]
    counts = [count_lists(log.items[own], log.reward[own], log.n_items) for own in parts]
    total = type(counts[0])(*(np.sum(each, axis=0) for each in zip(*counts, strict=True)))
    model, mean = np.empty(log.reward.shape), np.empty(len(log.items))
    unknown = bool((log.target >= log.n_items).any())
    for own, counted in zip(parts, counts, strict=True):
        predict = BASELINES[baseline](total.less(counted))
        model[own] = predict(log.items[own])
        mean[own] = np.nan if unknown else float(log.probability @ predict(log.target).sum(axis=1))
    return model, mean
