"""``make bench``: run every benchmark of this folder and write their figures to benchmarks/results.md."""

from __future__ import annotations

import importlib
import os
import pkgutil
import platform
import sys
from pathlib import Path

import benchmarks


def main() -> None:
    wanted = sys.argv[1:]
    sections = []
    for module in pkgutil.iter_modules(benchmarks.__path__):
        if module.name.startswith("bench_") and (not wanted or module.name.removeprefix("bench_") in wanted):
            print(f"running {module.name} ...", file=sys.stderr)
            bench = importlib.import_module(f"benchmarks.{module.name}")
            text = bench.report()
            print(text)
            sections.append(f"## {module.name.removeprefix('bench_')}\n\n{text}")
    if not wanted:
        machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.machine()}"
        head = f"# Measured figures\n\nWritten by `make bench` ({machine}). Ratios compare figures of the same run.\n\n"
        (Path(__file__).parent / "results.md").write_text(head + "\n\n".join(sections) + "\n")


if __name__ == "__main__":
    main()
