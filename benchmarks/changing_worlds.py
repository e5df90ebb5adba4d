"""The tables of benchmarks/measured/changes.md and benchmarks/measured/interaction.md, which docs/measured.md shows.

``python -m benchmarks.changing_worlds change`` and ``... misfit`` play and write them, ``... bars`` prints how
glr-uts does on many other problems, ``... step`` what a step of glr-uts and insured-uts costs. Minutes each.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

import rankone
from benchmarks.restarting_uts import RestartingUTS
from rankone.kernels.feedback import Scratch
from rankone.kernels.play import play_through
from rankone.numerics.seeds import generator
from rankone.policies.factors.changing.glr_uts import GLR_ERA

PAGES = Path(__file__).parent / "measured"
DECISIONS = 100_000
# Each seed is another problem, and another schedule.
CHANGING = {
    "nothing changes": "random:8x8:low=0.3,seed={0}",
    "3 changes": "random:8x8:low=0.3,seed={0}|changes=3,seed={0}",
    "slow drift": "random:8x8:low=0.3,seed={0}|drift=3,seed={0}",
    "days of 10,000, ±60%": "random:8x8:low=0.3,seed={0}|daily=0.6",
    "days of 2,000, ±60%": "random:8x8:low=0.3,seed={0}|daily=0.6,day=2000",
}
BOTH = {"3 changes and days of 10,000": "random:8x8:low=0.3,seed={0}|changes=3,seed={0},daily=0.6"}
STRUCTURED = (RestartingUTS.name, "glr-uts", "uts", "discounted-uts", "sliding-uts")
FLAT = ("glr-kl-ucb", "cusum-ucb", "m-ucb", "d-ts", "sw-ts")
MISFIT = {
    "`random:8x8:low=0.3,high=0.8,seed=1`": ("random:8x8:low=0.3,high=0.8,seed=1", 50_000),
    "`needle:8x8`": ("needle:8x8", 50_000),
    "`random:4x4:seed=2`": ("random:4x4:seed=2", 50_000),
    "`headlines:4x4`": ("headlines:4x4", 100_000),
    "`exception:8x8`": ("exception:8x8", 50_000),
    "`matches:8x8`": ("matches:8x8", 50_000),
    "`needle:6x6x6`": ("needle:6x6x6", 50_000),
}


def one_run(spec: Any, policy: str, decisions: int, seed: int) -> tuple[float, Any]:
    """Play a run; return its regret and the state at the end."""
    problem = rankone.as_problem(spec)
    player = rankone.as_policy(policy).with_horizon(decisions).with_known(problem.known())
    state = player.start(*problem.shape)
    rng, scratch = generator(seed, policy, "changing worlds"), Scratch.new(problem.layout)
    regrets, _ = play_through(state, problem.start(), None, rng, np.array([decisions]), scratch)
    return float(regrets[0]), state


def _cell(regrets: list[float]) -> str:
    return f"{np.mean(regrets):,.0f} ± {np.std(regrets, ddof=1) / len(regrets) ** 0.5:,.0f}"


def change(runs: int, flat_runs: int) -> str:
    """Return the table of worlds that change."""
    lines = [f"| policy | {' | '.join(CHANGING)} |", "|" + "---|" * (len(CHANGING) + 1)]
    restarted = {}
    for policy in (*STRUCTURED, *FLAT):
        cells = []
        for world, spec in CHANGING.items():
            seeds = range(runs if policy in STRUCTURED[:3] else flat_runs)
            played = [one_run(spec.format(200 + seed), policy, DECISIONS, seed) for seed in seeds]
            cells.append(_cell([regret for regret, _ in played]))
            if policy == "glr-uts":
                restarted[world] = np.mean([state.alarm[GLR_ERA] > 0 for _, state in played])
            print(policy, world, cells[-1], flush=True)
        lines.append(f"| `{policy}` | {' | '.join(cells)} |")
    shares = "; ".join(f"{world}: {share:.0%}" for world, share in restarted.items())
    lines += [
        "",
        f"{runs} problems for the first three policies, {flat_runs} for the others, {DECISIONS:,} decisions.",
        "`restarting-uts` is no policy but a yardstick: `uts` that is told when the world changes.",
        "",
    ]
    return "\n".join([*lines, f"Runs in which `glr-uts` started anew at least once: {shares}.", ""])


def bars(runs: int) -> None:
    """Print the regret of glr-uts as a multiple of another's, on problems that nothing was tuned on."""
    luck = np.random.default_rng(0)
    for world, spec in {**CHANGING, **BOTH}.items():
        other = RestartingUTS.name if "changes=" in spec else "discounted-uts" if "drift=" in spec else "uts"
        lost, anew = np.empty((2, runs)), 0
        for run in range(runs):
            lost[0, run], state = one_run(spec.format(5_000 + run), "glr-uts", DECISIONS, run)
            anew += int(state.alarm[GLR_ERA] > 0)
            lost[1, run], _ = one_run(spec.format(5_000 + run), other, DECISIONS, run)
        ratios = np.divide(*lost[:, luck.integers(runs, size=(2_000, runs))].mean(axis=2))
        ratio = f"{lost[0].mean() / lost[1].mean():.2f} ± {ratios.std():.2f}"
        mean = f"{lost[0].mean():,.0f} against {lost[1].mean():,.0f}"
        print(f"{world}: {ratio} times {other} ({mean}), started anew in {anew / runs:.1%} of {runs} runs", flush=True)


