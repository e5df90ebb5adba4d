"""A live experiment that chooses for each visitor: time of an ask, memory, and how often what it states is wrong.

*Ask*: `mixture-ts` with 10,000 visitors in memory and 100 items, told of each outcome, beside `thompson` on the same
items, in the same run. *Memory*: a process of its own to which 100,000 visitors come. *Statements*: worlds in which two
classes of visitors like different items and two items are equally good for all visitors together, so that a winner among
these is wrong; the click rate of the whole site moves. In the last world the mix of visitors changes, which the report's
line "Assumes" excludes: there a statement may be wrong. About 10 minutes; ``python -m benchmarks visitors``.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

from rankone.live import Ask, Experiment, Tell
from rankone.numerics.seeds import generator

VISITORS, ITEMS, MOST_TIMES, MOST_MEMORY = 10_000, 100, 3.0, 512
RUNS, VISITS, BATCH = 400, 1_200, 30
#: Click rates of the classes; the halves of the time: how the whole site is clicked, and the share of the first class.
WORLDS = {
    "steady": ([1.0, 1.0], [0.5, 0.5]),
    "the site's rate falls to a third": ([1.0, 0.33], [0.5, 0.5]),
    "the site's rate triples": ([0.33, 1.0], [0.5, 0.5]),
    "the mix of visitors changes (excluded)": ([1.0, 1.0], [0.8, 0.2]),
}
LIKED = np.array([[0.6, 0.2, 0.3], [0.2, 0.6, 0.3]])


def _opened(name: str, policy: str, items: int, db: str | None = None, **more: object) -> Experiment:
    factors = {"item": [f"item {item}" for item in range(items)]}
    return Experiment(name, factors=factors, policy=policy, db=db, durability="off", seed=1, **more)


def _come(experiment: Experiment, users: np.ndarray, named: bool) -> None:
    """Let visitors come, 500 at a time; every tenth clicks."""
    for first in range(0, len(users), 500):
        asks = [Ask(visitor=f"visitor {user}" if named else None) for user in users[first : first + 500]]
        made = experiment.do(asks)
        experiment.do([Tell(decisions[0].id, decisions[0].number % 10 == 0) for decisions in made])


def _seconds(experiment: Experiment, named: bool, asks: int = 2_000) -> np.ndarray:
    """Seconds of processor time of an ask and its outcome, one by one, in ten parts."""
    rng, times = generator(1, "asks"), []
    for _ in range(10):
        begin = time.process_time()
        for user in rng.integers(VISITORS, size=asks // 10):
            made = experiment.ask(visitor=f"visitor {user}") if named else experiment.ask()
            experiment.tell(made, bool(made.number % 10 == 0))
        times.append((time.process_time() - begin) / (asks // 10))
    return np.array(times)


def ask_table() -> list[str]:
    """Time of an ask and its outcome."""
    lines = ["| policy | microseconds | slowest tenth | times plain |", "|---|---|---|---|"]
    plain = 0.0
    for policy in ("thompson", "mixture-ts:users=20000", "lowrank-ts:users=20000"):
        named = policy != "thompson"
        with tempfile.TemporaryDirectory() as folder, _opened("feed", policy, ITEMS, f"{folder}/feed.db") as experiment:
            _come(experiment, np.tile(np.arange(VISITORS), 2), named)
            times = 1e6 * _seconds(experiment, named)
        plain = plain or times.mean()
        missed = "" if times.mean() <= MOST_TIMES * plain else f" (missed: at most {MOST_TIMES:g})"
        lines.append(f"| {policy} | {times.mean():,.0f} | {times.max():,.0f} | {times.mean() / plain:.2f}{missed} |")
        print(lines[-1], flush=True)
    return lines


def _remember(users: int) -> None:
    """In a process of its own: let 100,000 visitors come, and print the most memory that it took, in MiB."""
    with (
        tempfile.TemporaryDirectory() as folder,
        _opened("feed", f"mixture-ts:users={users}", ITEMS, f"{folder}/feed.db") as experiment,
    ):
        _come(experiment, np.arange(100_000), True)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def memory_table() -> list[str]:
    """Memory of a process to which 100,000 visitors come."""
    lines = ["| visitors in memory, 100 items | MiB | at most |", "|---|---|---|"]
    for users in (10_000, 100_000):
        code = f"from benchmarks.bench_visitors import _remember; _remember({users})"
        said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
        most = float(said.split()[-1])
        lines.append(f"| {users:,} | {most:,.0f} | {MOST_MEMORY}{'' if most <= MOST_MEMORY else ' (missed)'} |")
        print(lines[-1], flush=True)
    return lines


def _winner(world: str, run: int) -> bool:
    """Let visitors come; return whether a winner was ever named."""
    (moving, mix), rng = WORLDS[world], generator(run, "bench visitors", world)
    with _opened("feed", "mixture-ts", 3, explore=0.5) as experiment:
        for first in range(0, VISITS, BATCH):
            half = int(2 * first >= VISITS)
            kind = (rng.random(BATCH) >= mix[half]).astype(int)
            users = kind + 2 * rng.integers(30, size=BATCH)
            made = [each[0] for each in experiment.do([Ask(visitor=str(user)) for user in users])]
            rates = moving[half] * LIKED[kind, [int(each["item"][5:]) for each in made]]
            clicked = rng.random(BATCH) < rates
            experiment.do([Tell(each.id, bool(click)) for each, click in zip(made, clicked, strict=True)])
            if first % (10 * BATCH) == 9 * BATCH and " wins" in experiment.report().headline:
                return True
    return False


def statement_table(runs: int = RUNS) -> list[str]:
    """How often a winner among equals is named."""
    lines = ["| world | runs | named a winner among equals | at most |", "|---|---|---|---|"]
    for world in WORLDS:
        wrong = sum(_winner(world, run) for run in range(runs)) / runs
        most = "-" if "excluded" in world else "5%"
        lines.append(f"| {world} | {runs} | {wrong:.1%} | {most} |")
        print(lines[-1], flush=True)
    return lines


def report() -> str:
    """All of it, as Markdown."""
    return "\n".join([*ask_table(), "", *memory_table(), "", *statement_table()])
