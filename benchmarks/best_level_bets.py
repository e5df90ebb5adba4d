"""One bet for each level instead of one for each two: would verdicts of live experiments come sooner, and still hold?

Today a level wins its factor when it is proven to beat each other one (`rankone.evidence.levels`), and as any of these
proofs may be wrong, they share the error: each needs log((K + L - 2) / e). Here there is one hypothesis for each level b,
"b is the best of its factor", and one process that bets against it: at each outcome on b or on its *rival*, the level
that leads the others just then, the likelihood ratio of the rival against b, of today's clicks and silence.

**It holds.** Which level is the rival depends on outcomes before. If b is the best it is at least as good as any rival, so
given the past each factor has mean at most 1 (`rankone.evidence.levels`), and their product is a supermartingale for
each ratio, whoever the rival is and however often it changes; so is its average over the ratios. By Ville's inequality it
ever reaches 1 / a with probability at most a. A factor is decided when all levels but one are refuted. That is wrong only
if the best level is refuted, which is one hypothesis a factor: each needs log(factors / e), however many levels there are.
(Of two equal levels either may be called the winner, so it is log(2 / e) at least, as today.)

**What it cannot do.** The hypothesis is about all levels with which b was compared. "Good enough" needs them one by one:
the rival of the moment may be within the margin. A level that is retired may have refuted others that are better than all
that stay; levels that are forbidden together are compared with others. So pairs would have to be kept for these, and who
may turn to them pays: the two rules would share the error.

`python -m benchmarks.best_level_bets` plays both rules on the kernels of live experiments.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from loky import get_reusable_executor

import rankone
from benchmarks.bench_verdicts import EQUAL_RATE, PROBLEMS
from benchmarks.site_movements import movement
from rankone.compiling.compiled import compiled, noalloc
from rankone.evidence.levels import (
    _HIGHEST,
    RATIOS,
    _nonclick_ratio,
    _relative_rate,
    log_average,
    remember,
    uses_nonclicks,
    weigh_click,
    weigh_nonclick,
)
from rankone.evidence.steering import AIMS, EXPLORE, EXPLORED, PARTS, look_due, renew, steered_decide
from rankone.kernels.policy import learn, relearn
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.seeds import generator
from rankone.policies import as_policy
from rankone.problems.product_world import rate_of
from rankone.simulation.plans.rehearsal import _bar, _beaten_bar, _stage

WORKERS, ERROR = 2, 0.05
MOVES = ("steady", "doubled", "cycle")
PAIRS, BETS_EVEN, BETS = "pairs, as today", "bets", "bets, rarely on large ratios"
RULES = (PAIRS, BETS_EVEN, BETS)
_RARELY = 0.1  # the weight of the ratios 10, 20 and 50, the others having 1
WRONG_RUNS, TIME_RUNS = 400, 40

_renew, _look_due = noalloc(renew), noalloc(look_due)


class Bets(NamedTuple):
    """What was won by betting that a level is not the best of its factor."""

    rival: Ints  # (levels,) who leads the other levels of the factor
    logs: Floats  # (levels, ratios)
    weights: Floats  # (ratios,) logarithms, such that the mean of their exponentials is 1
    proof: Floats  # (levels, levels) the most that was ever won against the second, whatever the first is


def start_bets(sizes: Sequence[int], rarely: float) -> Bets:
    """Nobody has bet so far."""
    levels, weights = sum(sizes), np.array([rarely if ratio >= 10.0 else 1.0 for ratio in RATIOS])
    firsts = np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)
    rival = np.where(np.arange(levels) == firsts, np.minimum(firsts + 1, levels - 1), firsts)
    zeros = np.zeros((levels, len(RATIOS)))
    return Bets(rival, zeros, np.log(weights / weights.mean()), np.zeros((levels, levels)))


@noalloc
def bet(evidence: Any, bets: Any, shown: Any, cross: Any, clicked: int) -> None:
    """Settle the bets on one outcome, before `evidence` knows of it."""
    site = evidence.recent[-1, 0] / (evidence.recent[-1, 1] + 1.0)
    for factor in range(len(shown)):
        x, here = shown[factor], site
        for each in range(len(shown)):
            if each != factor:
                here *= _relative_rate(evidence, shown[each])
        for level in range(evidence.starts[factor], evidence.starts[factor + 1]):
            rival = bets.rival[level]
            a, b = cross[rival], cross[level]
            if (x != level and x != rival) or rival == level or not a > 0.0 or not b > 0.0:
                continue
            own = min(_HIGHEST, here * _relative_rate(evidence, level))
            other = min(_HIGHEST, here * _relative_rate(evidence, rival))
            for index in range(len(evidence.ratios)):
                ratio = evidence.ratios[index]
                if clicked:
                    won = ratio * (a + b) / (a * ratio + b) if x == rival else (a + b) / (a * ratio + b)
                else:
                    times = _nonclick_ratio(ratio, other, own)
                    won = times * (a + b) / (a + b * times) if x == level else (a + b) / (a + b * times)
                bets.logs[level, index] += math.log(won)
            now = log_average(bets.logs[level], bets.weights, len(evidence.ratios))
            if now > bets.proof[level, level]:
                for first in range(evidence.starts[factor], evidence.starts[factor + 1]):
                    bets.proof[first, level] = now


@noalloc
def find_rivals(evidence: Any, bets: Any, shown: Any) -> None:
    """Let what was shown be the rival of all others that it leads by now."""
    for factor in range(len(shown)):
        x = shown[factor]
        for level in range(evidence.starts[factor], evidence.starts[factor + 1]):
            rival = bets.rival[level]
            if level != x and evidence.now[x, rival] > evidence.now[rival, x]:
                bets.rival[level] = x


def play(state: Any, stage: Any, bets: Any, judge: Any, rng: Any, visitors: Any, bar: float, beaten: float, aim: Any,
         steps: int) -> None:  # fmt: skip
    """Play up to the verdict; `judge` is the evidence by whose proofs it is made and traffic explores."""
    steering, world, choice, outcome, cross = stage.steering, stage.world, stage.choice, stage.outcome, stage.cross
    best, evidence = world.base[1], stage.evidence
    for step in range(steps):
        site, luck = stage.site[step], visitors.random()
        asks = luck < site * best or uses_nonclicks(evidence)
        tag = steered_decide(state, steering, stage.context, rng, choice, cross[: len(cross) if asks else 0])
        outcome[0] = 1 if luck < site * rate_of(world, choice) else 0
        if tag == EXPLORED:
            relearn(state, choice, 1, outcome[0])
        elif tag >= 0:
            learn(state, choice, tag, outcome)
        for factor in range(len(choice)):
            stage.seen[factor] = world.first[factor] + choice[factor]
            stage.shown[stage.seen[factor]] += 1.0
        if asks and cross[0] >= 0.0 and (outcome[0] or uses_nonclicks(evidence)):
            bet(evidence, bets, stage.seen, cross, outcome[0])
            if outcome[0]:
                weigh_click(evidence, stage.seen, cross)
            else:
                weigh_nonclick(evidence, stage.seen, cross)
            find_rivals(evidence, bets, stage.seen)
        remember(evidence, stage.seen, outcome[0])
        if _look_due(step, step + 1):
            turned, share, decided = _renew(
                judge, stage.levels, steering, stage.shown, bar, beaten, aim, stage.mix, stage.leaders
            )
            if turned:
                steering.shares[EXPLORE] = share
                for level in range(len(cross)):
                    steering.mix[level] = stage.mix[level] / PARTS
            if decided:
                stage.verdict[0] = step + 1
                for factor in range(len(choice)):
                    stage.verdict[factor + 1] = stage.leaders[factor] - world.first[factor]
                return


def verdict(problem: Any, rule: str, aim: str, site: str, visitors: int, seed: int, policy: str = "uts") -> Any:
    """Return the visitors until the verdict and whether it is wrong (also between equals); None: there is none."""
    how, chosen = AIMS[aim], as_policy(policy).live().with_horizon(visitors)
    stage = _stage(problem, how.explore, 0.0, movement(site, visitors))
    bets = start_bets(problem.shape, _RARELY if rule == BETS else 1.0)
    judge = stage.evidence if rule == PAIRS else stage.evidence._replace(proof=bets.proof)
    bar = _bar(problem, ERROR) if rule == PAIRS else math.log(max(2, len(problem.shape)) / ERROR)
    state = chosen.start(*problem.shape)
    rng, luck = generator(seed, "experiment", 1), generator(seed, "visitors")
    loop = compiled(play, type(chosen).__module__, __name__)
    loop(state, stage, bets, judge, rng, luck, bar, _beaten_bar(problem, ERROR), how, visitors)
    if not stage.verdict[0]:
        return None
    won = problem.rate(*map(int, stage.verdict[1:]))
    return int(stage.verdict[0]), bool(won < problem.best_mean * (1.0 - 1e-12) or len(problem.best_pairs) > 1)


def _equal(rows: int, cols: int) -> rankone.RankOne:
    return rankone.RankOne([math.sqrt(EQUAL_RATE)] * rows, [math.sqrt(EQUAL_RATE)] * cols)


TIES = {
    "2 x 2, all equal": _equal(2, 2),
    "4 x 3, all equal": _equal(4, 3),
    "3 x 3, near ties": rankone.RankOne([0.5, 0.49, 0.4], [0.6, 0.59, 0.4]),
    "10 x 10, graded near ties": rankone.RankOne(np.linspace(0.5, 0.46, 10), np.linspace(0.6, 0.55, 10)),
    "10 x 2, one factor equal": rankone.RankOne([0.6] * 10, [0.6, 0.3]),
}
GRADED = {f"{n} x {n}, graded": rankone.RankOne(np.linspace(0.6, 0.2, n), np.linspace(0.6, 0.2, n)) for n in (3, 4, 10)}


def wrong(name: str, rule: str, aim: str, site: str) -> int:
    """Return how many of the runs have a wrong verdict."""
    runs = (verdict(TIES[name], rule, aim, site, 2_000, seed) for seed in range(WRONG_RUNS))
    return sum(each is not None and each[1] for each in runs)


def times(name: str, rule: str, site: str) -> list[float]:
    """Return visitors until the verdict, infinite where there is none, of seeds that nothing was chosen on."""
    problem = (PROBLEMS | GRADED)[name]
    runs = [verdict(problem, rule, "decide", site, 100_000, 10_000 + seed) for seed in range(TIME_RUNS)]
    return [math.inf if each is None else float(each[0]) for each in runs]


def report() -> str:
    """Return both tables as Markdown."""
    executor = get_reusable_executor(WORKERS)
    cells = list(itertools.product(TIES, RULES[::2], ("both", "decide"), MOVES))
    found = dict(zip(cells, executor.map(wrong, *zip(*cells, strict=True)), strict=True))
    lines = [
        f"Wrong winners in {WRONG_RUNS} runs of 2,000 visitors, the most of {len(MOVES)} movements of the site.",
        "",
    ]
    lines += [f"| world | {' | '.join(f'{rule}; {aim}' for rule in RULES[::2] for aim in ('both', 'decide'))} |"]
    lines += ["|---|" + "---|" * 4]
    for name in TIES:
        most = [
            max(found[name, rule, aim, site] for site in MOVES) for rule in RULES[::2] for aim in ("both", "decide")
        ]
        lines.append(f"| {name} | {' | '.join(map(str, most))} |")
    worlds = list(itertools.product((*PROBLEMS, *GRADED), RULES, ("steady",)))
    long = dict(zip(worlds, executor.map(times, *zip(*worlds, strict=True)), strict=True))
    lines += ["", f'Visitors until the verdict with the aim "decide", median of {TIME_RUNS} runs.', ""]
    lines += [f"| world | {' | '.join(RULES)} | ratio of means |", "|---|" + "---|" * 4]
    for name in (*PROBLEMS, *GRADED):
        each = [long[name, rule, "steady"] for rule in RULES]
        ratio = np.mean(each[2]) / np.mean(each[0])
        lines.append(f"| {name} | {' | '.join(f'{np.median(one):,.0f}' for one in each)} | {ratio:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(f"{report()}\n")
