"""Position-based model: P(click) = attraction of the item * examination of the position, by EM on counts.

Craswell, Zoeter, Taylor, Ramsey, "An experimental comparison of click position-bias models" (WSDM 2008), section 3;
EM as in Chuklin, Markov, de Rijke (2015), section 4.3.3. See `rankone.clicks.models.em` for the steps.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Self

import numpy as np

from rankone.clicks.counts.count_arrays import Cells
from rankone.clicks.models.base import FitProgress
from rankone.clicks.models.em import HIGHEST, LOWEST, Fit, fit_groups, start_fit
from rankone.clicks.models.product import ProductModel
from rankone.compiling.compiled import compiled
from rankone.deprecation import old_positions
from rankone.errors import InputError

_GROUPS_AT_ONCE = 500
_ITERATIONS_AT_ONCE = 25


@old_positions()
@dataclasses.dataclass(eq=False, kw_only=True)
class PBM(ProductModel):
    """Position-based model by accelerated EM.

    Args:
        prior: pseudo-counts (clicks, impressions) added to every parameter; (0, 0) is maximum likelihood.
        tolerance: stop when no click probability moved by more than this in an iteration.
        max_iterations: stop after this many iterations anyway (`converged_` says so).
        start: value every parameter starts with.
        accelerate: extrapolate EM steps; an iteration is then three EM steps.

    >>> import polars as pl
    >>> from rankone.clicks import Counts
    >>> counts = Counts(pl.DataFrame({"query": "q", "item": ["a", "a", "b", "b"], "position": [1, 2, 1, 2],
    ...                               "impressions": 1000, "clicks": [400, 100, 200, 50]}))
    >>> model = PBM().fit(counts)
    >>> model.attraction_["attraction"].round(3).to_list(), model.examination_["examination"].round(3).to_list()
    ([0.4, 0.2], [1.0, 0.25])
    """

    name = "pbm"
    title = "position-based model (EM)"

    prior: tuple[float, float] = (0.0, 0.0)
    tolerance: float = 1e-6
    max_iterations: int = 10_000
    start: float = 0.5
    accelerate: bool = True

    @classmethod
    def pyclick(cls, **changes: Any) -> Self:
        """PyClick's rule: start at 0.5, pseudo-counts 1 and 2, 50 plain EM steps, every item, scale as it comes."""
        rule: dict[str, Any] = {
            "prior": (1.0, 2.0), "tolerance": -1.0, "max_iterations": 50, "accelerate": False,
            "min_impressions": 0, "scale": "as-is",
        }  # fmt: skip
        return cls(**rule | changes)

    def learn(self, cells: Cells, progress: FitProgress) -> None:
        """Run EM, each query (or all together, with a shared curve) until it has converged."""
        self._check_settings()
        prior = check_prior(self.prior)
        if not LOWEST <= self.start <= HIGHEST:
            raise InputError("a start between 0 and 1", self.start, "pass start=0.5")
        check_stopping(self.tolerance, self.max_iterations)
        fit = start_fit(
            self._item_starts(cells), cells.item_cells, cells.position, cells.impressions, cells.clicks,
            cells.n_positions, self.start, self.max_iterations,
        )  # fmt: skip
        trace = run_em(fit, prior, self.tolerance, self.accelerate, progress)
        self.n_iter_ = int(fit.iterations.max())
        self.converged_ = bool(fit.converged.all())
        self.log_likelihoods_ = trace[: self.n_iter_ + 1]
        self._learned(cells, fit.attraction, fit.examination)


def check_prior(prior: tuple[float, float]) -> tuple[float, float]:
    """Return pseudo-counts (clicks, impressions) that make sense."""
    clicks, impressions = (float(value) for value in prior)
    if not 0.0 <= clicks <= impressions:
        raise InputError("a prior of pseudo-counts 0 <= clicks <= impressions", prior, "try prior=(1, 2)")
    return clicks, impressions


def check_stopping(tolerance: float, max_iterations: int) -> None:
    """Refuse rules that never let EM run, or never compare."""
    if max_iterations < 1:
        raise InputError("max_iterations of at least 1", max_iterations, "try max_iterations=10_000")
    if math.isnan(tolerance):
        raise InputError("a tolerance", tolerance, "try tolerance=1e-6")


def run_em(
    fit: Fit, prior: tuple[float, float], tolerance: float, accelerate: bool, progress: FitProgress
) -> np.ndarray:
    """Fit all groups in portions, so that progress can be shown; return the trace of the objective."""
    run = compiled(fit_groups, __name__)
    groups, most, counts = len(fit.iterations), len(fit.trace) - 1, np.array(prior)
    if groups > 1:
        for begin in range(0, groups, _GROUPS_AT_ONCE):
            end = min(begin + _GROUPS_AT_ONCE, groups)
            run(fit, begin, end, counts, tolerance, accelerate)
            progress(end, groups)
        return fit.trace
    done = 0
    while done < most and not fit.converged[0]:  # a step remembers nothing, so going on is the same as never stopping
        portion = fit._replace(trace=np.zeros(min(_ITERATIONS_AT_ONCE, most - done) + 1))
        run(portion, 0, 1, counts, tolerance, accelerate)
        fit.trace[done : done + len(portion.trace)] = portion.trace
        done += int(fit.iterations[0])
        progress(done, done if fit.converged[0] else most)
    fit.iterations[0] = done
    fit.trace[done:] = fit.trace[done]
    return fit.trace
