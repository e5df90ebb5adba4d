"""What a newcomer waits for: each first use in a new process, with nothing compiled on this machine.

Each program is run with an empty cache in three ways, in turns: from this checkout, from the wheel that `make package`
builds, and compiling everything first (RANKONE_COMPILE=first), as it was before there were tiers. The figures are
medians. Processor seconds are those of the program itself: what compiles in the background has low priority.

Behind gunicorn, with two workers that have just been started, the time is that of the first visitor's request.

``python -m benchmarks first_use`` takes some minutes.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import site
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUNS = 3
SIMULATED = ("uts", "ucb1", "kl-ucb", "thompson", "rank1elim-kl")
TABLE = "headline,image,shown,clicked\nA,x,1000,50\nA,y,1000,40\nB,x,1000,30\nB,y,1000,20\n"
PROGRAMS = {
    "import": "import rankone",
    "import rankone.simulate": "import rankone\nrankone.simulate",
    "ask + tell + report": (
        "import rankone\n"
        "shop = rankone.Experiment('shop', ['A', 'B', 'C'], ['x', 'y'], db=None)\n"
        "shop.tell(shop.ask(), True)\n"
        "shop.report()"
    ),
    **{
        f"simulate {policy}": f"import rankone\nrankone.simulate('needle:8x8', '{policy}', 10_000, runs=2)"
        for policy in SIMULATED
    },
    "analyse": "import rankone\nrankone.analyse('table.csv')",
    "plan": "import rankone\nrankone.plan(rows=2, cols=2, rate=0.3, lift=0.5)",
}
APP = """
import rankone

shop = rankone.Experiment("shop", ["A", "B", "C"], ["x", "y"], db="shop.db")


async def app(scope, receive, send):
    assert scope["type"] == "http"
    shown = str(shop.ask().levels).encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": shown})
"""
GUNICORN = "gunicorn, two workers: first visitor"
WAYS = ("checkout", "wheel", "compiled first")


@contextlib.contextmanager
def installed_wheel() -> Iterator[Path]:
    """Yield the Python of a new environment with the wheel; its dependencies are those of this one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        quiet = {"check": True, "stdout": subprocess.DEVNULL}
        build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder), str(ROOT)]
        subprocess.run(build, **quiet)
        (wheel,) = folder.glob("*.whl")
        subprocess.run([sys.executable, str(ROOT / "deploy" / "prebuild.py"), str(wheel)], **quiet)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], **quiet)
        (target,) = (folder / "venv").glob("lib/python*/site-packages")
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target"]
        subprocess.run([*install, str(target), str(wheel)], **quiet)
        (target / "dependencies.pth").write_text("\n".join(site.getsitepackages()))
        yield folder / "venv" / "bin" / "python"


def environment(folder: Path, way: str) -> dict[str, str]:
    """Return what a program finds: an empty cache, and the package of the checkout or the wheel."""
    left_out = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "RANKONE_COMPILE")
    env = {key: value for key, value in os.environ.items() if key not in left_out}
    env["RANKONE_CACHE_DIR"] = str(folder / "cache")
    if way != "wheel":
        env["PYTHONPATH"] = str(ROOT / "src")
    if way == "compiled first":
        env["RANKONE_COMPILE"] = "first"
    return env


def measure(program: str, python: str, way: str) -> tuple[float, float]:
    """Run a program with an empty cache; return its processor seconds and how long it took."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "table.csv").write_text(TABLE)
        begin = time.perf_counter()
        process = subprocess.Popen([python, "-c", program], cwd=folder, env=environment(folder, way))
        _, status, used = os.wait4(process.pid, 0)
        taken = time.perf_counter() - begin
        process.returncode = status
        if status:
            raise RuntimeError(f"failed: {program}")
        shutil.rmtree(folder / "cache", ignore_errors=True)
    return used.ru_utime + used.ru_stime, taken


def first_visitor(python: str, way: str) -> tuple[float, float]:
    """Start gunicorn, and return the processor seconds of all its processes and how long the first visitor waits."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "shop_app.py").write_text(APP)
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
        words = ["--workers", "2", "--worker-class", "uvicorn.workers.UvicornWorker", "--log-level", "error"]
        process = subprocess.Popen(
            [python, "-m", "gunicorn", *words, "--bind", f"127.0.0.1:{port}", "shop_app:app"],
            cwd=folder,
            env=environment(folder, way),
        )
        try:
            while True:  # until it listens: workers start after that
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.01)
            begin = time.perf_counter()
            while True:  # gunicorn kills a worker that compiles for too long, and the visitor has to come again
                with contextlib.suppress(http.client.HTTPException, OSError):
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=120) as answer:
                        assert answer.status == 200
                    break
            taken = time.perf_counter() - begin
        finally:
            process.terminate()
            _, _, used = os.wait4(process.pid, 0)
            process.returncode = 0
    return used.ru_utime + used.ru_stime, taken


def report() -> str:
    """Return the table."""
    lines = [
        "| first use | " + " | ".join(f"{way}: processor s | s" for way in WAYS) + " |",
        "|---" * (1 + 2 * len(WAYS)) + "|",
    ]
    with installed_wheel() as venv:
        pythons = dict.fromkeys(WAYS, sys.executable) | {"wheel": str(venv)}
        for way in WAYS:  # so that bytecode is there
            measure(PROGRAMS["analyse"], pythons[way], way)
        for name in (*PROGRAMS, GUNICORN):
            taken: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
            for _ in range(RUNS):
                for way in WAYS:
                    first = name == GUNICORN
                    one = first_visitor(pythons[way], way) if first else measure(PROGRAMS[name], pythons[way], way)
                    taken[way].append(one)
            middle = [statistics.median(run[part] for run in taken[way]) for way in WAYS for part in (0, 1)]
            lines.append(f"| {name} | " + " | ".join(f"{value:.2f}" for value in middle) + " |")
    return "\n".join(lines)
