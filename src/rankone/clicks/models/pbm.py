"""Position-based model: P(click) = attraction of the item * examination of the position, by maximum likelihood.

Craswell, Zoeter, Taylor, Ramsey, "An experimental comparison of click position-bias models" (WSDM 2008), section 3.
The likelihood is climbed directly (`rankone.clicks.models.fitting.climb`), or by EM as in Chuklin, Markov, de Rijke
(2015), section 4.3.3 (`rankone.clicks.models.fitting.em`). EM creeps along ridges and stops below the maximum; the
climb takes about ten steps and knows how much is missing at most.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Self

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Cells
from rankone.clicks.models.base import FitProgress
from rankone.clicks.models.fitting.climb import climb_groups, group_of
from rankone.clicks.models.fitting.em import HIGHEST, LOWEST, Fit, fit_groups, start_fit
from rankone.clicks.models.product import ProductModel
from rankone.compiling.compiled import compiled
from rankone.errors import InputError
from rankone.specs import number_in, one_of, whole_number

_GROUPS_AT_ONCE = 500
_ITERATIONS_AT_ONCE = 25
METHODS = ("climb", "em")


@dataclasses.dataclass(eq=False, kw_only=True)
class PBM(ProductModel):
    """Position-based model.

    Args:
        prior: pseudo-counts (clicks, impressions) added to every parameter; (0, 0) is maximum likelihood.
        tolerance: nats by which a query's log-likelihood may be below its maximum; with ``method="em"``: stop when no
            click probability moved by more than this in an iteration.
        max_iterations: EM stops after this many iterations anyway (`converged_` says so).
        start: value every parameter starts with; where the climb ends does not depend on it.
        accelerate: extrapolate EM steps; an iteration is then three EM steps.
        method: "climb", or "em" for expectation-maximisation alone.
        shrink: let the items of a query tell what to expect of one that was hardly shown (empirical Bayes,
            `rankone.clicks.models.fitting.shrinkage`); `item_attraction_` are then posterior means, `shrunken()` has
            their intervals. Curves, likelihood, `rates` and `best` stay those of maximum likelihood.

    `converged_` says whether every query reached its maximum, the column ``converged`` of `summary()` which ones did.

    >>> import polars as pl
    >>> from rankone.clicks import Counts
    >>> counts = Counts(pl.DataFrame({"query": "q", "item": ["a", "a", "b", "b"], "position": [1, 2, 1, 2],
    ...                               "impressions": 1000, "clicks": [400, 100, 200, 50]}))
    >>> model = PBM().fit(counts)
    >>> model.attraction_["attraction"].round(3).to_list(), model.examination_["examination"].round(3).to_list()
    ([0.4, 0.2], [1.0, 0.25])
    """

    name = "pbm"
    title = "position-based model"
    read_as = "pbm"

    prior: tuple[float, float] = (0.0, 0.0)
    tolerance: float = 1e-6
    max_iterations: int = 10_000
    start: float = 0.5
    accelerate: bool = True
    method: str = "climb"
    shrink: bool = False

    @classmethod
    def pyclick(cls, **changes: Any) -> Self:
        """PyClick's rule: start at 0.5, pseudo-counts 1 and 2, 50 plain EM steps, every item, scale as it comes."""
        rule: dict[str, Any] = {
            "prior": (1.0, 2.0), "tolerance": -1.0, "max_iterations": 50, "accelerate": False,
            "min_impressions": 0, "scale": "as-is", "method": "em",
        }  # fmt: skip
        return cls(**rule | changes)

    def learn(self, cells: Cells, progress: FitProgress) -> None:
        """Climb, or run EM, in each query (or in all together, with a shared curve)."""
        self._check_settings()
        prior = check_prior(self.prior)
        number_in("start", self.start, f"[{LOWEST}, {HIGHEST}]", example=0.5)
        check_stopping(self.tolerance, self.max_iterations)
        one_of("method", self.method, METHODS)
        fit = start_fit(
            self._item_starts(cells), cells.item_cells, cells.position, cells.impressions, cells.clicks,
            cells.n_positions, self.start, self.max_iterations,
        )  # fmt: skip
        if self.method == "em":
            trace = run_em(fit, prior, self.tolerance, self.accelerate, progress)
        else:
            trace = run_climb(fit, prior, self.tolerance, progress)
        self.n_iter_ = int(fit.iterations.max())
        self.converged_ = bool(fit.converged.all())
        self._converged = fit.converged
        self.log_likelihoods_ = trace
        self._learned(cells, fit.attraction, fit.examination)
        if self.shrink:
            self._maximum, self.item_attraction_ = self.item_attraction_, self._shrunken(0.95).mean

    def summary(self) -> pl.DataFrame:
        """One row per query, as of every product, and whether its likelihood reached its maximum."""
        table = super().summary()
        return table.with_columns(converged=np.broadcast_to(self._converged, table.height))


def check_prior(prior: tuple[float, float]) -> tuple[float, float]:
    """Return pseudo-counts (clicks, impressions) that make sense."""
    clicks, impressions = (float(value) for value in prior)
    if not 0.0 <= clicks <= impressions:
        raise InputError("a prior of pseudo-counts 0 <= clicks <= impressions", prior, "try prior=(1, 2)")
    return clicks, impressions


def check_stopping(tolerance: float, max_iterations: int) -> None:
    """Refuse rules that never let EM run, or never compare."""
    whole_number("max_iterations", max_iterations, example=10_000)
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
        return fit.trace[: int(fit.iterations.max()) + 1]
    done = 0
    while done < most and not fit.converged[0]:  # a step remembers nothing, so going on is the same as never stopping
        portion = fit._replace(trace=np.zeros(min(_ITERATIONS_AT_ONCE, most - done) + 1))
        run(portion, 0, 1, counts, tolerance, accelerate)
        fit.trace[done : done + len(portion.trace)] = portion.trace
        done += int(fit.iterations[0])
        progress(done, done if fit.converged[0] else most)
    fit.iterations[0] = done
    return fit.trace[: done + 1]


def run_climb(fit: Fit, prior: tuple[float, float], tolerance: float, progress: FitProgress) -> np.ndarray:
    """Climb to the maximum in all groups, in portions, so that progress can be shown; return how high the ends are.

    The first number is the objective at the start, the second that at the end.
    """
    if not tolerance > 0.0:
        raise InputError("a tolerance above 0", tolerance, "try tolerance=1e-6, or method='em' to count iterations")
    groups, counts = len(fit.iterations), np.array(prior)
    largest = int(np.diff(fit.item_starts).max())
    room = group_of(
        np.zeros(largest + 1, np.int64), fit.place, fit.impressions, fit.clicks, fit.examination.shape[1]
    )  # fmt: skip
    run, gap = compiled(climb_groups, __name__), np.zeros(groups)
    trace = np.zeros(2)
    for begin in range(0, groups, _GROUPS_AT_ONCE):
        end = min(begin + _GROUPS_AT_ONCE, groups)
        run(
            fit.item_starts, fit.item_cells, fit.place, fit.impressions, fit.clicks, fit.attraction, fit.examination,
            begin, end, counts, tolerance, gap, fit.iterations, room, trace,
        )  # fmt: skip
        progress(end, groups)
    fit.converged[:] = gap <= tolerance
    return trace