def apart(size: int) -> Any:
    """Three factors; the last levels of two of them are clicked far more often together than their product says."""
    parts = {name: np.linspace(0.9, 0.3, size) for name in "abc"}
    return rankone.Product(parts, interactions={("a", "b"): {(f"a {size}", f"b {size}"): 9.5}}, name="two that match")


def misfit(runs: int) -> str:
    """Return the table of tables that are a product, or none."""
    lines = [
        "| problem | decisions | `uts` | `insured-uts` | `thompson` | insured / uts | insured / thompson |",
        "|" + "---|" * 7,
    ]
    for name, (spec, decisions) in {**MISFIT, "6 x 6 x 6, two levels that match": (apart(6), 50_000)}.items():
        found = {
            policy: [one_run(spec, policy, decisions, seed)[0] for seed in range(runs)]
            for policy in ("uts", "insured-uts", "thompson")
        }
        uts, insured, flat = (np.mean(each) for each in found.values())
        cells = " | ".join(map(_cell, found.values()))
        lines.append(f"| {name} | {decisions:,} | {cells} | {insured / uts:.2f} | {insured / flat:.2f} |")
        print(lines[-1], flush=True)
    return "\n".join([*lines, "", f"{runs} runs each; mean ± standard error.", ""])


def step(turns: int = 5, problems: int = 8) -> str:
    """Return what a step costs, as a multiple of one of uts: the least processor time of several turns.

    Over several problems, since a step costs more where two lead by turns.
    """
    spent = dict.fromkeys(("uts", "glr-uts", "insured-uts"), 0.0)
    for number in range(problems):
        least = dict.fromkeys(spent, float("inf"))
        for _ in range(turns):
            for policy in least:
                begin = time.process_time()
                one_run(f"random:8x8:low=0.3,seed={number}", policy, DECISIONS, 0)
                least[policy] = min(least[policy], time.process_time() - begin)
        for policy, seconds in least.items():
            spent[policy] += seconds
    return ", ".join(f"{policy} {seconds / spent['uts']:.2f}" for policy, seconds in spent.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("change", "misfit", "bars", "step"))
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--flat-runs", type=int, default=10)
    chosen = parser.parse_args()
    if chosen.part == "bars":
        bars(chosen.runs)
        return
    if chosen.part == "step":
        print(step())
        return
    name, text = (
        ("changes", change(chosen.runs, chosen.flat_runs))
        if chosen.part == "change"
        else ("interaction", misfit(chosen.runs))
    )
    about = f"Written by `python -m benchmarks.changing_worlds {chosen.part}`: regret, mean ± standard error."
    (PAGES / f"{name}.md").write_text(f"{about}\n\n{text.strip()}\n")


if __name__ == "__main__":
    main()
