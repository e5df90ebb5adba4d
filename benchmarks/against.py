"""This checkout against another one, in turns: ``python -m benchmarks.against PATH [--horizon N] [--compile] [POLICY ...]``.

Each checkout has a process of its own that plays a run when it is told to; they take turns, and the least time of each
counts, so that neither other work on the machine nor its warmth favours one. Times are processor times of the loop
alone. Both play the same runs: where their regrets differ, that is said too. Runs are long, or as ``--horizon`` says.

``--compile`` measures instead how long the first run of a policy takes to compile, with an empty cache. ``--ask``
measures what an ask costs a live experiment as everybody gets it (a SQLite file, one ask at a time, no policy named),
and an ask with its tell: the median over turns of the ratio of processor times.

To compare with an earlier commit: ``git worktree add --detach ../before COMMIT``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
SIZES = [(32, 32), (128, 128), (10, 871)]
EXACT = ("kl-ucb", "kl-ucb:c=3", "thompson", "ucb1", "uts")
BAR, EXACT_BAR = 0.85, 0.9  # share of the other's steps a second
SECONDS = 0.15  # of a run, about
TURNS = 9
ASKED_SIZES = [(2, 2), (4, 5), (8, 8)]
ASKS, ASK_BAR = 400, 1.3  # asks of a turn; how much more an ask may cost
COMPILED = 3  # times that a first run is compiled

# What runs in the process of each checkout: it knows only what both have.
PLAYER = """
import json, sys, time
time.perf_counter = time.process_time  # a run is timed by its processor time
import rankone
for line in sys.stdin:
    policy, rows, cols, horizon = json.loads(line)
    begin = time.process_time()
    study = rankone.simulate(
        rankone.needle(rows, cols), policy, horizon, runs=1, seed=1, workers=1, checkpoints=1
    )
    print(json.dumps([study.runs[0].seconds, study.runs[0].regret[-1], time.process_time() - begin]), flush=True)
"""

ASKER = """
import json, sys, tempfile, time
import rankone
folder = tempfile.TemporaryDirectory()
made = {}
for line in sys.stdin:
    rows, cols, count = json.loads(line)
    if (rows, cols) not in made:
        made[rows, cols] = rankone.Experiment(f"{rows}x{cols}", rows, cols, db=f"{folder.name}/live.db", seed=1, durability="off")
    live, asking, begin = made[rows, cols], 0.0, time.process_time()
    for visit in range(count):
        before = time.process_time()
        decision = live.ask()
        asking += time.process_time() - before
        live.tell(decision.id, clicked=hash((visit, int(decision.levels["row"][4:]))) % 10 < 2)
    print(json.dumps([asking / count, (time.process_time() - begin) / count]), flush=True)
