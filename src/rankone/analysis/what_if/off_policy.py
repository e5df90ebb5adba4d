"""What another way of deciding would have earned, from logged decisions and their probabilities: the estimators.

A log has decisions a_t, outcomes r_t in [0, 1] and the probabilities p_t with which a_t was chosen. The target chooses
a with probability q(a). With w_t = q(a_t) / p_t and a model m(a) of the outcome:

    replay       mean of r_t where the target would have chosen the same (drawn with probability w_t / max w)
    ips          mean of w r
    snips        sum of w r / sum of w
    dm           sum over a of q(a) m(a)
    dr           dm + mean of w (r - m(a_t))
    adaptive     the scores of dr, m from earlier decisions, in a mean that keeps their spread (below)

Horvitz, Thompson (1952); Li et al. (2011); Swaminathan, Joachims (2015); Dudik et al. (2011); Hadad et al. (2021),
adaptive. m comes from other decisions than those that it corrects (cross-fitting). Estimators with a setting are in
`rankone.analysis.what_if.tuned_weights`.

**A log that a policy made while it learned** (Hadad, Hirshberg, Zhan, Wager, Athey, PNAS 2021, sections 2 and 3). The
spread of the scores of dr grows as a policy stops showing what is asked for, so intervals around their mean are too
narrow. The mean weighted with h_t has right ones if h_t is known before decision t and h_t times the score spreads
equally throughout: h_t = E[w_t^2 | past]^(-1/2), the "constant allocation rate" of the paper.

E[w_t^2 | past] = sum over a of q(a)^2 / p_t(a) needs the probability of what was *not* shown, which logs do not keep.
Any h_t that the past determines keeps the estimate free of bias, so 1 / p_t(a) is taken for what it was when a was last
shown, plus the number of decisions since (the mean of a rate that had one event in 1 / p decisions and none in so many
more); before a is shown for the first time, as if all combinations had been equally likely.

**Whether click rates moved meanwhile.** `adaptive` needs rates that did not. So the log is cut into stretches of time,
short ones at first, where a policy learns most, and the outcomes of each are compared with what the combinations shown
in it earned over the whole log: a chi-squared test, of all decisions and of those that the target might have made.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from rankone.analysis.what_if import tuned_weights as weights
from rankone.notebook import Answer
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.product_fit import Design
from rankone.numerics.seeds import generator
from rankone.numerics.student import student_quantile
from rankone.specs import one_of
from rankone.wording.lists import cut_text

FOLDS = 5
LEAST = 30.0  # effective decisions
_COLUMNS = ("estimator", "value", "se", "low", "high", "effective")
_FIRST = 32  # decisions without a model; it is fitted again whenever there are twice as many
_CUTS = (0.125, 0.25, 0.5, 0.75)  # parts of the log
_LEAST_CLICKS = 40.0  # below, no test
_SIGN = 1.64  # standard errors: with two tests, rates that never moved are said to in about 1 of 10 logs


class Logged(NamedTuple):
    """Logged decisions by number, and what the target would do."""

    action: Ints  # (decisions,): number of the combination
    reward: Floats
    weight: Floats  # (decisions,): q(a_t) / p_t
    target: Floats  # (combinations,): q; (groups, combinations) where groups of visitors get their own
    cells: Ints  # (combinations, factors): levels of each combination
    sizes: tuple[int, ...]
    unknown: float = 0.0  # share of the target in levels that the log never shows
    unsupported: float = 0.0  # share of the target that the log does not have
    group: Ints | None = None  # (decisions,): the group of each visitor

    def groups(self) -> Ints:
        """Return the group of each visitor."""
        return np.zeros(len(self.action), np.int64) if self.group is None else self.group


class Estimate(NamedTuple):
    """One estimate, its standard error and how many of the target's own decisions it is worth; NaN: there is none."""

    estimator: str
    value: float
    se: float
    effective: float
    setting: float = np.inf  # tau, the root of lambda, lambda; of mips 0 for ips, then each set of factors


