"""``python -m benchmarks goals``: how often statements about goals are wrong, how soon revenue is decided, what it costs.

Writes benchmarks/measured/goals.md. Constants of the evidence were chosen on other seeds.
"""

import itertools
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from loky import get_reusable_executor

import rankone
from benchmarks.goal_worlds import KINDS, WORLDS, wrong
from rankone.compiling.compiled import compiled
from rankone.evidence.amounts import present, start_amounts
from rankone.evidence.levels import RATIOS

PAGE = Path(__file__).parent / "measured" / "goals.md"
WORKERS = 2
RUNS, SEED, VISITORS = 400, 5_000, 20_000
VERDICTS, LONGEST, ERROR = 200, 1_000_000, 0.05
LEARNERS = ("rounded to clicks", "scaled Beta", "Gaussian")
LEARNED, HORIZON = 100, 100_000
TURNS, ASKS = 15, 400

#: Orders: the share of visitors who order, the spread of log-normal amounts, the cap in medians, and what is better.
ORDERS = {
    "20% more orders": (0.02, 0.8, 10.0, 1.2, 1.0),
    "30% more orders, amounts spread widely": (0.02, 1.2, 30.0, 1.3, 1.0),
    "orders worth 30% more": (0.02, 0.8, 10.0, 1.0, 1.3),
}

#: Of orders of 2% of visitors, for tables.
AMOUNTS = {
    "log-normal, 0.8": lambda rng, n: rng.lognormal(3.0, 0.8, n),
    "log-normal, 1.2": lambda rng, n: rng.lognormal(3.0, 1.2, n),
    "log-normal, 1.6": lambda rng, n: rng.lognormal(3.0, 1.6, n),
    "Pareto 2.1": lambda rng, n: rng.pareto(2.1, n) + 1.0,
    "Pareto 1.5, infinite variance": lambda rng, n: rng.pareto(1.5, n) + 1.0,
    "Pareto 1.5, capped at 50": lambda rng, n: np.minimum(rng.pareto(1.5, n) + 1.0, 50.0),
}


def report():
    """Return all tables, and write them down."""
    text = "\n\n".join([errors(), verdicts(), learners(), tables(), costs()])
    PAGE.write_text(text + "\n")
    return text


def errors(runs=RUNS, visitors=VISITORS):
    """Return the table of wrong statements."""
    head = f"| world ({runs} runs, {visitors:,} visitors, a look after each outcome) | {' | '.join(KINDS)} |"
    lines = [head, "|---" * (1 + len(KINDS)) + "|"]
    cases = [(world, True) for world in WORLDS] + [(next(iter(WORLDS)), False)]
    for world, known in cases:
        tasks = [(world, SEED + seed, visitors, known) for seed in range(runs)]
        found = list(get_reusable_executor(WORKERS).map(_wrong, tasks, chunksize=20))
        cells = " | ".join(f"{sum(each[kind] for each in found) / runs:.1%}" for kind in KINDS)
        lines.append(f"| {world if known else 'control: the first, its probabilities ignored'} | {cells} |")
    return "\n".join(lines)


def _wrong(task):
    return wrong(*task)


def verdicts(runs=VERDICTS):
    """Return the table of visitors until a verdict of two levels, on amounts and on clicks that they are rounded to."""
    lines = [
        f"| 2% order, log-normal amounts; {runs} runs | visitors until proven (median), by amounts | by clicks they are rounded to | ratio |"
    ]
    lines.append("|---|---|---|---|")
    for name, orders in ORDERS.items():
        found = np.array([_verdict(SEED + seed, *orders) for seed in range(runs)])
        one, other = np.median(found, axis=0)
        never = (found >= LONGEST).mean(axis=0)
        beyond = "" if never[1] < 0.5 else "more than "
        lines.append(f"| {name} | {one:,.0f} | {beyond}{other:,.0f} | {one / other:.2f} |")
    return "\n".join(lines)


def _orders(rng, n, rate, spread, cap, more, worth, better):
    """Return what visitors bring, as part of the cap."""
    ordered = np.flatnonzero(rng.random(n) < rate * np.where(better, more, 1.0))
    size = rng.lognormal(0.0, spread, len(ordered)) / cap * np.where(better[ordered], worth, 1.0)
    values = np.zeros(n)
    values[ordered] = np.minimum(size, 1.0)
    return values


def _verdict(seed, rate, spread, cap, more, worth, n=LONGEST):
    """Return after how many visitors of an equal split amounts, and clicks they are rounded to, prove the better one."""
    rng = np.random.default_rng(seed)
    better = rng.random(n) < 0.5
    values = _orders(rng, n, rate, spread, cap, more, worth, better)
    at = np.flatnonzero(values)
    won, lost = (np.where(better[at] == side, values[at], 0.0) for side in (True, False))
    sums = [np.cumsum(each) for each in (won, lost, won**2, lost**2)]
    amounts = start_amounts((2,))._replace(gain=sums[0], loss=sums[1], gain2=sums[2], loss2=sums[3])
    rounded = np.flatnonzero(rng.random(n) < values)
    up, ratios = better[rounded, None], np.array(RATIOS)
    clicks = np.cumsum(np.where(up, np.log(2 * ratios / (ratios + 1)), np.log(2 / (ratios + 1))), axis=0)
    by_clicks = np.logaddexp.reduce(clicks, axis=1) - np.log(len(ratios))
    bar = np.log(2 / ERROR)
    cases = (at, present(amounts)), (rounded, by_clicks)
    return [int(places[np.argmax(log >= bar)]) if (log >= bar).any() else n for places, log in cases]


