"""Revenue per visitor of each level, from a table with a row per visitor, or a row per day and combination.

Each level is compared with every other one of its factor. A row i has n visitors (one, where a row is a visitor) and
brought r; what a level brings is m = sum r / sum n, with the variance of a ratio estimator, sum (r - m n)^2 k / (k - 1)
over (sum n)^2 of its k rows (Cochran, "Sampling techniques", 3rd edition, section 6.4). Intervals are of the logarithm
of a ratio of two levels, by Student's t with the fewer rows less one; Bonferroni's correction over all pairs makes them
hold together, also for the level that was picked because it looks best.

Amounts have heavy tails: a few orders may decide. So a level is compared only where its revenue has the weight of
`_FEW` orders of equal size at least, (sum r)^2 / sum r^2. `python -m benchmarks goals` counts wrong statements.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from rankone.analysis.split_check import Mismatch, check_split
from rankone.clicks.counts.column_values import numbers_of
from rankone.clicks.counts.factor_columns import find_factor_columns
from rankone.clicks.counts.factor_counts import as_factor_counts
from rankone.clicks.counts.frames import known_frame, to_polars
from rankone.clicks.counts.table_files import naming_lines, read_table
from rankone.errors import InputError
from rankone.notebook import Answer
from rankone.numerics.arrays import Floats
from rankone.numerics.student import student_quantile
from rankone.specs import did_you_mean, number_in
from rankone.wording.numbers import percent
from rankone.wording.ratios import FEW, effect_text

_FEW = 30.0  # orders of equal size that a level's revenue must be worth, or nothing is compared
_ROWS = 6  # of a level, below which nobody knows how much it scatters
_MUCH = 0.05  # of a level's revenue that a single row may be before it is said
_BOUGHT = "bought"


class RevenueLevel(NamedTuple):
    """What a level brought, and how that compares with the best level of its factor."""

    factor: str
    level: str
    visitors: int
    orders: int | None  # None: a row is not a visitor
    revenue: float
    per_visitor: float
    low: float  # of the ratio to the best level
    high: float
    against: str


@dataclasses.dataclass(frozen=True, repr=False, kw_only=True)
class RevenueAnalysis(Answer):
    """What a revenue column says: see `rankone.analyse_revenue`."""

    levels: tuple[RevenueLevel, ...]
    best: dict[str, str]
    decided: bool  # the best level of each factor brings more than all others, and the split was even
    mismatch: Mismatch | None
    adaptive: bool
    cap: float | None
    confidence: float
    warnings: tuple[str, ...]
    taken: tuple[str, ...]  # how columns were read

    @property
    def headline(self) -> str:
        """The answer in at most 25 words."""
        said = []
        for factor, best in self.best.items():
            own = [level for level in self.levels if level.factor == factor]
            others = [level for level in own if level.level != best]
            each = next(level.per_visitor for level in own if level.level == best)
            if not others:
                continue
            if self.proves and all(level.high < 1.0 for level in others):
                said.append(f"{factor} '{best}' wins ({each:,.3g} per visitor)")
            elif all(level.against == FEW for level in others):
                said.append(f"{factor}: not enough data yet")
            else:
                said.append(f"{factor}: '{best}' is ahead ({each:,.3g} per visitor), not proven yet")
        sure = f" {percent(self.confidence)} sure." if self.decided else ""
        return f"Revenue: {'; '.join(said)}.{sure}" if said else "Nothing to compare: every factor has one level."

    @property
    def proves(self) -> bool:
        """Whether a winner may be called one: not after a policy, nor after an uneven split."""
        return self.mismatch is None and not self.adaptive

    def _before(self) -> list[str]:
        return [] if self.mismatch is None else [self.mismatch.sentence]

    def _notes(self) -> list[str]:
        return list(self.warnings)

    def _after(self) -> list[str]:
        return list(self.taken)

    @property
    def assumes(self) -> str:
        """What the answer rests on, in one line."""
        mix = "; levels of other factors equally shared" if len(self.best) > 1 else ""
        capped = "" if self.cap is None else f"; more than {self.cap:g} counts as {self.cap:g}"
        return (
            f"Assumes: a random split in fixed shares; all visitors counted once, also without an order{mix}{capped}."
        )

    @property
    def details(self) -> str:
        """Assumptions and method."""
        return (
            f"All intervals hold together with about {percent(self.confidence)} confidence (log ratio, Student's t, "
            "Bonferroni over all pairs of levels), if no order is much of the revenue. Without a cap, rare orders "
            "larger than all so far may change the answer."
        )

    def _tables(self) -> dict[str, Any]:
        return {"levels": pl.DataFrame(self.levels, schema=list(RevenueLevel._fields), orient="row")}

    def _shown(self) -> Any:
        rivals = [level for level in self.levels if level.level != self.best[level.factor]]
        unproven = {level.factor for level in rivals if not (self.proves and level.high < 1.0)}
        said = [
            {"factor": level.factor, "level": level.level, "visitors": f"{level.visitors:,}"}
            | ({} if level.orders is None else {"orders": f"{level.orders:,}"})
            | {"revenue": f"{level.revenue:,.6g}", "per visitor": f"{level.per_visitor:,.4g}"}
            | ({} if not level.orders else {"average order": f"{level.revenue / level.orders:,.4g}"})
            | {
                "against the best": "highest so far"
                if level.against == "the best" and level.factor in unproven
                else level.against
            }
            for level in self.levels
        ]
        return {
            name: [row.get(name, "-") for row in said] for name in dict.fromkeys(key for row in said for key in row)
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        plain = {"best": self.best, "decided": self.decided, "cap": self.cap, "warnings": list(self.warnings)}
        split = {"split": self.mismatch and self.mismatch.to_dict()}
        return self.depths() | plain | split | {"levels": [level._asdict() for level in self.levels]}


def analyse_revenue(
    data: Any,
    revenue: str,
    *,
    factors: Sequence[str] | str = (),
    shown: str | None = None,
    cap: float | None = None,
    uneven: bool = False,
    confidence: float = 0.95,
) -> RevenueAnalysis:
    """Say which levels bring most revenue per visitor, and how sure that is.

    Args:
        data: a table with a column for each factor and a row per visitor (also who bought nothing), or with visitors
            and revenue of each combination and day: a file or any dataframe. What `rankone export` wrote, too.
        revenue: its column of amounts; an empty cell is nothing.
        factors: columns of the factors; by default found by what the columns hold.
        shown: column of the visitors, where rows are not visitors; by default found by usual names.
        cap: what one visitor counts for at most. Needs a row per visitor.
        uneven: the split was meant to be uneven, so do not test whether it is even.
        confidence: of all intervals together.

    >>> table = pl.DataFrame({"page": ["old", "new"] * 600, "revenue": [0.0, 0.0, 20.0, 50.0] * 300})
    >>> found = analyse_revenue(table, "revenue")
    >>> found.best, found.decided
    ({'page': 'new'}, True)
    """
    number_in("confidence", confidence, "[0.5, 1)", 0.95)
    table = read_table(data) if isinstance(data, str | os.PathLike) else to_polars(known_frame(data))
    if revenue not in table.columns:
        do = did_you_mean(revenue, table.columns, "name one of them")
        raise InputError(f"No column '{revenue}':", f"there are {', '.join(table.columns)}", do)
    with naming_lines(data):
        amounts = _amounts(table, revenue)
    names = (factors,) if isinstance(factors, str) else tuple(factors)
    goals = [name for name in table.columns if name.startswith("goal_")]  # of an export
    plain = table.drop(revenue, *(name for name in goals if name != revenue)).with_columns(
        pl.Series(_BOUGHT, (amounts > 0.0).cast(pl.Int64))
    )
    columns = find_factor_columns(plain, factors=names, shown=shown, clicked=_BOUGHT)
    counts = as_factor_counts(plain, factors=columns.factors, shown=columns.shown, clicked=_BOUGHT)
    each = columns.shown is None
    if cap is not None:
        number_in("cap", cap, "(0, inf)", example=500.0)
        if not each:
            raise InputError("a row per visitor for a cap", f"visitors in '{columns.shown}'", "leave the cap out")
    value = amounts.to_numpy() if cap is None else np.minimum(amounts.to_numpy(), cap)
    visitors = np.ones(len(value)) if columns.shown is None else numbers_of(table[columns.shown]).to_numpy()
    mismatch = None if uneven else check_split(counts)
    pairs = sum(len(own) * (len(own) - 1) // 2 for own in counts.levels)
    levels: list[RevenueLevel] = []
    warnings: list[str] = []
    for factor, own in zip(counts.factors, counts.levels, strict=True):
        cells = table[factor].cast(pl.String).str.strip_chars().fill_null("").to_numpy()
        rows = [np.flatnonzero(cells == name) for name in own]
        sums = [_Sums.of(visitors[at], value[at]) for at in rows]
        levels += _compared(factor, own, sums, each, (1.0 - confidence) / max(1, pairs))
        for name, known in zip(own, sums, strict=True):
            if each and known.largest > _MUCH * known.revenue > 0.0:
                part = percent(known.largest / known.revenue)
                warnings.append(
                    f"Heavy tails: one visitor is {part} of the revenue of {factor} '{name}'. Set a cap (--cap)."
                )
            elif known.rows < _ROWS:
                do = "" if each else " Give a row per visitor."
                warnings.append(f"{factor} '{name}': too few rows to tell how amounts scatter.{do}")
    best = {level.factor: level.level for level in levels if level.against == "the best"}
    if counts.adaptive:
        warnings.insert(
            0, "A policy chose what to show by what was bought: the experiment's own report allows for this."
        )
    proven = all(level.high < 1.0 for level in levels if level.level != best[level.factor])
    return RevenueAnalysis(
        levels=tuple(levels),
        best=best,
        decided=proven and pairs > 0 and mismatch is None and not counts.adaptive,
        mismatch=mismatch,
        adaptive=counts.adaptive,
        cap=cap,
        confidence=confidence,
        warnings=tuple(warnings),
        taken=(columns.sentence.replace(f"clicked: {_BOUGHT}", f"revenue: {revenue}"),),
    )


def _amounts(table: pl.DataFrame, revenue: str) -> pl.Series:
    """Return what each row brought, 0 where a cell is empty."""
    amounts = table[revenue].cast(pl.Float64, strict=False)
    unread = amounts.is_null() & table[revenue].cast(pl.String).fill_null("").str.strip_chars().ne("")
    wrong = unread | ~(amounts.fill_null(0.0).is_finite() & amounts.fill_null(0.0).ge(0.0))
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        raise InputError(f"Row {row + 1}: '{revenue}' is no amount from 0:", str(table[revenue][row]), "correct it")
    return amounts.fill_null(0.0)


class _Sums(NamedTuple):
    """What is known of a level."""

    rows: int
    visitors: float
    orders: int
    revenue: float
    variation: float  # of the mean, squared
    worth: float  # orders of equal size
    largest: float

    @classmethod
    def of(cls, visitors: Floats, value: Floats) -> _Sums:
        """Return the sums of a level's rows."""
        n, total, k = float(visitors.sum()), float(value.sum()), len(value)
        mean = total / max(n, 1.0)
        squares = float(((value - mean * visitors) ** 2).sum()) * k / max(1, k - 1)
        worth = total**2 / float((value**2).sum()) if total else 0.0
        bought, most = int((value > 0.0).sum()), float(value.max(initial=0.0))
        return cls(k, n, bought, total, squares / total**2 if total else math.inf, worth, most)


def _compared(factor: str, names: Sequence[str], sums: Sequence[_Sums], each: bool, doubt: float) -> list[RevenueLevel]:
    means = [known.revenue / max(known.visitors, 1.0) for known in sums]
    top, result = int(np.argmax(means)), []
    for number, (name, known) in enumerate(zip(names, sums, strict=True)):
        low, high, said = 0.0, math.inf, FEW
        rows = min(known.rows, sums[top].rows)
        able = rows >= _ROWS and (not each or min(known.worth, sums[top].worth) >= _FEW) and means[number] > 0.0
        if number == top:
            low = high = 1.0
            said = "the best"
        elif able:
            wide = student_quantile(1.0 - doubt / 2.0, rows - 1.0) * math.sqrt(known.variation + sums[top].variation)
            ratio = means[number] / means[top]
            low, high = ratio * math.exp(-wide), ratio * math.exp(wide)
            said = effect_text(ratio, low, high)
        orders = known.orders if each else None
        result.append(
            RevenueLevel(factor, name, round(known.visitors), orders, known.revenue, means[number], low, high, said)
        )
    return result
