"""Resume of a live experiment of a million decisions with four factors, beside one with rows and columns.

Processor time of opening the experiment and asking once: from the journal alone, and from the snapshot that is there.
Pairs are 32 x 32, factors 4 x 4 x 8 x 8: as many combinations. Each is the least of three; ratios within this run.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import rankone
from rankone.numerics.seeds import generator

DECISIONS, BATCH = 1_000_000, 1_000
KINDS: dict[str, dict[str, Any]] = {
    "32 x 32": {"rows": 32, "cols": 32},
    "4 x 4 x 8 x 8": {"factors": {"a": 4, "b": 4, "c": 8, "d": 8}},
}


def fill(path: Path, settings: dict[str, Any], decisions: int) -> None:
    """Ask and tell so many decisions; a tenth is clicked."""
    rng = generator(1, "resume")
    with rankone.Experiment("page", db=path, seed=1, durability="off", **settings) as page:
        for _ in range(decisions // BATCH):
            made = page.ask(BATCH)
            page.tell_many(zip(made, (rng.random(BATCH) < 0.1).tolist(), strict=True))


def seconds(path: Path, whole: bool) -> float:
    """Return the processor time of opening it, from the whole journal or from its snapshot, the least of three."""
    taken = []
    for _ in range(3):
        if whole:
            with rankone.Database(path) as database:
                database.transactions.storage.query("DELETE FROM rankone_snapshots")
        begin = time.process_time()
        with rankone.Experiment("page", db=path) as page:
            page.ask()
            taken.append(time.process_time() - begin)
    return min(taken)


def report(decisions: int = DECISIONS) -> str:
    """One row a kind, in Markdown."""
    lines = [f"| {decisions:,} decisions | journal, s | snapshot, s |", "|---|---|---|"]
    found = {}
    for name, settings in KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "page.db")
            fill(path, settings, decisions)
            found[name] = seconds(path, whole=False), seconds(path, whole=True)
        print(name, found[name], file=sys.stderr, flush=True)
        lines.append(f"| {name} | {found[name][1]:.2f} | {found[name][0]:.2f} |")
    pair, factors = found.values()
    lines.append(f"| factors, in times of pairs | {factors[1] / pair[1]:.2f} | {factors[0] / pair[0]:.2f} |")
    return "\n".join(lines)
