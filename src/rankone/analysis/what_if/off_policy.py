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
    adaptive     the scores of dr, m from earlier decisions, in a mean that keeps their spread (`adaptive_weights`)

Horvitz, Thompson (1952); Li et al. (2011); Swaminathan, Joachims (2015); Dudik et al. (2011); Wang, Agarwal, Dudik
(2017), switch; Su et al. (2020), shrinkage; Hadad et al. (2021), adaptive. m comes from other decisions than those that
it corrects (cross-fitting). tau and lambda are those with the smallest estimated squared error: variance, and the bias
that leaving out may cost.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from rankone.analysis.what_if.adaptive_weights import fitted_before, stabilising_weights
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.product_fit import Design
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
    """One estimate, its standard error and how many of the target's own decisions it is worth; NaN: there is none."""

    estimator: str
    value: float
    se: float
    effective: float
    cap: float = np.inf  # of the weights: tau of switch-dr, the square root of shrunk-dr's lambda


def effective_size(weight: Floats) -> float:
    """How many decisions of the target's own weighted ones are worth (Kish 1965): sum squared, over sum of squares.

    >>> effective_size(np.array([2.0, 2.0, 0.0]))
    2.0
    """
    squares = float((weight * weight).sum())
    return float(weight.sum()) ** 2 / squares if squares > 0.0 else 0.0


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
    worth = effective_size(w)
    return [
        _replay(log, seed),
        mean_estimate("ips", w * r, worth),
        _weighted("snips", w, r, worth),
        Estimate("dm", float(by_model.mean()), np.nan, np.nan),
        mean_estimate("dr", w * (r - model) + by_model, worth),
        _chosen("switch-dr", by_model, r - model, w, lambda cap: np.where(w <= cap, w, 0.0), worth),
        _chosen("shrunk-dr", by_model, r - model, w, lambda cap: w * cap**2 / (w * w + cap**2), worth),
        _adaptive(log),
    ]


def mean_estimate(name: str, scores: Floats, effective: float) -> Estimate:
    """Return the mean of scores with its standard error; that of a single one is not known."""
    error = float(scores.std(ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else np.nan
    return Estimate(name, float(scores.mean()), error, effective)


def _weighted(name: str, weight: Floats, scores: Floats, effective: float) -> Estimate:
    """Weighted mean, its spread as found in the scores."""
    total = float(weight.sum())
    if total <= 0.0:
        return Estimate(name, np.nan, np.nan, 0.0)
    value = float((weight * scores).sum() / total)
    return Estimate(name, value, float(np.sqrt((weight**2 * (scores - value) ** 2).sum()) / total), effective)


def _adaptive(log: Logged) -> Estimate:
    """Mean of scores, weighted so that each has the same spread: for logs of a policy that learned meanwhile."""
    steady = stabilising_weights(log.action, log.weight, log.target)
    model, by_model = fitted_before(log.action, log.reward, log.target, lambda *counts: _product(log, *counts))
    scores = log.weight * (log.reward - model) + (by_model if log.unknown == 0.0 else np.nan)
    return _weighted("adaptive", steady, scores, effective_size(steady * log.weight))


def _replay(log: Logged, seed: int) -> Estimate:
    """Keep a decision with probability w / max w: what is left is as if the target had decided."""
    top = float(log.weight.max(initial=0.0))
    kept = generator(seed, "replay").random(len(log.weight)) * top < log.weight
    if top <= 0.0 or kept.sum() < 2:
        return Estimate("replay", np.nan, np.nan, float(kept.sum()))
    return mean_estimate("replay", log.reward[kept], float(kept.sum()))


def fold_rates(log: Logged, seed: int) -> tuple[Ints, Floats]:
    """Return the fold of each decision, and for each fold the click rates of all combinations by the other folds."""
    size = len(log.target)
    fold = generator(seed, "folds").integers(FOLDS, size=len(log.reward))
    cells = fold * size + log.action
    shown = np.bincount(cells, minlength=FOLDS * size).astype(float).reshape(FOLDS, size)
    clicked = np.bincount(cells, log.reward, FOLDS * size).reshape(FOLDS, size)
    others = [(shown.sum(axis=0) - shown[own], clicked.sum(axis=0) - clicked[own]) for own in range(FOLDS)]
    return fold, np.array([_product(log, *counts) for counts in others])


def cross_fitted(log: Logged, seed: int) -> tuple[Floats, Floats]:
    """Return for each decision m(a_t) and the target's mean by m, m fitted to the other folds: a product of levels."""
    fold, rates = fold_rates(log, seed)
    return rates[fold, log.action], (rates @ log.target)[fold]


def _product(log: Logged, shown: Floats, clicked: Floats) -> Floats:
    """Click rates of all combinations by the likeliest product."""
    if not clicked.sum():
        return np.zeros(len(shown))
    seen = shown > 0.0
    design = Design.of(log.places[seen], log.sizes, shown[seen], clicked[seen])
    x = design.maximise().x[log.places + design.starts[:-1]].sum(axis=1)
    return np.minimum(np.exp(x), 1.0)


def _caps(w: Floats) -> Floats:
    """Weights to try as the largest: quantiles, and none left out."""
    positive = w[w > 0.0]
    if not len(positive):
        return np.ones(1)
    return np.unique(np.append(np.quantile(positive, [0.5, 0.75, 0.9, 0.95, 0.99]), positive.max()))


def _chosen(
    name: str, by_model: Floats, residual: Floats, w: Floats, capped: Callable[[float], Floats], worth: float
) -> Estimate:
    """Take the weights with the smallest squared error: variance, and squared, what they leave out of w."""
    n, best, chosen, least = len(w), w, np.inf, np.inf
    for cap in [*_caps(w).tolist(), np.inf]:
        each = capped(cap) if np.isfinite(cap) else w
        scores = by_model + each * residual
        bias = float(((w - each) * residual).mean())
        noise = float(((w - each) * residual).var() / n)
        error = float(scores.var() / n) + max(bias * bias - noise, 0.0)
        if error < least:
            best, chosen, least = each, cap, error
    return Estimate(name, float((by_model + best * residual).mean()), np.nan, worth, chosen)
