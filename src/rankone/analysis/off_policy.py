"""What another way of deciding would have earned, from logged decisions and their probabilities: the estimators.

A log has decisions a_t, outcomes r_t in [0, 1] and the probabilities p_t with which a_t was chosen. The target chooses
a with probability q(a). With w_t = q(a_t) / p_t and a model m(a) of the outcome:

    replay       mean of r_t where the target would have chosen the same (drawn with probability w_t / max w)
    ips          mean of w r
    snips        sum of w r / sum of w
    dm           sum over a of q(a) m(a)
    dr           dm + mean of w (r - m(a_t))
    switch-dr    the same, without the decisions whose weight is above tau
    shrunk-dr    the same, with w replaced by w lambda / (w^2 + lambda)

Horvitz, Thompson (1952); Li et al. (2011); Swaminathan, Joachims (2015); Dudik et al. (2011); Wang, Agarwal, Dudik
(2017), switch; Su et al. (2020), shrinkage. m comes from other decisions than those that it corrects (cross-fitting).
tau and lambda are those with the smallest estimated squared error: variance, and the bias that leaving out may cost.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from rankone.analysis.product_fit import Design
from rankone.clicks.counts.count_arrays import Floats, Ints
from rankone.numerics.seeds import generator

FOLDS = 5


@dataclasses.dataclass(frozen=True)
class Logged:
    """Logged decisions by number, and what the target would do."""

    action: Ints  # (decisions,): number of the combination
    reward: Floats
    weight: Floats  # (decisions,): q(a_t) / p_t
    target: Floats  # (combinations,): q
    places: Ints  # (combinations, factors): levels of each combination
    sizes: tuple[int, ...]
    unknown: float = 0.0  # share of the target in levels that the log never shows


@dataclasses.dataclass(frozen=True)
class Estimate:
    """One estimate and its standard error; NaN where there is none."""

    estimator: str
    value: float
    se: float


def estimates(log: Logged, seed: int = 0) -> list[Estimate]:
    """Return every estimate of the target's mean outcome.

    How wrong a model is, no log says; and weights chosen by their errors leave out a bias that no standard error knows.
    So `dm`, `switch-dr` and `shrunk-dr` have none. Of levels that the log never shows the model knows nothing: then all
    that rest on it have no value either.
    """
    w, r = log.weight, log.reward
    model, by_model = cross_fitted(log, seed)
    if log.unknown > 0.0:
        by_model = np.full(len(r), np.nan)
    scores = w * (r - model) + by_model
    return [
        _replay(log, seed),
        _mean("ips", w * r),
        _self_normalised(w, r),
        Estimate("dm", float(by_model.mean()), float("nan")),
        _mean("dr", scores),
        _chosen("switch-dr", by_model, r - model, w, [np.where(w <= cap, w, 0.0) for cap in _caps(w)]),
        _chosen("shrunk-dr", by_model, r - model, w, [w * cap / (w * w + cap) for cap in _caps(w) ** 2]),
    ]


def _mean(name: str, scores: Floats) -> Estimate:
    return Estimate(name, float(scores.mean()), float(scores.std(ddof=1) / np.sqrt(len(scores))))


def _self_normalised(w: Floats, r: Floats) -> Estimate:
    total = float(w.sum())
    if total <= 0.0:
        return Estimate("snips", float("nan"), float("nan"))
    value = float((w * r).sum() / total)
    return Estimate("snips", value, float(np.sqrt((w * w * (r - value) ** 2).sum()) / total))


def _replay(log: Logged, seed: int) -> Estimate:
    """Keep a decision with probability w / max w: what is left is as if the target had decided."""
    top = float(log.weight.max(initial=0.0))
    kept = generator(seed, "replay").random(len(log.weight)) * top < log.weight
    if top <= 0.0 or kept.sum() < 2:
        return Estimate("replay", float("nan"), float("nan"))
    return _mean("replay", log.reward[kept])


def cross_fitted(log: Logged, seed: int) -> tuple[Floats, Floats]:
    """Return for each decision m(a_t) and the target's mean by m, m fitted to the other folds: a product of levels."""
    fold = generator(seed, "folds").integers(FOLDS, size=len(log.reward))
    size = len(log.target)
    model, mean = np.zeros(len(log.reward)), np.zeros(len(log.reward))
    for number in range(FOLDS):
        rest, own = fold != number, fold == number
        shown = np.bincount(log.action[rest], minlength=size).astype(float)
        clicked = np.bincount(log.action[rest], log.reward[rest], minlength=size).astype(float)
        rates = _product(log, shown, clicked)
        model[own], mean[own] = rates[log.action[own]], float(log.target @ rates)
    return model, mean


def _product(log: Logged, shown: Floats, clicked: Floats) -> Floats:
    """Click rates of all combinations by the likeliest product."""
    if not clicked.sum():
        return np.zeros(len(shown))
    seen = shown > 0.0
    design = Design.of(log.places[seen], log.sizes, shown[seen], clicked[seen])
    starts = np.concatenate([[0], np.cumsum(log.sizes)[:-1]])
    x = design.maximise().x[log.places + starts].sum(axis=1)
    rates: Floats = np.minimum(np.exp(x), 1.0)
    return np.where(np.isfinite(rates), rates, 0.0)


def _caps(w: Floats) -> Floats:
    """Weights to try as the largest: quantiles, and none left out."""
    positive = w[w > 0.0]
    if not len(positive):
        return np.ones(1)
    return np.unique(np.append(np.quantile(positive, [0.5, 0.75, 0.9, 0.95, 0.99]), positive.max()))


def _chosen(name: str, by_model: Floats, residual: Floats, w: Floats, weights: list[Floats]) -> Estimate:
    """Take the weights with the smallest squared error: variance, and squared, what they leave out of w."""
    n, best, least = len(w), w, np.inf
    for each in [*weights, w]:
        scores = by_model + each * residual
        bias = float(((w - each) * residual).mean())
        noise = float(((w - each) * residual).var() / n)
        error = float(scores.var() / n) + max(bias * bias - noise, 0.0)
        if error < least:
            best, least = each, error
    return Estimate(name, float((by_model + best * residual).mean()), float("nan"))
