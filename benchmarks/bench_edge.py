"""Deciding at the edge: what it costs to decide by weights that are renewed every so often, and whether verdicts hold.

`python -m benchmarks edge` takes 15 minutes. Regret of the policy `edge` beside that of `uts`, which learns each outcome
at once; false statements of 400 experiments whose levels tie, in sites that move; how fast exposures are taken in.
`python -m benchmarks.bench_edge moving` runs one part (`regret`, `moving`, `verdicts`, `ingest`); `regret 40 3x3x2` takes 40
runs of one problem.
"""

from __future__ import annotations

import math
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl
import pyarrow.parquet as pq

import rankone
from rankone.charts.chart import COLOURS, SHAPES, Chart
from rankone.compiling.compiled import compiled
from rankone.evidence.levels import RATIOS
from rankone.kernels.policy import decide, learn
from rankone.live.operate.visits import drawn_cells
from rankone.numerics.seeds import generator
from rankone.policies.factors.edge import EDGE_VERSION

HERE = Path(__file__).parent
HORIZON, RUNS = 1_000_000, 100


def _product(name: str, *factors: Any) -> rankone.Product:
    return rankone.Product({f"factor {index}": list(each) for index, each in enumerate(factors)}, name=name)


PROBLEMS = {
    "needle 8x6": rankone.needle(8, 6),
    "random 4x5": _product("random 4x5", [0.1, 0.09, 0.075, 0.055], [1, 0.9, 0.8, 0.7, 0.55]),
    "3x3x2": _product("3x3x2", [0.02, 0.018, 0.016], [1, 0.85, 0.7], [1, 0.9]),
    "10x10": _product("10x10", np.linspace(0.05, 0.02, 10), [1, 0.995, 0.99, 0.9, 0.85, 0.75, 0.7, 0.6, 0.55, 0.5]),
    "near-tie 2x2": _product("near-tie 2x2", [0.05, 0.0475], [1, 0.95]),
}
# The most that was measured elsewhere, plus two standard errors: of the ratio to uts, of regret to the first batch.
TO_UTS = {"random 4x5": (1.25, 1.3), "3x3x2": (1.2, 1.25), "10x10": (1.0, 1.0), "near-tie 2x2": (1.3, 1.6)}
TO_BATCH = {"needle 8x6": 1.05, "random 4x5": 1.1, "3x3x2": 1.25, "10x10": 1.25, "near-tie 2x2": 1.8}
LENGTHS = (10, 1_000, 100_000)
NEEDLE = 1.3
MOVING, MOVING_RUNS = 1.25, 40
ERROR, VERDICT_RUNS, SHARES = 0.05, 400, (0.0, 0.5)
FALSE = np.array([16, 12, 12, 12])  # of 400; the guarantee is 20
ROWS = (1_000_000, 3_000_000)


def first_batch(problem: Any, length: int) -> float:
    """Return what an even lottery loses in its first version: nobody can avoid that."""
    rates = problem.means if isinstance(problem, rankone.Product) else np.outer(problem.rows, problem.cols)
    return length * float(problem.best_mean - np.mean(rates))


def _runs(problem: Any, policy: str, runs: int) -> np.ndarray:
    """Return the regret of each run at 100,000 decisions and at the end, (runs, 2)."""
    study = rankone.simulate(problem, policy, HORIZON, runs=runs, seed=38, checkpoints=[100_000, HORIZON], workers=1)
    return np.array([run.regret[[0, -1]] for run in study.runs])


def _ratio(own: np.ndarray, base: np.ndarray) -> tuple[float, float]:
    """Return the ratio of two means with its standard error."""
    ratio = own.mean() / base.mean()
    errors = [each.std(ddof=1) / math.sqrt(len(each)) / each.mean() for each in (own, base)]
    return float(ratio), float(ratio * math.hypot(*errors))


def _verdict(ratio: float, error: float, band: float) -> str:
    """Say whether a measured ratio is within its band, or above it by no more than chance explains."""
    if ratio <= band:
        return "yes"
    return "within its error" if ratio - 2.0 * error <= band else "**no**"


