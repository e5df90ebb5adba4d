"""Is a plan right? What `rankone.plan` says against experiments of the very kind that are played to the end.

Plans rehearse larger lifts and more frequent clicks and scale the result; here nothing is scaled. The constants were
chosen on other problems and seeds.
"""

from __future__ import annotations

import numpy as np

import rankone
from rankone.simulation.plans.plan import Case
from rankone.simulation.plans.rehearsal import simulate_experiment

RUNS, SEED = 200, 70_000
PLANS = 4  # seeds of the plan: one says what people see, several say whether it is off on average
# levels of each factor, rate, lift, margin
PROBLEMS = [
    ((3, 4), 0.06, 0.15, 0.0),
    ((2, 2), 0.02, 0.3, 0.0),
    ((6, 5), 0.08, 0.25, 0.0),
    ((2, 3, 2), 0.1, 0.2, 0.0),
    ((2, 3), 0.4, 0.12, 0.0),
    ((3, 3), 0.1, 0.1, 0.1),
]


def _line(sizes: tuple[int, ...], rate: float, lift: float, margin: float, aim: str, runs: int) -> str:
    factors = {f"factor {place}": size for place, size in enumerate(sizes)}
    plans = [
        rankone.plan(factors=factors, rate=rate, lift=lift, margin=margin, aim=aim, seed=1_000 * seed).spans[0]
        for seed in range(PLANS)
    ]
    found = simulate_experiment(
        Case(tuple(sizes), rate, lift, 0.0).problem(),
        aim=aim,
        margin=margin,
        visitors=round(plans[0].beyond),
        after="stop",
        runs=runs,
        seed=SEED,
    )
    verdicts = np.array([each.verdict or np.inf for each in found])
    truths = {
        "median": np.median(verdicts),
        "late": np.quantile(verdicts, 0.9),
        "lost": np.mean([x.lost for x in found]),
    }
    ratios = {name: np.array([getattr(each, name) or np.nan for each in plans]) / truths[name] for name in truths}
    said = [f"{np.mean(each):.2f} ({each.min():.2f} to {each.max():.2f})" for each in ratios.values()]
    of = " x ".join(map(str, sizes)) + f", {rate:g}, +{lift:.0%}" + (f", margin {margin:g}" if margin else "")
    return f"| {of} | {aim} | {truths['median']:,.0f} | {truths['late']:,.0f} | {' | '.join(said)} |"


def report(runs: int = RUNS) -> str:
    """Return all figures as Markdown."""
    lines = [
        f"{runs} experiments of each kind played in full; plan / truth on average over {PLANS} plans (least to most).",
        "",
        "| problem | aim | visitors, half | nine of ten | plan: half | nine of ten | clicks lost |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    return "\n".join(lines + [_line(*each, aim, runs) for each in PROBLEMS for aim in ("both", "decide")])
