"""A service that runs for long: does it hold its memory and its files, and how long does the slowest visitor wait?

The real service on SQLite with full durability gets 500 pairs of ask and tell a second for 20 minutes, while its memory
and open files are looked at every two seconds. The bar: after the first minute its memory stays within 3 MiB of what it
was then, and the number of its open files stays the same. The slope shows a leak sooner than the bar does. Requests that
come together are carried out in one commit, so what leaks at every call is also counted by commits.

It runs only when it is named, as 20 minutes are too many for ``make bench``. A shorter or gentler one:
``python -m benchmarks.bench_soak --minutes 3 --rate 200``. With ``--archive`` what is older than a third of the time is moved
to files when half of it is over, with ``--backup`` the database is copied when three quarters are: the 99th percentile of
asks meanwhile is compared with that of as long a time before (the bar: twice).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import linear_regression
from typing import Any, NamedTuple

from tests.web.helpers import ServerProcess

from benchmarks.bench_service import CLIENTS, figures, loading, percentile, served
from benchmarks.usage import open_files, resident_megabytes
from rankone.live.operate.doctor import examine

EVERY = 2.0  # seconds from one look to the next
SETTLED = 60.0  # seconds until the look that later ones are held to
BAR = 3.0  # MiB


class Look(NamedTuple):
    """What is seen of the server at once."""

    seconds: float
    memory: float  # MiB
    files: int


class Chore(NamedTuple):
    """Something that an operator does meanwhile."""

    name: str
    words: tuple[str, ...]  # of the command
    at: float  # share of the time that is over then


class Done(NamedTuple):
    """A chore that was done, and when."""

    name: str
    began: float
    ended: float


def chores(folder: Path, minutes: float, archive: bool, backup: bool) -> list[Chore]:
    """Return what to do meanwhile."""
    db, old = str(folder / "bench.db"), f"{20 * minutes:g}s"
    found = [Chore("archive", ("archive", db, "--to", str(folder / "archives"), "--older-than", old), 0.5)] * archive
    return found + [Chore("backup", ("backup", db, str(folder / "all.backup")), 0.75)] * backup


def soak(
    db: Path, minutes: float, rate: float, todo: list[Chore]
) -> tuple[list[Look], float, dict[str, Any], list[Done]]:
    """Return what was seen of the server after the first minute, its commits a second, the clients' latencies, and when
    chores were done."""
    with served(db):
        pass  # a server that compiles keeps what the compiler freed, and a leak would fill that first
    looks: list[Look] = []
    done: list[Done] = []
    with served(db) as server:
        process, began, before = server.process.pid, time.monotonic(), commits_of(server)

        def carry_out() -> None:
            for chore in todo:
                time.sleep(max(0.0, 60.0 * minutes * chore.at - (time.monotonic() - began)))
                start = time.monotonic() - began
                subprocess.run([sys.executable, "-m", "rankone", *chore.words], check=True, capture_output=True)
                done.append(Done(chore.name, start, time.monotonic() - began))

        operator = threading.Thread(target=carry_out)
        with loading(server.port, 60.0 * minutes, rate) as finished:
            operator.start()
            while (now := time.monotonic() - began) < 60.0 * minutes - EVERY:
                if now >= SETTLED:
                    looks.append(Look(now, resident_megabytes(process), open_files(process)))
                time.sleep(EVERY)
            found = finished()
            operator.join()
        return looks, (commits_of(server) - before) / found["seconds"], found, done


def commits_of(server: ServerProcess) -> float:
    """How many there were; not asked while the server is watched, as that opens a connection."""
    return figures(server.url)["rankone_commit_seconds_count"]


def slowed(asks: list[float], seconds: float, done: Done) -> str:
    """Return the 99th percentile of asks before a chore and during it. They came at a steady rate, in this order."""
    span = max(5.0, done.ended - done.began)
    each = len(asks) / seconds
    before, during = (
        asks[int(each * max(0.0, first)) : int(each * (first + span)) + 1] for first in (done.began - span, done.began)
    )
    old, new = percentile(before, 0.99), percentile(during, 0.99)
    return f"{old:.1f}, {new:.1f} ({new / old:.2f} times; bar: 2), {done.ended - done.began:.1f} s"


def report(minutes: float = 20.0, rate: float = 500.0, archive: bool = False, backup: bool = False) -> str:
    """Return all figures as Markdown."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        todo = chores(folder, minutes, archive, backup)
        looks, commits, found, done = soak(folder / "bench.db", minutes, rate, todo)
        wrong = [str(each) for each in examine(folder / "bench.db", folder / "archives") if not each.ok]
    first, last = looks[0], looks[-1]
    memory, files = [look.memory for look in looks], [look.files for look in looks]
    largest = max((held - first.memory for held in memory), key=abs)
    slope = linear_regression([look.seconds for look in looks], memory).slope
    told = len(found["tells"]) / found["seconds"]
    asks = (percentile(found["asks"], share) for share in (0.5, 0.99, 1.0))
    lines = {
        "pairs a second, commits a second": f"{told:,.0f}, {commits:,.0f}",
        "memory after the first minute, at the end, MiB": f"{first.memory:.1f}, {last.memory:.1f}",
        f"largest difference to the first minute, MiB (bar: {BAR:.0f})": f"{largest:+.2f}",
        "slope: MiB an hour": f"{3600 * slope:+.1f}",
        "slope: bytes a pair, bytes a commit": f"{2**20 * slope / told:+.0f}, {2**20 * slope / commits:+.0f}",
        "open files, least and most": f"{min(files)}, {max(files)}",
        "ask p50, p99, worst, ms": ", ".join(f"{value:.1f}" for value in asks),
        **{
            f"ask p99 before and during {each.name}, ms": slowed(found["asks"], found["seconds"], each) for each in done
        },
        "doctor": "; ".join(wrong) or "finds nothing wrong",
        "within the bar": "yes" if abs(largest) <= BAR and min(files) == max(files) else "**no**",
    }
    load = f"{rate:,.0f} pairs a second from {CLIENTS} clients for {minutes:g} minutes, SQLite, full durability"
    head = f"{load}; load average of the machine {os.getloadavg()[0]:.1f} at the end."
    return "\n".join([head, "", "| figure | value |", "|---|---|", *(f"| {name} | {lines[name]} |" for name in lines)])


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--minutes", type=float, default=20.0, help="longer than 1.1")
    options.add_argument("--rate", type=float, default=500.0, help="pairs of ask and tell a second")
    options.add_argument("--archive", action="store_true", help="archive what is old in the middle of it")
    options.add_argument("--backup", action="store_true", help="make a backup in the middle of it")
    given = options.parse_args()
    if given.minutes < 1.1:
        options.error(
            f"Expected more than 1.1 minutes, but got {given.minutes:g}. The first minute is only the measure"
        )
    print(report(given.minutes, given.rate, given.archive, given.backup))