def regret(runs: int = RUNS, names: tuple[str, ...] = ()) -> list[str]:
    """Regret of `edge` against `uts`, which learns at once, and against its own first version."""
    lines = ["| problem | policy | to `uts` at 100,000 | at 1,000,000 | band | held |", "|---|---|---|---|---|---|"]
    for name in names or tuple(PROBLEMS):
        problem = PROBLEMS[name]
        base = _runs(problem, "uts", runs)
        means = [f"{each.mean():,.0f} ± {each.std(ddof=1) / math.sqrt(runs):,.0f}" for each in base.T]
        lines.append(f"| {name} | `uts`, at once: regret | {means[0]} | {means[1]} | | |")
        for length in LENGTHS:
            own, batch = _runs(problem, f"edge:every={length}", runs), first_batch(problem, length)
            each = [_ratio(own[:, at], base[:, at]) for at in (0, 1)]
            band, held = "", ""
            if length == 1_000 and name in TO_UTS:
                band = " / ".join(f"{most} × `uts`" for most in TO_UTS[name])
                held = " / ".join(_verdict(*one, most) for one, most in zip(each, TO_UTS[name], strict=True))
            elif length == 100_000 or (length == 1_000 and name not in TO_UTS):
                most = TO_BATCH[name] if length == 100_000 else NEEDLE
                ratio = float(own[:, 1].mean() / batch)
                error = float(own[:, 1].std(ddof=1) / math.sqrt(runs) / batch)
                band, held = f"{most} × first version", f"{ratio:.2f}: {_verdict(ratio, error, most)}"
            cells = [f"{ratio:.2f} ± {error:.2f}" for ratio, error in each]
            lines.append(f"| {name} | `edge`, {length:,} a version | {cells[0]} | {cells[1]} | {band} | {held} |")
    return lines


def picture(lines: list[str]) -> Chart:
    """Draw the regret at the end against the length of versions, from the table of `regret`."""
    rows = [line.split(" | ") for line in lines if "`edge`" in line]
    points = [
        {
            "problem": cells[0].lstrip("| "),
            "decisions": int(cells[1].split()[1].replace(",", "")),
            "ratio": float(cells[3].split()[0]),
        }
        for cells in rows
    ]
    names = list(dict.fromkeys(point["problem"] for point in points))
    x = alt.X(
        "decisions:Q", scale=alt.Scale(type="log"), title="decisions between two versions of the weights, at least"
    )
    y = alt.Y("ratio:Q", scale=alt.Scale(type="log"), title="regret after a million, over that of uts")
    colour = alt.Color("problem:N", scale=alt.Scale(domain=names, range=COLOURS[: len(names)]), title=None)
    shape = alt.Shape("problem:N", scale=alt.Scale(domain=names, range=SHAPES[: len(names)]), title=None)
    base = alt.Chart(alt.InlineData(points)).encode(x=x, y=y, color=colour)
    layers = alt.layer(base.mark_line(strokeWidth=2), base.mark_point(size=60, filled=True).encode(shape=shape))
    return Chart(layers.properties(width=460, height=280))


@compiled
def play(state: Any, effects: Any, site: Any, bots: Any, rng: Any, room: Any) -> float:
    """Let visitors come one by one, with bots that draw afresh and click whatever they see; return the regret."""
    shown, outcome, context = room
    regret = 0.0
    for step in range(len(site)):
        tag = decide(state, context, rng, shown)
        product = 1.0
        for factor in range(len(shown)):
            product *= effects[factor, shown[factor]]
        regret += site[step] * (1.0 - product)
        chance = 0.5 if rng.random() < bots[step] else site[step] * product
        outcome[0] = 1 if rng.random() < chance else 0
        learn(state, shown, tag, outcome)
    return regret


def _room(n_factors: int) -> tuple[Any, Any, Any]:
    return np.zeros(n_factors, np.int64), np.zeros(1, np.int64), np.zeros(0)


