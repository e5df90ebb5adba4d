"""From counts to an answer, whatever the counts come in."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankone.analysis.product.best import Bounded, chosen_contrast, fixed_contrast, level_bounds, whole_rate
from rankone.analysis.product.intervals import Intervals
from rankone.analysis.product.more_data import impressions_needed
from rankone.analysis.product.shrinkage import shrink
from rankone.analysis.result import Analysis, RawWinner
from rankone.analysis.split_check import check_split
from rankone.analysis.what_if.logged_decisions import named_levels
from rankone.clicks.counts.dispersion import BINOMIAL, Dispersion, given_dispersion
from rankone.clicks.counts.factor_counts import FactorCounts, as_factor_counts
from rankone.clicks.counts.table_files import read_table
from rankone.clicks.rank1_test.check import check_factors
from rankone.clicks.rank1_test.two_factors import CheckProgress
from rankone.errors import InputError
from rankone.numerics.arrays import Floats
from rankone.numerics.product_fit import deviances
from rankone.progress import as_progress
from rankone.specs import did_you_mean, whole_number

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
    if not 0.5 <= confidence < 1.0:
        raise InputError("a confidence from 0.5 to below 1", confidence, "try confidence=0.95")
    whole_number("simulations", simulations, least=20)
    whole_number("seed", seed, least=0)
    names = (factors,) if isinstance(factors, str) else tuple(factors)
    read = functools.partial(_experiment_counts, experiment=experiment, archive=archive, rest=rest)
    named: dict[str, Any] = {"factors": names, "shown": shown, "clicked": clicked, "slice": slice, "all_rows": all_rows}
    counts = _counts(data, experiment, read, named)
    if uneven:
        counts = counts._replace(per_visitor=None)
    if sum(counts.sizes) > _MOST_LEVELS:
        got = f"{sum(counts.sizes):,}"
        raise InputError(f"at most {_MOST_LEVELS:,} levels", got, "name fewer factors; logs are for `rankone fit`")
    scatter = given_dispersion(dispersion) if dispersion is not None else counts.repeats or BINOMIAL
    compared = None if control is None else _control(control, counts)
    return _answer(counts, compared, scatter, confidence, simulations, seed, as_progress(progress, "simulations"))


def _counts(
    data: Any, experiment: str | None, read: Callable[[str | os.PathLike[str]], FactorCounts], named: Mapping[str, Any]
) -> FactorCounts:
    if isinstance(data, str | os.PathLike):
        from rankone.live.storage.is_database import is_database

        if is_database(data):
            return read(data)
        data = read_table(Path(data) if not isinstance(data, str) else data)
    if experiment is not None:
        raise InputError("a database beside experiment=", type(data).__name__, "leave experiment out, or name its file")
    return as_factor_counts(data, **named)


def _experiment_counts(
    database: str | os.PathLike[str], experiment: str | None, archive: str | os.PathLike[str] | None, rest: bool
) -> FactorCounts:
    """The outcomes of a live experiment that count."""
    from rankone.live import Database
    from rankone.live.operate.export import decisions_table

    if experiment is None:
        do = "name one behind it (experiment=); `rankone experiments` lists them"
        raise InputError("the name of an experiment", f"the database {os.fspath(database)} alone", do)
    with Database(os.fspath(database), read_only=True) as opened:
        folder = None if archive is None else Path(archive)
        return as_factor_counts(decisions_table(opened, experiment, archive=folder, rest=rest))


def _control(control: Mapping[str, str] | str, counts: FactorCounts) -> dict[str, str]:
    """Read a control, and find its levels."""
    if isinstance(control, str):
        control = named_levels(control, "a control")
    usual = ",".join(f"{factor}={names[0]}" for factor, names in zip(counts.factors, counts.levels, strict=True))
    if set(control) != set(counts.factors):
        expected = f"a level of each factor ({', '.join(counts.factors)}) as the control"
        raise InputError(expected, ", ".join(control), f"try {usual}")
    for factor, names in zip(counts.factors, counts.levels, strict=True):
        if str(control[factor]) not in names:
            do = did_you_mean(str(control[factor]), names, "name one of them")
            raise InputError(f"a {factor} among {', '.join(names[:10])}", str(control[factor]), do)
    return {factor: str(control[factor]) for factor in counts.factors}


def _answer(
    counts: FactorCounts,
    control: dict[str, str] | None,
    scatter: Dispersion,
    confidence: float,
    simulations: int,
    seed: int,
    progress: CheckProgress,
) -> Analysis:
    intervals = Intervals.of(counts, scatter)
    design, days = intervals.design, intervals.days
    settled = counts if days is None else days.adjusted(counts)
    shrunken = shrink(settled, scatter.value)
    winner = _winner(counts, settled, shrunken, intervals, (1.0 - confidence) / 2.0)
    groups = [intervals.groups(factor) for factor in range(len(counts.factors))]
    apart = any(len(each) > 1 for each in groups)
    tops = [
        names.index(winner.levels[name]) if len(each) > 1 else None
        for name, names, each in zip(counts.factors, counts.levels, groups, strict=True)
    ]
    bounds = level_bounds(intervals, 1.0 - confidence, tops)
    rates = design.rates(intervals.fitted.x)
    best = design.starts[:-1] + np.array([bound.best for bound in bounds])
    contrast = np.zeros(design.n_levels)
    contrast[best] = 1.0
    rate = winner.rate if apart else chosen_contrast(intervals, contrast, best, (1.0 - confidence) / 2.0)
    fitted = np.concatenate([bound.ratio for bound in bounds]) * rate.value ** (1.0 / len(counts.factors))
    shown = np.concatenate(
        [np.bincount(column, counts.shown, size) for column, size in zip(counts.cells.T, counts.sizes, strict=True)]
    )
    levels = pl.DataFrame(
        {
            "factor": np.repeat(counts.factors, counts.sizes),
            "level": [name for names in counts.levels for name in names],
            "shown": shown.astype(np.int64),
            "clicked": design.level_clicks.astype(np.int64),
            "rate": design.level_clicks / np.maximum(shown, 1.0),
            "fitted": fitted,
            "ratio": np.concatenate([bound.ratio for bound in bounds]),
            "low": np.concatenate([bound.low for bound in bounds]),
            "high": np.concatenate([bound.high for bound in bounds]),
        }
    )
    against = None
    if control is not None:
        places = [
            start + names.index(control[factor])
            for start, factor, names in zip(design.starts, counts.factors, counts.levels, strict=False)
        ]
        levels = levels.with_columns(**_ratios(intervals, places, (1.0 - confidence) / 2.0))
        contrast[places] -= 1.0
        against = chosen_contrast(intervals, contrast, best, (1.0 - confidence) / 2.0)
    return Analysis(
        counts=counts,
        confidence=confidence,
        best={
            factor: names[bound.best]
            for factor, names, bound in zip(counts.factors, counts.levels, bounds, strict=True)
        },
        rate=rate,
        levels=levels,
        combinations=_combinations(counts, settled, rates, shrunken, scatter),
        winner=winner,
        check=None
        if len(counts.factors) == 1
        else check_factors(
            settled, rates, scatter, simulations=simulations, level=1.0 - confidence, seed=seed, progress=progress
        ),
        dispersion=scatter,
        mismatch=check_split(counts),
        control=control,
        against_control=against,
        needed=math.inf if apart else impressions_needed(intervals, bounds),
        groups={
            factor: [[names[place] for place in group] for group in each]
            for factor, names, each in zip(counts.factors, counts.levels, groups, strict=True)
            if len(each) > 1
        },
        day_scatter={
            factor: each.sd
            for factor, each in zip(counts.factors, intervals.by_day.scatter if intervals.by_day else (), strict=False)
            if math.isfinite(each.freedom)
        },
    )


def _ratios(intervals: Intervals, places: Sequence[int], doubt: float) -> dict[str, Floats]:
    """The ratio of every level to the control's level of its factor."""
    design = intervals.design
    found = []
    for start, size, control in zip(design.starts, design.sizes, places, strict=False):
        for place in range(start, start + size):
            contrast = np.zeros(design.n_levels)
            contrast[place] += 1.0
            contrast[control] -= 1.0
            found.append(Bounded(1.0, 1.0, 1.0) if place == control else fixed_contrast(intervals, contrast, doubt))
    value, low, high = np.array(found).T
    return {"control_ratio": value, "control_low": low, "control_high": high}


