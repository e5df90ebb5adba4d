"""Who was shown when: a run of a study played once more, by the same random numbers, while what is shown is counted."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import compile_errors_explained
from rankone.errors import InputError
from rankone.kernels.feedback import Scratch
from rankone.kernels.play import play_through
from rankone.kernels.world import loss, respond, steady
from rankone.lazy import pl
from rankone.numerics.arrays import Floats, Ints, starts_of
from rankone.numerics.seeds import generator
from rankone.policies import Policy
from rankone.problems import Problem, Product, RankOne
from rankone.simulation.feedback import AT_ONCE, Feedback
from rankone.simulation.work_unit import luck_of, ready_for, run_name, start_on


class CountingWorld(NamedTuple):
    """A world that counts what it is shown."""

    world: Any
    counts: Ints  # (checkpoints, levels of all factors) decisions since the checkpoint before
    first: Ints  # (D,) where the levels of each factor begin
    steps: Ints  # (checkpoints,)
    clock: Ints  # (2,) decisions so far; the next checkpoint


@respond.register(CountingWorld)
def _respond(world: CountingWorld, shown: Any, outcome: Any, rng: Any) -> bool:
    clock = world.clock
    while clock[0] >= world.steps[clock[1]]:
        clock[1] += 1
    for factor in range(len(shown)):
        world.counts[clock[1], world.first[factor] + shown[factor]] += 1
    clock[0] += 1
    return respond(world.world, shown, outcome, rng)


@loss.register(CountingWorld)
def _loss(world: CountingWorld, shown: Any) -> float:
    return loss(world.world, shown)


def count_traffic(
    policy: Policy,
    problem: Problem,
    checkpoints: Ints,
    seed: int,
    run: int = 0,
    feedback: Feedback = AT_ONCE,
    paired: bool = False,
) -> tuple[Ints, Floats]:
    """Return how often each level was shown up to each checkpoint since the one before, and the regret of that run.

    Levels are counted factor by factor.
    """
    world = problem.start()
    if problem.decision_kind == "list" or not steady(world):
        raise InputError("a problem of factors that does not change", problem.name, "choose a Product or a RankOne")
    state = start_on(ready_for(policy, problem, int(checkpoints[-1])), problem)
    first = starts_of(problem.shape)
    counts = np.zeros((len(checkpoints), first[-1]), np.int64)
    counting = CountingWorld(world, counts, first[:-1], checkpoints, np.zeros(2, np.int64))
    scratch, rng = Scratch.new(problem.layout), generator(*run_name(seed, problem, policy, run, feedback))
    with compile_errors_explained(type(policy).__module__):
        luck = luck_of(seed, problem, run) if paired else None
        regret, _ = play_through(state, counting, feedback.start(scratch), rng, checkpoints, scratch, luck)
    missing = np.diff(checkpoints, prepend=0) - counts[:, : first[1]].sum(axis=1)  # settled: it was not played on
    for factor, level in enumerate(scratch.shown):
        counts[:, first[factor] + level] += missing
    return counts, regret


def _checked(problem: Problem) -> Product:
    """Refuse a problem that is no product of factors, or whose world is another."""
    if not isinstance(problem, Product) or (isinstance(problem, RankOne) and type(problem) is not RankOne):
        raise InputError("a problem of factors", problem.name, "choose a Product or a RankOne")
    return problem


def level_ratios(problem: Problem) -> pl.DataFrame:
    """Return of each level the click rate of the best combination with it instead, as a share of the best rate.

    >>> level_ratios(RankOne([0.5, 0.4], [0.5]))["ratio"].to_list()
    [1.0, 0.8, 1.0]
    """
    product = _checked(problem)
    best = product.best_mean
    rows = [
        (factor, name, None if rate is None else rate / best if best > 0.0 else 1.0)
        for factor, name, rate in product.rates_with_each_level()
    ]
    return pl.DataFrame(rows, {"factor": pl.String, "level": pl.String, "ratio": pl.Float64}, orient="row")


def traffic_table(
    policies: Sequence[Policy], problem: Problem, checkpoints: Ints, seed: int, run: int, late: Feedback, paired: bool
) -> pl.DataFrame:
    """Return the share of the decisions that each level had since the checkpoint before, in one run of each policy."""
    names = _checked(problem).level_names
    levels = pl.DataFrame(
        [(factor, level) for factor, own in names.items() for level in own], ["factor", "level"], orient="row"
    )
    tables, lengths = [], np.diff(checkpoints, prepend=0)
    for policy in policies:
        counts, _ = count_traffic(policy, problem, checkpoints, seed, run, late, paired)
        for step, shares in zip(checkpoints.tolist(), (counts / lengths[:, None]), strict=True):
            about = {"policy": pl.lit(policy.label), "step": pl.lit(step, pl.Int64)}
            tables.append(levels.with_columns(share=pl.Series(shares), **about))
    return pl.concat(tables).select("policy", "factor", "level", "step", "share")
