"""Logged decisions as numbers: from a table of any origin and a target to `Logged`, with what had to be left out."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from rankone.analysis.what_if.off_policy import Logged
from rankone.clicks.counts.frames import known_frame, to_polars
from rankone.clicks.counts.table_files import read_table
from rankone.errors import InputError
from rankone.live.experiment import Experiment
from rankone.live.operate.export import decisions_table
from rankone.numerics.arrays import Floats
from rankone.specs import did_you_mean
from rankone.wording.lists import listed

CHANCES = ("chance", "propensity_score", "propensity", "pscore", "probability")
OUTCOMES = ("clicked", "click", "reward", "outcome")
ESTIMATED = (
    "they are estimated as shares of the log, which is right only if its policy neither changed nor looked at who was "
    "asking"
)
ROUNDED = (
    "Outcomes are rewards that were rounded at random to a click or none, with probability reward / cap: values are "
    "shares of the experiment's reward_cap, right on average, and spread more than rewards do."
)
TIMES = ("asked_at", "timestamp")
_FEW = 30  # decisions whose weights average more than 1 by chance alone
_FAR, _SLIGHT = 4.0, 0.1  # standard errors, and the part of the decisions, by which probabilities have to be off


@dataclasses.dataclass(frozen=True)
class Reading:
    """Decisions that can be used, numbered and weighed, and what was found on the way."""

    logged: Logged
    rows: int  # of the table, used or not
    unsupported: float  # share of the target that the log does not have
    without_chance: int
    assumed: str  # "uniform" or "estimated" where the log has no probabilities, else empty
    changing: bool  # whether one combination had several probabilities
    misfit: str  # what speaks against the probabilities themselves, in words; empty: nothing does


def table_of(log: Any) -> pl.DataFrame:
    """Return a file, a dataframe or the decisions of an experiment as a table."""
    if isinstance(log, Experiment):
        return decisions_table(log.database, log.name)
    return read_table(log) if isinstance(log, str | os.PathLike) else to_polars(known_frame(log))


def factors_of(table: pl.DataFrame) -> list[str]:
    """Return the columns of the factors of an export; of any other table none are known."""
    columns = table.columns
    if not {"learned", "number", "filler"} <= set(columns):
        return []
    return columns[columns.index("number") + 1 : columns.index("filler")]


@dataclasses.dataclass(frozen=True)
class Rows:
    """Decisions that can be used, in the order of time: a column for each factor, `reward` and `chance`."""

    table: pl.DataFrame
    without_chance: int
    assumed: str
    rounded: bool  # whether outcomes are clicks that rewards of an experiment were rounded to


def usable_rows(
    table: pl.DataFrame,
    names: Sequence[str],
    clicked: str | None,
    chance: str | None,
    time: str | None,
    assumed: str,
    more: Sequence[str] = (),
) -> Rows:
    """Take the decisions of a table that can be used; `more` columns are kept as they are.

    `assumed`: empty, or what probabilities are taken for where the log has none: "uniform" over the combinations in it,
    or "estimated" as their shares of the log.
    """
    outcome = clicked or found_column(table, OUTCOMES, "the outcome", "clicked")
    probability = None
    if not assumed:
        probability = chance or found_column(table, CHANCES, "the probability of a decision", "chance")
    check_columns(table, [*names, *more, outcome, *([probability] if probability else []), *([time] if time else [])])
    exported = "learned" in table.columns  # what `rankone export` wrote: outcomes that do not count are in it, too
    rows = _in_time(table, time, exported)
    if exported:
        rows = rows.filter(number_column(table, "learned").eq(1.0).fill_null(value=False))
    numbers = [number_column(table, outcome).alias("reward")]
    numbers += [number_column(table, probability).alias("chance")] if probability else []
    rows = rows.select(*(pl.col(name).cast(pl.String) for name in names), *numbers, *more)
    rows = rows.drop_nulls([*names, "reward", *([] if exported or not probability else ["chance"])])
    without_chance = rows["chance"].null_count() if probability else 0
    if exported and 0 < without_chance == rows.height:
        raise InputError(
            "decisions with a probability",
            "none in this export: its policy says none, or it has too many levels",
            "run the experiment with a policy that says them, such as thompson",
        )
    if rows.is_empty():
        raise InputError("decisions with outcome and probability", "none", "check the columns, or say uniform")
    check_outcomes(rows["reward"])
    if assumed == "uniform":
        rows = rows.with_columns(chance=pl.lit(1.0 / rows.select(pl.struct(names).n_unique()).item()))
    elif assumed:
        rows = rows.with_columns(chance=pl.len().over(names) / rows.height)
    check_probabilities(rows["chance"])
    rewards = number_column(table, "reward").is_not_null() if exported and "reward" in table.columns else pl.lit(False)
    rounded = outcome == "clicked" and bool(table.select(rewards.any()).item())
    return Rows(rows, without_chance, assumed, rounded)


def read_decisions(rows: Rows, wanted: pl.DataFrame, names: Sequence[str], read: int) -> Reading:
    """Number decisions and weigh them for a target; `read` is how many rows the log had."""
    logged, unsupported = _logged(rows.table, wanted, names)
    check_average(logged.weight, 1.0 - unsupported, listed(names))
    changing, misfit = _changing(rows.table, logged), _misfit(rows.table, logged, names)
    return Reading(logged, read, unsupported, rows.without_chance, rows.assumed, changing, misfit)


def assumption(uniform: bool, estimated: bool) -> str:
    """Return what the probabilities of a log without any are taken for; empty: it must have some."""
    if uniform and estimated:
        raise InputError("one of uniform and estimated", "both", "say uniform where all was equally likely")
    return "uniform" * uniform + "estimated" * estimated


def check_columns(table: pl.DataFrame, names: Sequence[str]) -> None:
    """Refuse the first column that is not there."""
    for name in names:
        if name not in table.columns:
            raise InputError(f"a column '{name}'", f"the columns {', '.join(table.columns)}", "name another one")


def check_outcomes(reward: pl.Series) -> None:
    """Refuse outcomes below 0 or above 1."""
    if not reward.is_between(0.0, 1.0).all():
        raise InputError("outcomes from 0 to 1", _range(reward), "divide by the largest that is possible")


def check_probabilities(chance: pl.Series) -> None:
    """Refuse probabilities of what happened that are no probabilities, or 0."""
    if not (chance.is_between(0.0, 1.0) & (chance > 0.0)).all():
        raise InputError("probabilities above 0 and up to 1", _range(chance), "check the column")


def _range(numbers: pl.Series) -> str:
    found = numbers.drop_nulls().to_numpy()
    return f"{found.min():g} to {found.max():g}"


def _in_time(table: pl.DataFrame, time: str | None, exported: bool) -> pl.DataFrame:
    """Sort decisions by the time they were made, where a column says it; those of an export are numbered."""
    known = (*(["number"] if exported else []), *TIMES)
    column = time or next((name for name in known if name in table.columns), None)
    if column is None:
        return table
    # Numbers in a text file are texts: 10 must not come before 9.
    if table.schema[column] == pl.String:
        numbers = table.select(number_column(table, column)).to_series()
        if numbers.null_count() == table[column].null_count():
            return table.sort(numbers, maintain_order=True)
    return table.sort(column, maintain_order=True)


def _changing(rows: pl.DataFrame, logged: Logged) -> bool:
    """Whether the same combination was shown with different probabilities, as a policy does that learns."""
    chance = rows.select("chance", action=logged.action).drop_nulls().group_by("action")
    apart = chance.agg((pl.col("chance").max() > pl.col("chance").min() * (1.0 + 1e-6)).alias("apart"))["apart"]
    return bool(apart.any())


def _misfit(rows: pl.DataFrame, logged: Logged, names: Sequence[str]) -> str:
    """Say which combination was shown more often than its probabilities explain.

    The inverse probabilities of a combination, summed over the decisions that show it, are on average the decisions at
    which it had a chance. So more than all decisions, beyond chance, means that the probabilities are wrong; fewer may
    also mean that it had no chance at times.
    """
    inverse = (1.0 / rows["chance"]).fill_null(0.0).to_numpy()
    total, squares, shown = (np.bincount(logged.action, inverse**power) for power in (1, 2, 0))
    beyond = total - len(inverse) - np.maximum(_FAR * np.sqrt(squares), _SLIGHT * len(inverse))
    worst = int(beyond.argmax())
    if len(inverse) < _FEW or beyond[worst] <= 0.0:
        return ""
    named = ", ".join(rows[names].row(int((logged.action == worst).argmax())))
    expected = len(inverse) * shown[worst] / total[worst]
    return f"'{named}' was shown {shown[worst]:,.0f} times, where they say about {expected:,.0f}"


def check_average(weight: Floats, expected: float, of: str) -> None:
    """Refuse weights that average to more than what the log supports: then the probabilities are of other decisions."""
    if len(weight) < _FEW:
        return
    average, error = float(weight.mean()), float(weight.std() / np.sqrt(len(weight)))
    if average - expected > max(6.0 * error, 0.2):
        raise InputError(
            f"weights of {expected:.2g} on average, as probabilities of {of} together would give",
            f"{average:.3g}",
            "name every factor that the probability is of, and check the columns of probabilities",
        )


def named_levels(text: str, what: str) -> dict[str, str]:
    """Read levels by factor.

    >>> named_levels("headline=A, image=1", "a target")
    {'headline': 'A', 'image': '1'}
    """
    parts = [part.partition("=") for part in text.split(",")]
    if not all(equals for _, equals, _ in parts):
        raise InputError(f"{what} written factor=level,factor=level", text, "try headline=A,image=1")
    return {name.strip(): level.strip() for name, _, level in parts}


def read_target(target: Any) -> pl.DataFrame:
    """Return the target as a table of combinations with their probabilities."""
    if isinstance(target, str):
        target = named_levels(target, "a target")
    if isinstance(target, Mapping):
        if not target:
            raise InputError("a target", "nothing", "name a level: headline=A")
        return pl.DataFrame({**{name: [str(level)] for name, level in target.items()}, "probability": [1.0]})
    try:
        table = to_polars(known_frame(target))
    except InputError:
        expected = "levels by factor, the items of a list, a table with probabilities or a policy as the target"
        raise InputError(expected, type(target).__name__, "try {'headline': 'A'}") from None
    if "probability" not in table.columns:
        raise InputError("a column 'probability' in the target", f"the columns {', '.join(table.columns)}", "add it")
    table = table.with_columns(
        pl.exclude("probability").cast(pl.String), probability=number_column(table, "probability")
    )
    check_target(table["probability"], "probabilities of the target")
    return table


def check_target(probability: pl.Series, what: str) -> None:
    """Refuse probabilities of a target that do not add up to 1, are negative or are missing."""
    if missing := probability.null_count():
        raise InputError(what, f"{missing:,} that are no numbers", "write a number for each")
    total = float(probability.sum())
    if abs(total - 1.0) > 1e-6:
        raise InputError(f"{what} that add up to 1", f"{total:g}", "divide them by their sum")
    if (probability < 0.0).any():
        raise InputError(f"{what} of 0 or more", _range(probability), "check them")


def _logged(rows: pl.DataFrame, wanted: pl.DataFrame, names: Sequence[str]) -> tuple[Logged, float]:
    """Number combinations and weigh decisions; also the share of the target that the log does not have."""
    missing = [name for name in wanted.columns if name != "probability" and name not in names]
    if missing:
        raise InputError(
            f"the factors {', '.join(names)} in the target", ", ".join(missing), "name them in factors, too"
        )
    keys = [name for name in names if name in wanted.columns]
    target = wanted.group_by(keys).agg(pl.col("probability").sum())
    combinations = pl.concat([rows.select(names), _whole(target, rows, names)]).unique(maintain_order=True)
    levels = {name: combinations[name].unique().sort().to_list() for name in names}
    places = np.column_stack(
        [combinations[name].replace_strict(levels[name], list(range(len(levels[name])))).to_numpy() for name in names]
    ).astype(np.int64)
    numbered = combinations.with_row_index("number")
    action = rows.join(numbered, on=names, how="left", maintain_order="left")["number"].to_numpy().astype(np.int64)
    # Factors that the target does not name are chosen as in the log: in these shares, given the ones that it names.
    q = numbered.join(target, on=keys, how="left", maintain_order="left")["probability"].fill_null(0.0).to_numpy()
    seen = np.bincount(action, minlength=len(q)).astype(float)
    named = numbered.select(pl.struct(keys).rank("dense").alias("group"))["group"].to_numpy().astype(np.int64) - 1
    inside, members = np.bincount(named, seen)[named], np.bincount(named)[named]
    share = np.where(inside > 0.0, seen / np.maximum(inside, 1.0), 1.0 / members)
    q = q * share
    weight = q[action] / rows["chance"].fill_null(np.inf).to_numpy()  # decisions without a probability: weight 0
    if wanted.height == 1:
        _check_levels(rows, wanted, keys)
    never = target.filter(pl.any_horizontal(~pl.col(name).is_in(rows[name].unique().implode()) for name in keys))
    log = Logged(
        action,
        rows["reward"].to_numpy(),
        weight,
        q,
        places,
        tuple(len(each) for each in levels.values()),
        unknown=float(never["probability"].sum()),
    )
    return log, max(0.0, round(1.0 - float(q[seen > 0].sum()), 9))


def _check_levels(rows: pl.DataFrame, wanted: pl.DataFrame, names: Sequence[str]) -> None:
    """Refuse a combination with a level that the log never shows: no estimate could say anything of it."""
    for name in names:
        known = rows[name].unique().sort().to_list()
        if (level := wanted[name][0]) not in known:
            some = ", ".join(known[:10]) + (", ..." if len(known) > 10 else "")
            raise InputError(
                f"a level of {name} ({some}) in the target",
                f"'{level}'",
                did_you_mean(level, known, "name one of them"),
            )


def _whole(target: pl.DataFrame, rows: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Combinations of the target that name every factor; others exist only as far as the log has them."""
    if all(name in target.columns for name in names):
        return target.select(names)
    return rows.select(names).head(0)


def told_target(target: Any, wanted: pl.DataFrame) -> str:
    """Name the target in words."""
    if wanted.height > 1:
        return f"{wanted.height:,} combinations with their probabilities"
    return ", ".join(f"{name} {wanted[name][0]}" for name in wanted.columns if name != "probability")


def found_column(table: pl.DataFrame, known: Sequence[str], what: str, argument: str) -> str:
    """Return the first known name that the table has a column of."""
    for name in known:
        if name in table.columns:
            return name
    more = ", or say uniform or estimated" if argument == "chance" else ""
    raise InputError(f"a column of {what}", f"the columns {', '.join(table.columns)}", f"name it with {argument}{more}")


def number_column(table: pl.DataFrame, name: str) -> pl.Expr:
    """A column as numbers; true and false are 1 and 0, and what is no number is missing."""
    kind = table.schema[name]
    if kind.is_numeric() or kind == pl.Boolean:
        return pl.col(name).cast(pl.Float64).fill_nan(None)
    text = pl.col(name).cast(pl.String).str.to_lowercase()
    return text.replace({"true": "1", "false": "0"}).cast(pl.Float64, strict=False).fill_nan(None)
