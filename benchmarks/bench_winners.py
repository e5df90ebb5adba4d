"""Winners of a programme of experiments: how many of those in the list are false?

`python -m benchmarks winners` takes five minutes. 200 experiments of 2 x 2 levels run side by side; in 90% of them two
levels tie, so that any winner is false. All meet the same visitors, whose inclination to click varies and moves over
the day. Traffic follows what is ahead; half of it explores. The list is read ten times: at the end, or at whatever look
it first holds anything (a reader who waits for good news). Beside it: each experiment by itself at an error of 5%.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rankone.compiling.compiled import compiled
from rankone.evidence.levels import start_evidence, weigh_click
from rankone.live.winners import listed_from
from rankone.numerics.seeds import generator

PROGRAMMES, EXPERIMENTS, NULL, VISITORS, LOOKS = 400, 200, 0.9, 40_000, 10
SHARES = (0.05, 0.1)


@compiled
def play(evidence: Any, rates: Any, moods: Any, shown: Any, scratch: Any, rng: Any, e_values: Any, best: Any) -> float:
    """Play one experiment; fill in the log e-value and the leader of each factor at each look, return the peak."""
    cross, lottery, decisions, clicks = scratch
    peak = 0.0
    for step in range(len(moods)):
        rate = moods[step]
        for factor in range(2):
            first = 2 * factor
            ahead = (clicks[first] + 1.0) / (decisions[first] + 20.0) >= (clicks[first + 1] + 1.0) / (
                decisions[first + 1] + 20.0
            )
            lottery[first] = 0.75 if ahead else 0.25
            lottery[first + 1] = 1.0 - lottery[first]
            shown[factor] = first if rng.random() < lottery[first] else first + 1
            rate *= rates[shown[factor]]
        clicked = rng.random() < rate
        for factor in range(2):
            decisions[shown[factor]] += 1.0
            clicks[shown[factor]] += clicked
        if clicked:
            for level in range(4):
                cross[level] = lottery[level] * lottery[shown[1 - level // 2]]
            weigh_click(evidence, shown, cross)
        least = np.inf
        for factor in range(2):
            first = 2 * factor
            least = min(least, max(evidence.now[first, first + 1], evidence.now[first + 1, first]))
        peak = max(peak, least)
        if (step + 1) % (len(moods) // len(e_values)) == 0:
            look = (step + 1) // (len(moods) // len(e_values)) - 1
            e_values[look] = least - math.log(4.0)
            for factor in range(2):
                first = 2 * factor
                best[look, factor] = evidence.now[first, first + 1] >= evidence.now[first + 1, first]
    return peak


def programme(number: int) -> tuple[Any, Any, Any, Any]:
    """Play 200 experiments on the same visitors: log e-values and whether winners are false, by look; peaks; lifts."""
    rng = generator(number, "winners")
    time = np.arange(VISITORS) / VISITORS
    moods = rng.choice([0.2, 1.0, 2.0], VISITORS, p=[0.4, 0.4, 0.2]) * (1.0 + 0.6 * np.sin(12.0 * math.pi * time))
    e_values, peaks = np.zeros((EXPERIMENTS, LOOKS)), np.zeros(EXPERIMENTS)
    false, lifts = np.zeros((EXPERIMENTS, LOOKS), bool), np.zeros(EXPERIMENTS)
    for index in range(EXPERIMENTS):
        null = index < NULL * EXPERIMENTS
        lift = 1.0 if null else float(rng.choice([1.3, 1.5, 2.0]))
        other = float(rng.choice([1.3, 1.5, 2.0]))
        base = math.sqrt(rng.uniform(0.03, 0.08))
        rates, best = base * np.array([1.0, 1.0 / lift, 1.0, 1.0 / other]), np.zeros((LOOKS, 2), bool)
        peaks[index] = play(
            start_evidence((2, 2)), rates, moods, np.zeros(2, np.int64), np.zeros((4, 4)), rng, e_values[index], best
        )
        false[index], lifts[index] = ~best.all(axis=1) | null, lift
    return e_values, false, peaks, lifts


def report() -> str:
    """Return a table for a page."""
    shares: dict[tuple[str, float], list[tuple[float, float, int]]] = {}
    for number in range(PROGRAMMES):
        e_values, false, peaks, lifts = programme(number)
        good = lifts > 1.0
        alone = peaks >= math.log(2.0 / 0.05)
        shares.setdefault(("each by itself, at any time", 0.05), []).append(
            (float((alone & false[:, -1]).sum() / max(1, alone.sum())), float(alone[good].mean()), int(alone.sum()))
        )
        for share in SHARES:
            lists = [np.array(listed_from(e_values[:, look].tolist(), EXPERIMENTS)) <= share for look in range(LOOKS)]
            first = next((look for look in range(LOOKS) if lists[look].any()), LOOKS - 1)
            for when, look in (("at the end", LOOKS - 1), ("at the first list that holds anything", first)):
                listed = lists[look]
                wrong = float((listed & false[:, look]).sum() / max(1, listed.sum()))
                result = (wrong, float((listed & ~false[:, look])[good].mean()), int(listed.sum()))
                shares.setdefault((f"listed together, read {when}", share), []).append(result)
    lines = ["| rule | at most | false share | found of the real ones | in the list |", "|---|---|---|---|---|"]
    for (rule, share), results in shares.items():
        wrong, found, size = np.array(results).T
        error = wrong.std(ddof=1) / math.sqrt(len(wrong))
        lines.append(
            f"| {rule} | {share:.0%} | {wrong.mean():.1%} ± {error:.1%} | {found.mean():.0%} | {size.mean():.1f} |"
        )
    return "\n".join(lines)
