"""What if visitors got their own? How often the interval of `logit-dr` misses, and how often the model is said to be off.

Logs of a policy with fixed probabilities that shows phones and desktops different headlines; the question is what the
best headline for each would have earned. "Wrong model": headline and image interact, and age counts in a bend.
"""

import numpy as np
import polars as pl

import rankone
from rankone.numerics.seeds import generator

TARGET = "headline=A,image=1 if device=phone; headline=B,image=1 if device=desktop"
WORLDS = {"right model": 0.0, "wrong model": 1.0}


def log_of(world: str, seed: int, decisions: int) -> tuple[pl.DataFrame, float]:
    """Return a log, and what the target earns on average for its visitors."""
    rng, wrong = generator(seed, "what if visitors", world), WORLDS[world]
    phone, age = rng.random(decisions) < 0.6, rng.uniform(18.0, 90.0, decisions).round()
    often = np.where(phone[:, None], [0.2, 0.5, 0.3], [0.6, 0.2, 0.2])
    headline = (rng.random(decisions)[:, None] > often.cumsum(axis=1)).sum(axis=1)
    image = rng.integers(2, size=decisions)

    def rate(headline, image):
        own = 0.7 * (headline == 0) * phone + 0.5 * (headline == 1) * ~phone - 0.3 * image + 0.01 * (age - 54.0)
        bend = wrong * (0.8 * (headline == 2) * (image == 1) + 0.0008 * (age - 54.0) ** 2 - 0.3)
        return 1.0 / (1.0 + np.exp(2.5 - own - bend))

    columns = {"headline": np.array(list("ABC"))[headline], "image": image + 1, "age": age}
    columns |= {"device": np.where(phone, "phone", "desktop"), "clicked": rng.random(decisions) < rate(headline, image)}
    chance = np.take_along_axis(often, headline[:, None], 1)[:, 0] / 2.0
    return pl.DataFrame(columns | {"chance": chance}), float(rate(np.where(phone, 0, 1), np.zeros(decisions)).mean())


def report(logs: int = 400, decisions: int = 6_000) -> str:
    """Return the table."""
    lines = [f"| world ({logs} logs of {decisions:,}) | `logit-dr` misses | `snips` misses | width of `logit-dr` |"]
    lines[0] += " said to be off |"
    lines.append("|---|---|---|---|---|")
    for world in WORLDS:
        missed, off, widths = np.zeros(2), 0, []
        for seed in range(logs):
            log, truth = log_of(world, seed, decisions)
            found = rankone.evaluate(log, TARGET, attributes=["device", "age"])
            rows = {row["estimator"]: row for row in found.table.iter_rows(named=True)}
            own, plain = rows["logit-dr"], rows["snips"]
            missed += [not each["low"] <= truth <= each["high"] for each in (own, plain)]
            widths.append((own["high"] - own["low"]) / (plain["high"] - plain["low"]))
            off += any("model of visitors is off" in note for note in found._notes())
        cells = [*(f"{each / logs:.1%}" for each in missed), f"{np.median(widths):.2f} of `snips`", f"{off / logs:.1%}"]
        lines.append(f"| {world} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)
