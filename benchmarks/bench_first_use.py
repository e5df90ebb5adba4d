"""What a newcomer waits for: each first use in a new process, with nothing compiled, against compiling everything first.

Each program is run with an empty cache, once as it is and once with RANKONE_COMPILE=first, in turns; the figures are
medians. Processor seconds are those of the program itself: what compiles in the background has low priority.

``python -m benchmarks first_use`` takes some minutes.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 3
SIMULATED = ("uts", "ucb1", "kl-ucb", "thompson", "rank1elim-kl")
TABLE = "headline,image,shown,clicked\nA,x,1000,50\nA,y,1000,40\nB,x,1000,30\nB,y,1000,20\n"
PROGRAMS = {
    "import": "import rankone",
    "ask + tell + report": (
        "import rankone\n"
        "shop = rankone.Experiment('shop', ['A', 'B', 'C'], ['x', 'y'], db=None)\n"
        "shop.tell(shop.ask(), True)\n"
        "shop.report()"
    ),
    **{
        f"simulate {policy}": f"import rankone\nrankone.simulate('needle:8x8', '{policy}', 10_000, runs=2, workers=1)"
        for policy in SIMULATED
    },
    "analyse": "import rankone\nrankone.analyse('table.csv')",
    "plan": "import rankone\nrankone.plan(rows=2, cols=2, rate=0.3, lift=0.5)",
}


def measure(program: str, choice: str) -> tuple[float, float]:
    """Run a program with an empty cache; return its processor seconds and how long it took."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "table.csv").write_text(TABLE)
        env = {**os.environ, "RANKONE_CACHE_DIR": str(Path(folder) / "cache"), "RANKONE_COMPILE": choice}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        begin = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-c", program], cwd=folder, env=env)
        _, status, used = os.wait4(process.pid, 0)
        taken = time.perf_counter() - begin
        process.returncode = status
        if status:
            raise RuntimeError(f"failed: {program}")
        shutil.rmtree(Path(folder) / "cache", ignore_errors=True)
    return used.ru_utime + used.ru_stime, taken


def report() -> str:
    """Return the table."""
    lines = [
        "| first use | processor s | s | compiled first: processor s | s | ratio |",
        "|---|---|---|---|---|---|",
    ]
    for name, program in PROGRAMS.items():
        runs = [[measure(program, choice) for choice in ("auto", "first")] for _ in range(RUNS)]
        (cpu, taken), (cpu_first, taken_first) = (
            [statistics.median(run[tier][part] for run in runs) for part in (0, 1)] for tier in (0, 1)
        )
        lines.append(
            f"| {name} | {cpu:.2f} | {taken:.2f} | {cpu_first:.2f} | {taken_first:.2f} | {taken_first / taken:.1f} |"
        )
    return "\n".join(lines)