def _combinations(
    counts: FactorCounts, settled: FactorCounts, rates: Floats, shrunken: Floats, scatter: Dispersion
) -> pl.DataFrame:
    """One row per combination that was shown, the highest fitted rate first; `settled` has the counts without days."""
    inside = np.clip(rates, 1e-300, 1.0 - 1e-15)
    own = deviances(settled.shown, settled.clicked, inside) / scatter.value
    observed = settled.clicked / settled.shown
    by_day = {} if counts.slices is None else {"average_day": observed}
    names = {
        factor: [levels[place] for place in column]
        for factor, levels, column in zip(counts.factors, counts.levels, counts.cells.T, strict=True)
    }
    return pl.DataFrame(
        names
        | {
            "shown": counts.shown,
            "clicked": counts.clicked,
            "rate": counts.clicked / counts.shown,
            **by_day,
            "fitted": rates,
            "shrunken": shrunken,
            "deviation": np.sign(observed - rates) * np.sqrt(own),
        }
    ).sort("fitted", descending=True, maintain_order=True)


def _winner(
    counts: FactorCounts, settled: FactorCounts, shrunken: Floats, intervals: Intervals, doubt: float
) -> RawWinner:
    """The highest rate as observed, without days; of equal rates that of the combination that was shown most."""
    place = int(np.lexsort((counts.shown, settled.clicked / settled.shown))[-1])
    levels = {
        factor: names[number]
        for factor, names, number in zip(counts.factors, counts.levels, counts.cells[place], strict=True)
    }
    return RawWinner(
        levels,
        int(counts.shown[place]),
        int(counts.clicked[place]),
        whole_rate(settled.shown, settled.clicked, place, intervals.of_combination(place), doubt),
        float(shrunken[place]),
    )
