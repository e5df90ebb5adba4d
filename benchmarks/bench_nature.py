"""Rows chosen by nature: regret of the policies for arriving users beside what others measured, and their speed.

*band*: what an independent prototype measured, give or take some standard errors (its notes are not part of this
repository). Seeds of the other worlds were not used while constants were chosen. p95 and the maximum show who gets
stuck. Speed is processor time a decision, against the rule as written down in `tests/oracles/arrivals.py` (NumPy, in
the same run). About 10 minutes; ``python -m benchmarks nature`` runs all of it.
"""

from __future__ import annotations

import time

import numpy as np
from tests.oracles import arrivals as twins

import rankone
from rankone.numerics.seeds import generator
from rankone.problems.arrivals import ClusteredLinear, clustered_linear, mixed
from rankone.simulation.work_unit import play_run, ready_for

Band = tuple[float, float] | None
ALONE = "LinUCB for each user"  # `club` with a small `alpha2` is not quite that: users share what they know at first
#: World (its seed filled in), decisions, worlds, first seed: policies and bands of the mean regret.
REGRET: dict[tuple[str, int, int, int], dict[str, Band]] = {
    ("latent:50x3:figure=2,seed={}", 25_000, 20, 600): {
        "thompson": None,
        "user-ts": (450, 530),
        "latent-ucb": (520, 600),
        "mts": (165, 210),
        "mixture-ts:classes=4": (215, 310),
        "mixture-ts": None,
        "lowrank-ts": None,
    },
    ("latent:50x3:figure=3,seed={}", 25_000, 20, 600): {
        "thompson": None,
        "user-ts": None,
        "latent-ucb": (0, 0),
        "mts": (0, 0),
        "mixture-ts": None,
        "lowrank-ts": None,
    },
    ("latent:500x3:figure=5,seed={}", 25_000, 20, 600): {
        "thompson": None,
        "user-ts": (1_880, 1_960),
        "latent-ucb": (780, 860),
        "mts": (520, 585),
        "mixture-ts:classes=4": (645, 765),
        "mixture-ts": None,
        "lowrank-ts": None,
    },
    ("latent:100x20:seed={}", 50_000, 10, 900): dict.fromkeys(["thompson", "user-ts", "mixture-ts", "lowrank-ts"]),
    ("mixed:60x30:seed={}", 60_000, 10, 900): dict.fromkeys(
        ["thompson", "user-ts", "pts:particles=10", "mixture-ts", "lowrank-ts", "lowrank-ts:rank=2"]
    ),
    ("mixed:100x30:seed={}", 200_000, 10, 800): dict.fromkeys(
        [
            "user-ts",
            "nmf-bandit:anchors=4,theta=0.3",
            "nmf-bandit:anchors=4,theta=1",
            "nmf-bandit:anchors=4",
            "lowrank-ts",
        ]
    ),
    ("mixed:200x30:rate=0.1,seed={}", 100_000, 10, 900): dict.fromkeys(
        ["thompson", "user-ts", "mixture-ts", "lowrank-ts"]
    ),
    ("mixed:5000x30:arrivals=cold,visits=30,seed={}", 60_000, 10, 900): dict.fromkeys(
        ["thompson", "user-ts", "mixture-ts", "lowrank-ts"]
    ),
    ("clustered-linear:500x10:seed={}", 55_000, 10, 900): {
        "uniform": None,
        "club": None,
        ALONE: (2_400, 2_600),
        "club:alpha2=inf": None,
        "mixture-linear-ts:clusters=4": (110, 150),
    },
    ("clustered-linear:500x10:clusters=10,noise=0.3,seed={}", 55_000, 10, 900): {
        "club": None,
        ALONE: None,
        "mixture-linear-ts:clusters=20": None,
    },
}
FASTER = 20.0
SPEED = {"lowrank-ts:rank=3": 40.0, "mixture-ts": 20.0, "club": 100.0}  # microseconds a decision


def regrets(world: str, horizon: int, worlds: int, first: int, policy: str) -> np.ndarray:
    """Regret of a policy, once in each of so many worlds of the same law."""
    result = []
    for seed in range(first, first + worlds):
        problem = rankone.as_problem(world.format(seed))
        if policy == ALONE:
            result.append(regret_alone(problem, horizon, generator(seed, "bench nature", world, policy)))
            continue
        ready = ready_for(rankone.as_policy(policy), problem, horizon)
        rng = generator(seed, "bench nature", world, policy)
        result.append(play_run(ready.start(*problem.shape), problem, np.array([horizon]), rng)[0][-1])
    return np.array(result)


