"""Position-based model: P(click) = attraction of the item * examination of the position, by maximum likelihood.

Craswell, Zoeter, Taylor, Ramsey, "An experimental comparison of click position-bias models" (WSDM 2008), section 3.
The likelihood is climbed directly (`rankone.clicks.models.fitting.climb`), or by EM as in Chuklin, Markov, de Rijke
(2015), section 4.3.3, which creeps along ridges and stops below the maximum (`rankone.clicks.models.fitting.em`).
"""

import dataclasses
from typing import Any, Self

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Cells
from rankone.clicks.models.base import FitProgress, check_prior
from rankone.clicks.models.fitting.climb import Fit, run_climb
from rankone.clicks.models.fitting.em import HIGHEST, LOWEST, product_em
from rankone.clicks.models.product import CURVES, SCALES, ProductModel
from rankone.numerics.arrays import Ints
from rankone.specs import number_in, one_of, whole_number

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

    @classmethod
    def pyclick(cls, **changes: Any) -> Self:
        """PyClick's rule: start at 0.5, pseudo-counts 1 and 2, 50 plain EM steps, every item, scale as it comes."""
        rule: dict[str, Any] = {"prior": (1.0, 2.0), "tolerance": -1.0, "max_iterations": 50, "accelerate": False}
        return cls(**rule | {"min_impressions": 0, "scale": "as-is", "method": "em"} | changes)

    def learn(self, cells: Cells, progress: FitProgress) -> None:
        """Climb, or run EM, in each query (or in all together, with a shared curve)."""
        one_of("examination", self.examination, CURVES)
        one_of("scale", self.scale, SCALES)
        prior = check_prior(self.prior)
        number_in("start", self.start, f"[{LOWEST}, {HIGHEST}]", example=0.5)
        check_stopping(self.tolerance, self.max_iterations)
        one_of("method", self.method, METHODS)
        fit = start_fit(cells, self._item_starts(cells), cells.position, cells.n_positions, self.start)
        if self.method == "em":
            trace = product_em(fit, prior, self.tolerance, self.max_iterations, self.accelerate, progress)
        else:
            trace = run_climb(fit, prior, self.tolerance, progress)
        self.n_iter_, self.log_likelihoods_ = int(fit.iterations.max()), trace
        self.converged_, self._converged = bool(fit.converged.all()), fit.converged
        self._learned(cells, fit.attraction, fit.examination)

    def summary(self) -> pl.DataFrame:
        """One row per query, as of every product, and whether its likelihood reached its maximum."""
        table = super().summary()
        return table.with_columns(converged=np.broadcast_to(self._converged, table.height))


def check_stopping(tolerance: float, max_iterations: int) -> None:
    """Refuse rules that never let EM run, or never compare."""
    whole_number("max_iterations", max_iterations, example=10_000)
    number_in("tolerance", tolerance, "[-inf, inf]", example=1e-6)


def start_fit(cells: Cells, item_starts: Ints, place: Ints, n_places: int, start: float) -> Fit:
    """Return a fit with every parameter at `start`; `item_starts` says where the items of each group start."""
    groups = len(item_starts) - 1
    return Fit(
        item_starts,
        cells.item_cells,
        place,
        cells.impressions,
        cells.clicks,
        attraction=np.full(cells.n_items, start),
        examination=np.full((groups, n_places), start),
        iterations=np.zeros(groups, np.int64),
        converged=np.zeros(groups, np.bool_),
    )
