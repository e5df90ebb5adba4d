"""``python -m benchmarks goals``: how often statements about amounts are wrong, and how soon revenue is decided."""

import numpy as np

from benchmarks.goal_worlds import WORLDS, wrong
from rankone.evidence.amounts import BETS
from rankone.evidence.levels import RATIOS

RUNS, VISITORS = 400, 6_000


def report():
    """Return the table of errors, and visitors until a verdict."""
    lines = [f"| world ({RUNS} runs, {VISITORS:,} visitors, looked at after each) | wrong statements |", "|---|---|"]
    for world in WORLDS:
        count = sum(wrong(world, seed, VISITORS) for seed in range(RUNS))
        lines.append(f"| {world} | {count} ({count / RUNS:.1%}) |")
    lines += [
        "",
        "| orders: 2% conversion, log-normal, capped at 10 medians | amounts | rounded to clicks |",
        "|---|---|---|",
    ]
    for lift, on in ((0.2, "conversion"), (0.3, "conversion"), (0.3, "amount")):
        medians = np.median([verdicts(seed, lift, on) for seed in range(20)], axis=0)
        what = f"{lift:.0%} more {on}: visitors until proven (median of 20)"
        lines.append(f"| {what} | {medians[0]:,.0f} | {medians[1]:,.0f} |")
    return "\n".join(lines)


def verdicts(seed, lift, on, visitors=1_500_000, error=0.05):
    """Return after how many visitors of an equal split amounts, and clicks they are rounded to, prove the better one."""
    rng = np.random.default_rng(seed)
    better = rng.integers(0, 2, visitors) == 0
    ordered = rng.random(visitors) < 0.02 * np.where(better & (on == "conversion"), 1 + lift, 1.0)
    size = rng.lognormal(0.0, 0.8, visitors) / 10.0 * np.where(better & (on == "amount"), 1 + lift, 1.0)
    values = np.where(ordered, np.minimum(size, 1.0), 0.0)
    signed = np.where(better, values, -values)
    bets = np.array(BETS)
    costs, at = -np.log1p(-bets) - bets, np.flatnonzero(values)
    sums, squares = np.cumsum(signed[at]), np.cumsum(signed[at] ** 2)
    logs = np.logaddexp.reduce([bet * sums - cost * squares for bet, cost in zip(bets, costs, strict=True)], axis=0)
    rounded = np.flatnonzero(rng.random(visitors) < values)
    up, ratios = better[rounded, None], np.array(RATIOS)
    by_clicks = np.cumsum(np.where(up, np.log(2 * ratios / (ratios + 1)), np.log(2 / (ratios + 1))), axis=0)
    return [
        int(places[np.argmax(log >= np.log(2 / error))]) if (log >= np.log(2 / error)).any() else visitors
        for places, log in (
            (at, logs - np.log(len(bets))),
            (rounded, np.logaddexp.reduce(by_clicks.T, axis=0) - np.log(len(ratios))),
        )
    ]
