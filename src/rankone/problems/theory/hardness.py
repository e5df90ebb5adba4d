"""How hard a problem is: what single changes of the best combination lose, and the bounds on regret at a horizon.

Of rows and columns there are the quantities of the paper's section 4 besides, and Theorem 1's bound.
"""

import dataclasses
import functools
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from rankone.errors import InputError
from rankone.notebook import Answer
from rankone.numerics.kl import bernoulli_kl
from rankone.problems.product import Product
from rankone.problems.rank_one import RankOne
from rankone.problems.registry import as_problem
from rankone.problems.theory.bounds import UpperBound, upper_bound
from rankone.problems.theory.time_to_be_sure import characteristic_time, least_decisions
from rankone.specs import as_whole_number

_SHOWN_PAIRS = 3
_ERROR = 0.05


@dataclasses.dataclass(frozen=True, repr=False)
class Hardness(Answer):
    """What a problem of factors costs at least, level by level, and at most, after `horizon` decisions.

    The lower bound and the time to be sure hold for plain products: without interactions and rules, on the scale
    "product". For others they are None, as is Theorem 1's bound for other than two factors.
    """

    problem: Product
    horizon: int

    @property
    def headline(self) -> str:
        """The answer in at most 25 words."""
        split = "" if self.even_regret is None else f"; an equal split loses {self.even_regret:,.0f}"
        if self.lower_bound is None:
            return f"No lower bound is known (interactions, or something forbidden){split}."
        least = f"any good policy loses at least about {self.lower_bound:,.0f} clicks"
        return f"In {self.horizon:,} decisions {least}{split}."

    @property
    def details(self) -> str:
        """The other bounds on clicks lost."""
        bound, most = self.upper_bound, f"Always showing the worst loses {self.most_regret:,.0f}."
        high = [] if bound is None else [f"rank1elim-kl loses at most {bound.total:,.0f} (Theorem 1)."]
        return "\n".join([f"Problem: {self.problem.name}. The lower bound holds in the long run.", *high, most])

    def _tables(self) -> dict[str, Any]:
        rows = self.levels()
        return {"levels": {name: [row[name] for row in rows] for name in rows[0]}}

    def levels(self) -> list[dict[str, Any]]:
        """Return of each level the best combination's click rate with it instead, what that loses, and its share of C.

        None: it may not be shown with the other best levels; a share only where there is a lower bound.
        """
        problem, rows = self.problem, []
        for factor, name, rate in problem.rates_with_each_level():
            gap = None if rate is None else problem.best_mean - rate
            share = self._share(rate) if problem.is_plain and rate is not None else None
            rows.append({"factor": factor, "level": name, "rate": rate, "gap": gap, "share_of_bound": share})
        return rows

    def _share(self, rate: float) -> float:
        best = self.problem.best_mean
        return 0.0 if rate >= best or best in (0.0, 1.0) else (best - rate) / float(bernoulli_kl(rate, best))

    @property
    def single_changes(self) -> int:
        """How many combinations differ from the best in one factor."""
        return sum(self.problem.shape) - len(self.problem.shape)

    @functools.cached_property
    def pair(self) -> RankOne | None:
        """The problem as rows and columns, where it is one of two factors without more."""
        return self.problem.as_rank_one() if self.problem.is_rank_one else None

    @functools.cached_property
    def upper_bound(self) -> UpperBound | None:
        """Theorem 1's bound on the regret of Rank1ElimKL, which is about rows and columns."""
        return None if self.pair is None else upper_bound(self.pair, self.horizon)

    @property
    def lower_bound_constant(self) -> float | None:
        """C: no policy that is good on every product has less regret than about C log n."""
        return self.problem.lower_bound_constant()

    @property
    def lower_bound(self) -> float | None:
        """Asymptotic lower bound, C log n."""
        constant = self.lower_bound_constant
        return None if constant is None else constant * math.log(self.horizon)

    @property
    def characteristic_time(self) -> float | None:
        """T*: to be sure of the best with an error of e takes at least T* d(e, 1 - e) decisions on average."""
        return characteristic_time(self.problem) if self.problem.is_plain else None

    @property
    def even_regret(self) -> float | None:
        """Regret of showing all combinations evenly; None: they are too many to look at."""
        lost = self.problem.loss_at_random()
        return None if lost is None else self.horizon * lost

    @property
    def most_regret(self) -> float:
        """Regret of always showing the worst combination."""
        return self.horizon * (self.problem.best_mean - self.problem.worst_mean())

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; a gap that does not exist (all levels of a factor tie) is None."""
        problem, pair, bound = self.problem, self.pair, self.upper_bound
        own = ("single_changes", "horizon", "lower_bound_constant", "lower_bound", "even_regret", "most_regret")
        result = (
            self.depths()
            | {name: getattr(self, name) for name in own}
            | {
                "problem": problem.name,
                "factors": {factor: len(names) for factor, names in problem.level_names.items()},
                "combinations": problem.n_combinations,
                "best": dict(zip(problem.level_names, problem.best_levels, strict=True)),
                "best_mean": problem.best_mean,
                "peaks": problem.peaks,
                "levels": self.levels(),
                "characteristic_time": _finite(self.characteristic_time),
            }
        )
        if pair is None or bound is None:
            return result
        names = ("best_pairs", "mu", "p_max", "gamma", "min_row_gap", "min_col_gap", "row_gaps", "col_gaps")
        shares = {f"{factor}_shares": values.tolist() for factor, values in bound.shares.items()}
        result |= {name: _plain(getattr(pair, name)) for name in names}
        return result | {"upper_bound": {"total": bound.total, "constant": bound.constant, **shares}}

    def facts(self) -> list[tuple[str, str, str]]:
        """Return what there is to print: what, how much, and what that means."""
        problem, constant, time = self.problem, self.lower_bound_constant, self.characteristic_time
        rows = [
            ("factors", " x ".join(map(str, problem.shape)), ", ".join(problem.factors)),
            ("combinations", f"{problem.n_combinations:,}", "forbidden ones among them" * bool(len(problem.rules))),
            ("single changes", f"{self.single_changes:,}", "of the best: what has to be told from it"),
            ("best", " + ".join(problem.best_levels), "a level of each factor"),
            ("best mean", f"{problem.best_mean:.6g}", "its click probability"),
        ]
        if problem.peaks != 1:
            many = "several are possible" if problem.peaks is None else f"{problem.peaks:,}"
            rows.append(("peaks", many, "combinations that no single change makes better"))
        for factor in problem.factors:
            gaps = [row["gap"] for row in self.levels() if row["factor"] == factor]
            span = "all forbidden with the rest" if None in gaps and not any(gaps) else _span(gaps)
            rows.append((f"lost with another {factor}", span, "smallest .. largest"))
        rows.append(("horizon n", f"{self.horizon:,}", ""))
        if constant is None:
            rows.append(("lower bound", "not known", "interactions, or something is forbidden"))
        else:
            rows.append(("lower bound", f"{self.lower_bound:,.1f}", f"C log n with C = {constant:.6g}"))
        if time is not None and math.isfinite(time):
            sure = f"{least_decisions(problem, _ERROR):,.0f}"
            rows.append(("to be sure", sure, f"decisions at least, on average, error {_ERROR:.0%}"))
        if self.even_regret is not None:
            rows.append(("even regret", f"{self.even_regret:,.0f}", "all combinations shown evenly"))
        rows.append(("most regret", f"{self.most_regret:,.0f}", "worst combination always"))
        return [*rows, *self._facts_of_pairs()]

    def _facts_of_pairs(self) -> list[tuple[str, str, str]]:
        """Return the paper's quantities, where there are rows and columns."""
        pair, bound = self.pair, self.upper_bound
        if pair is None or bound is None:
            return []
        shown = ", ".join(f"({row}, {col})" for row, col in pair.best_pairs[:_SHOWN_PAIRS])
        best = [f"{pair.row_names[row]} with {pair.col_names[col]}" for row, col in pair.best_pairs[:_SHOWN_PAIRS]]
        more = len(pair.best_pairs) - _SHOWN_PAIRS
        vacuous = "says nothing yet: above the most regret" if bound.total >= self.most_regret else ""
        return [
            ("best pairs", f"{shown} and {more} more" if more > 0 else shown, "; ".join(best)),
            ("mu", f"{pair.mu:.6g}", "smaller mean of u and v"),
            ("p_max", f"{pair.p_max:.6g}", "largest of u and v"),
            ("gamma", f"{pair.gamma:.6g}", "max(mu, 1 - p_max)"),
            ("row gaps", _span(pair.row_gaps), "smallest positive .. largest"),
            ("column gaps", _span(pair.col_gaps), "smallest positive .. largest"),
            ("Theorem 1's bound", f"{bound.total:,.0f}", vacuous or "on the regret of rank1elim-kl"),
            *(
                (f"  from each {factor}", f"{shares.sum():,.0f}", f"up to {shares.max():,.0f} one")
                for factor, shares in bound.shares.items()
            ),
            ("  constant", f"{bound.constant:,.0f}", "(6e + 82)(K + L)"),
        ]


def hardness(problem: Product | str, horizon: int = 2_000_000) -> Hardness:
    """Return everything ``rankone hardness`` prints.

    >>> from rankone.problems import needle
    >>> found = hardness(needle(32, 32), horizon=2_000_000)
    >>> round(found.lower_bound_constant, 2), round(found.lower_bound), round(found.most_regret)
    (78.29, 1136, 1000000)
    """
    result = as_problem(problem)
    if not isinstance(result, Product):
        raise InputError("a problem of factors, for which there is theory", f"{result!r}", "try needle:8x8")
    return Hardness(result, as_whole_number("horizon", horizon))


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _plain(value: Any) -> Any:
    return _finite(value) if isinstance(value, float) else np.asarray(value).tolist()


def _span(gaps: Iterable[float | None]) -> str:
    """Return the smallest gap above 0 and the largest.

    >>> _span([0.0, 0.25, 0.5])
    '0.25 .. 0.5'
    """
    above = [gap for gap in gaps if gap]
    return f"{min(above):.4g} .. {max(above):.4g}" if above else "none: all tie"
