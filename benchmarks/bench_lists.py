"""Speed of policies on lists: the exact engines against plain twins that compute every index, or draw every Beta.

Both play the same cascade: the engine 100,000 lists from the start, the twin some lists from the counts that the engine
reached half way, when every item has been looked at. Processor time of one thread, compilation left out, the better of
some repeats; ratios compare figures of the same run. Other libraries are timed as in `bench_engine`: see there how to
install them; which are missing is said in the table.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from tests.oracles.plain_lists import plain_lists

import rankone
from benchmarks.bench_engine import against_peers, asked_peers
from rankone.numerics.seeds import generator
from rankone.simulation.work_unit import play_run, ready_for

HORIZON = 100_000
TWINS = {"cascade-kl-ucb": {(1_000, 10): 25.0, (100, 5): 8.0}, "cascade-ts": {(1_000, 10): 12.0, (100, 5): 4.0}}
FLAT = ("cascade-kl-ucb", "cascade-ucb1", "cascade-ts")
KEPT = 0.2  # of their lists a second, with a hundred times as many items
SMALL = {"gibbs-ts": 20.0}  # microseconds a list at 10 x 5


def microseconds(policy: Any, problem: Any, steps: int, repeats: int) -> float:
    """Processor time a list."""
    ready = ready_for(rankone.as_policy(policy), problem, HORIZON)
    play_run(ready.start(*problem.shape), problem, np.array([2]), generator(0))  # compiles
    taken = []
    for _ in range(repeats):
        begin = time.process_time()
        play_run(ready.start(*problem.shape), problem, np.array([steps]), generator(1))
        taken.append(time.process_time() - begin)
    return min(taken) / steps * 1e6


def plain_microseconds(name: str, problem: Any) -> float:
    """Processor time a list of the plain twin, from where the engine is half way."""
    engine = ready_for(rankone.as_policy(name), problem, HORIZON).start(*problem.shape)
    play_run(engine, problem, np.array([HORIZON // 2]), generator(1))
    taken, steps = [], 1_000_000 // problem.n_items
    for _ in range(4):  # the first compiles
        twin = plain_lists(name).start(*problem.shape)
        twin.pulls[:], twin.clicks[:] = engine.pulls, engine.clicks
        twin.clock[0], twin.clock[2] = HORIZON // 2, 1
        begin = time.process_time()
        play_run(twin, problem, np.array([steps]), generator(2))
        taken.append(time.process_time() - begin)
    return min(taken) / steps * 1e6


def judged(found: float, bar: float, at_most: bool = False) -> str:
    """Return a bar and whether it is met.

    >>> judged(26.0, 25.0), judged(21.0, 20.0, at_most=True)
    ('>= 25, met', '<= 20, missed')
    """
    met = found <= bar if at_most else found >= bar
    return f"{'<=' if at_most else '>='} {bar:g}, {'met' if met else 'missed'}"


def twins() -> list[str]:
    """The engines against their plain twins."""
    lines = ["| policy | L x K | engine, us a list | plain twin | times | bar |", "|---|---|---|---|---|---|"]
    for name, bars in TWINS.items():
        for (items, positions), bar in bars.items():
            problem = rankone.as_problem(f"cascade:{items}x{positions}")
            engine = microseconds(name, problem, HORIZON, 3)
            plain = plain_microseconds(name, problem)
            cells = [f"{items:,} x {positions}", f"{engine:.2f}", f"{plain:.1f}", f"{plain / engine:.1f}"]
            lines.append(f"| {name} | {' | '.join(cells)} | {judged(plain / engine, bar)} |")
    return lines


def flatness() -> list[str]:
    """Lists a second with a hundred times as many items."""
    lines = ["| policy | 100 x 10, us a list | 10,000 x 10 | speed kept | bar |", "|---|---|---|---|---|"]
    for name in FLAT:
        few, many = (microseconds(name, rankone.as_problem(f"cascade:{n}x10"), HORIZON, 2) for n in (100, 10_000))
        lines.append(f"| {name} | {few:.2f} | {many:.2f} | {few / many:.2f} | {judged(few / many, KEPT)} |")
    return lines


def pages() -> list[str]:
    """What every policy costs on a page of ten items and five positions, and on a large one."""
    small, large = rankone.as_problem("pbm-list:10x5:mean=0.06"), rankone.as_problem("pbm-list:1000x10:mean=0.02")
    lines = ["| policy | us a list, 10 x 5 | bar | 1,000 x 10 |", "|---|---|---|---|"]
    names = [name for name, kind in rankone.known_policies().items() if kind.decision_kind == "list"]
    for name in sorted(name for name in names if name != "comb-cascade"):
        found = microseconds(name, small, 20_000, 2)
        bar = judged(found, SMALL[name], at_most=True) if name in SMALL else ""
        lines.append(f"| {name} | {found:.2f} | {bar} | {microseconds(name, large, 5_000, 1):.1f} |")
    return lines


def peers() -> list[str]:
    """Lists a second of what users of other libraries do instead."""
    lines: list[str] = []
    for items, positions in ((100, 5), (1_000, 10)):
        here, absent = asked_peers(items, positions)
        if not here:
            return ["No peers: " + absent]
        problem = rankone.as_problem(f"cascade:{items}x{positions}")
        head = [f"{items:,} x {positions}, lists a second", "rankone", *here]
        lines += ["", "| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
        for name in FLAT:
            ours = 1e6 / microseconds(name, problem, HORIZON, 2)
            lines.append(f"| {name} | {ours:,.0f} | " + " | ".join(against_peers(here, name, ours)) + " |")
    return [*lines[1:], "", "No peer has a policy for lists: theirs are the best few of single arms. " + absent]


def report() -> str:
    """Return all figures as Markdown."""
    parts = {
        "Engines and plain twins, cascades": twins,
        "Many items": flatness,
        "A page": pages,
        "Other libraries": peers,
    }
    return "\n\n".join(f"### {title}\n\n" + "\n".join(part()) for title, part in parts.items())