def effective_size(weight: Floats) -> float:
    """How many decisions of the target's own weighted ones are worth (Kish 1965): sum squared, over sum of squares.

    >>> effective_size(np.array([2.0, 2.0, 0.0]))
    2.0
    """
    squares = float((weight * weight).sum())
    return float(weight.sum()) ** 2 / squares if squares > 0.0 else 0.0


def estimates(log: Logged, seed: int = 0, tuning: str = "mse") -> list[Estimate]:
    """Return every estimate of the target's mean outcome.

    How wrong a model is, no log says; and weights chosen by their errors leave out a bias that no standard error knows.
    So `dm` and all estimators with a setting have none. Of levels that the log never shows the model knows nothing:
    then all that rest on it have no value either.
    """
    w, r, choose = log.weight, log.reward, weights.TUNINGS[one_of("tuning", tuning, weights.TUNINGS)]
    model, by_model = cross_fitted(log, seed)
    if log.unknown > 0.0:
        by_model = np.full(len(r), np.nan)
    worth, caps = effective_size(w), weights.caps_of(w)
    marginal = [
        weights.marginal_weights(log.cells[:, each], log.action, log.groups(), np.atleast_2d(log.target))
        for each in weights.factors_of_subset(log.cells.shape[1])
    ]

    def tuned(name: str, scores: list[Floats], settings: Sequence[float]) -> Estimate:
        index = choose(scores)
        return Estimate(name, float(scores[index].mean()), np.nan, worth, float(settings[index]))

    def bounded(name: str, how: Callable[[Floats, float], Floats], settings: Sequence[float]) -> Estimate:
        return tuned(name, [by_model + how(w, each) * (r - model) for each in settings], settings)

    adaptive = [] if log.group is not None else [_adaptive(log)]  # its weights are for one target for all visitors
    return [
        _replay(log, seed),
        mean_estimate("ips", w * r, worth),
        _weighted("snips", w, r, worth),
        Estimate("dm", float(by_model.mean()), np.nan, np.nan),
        mean_estimate("dr", w * (r - model) + by_model, worth),
        bounded("switch-dr", weights.switched, caps),
        bounded("shrunk-dr", weights.shrunk, caps),
        bounded("subgauss-dr", weights.sub_gaussian, weights.LAMBDAS),
        tuned("mips", [w * r, *(each * r for each in marginal)], range(len(marginal) + 1)),
        *adaptive,
    ]


