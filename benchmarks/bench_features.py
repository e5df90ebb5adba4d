"""Policies that look at features: their regret against what an independent prototype measured, and their speed.

Each row plays a policy once in each of so many worlds of the same law (other seeds). *range* is what the prototype's
mean, give or take three of its standard errors, allows (its notes are not part of this repository); without one there
is nothing to compare with. p90 and the maximum show who gets stuck.

Speed is processor time a list, against the rule as written down in `tests/oracles/features.py` (Numpy, in the same
run). About 10 minutes; ``python -m benchmarks features`` runs all of it.
"""

from __future__ import annotations

import time

import numpy as np
from tests.oracles.features import TWINS

import rankone
from benchmarks.bench_lists import judged, microseconds
from rankone.numerics.seeds import generator
from rankone.problems.contextual import FixedFeatures
from rankone.simulation.work_unit import play_run, ready_for

Range = tuple[float, float] | None
REGRET: dict[tuple[str, int, int], dict[str, Range]] = {  # world, horizon, worlds: policies and ranges of the mean
    ("vial:100x10:d=10", 100_000, 10): {
        "cascade-lin-ucb": (1_750, 2_250),
        "c3-ucb": (1_700, 2_170),
        "cascade-woful": None,
        "vac2-ucb": (32, 53),
        "cascade-logit-ts:sd=5": (54, 82),
        "cascade-logit-ts": None,
        "cascade-ts": None,
    },
    ("vial:100x10:d=10", 100_000, 40): {"cascade-lin-ts:sigma=1": (635, 735), "cascade-lin-ts": (63, 87)},
    ("c3:200x4:d=20", 10_000, 10): {"cascade-lin-ts:sigma=1": (41, 46), "c3-ucb": (380, 394), "vac2-ucb": (9.5, 13.7)},
    ("logit:50x4:d=10", 10_000, 10): {
        "cascade-logit-ts:alpha=1,sd=1": (82, 124),
        "cascade-logit-ts:sd=1": (65, 87),
        "cascade-logit-ucb:sd=1": (47, 71),
        "cascade-logit-ts": None,
        "vac2-ucb": None,
    },
    ("jmlr:256x2:d=4", 100_000, 10): {
        "cascade-logit-ts": None,
        "vac2-ucb": None,
        "cascade-lin-ts": None,
        "lin-ts-cascade": None,
        "cascade-ts": None,
    },
    ("vial:100x10:d=10,reading=dcm", 20_000, 10): {
        "cascade-logit-ts:until=last": None,
        "vac2-ucb:until=last": None,
        "dcm-ts": None,
    },
    ("vial:100x10:d=10,reading=pbm", 20_000, 10): {"cascade-logit-ts": None, "vac2-ucb": None, "pbm-ts": None},
    ("visitors:5x4:d=5", 30_000, 24): {"logit-ts": (140, 320), "logit-ts:alpha=0": None, "thompson": None},
    ("visitors:5x4:d=5,crossed=0", 30_000, 24): {"logit-ts": None, "logit-ts:alpha=0": None, "thompson": None},
}
PER_SEGMENT = (1_420, 2_530)  # Beta-TS for each of 32 kinds of visitors, 8 worlds
SPEED = {("vial:100x10:d=10", 20_000, 300): 15.0, ("vial:10000x10:d=20", 2_000, 30): 400.0}  # microseconds a list
FASTER = 20.0


def regrets(world: str, horizon: int, worlds: int, policy: str) -> np.ndarray:
    """Regret of a policy in worlds of the same law."""
    result = []
    for seed in range(worlds):
        problem = rankone.as_problem(f"{world},seed={seed}")
        ready = ready_for(rankone.as_policy(policy), problem, horizon)
        rng = generator(seed, "bench features", world, policy)
        result.append(play_run(ready.start(*problem.shape), problem, np.array([horizon]), rng)[0][-1])
    return np.array(result)


def per_segment(horizon: int, worlds: int) -> np.ndarray:
    """Regret of a Thompson sampler of its own for each kind of visitor, as written down."""
    result = []
    for seed in range(worlds):
        problem, rng = rankone.as_problem(f"visitors:5x4:d=5,seed={seed}"), generator(seed, "per segment")
        effects, lost, counts = problem.effects, 0.0, np.ones((32, 2, 20))
        kinds = (np.arange(32)[:, None] >> np.arange(5)) & 1
        worth = np.column_stack([np.ones(32), kinds]) @ effects
        rates = 1.0 / (1.0 + np.exp(-(worth[:, :1, None] + worth[:, 1:6, None] + worth[:, None, 6:]))).reshape(32, 20)
        for kind in rng.integers(32, size=horizon):
            shown = int(rng.beta(counts[kind, 0], counts[kind, 1]).argmax())
            lost += rates[kind].max() - rates[kind, shown]
            counts[kind, 0 if rng.random() < rates[kind, shown] else 1, shown] += 1
        result.append(lost)
    return np.array(result)


