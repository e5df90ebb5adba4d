"""From counts to an answer, whatever the counts come in."""

import functools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankone.analysis.product.best import (
    Bounded,
    contrast_bounds,
    impressions_needed,
    level_bounds,
    ratio_contrast,
    whole_rate,
)
from rankone.analysis.product.intervals import Intervals
from rankone.analysis.product.shrinkage import shrink
from rankone.analysis.result import Analysis, RawWinner
from rankone.analysis.split_check import check_split
from rankone.analysis.what_if.logged_decisions import named_levels
from rankone.clicks.counts.dispersion import BINOMIAL, Dispersion, given_dispersion
from rankone.clicks.counts.factor_counts import FactorCounts, as_factor_counts
from rankone.clicks.counts.table_files import naming_lines, read_table
from rankone.clicks.rank1_test.check import check_factors
from rankone.clicks.rank1_test.report import Rank1Report
from rankone.clicks.rank1_test.two_factors import CheckProgress
from rankone.errors import InputError
from rankone.live.storage import is_database
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.product_fit import deviances
from rankone.progress import as_progress
from rankone.specs import did_you_mean, number_in, whole_number

_MOST_LEVELS = 2000


def analyse(
    data: Any,
    *,
    factors: Sequence[str] | str = (),
    shown: str | None = None,
    clicked: str | None = None,
    slice: str | None = None,
    all_rows: bool = False,
    uneven: bool = False,
    control: Mapping[str, str] | str | None = None,
    dispersion: float | None = None,
    confidence: float = 0.95,
    experiment: str | None = None,
    simulations: int = 999,
    seed: int = 0,
    progress: CheckProgress | bool | None = None,
    archive: str | os.PathLike[str] | None = None,
    rest: bool = False,
) -> Analysis:
    """Say which combination is clicked most, how sure that is, and what to do next.

    Args:
        data: a table with a column for each factor and either how often each combination was shown and clicked, or one
            row per impression: a file (CSV, TSV, Parquet, JSON lines, what `rankone export` wrote), any dataframe, a
            pair of arrays (shown, clicked), counts of `rankone.clicks`; or a database with `experiment`.
        factors: columns of the factors, any number; by default found by what the columns hold.
        shown: column of the impressions; by default found by usual names. A table without one has a row per impression.
        clicked: column of the clicks, or of the outcome (0/1) of a row.
        slice: column of the day or week of a row; by default one with such a name, or of dates. Rates are compared
            within days, and intervals allow for what clicks, and levels, do on single days.
        all_rows: count every row but true sums of others, also those that name no level, such as "(not set)".
        uneven: the split was meant to be uneven, so do not test whether it is even.
        control: the combination to compare with, ``{"headline": "A", "image": "1"}`` or ``"headline=A,image=1"``.
        dispersion: how much more than binomially clicks scatter, such as 1.9; by default estimated where
            combinations come in several rows, and 1 otherwise.
        confidence: of the intervals.
        experiment: name of an experiment, if `data` is a database.
        simulations: tables to simulate for the rank-1 test, at most.
        seed: of those simulations.
        progress: True for a bar, or a function, called with simulations done and simulations in all.
        archive: the folder with the archives of the experiment, if it has any.
        rest: take only what is not archived.

    >>> import rankone
    >>> shown, clicked = [[4000, 4000], [4000, 4000]], [[200, 300], [160, 245]]
    >>> answer = rankone.analyse((shown, clicked))
    >>> answer.best, round(answer.rate.value, 3), answer.decided
    ({'row': 'row 1', 'col': 'col 2'}, 0.075, True)
    """
    number_in("confidence", confidence, "[0.5, 1)", 0.95)
    whole_number("simulations", simulations, least=20)
    whole_number("seed", seed, least=0)
    names = (factors,) if isinstance(factors, str) else tuple(factors)
    named: dict[str, Any] = {"factors": names, "shown": shown, "clicked": clicked, "slice": slice, "all_rows": all_rows}
    source = data
    if isinstance(data, str | os.PathLike):
        data = _experiment_counts(data, experiment, archive, rest) if is_database(data) else read_table(data)
    if experiment is not None and not isinstance(data, FactorCounts):
        raise InputError("a database beside experiment=", type(data).__name__, "leave experiment out, or name its file")
    with naming_lines(source):
        counts = as_factor_counts(data, **named)
    if uneven:
        counts = counts._replace(per_visitor=None)
    if sum(counts.sizes) > _MOST_LEVELS:
        got = f"{sum(counts.sizes):,}"
        raise InputError(f"at most {_MOST_LEVELS:,} levels", got, "name fewer factors; logs are for `rankone fit`")
    scatter = given_dispersion(dispersion) if dispersion is not None else counts.repeats or BINOMIAL
    compared = None if control is None else _control(control, counts)
    done = as_progress(progress, "simulations")
    tested = functools.partial(check_factors, simulations=simulations, level=1.0 - confidence, seed=seed, progress=done)
    return _answer(counts, compared, scatter, confidence, tested)


def _experiment_counts(
    database: str | os.PathLike[str], experiment: str | None, archive: str | os.PathLike[str] | None, rest: bool
) -> FactorCounts:
    from rankone.live import Database
    from rankone.live.operate.export import decisions_table

    if experiment is None:
        do = "name one behind it (experiment=); `rankone experiments` lists them"
        raise InputError("the name of an experiment", f"the database {os.fspath(database)} alone", do)
    with Database(os.fspath(database), read_only=True) as opened:
        folder = None if archive is None else Path(archive)
        return as_factor_counts(decisions_table(opened, experiment, archive=folder, rest=rest))


