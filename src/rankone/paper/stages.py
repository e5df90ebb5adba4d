"""Rank1ElimKL stage by stage: what the appendix of the paper says about a stage, checked on played ones.

A stage is played by the policy's own kernels up to the moment before its eliminations; there the confidence intervals
are compared with the conditional means they should contain (event 1 of Lemma 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankone.compiling.compiled import compiled
from rankone.kernels.feedback import Scratch
from rankone.kernels.policy import decide, learn, settled
from rankone.kernels.world import respond
from rankone.numerics.kl import kl_lower, kl_upper
from rankone.numerics.seeds import generator
from rankone.policies.engines.elimination import SWEEP_CONFIDENCE, SWEEP_OPEN, SWEEP_STAGE, SWEEP_TO_GO
from rankone.policies.factors.elimination.rank1elim_kl import Rank1ElimKL
from rankone.problems import RankOne


@dataclass
class StageLog:
    """What happened in one run."""

    stages: int = 0
    misses: int = 0  # stages and sides in which some interval missed its conditional mean
    # By side ("row" or "column"): the level and the stage at whose end it was eliminated.
    eliminated: dict[str, dict[int, int]] = field(default_factory=lambda: {"row": {}, "column": {}})


def finish_stage(state: Any, world: Any, limit: int, rng: Any, scratch: Any) -> int:
    """Play until every outcome of the current stage is in, or `limit` decisions; return the decisions played."""
    steps = 0
    while steps < limit and (steps == 0 or state.counters[SWEEP_TO_GO] > 0 or state.counters[SWEEP_OPEN] > 0):
        tag = decide(state, scratch.context, rng, scratch.shown)
        if settled(state):  # one pair is left: no stage will end again
            return limit
        respond(world, scratch.shown, scratch.outcome, rng)
        learn(state, scratch.shown, tag, scratch.outcome)
        steps += 1
    return steps


def play_stages(problem: RankOne, policy: Rank1ElimKL, seed: int, run: int) -> StageLog:
    """Play one run up to its horizon and return what each stage did."""
    horizon = policy.horizon or 0
    state = policy.start(problem.n_rows, problem.n_cols)
    rng = generator(seed, "stages", problem.digest, policy.label, run)
    play, scratch = compiled(finish_stage, type(policy).__module__), Scratch.new(problem.layout)
    clock, log, sides = state.counters, StageLog(), _Sides(problem)
    while horizon > 0 and state.left.sum() > 2:
        remaining = _remaining(state)
        stage_before = int(clock[SWEEP_STAGE])
        horizon -= play(state, problem.start(), horizon, rng, scratch)
        if clock[SWEEP_STAGE] > stage_before:  # the first decision of this call closed the stage before
            _note_eliminations(log, remaining, _remaining(state), stage_before, problem.n_rows)
        if clock[SWEEP_TO_GO] > 0:  # the horizon came first
            break
        log.misses += sides.misses(state)
        log.stages += 1
    return log


class _Sides:
    """Conditional means of Lemma 2: c_l u_i, where c_l averages the partners of all stages so far."""

    def __init__(self, problem: RankOne) -> None:
        self._means = np.concatenate([problem.rows, problem.cols])
        self._weighted = np.zeros(2)  # sum over stages of sweeps times the mean partner, for rows and for columns
        self._sweeps = 0

    def misses(self, state: Any) -> int:
        """Number of sides (0, 1 or 2) on which an interval misses its conditional mean at the end of this stage."""
        n_rows, sweeps = int(state.sizes[0]), int(state.pulls[state.remaining[0]])
        partners = self._means[state.defeated_by]
        self._weighted += (sweeps - self._sweeps) * np.array([partners[n_rows:].mean(), partners[:n_rows].mean()])
        self._sweeps = sweeps
        missed = set()
        for level in _remaining(state):
            side = int(level >= n_rows)
            mean = self._weighted[side] / sweeps * self._means[level]
            estimate, radius = state.clicks[level] / sweeps, state.constants[SWEEP_CONFIDENCE] / sweeps
            if not kl_lower(estimate, radius) <= mean <= kl_upper(estimate, radius):
                missed.add(side)
        return len(missed)


def promised_stage(problem: RankOne, gap: float) -> int:
    """Return the stage by whose end Lemma 3 promises elimination: the first m with 2^-m < sqrt(mu gamma) gap."""
    return math.floor(-math.log2(math.sqrt(problem.mu * problem.gamma) * gap)) + 1


def _remaining(state: Any) -> set[int]:
    levels = np.arange(len(state.defeated_by))
    return set(levels[state.defeated_by == levels].tolist())


def _note_eliminations(log: StageLog, before: set[int], after: set[int], stage: int, n_rows: int) -> None:
    for level in before - after:
        if level < n_rows:
            log.eliminated["row"][level] = stage
        else:
            log.eliminated["column"][level - n_rows] = stage
