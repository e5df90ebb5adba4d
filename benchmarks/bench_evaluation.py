"""What would have happened: do estimates find the truth, do intervals hold it, how wide are they, how long do they take?

The figures go into benchmarks/measured/evaluation.md, the picture into docs/images. About ten minutes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import altair as alt
import numpy as np
import polars as pl

import rankone
from benchmarks.evaluation_logs import (
    FLOORS,
    RATES,
    TARGETS,
    as_list_target,
    as_target,
    drawn_in_turn,
    list_log,
    list_value,
    live_log,
    site_factors,
    thompson_log,
)
from benchmarks.obp_agreement import differences
from rankone.charts.chart import COLOURS, SHAPES, Chart
from rankone.numerics.seeds import generator

DOCS = Path(__file__).parents[1] / "docs"
PAGE = Path(__file__).parent / "measured" / "evaluation.md"
LOGS = 300
LIVE_LOGS = 200
MOVING_LOGS, MOVING_SEEDS = 400, 50_000  # other seeds than those the test of movement was tuned on
JOURNALS, SIZES = 20, [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000]
ASKED = "second"  # the target of the picture: the pair B, 1
_CROSSED = np.array([0.1, 0.6, 0.5, 0.1, 0.3, 0.3])  # click rates that are no product
_CHANCES = np.array([0.3, 0.1, 0.2, 0.15, 0.05, 0.2])
_TIMED = """
import json, sys, time
import numpy as np, polars as pl
import rankone
from benchmarks.usage import peak_megabytes
rng = np.random.default_rng(1)
n = 1_000_000
if sys.argv[1] == "pairs":
    pairs = rng.integers(64, size=n)
    names = np.array([f"level {k}" for k in range(8)])
    log = pl.DataFrame({"row": names[pairs // 8], "col": names[pairs % 8], "clicked": rng.random(n) < 0.1,
                        "chance": rng.uniform(0.5, 1.5, n) / 64})
    ask = lambda: rankone.evaluate(log, {"row": "level 1", "col": "level 2"})
else:
    shown = rng.permuted(np.tile(np.arange(12, dtype=np.int8), (n, 1)), axis=1)[:, :10]
    log = pl.DataFrame({"list": np.repeat(np.arange(n), 10), "position": np.tile(np.arange(1, 11), n),
                        "item": shown.ravel(), "clicked": rng.random(n * 10) < 0.1,
                        "chance": np.tile(1 / (12 - np.arange(10)), n), "position_chance": 1 / 12})
    ask = lambda: rankone.evaluate_lists(log, [str(item) for item in range(10)])
before = time.process_time()
found = ask()
print(json.dumps({"seconds": time.process_time() - before, "peak": peak_megabytes(),
                  "estimators": found.table["estimator"].to_list()}))
"""


def steady_log(seed: int, rates: np.ndarray, decisions: int = 2_000) -> pl.DataFrame:
    """Decisions of a policy that stays as it is."""
    rng = generator(seed, "steady log")
    pairs = rng.choice(6, decisions, p=_CHANCES)
    names = {"row": np.array(list("ABC"))[pairs // 2], "col": np.array(list("12"))[pairs % 2]}
    return pl.DataFrame({**names, "clicked": rng.random(decisions) < rates[pairs], "chance": _CHANCES[pairs]})


def judged(answers, truth: float) -> pl.DataFrame:
    """Per estimator: mean error in standard errors of that mean, and how often the interval has the truth."""
    rows = pl.concat([found.table.select("estimator", "value", "low", "high") for found in answers]).drop_nulls("value")
    error = pl.col("value") - truth
    return (
        rows.group_by("estimator", maintain_order=True)
        .agg(
            error=error.mean(),
            z=error.mean() / (error.std() / pl.len().sqrt()),
            held=(pl.col("low") <= truth) & (truth <= pl.col("high")),
        )
        .with_columns(held=pl.col("held").list.mean())
    )


def correctness() -> str:
    """Mean errors where the log's policy stayed as it was."""
    target = np.array([0.05, 0.25, 0.1, 0.1, 0.3, 0.2])
    logger, lists = drawn_in_turn([1.0, 2.0, 3.0, 2.0]), drawn_in_turn([6.0, 3.0, 1.0, 1.0])
    worlds = {
        f"pairs, {name}": (
            [rankone.evaluate(steady_log(seed, rates), as_target(target), seed=seed) for seed in range(LOGS)],
            float(target @ rates),
        )
        for name, rates in (("a product", RATES), ("no product", _CROSSED))
    } | {
        f"lists, {world}": (
            [
                rankone.evaluate_lists(list_log(seed, 1_000, world, logger), as_list_target(lists), seed=seed)
                for seed in range(LOGS)
            ],
            list_value(lists, world),
        )
        for world in ("position-based", "cascade")
    }
    lines = [
        "| world | estimator | mean error | in standard errors | 95% intervals with the truth |",
        "|---|---|---|---|---|",
    ]
    for world, (answers, truth) in worlds.items():
        for row in judged(answers, truth).iter_rows(named=True):
            held = "-" if row["held"] is None else f"{row['held']:.1%}"
            lines.append(f"| {world} | `{row['estimator']}` | {row['error']:+.4f} | {row['z']:+.1f} | {held} |")
    return "\n".join(lines)


def tunings() -> str:
    """Root mean squared errors of estimators with a setting, by how that is chosen."""
    target, names = np.array([0.05, 0.25, 0.1, 0.1, 0.3, 0.2]), ("switch-dr", "shrunk-dr", "subgauss-dr", "mips")
    lines = [
        f"| world | tuning | `dr` | {' | '.join(f'`{name}`' for name in names)} |",
        "|---|---|---|" + "---|" * len(names),
    ]
    for world, rates in (("a product", RATES), ("no product", _CROSSED)):
        for tuning in ("mse", "slope"):
            answers = [
                rankone.evaluate(steady_log(seed, rates), as_target(target), seed=seed, tuning=tuning)
                for seed in range(LOGS)
            ]
            table = pl.concat([each.table for each in answers]).with_columns(
                error=pl.col("value") - float(target @ rates)
            )
            found = {name: table.filter(estimator=name)["error"].to_numpy() for name in ("dr", *names)}
            errors = " | ".join(f"{np.sqrt((each**2).mean()):.4f}" for each in found.values())
            lines.append(f"| pairs, {world} | {tuning} | {errors} |")
    return "\n".join(lines)


FEW = 20  # answers below which a share of them says nothing


def _coverage_line(name: str, target: str, logs: list[pl.DataFrame]) -> str:
    truth, q = float(TARGETS[target] @ RATES), as_target(TARGETS[target])
    plain, held, ratio = [], [], []
    for log in logs:
        numbered = log.join(q, on=["row", "col"], how="left", maintain_order="left")
        scores = (numbered["probability"] / numbered["chance"] * numbered["clicked"].cast(pl.Float64)).to_numpy()
        plain.append(abs(scores.mean() - truth) <= 1.96 * scores.std() / np.sqrt(len(scores)))
        found = {row["estimator"]: row for row in rankone.evaluate(log, q).table.iter_rows(named=True)}
        adaptive, ips = found.get("adaptive", {}), found.get("ips", {})
        if adaptive.get("low") is not None:
            held.append(adaptive["low"] <= truth <= adaptive["high"])
        if ips.get("low") is not None and adaptive.get("low") is not None:
            ratio.append((adaptive["high"] - adaptive["low"]) / (ips["high"] - ips["low"]))
    said = f"{np.mean(held):.1%}" if len(held) >= FEW else "-"
    width = f"{np.median(ratio):.2f}" if len(ratio) >= FEW else "-"
    return f"| {name} | {target} | {np.mean(plain):.1%} | {len(held) / len(logs):.0%} | {said} | {width} |"


def coverage() -> str:
    """Intervals on logs of policies that learned while they logged."""
    lines = [
        "| log | target | plain IPS +- 1.96 standard errors | `adaptive` answers | and its 95% interval has the truth | "
        "its width / that of `ips` |",
        "|---|---|---|---|---|---|",
    ]
    for floor, share in FLOORS.items():
        logs = [thompson_log(seed, 2_000, share) for seed in range(LOGS)]
        lines += [_coverage_line(f"Thompson sampling, floor {floor}", target, logs) for target in TARGETS]
    for policy in ("uts", "thompson"):
        logs = [live_log(seed, 2_000, policy) for seed in range(LIVE_LOGS)]
        lines += [_coverage_line(f"live, `{policy}`", target, logs) for target in TARGETS]
    return "\n".join(lines)


def _moving_line(world: str, target: str, logs: list[pl.DataFrame], site: np.ndarray) -> str:
    truth, q = float((site * RATES).mean(axis=0) @ TARGETS[target]), as_target(TARGETS[target])
    held: dict[str, list[bool]] = {name: [] for name in ("adaptive", "snips", "ips", "first")}
    moved = 0
    for log in logs:
        found = rankone.evaluate(log, q)
        moved += found.moved
        rows = {row["estimator"]: row for row in found.table.drop_nulls("low").iter_rows(named=True)}
        for name in held:
            row = rows.get(found.first if name == "first" else name)
            if row is not None:
                held[name].append(row["low"] <= truth <= row["high"])
    cells = [f"{np.mean(each):.1%}" if len(each) >= FEW else "-" for each in held.values()]
    missed = len(held["first"]) - sum(held["first"])
    cells += [f"{len(held['first']) / len(logs):.0%}", f"{missed / len(logs):.1%}"]
    return f"| {world} | {target} | {moved / len(logs):.0%} | {' | '.join(cells)} |"


def moving() -> str:
    """Intervals where click rates moved while a policy learned: each estimator's, and those of the first to look at."""
    lines = [
        "| click rates | target | called moved | `adaptive` has the truth | `snips` | `ips` | the first to look at | "
        "it answers | it answers and misses |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for world, site in site_factors(2_000).items():
        logs = [thompson_log(MOVING_SEEDS + seed, 2_000, FLOORS["1%"], site=site) for seed in range(MOVING_LOGS)]
        lines += [_moving_line(world, target, logs, site) for target in ("best", "second", "uniform")]
    return "\n".join(lines)


def widths() -> str:
    """Intervals from the first decisions of live journals; draws the picture."""
    truth = float(TARGETS[ASKED] @ RATES)
    rows = []
    for seed in range(JOURNALS):
        log = live_log(seed, SIZES[-1], "uts")
        for size in SIZES:
            found = rankone.evaluate(log.head(size), as_target(TARGETS[ASKED]))
            for row in found.table.filter(pl.col("estimator").is_in(["adaptive", "ips"])).iter_rows(named=True):
                rows.append({"journal": seed, "decisions": size, **row})
    table = (
        pl.DataFrame(rows, infer_schema_length=None)
        .drop_nulls("low")
        .with_columns(width=pl.col("high") - pl.col("low"))
    )
    _picture(table, truth).save(DOCS / "images" / "what-if-width.png", scale=1.5)
    middle = table.group_by("decisions", "estimator").agg(pl.col("width").median(), answers=pl.len())
    lines = ["| decisions | `adaptive`: answers, median width | `ips`: answers, median width |", "|---|---|---|"]
    for size in SIZES:
        cells = []
        for name in ("adaptive", "ips"):
            here = middle.filter(decisions=size, estimator=name)
            cells.append(f"{here['answers'][0]} of {JOURNALS}, {here['width'][0]:.3f}" if here.height else "none")
        lines.append(f"| {size:,} | {cells[0]} | {cells[1]} |")
    return "\n".join(lines)


def _picture(table: pl.DataFrame, truth: float) -> Chart:
    names = ["adaptive", "ips"]
    colour = alt.Color("estimator:N", scale=alt.Scale(domain=names, range=COLOURS[:2]), title=None)
    shape = alt.Shape("estimator:N", scale=alt.Scale(domain=names, range=SHAPES[:2]), title=None)
    x = alt.X("decisions:Q", scale=alt.Scale(type="log", domain=[200, 20_000]), title="decisions in the journal")
    first = table.filter(pl.col("journal") == table["journal"].min())
    moved = first.with_columns(decisions=pl.col("decisions") * pl.when(estimator="ips").then(1.12).otherwise(1.0))
    bars = alt.Chart(alt.InlineData(moved.to_dicts())).encode(x=x, color=colour)
    y = alt.Y("low:Q", title="clicks per decision of the pair B, 1")
    left = alt.layer(
        bars.mark_rule(strokeWidth=2).encode(y=y, y2="high:Q"),
        bars.mark_point(filled=True, size=60, opacity=1).encode(y="value:Q", shape=shape),
        alt.Chart(alt.InlineData([{"truth": truth}])).mark_rule(color="black", strokeDash=[2, 2]).encode(y="truth:Q"),
    ).properties(width=330, height=260, title="one journal; dotted: the truth")
    middle = table.group_by("decisions", "estimator").agg(pl.col("width").median()).sort("decisions")
    width = alt.Y("width:Q", scale=alt.Scale(zero=True), title="width of the 95% interval")
    lines = alt.Chart(alt.InlineData(middle.to_dicts())).encode(x=x, y=width, color=colour)
    marks = lines.mark_point(filled=True, size=60, opacity=1).encode(shape=shape)
    right = alt.layer(lines.mark_line(strokeWidth=2), marks).properties(
        width=330, height=260, title=f"median of {JOURNALS} journals"
    )
    return Chart(alt.hconcat(left, right))


def speed() -> str:
    """Processor time and memory, in processes of their own."""
    lines = ["| 10^6 | processor seconds | most memory, with the table |", "|---|---|---|"]
    for kind, told in (("pairs", "pair decisions, 8 x 8"), ("lists", "lists of 10 out of 12 items")):
        done = subprocess.run([sys.executable, "-c", _TIMED, kind], check=True, capture_output=True)
        found = json.loads(done.stdout)
        names = len(found["estimators"])
        lines.append(f"| {told}, {names} estimators | {found['seconds']:.1f} | {found['peak']:,.0f} MB |")
    return "\n".join(lines)


def agreement() -> str:
    """Differences from the Open Bandit Pipeline's own estimators."""
    found = differences()
    if found is None:
        return "The Open Bandit Pipeline is not installed here (`benchmarks/obp_agreement.py` says how)."
    worst = max(found.values())
    return f"Largest difference of {', '.join(f'`{name}`' for name in found)} from the Pipeline's own: {worst:.1g}."


def report() -> str:
    sections = {
        "Right where they should be": correctness(),
        "How settings are chosen": tunings(),
        "Intervals where a policy learned": coverage(),
        "Width": widths(),
        "Speed": speed(),
        "The Open Bandit Pipeline": agreement(),
        "Intervals where click rates moved": moving(),
    }
    text = "\n\n".join(f"### {name}\n\n{figures}" for name, figures in sections.items())
    PAGE.write_text(f"Written by `python -m benchmarks evaluation`.\n\n{text}\n")
    return text
