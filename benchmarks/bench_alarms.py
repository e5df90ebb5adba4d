"""Alarms of live experiments: do they ring where nothing changed, how soon where something did, and what is that worth?

One compiled loop over the kernels of a live experiment, as in `rankone.simulation.rehearsal`, in a world whose table of
click rates may change while the experiment runs.

``python -m benchmarks alarms`` takes some minutes; docs/when-the-world-changes.md and docs/when-rank-1-is-wrong.md have
its tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import compiled, noalloc
from rankone.kernels.evidence import Floats, heeds_silence, remember, start_evidence, weigh_click, weigh_silence
from rankone.kernels.policy import learn, relearn
from rankone.kernels.steering import (
    EXPLORE,
    EXPLORED,
    GOALS,
    PARTS,
    comparisons,
    look_due,
    renew,
    start_steering,
    steered_decide,
)
from rankone.kernels.watching import CHANGE, MISFIT, RANG, reversal_bar, reversed_levels, start_watch, watch_click
from rankone.numerics.seeds import generator
from rankone.policies import as_policy
from rankone.serving.alarms import INSURED
from rankone.serving.weighing import PROBES
from rankone.simulation.movements import movement

_renew, _look_due, _reversed = noalloc(renew), noalloc(look_due), noalloc(reversed_levels)
FALSE_RUNS, FALSE_VISITORS = 60, 4_000
RUNS, VISITORS = 4, 200_000


def play(known: Any, stage: Any, rng: Any, visitors: Any, means: Floats, site: Floats, first: int, end: int) -> int:
    """Play from visitor `first` to `end`, or to a look at which something rang; return the visitor after."""
    state, steering, evidence, watch = known
    choice, seen, outcome, cross, mix = stage.choice, stage.seen, stage.outcome, stage.cross, stage.mix
    n_rows = means.shape[0]
    for at in range(first, end):
        tag = steered_decide(state, steering, stage.context, rng, choice, cross)
        rate = means[choice[0], choice[1]] * site[at]
        outcome[0] = 1 if visitors.random() < rate else 0
        stage.lost[0] += stage.best[0] * site[at] - rate
        if tag == EXPLORED:
            relearn(state, choice, 1, outcome[0])
        elif tag >= 0:
            learn(state, choice, tag, outcome)
        seen[0], seen[1] = choice[0], n_rows + choice[1]
        stage.shown[seen[0]] += 1.0
        stage.shown[seen[1]] += 1.0
        for level in range(len(cross)):
            cross[level] = np.float32(cross[level])  # as journals keep them
        if outcome[0] == 1:
            weigh_click(evidence, seen, cross)
            watch_click(watch, seen, cross, at)
        elif heeds_silence(evidence):
            weigh_silence(evidence, seen, cross)
        remember(evidence, seen, outcome[0])
        stage.told[0] += 1
        if _look_due(stage.told[0] - 1, stage.told[0]):
            turned_over = stage.reversal[0] > 0.0 and _reversed(evidence, stage.reversal[0])[0] >= 0
            if turned_over:
                watch.alarm[RANG] = CHANGE
            if watch.alarm[RANG] != 0:
                return at + 1
            turned, share, _ = _renew(
                evidence,
                stage.levels,
                steering,
                stage.shown,
                stage.bars[0],
                stage.bars[1],
                stage.goal,
                mix,
                stage.leaders,
            )
            if stage.probes[0] > 0.0:
                share, turned = max(share, stage.probes[0]), True
                part = min(0.5, stage.probes[0] / share)
                for factor in range(2):
                    start, stop = steering.starts[factor], steering.starts[factor + 1]
                    for level in range(start, stop):
                        mix[level] = (1.0 - part) * mix[level] + part * PARTS / (stop - start)
            if turned:
                steering.shares[EXPLORE] = share
                for level in range(len(cross)):
                    steering.mix[level] = mix[level] / PARTS
    return end


class Stage(NamedTuple):
    """What an era works with besides its policy and its evidence."""

    choice: Any
    seen: Any
    outcome: Any
    cross: Floats
    mix: Floats
    context: Floats
    levels: Any
    leaders: Any
    shown: Floats
    told: Any
    lost: Floats
    best: Floats
    bars: Floats
    reversal: Floats
    probes: Floats
    goal: Any


class Found(NamedTuple):
    """What came of a run: clicks lost, and when what rang."""

    lost: float
    alarms: list[tuple[int, int]]


def run(
    tables: Sequence[Floats],
    visitors: int,
    site: str = "steady",
    policy: str = "uts",
    goal: str = "both",
    on_change: str = "ignore",
    on_misfit: str = "ignore",
    oracle: bool = False,
    seed: int = 0,
) -> Found:
    """Run an experiment in worlds that follow each other; `oracle` begins anew where one does."""
    shape = tables[0].shape
    size, aim, moves = sum(shape), GOALS[goal], movement(site, visitors)
    luck, lost, best = generator(seed, "visitors"), np.zeros(1), np.zeros(1)
    alarms: list[tuple[int, int]] = []
    restarts = eras = 0
    chosen = as_policy(policy).live()

    def era(fresh: bool, old: Any = None, stage: Any = None) -> tuple[Any, Any, Any]:
        misfit = on_misfit != "ignore" and not any(what == MISFIT for _, what in alarms)
        watch = start_watch(shape, eras, on_change != "ignore", misfit)
        told = any(what == CHANGE for _, what in alarms) and on_change == "tell"
        bar = reversal_bar(shape, restarts) if on_change != "ignore" and not told else 0.0
        state = chosen.start(*shape)
        rng = generator(seed, "experiment", eras + 1)
        if not fresh:
            return (old[0], *old[1:3], watch), stage._replace(reversal=np.array([bar])), rng
        pair = np.zeros(2, np.int64)
        bars = np.log([(size - 2) / 0.05, comparisons(shape) / 0.05])
        stage = Stage(
            pair, pair.copy(), np.zeros(1, np.int64), np.zeros(size), np.empty(size), np.zeros(0), np.arange(size),
            pair.copy(), np.zeros(size), np.zeros(1, np.int64), lost, best, bars, np.array([bar]),
            np.array([PROBES if on_change == "restart" or (on_misfit == "insure" and misfit) else 0.0]), aim,
        )  # fmt: skip
        return (state, start_steering(shape, aim.explore), start_evidence(shape), watch), stage, rng

    known, stage, rng = era(fresh=True)
    at = 0
    for part, table in enumerate(tables):
        end, best[0] = visitors * (part + 1) // len(tables), table.max()
        while at < end:
            loop = compiled(play, type(chosen).__module__, __name__)
            at = loop(known, stage, rng, luck, table, moves, at, end)
            rang = int(known[3].alarm[RANG])
            if rang:
                alarms.append((at, rang))
                eras += 1
                restart = rang == CHANGE and on_change == "restart"
                restarts += restart
                if rang == MISFIT and on_misfit == "insure":
                    chosen = as_policy(INSURED).live()
                    known, stage, rng = era(fresh=True)  # its policy begins with nothing here: a little worse than live
                else:
                    known, stage, rng = era(restart, known, stage)
        if oracle and part + 1 < len(tables):
            eras += 1
            known, stage, rng = era(fresh=True)
    return Found(float(lost[0]), alarms)


def product(rng: np.random.Generator, size: int, top: float) -> Floats:
    """Return click rates of a product with levels between 0.3 and 1."""
    return np.outer(rng.uniform(0.3, 1.0, size), rng.uniform(0.3, 1.0, size)) * top


def false_alarms() -> str:
    """Write how often something rang in products whose whole site moves."""
    lines = [
        f"| false alarms, 4 x 4, {FALSE_VISITORS:,} visitors, of {FALSE_RUNS} runs | change | misfit |",
        "|---|---|---|",
    ]
    for site in ("steady", "cycle", "doubled", "trend"):
        rang = {CHANGE: 0, MISFIT: 0}
        for seed in range(FALSE_RUNS):
            table = product(generator(seed, "null"), 4, 0.5)
            found = run([table], FALSE_VISITORS, site, on_change="tell", on_misfit="tell", seed=seed)
            for kind in {what for _, what in found.alarms}:
                rang[kind] += 1
        lines.append(f"| {site} | {rang[CHANGE]} | {rang[MISFIT]} |")
    return "\n".join(lines)


def three_changes() -> str:
    """Write what restarting is worth where the world changes three times."""
    lines = [
        "| 4 x 4, three changes in 200,000 visitors | clicks lost | alarms in a run | visitors until the alarm, median |",
        "|---|---|---|---|",
    ]
    ways: dict[str, dict[str, Any]] = {
        "ignore": {}, "restart": {"on_change": "restart"}, "told when (oracle)": {"oracle": True},
    }  # fmt: skip
    for name, how in ways.items():
        lost, counts, delays = [], [], []
        for seed in range(RUNS):
            tables = [product(generator(seed, "drift", part), 4, 0.5) for part in range(4)]
            found = run(tables, VISITORS, seed=seed, **how)
            lost.append(found.lost)
            counts.append(len(found.alarms))
            delays += [at % (VISITORS // 4) for at, _ in found.alarms]
        error = np.std(lost) / math.sqrt(RUNS)
        late = f"{np.median(delays):,.0f}" if delays else "-"
        lines.append(f"| {name} | {np.mean(lost):,.0f} ± {error:,.0f} | {np.mean(counts):.1f} | {late} |")
    return "\n".join(lines)


def exceptions() -> str:
    """Write what insurance is worth where one pair is no product of its levels."""
    lines = [
        "| 6 x 6, one pair that is no product, 100,000 visitors | clicks lost | runs that rang | visitors until then, median |",
        "|---|---|---|---|",
    ]
    ways: dict[str, dict[str, Any]] = {
        "ignore": {}, "insure": {"on_misfit": "insure"}, f"{INSURED} from the beginning": {"policy": INSURED},
    }  # fmt: skip
    for name, how in ways.items():
        lost, delays = [], []
        for seed in range(RUNS):
            table = product(generator(seed, "exception"), 6, 0.5)
            row, col = np.unravel_index(int(table.argmin()), table.shape)
            table[row, col] = 0.8
            found = run([table], VISITORS // 2, seed=seed, **how)
            lost.append(found.lost)
            delays += [at for at, what in found.alarms if what == MISFIT][:1]
        error = np.std(lost) / math.sqrt(RUNS)
        late = f"{np.median(delays):,.0f}" if delays else "-"
        lines.append(f"| {name} | {np.mean(lost):,.0f} ± {error:,.0f} | {len(delays)} of {RUNS} | {late} |")
    return "\n".join(lines)


def report() -> str:
    """Measure everything."""
    return "\n\n".join([false_alarms(), three_changes(), exceptions()])
