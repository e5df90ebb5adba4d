"""The paper's scaling claims, and what late outcomes cost: ``python -m benchmarks.bench_sweeps scaling out/scaling``.

A file of ``benchmarks/sweeps`` has the settings of `rankone.sweep`; those above its sweeps hold for all of them.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import rankone


def play(name: str, out: Path, **instead: int) -> None:
    """Play the sweeps of a file, and write what they found; what is finished is kept."""
    written = tomllib.loads((Path(__file__).parent / "sweeps" / f"{name}.toml").read_text())
    for part, own in written.pop("sweep").items():
        settings = written | own | instead
        title, theory = settings.pop("title"), settings.pop("exponent", None)
        found = rankone.sweep(**settings, out=out / part)
        found.save(out / part, title=title, theory=theory)
        print(f"{title}: theory says {theory}\n{found.exponents()}", flush=True)


if __name__ == "__main__":
    play(sys.argv[1], Path(sys.argv[2]))
