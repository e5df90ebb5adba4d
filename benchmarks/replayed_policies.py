"""How often the interval of a replayed policy has the truth: ``python -m benchmarks.replayed_policies`` (5 minutes)."""

from __future__ import annotations

import numpy as np
import polars as pl

import rankone
from benchmarks.evaluation_logs import COLS, FLOORS, RATES, ROWS, TRUTH, thompson_log
from rankone.numerics.seeds import generator

HORIZON, LOGS, PLAYED = 400, 100, 400


def uniform_log(decisions: int, seed: int = 1) -> pl.DataFrame:
    """Decisions that show every pair equally often."""
    rng = generator(seed, "uniform log")
    pairs = rng.integers(6, size=decisions)
    names = {"row": np.array(ROWS)[pairs // 2], "col": np.array(COLS)[pairs % 2]}
    return pl.DataFrame({**names, "clicked": rng.random(decisions) < RATES[pairs]})


def earned() -> np.ndarray:
    """What UTS earns per decision in its first 1, 2, ... decisions, by playing it."""
    rng, found = generator(2, "played"), np.zeros((PLAYED, HORIZON))
    for run in range(PLAYED):
        agent = rankone.UTS().with_horizon(HORIZON).for_problem(0, 0).agent(3, 2, seed=run)
        for number in range(HORIZON):
            decision = agent.ask()
            found[run, number] = TRUTH.means[decision.shown]
            agent.tell(decision, clicked=bool(rng.random() < found[run, number]))
    return found.mean(axis=0).cumsum() / np.arange(1, HORIZON + 1)


def main() -> None:
    truth = earned()
    for name, log in (
        ("uniform, 3,000 decisions", lambda seed: uniform_log(3_000, seed)),
        ("uniform, 900 decisions", lambda seed: uniform_log(900, seed)),
        ("Thompson sampling, floor 5%, 3,000", lambda seed: thompson_log(seed, 3_000, FLOORS["5%"]).drop("chance")),
        ("Thompson sampling, floor 5%, 1,000", lambda seed: thompson_log(seed, 1_000, FLOORS["5%"]).drop("chance")),
    ):
        answers = [
            rankone.evaluate(log(seed), rankone.UTS(), factors=["row", "col"], horizon=HORIZON)
            for seed in range(100, 100 + LOGS)
        ]
        answers = [each for each in answers if each.answered]
        held = np.mean([each.low <= truth[each.decisions - 1] <= each.high for each in answers])
        print(f"{name}: {len(answers)} of {LOGS} answer, {held:.0%} of them have the truth", flush=True)


if __name__ == "__main__":
    main()
