"""A small experiment in memory that wants a verdict, and visitors for it."""

from rankone.numerics.seeds import generator
from tests.levels import numbers

from .helpers import at

ROWS, COLS = ["A", "B", "C"], ["x", "y"]


def live(rows=ROWS, cols=COLS, clock=None, **settings):
    return at(clock)("homepage", rows, cols, db=None, **{"aim": "decide", "seed": 5} | settings)


def visit(experiment, rows, cols, visitors, seed=0, lost=lambda decision: False, site=lambda at: 1.0, every=None):
    """Send visitors, 50 at a time; return the reports in between, or only the last one."""
    rng, reports = generator(seed, "visitors"), []
    for sent in range(0, visitors, 50):
        asked = [decision for decision in experiment.ask(50) if not lost(decision)]
        shown = [numbers(experiment, one) for one in asked]
        rates = [site(sent) * rows[row] * cols[col] for row, col in shown]
        told = [(one, bool(rng.random() < rate)) for one, rate in zip(asked, rates, strict=True)]
        experiment.tell_many(told)
        if every and sent % every == 0:
            reports.append(experiment.report())
    return [*reports, experiment.report()]