def sites(n: int, base: float) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the click rate of the best combination, and the share of bots, at each decision."""
    at, none = np.arange(n) / n, np.zeros(n)
    burst = np.where((at >= 0.4) & (at < 0.45), 0.5, 0.0)
    return {
        "steady": (np.full(n, base), none),
        "doubles midway": (np.where(at < 0.5, 2.0 / 3.0, 4.0 / 3.0) * base, none),
        "daily cycle ±80 %": (base * (1.0 + 0.8 * np.sin(20.0 * math.pi * at)), none),
        "burst of bots": (np.full(n, base), burst),
    }


def moving() -> list[str]:
    """Regret where the rate of the whole site moves, beside that of a steady one of the same mean."""
    worlds = {
        "random 4x5": (0.1, [[1, 0.9, 0.75, 0.55, 0], [1, 0.9, 0.8, 0.7, 0.55]], (4, 5)),
        "3x3x2": (0.02, [[1, 0.9, 0.8], [1, 0.85, 0.7], [1, 0.9, 0]], (3, 3, 2)),
    }
    lines = ["| problem | site | regret at 1,000,000 | to steady | at most | held |", "|---|---|---|---|---|---|"]
    for name, (base, effects, sizes) in worlds.items():
        steady = None
        for kind, (site, bots) in list(sites(HORIZON, base).items())[:3]:
            runs = []
            for run in range(MOVING_RUNS):
                state = rankone.as_policy("edge:every=1000").start(*sizes)
                rng = generator(run, "moving", name)
                runs.append(play(state, np.array(effects, float), site, bots, rng, _room(len(sizes))))
            found = np.array(runs)
            steady = found if steady is None else steady
            ratio, error = _ratio(found, steady)
            held = "" if kind == "steady" else _verdict(ratio, error, MOVING)
            mean = f"{found.mean():,.0f} ± {found.std(ddof=1) / math.sqrt(len(found)):,.0f}"
            lines.append(f"| {name} | {kind} | {mean} | {ratio:.2f} ± {error:.2f} | {MOVING} | {held} |")
    return lines


def e_values(state: Any, factor: int) -> np.ndarray:
    """Return the log e-value of each ordered pair of levels at the end of each version, (versions, k, k)."""
    first, size, last = state.first[factor], state.sizes[factor], int(state.counters[EDGE_VERSION]) + 1
    chances, clicks = (each[:last, first : first + size] for each in (state.chances, state.clicks))
    a, b = chances[:, :, None, None], chances[:, None, :, None]
    down, ratios = np.log((a + b) / (a * np.array(RATIOS) + b)), np.log(RATIOS)
    logs = (ratios + down) * clicks[:, :, None, None] + down * clicks[:, None, :, None]
    return np.asarray(np.logaddexp.reduce(np.cumsum(logs, axis=0), axis=3) - math.log(len(RATIOS)))


def verdicts(runs: int = VERDICT_RUNS, kinds: tuple[str, ...] = ()) -> list[str]:
    """False statements at any version's end, where factor A makes no difference and B is 1, 0.8, 0.6."""
    effects, off = np.array([[1.0, 1.0, 1.0], [1.0, 0.8, 0.6]]), ~np.eye(3, dtype=bool)
    head = "| site | decides | one pair of A | any pair of A | winner of A | worse beats better in B | winner of B |"
    lines = [head + " held |", "|---|---|---|---|---|---|---|---|"]
    for kind, (site, bots) in sites(100_000, 0.05).items():
        for share in SHARES if not kinds or kind in kinds else ():
            counts = np.zeros(5)
            for run in range(runs):
                state = rankone.as_policy(f"edge:every=1000,decide={share}").start(3, 3)
                play(state, effects, site, bots, generator(run, "verdicts", kind), _room(2))
                tied, better = e_values(state, 0), e_values(state, 1)
                wins = [np.where(off, each, np.inf).min(axis=2) >= math.log(2 / ERROR) for each in (tied, better)]
                counts += [
                    tied[:, 0, 1].max() >= math.log(1 / ERROR),
                    tied[:, off].max() >= math.log(6 / ERROR),
                    wins[0].any(),
                    better[:, [1, 2, 2], [0, 0, 1]].max() >= math.log(6 / ERROR),
                    wins[1][:, 0].any(),
                ]
            held = "yes" if (counts[:4] <= FALSE * runs / VERDICT_RUNS).all() else "**no**"
            shares = " | ".join(f"{count / runs:.2%}" for count in counts)
            lines.append(f"| {kind} | {share} | {shares} | {held} |")
    return lines


