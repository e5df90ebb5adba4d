"""Verdicts about live lists: are they ever wrong, how soon do they come, and what does a probability cost?

One compiled loop over the kernels of a live ranking: lists drawn from a lottery that is renewed as more outcomes come,
clicks weighed with the probabilities of what else could have been shown. Visitors come from the worlds of
`rankone.lists`; on top of that the level of the whole site moves: it is steady, doubles halfway, or swings.

``python -m benchmarks lists_live`` takes an hour of one core with all runs; benchmarks/measured/lists_live.md has its
tables. ``python -m benchmarks.bench_lists_live 40`` plays so many runs a cell.
"""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankone import as_policy
from rankone.compiling.compiled import compiled, noalloc
from rankone.evidence.list_lottery import draw_list, list_shares, renewal_due, start_lottery
from rankone.evidence.lists import ListClaims, list_standing, start_list_evidence, weigh_list
from rankone.kernels.policy import believe, learn
from rankone.kernels.world import respond
from rankone.lists import DCM, PBM, UBM, Cascade
from rankone.numerics.betas import ordered_draws
from rankone.numerics.betas.ordered_draws import ordered_chances
from rankone.numerics.seeds import generator

_draw, _weigh = noalloc(draw_list), noalloc(weigh_list)
RUNS, NULL_LISTS, LOOK, ERROR = 400, 6_000, 20, 0.05
POWER_RUNS, POWER_LISTS = 40, 40_000
_MEASURED = Path(__file__).parent / "measured" / "lists_live.md"


def worlds(attraction: list[float]) -> dict[str, Any]:
    """Return the same items in four click models, on three positions."""
    examination = [[1.0, 0.0, 0.0, 0.0], [0.7, 0.4, 0.0, 0.0], [0.5, 0.3, 0.6, 0.0]]
    return {
        "PBM": PBM(attraction, examination=[1.0, 0.6, 0.3]),
        "cascade": Cascade(attraction, positions=3),
        "DCM": DCM(attraction, termination=[0.7, 0.7, 0.7]),
        "UBM": UBM(attraction, examination),
    }


SITES = {
    "steady": lambda part: 1.0,
    "doubled": lambda part: 0.5 if part < 0.5 else 1.0,
    "cycle": lambda part: 0.55 + 0.45 * math.sin(12.0 * math.pi * part),
}


class Stage(NamedTuple):
    """Scratch space of a run, and what every list asks for."""

    own: Any
    allowed: Any
    pinned: Any
    shown: Any
    clicked: Any
    cross: Any
    nothing: Any
    site: Any  # the level of the site at each list


def play(lottery: Any, state: Any, world: Any, evidence: Any, stage: Any, rng: Any, first: int, end: int) -> int:
    """Show lists until one is past the end; return how many clicks there were."""
    shown, clicked, clicks = stage.shown, stage.clicked, 0
    for at in range(first, end):
        kind = _draw(lottery, stage.own, stage.allowed, stage.pinned, rng, shown, stage.nothing)
        respond(world, shown, clicked, rng)
        looked = rng.random() < stage.site[at]  # who does not look does not click, anywhere
        for position in range(len(shown)):
            clicked[position] = clicked[position] if looked else 0
            clicks += clicked[position]
        _weigh(evidence, lottery, stage.allowed, stage.pinned, shown, kind, clicked, stage.cross)
        learn(state, shown, lottery.tag[0], clicked)
    return clicks


def run(
    problem: Any, site: str, shares: Any, lists: int, seed: int, spec: str = "cascade-ts", until_proven: bool = False
) -> tuple[int, bool, bool]:
    """Play a ranking, looked at every 20 lists; return after how many lists the set was proven (0: never), whether that
    set is wrong, and whether any "x beats y" ever was (in a world of ties, any is).
    """
    n_items, n_positions = problem.shape
    rng = generator(seed, "lists live", problem.kind, site)
    policy = as_policy(spec)
    state, world, evidence = policy.start(*problem.shape), problem.start(), start_list_evidence(*problem.shape)
    claims, items = ListClaims(ERROR, n_items, n_positions), np.arange(n_items)
    blank = np.zeros(n_positions, np.int64)
    level = np.array([SITES[site](at / lists) for at in range(lists)])
    stage = Stage(
        blank, np.ones(n_items, bool), blank - 1, blank.copy(), blank.copy(), np.zeros(n_items), np.zeros(0), level
    )
    step = compiled(play, play.__module__, type(state).__module__, type(world).__module__)
    made, lottery, truth = -1, None, np.asarray(problem.attraction)
    for at in range(0, lists, LOOK):
        if lottery is None or renewal_due(made, at):
            made, lottery = at, start_lottery(believe(state, rng), items, shares, n_positions)
        step(lottery, state, world, evidence, stage, rng, at, min(at + LOOK, lists))
        if until_proven and (evidence.proof >= claims.of_set).sum() >= n_positions * (n_items - n_positions):
            standing = list_standing(evidence, claims)
            if standing.doubt <= ERROR:
                return at + LOOK, truth[standing.best].min() < np.sort(truth)[-n_positions], False
    standing = list_standing(evidence, claims)
    wrong = ((evidence.proof >= claims.of_pairs) & (truth[:, None] <= truth[None, :])).any()
    return 0, standing.doubt <= ERROR, bool(wrong)


