"""Alarms of live experiments: do they ring where nothing changed, how soon where something did, and what is that worth?

One compiled loop over the kernels of a live experiment, as in `rankone.simulation.plans.rehearsal`, in a world whose table of
click rates may change while the experiment runs.

``python -m benchmarks alarms`` takes some minutes; benchmarks/measured/alarms.md has
its tables.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.site_movements import movement
from rankone.compiling.compiled import compiled, noalloc
from rankone.evidence.change_monitor import (
    ALARM_KIND,
    CHANGE,
    MISFIT,
    reversal_bar,
    reversed_levels,
    start_watch,
    watch_outcome,
)
from rankone.evidence.levels import remember, start_evidence, uses_nonclicks, weigh_click, weigh_nonclick
from rankone.evidence.mixing import mix_evenly
from rankone.evidence.steering import (
    AIMS,
    EXPLORE,
    EXPLORED,
    PARTS,
    comparisons,
    look_due,
    renew,
    start_steering,
    steered_decide,
)
from rankone.evidence.trials import CLICKS_LEFT, TRIAL, TRIED, probe_shares
from rankone.kernels.policy import learn, relearn
from rankone.live.commit.alarms import INSURED
from rankone.live.evidence.experiment_evidence import PROBES
from rankone.numerics.arrays import Floats
from rankone.numerics.seeds import generator
from rankone.policies import as_policy

_renew, _look_due, _reversed = noalloc(renew), noalloc(look_due), noalloc(reversed_levels)
_mix_evenly, _probe_shares = noalloc(mix_evenly), noalloc(probe_shares)
SIZE = 4  # levels of each factor
FALSE_RUNS, FALSE_VISITORS = 60, 4_000


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
        elif uses_nonclicks(evidence):
            weigh_nonclick(evidence, seen, cross)
        remember(evidence, seen, outcome[0])
        watch_outcome(watch, seen, cross, at, outcome[0])
        stage.told[0] += 1
        if _look_due(stage.told[0] - 1, stage.told[0]):
            turned_over = stage.reversal[0] > 0.0 and _reversed(evidence, stage.reversal[0])[0] >= 0
            if turned_over:
                watch.alarm[ALARM_KIND] = CHANGE
            if watch.alarm[ALARM_KIND] != 0:
                return at + 1
            turned, share, _ = _renew(
                evidence,
                stage.levels,
                steering,
                stage.shown,
                stage.bars[0],
                stage.bars[1],
                stage.aim,
                mix,
                stage.leaders,
            )
            if stage.probes[0] > 0.0:
                share, part = _probe_shares(share, stage.probes[0], TRIAL if watch.trial[CLICKS_LEFT] > 0 else 0.0)
                _mix_evenly(mix, steering.starts, part)
                turned = True
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
    aim: Any


class Found(NamedTuple):
    """What came of a run: clicks lost, when what rang, and how many visitors were in trials."""

    lost: float
    alarms: list[tuple[int, int]]
    tried: int


def run(
    tables: Sequence[Floats],
    visitors: int,
    site: str = "steady",
    policy: str = "uts",
    aim: str = "both",
    change: str = "ignore",
    interaction: str = "ignore",
    oracle: bool = False,
    seed: int = 0,
) -> Found:
    """Run an experiment in worlds that follow each other; `oracle` begins anew where one does."""
    shape = tables[0].shape
    size, how, moves = sum(shape), AIMS[aim], movement(site, visitors)
    luck, lost, best = generator(seed, "visitors"), np.zeros(1), np.zeros(1)
    alarms: list[tuple[int, int]] = []
    restarts = eras = tried = 0
    chosen = as_policy(policy).live()

    def era(fresh: bool, old: Any = None, stage: Any = None) -> tuple[Any, Any, Any]:
        known_misfit = any(what == MISFIT for _, what in alarms)
        misfit, changes = interaction != "ignore" and not known_misfit, change != "ignore"
        watch = start_watch(shape, eras, changes, misfit, product=not known_misfit, trials=change == "restart")
        told = known_misfit or (any(what == CHANGE for _, what in alarms) and change == "warn")
        bar = reversal_bar(shape, restarts) if changes and not told else 0.0
        state = chosen.start(*shape)
        rng = generator(seed, "experiment", eras + 1)
        if not fresh:
            return (old[0], *old[1:3], watch), stage._replace(reversal=np.array([bar])), rng
        pair = np.zeros(2, np.int64)
        bars = np.log([(size - 2) / 0.05, comparisons(shape) / 0.05])
        stage = Stage(
            pair,
            pair.copy(),
            np.zeros(1, np.int64),
            np.zeros(size),
            np.empty(size),
            np.zeros(0),
            np.arange(size),
            pair.copy(),
            np.zeros(size),
            np.zeros(1, np.int64),
            lost,
            best,
            bars,
            np.array([bar]),
            np.array([PROBES if change == "restart" or (interaction == "test-all" and misfit) else 0.0]),
            how,
        )
        return (state, start_steering(shape, how.explore), start_evidence(shape), watch), stage, rng

    known, stage, rng = era(fresh=True)
    at = 0
    for part, table in enumerate(tables):
        end, best[0] = visitors * (part + 1) // len(tables), table.max()
        while at < end:
            loop = compiled(play, type(chosen).__module__, __name__)
            at = loop(known, stage, rng, luck, table, moves, at, end)
            rang = int(known[3].alarm[ALARM_KIND])
            if rang:
                alarms.append((at, rang))
                tried += int(known[3].trial[TRIED])
                eras += 1
                restart = rang == CHANGE and change == "restart"
                restarts += restart
                if rang == MISFIT and interaction == "test-all":
                    chosen = as_policy(INSURED).live()
                    known, stage, rng = era(fresh=True)  # its policy begins with nothing here: a little worse than live
                else:
                    known, stage, rng = era(restart, known, stage)
        if oracle and part + 1 < len(tables):
            eras += 1
            known, stage, rng = era(fresh=True)
    return Found(float(lost[0]), alarms, tried + int(known[3].trial[TRIED]))


def product(rng: np.random.Generator, size: int, top: float) -> Floats:
    """Return click rates of a product with levels between 0.3 and 1."""
    return np.outer(rng.uniform(0.3, 1.0, size), rng.uniform(0.3, 1.0, size)) * top


def falls(rng: np.random.Generator) -> list[Floats]:
    """Return a world in which what leads gets worse: its row loses more than half of its clicks."""
    before = product(rng, SIZE, 0.5)
    after = before.copy()
    after[before.max(axis=1).argmax()] *= 0.4
    return [before, after]


def rises(rng: np.random.Generator) -> list[Floats]:
    """Return a world in which what leads stays as it is, and the worst row becomes a fifth better than its row."""
    before = product(rng, SIZE, 0.5)
    after = before.copy()
    best, worst = before.max(axis=1).argmax(), before.max(axis=1).argmin()
    after[worst] = np.minimum(1.0, 1.2 * before[best])
    return [before, after]


def exception(rng: np.random.Generator) -> list[Floats]:
    """Return a world with one pair that is no product of its levels."""
    table = product(rng, 6, 0.5)
    row, col = np.unravel_index(int(table.argmin()), table.shape)
    table[row, col] = 0.8
    return [table]


# What is played: worlds, visitors, runs, what counts as an alarm, and what the experiment does about it.
_CHANGE: dict[str, dict[str, Any]] = {
    "ignore": {},
    "restart": {"change": "restart"},
    "told when (oracle)": {"oracle": True},
}
_MISFIT: dict[str, dict[str, Any]] = {
    "ignore": {},
    "test-all": {"interaction": "test-all"},
    f"{INSURED} from the beginning": {"policy": INSURED},
}
WORLDS: dict[str, tuple[Any, int, int, dict[str, Any]]] = {
    "everything changes three times in 200,000 visitors": (
        lambda rng: [product(rng, SIZE, 0.5) for _ in range(4)],
        200_000,
        8,
        _CHANGE,
    ),
    "what leads gets worse after 20,000 of 40,000 visitors": (falls, 40_000, 8, _CHANGE),
    "the worst row becomes the best after 20,000 of 40,000 visitors": (rises, 40_000, 8, _CHANGE),
    "nothing changes in 40,000 visitors": (lambda rng: [product(rng, SIZE, 0.5)], 40_000, 8, _CHANGE),
    "6 x 6, one pair that is no product, 100,000 visitors": (exception, 100_000, 4, _MISFIT),
}


def false_alarms() -> str:
    """Write how often something rang in products whose whole site moves."""
    lines = [
        f"| false alarms, {SIZE} x {SIZE}, {FALSE_VISITORS:,} visitors, of {FALSE_RUNS} runs | told: change | misfit "
        "| restart: change | trials take |",
        "|---|---|---|---|---|",
    ]
    for site in ("steady", "cycle", "doubled", "trend"):
        rang, tried = {"warn": [0, 0], "restart": [0, 0]}, []
        for (change, counts), seed in itertools.product(rang.items(), range(FALSE_RUNS)):
            table = product(generator(seed, "null"), SIZE, 0.5)
            found = run([table], FALSE_VISITORS, site, change=change, interaction="warn", seed=seed)
            for kind in {what for _, what in found.alarms}:
                counts[kind - 1] += 1
            tried += [found.tried / FALSE_VISITORS] if change == "restart" else []
        told, misfit = rang["warn"]
        lines.append(f"| {site} | {told} | {misfit} | {rang['restart'][0]} | {np.mean(tried):.1%} |")
    return "\n".join(lines)


def worth(name: str) -> str:
    """Write what it is worth to do something about an alarm in a world."""
    worlds, visitors, runs, ways = WORLDS[name]
    lines = [f"| {name} | clicks lost | alarms in a run | visitors until then, median (90%) |", "|---|---|---|---|"]
    for way, how in ways.items():
        lost, counts, delays = [], [], []
        for seed in range(runs):
            tables = worlds(generator(seed, name))
            found = run(tables, visitors, seed=seed, **how)
            lost.append(found.lost)
            counts.append(len(found.alarms))
            delays += [at % (visitors // len(tables)) for at, _ in found.alarms]
        error = np.std(lost, ddof=1) / math.sqrt(runs)
        late = f"{np.median(delays):,.0f} ({np.quantile(delays, 0.9):,.0f})" if delays else "-"
        lines.append(f"| {way} | {np.mean(lost):,.0f} ± {error:,.0f} | {np.mean(counts):.1f} | {late} |")
    return "\n".join([*lines, "", f"{runs} runs each."])


def report() -> str:
    """Measure everything."""
    return "\n\n".join([false_alarms(), *map(worth, WORLDS)])