def mean_estimate(name: str, scores: Floats, effective: float) -> Estimate:
    """Return the mean of scores with its standard error; that of a single one is not known."""
    error = float(scores.std(ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else np.nan
    return Estimate(name, float(scores.mean()), error, effective)


def _weighted(name: str, weight: Floats, scores: Floats, effective: float) -> Estimate:
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


def other_folds(cell: Ints, reward: Floats, size: int, seed: int) -> tuple[Ints, Floats, Floats]:
    """Return the fold of each decision; for each fold how often cells were shown and clicked in the other folds."""
    fold = generator(seed, "folds").integers(FOLDS, size=len(reward))
    numbers = fold * size + cell
    shown, clicked = (
        np.bincount(numbers, each, FOLDS * size).reshape(FOLDS, size) for each in (np.ones(len(reward)), reward)
    )
    return fold, shown.sum(axis=0) - shown, clicked.sum(axis=0) - clicked


def fold_rates(log: Logged, seed: int) -> tuple[Ints, Floats]:
    """Return the fold of each decision, and for each fold the click rates of all combinations by the other folds."""
    fold, *others = other_folds(log.action, log.reward, log.target.shape[-1], seed)
    return fold, np.array([_product(log, *counts) for counts in zip(*others, strict=True)])


def cross_fitted(log: Logged, seed: int) -> tuple[Floats, Floats]:
    """Return for each decision m(a_t) and the target's mean by m, m fitted to the other folds: a product of levels."""
    fold, rates = fold_rates(log, seed)
    return rates[fold, log.action], np.einsum("tc,tc->t", rates[fold], np.atleast_2d(log.target)[log.groups()])


def _product(log: Logged, shown: Floats, clicked: Floats) -> Floats:
    if not clicked.sum():
        return np.zeros(len(shown))
    seen = shown > 0.0
    design = Design.of(log.cells[seen], log.sizes, shown[seen], clicked[seen])
    x = design.maximise().x[log.cells + design.starts[:-1]].sum(axis=1)
    return np.minimum(np.exp(x), 1.0)


def stabilising_weights(action: Ints, weight: Floats, target: Floats) -> Floats:
    """Return h_t: what decisions before t say about E[w_t^2 | past], to the power -1/2.

    >>> action, target = np.array([0, 1, 0, 0]), np.array([1.0, 0.0])
    >>> (stabilising_weights(action, np.array([2.0, 0.0, 4.0, 4.0]), target) ** -2).round(9).tolist()
    [2.0, 2.0, 3.0, 4.0]
    """
    # The term of a is q^2 (t + c), c = 1 / p - s - 1 since it was shown at s; at first c is the number of combinations.
    squares = target * target
    shown = np.flatnonzero(weight > 0.0)
    own = action[shown]
    now = target[own] * weight[shown] - squares[own] * (shown + 1.0)
    order = np.argsort(own, kind="stable")
    before = squares[own] * float(len(target))
    same = own[order][1:] == own[order][:-1]
    before[order[1:][same]] = now[order[:-1][same]]
    steps = np.zeros(len(action) + 1)
    steps[shown + 1] = now - before
    spread = squares.sum() * (np.arange(len(action)) + len(target)) + np.cumsum(steps)[:-1]
    return np.asarray(1.0 / np.sqrt(spread))


def fitted_before(
    action: Ints, reward: Floats, target: Floats, fit: Callable[[Floats, Floats], Floats]
) -> tuple[Floats, Floats]:
    """Return for each decision m(a_t) and the target's mean by m, where m knows earlier decisions only.

    `fit` makes of how often each combination was shown and clicked the click rates of all.
    """
    size, decisions = len(target), len(reward)
    ends = [0, *(_FIRST << double for double in range(64) if _FIRST << double < decisions), decisions]
    model, mean = np.zeros(decisions), np.zeros(decisions)
    shown, clicked = np.zeros(size), np.zeros(size)
    for first, end in pairwise(ends):
        some = slice(first, end)
        if first:
            rates = fit(shown, clicked)
            model[some], mean[some] = rates[action[some]], float(target @ rates)
        shown += np.bincount(action[some], minlength=size)
        clicked += np.bincount(action[some], reward[some], minlength=size)
    return model, mean


def rates_moved(action: Ints, reward: Floats, weight: Floats) -> bool:
    """Say whether the log shows that click rates moved, those of the site or those of what the target shows.

    >>> halves = np.repeat([0.1, 0.4], 500)
    >>> clicked = (np.arange(1_000) % 10 < 10 * halves).astype(float)
    >>> rates_moved(np.zeros(1_000, np.int64), clicked, np.ones(1_000))
    True
    """
    asked = weight > 0.0
    return _moved(action, reward) or (not asked.all() and _moved(action[asked], reward[asked]))


def _moved(action: Ints, reward: Floats) -> bool:
    if reward.sum() < _LEAST_CLICKS:
        return False
    size, stretches = int(action.max()) + 1, len(_CUTS) + 1
    stretch = np.searchsorted(np.array(_CUTS) * len(action), np.arange(len(action)), side="right")
    shown = np.bincount(action * stretches + stretch, minlength=size * stretches).reshape(size, stretches).astype(float)
    total = shown.sum(axis=1)
    mean = np.bincount(action, reward, size) / np.maximum(total, 1.0)
    apart = reward - mean[action]
    spread = np.bincount(action, apart * apart, size) / np.maximum(total - 1.0, 1.0)
    sums = np.bincount(stretch, apart, stretches)
    shares = shown / np.maximum(total, 1.0)[:, None]
    covariance = np.diag(spread @ shown) - (spread[:, None] * shown).T @ shares
    freedom = int(np.linalg.matrix_rank(covariance, hermitian=True))
    if not freedom:
        return False
    distance = float(sums @ np.linalg.pinv(covariance, rcond=1e-9, hermitian=True) @ sums)
    part = 2.0 / (9.0 * freedom)  # Wilson, Hilferty (1931): the cube root of chi-squared is nearly normal
    return (max(distance, 0.0) / freedom) ** (1.0 / 3.0) - (1.0 - part) > _SIGN * math.sqrt(part)


@dataclasses.dataclass(frozen=True, repr=False)
class Estimated(Answer):
    """Estimates of what a target would have earned, and whether the log can say."""

    table: pl.DataFrame  # estimator, value, se, low, high, effective; empty where the log cannot say

    @property
    def answered(self) -> bool:
        """Whether there is enough in the log to say anything."""
        return not self.table.is_empty()

    def _tables(self) -> dict[str, Any]:
        return {"estimates": self.table} if self.answered else {}

    def _earned(self, estimator: str, target: str, unit: str, logged: float) -> str:
        """Say in at most 25 words what an estimator makes of the target, beside what the log earned."""
        rows = self.table.filter(estimator=estimator).rows(named=True)
        if not rows or rows[0]["value"] is None:
            return f"No answer: the log shows too little of {cut_text(target, 11)}."
        value, low, high = (rows[0][name] for name in ("value", "low", "high"))
        between = "" if low is None else f" ({low:.3g} to {high:.3g})"
        value = value if low is None else min(max(value, low), high)  # an estimate may lie outside what can be earned
        would = f"{cut_text(target, 9)} would have earned {value:.3g}{between} {unit}"
        return f"{would}; the log earned {logged:.3g}."

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "table"}
        return self.depths() | values | {"answered": self.answered, "estimates": self.table.to_dicts()}


def interval(value: float, se: float, effective: float, level: float, yes_or_no: bool) -> tuple[float, float]:
    """Return an interval around an estimate: value and standard errors, as wide as few decisions need it.

    With few clicks both the estimate and its standard error are small together, and a normal interval ends too low.
    Wilson's, for as many decisions as the estimate is worth, does not; it is for outcomes that are yes or no. There the
    wider of the two is taken on either side; else Student's quantile for as many decisions.

    >>> [round(end, 3) for end in interval(0.05, 0.02, 40.0, 0.95, yes_or_no=True)]
    [0.011, 0.165]
    >>> [round(end, 3) for end in interval(0.05, 0.02, 40.0, 0.95, yes_or_no=False)]
    [0.01, 0.09]
    """
    z = NormalDist().inv_cdf(0.5 + level / 2.0)
    if not yes_or_no and effective > 1.0:
        z = student_quantile(0.5 + level / 2.0, effective - 1.0)
    low, high = value - z * se, value + z * se
    if yes_or_no and effective > 0.0 and math.isfinite(low):
        rate, part = min(max(value, 0.0), 1.0), z * z / effective
        middle = (rate + part / 2.0) / (1.0 + part)
        reach = math.sqrt(part * (rate * (1.0 - rate) + part / 4.0)) / (1.0 + part)
        low, high = min(low, middle - reach), max(high, middle + reach)
    return low, high


def estimate_table(estimates: Sequence[Estimate], level: float, reward: Floats, most: float = 1.0) -> pl.DataFrame:
    """Return estimates with intervals that stay between 0 and `most`; those worth too little are empty."""
    rows, yes_or_no = [], bool(np.isin(reward, (0.0, 1.0)).all())
    for each in estimates:
        low, high = interval(each.value, each.se, each.effective, level, yes_or_no)
        low, high = (min(max(end, 0.0), most) for end in (low, high))  # an estimate may lie outside, its interval not
        rows.append((each.estimator, each.value, each.se, low, high, each.effective))
    table = pl.DataFrame(rows, schema=dict.fromkeys(_COLUMNS, pl.Float64) | {"estimator": pl.String}, orient="row")
    table = table.with_columns(pl.when(pl.col("se").is_not_nan()).then(pl.col("low", "high"))).fill_nan(None)
    thin = pl.col("effective").fill_null(math.inf) < LEAST
    return table.with_columns(pl.when(~thin).then(pl.col("value", "se", "low", "high")))
