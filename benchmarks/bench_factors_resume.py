"""Resume of a live experiment of a million decisions with four factors, beside one with rows and columns.

Processor time of opening the experiment and asking once, with kernels that are compiled already: from the journal
alone, and from a snapshot of its end. Pairs are 32 x 32, factors 4 x 4 x 8 x 8: as many combinations. Each is the least
of three; ratios within this run.

A snapshot is written every 20,000 events, less often where what it holds is large, so an experiment that is opened has
some events to read besides: on average half of those between two snapshots. The last column has both.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import rankone
from rankone.live.fold import snapshot
from rankone.numerics.seeds import generator

DECISIONS, BATCH = 1_000_000, 1_000
KINDS: dict[str, dict[str, Any]] = {
    "32 x 32": {"rows": 32, "cols": 32},
    "4 x 4 x 8 x 8": {"factors": {"a": 4, "b": 4, "c": 8, "d": 8}},
}


class Found(NamedTuple):
    """What was measured of one experiment."""

    journal: float  # seconds
    loaded: float  # seconds, from a snapshot of the end
    size: float  # of the snapshot, in MB
    between: float  # events from one snapshot to the next
    usual: float  # seconds, from a snapshot half as far back


def fill(path: Path, settings: dict[str, Any], decisions: int) -> list[int]:
    """Ask and tell so many decisions; a tenth is clicked. Return at which events a snapshot was there."""
    rng, seen = generator(1, "resume"), set()
    with rankone.Experiment("page", db=path, seed=1, durability="off", **settings) as page:
        for _ in range(decisions // BATCH):
            made = page.ask(BATCH)
            page.tell_many(zip(made, (rng.random(BATCH) < 0.1).tolist(), strict=True))
            seen.update(_query(page, "SELECT seq FROM rankone_snapshots"))
    return sorted(seen)


def _query(page: rankone.Experiment, statement: str) -> list[int]:
    transactions = page.database.transactions
    return [row[0] for row in transactions.alone(lambda: transactions.storage.query(statement))]


def _keep_only(path: Path, last: bool) -> float:
    """Leave no snapshot, or one of the end; return its size in MB."""
    with rankone.Experiment("page", db=path) as page:
        body, seq = page.look(lambda fold: (snapshot.save(fold), fold.seq)) if last else (b"", 0)
        transactions = page.database.transactions
        with transactions.storage.transaction([]):
            transactions.storage.query("DELETE FROM rankone_snapshots")
            if last:
                transactions.storage.keep_snapshot(1, seq, body)
        assert _query(page, "SELECT seq FROM rankone_snapshots") == ([seq] if last else [])
    return len(body) / 1e6


def _seconds(path: Path) -> float:
    begin = time.process_time()
    with rankone.Experiment("page", db=path) as page:
        page.ask()
        return time.process_time() - begin


def measure(settings: dict[str, Any], decisions: int) -> Found:
    """Fill an experiment, and open it in both ways, three times each."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.db")
        seen = fill(path, settings, decisions)
        journal, loaded = [], []
        for _ in range(3):
            size = _keep_only(path, last=True)
            loaded.append(_seconds(path))
            _keep_only(path, last=False)
            journal.append(_seconds(path))
    between = (seen[-1] - seen[0]) / (len(seen) - 1) if len(seen) > 1 else 2.0 * decisions
    usual = min(loaded) + min(journal) * between / 2.0 / (2.0 * decisions)
    return Found(min(journal), min(loaded), size, between, usual)


def report(decisions: int = DECISIONS) -> str:
    """One row a kind, in Markdown."""
    lines = [
        f"| {decisions:,} decisions | journal, s | snapshot of the end, s | MB | events between two | usually, s |",
        "|---|---|---|---|---|---|",
    ]
    found = {}
    for name, settings in KINDS.items():
        found[name] = one = measure(settings, decisions)
        lines.append(
            f"| {name} | {one.journal:.2f} | {one.loaded:.2f} | {one.size:.1f} | {one.between:,.0f} | {one.usual:.2f} |"
        )
        print(lines[-1], file=sys.stderr, flush=True)
    pair, factors = found.values()
    ratios = [factors.journal / pair.journal, factors.loaded / pair.loaded, factors.usual / pair.usual]
    lines.append("| factors, in times of pairs | {:.2f} | {:.2f} | | | {:.2f} |".format(*ratios))
    return "\n".join(lines)


if __name__ == "__main__":
    print(report(int(sys.argv[1]) if len(sys.argv) > 1 else DECISIONS))
