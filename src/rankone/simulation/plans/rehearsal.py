"""Rehearse a live experiment: how long until a verdict, at what cost, and is it ever wrong?

One compiled loop over the kernels that a live experiment runs on: a rehearsal and an `Experiment` with the same seed
and the same visitors make the same decisions (`tests/simulation/test_rehearsal.py`).

The world is the one that verdicts hold in, P(click at t) = s_t times a product of one number per factor; interactions
may be put in, to see what they do to it. A visitor is one random number, who clicks if it is below that. Where clicks
are rare, visitors who would not even click on the best pair teach the evidence nothing, so probabilities are worked out
for the others alone.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import compile_errors_explained, compiled, inlined, noalloc
from rankone.errors import InputError
from rankone.evidence.levels import Evidence, remember, start_evidence, uses_nonclicks, weigh_click, weigh_nonclick
from rankone.evidence.steering import (
    AIMS,
    ERROR_RATE,
    EXPLORE,
    EXPLORED,
    PARTS,
    Aim,
    Steering,
    comparisons,
    look_due,
    margin_ratio_of_each,
    renew,
    start_steering,
    steered_decide,
)
from rankone.kernels.policy import learn, relearn
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.seeds import generator
from rankone.policies import Policy, as_policy
from rankone.problems.product import Product
from rankone.problems.product_world import ProductWorld, rate_of
from rankone.problems.rank_one import RankOne
from rankone.problems.registry import as_problem

_renew, _look_due = noalloc(renew), noalloc(look_due)
_LUCK = "visitors"  # names the visitors of a run in the tree of seeds
_MOST_COUNTED = 10**6  # combinations of which outcomes are counted


class Stage(NamedTuple):
    """What an experiment works with besides its policy: everything of one rehearsal."""

    steering: Steering
    evidence: Evidence
    site: Floats  # (n,) factor of the site's click rate at each visitor, again from the first when all have passed
    world: ProductWorld  # what visitors do where the factor is 1
    levels: Ints  # all of them live
    shown: Floats  # how often each level was
    mix: Floats
    leaders: Ints
    choice: Ints
    outcome: Ints
    seen: Ints  # the same choice, numbered factor after factor
    cross: Floats
    context: Floats
    verdict: Ints  # (1 + factors,) decisions until it (0: none), and the levels that won
    lost: Floats  # (1,) clicks at the verdict
    counts: Ints  # (2, combinations) outcomes and clicks; (2, 0) where there are too many to count
    strides: Ints  # (factors,) how far apart levels are among the combinations


@inlined
def _count(stage: Any, clicked: int) -> None:
    """Count a decision for its levels and, where there are not too many, for its combination."""
    combination = 0
    for factor in range(len(stage.choice)):
        combination += stage.choice[factor] * stage.strides[factor]
        stage.seen[factor] = stage.world.first[factor] + stage.choice[factor]
        stage.shown[stage.seen[factor]] += 1.0
    if stage.counts.shape[1] > 0:
        stage.counts[0, combination] += 1
        stage.counts[1, combination] += clicked


@inlined
def _weigh(stage: Any, clicked: int) -> None:
    """Weigh an outcome with the probabilities of its moment, as journals keep them."""
    cross = stage.cross
    for level in range(len(cross)):
        cross[level] = np.float32(cross[level])
    if clicked:
        weigh_click(stage.evidence, stage.seen, cross)
    elif uses_nonclicks(stage.evidence):
        weigh_nonclick(stage.evidence, stage.seen, cross)


@noalloc
def _look(stage: Any, step: int, lost: float, bar: float, beaten: float, aim: Any) -> bool:
    """Renew the mix of exploration, and note the verdict; return whether there is one now."""
    steering = stage.steering
    turned, share, decided = _renew(
        stage.evidence, stage.levels, steering, stage.shown, bar, beaten, aim, stage.mix, stage.leaders
    )
    if turned:
        steering.shares[EXPLORE] = share
        for level in range(len(stage.cross)):
            steering.mix[level] = stage.mix[level] / PARTS
    if decided:
        stage.verdict[0], stage.lost[0] = step + 1, lost
        for factor in range(len(stage.choice)):
            stage.verdict[factor + 1] = stage.leaders[factor] - stage.world.first[factor]
    return decided


def play_experiment(
    state: Any,
    stage: Any,
    rng: Any,
    visitors: Any,
    bar: float,
    beaten: float,
    aim: Any,
    on: int,
    steps: Ints,
    losses: Any,
) -> None:
    """Rehearse up to the last checkpoint, or up to the verdict (`on` 0); with `on` 2, weigh clicks after it too."""
    steering, world, choice, outcome, cross = stage.steering, stage.world, stage.choice, stage.outcome, stage.cross
    best, lost, checkpoint, weighing = world.base[1], 0.0, 0, True
    for step in range(steps[-1]):
        site, luck = stage.site[step % len(stage.site)], visitors.random()
        asks = weighing and (luck < site * best or uses_nonclicks(stage.evidence))
        tag = steered_decide(state, steering, stage.context, rng, choice, cross[: len(cross) if asks else 0])
        rate = rate_of(world, choice)
        lost += site * (best - rate)
        outcome[0] = 1 if luck < site * rate else 0
        if tag == EXPLORED:
            relearn(state, choice, 1, outcome[0])
        elif tag >= 0:
            learn(state, choice, tag, outcome)
        _count(stage, outcome[0])
        if asks and cross[0] >= 0.0:
            _weigh(stage, outcome[0])
        remember(stage.evidence, stage.seen, outcome[0])
        if stage.verdict[0] == 0 and _look_due(step, step + 1) and _look(stage, step, lost, bar, beaten, aim):
            if on == 0:
                return
            weighing = on == 2
        if step + 1 == steps[checkpoint]:
            losses[checkpoint] = lost
            checkpoint += 1


class Rehearsal(NamedTuple):
    """What came of one rehearsal. Lost are the clicks that the best pair would have had more, on average."""

    verdict: int | None  # decisions until it
    pair: tuple[int, ...] | None  # that won; of more factors, the combination
    wrong: bool  # a pair won that is not the best, or not within the margin of it
    beaten_wrongly: int  # ordered pairs of levels of which the first was said to beat the second, and does not
    lost: float  # at the verdict, or at the end if there was none
    losses: Floats  # at each checkpoint; not a number beyond the verdict, where it ends there
    pulls: Ints  # outcomes of each combination, an axis a factor; all 0 where there are very many
    clicks: Ints  # the same of clicks


def simulate_experiment(
    problem: Product | str,
    *,
    policy: Policy | str = "uts",
    aim: str | Aim = "both",
    margin: float = 0.0,
    error: float = ERROR_RATE,
    visitors: int = 100_000,
    checkpoints: Sequence[int] = (),
    site: Floats | None = None,
    after: str = "play",
    runs: int = 20,
    seed: int = 0,
) -> list[Rehearsal]:
    """Rehearse a live experiment `runs` times.

    Args:
        problem: what its visitors do.
        policy: in the form in which it runs live.
        aim: "earn", "both" or "decide", or how to explore.
        margin: a verdict needs no more than that the winner is within so much of the best.
        error: of the verdict.
        visitors: at most.
        checkpoints: decisions at which the clicks lost are noted.
        site: the factor of the whole site's click rate at each visitor; None: it stays.
        after: the verdict: "stop" there, "play" on, or play on and "weigh" what comes after it too.
        runs: rehearsals.
        seed: of all of them.

    >>> found = simulate_experiment("needle:4x4:p=0.25,gap=0.5", aim="decide", runs=3)
    >>> [each.wrong for each in found], all(each.verdict < 5_000 for each in found)
    ([False, False, False], True)
    """
    problem = product_to_rehearse(problem)
    how = aim if isinstance(aim, Aim) else AIMS[aim]
    chosen = as_policy(policy)
    chosen = (chosen.live() if how.explore else chosen).with_horizon(visitors)
    factors = np.ones(1) if site is None else np.asarray(site, np.float64)
    if not factors.min() >= 0.0 or not factors.max() * problem.best_mean <= 1.0:
        most = f"{factors.max() * problem.best_mean:g} for the best pair"
        raise InputError("click rates from 0 to 1 at all times", most, "let the site's rate move less")
    noted = np.unique(np.array([*(each for each in checkpoints if each < visitors), visitors], np.int64))
    on = ("stop", "play", "weigh").index(after)
    loop, module = compiled(play_experiment, type(chosen).__module__, __name__), type(chosen).__module__
    result = []
    for run in range(runs):
        state, stage = chosen.start(*problem.shape), _stage(problem, how.explore, margin, factors)
        rng, luck = generator(seed + run, "experiment", 1), generator(seed + run, _LUCK)
        losses = np.full(len(noted), np.nan)
        with compile_errors_explained(module):
            loop(state, stage, rng, luck, _bar(problem, error), _beaten_bar(problem, error), how, on, noted, losses)
        result.append(_found(problem, stage, margin, error, losses))
    return result


def product_to_rehearse(problem: Product | str) -> Product:
    """Return any product as one of factors; others cannot be rehearsed."""
    result = as_problem(problem)
    if type(result) not in (Product, RankOne) or result.scale != "product" or len(result.rules):
        raise InputError("a product that can be rehearsed, nothing forbidden", result.name, "try 'needle:8x8'")
    return result


def _bar(problem: Product, error: float) -> float:
    """Return the log evidence that each comparison needs: a winner has to beat all other levels of each factor."""
    return math.log(max(1, sum(problem.shape) - len(problem.shape)) / error)


def _beaten_bar(problem: Product, error: float) -> float:
    """Return the log evidence from which on a level is called beaten."""
    return math.log(max(1, comparisons(problem.shape)) / error)


def _stage(problem: Product, explore: float, margin: float, site: Floats) -> Stage:
    shape, levels, factors = problem.shape, sum(problem.shape), len(problem.shape)
    counted = problem.n_combinations if problem.n_combinations <= _MOST_COUNTED else 0
    return Stage(
        steering=start_steering(shape, explore),
        evidence=start_evidence(shape, margin_ratio=margin_ratio_of_each(margin, factors)),
        site=site,
        world=problem.world(),
        levels=np.arange(levels),
        shown=np.zeros(levels),
        mix=np.empty(levels),
        leaders=np.zeros(factors, np.int64),
        choice=np.zeros(factors, np.int64),
        outcome=np.zeros(1, np.int64),
        seen=np.zeros(factors, np.int64),
        cross=np.zeros(levels),
        context=np.zeros(0),
        verdict=np.zeros(1 + factors, np.int64),
        lost=np.zeros(1),
        counts=np.zeros((2, counted), np.int64),
        strides=np.array([math.prod(shape[factor + 1 :]) for factor in range(factors)], np.int64),
    )


def _found(problem: Product, stage: Stage, margin: float, error: float, losses: Floats) -> Rehearsal:
    at, *won = (int(value) for value in stage.verdict)
    wrong = bool(at) and problem.rate(*won) * (1.0 + margin) < problem.best_mean * (1.0 - 1e-12)
    bar, beaten, first = _beaten_bar(problem, error), 0, 0
    for rates in problem.factors.values():
        own = slice(first, first + len(rates))
        beaten += int(np.count_nonzero((stage.evidence.proof[own, own] >= bar) & (rates[:, None] <= rates)))
        first += len(rates)
    shape = problem.shape if stage.counts.size else (0,) * len(won)
    pulls, clicks = (each.reshape(shape) for each in stage.counts)
    verdict, pair, lost = (at, tuple(won), stage.lost[0]) if at else (None, None, losses[-1])
    return Rehearsal(verdict, pair, bool(wrong), beaten, float(lost), losses, pulls, clicks)
