"""What a list costs beside a pair, and the memory of many rankings.

`python -m benchmarks rankings` (two minutes). Processor time of ask and tell in one process, without waiting for the
disk: a list of 10 of 100 items, against a pair of 10 x 10, in the same run and turn by turn. And the memory of 1,000
rankings of 200 items in one database, all of them used in turn.
"""

from __future__ import annotations

import resource
import statistics
import time
from typing import Any

from rankone.live import Database, Experiment, Ranking
from rankone.numerics.seeds import generator

VISITORS, TURNS = 400, 7  # of each kind in a turn
RANKINGS, ITEMS = 1_000, 200


def pair_turn(experiment: Any, rng: Any) -> float:
    """Return the processor time of a turn of visitors who see pairs, in microseconds each."""
    began = time.process_time()
    for _ in range(VISITORS):
        decision = experiment.ask()
        experiment.tell(decision, bool(rng.random() < 0.1))
    return 1e6 * (time.process_time() - began) / VISITORS


def list_turn(ranking: Any, rng: Any) -> float:
    """Return the same of visitors who see lists, one in three of whom clicks."""
    began = time.process_time()
    for _ in range(VISITORS):
        decision = ranking.ask()
        ranking.tell(decision, [1 + int(rng.random() * 10)] if rng.random() < 1 / 3 else [])
    return 1e6 * (time.process_time() - began) / VISITORS


def cost(policy: str) -> tuple[float, float]:
    """Return microseconds of a pair and of a list, the medians of all turns but the first."""
    rng, pairs, lists = generator(1, "rankings"), [], []
    with Database(None) as database:
        pair = Experiment("pair", 10, 10, db=database, seed=1, outcomes={"max_open": 10})
        ranking = Ranking("list", 100, positions=10, policy=policy, db=database, seed=1)
        for _ in range(TURNS):
            pairs.append(pair_turn(pair, rng))
            lists.append(list_turn(ranking, rng))
    return statistics.median(pairs[1:]), statistics.median(lists[1:])


def memory(folder: str) -> tuple[float, float]:
    """Return the mebibytes that the folds of all rankings take by their own count, and the peak of this process."""
    with Database(f"{folder}/rankone.db", durability="off") as database:
        for number in range(RANKINGS):
            ranking = Ranking(f"ranking {number}", ITEMS, positions=10, policy="cascade-ts", db=database, seed=1)
            ranking.tell(ranking.ask(), [1])
        held = database.transactions._folds._bytes / 2**20
    return held, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def report() -> str:
    """Return the figures as Markdown."""
    import tempfile

    lines = ["| policy | a pair, µs | a list of 10 of 100, µs | times |", "|---|---|---|---|"]
    for policy in ("cascade-ts", "gibbs-ts"):
        pair, many = cost(policy)
        lines.append(f"| {policy} | {pair:.0f} | {many:.0f} | {many / pair:.1f} |")
    with tempfile.TemporaryDirectory() as folder:
        held, peak = memory(folder)
    said = f"{RANKINGS:,} rankings of {ITEMS} items, each used: {held:.0f} MiB of folds, {peak:.0f} MiB at the peak."
    return "\n".join([*lines, "", said])


if __name__ == "__main__":
    print(report())