"""


class Checkout:
    """A process that plays with the code of a checkout."""

    def __init__(self, path: Path, cache: str | None = None, program: str = PLAYER) -> None:
        own = {"PYTHONPATH": str(path / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        own |= {} if cache is None else {"RANKONE_CACHE_DIR": cache}
        self._process = subprocess.Popen(
            [sys.executable, "-c", program],
            env=os.environ | own,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def play(self, policy: str, size: tuple[int, int], horizon: int) -> tuple[float, float, float]:
        """Return processor seconds of the loop, its regret, and processor seconds of all around it."""
        seconds, regret, whole = self._told([policy, *size, horizon])
        return seconds, regret, whole

    def ask(self, size: tuple[int, int], count: int) -> tuple[float, float]:
        """Return processor seconds of an ask, and of an ask with its tell."""
        alone, both = self._told([*size, count])
        return alone, both

    def _told(self, what: list[Any]) -> list[Any]:
        pipe: Any = self._process
        pipe.stdin.write(json.dumps(what) + "\n")
        pipe.stdin.flush()
        found: list[Any] = json.loads(pipe.stdout.readline())
        return found

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def speeds(other: Path, policies: list[str], fixed: int | None) -> None:
    """Print steps a second of both and their ratio, for every policy and size."""
    ours, theirs = Checkout(HERE), Checkout(other)
    print("| policy | " + " | ".join(f"{rows}x{cols}" for rows, cols in SIZES) + " | bar |")
    print("|---" * (len(SIZES) + 2) + "|")
    for policy in policies:
        bar, cells = EXACT_BAR if policy in EXACT else BAR, []
        for size in SIZES:
            horizon, seconds = fixed or 1_000, 0.0
            if fixed:  # compile
                theirs.play(policy, size, horizon)
                ours.play(policy, size, horizon)
            while not fixed and seconds < SECONDS / 4 and horizon < 1 << 26:
                horizon *= 4
                seconds = theirs.play(policy, size, horizon)[0]
            found = [(ours.play(policy, size, horizon), theirs.play(policy, size, horizon)) for _ in range(TURNS)]
            our, their = (min(turn[side][0] for turn in found) for side in (0, 1))
            same = all(turn[0][1] == turn[1][1] for turn in found)
            mark = "" if their / our >= bar else " **below**"
            cells.append(f"{their / our:.2f} ({horizon / our / 1e6:.3g} M){mark}{'' if same else ' OTHER REGRET'}")
        print(f"| {policy} | " + " | ".join(cells) + f" | {bar} |", flush=True)
    ours.close()
    theirs.close()


def compile_times(other: Path, policies: list[str]) -> None:
    """Print processor seconds of a first run with an empty cache, of both."""
    print("| first run, processor seconds | this | other | ratio |\n|---|---|---|---|")
    for policy in policies:
        least = {HERE: float("inf"), other: float("inf")}
        for _ in range(COMPILED):
            for path in least:
                with tempfile.TemporaryDirectory() as cache:
                    checkout = Checkout(path, cache)
                    least[path] = min(least[path], checkout.play(policy, (8, 8), 10)[2])
                    checkout.close()
        ours, theirs = least.values()
        print(f"| {policy} | {ours:.2f} | {theirs:.2f} | {ours / theirs:.2f} |", flush=True)


def ask_costs(other: Path) -> None:
    """Print what an ask costs both, and an ask with its tell, and the median of their ratios."""
    ours, theirs = (Checkout(path, program=ASKER) for path in (HERE, other))
    print(
        "| size | ask, us: this | other | ratio | ask and tell, us: this | other | ratio |\n|---|---|---|---|---|---|---|"
    )
    for size in ASKED_SIZES:
        for each in (ours, theirs):
            each.ask(size, ASKS)  # compiled and warm
        found = [(ours.ask(size, ASKS), theirs.ask(size, ASKS)) for _ in range(TURNS)]
        cells = []
        for kind in (0, 1):
            our, their = (statistics.median(turn[side][kind] for turn in found) for side in (0, 1))
            ratio = statistics.median(turn[0][kind] / turn[1][kind] for turn in found)
            mark = f" **above {ASK_BAR}**" if kind == 0 and ratio > ASK_BAR else ""
            cells.append(f"{1e6 * our:.0f} | {1e6 * their:.0f} | {ratio:.2f}{mark}")
        print(f"| {size[0]}x{size[1]} | {' | '.join(cells)} |", flush=True)
    ours.close()
    theirs.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("path", type=Path, help="the other checkout")
    parser.add_argument("--horizon", type=int, help="decisions of a run; default: as many as take a while")
    parser.add_argument("--compile", action="store_true", help="measure first compiles instead of steps a second")
    parser.add_argument("--ask", action="store_true", help="measure what an ask of a live experiment costs")
    parser.add_argument("policies", nargs="*", help="default: all on pairs that both have, but the yardstick best")
    given = parser.parse_intermixed_args()
    if not (given.path / "src" / "rankone").is_dir():
        sys.exit(f"Expected a checkout with src/rankone, but got {given.path}. Name its folder")
    other, policies = given.path.resolve(), given.policies or _all(given.path.resolve())
    if given.ask:
        ask_costs(other)
    else:
        compile_times(other, policies) if given.compile else speeds(other, policies, given.horizon)


NAMES = """
import json, rankone
known = rankone.known_policies().items()
print(json.dumps([name for name, kind in known if getattr(kind, "plays", "pair") != "list" and name != "best"]))
"""


def _all(other: Path) -> list[str]:
    """Return the policies on pairs that both checkouts have."""
    found = []
    for path in (HERE, other):
        settings = os.environ | {"PYTHONPATH": str(path / "src")}
        done = subprocess.run([sys.executable, "-c", NAMES], env=settings, capture_output=True, text=True, check=True)
        found.append(set(json.loads(done.stdout)))
    return sorted(set.intersection(*found))


if __name__ == "__main__":
    main()
