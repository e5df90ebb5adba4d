"""Size and cost of deviations from the product: how often is the truth inside what `check-rank1` says?

Levels have log effects of 0.19 (as in real tests of headlines), the middle combination is clicked 5%; interactions are
normal, or one combination is better than its levels say. `python -m benchmarks misfit` takes a minute.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rankone.clicks.counts.dispersion import BINOMIAL, Dispersion, given_dispersion
from rankone.clicks.rank1_test.misfit import Misfit, measure_misfit
from rankone.numerics.product_fit import Design
from rankone.numerics.seeds import generator

RUNS = 400


class Kind(NamedTuple):
    """A kind of tables: sizes, relative standard deviation of interactions, impressions of each combination."""

    sizes: tuple[int, ...]
    own: float
    shown: int
    scatter: float = 1.0  # how much more than binomially clicks scatter
    known: Dispersion = BINOMIAL  # what the check is told of that
    spike: float = 1.0  # times the rate of the last combination


KINDS = {
    "a product, 4 x 4, 2,000 each": Kind((4, 4), 0.0, 2_000),
    "a product, 4 x 5 x 3, 2,000 each": Kind((4, 5, 3), 0.0, 2_000),
    "interactions of 2%, 4 x 4, 10,000,000 each": Kind((4, 4), 0.02, 10**7),
    "interactions of 2%, 4 x 4 x 3, 1,000,000 each": Kind((4, 4, 3), 0.02, 10**6),
    "interactions of 10%, 4 x 4 x 3, 5,000 each": Kind((4, 4, 3), 0.1, 5_000),
    "interactions of 30%, 6 x 6, 3,000 each": Kind((6, 6), 0.3, 3_000),
    "interactions of 10%, 6 x 6, 400 each": Kind((6, 6), 0.1, 400),
    "a product, clicks scatter twice as much, given": Kind((4, 4, 3), 0.0, 5_000, 2.0, given_dispersion(2.0)),
    "interactions of 10%, twice as much, given": Kind((4, 4, 3), 0.1, 5_000, 2.0, given_dispersion(2.0)),
    "a product, twice as much, not known": Kind((4, 4, 3), 0.0, 5_000, 2.0),
    "one of 4 x 4 better by half, 100,000 each": Kind((4, 4), 0.0, 100_000, spike=1.5),
}


def table(kind: Kind, rng: np.random.Generator) -> tuple[Misfit, float]:
    """Draw a table; return what is said of it, and the truth: what the product's best loses."""
    effects = [rng.normal(0.0, 0.19, size) for size in kind.sizes]
    logs: Any = sum(np.ix_(*effects))
    means = 0.05 * np.exp(logs) * (1.0 + kind.own * rng.standard_normal(kind.sizes))
    means[tuple(size - 1 for size in kind.sizes)] *= kind.spike
    cells, means = np.argwhere(np.ones(kind.sizes)), np.clip(means.ravel(), 0.0, 1.0)
    shown, rates = np.full(len(cells), kind.shown), means
    if kind.scatter > 1.0:
        strength = (kind.shown - kind.scatter) / (kind.scatter - 1.0)
        rates = rng.beta(means * strength, (1.0 - means) * strength)
    clicked = rng.binomial(shown, rates)
    design = Design.of(cells, kind.sizes, shown, clicked)
    fitted = design.rates(design.maximise().x)
    found = measure_misfit(cells, kind.sizes, shown, clicked, fitted, rng, kind.known)
    assert found is not None
    return found, float(1.0 - means[np.argmax(fitted)] / means.max())


def report() -> str:
    """One row a kind, in Markdown."""
    lines = [f"| {RUNS} tables each | size inside | loss at most as said | loss, mean | said, mean | bound, mean |"]
    lines.append("|---|---|---|---|---|---|")
    for name, kind in KINDS.items():
        rng = generator(1, name)
        found = [table(kind, rng) for _ in range(RUNS)]
        size = np.mean([each.deviation_low <= kind.own <= each.deviation_high + 1e-12 for each, _ in found])
        most = np.mean([true <= each.lost_high + 1e-12 for each, true in found])
        means = [
            np.mean([true for _, true in found]),
            *(np.mean([getattr(each, at) for each, _ in found]) for at in ("lost", "lost_high")),
        ]
        told = "-" if kind.spike != 1.0 else f"{size:.1%}"
        lines.append(f"| {name} | {told} | {most:.1%} | {' | '.join(f'{each:.2%}' for each in means)} |")
    return "\n".join(lines)
