"""How hard a problem is: the quantities of the paper's section 4 and the bounds at a horizon, in one place."""

from __future__ import annotations

import dataclasses
import math
import typing
from typing import Any

from rankone.notebook import Shown
from rankone.problems.bounds import UpperBound, lower_bound_constant, upper_bound
from rankone.problems.factor_hardness import FactorHardness
from rankone.problems.product import Product
from rankone.problems.rank_one import RankOne
from rankone.problems.registry import as_problem, as_rank_one
from rankone.specs import as_whole_number


@dataclasses.dataclass(frozen=True, repr=False)
class Hardness(Shown):
    """A problem's hardness, its bounds on regret after `horizon` decisions, and the most regret there can be."""

    problem: RankOne
    horizon: int
    upper_bound: UpperBound
    lower_bound_constant: float

    def _sentence(self) -> str:
        low = f"at least about {self.lower_bound:,.0f} for any good policy in the long run"
        high = f"at most {self.upper_bound.total:,.0f} for Rank1ElimKL (Theorem 1)"
        most = f"{self.most_regret:,.0f} by always showing the worst pair"
        return f"{self.problem.name}, regret after {self.horizon:,} decisions: {low}; {high}; {most}."

    def _tables(self) -> dict[str, Any]:
        problem, bound = self.problem, self.upper_bound
        gaps, shares = (problem.row_gaps, problem.col_gaps), (bound.row_shares, bound.col_shares)
        sides = ["row"] * problem.n_rows + ["column"] * problem.n_cols
        levels = {
            "side": sides,
            "level": [*problem.row_names, *problem.col_names],
            "probability": [*problem.rows.tolist(), *problem.cols.tolist()],
            "gap": [value for side in gaps for value in side.tolist()],
            "share_of_bound": [value for side in shares for value in side.tolist()],
        }
        return {"levels": levels}

    @property
    def lower_bound(self) -> float:
        """Asymptotic lower bound, C(u, v) log n."""
        return self.lower_bound_constant * math.log(self.horizon)

    @property
    def most_regret(self) -> float:
        """Regret of always playing the worst pair; an upper bound above this says nothing yet."""
        worst = float(self.problem.rows.min() * self.problem.cols.min())
        return self.horizon * (self.problem.best_mean - worst)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; a gap that does not exist (all levels of a side tie) is None."""
        problem, bound = self.problem, self.upper_bound
        return {
            "problem": problem.name,
            "n_rows": problem.n_rows,
            "n_cols": problem.n_cols,
            "best_pairs": [list(pair) for pair in problem.best_pairs],
            "best_mean": problem.best_mean,
            "mu": problem.mu,
            "p_max": problem.p_max,
            "gamma": problem.gamma,
            "min_row_gap": _finite(problem.min_row_gap),
            "min_col_gap": _finite(problem.min_col_gap),
            "row_gaps": problem.row_gaps.tolist(),
            "col_gaps": problem.col_gaps.tolist(),
            "horizon": self.horizon,
            "upper_bound": {
                "total": bound.total,
                "constant": bound.constant,
                "row_shares": bound.row_shares.tolist(),
                "col_shares": bound.col_shares.tolist(),
            },
            "lower_bound_constant": self.lower_bound_constant,
            "lower_bound": self.lower_bound,
            "most_regret": self.most_regret,
        }


@typing.overload
def hardness(problem: RankOne, horizon: int = ...) -> Hardness: ...


@typing.overload
def hardness(problem: Product | str, horizon: int = ...) -> Hardness | FactorHardness: ...


def hardness(problem: RankOne | Product | str, horizon: int = 2_000_000) -> Hardness | FactorHardness:
    """Return everything ``rankone hardness`` prints: a `Hardness` of rows and columns, a `FactorHardness` of factors.

    >>> from rankone.problems import needle
    >>> found = hardness(needle(32, 32), horizon=2_000_000)
    >>> round(found.lower_bound_constant, 2), round(found.lower_bound), round(found.most_regret)
    (78.29, 1136, 1000000)
    """
    found = as_problem(problem)
    if isinstance(found, Product) and not found.is_rank_one:
        return FactorHardness(found, as_whole_number("horizon", horizon))
    problem = as_rank_one(found.as_rank_one() if isinstance(found, Product) else found, "for which there is theory")
    bound = upper_bound(problem, horizon)
    return Hardness(problem, bound.horizon, bound, lower_bound_constant(problem))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
