"""What a check of the rank-1 assumption found: for reading, for programs, as a picture."""

import dataclasses
import math
from typing import Any

import polars as pl

from rankone.charts.chart import Chart
from rankone.clicks.counts.dispersion import BINOMIAL, Dispersion
from rankone.clicks.rank1_test.misfit import Misfit
from rankone.notebook import Answer, Shown
from rankone.specs import amount
from rankone.wording.combinations import UNNAMED, brief_combination
from rankone.wording.lists import cut_text, listed, quoted, some_of
from rankone.wording.numbers import percent


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Rank1Check(Shown):
    """The check of one table of pairs."""

    name: str
    n_rows: int
    n_cols: int
    outcomes: int
    clicks: int
    constraints: int  # pairs less what rank 1 leaves free
    statistic: float  # likelihood ratio against a rate of its own for every pair
    p_value: float | None  # None: any rates are rank 1 here, there is nothing to test
    simulations: int
    visible: float | None  # relative deviation of the click rates that would be noticed with 80% power
    cells: pl.DataFrame  # row, col, outcomes, clicks, rate, rank_one_rate, deviation; the largest deviation first
    dispersion: Dispersion = BINOMIAL  # how much clicks scatter: statistic and deviations are divided by it
    misfit: Misfit | None = None  # how large deviations are and what they cost; None: nothing to tell it by
    sides: tuple[str, ...] = UNNAMED  # what the rows and columns of `cells` are

    @property
    def _outcome(self) -> str:
        return "nothing to test" if self.p_value is None else f"p = {self.p_value:.2g}"

    def _sentence(self) -> str:
        return f"{self.name}: {self._outcome}; pairs by their distance from rank 1:"

    def _tables(self) -> dict[str, pl.DataFrame]:
        return {"cells": self.cells}

    def headline(self, doubtful: bool) -> str:
        """Say what was found in at most 25 words."""
        if self.p_value is None:
            return "Nothing to test: the pairs share too few rows and columns."
        if doubtful and self.misfit is not None and self.misfit.costs_little:
            little = f"choosing level by level costs {self.misfit.at_most} of clicks"
            return f"Factors interact a little ({self._outcome}); {little}."
        if doubtful:
            cell = self.cells.row(0, named=True)
            pair = brief_combination({side: cell[side] for side in UNNAMED}, 9)
            rates = f"{percent(cell['rate'])} observed, {percent(cell['rank_one_rate'])} expected"
            return f"Factors seem to interact ({self._outcome}), most of all {pair}: {rates}."
        seen = ", but these few clicks could hardly show one"
        if self.visible is not None and self.visible <= 1.0:
            seen = f"; a {percent(max(self.visible, 0.001), 2)} mismatch would usually show"
        return f"No sign of interaction ({self._outcome}){seen}."

    def to_dict(self, cells: int = 10) -> dict[str, Any]:
        """Return plain values, with the pairs that deviate most."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "cells"}
        values["dispersion"] = self.dispersion.to_dict()
        values["misfit"] = self.misfit and dataclasses.asdict(self.misfit)
        return values | {"largest_deviations": self.cells.head(cells).to_dicts()}

    def chart(self) -> Chart:
        """Draw the deviation of every pair from its rank-1 rate."""
        from rankone.charts.heatmap import residual_chart

        return residual_chart(self.cells, f"Interaction of {self.name} ({self._outcome})")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Rank1Report(Answer):
    """The checks of one or more tables, and what they say together at error rate `level`."""

    checks: tuple[Rank1Check, ...]
    level: float
    of_factors: bool = False  # whether the checks are of every two of three factors or more, and not of queries
    of_all: Misfit | None = None  # of such factors: of all of them together

    @property
    def misfit(self) -> Misfit | None:
        """How large deviations from the product are and what they cost; None for several queries: each has its own."""
        return self.checks[0].misfit if len(self.checks) == 1 else self.of_all

    @property
    def misfit_sentence(self) -> str | None:
        """What deviations from the product cost, in words; while no test finds any, only how much they can cost."""
        return None if self.misfit is None else self.misfit.sentence(self.doubtful)

    @property
    def headline(self) -> str:
        """What was found, in at most 25 words."""
        if len(self.checks) == 1:
            return self.checks[0].headline(self.doubtful)
        tested = sum(check.p_value is not None for check in self.checks)
        if not tested:
            return "Nothing to test: too few combinations, or too many."
        kind = "pairs of factors" if self.of_factors else "queries"
        if not self.doubts and self._coarse:
            return "Too few simulations to tell whether factors interact."
        if not self.doubts:
            return f"No sign of interaction in any of {tested} {kind}."
        first = cut_text(self.doubts[0].name, 6)
        return f"Factors seem to interact in {len(self.doubts)} of {tested} {kind}, most clearly {first}."

    @property
    def _coarse(self) -> list[Rank1Check]:
        """Checks of factors whose p-value would be smaller with more simulations."""
        return [check for check in self.checks if self.of_factors and check.p_value == 1 / (1 + check.simulations)]

    @property
    def assumes(self) -> str:
        """What the answer rests on, in one line."""
        return "Assumes: a random split in fixed shares; each visitor counted once."

    def _notes(self) -> list[str]:
        return [] if self.misfit_sentence is None else [self.misfit_sentence]

    @property
    def details(self) -> str:
        """Every test, and how its p-value was computed."""
        first = next((check for check in self.checks if check.p_value is not None), None)
        own = [self.sentence] if self.sentence != self.headline else []
        if first is None:
            return "\n".join(own)
        how = f"p-values from {amount(first.simulations, 'simulated table')} with as many outcomes of each pair."
        return "\n".join([*own, how, f"{first.dispersion.sentence}."])

    def _tables(self) -> dict[str, pl.DataFrame]:
        return {"summary": self.summary()} | {check.name: check.cells for check in self.checks}

    def _shown(self) -> pl.DataFrame:
        return self.checks[0].cells if len(self.checks) == 1 else self.summary()

    @property
    def adjusted(self) -> tuple[float | None, ...]:
        """P-values by Holm's rule: all rejections at a level together are wrong with at most that probability.

        >>> from types import SimpleNamespace as Check
        >>> Rank1Report(tuple(Check(p_value=p) for p in (0.01, None, 0.03)), 0.05).adjusted
        (0.02, None, 0.03)
        """
        p_values = [check.p_value for check in self.checks]
        tested = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
        adjusted: list[float | None] = [None] * len(p_values)
        highest = 0.0
        for rank, (p, index) in enumerate(tested):
            adjusted[index] = highest = max(highest, min(1.0, p * (len(tested) - rank)))
        return tuple(adjusted)

    @property
    def p_value(self) -> float | None:
        """Of "rank 1 holds everywhere"; with one table that table's own."""
        tested = [p for p in self.adjusted if p is not None]
        return min(tested) if tested else None

    @property
    def doubts(self) -> tuple[Rank1Check, ...]:
        """The checks that doubt rank 1, the smallest p-value first."""
        both = [(p, check) for p, check in zip(self.adjusted, self.checks, strict=True) if p is not None]
        return tuple(check for p, check in sorted(both, key=lambda pair: pair[0]) if p <= self.level)

    @property
    def doubtful(self) -> bool:
        """Whether rank 1 is doubted anywhere."""
        return bool(self.doubts)

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        if len(self.checks) == 1:
            return self.checks[0].headline(self.doubtful)
        if self.of_factors:
            return self._factors_sentence()
        tested = sum(check.p_value is not None for check in self.checks)
        if not tested:
            return f"Nothing to test in {len(self.checks)} queries: their pairs share too few items and positions."
        together = f"at an error rate of {self.level:g} for all of them together"
        if not self.doubts:
            return f"No sign of interaction in any of {tested} queries, {together}."
        named = some_of([f"{check.name} (p = {check.p_value:.2g})" for check in self.doubts])
        return f"Factors seem to interact in {len(self.doubts)} of {tested} queries, {together}: {named}."

    def _factors_sentence(self) -> str:
        tested = [check for check in self.checks if check.p_value is not None]
        skipped = [check.name for check in self.checks if check.p_value is None and check.constraints > 0]
        more = f" Not tested, because they have too many combinations: {', '.join(skipped)}." if skipped else ""
        if not tested and skipped:
            return more.strip()
        if not tested:
            return "Nothing to test: the combinations share too few levels."
        results = ", ".join(f"{check.name} ({check._outcome})" for check in tested)
        if not self.doubtful and self._coarse:
            first = self._coarse[0]
            far = f"no simulated table of {first.simulations} shows as much interaction as {first.name}"
            return f"Too few simulations to tell whether two factors interact: {far}. All: {results}.{more}"
        if not self.doubtful:
            return f"No sign of interaction between two factors: {results}.{more}"
        worst = listed(quoted(self.doubts[0].cells.select("row", "col").row(0)))
        return f"Factors seem to interact: {self.doubts[0].name}, most of all {worst}. All tests: {results}.{more}"

    def summary(self) -> pl.DataFrame:
        """One row per check: size, p-value, Holm's p-value, what could have been seen."""
        names = ("name", "n_rows", "n_cols", "outcomes", "clicks", "constraints", "statistic", "p_value")
        rows = [
            {name: getattr(check, name) for name in names} | {"p_holm": p, "visible": check.visible}
            for check, p in zip(self.checks, self.adjusted, strict=True)
        ]
        return pl.DataFrame(rows, schema_overrides=dict.fromkeys(("p_value", "p_holm", "visible"), pl.Float64))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        checks = [check.to_dict() | {"p_holm": p} for check, p in zip(self.checks, self.adjusted, strict=True)]
        misfit = self.misfit and dataclasses.asdict(self.misfit) | {"sentence": self.misfit_sentence}
        names = ("sentence", "doubtful", "p_value", "level")
        return self.depths() | {name: getattr(self, name) for name in names} | {"misfit": misfit, "checks": checks}

    def chart(self) -> Chart:
        """Draw the deviations of the check with the smallest p-value."""
        return min(self.checks, key=lambda check: math.inf if check.p_value is None else check.p_value).chart()

    def __str__(self) -> str:
        return self.brief
