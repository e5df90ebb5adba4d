"""Rehearse a live experiment: how long until a verdict, at what cost, and is it ever wrong?

One compiled loop over the kernels that a live experiment runs on: decisions are drawn by `steered_decide`, clicks are
weighed with the probabilities of that moment, and at the same looks the mix of exploration is renewed. A rehearsal and
an `Experiment` with the same seed and the same visitors make the same decisions (`tests/simulation/test_rehearsal.py`).

The world is the one that verdicts hold in, P(click at t) = s_t * u_i * v_j. A visitor is one random number, who clicks
if it is below that. Where clicks are rare, visitors who would not even click on the best pair teach the evidence
nothing, so probabilities are worked out for the others alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import compile_errors_explained, compiled, noalloc
from rankone.errors import InputError
from rankone.kernels.evidence import (
    Evidence,
    Floats,
    Ints,
    heeds_silence,
    remember,
    start_evidence,
    weigh_click,
    weigh_silence,
)
from rankone.kernels.policy import learn, relearn
from rankone.kernels.steering import (
    ERROR_RATE,
    EXPLORE,
    EXPLORED,
    GOALS,
    PARTS,
    Goal,
    Steering,
    comparisons,
    look_due,
    renew,
    start_steering,
    steered_decide,
)
from rankone.numerics.seeds import generator
from rankone.policies import Policy, as_policy
from rankone.problems.rank_one import RankOne, RankOneWorld
from rankone.problems.registry import as_rank_one
from rankone.simulation.movements import movement

_renew, _look_due = noalloc(renew), noalloc(look_due)
_LUCK = "visitors"  # names the visitors of a run in the tree of seeds
# Fields of `Stage.verdict`.
_AT, _ROW, _COL = range(3)


class Stage(NamedTuple):
    """What an experiment works with besides its policy: everything of one rehearsal."""

    steering: Steering
    evidence: Evidence
    site: Floats  # (n,) factor of the site's click rate at each visitor, again from the first when all have passed
    world: RankOneWorld  # what visitors do where the factor is 1
    levels: Ints  # all of them live
    shown: Floats  # how often each level was
    mix: Floats
    leaders: Ints
    choice: Ints
    outcome: Ints
    seen: Ints  # the same choice, numbered factor after factor
    cross: Floats
    context: Floats
    verdict: Ints  # (3,) decisions until it (0: none), and the pair that won
    lost: Floats  # (1,) clicks at the verdict


def play(
    state: Any,
    stage: Any,
    rng: Any,
    visitors: Any,
    bar: float,
    beaten: float,
    goal: Any,
    on: int,
    checkpoints: Ints,
    losses: Floats,
) -> None:
    """Rehearse up to the last checkpoint, or up to the verdict (`on` 0); with `on` 2, weigh clicks after it too."""
    steering, world, choice, outcome, cross = stage.steering, stage.world, stage.choice, stage.outcome, stage.cross
    best, n_rows, lost, place, weighing = world.best[0], len(world.rows), 0.0, 0, True
    for step in range(checkpoints[-1]):
        site, luck = stage.site[step % len(stage.site)], visitors.random()
        asks = weighing and (luck < site * best or heeds_silence(stage.evidence))
        tag = steered_decide(state, steering, stage.context, rng, choice, cross[: len(cross) if asks else 0])
        rate = world.rows[choice[0]] * world.cols[choice[1]]
        clicked = luck < site * rate
        lost += site * (best - rate)
        outcome[0] = 1 if clicked else 0
        if tag == EXPLORED:
            relearn(state, choice, 1, outcome[0])
        elif tag >= 0:
            learn(state, choice, tag, outcome)
        stage.shown[choice[0]] += 1.0
        stage.shown[n_rows + choice[1]] += 1.0
        stage.seen[0], stage.seen[1] = choice[0], n_rows + choice[1]
        if asks and cross[0] >= 0.0:
            for level in range(len(cross)):
                cross[level] = np.float32(cross[level])  # as journals keep them
            if clicked:
                weigh_click(stage.evidence, stage.seen, cross)
            elif heeds_silence(stage.evidence):
                weigh_silence(stage.evidence, stage.seen, cross)
        remember(stage.evidence, stage.seen, outcome[0])
        if stage.verdict[_AT] == 0 and _look_due(step, step + 1):
            turned, share, decided = _renew(
                stage.evidence, stage.levels, steering, stage.shown, bar, beaten, goal, stage.mix, stage.leaders
            )
            if turned:
                steering.shares[EXPLORE] = share
                for level in range(len(cross)):
                    steering.mix[level] = stage.mix[level] / PARTS
            if decided:
                stage.verdict[_AT], stage.lost[0] = step + 1, lost
                stage.verdict[_ROW], stage.verdict[_COL] = stage.leaders[0], stage.leaders[1] - n_rows
                if on == 0:
                    return
                weighing = on == 2
        if step + 1 == checkpoints[place]:
            losses[place] = lost
            place += 1


class Rehearsal(NamedTuple):
    """What came of one rehearsal. Lost are the clicks that the best pair would have had more, on average."""

    verdict: int | None  # decisions until it
    pair: tuple[int, int] | None  # that won
    wrong: bool  # a pair won that is not the best, or not within the margin of it
    beaten_wrongly: int  # ordered pairs of levels of which the first was said to beat the second, and does not
    lost: float  # at the verdict, or at the end if there was none
    losses: Floats  # at each checkpoint; not a number beyond the verdict, where it ends there


def rehearse(
    problem: RankOne | str,
    *,
    policy: Policy | str = "uts",
    goal: str | Goal = "both",
    margin: float = 0.0,
    error: float = ERROR_RATE,
    visitors: int = 100_000,
    checkpoints: Sequence[int] = (),
    site: str | Floats = "steady",
    after: str = "play",
    runs: int = 20,
    seed: int = 0,
) -> list[Rehearsal]:
    """Rehearse a live experiment `runs` times.

    Args:
        problem: what its visitors do.
        policy: in the form in which it runs live.
        goal: "earn", "both" or "decide", or how to explore.
        margin: a verdict needs no more than that the winner is within so much of the best.
        error: of the verdict.
        visitors: at most.
        checkpoints: decisions at which the clicks lost are noted.
        site: how the click rate of the whole site moves (`rankone.simulation.movements`), or its factor at each
            visitor.
        after: the verdict: "stop" there, "play" on, or play on and "weigh" what comes after it too.
        runs: rehearsals.
        seed: of all of them.

    >>> found = rehearse("needle:4x4:p=0.25,gap=0.5", goal="decide", runs=3)
    >>> [each.wrong for each in found], all(each.verdict < 5_000 for each in found)
    ([False, False, False], True)
    """
    problem = as_rank_one(problem, "that can be rehearsed")
    aim = goal if isinstance(goal, Goal) else GOALS[goal]
    chosen = as_policy(policy)
    chosen = (chosen.live() if aim.explore else chosen).with_horizon(visitors)
    factors = movement(site, visitors) if isinstance(site, str) else np.asarray(site, np.float64)
    if not factors.min() >= 0.0 or not factors.max() * problem.best_mean <= 1.0:
        most = f"{factors.max() * problem.best_mean:g} for the best pair"
        raise InputError("click rates from 0 to 1 at all times", most, "let the site's rate move less")
    noted = np.unique(np.array([*(each for each in checkpoints if each < visitors), visitors], np.int64))
    on = ("stop", "play", "weigh").index(after)
    loop, module = compiled(play, type(chosen).__module__, __name__), type(chosen).__module__
    found = []
    for run in range(runs):
        state, stage = chosen.start(*problem.shape), _stage(problem, aim.explore, margin, factors)
        rng, luck = generator(seed + run, "experiment", 1), generator(seed + run, _LUCK)
        losses = np.full(len(noted), np.nan)
        with compile_errors_explained(module):
            loop(state, stage, rng, luck, _bar(problem, error), _beaten_bar(problem, error), aim, on, noted, losses)
        found.append(_found(problem, stage, margin, error, losses))
    return found


def _bar(problem: RankOne, error: float) -> float:
    """Return the log evidence that each comparison needs: a winner has to beat K + L - 2 levels."""
    return math.log(max(1, problem.n_rows + problem.n_cols - 2) / error)


def _beaten_bar(problem: RankOne, error: float) -> float:
    """Return the log evidence from which on a level is called beaten."""
    return math.log(max(1, comparisons(problem.shape)) / error)


def _stage(problem: RankOne, explore: float, margin: float, site: Floats) -> Stage:
    shape, levels = problem.shape, sum(problem.shape)
    return Stage(
        steering=start_steering(shape, explore),
        evidence=start_evidence(shape, spared=math.sqrt(1.0 + margin)),
        site=site,
        world=problem.start(),
        levels=np.arange(levels),
        shown=np.zeros(levels),
        mix=np.empty(levels),
        leaders=np.zeros(2, np.int64),
        choice=np.zeros(2, np.int64),
        outcome=np.zeros(1, np.int64),
        seen=np.zeros(2, np.int64),
        cross=np.zeros(levels),
        context=np.zeros(0),
        verdict=np.zeros(3, np.int64),
        lost=np.zeros(1),
    )


def _found(problem: RankOne, stage: Stage, margin: float, error: float, losses: Floats) -> Rehearsal:
    at, row, col = (int(value) for value in stage.verdict)
    wrong = bool(at) and problem.means[row, col] * (1.0 + margin) < problem.best_mean * (1.0 - 1e-12)
    bar, beaten, first = _beaten_bar(problem, error), 0, 0
    for rates in (problem.rows, problem.cols):
        own = slice(first, first + len(rates))
        beaten += int(np.count_nonzero((stage.evidence.proof[own, own] >= bar) & (rates[:, None] <= rates)))
        first += len(rates)
    if not at:
        return Rehearsal(None, None, False, beaten, float(losses[-1]), losses)
    return Rehearsal(at, (row, col), bool(wrong), beaten, float(stage.lost[0]), losses)