def row(world: str, horizon: int, policy: str, found: np.ndarray, allowed: Range) -> str:
    """A line of the table of regret."""
    mean, error = found.mean(), found.std(ddof=1) / np.sqrt(len(found))
    judgement = ""
    if allowed is not None:
        met = allowed[0] <= mean <= allowed[1]
        judgement = f"{allowed[0]:,g} to {allowed[1]:,g}: {'inside' if met else 'outside'}"
    cells = [f"{mean:,.1f} ± {error:.1f}", *(f"{value:,.0f}" for value in (np.quantile(found, 0.9), found.max()))]
    return f"| {world} | {horizon:,} | {policy} | {len(found)} | {' | '.join(cells)} | {judgement} |"


def regret_table() -> list[str]:
    """Regret of all policies, and what has to hold between them."""
    lines = ["| world | lists | policy | worlds | regret | p90 | max | range |", "|---|---|---|---|---|---|---|---|"]
    means: dict[tuple[str, str], np.ndarray] = {}
    for (world, horizon, worlds), policies in REGRET.items():
        for policy, allowed in policies.items():
            found = means[world, policy] = regrets(world, horizon, worlds, policy)
            lines.append(row(world, horizon, policy, found, allowed))
            print(lines[-1], flush=True)
    own = per_segment(30_000, 8)
    lines.append(row("visitors:5x4:d=5", 30_000, "Beta-TS per kind of visitor", own, PER_SEGMENT))
    order = ["vac2-ucb", "cascade-woful", "cascade-lin-ts", "c3-ucb"]
    vial = [float(means["vial:100x10:d=10", name].mean()) for name in order]
    ours, greedy = (means["visitors:5x4:d=5", name] for name in ("logit-ts", "logit-ts:alpha=0"))
    checks = {
        f"vial: {' < '.join(order)}": vial == sorted(vial),
        "visitors: greedy has more than twice the regret of alpha = 0.5": greedy.mean() > 2.0 * ours.mean(),
        "visitors: alpha = 0.5 is never stuck (max < 3 medians)": ours.max() < 3.0 * np.median(ours),
        "visitors: greedy gets stuck (max >= 3 medians)": greedy.max() >= 3.0 * np.median(greedy),
    }
    return [*lines, "", *(f"* {what}: {'holds' if holds else 'DOES NOT HOLD'}." for what, holds in checks.items())]


def plain_microseconds(policy: str, problem: FixedFeatures, steps: int) -> float:
    """Processor time a list of the rule as written down."""
    rng = generator(3)
    twin = TWINS[policy](problem.features.shape[1], problem.n_positions, rng)
    taken = []
    for _ in range(2):
        begin = time.process_time()
        for _ in range(steps):
            shown = twin.show(problem.features)
            clicks = (rng.random(len(shown)) < problem.attraction[shown]).astype(int)
            clicks[int(clicks.argmax()) + 1 :] = 0 if clicks.any() else clicks[int(clicks.argmax()) + 1 :]
            twin.tell(clicks)
        taken.append(time.process_time() - begin)
    return min(taken) / steps * 1e6


def speed_table() -> list[str]:
    """Processor time a list."""
    lines = ["| world | policy | us a list | bar | as written down | times | bar |", "|---|---|---|---|---|---|---|"]
    for (world, steps, plain_steps), bar in SPEED.items():
        problem = rankone.as_problem(world)
        for policy in ("cascade-lin-ts", "vac2-ucb", "cascade-logit-ts"):
            ours, plain = microseconds(policy, problem, steps, 3), plain_microseconds(policy, problem, plain_steps)
            ratio = judged(plain / ours, FASTER)
            cells = [f"{ours:.1f}", judged(ours, bar, at_most=True), f"{plain:,.0f}", f"{plain / ours:.0f}", ratio]
            lines.append(f"| {world} | {policy} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    return lines


def report() -> str:
    """Both tables."""
    return "\n".join(["Features of items and visitors.", "", *regret_table(), "", *speed_table(), ""])
