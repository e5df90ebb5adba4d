"""How hard a problem of any number of factors is: what single changes of the best combination lose, and the bounds."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from rankone.notebook import Shown
from rankone.numerics.kl import bernoulli_kl
from rankone.problems.characteristic_time import star_time
from rankone.problems.product import Product


@dataclasses.dataclass(frozen=True, repr=False)
class FactorHardness(Shown):
    """What a problem of factors costs at least, level by level, and at most, after `horizon` decisions.

    The lower bound and the time to be sure hold for plain products: without interactions and rules, on the scale
    "product". For others they are None.
    """

    problem: Product
    horizon: int

    def _sentence(self) -> str:
        low = "no lower bound is known where click rates are no product or something is forbidden"
        if self.lower_bound is not None:
            low = f"at least about {self.lower_bound:,.0f} for any good policy in the long run"
        even = "" if self.even_regret is None else f"; {self.even_regret:,.0f} by showing all combinations evenly"
        most = f"{self.most_regret:,.0f} by always showing the worst"
        return f"{self.problem.name}, regret after {self.horizon:,} decisions: {low}{even}; {most}."

    def _tables(self) -> dict[str, Any]:
        rows = self.levels()
        return {"levels": {name: [row[name] for row in rows] for name in rows[0]}}

    def levels(self) -> list[dict[str, Any]]:
        """Return of each level the best combination's click rate with it instead, what that loses, and its share of C.

        None: it may not be shown with the other best levels; a share only where there is a lower bound.
        """
        problem, rows = self.problem, []
        best = problem.best_decision()
        for place, (factor, names) in enumerate(problem.level_names.items()):
            for level, name in enumerate(names):
                changed = (*best[:place], level, *best[place + 1 :])
                rate = problem.rate(*changed) if problem.allows(changed) else None
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
        """T*: nobody is sure of the best with an error of e before about T* log(1 / e) decisions, on its cross."""
        if not self.problem.is_plain:
            return None
        best = self.problem.best_decision()
        own = dict(zip(self.problem.level_names, best, strict=True))
        rates = [
            row["rate"]
            for row in self.levels()
            if self.problem.level_names[row["factor"]].index(row["level"]) != own[row["factor"]]
        ]
        return star_time(self.problem.best_mean, rates)

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
        """Plain values for JSON."""
        problem, time = self.problem, self.characteristic_time
        return {
            "problem": problem.name,
            "factors": {factor: len(names) for factor, names in problem.level_names.items()},
            "combinations": problem.n_combinations,
            "single_changes": self.single_changes,
            "best": dict(zip(problem.level_names, self._best_names(), strict=True)),
            "best_mean": problem.best_mean,
            "peaks": problem.peaks,
            "levels": self.levels(),
            "horizon": self.horizon,
            "lower_bound_constant": self.lower_bound_constant,
            "lower_bound": self.lower_bound,
            "characteristic_time": time if time is None or math.isfinite(time) else None,
            "even_regret": self.even_regret,
            "most_regret": self.most_regret,
        }

    def _best_names(self) -> list[str]:
        names = self.problem.level_names.values()
        return [own[level] for own, level in zip(names, self.problem.best_decision(), strict=True)]

    def facts(self) -> list[tuple[str, str, str]]:
        """Return what there is to print: what, how much, and what that means."""
        problem, constant, time = self.problem, self.lower_bound_constant, self.characteristic_time
        peaks = problem.peaks
        rows = [
            ("factors", " x ".join(map(str, problem.shape)), ", ".join(problem.factors)),
            ("combinations", f"{problem.n_combinations:,}", "forbidden ones among them" * bool(len(problem.rules))),
            ("single changes", f"{self.single_changes:,}", "of the best: what has to be told from it"),
            ("best", " + ".join(self._best_names()), "a level of each factor"),
            ("best mean", f"{problem.best_mean:.6g}", "its click probability"),
        ]
        if peaks != 1:
            many = "several are possible" if peaks is None else f"{peaks:,}"
            rows.append(("peaks", many, "combinations that no single change makes better"))
        for factor in problem.factors:
            found = [row["gap"] for row in self.levels() if row["factor"] == factor]
            gaps = [gap for gap in found if gap]
            none = "all forbidden with the rest" if None in found else "none: all tie"
            span = f"{min(gaps):.4g} .. {max(gaps):.4g}" if gaps else none
            rows.append((f"lost with another {factor}", span, "smallest .. largest"))
        rows.append(("horizon n", f"{self.horizon:,}", ""))
        if constant is None:
            rows.append(("lower bound", "not known", "click rates are no product, or something is forbidden"))
        else:
            rows.append(("lower bound", f"{self.lower_bound:,.1f}", f"C log n with C = {constant:.6g}"))
        if time is not None and math.isfinite(time):
            rows.append(("to be sure", f"{time * math.log(20.0):,.0f}", "decisions at least, error 5 %: T* log 20"))
        if self.even_regret is not None:
            rows.append(("even regret", f"{self.even_regret:,.0f}", "all combinations shown evenly"))
        rows.append(("most regret", f"{self.most_regret:,.0f}", "worst combination always"))
        return rows