def regret_alone(problem: ClusteredLinear, horizon: int, rng: np.random.Generator) -> float:
    """Regret of a LinUCB (alpha = 0.1) of its own for each user, as written down."""
    users, (items, d) = len(problem.cluster), (problem.items, problem.weights.shape[1])
    inverse, sums, regret = np.repeat(np.eye(d)[None], users, axis=0), np.zeros((users, d)), 0.0
    for step in range(1, horizon + 1):
        user, x = int(rng.integers(users)), rng.standard_normal((items, d))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        width = np.sqrt(np.maximum(((x @ inverse[user]) * x).sum(axis=1), 0.0) * np.log(step + 1))
        worth = x @ problem.weights[problem.cluster[user]]
        item = int((x @ inverse[user] @ sums[user] + 0.1 * width).argmax())
        regret += worth.max() - worth[item]
        change = inverse[user] @ x[item]
        inverse[user] -= np.outer(change, change) / (1.0 + change @ x[item])
        sums[user] += (worth[item] + rng.uniform(-problem.noise, problem.noise)) * x[item]
    return regret


def regret_table() -> list[str]:
    """A line for each world and policy."""
    lines = ["| world | decisions | policy | worlds | regret | p95 | max | band |", "|---|---|---|---|---|---|---|---|"]
    for (world, horizon, worlds, first), policies in REGRET.items():
        for policy, band in policies.items():
            found = regrets(world, horizon, worlds, first, policy)
            mean, error = found.mean(), found.std(ddof=1) / np.sqrt(len(found))
            said = ""
            if band is not None:
                said = f"{band[0]:,} to {band[1]:,}: {'inside' if band[0] <= mean <= band[1] else 'outside'}"
            name = world.replace(",seed={}", "").replace(":seed={}", "")
            cells = [f"{mean:,.0f} ± {error:.0f}", f"{np.quantile(found, 0.95):,.0f}", f"{found.max():,.0f}", said]
            lines.append(f"| {name} | {horizon:,} | {policy} | {worlds} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    return lines


def _seconds_of_policy(policy: str, problem: rankone.problems.Problem, horizon: int) -> float:
    ready = ready_for(rankone.as_policy(policy), problem, horizon)
    play_run(ready.start(*problem.shape), problem, np.array([10]), generator(0))  # compiles
    state, begin = ready.start(*problem.shape), time.process_time()
    play_run(state, problem, np.array([horizon]), generator(1))
    return (time.process_time() - begin) / horizon


def _seconds_of_twin(twin: object, rates: np.ndarray, steps: int) -> float:
    rng, begin = generator(2), time.process_time()
    for _ in range(steps):
        user = int(rng.integers(len(rates)))
        item = twin.decide(user)
        twin.tell(user, item, bool(rng.random() < rates[user, item]))
    return (time.process_time() - begin) / steps


def _seconds_of_club(problem: rankone.problems.Problem, steps: int) -> float:
    twin, rng, d = twins.CLUB(500, 25, generator(3), 0.1, 0.5), generator(4), 25
    begin = time.process_time()
    for _ in range(steps):
        user, x = int(rng.integers(500)), rng.standard_normal((10, d))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        item = twin.decide(user, x)
        twin.tell(user, x[item], float(x[item] @ problem.weights[problem.cluster[user]]))
    return (time.process_time() - begin) / steps


def speed_table() -> list[str]:
    """Time of a decision, ours and that of the rule as written down."""
    low, mix, linear = mixed(300, 100, seed=1), mixed(500, 50, seed=1), clustered_linear(500, 10, seed=1)
    worlds = {"lowrank-ts:rank=3": low, "mixture-ts": mix, "club": linear}
    plain = {
        "lowrank-ts:rank=3": lambda: _seconds_of_twin(twins.LowRank(300, 100, generator(3), 3), low.rates, 1_000),
        "mixture-ts": lambda: _seconds_of_twin(twins.Mixture(500, 50, generator(3), 8), mix.rates, 1_000),
        "club": lambda: _seconds_of_club(linear, 200),
    }
    lines = ["| policy | world | microseconds | at most | as written down | times |", "|---|---|---|---|---|---|"]
    for policy, most in SPEED.items():
        ours, theirs = 1e6 * _seconds_of_policy(policy, worlds[policy], 50_000), 1e6 * plain[policy]()
        met = "" if ours <= most and theirs >= FASTER * ours else " (missed)"
        cells = [
            policy,
            worlds[policy].name,
            f"{ours:.1f}",
            f"{most:g}{met}",
            f"{theirs:,.0f}",
            f"{theirs / ours:,.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


def report() -> str:
    """All of it, as Markdown."""
    return "\n".join([*speed_table(), "", *regret_table()])