def _control(control: Mapping[str, str] | str, counts: FactorCounts) -> dict[str, str]:
    if isinstance(control, str):
        control = named_levels(control, "a control")
    if set(control) != set(counts.factors):
        expected = f"a level of each factor ({', '.join(counts.factors)}) as the control"
        usual = ",".join(f"{factor}={level}" for factor, level in counts.named([0] * len(counts.factors)).items())
        raise InputError(expected, ", ".join(control), f"try {usual}")
    for factor, names in zip(counts.factors, counts.levels, strict=True):
        if str(control[factor]) not in names:
            do = did_you_mean(str(control[factor]), names, f"choose one of {', '.join(names[:10])}")
            raise InputError(f"No such {factor}:", str(control[factor]), do)
    return {factor: str(control[factor]) for factor in counts.factors}


def _answer(
    counts: FactorCounts,
    control: dict[str, str] | None,
    scatter: Dispersion,
    confidence: float,
    tested: Callable[[FactorCounts, Floats, Dispersion], Rank1Report],
) -> Analysis:
    intervals, doubt = Intervals.of(counts, scatter), (1.0 - confidence) / 2.0
    design, days, by_day = intervals.design, intervals.days, intervals.by_day
    settled = counts if days is None else days.adjusted(counts)
    shrunken = shrink(settled, scatter.value)
    winner = _winner(counts, settled, shrunken, intervals, doubt)
    groups = {name: own for index, name in enumerate(counts.factors) if len(own := intervals.groups(index)) > 1}
    tops = zip(counts.factors, counts.numbered(winner.levels), strict=True)
    bounds = level_bounds(intervals, 1.0 - confidence, [top if name in groups else None for name, top in tops])
    rates = design.rates(intervals.fitted.x)
    best = design.starts[:-1] + np.array([bound.best for bound in bounds])
    contrast = np.zeros(design.n_levels)
    contrast[best] = 1.0
    rate = winner.rate if groups else contrast_bounds(intervals, contrast, doubt, best)
    ratio, low, high = (np.concatenate([getattr(bound, name) for bound in bounds]) for name in ("ratio", "low", "high"))
    columns = zip(counts.cells.T, counts.sizes, strict=True)
    shown = np.concatenate([np.bincount(column, counts.shown, size) for column, size in columns])
    levels = pl.DataFrame(
        {
            "factor": np.repeat(counts.factors, counts.sizes),
            "level": [name for names in counts.levels for name in names],
            "shown": shown.astype(np.int64),
            "clicked": design.level_clicks.astype(np.int64),
            "rate": design.level_clicks / np.maximum(shown, 1.0),
            "fitted": ratio * rate.value ** (1.0 / len(counts.factors)),
            "ratio": ratio,
            "low": low,
            "high": high,
        }
    )
    against = None
    if control is not None:
        controls = design.starts[:-1] + np.array(counts.numbered(control))
        levels = levels.with_columns(**_ratios(intervals, controls, doubt))
        contrast[controls] -= 1.0
        against = contrast_bounds(intervals, contrast, doubt, best)
    moved = zip(counts.factors, by_day.scatter if by_day else (), strict=False)
    return Analysis(
        counts=counts,
        confidence=confidence,
        best=counts.named(bound.best for bound in bounds),
        rate=rate,
        levels=levels,
        combinations=_combinations(counts, settled, rates, shrunken, scatter),
        winner=winner,
        check=None if len(counts.factors) == 1 else tested(settled, rates, scatter),
        dispersion=scatter,
        mismatch=check_split(counts),
        control=control,
        against_control=against,
        needed=math.inf if groups else impressions_needed(intervals, bounds),
        groups={
            factor: [[counts.levels[counts.factors.index(factor)][level] for level in group] for group in own]
            for factor, own in groups.items()
        },
        day_scatter={factor: each.sd for factor, each in moved if math.isfinite(each.freedom)},
    )


def _ratios(intervals: Intervals, controls: Ints, doubt: float) -> dict[str, Floats]:
    design = intervals.design
    result = []
    for level, control in enumerate(np.repeat(controls, design.sizes).tolist()):
        contrast = ratio_contrast(design.n_levels, level, control)
        result.append(Bounded(1.0, 1.0, 1.0) if level == control else contrast_bounds(intervals, contrast, doubt))
    value, low, high = np.array(result).T
    return {"control_ratio": value, "control_low": low, "control_high": high}


def _combinations(
    counts: FactorCounts, settled: FactorCounts, rates: Floats, shrunken: Floats, scatter: Dispersion
) -> pl.DataFrame:
    """One row per combination that was shown, the highest fitted rate first; `settled` has the counts without days."""
    own = deviances(settled.shown, settled.clicked, np.clip(rates, 1e-300, 1.0 - 1e-15)) / scatter.value
    observed = settled.clicked / settled.shown
    columns = {"shown": counts.shown, "clicked": counts.clicked, "rate": counts.clicked / counts.shown}
    columns |= {} if counts.slices is None else {"average_day": observed}
    columns |= {"fitted": rates, "shrunken": shrunken, "deviation": np.sign(observed - rates) * np.sqrt(own)}
    table = pl.DataFrame(counts.name_columns(counts.cells) | columns)
    return table.sort("fitted", descending=True, maintain_order=True)


def _winner(
    counts: FactorCounts, settled: FactorCounts, shrunken: Floats, intervals: Intervals, doubt: float
) -> RawWinner:
    """The highest rate as observed, without days; of equal rates that of the combination that was shown most."""
    cell = int(np.lexsort((counts.shown, settled.clicked / settled.shown))[-1])
    rate = whole_rate(settled.shown, settled.clicked, cell, intervals.of_combination(cell), doubt)
    levels = counts.named(counts.cells[cell])
    return RawWinner(levels, int(counts.shown[cell]), int(counts.clicked[cell]), rate, float(shrunken[cell]))
