"""From text to a fitted model: speed against a plain EM over sessions, memory, ten times the log, a long-tailed log.

Each job runs in a process of its own, so that its peak memory is its own. The baseline is `tests/oracles/pbm_em.py`:
one object a session, a loop over sessions, ranks and iterations. It is timed on a tenth of the lists and a few
iterations, and extrapolated (its cost is linear in both) to all lists and 50 iterations.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.oracles import pbm_em

from rankone import clicks

LISTS = 1_000_000
BASELINE_LISTS, BASELINE_ITERATIONS = 100_000, 2

_JOB = """
import json, sys, time
from benchmarks.usage import peak_megabytes
begin, cpu = time.perf_counter(), time.process_time()
from rankone import clicks
calls = []
progress = (lambda *call: calls.append(call)) if PROGRESS else None
counts = clicks.read(sys.argv[1], "yandex-rpc", progress=progress)
read = time.perf_counter()
model = clicks.PBM(min_impressions=MIN).fit(counts, progress=(lambda *call: calls.append(call)) if PROGRESS else None)
print(json.dumps({
    "seconds": time.perf_counter() - begin, "cpu": time.process_time() - cpu, "read": read - begin,
    "peak": peak_megabytes(), "cells": len(counts.cells),
    "queries": len(counts.queries), "converged": model.converged_, "calls": len(calls),
}))
"""


def job(path: Path, min_impressions: int = 20, progress: bool = False) -> dict[str, float]:
    """Read and fit in a fresh process; seconds include Python's imports."""
    code = _JOB.replace("MIN", str(min_impressions)).replace("PROGRESS", str(progress))
    command = [sys.executable, "-c", code, str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def baseline(path: Path) -> tuple[float, float]:
    """CPU seconds that the plain way takes to load all lists, and for one iteration over them (both extrapolated)."""
    begin = time.process_time()
    sessions: list[pbm_em.Session] = []
    with path.open() as file:
        for line in file:
            fields = line.rstrip("\n").split("\t")
            if fields[2] == "Q":
                if len(sessions) == BASELINE_LISTS:
                    break
                sessions.append(pbm_em.Session(fields[3], fields[5:], [False] * len(fields[5:])))
            elif fields[3] in sessions[-1].items:
                sessions[-1].clicks[sessions[-1].items.index(fields[3])] = True
    loaded = time.process_time()
    pbm_em.fit(sessions, BASELINE_ITERATIONS)
    scale = LISTS / BASELINE_LISTS
    return (loaded - begin) * scale, (time.process_time() - loaded) / BASELINE_ITERATIONS * scale


def report() -> str:
    """Return all figures as Markdown."""
    with tempfile.TemporaryDirectory() as directory:
        small, large, tail = (Path(directory) / name for name in ("small.tsv", "large.tsv", "tail.tsv"))
        clicks.generate_log(small, LISTS, items=200)
        size = small.stat().st_size / 1e6
        job(small)  # compiles what is not in the cache yet
        one = min((job(small) for _ in range(3)), key=lambda figures: figures["cpu"])
        load, iteration = baseline(small)
        whole = load + 50 * iteration
        clicks.generate_log(large, 10 * LISTS, items=200)
        ten = job(large)
        large.unlink()
        clicks.generate_log(tail, LISTS, queries=150_000, items=60, steepness=0.5, epochs=1)
        long_tail = job(tail, min_impressions=0, progress=True)
    rows = [
        ["", "lists", "distinct cells", "seconds", "CPU seconds", "peak memory, MB"],
        ["---"] * 6,
        [f"{size:.0f} MB of text to a fitted PBM", f"{LISTS:,}", *_cells(one)],
        ["ten times the log", f"{10 * LISTS:,}", *_cells(ten)],
        [f"long-tailed log, {long_tail['queries']:,} queries, every item", f"{LISTS:,}", *_cells(long_tail)],
    ]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines += [
        "",
        f"Plain EM over sessions: {load:.0f} CPU s to load and {iteration:.1f} an iteration, {whole:,.0f} for 50 "
        f"(measured on {BASELINE_LISTS:,} lists and {BASELINE_ITERATIONS} iterations, extrapolated): "
        f"**{whole / one['cpu']:,.0f} times** ours. Bar: 300.",
        f"Ten times the log: {ten['peak'] / one['peak']:.2f} times the memory (bar 1.2), "
        f"{ten['cpu'] / one['cpu']:.1f} times the CPU time. Bars of memory: 600 MB; 4,000 MB for the long tail.",
        f"Long tail: {long_tail['cells']:,.0f} cells (at least 3,000,000 asked for), {long_tail['calls']} calls of the "
        "progress function.",
    ]
    return "\n".join(lines)


def _cells(figures: dict[str, float]) -> list[str]:
    return [f"{figures['cells']:,}", f"{figures['seconds']:.1f}", f"{figures['cpu']:.1f}", f"{figures['peak']:,.0f}"]