def null_table(runs: int) -> str:
    """Six equal items on three positions: every "x beats y" is wrong, and every set."""
    lines = ["| click model | policy | site | runs | any false pair | false set |", "|---|---|---|---|---|---|"]
    for name, spec, site in [
        (name, policy, site) for name, own in POLICY.items() for policy in (own, DEFAULT) for site in SITES
    ]:
        problem, shares = worlds([0.2] * 6)[name], list_shares("both", 0.3, 0.0, proven=False, lists=0, n_items=6)
        found = [run(problem, site, shares, NULL_LISTS, seed, spec) for seed in range(runs)]
        pairs, sets = sum(each[2] for each in found), sum(each[1] for each in found)
        policy = spec.partition(":examination")[0]
        lines.append(f"| {name} | `{policy}` | {site} | {runs} | {pairs / runs:.1%} | {sets / runs:.1%} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def power_table(runs: int) -> str:
    """Three items of 0.2 among ten, the others 0.1: lists until they are proven to be the best."""
    lines = [
        "| click model | policy | lists that explore | runs | proven | lists, median | 90% of runs | false sets |",
        "|---|---|---|---|---|---|---|---|",
    ]
    usual = [(name, policy, "30%") for name, policy in POLICY.items()]
    others = [(name, POLICY[name], label) for name in ("PBM", "cascade") for label in ("50%, gently", "all")]
    for name, spec, label in [*usual, ("PBM", DEFAULT, "30%"), ("cascade", DEFAULT, "30%"), *others]:
        problem = worlds([0.2] * 3 + [0.1] * 7)[name]
        explore = {"30%": 0.3, "50%, gently": 0.5, "all": 1.0}[label]
        shares = list_shares("both", explore, 0.0, proven=False, lists=0, n_items=10, gentle="gently" in label)
        many = [run(problem, "steady", shares, POWER_LISTS, seed, spec, True) for seed in range(runs)]
        lists = [each[0] or math.inf for each in many]
        proven, false = np.isfinite(lists).sum(), sum(each[1] and each[0] > 0 for each in many)
        middle, most = (np.quantile(lists, part, method="higher") for part in (0.5, 0.9))
        policy = spec.partition(":examination")[0]
        lines.append(f"| {name} | `{policy}` | {label} | {runs} | {proven} | {middle:,.0f} | {most:,.0f} | {false} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


#: Thompson sampling that fits the click model; UBM is played by a rule that does not.
POLICY = {
    "PBM": "pbm-ts:examination=1x0.6x0.3",
    "cascade": "cascade-ts",
    "DCM": "dcm-ts",
    "UBM": "cascade-ts:until=last",
}
DEFAULT = "gibbs-ts"


def _chances(clicks: Any, misses: Any, rates: Any, above: Any, rest: Any, of_above: Any, of_rest: Any) -> bool:
    return ordered_chances(clicks, misses, rates, above, rest, of_above, of_rest)


def speed_table() -> str:
    """Time of all alternatives at one clicked position, beside as many draws as say it to 1%."""
    lines = [
        "| items | positions | looks an item | probabilities | 10,000 draws of all items |",
        "|---|---|---|---|---|",
    ]
    step, rng = compiled(_chances, ordered_draws.__name__), generator(1, "speed")
    for items, positions, looks in ((20, 5, 5_000), (100, 10, 2_000), (1_000, 10, 2_000), (1_000, 10, 20_000)):
        clicks = rng.binomial(looks, np.sort(rng.beta(1, 20, items))[::-1]).astype(float)
        ranked = np.argsort(-rng.beta(clicks + 1, looks - clicks + 1))
        above, rest = ranked[: positions - 1].copy(), ranked[positions - 1 :].copy()
        given = clicks, (looks - clicks)[:, None], np.ones(1), above, rest, np.zeros(len(above)), np.zeros(len(rest))
        ours = min(_timed(step, *given) for _ in range(200))
        draws = min(_timed(rng.beta, clicks + 1, looks - clicks + 1, (10_000, items)) for _ in range(3))
        lines.append(
            f"| {items:,} | {positions} | {looks:,} | {ours * 1e6:,.0f} us | {draws / ours:,.0f} times as long |"
        )
    return "\n".join(lines)


def _timed(function: Any, *given: Any) -> float:
    before = time.perf_counter()
    function(*given)
    return time.perf_counter() - before


def report(runs: int = RUNS, power_runs: int = POWER_RUNS) -> str:
    parts = {
        "Equal items: how often is anything said?": null_table(runs),
        "How soon is the set of the best proven? Three items of 0.2 among ten, the others 0.1": power_table(power_runs),
        "What the probabilities of one position cost": speed_table(),
    }
    text = "\n\n".join(f"**{title}**\n\n{table}" for title, table in parts.items()) + "\n"
    _MEASURED.write_text(text)
    return text


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    print(report(count, min(count, POWER_RUNS)))