def ingest(*sizes: int) -> list[str]:
    """How fast exposures are taken in, with full durability, beside a plain sum of the same file."""
    lines = [
        "| rows | processor time per row | of a plain group_by | ratio | rows per second by the clock | memory more |"
    ]
    lines.append("|---|---|---|---|---|---|")
    for count in sizes or ROWS:
        command = [sys.executable, "-m", "benchmarks.bench_edge", "fold", str(count)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        spent, plain, wall, memory = map(float, done.stdout.split())
        cells = [f"{count:,}", f"{spent / count * 1e6:.2f} µs", f"{plain / count * 1e6:.2f} µs", f"{spent / plain:.0f}"]
        lines.append(f"| {' | '.join(cells)} | {count / wall:,.0f} | {memory:,.0f} MiB |")
    return lines


def _spent() -> tuple[float, float, float]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime, time.perf_counter(), used.ru_maxrss / 1024


def fold(count: int) -> None:
    """Take in a file of exposures; print processor seconds, those of a plain sum, seconds, and MiB of memory more."""
    factors = {f"factor {index}": [str(level) for level in range(size)] for index, size in enumerate((10, 10, 5))}
    with tempfile.TemporaryDirectory() as folder:
        file, part = Path(folder, "exposures.parquet"), 100_000
        with rankone.Experiment("page", factors=factors, policy="edge", db=f"{folder}/site.db", seed=1) as experiment:
            experiment.weights()
            version, now = experiment.look(lambda fold: fold.published.versions[0]), time.time()
            schema = None
            for first in range(0, count, part):  # written in parts, so that it is not the file that takes memory
                names = [f"visitor {number}" for number in range(first, min(first + part, count))]
                levels = np.unravel_index(drawn_cells(version, names), version.sizes)
                table = pl.DataFrame({"visitor": names, "version": [1] * len(names), "time": [now] * len(names)})
                shown = [pl.Series(name, at).cast(pl.String) for name, at in zip(factors, levels, strict=True)]
                arrow = table.with_columns(shown).to_arrow()
                schema = schema or pq.ParquetWriter(file, arrow.schema)
                schema.write_table(arrow)
            assert schema is not None
            schema.close()
            before = _spent()
            pl.scan_parquet(file).group_by("version", *factors).len().collect(engine="streaming")
            between = _spent()
            taken = experiment.ingest(file)
            after = _spent()
            assert taken.shown == count
    print(after[0] - between[0], between[0] - before[0], after[1] - between[1], after[2] - between[2])


def report() -> str:
    """Return tables for a page; keep them, and the picture."""
    tables = {title: part() for title, part in PARTS.values()}
    picture(tables[PARTS["regret"][0]]).save(HERE.parent / "docs" / "images" / "edge.png", scale=1.5)
    text = "\n\n".join("\n".join([f"**{title}**", "", *lines]) for title, lines in tables.items())
    (HERE / "measured" / "edge.md").write_text(text + "\n")
    return text


PARTS: dict[str, tuple[str, Any]] = {
    "regret": ("Regret", regret),
    "moving": ("Sites that move", moving),
    "verdicts": ("False statements", verdicts),
    "ingest": ("Rows", ingest),
}

if __name__ == "__main__":
    if sys.argv[1] == "fold":
        fold(int(sys.argv[2]))
    else:
        given: Any = [int(sys.argv[2]), tuple(sys.argv[3:])] if len(sys.argv) > 2 else []
        print("\n".join(PARTS[sys.argv[1]][1](*given)))