def learners(runs=LEARNED, horizon=HORIZON):
    """Return the table of revenue lost by Thompson sampling of six combinations, by what it learns of an amount."""
    lines = [f"| revenue lost in {horizon:,} visitors, six combinations, {runs} runs | {' | '.join(LEARNERS)} |"]
    lines.append("|---" * (1 + len(LEARNERS)) + "|")
    play = compiled(_learn, __name__)
    for name, orders in ORDERS.items():
        rate, spread, cap, more, worth = orders
        rng = np.random.default_rng([SEED, len(name)])
        values = np.minimum(rng.lognormal(0.0, spread, (2, 200_000)) * np.array([[worth], [1.0]]) / cap, 1.0)
        best, other = rate * more * values[0].mean(), rate * values[1].mean()
        cells = []
        for learner in range(len(LEARNERS)):
            lost = [
                play(
                    np.random.default_rng([SEED, seed, learner]), learner, values, rate, more, horizon, np.zeros((6, 4))
                )
                for seed in range(runs)
            ]
            part = np.array(lost) * (best - other) / (best * horizon)
            cells.append(f"{part.mean():.1%} +- {part.std() / np.sqrt(runs):.1%}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _learn(rng, learner, values, rate, more, horizon, known):
    """Return how many visitors did not see the best of six combinations."""
    lost = 0
    for _ in range(horizon):
        best, most = 0, -1e300
        mean, square, shown = 1e-6, 1e-6, 0.0
        for arm in range(6):
            mean, square, shown = mean + known[arm, 0], square + known[arm, 1], shown + known[arm, 2]
        for arm in range(6):
            brought, count = known[arm, 0], known[arm, 2]
            if learner < 2:
                index = rng.beta(1.0 + brought, 1.0 + count - brought)
            elif count < 100.0:
                index = 1e6 - count
            else:
                index = brought / count + rng.normal() * np.sqrt(square / shown / count)
            if index > most:
                best, most = arm, index
        lost += best != 0
        value = 0.0
        if rng.random() < rate * (more if best == 0 else 1.0):
            value = values[0 if best == 0 else 1, int(rng.random() * values.shape[1])]
        if learner == 0:
            value = 1.0 if rng.random() < value else 0.0
        known[best, 0] += value
        known[best, 1] += value * value
        known[best, 2] += 1.0
    return lost


def tables(runs=RUNS, levels=3):
    """Return how often `analyse_revenue` calls a level worse, of three that are equal."""
    lines = [
        f"| revenue of {levels} equal levels, {runs} tables | visitors of each | compared | a level wrongly worse |"
    ]
    lines.append("|---|---|---|---|")
    names = np.array(["A", "B", "C"])[:levels]
    for name, draw in AMOUNTS.items():
        for visitors in (3_000, 30_000):
            rng, compared, wrongly = np.random.default_rng([SEED, len(name), visitors]), 0, 0
            for _ in range(runs):
                n = visitors * levels
                values = np.where(rng.random(n) < 0.02, draw(rng, n), 0.0)
                table = pl.DataFrame({"page": np.repeat(names, visitors), "revenue": values})
                found = [level for level in rankone.analyse_revenue(table, "revenue").levels if level.high != 1.0]
                compared += any(level.high < np.inf for level in found)
                wrongly += any(level.high < 1.0 for level in found)
            lines.append(f"| {name} | {visitors:,} | {compared / runs:.0%} | {wrongly / runs:.1%} |")
    return "\n".join(lines)


def costs(turns=TURNS):
    """Return the table of what ask and tell cost with three goals, for one goal; ratios of processor times in turns."""
    goals = {
        "one goal": None,
        "three goals, clicks told": {"click": {}, "order": {"kind": "amount", "cap": 500}, "refund": {}},
        "three goals, 2% of visitors order": {"click": {}, "order": {"kind": "amount", "cap": 500}, "refund": {}},
    }
    spent = {name: [] for name in goals}
    with tempfile.TemporaryDirectory() as folder, rankone.live.Database(f"{folder}/live.db", durability="off") as db:
        opened = {name: rankone.Experiment(name, 4, 5, db=db, seed=1, goals=own) for name, own in goals.items()}
        for turn, (name, live) in itertools.product(range(turns + 2), opened.items()):
            begin = time.process_time()
            for visit in range(ASKS):
                decision = live.ask()
                live.tell(decision.id, clicked=visit % 5 == 0)
                if "order" in name and visit % 50 == 0:
                    live.tell(decision.id, goal="order", value=20.0)
            if turn > 1:
                spent[name].append((time.process_time() - begin) / ASKS)
    base = spent["one goal"]
    lines = ["| ask + tell, 4 x 5, SQLite | times the cost of one goal |", "|---|---|"]
    for name, each in spent.items():
        ratio = statistics.median(one / other for one, other in zip(each, base, strict=True))
        lines.append(f"| {name} | {ratio:.2f} |")
    return "\n".join(lines)
