"""``make bench``: run every benchmark of this folder, write their figures to benchmarks/results.md and to the README.

``python -m benchmarks engine`` runs one and writes nothing. In README.md, what stands between ``<!-- bench engine -->``
and ``<!-- end -->`` is replaced by the figures of the benchmark `engine`.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import platform
import re
import sys
from pathlib import Path

import benchmarks

HERE = Path(__file__).parent


def main() -> None:
    wanted = sys.argv[1:]
    sections: dict[str, str] = {}
    for module in pkgutil.iter_modules(benchmarks.__path__):
        if module.name.startswith("bench_") and (not wanted or module.name.removeprefix("bench_") in wanted):
            print(f"running {module.name} ...", file=sys.stderr)
            bench = importlib.import_module(f"benchmarks.{module.name}")
            text = bench.report()
            print(text)
            sections[module.name.removeprefix("bench_")] = text
    if not wanted:
        machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.machine()}"
        head = f"# Measured figures\n\nWritten by `make bench` ({machine}). Ratios compare figures of the same run.\n\n"
        text = "\n\n".join(f"## {name}\n\n{figures}" for name, figures in sections.items())
        (HERE / "results.md").write_text(head + text + "\n")
        readme = HERE.parent / "README.md"
        readme.write_text(filled(readme.read_text(), sections))


def filled(page: str, sections: dict[str, str]) -> str:
    """Return the page with the figures between its marks.

    >>> filled("<!-- bench engine -->old<!-- end -->", {"engine": "new"})
    '<!-- bench engine -->\\nnew\\n<!-- end -->'
    """
    return re.sub(
        r"(<!-- bench (\w+) -->).*?(<!-- end -->)",
        lambda found: f"{found[1]}\n{sections[found[2]]}\n{found[3]}",
        page,
        flags=re.DOTALL,
    )


if __name__ == "__main__":
    main()
