"""Two equal rows, and more clicks on one of them come after the window: is it called out, and is that warned of?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rankone.live import Experiment
from rankone.live.fold.fold import Fold
from rankone.live.journal.clock import Clock
from rankone.live.report.report import Report
from rankone.numerics.seeds import generator

RATE, VISITORS, BATCH, WINDOW = 0.4, 1_500, 100, 60
# The share of the clicks on row A, and of those on row B, that come after the window.
WORLDS = ((0.0, 0.0), (0.3, 0.3), (0.0, 0.22), (0.2, 0.42), (0.0, 1.0))


class Steps(Clock):
    """A clock that stands still until it is moved; in microseconds."""

    def __init__(self) -> None:
        self.now = 1_000_000_000

    def wall(self) -> int:
        return self.now

    def steady(self) -> int:
        return self.now


def send(
    experiment: Experiment, clock: Any, visitors: int, late: Sequence[float], rates: Sequence[float], seed: int
) -> Report:
    """Send visitors who click with the rate of their row, a share `late` of each row's clicks after the window."""
    rng, waiting = generator(seed, "late clicks"), []
    rows = experiment.look(lambda fold: list(fold.factors["row"].names))
    for _ in range(0, visitors, BATCH):
        clicks = [made for made in experiment.ask(BATCH) if rng.random() < rates[rows.index(made["row"])]]
        too_late = [rng.random() < late[rows.index(made["row"])] for made in clicks]
        experiment.tell_many([(made, True) for made, lag in zip(clicks, too_late, strict=True) if not lag])
        clock.now += (WINDOW + 1) * 1_000_000
        experiment.tell_many([(made, True) for made in waiting])
        waiting = [made for made, lag in zip(clicks, too_late, strict=True) if lag]
    return experiment.report()


def judged(late: tuple[float, float], seed: int) -> tuple[bool, bool, bool]:
    """Return whether in-time clicks alone call a row out, whether the report does, and whether it warns."""
    clock = Steps()
    with type("Late", (Experiment,), {"_clock": clock})(
        "late",
        ["A", "B"],
        ["x", "y"],
        db=None,
        outcomes={"window": WINDOW},
        aim="decide",
        watch={"change": "ignore"},
        seed=seed,
    ) as experiment:
        report = send(experiment, clock, VISITORS, late, (RATE, RATE), seed)
        return (
            experiment.look(_alone),
            not all(row.in_race for row in report.factors[0].levels),
            bool(report.shortfalls),
        )


def _alone(fold: Fold) -> bool:
    return bool((fold.evidence.in_time.proof[:2, :2] >= fold.evidence.claims.beaten_bar).any())


def table(late: tuple[float, float], runs: Sequence[int]) -> str:
    """Return the row of a world: out by clicks in time, called out by the report, without a warning, warnings."""
    found = [judged(late, seed) for seed in runs]
    alone, out, warned = (sum(each[what] for each in found) for what in range(3))
    silent = sum(each[1] and not each[2] for each in found)
    error = 100 * math.sqrt(max(silent, 1) / len(found) * (1 - silent / len(found)) / len(found))
    share = f"{100 * silent / len(found):.1f} ± {error:.1f}%"
    return f"| {late[0]:.0%} / {late[1]:.0%} | {alone} | {out} | {silent} ({share}) | {warned} |"


def report(runs: Sequence[int] = range(1_000, 1_400)) -> str:
    """Return the table of all worlds."""
    head = "| late: A / B | out by clicks in time | called out | of these without a warning | warned |"
    intro = (
        f"Two equal rows, {RATE:.0%} clicks, {VISITORS:,} visitors with a window, {len(runs)} runs each; clicks that"
    )
    intro += " are late come\none window later."
    return "\n".join([intro, "", head, "|---|---|---|---|---|", *(table(late, runs) for late in WORLDS)])
