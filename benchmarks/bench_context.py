"""Live experiments whose policy looks at visitors: how often a statement is wrong, and what an ask costs.

A statement is wrong if a level is said to win, or to beat another among the visitors of a group, that is not clicked
more there on average. Each run is one live experiment with `logit-ts`; most worlds have no best headline on average,
while the taste of visitors makes the policy show each group its own.
"""

import sys
import time
from collections.abc import Callable

import numpy as np

from rankone.live import Experiment
from rankone.numerics.seeds import generator

FACTORS = {"headline": ["A", "B", "C"], "image": ["1", "2"]}
CONTEXT = {"device": ["phone", "desktop"], "returning": bool, "age": (0, 100)}
KINDS = [(device, new, age) for device in (0, 1) for new in (0, 1) for age in (25, 75)]
Rate = Callable[[int, int, int, int, int], float]  # device, returning, age, headline, image
# Click rates, and how many of the visitors are on phones.
WORLDS: dict[str, tuple[Rate, float]] = {
    "nothing matters": (lambda d, r, a, h, i: 0.3, 0.5),
    "visitors differ, levels do not": (lambda d, r, a, h, i: (0.1, 0.5)[d] * (1.0, 0.6)[r], 0.5),
    "tastes that cancel": (lambda d, r, a, h, i: 0.3 + 0.2 * ((h == 0) - (h == 1)) * (1 if d else -1), 0.5),
    "a small group with a strong taste": (
        lambda d, r, a, h, i: 0.2 + (0.4 * (h == 0) - 0.1 * (h == 1) if d == 0 else -0.1 * (h == 0) + 0.025 * (h == 1)),
        0.2,
    ),
    "tastes by age that cancel, image 2 better": (
        lambda d, r, a, h, i: (0.3 + 0.15 * ((h == 2) - (h == 0)) * (1 if a > 50 else -1)) * (1.0, 1.5)[i],
        0.5,
    ),
    "tastes for both that go together": (
        lambda d, r, a, h, i: 0.25 * (1.6 if (h == 0) == d else 1.0) * (1.6 if (i == 0) == d else 1.0),
        0.5,
    ),
}


def means_of(world: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the click rate of each kind of visitor and combination, and the share of each kind."""
    rate, phones = WORLDS[world]
    table = np.array([[[rate(*kind, h, i) for i in range(2)] for h in range(3)] for kind in KINDS])
    return table, np.array([(phones if device == 0 else 1.0 - phones) / 4.0 for device, _, _ in KINDS])


def wrong(world: str, seed: int, visitors: int) -> tuple[bool, bool, bool]:
    """Play one experiment; return whether it ever named a wrong winner or said anything wrong of a group, and won."""
    table, share = means_of(world)
    rng = generator(seed, "bench context", world)
    winner = group = won = False
    settings = {"context": CONTEXT, "policy": "logit-ts", "aim": "both", "db": None, "seed": seed}
    with Experiment("bench", factors=FACTORS, **settings) as live:
        for step in range(visitors // 10):
            kind = int(rng.choice(len(KINDS), p=share))
            device, returning, age = KINDS[kind]
            said = {"device": CONTEXT["device"][device], "returning": bool(returning), "age": age}
            made = live.ask(10, context=said)
            shown = [(FACTORS["headline"].index(each["headline"]), int(each["image"]) - 1) for each in made]
            live.tell_many([(each, bool(rng.random() < table[kind][at])) for each, at in zip(made, shown, strict=True)])
            if step % 20 == 19 or step == visitors // 10 - 1:
                report = live.report()
                mean = np.tensordot(share, table, 1)
                best = tuple(FACTORS[factor].index(name) for factor, name in report.best.items())
                won |= report.decided
                winner |= report.decided and bool(np.sort(mean, axis=None)[-2] >= mean[best] - 1e-9)
                group |= any(_is_false(table, share, each) for each in report.segments.segments)
    return winner, group, won


def _is_false(table: np.ndarray, share: np.ndarray, segment) -> bool:
    """Return whether anything that is said of a group is wrong on average over its visitors, beside every other level."""
    ((attribute, level),) = segment.attributes.items()
    place = list(CONTEXT).index(attribute)
    value = {"phone": 0, "desktop": 1, "false": 0, "true": 1, "under 50": 25, "50 and over": 75}[level]
    own = np.array([kind[place] == value for kind in KINDS])
    mean = np.tensordot(share * own / (share * own).sum(), table, 1)
    for factor, better, worse in segment.beats:
        axis = list(FACTORS).index(factor)
        one, other = (mean.take(FACTORS[factor].index(name), axis) for name in (better, worse))
        if (one <= other + 1e-9).all():
            return True
    return False


def error_table(runs: int, visitors: int) -> list[str]:
    """How often a statement is wrong."""
    lines = [f"| world ({runs} runs, {visitors:,} visitors) | wrong winner | anything wrong of a group | won |"]
    lines.append("|---|---|---|---|")
    for world in WORLDS:
        found = np.array([wrong(world, seed, visitors) for seed in range(runs)])
        lines.append(f"| {world} | {' | '.join(f'{count / runs:.1%}' for count in found.sum(axis=0))} |")
        print(lines[-1], flush=True)
    return lines


def ask_table(rounds: int = 400) -> list[str]:
    """What an ask costs with 10 features and 4 x 5 levels, against a plain one of `uts`, interleaved."""
    factors = {"headline": list("ABCDE"), "image": list("1234")}
    context = {"device": ["phone", "desktop"]} | {f"flag {number}": bool for number in range(8)}
    said = {"device": "phone"} | {f"flag {number}": number % 2 == 0 for number in range(8)}
    plain = Experiment("plain", factors=factors, db=None, seed=1, aim="both", policy="uts")
    ours = Experiment("ours", factors=factors, db=None, seed=1, aim="both", policy="logit-ts", context=context)
    taken: dict[str, list[float]] = {"uts": [], "logit-ts": []}
    for number in range(2 * rounds):
        for name, live, more in (("uts", plain, {}), ("logit-ts", ours, {"context": said})):
            begin = time.process_time()
            decision = live.ask(**more)
            taken[name].append(time.process_time() - begin)
            live.tell(decision, number % 5 == 0)
    uts, logit = (float(np.median(each[rounds:])) for each in taken.values())
    return [
        f"An ask takes {1e6 * uts:.0f} us of `uts`, {1e6 * logit:.0f} us with 10 features: {logit / uts:.2f} (1.5)."
    ]


def report(runs: int = 400, visitors: int = 4_000) -> str:
    """Both tables."""
    return "\n".join([*error_table(runs, visitors), "", *ask_table()])


if __name__ == "__main__":
    print(report(*map(int, sys.argv[1:3])))
