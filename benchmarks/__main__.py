"""``make bench``: run every benchmark of this folder, write their figures to benchmarks/results.md.

``python -m benchmarks engine`` runs one and writes nothing; `alarms` (10 minutes), `coverage` (2), `edge` (20), `evaluation` (15),
`factors` (5), `factors_resume` (20), `features` (10), `goals` (5), `headline` (1), `lists_live` (30), `misfit` (1), `model_choice` (10), `nature` (10),
`plans` (10), `segments` (5), `soak` (20), `split` (1), `verdicts` (20), `visitors` (10), `what_if_visitors` (15) and `winners` (5) run only when they are named; `evaluation` and
`verdicts` write what docs/measured.md shows.

A benchmark is a file ``bench_NAME.py`` with a function ``report() -> str``. The other files help them, but for
`which_policy`, which measures regret and not speed: ``python -m benchmarks.which_policy`` writes benchmarks/measured;
`against`, which compares with another checkout: ``python -m benchmarks.against ../before``; and `image`, which measures
a container: ``python -m benchmarks.image rankone``.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import platform
import sys
from pathlib import Path

import benchmarks

HERE = Path(__file__).parent
WHEN_NAMED = {
    "alarms",
    "context",
    "coverage",
    "edge",
    "evaluation",
    "factors",
    "factors_resume",
    "features",
    "goals",
    "headline",
    "lists_live",
    "misfit",
    "model_choice",
    "nature",
    "plans",
    "segments",
    "soak",
    "split",
    "verdicts",
    "visitors",
    "what_if_visitors",
    "winners",
}


def main() -> None:
    files = [module.name for module in pkgutil.iter_modules(benchmarks.__path__)]
    names = [file.removeprefix("bench_") for file in files if file.startswith("bench_")]
    wanted = sys.argv[1:]
    if unknown := set(wanted) - set(names):
        sys.exit(
            f"Expected benchmarks {', '.join(names)}, but got {', '.join(unknown)}. Name some of them, or none for all"
        )
    sections: dict[str, str] = {}
    for name in wanted or [name for name in names if name not in WHEN_NAMED]:
        print(f"running {name} ...", file=sys.stderr)
        sections[name] = importlib.import_module(f"benchmarks.bench_{name}").report()
        print(sections[name])
    if not wanted:
        machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.machine()}"
        head = f"# Measured figures\n\nWritten by `make bench` ({machine}). Ratios compare figures of the same run.\n\n"
        text = "\n\n".join(f"## {name}\n\n{figures}" for name, figures in sections.items())
        (HERE / "results.md").write_text(head + text + "\n")


if __name__ == "__main__":
    main()
