"""Logged decisions as numbers: from a table of any origin and a target to `Logged`, with what had to be left out."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from rankone.analysis.what_if.dsjson import CONTEXT, is_dsjson, read_dsjson
from rankone.analysis.what_if.off_policy import Logged
from rankone.clicks.counts.counts import check_columns
from rankone.clicks.counts.frames import known_frame, to_polars
from rankone.clicks.counts.table_files import read_table
from rankone.errors import InputError
from rankone.live.experiment import Experiment
from rankone.live.operate.export import decisions_table
from rankone.numerics.arrays import Floats, Ints
from rankone.specs import did_you_mean
from rankone.wording.combinations import combination_text
from rankone.wording.lists import listed

CHANCES = ("chance", "propensity_score", "propensity", "pscore", "probability")
OUTCOMES = ("clicked", "click", "reward", "outcome")
ESTIMATED = "probabilities equal to shares of the log (a policy that neither changed nor looked at who asked)"
ROUNDED = (
    "Outcomes are amounts, rounded at random to a click or none: values are shares of the goal's cap, right on "
    "average, and noisier than the amounts."
)
TIMES = ("asked_at", "timestamp")
_FEW = 30  # decisions whose weights average more than 1 by chance alone
_FAR, _SLIGHT = 4.0, 0.1  # standard errors, and the part of the decisions, by which probabilities have to be off


def table_of(log: Any) -> pl.DataFrame:
    """Return a file, a dataframe or the decisions of an experiment as a table."""
    if isinstance(log, Experiment):
        return decisions_table(log.database, log.name)
    if not isinstance(log, str | os.PathLike):
        return to_polars(known_frame(log))
    return read_dsjson(log) if is_dsjson(log) else read_table(log)


def factors_of(table: pl.DataFrame, factors: Sequence[str] | str) -> list[str]:
    """Return the columns of the factors: those named, else those of an export; of any other table none are known."""
    named = [factors] if isinstance(factors, str) else list(factors)
    if named or not {"learned", "number", "filler"} <= set(table.columns):
        return named
    return table.columns[table.columns.index("number") + 1 : table.columns.index("filler")]


class Rows(NamedTuple):
    """Decisions that can be used, in the order of time: a column for each factor, `reward` and `chance`."""

    table: pl.DataFrame
    without_chance: int
    rounded: bool  # whether outcomes are clicks that amounts of an experiment were rounded to


def usable_rows(
    table: pl.DataFrame,
    names: Sequence[str],
    clicked: str | None,
    chance: str | None,
    time: str | None,
    assumed: str,
    attributes: Sequence[str] = (),
) -> Rows:
    """Take the decisions of a table that can be used.

    `assumed`: empty, or what probabilities are taken for where the log has none: "uniform" over the combinations in it,
    or "estimated" as their shares of the log.
    """
    outcome = clicked or find_column(table, OUTCOMES, "the outcome", "clicked")
    probability = None
    if not assumed:
        probability = chance or find_column(table, CHANCES, "the probability of a decision", "chance")
    check_columns(table.columns, [*names, *attributes, *filter(None, (outcome, probability, time))])
    exported = "learned" in table.columns  # what `rankone export` wrote: outcomes that do not count are in it, too
    rows = _in_time(table, time, exported)
    if exported:
        rows = rows.filter(number_column(table, "learned").eq(1.0).fill_null(value=False))
    numbers = {"reward": outcome} | ({"chance": probability} if probability else {})
    columns = {name: number_column(table, column) for name, column in numbers.items()}
    texts = (pl.col(name).cast(pl.String) for name in (*names, *attributes))
    rows = rows.select(*texts, **columns)
    rows = rows.drop_nulls([*names, *(["reward"] if exported else numbers)])
    without_chance = rows["chance"].null_count() if probability else 0
    if exported and 0 < without_chance == rows.height:
        got = "none in this export: its policy says none, or it has too many levels"
        do = "run the experiment with a policy that says them, such as thompson"
        raise InputError("decisions with a probability", got, do)
    if rows.is_empty():
        raise InputError("decisions with outcome and probability", "none", "check the columns, or say uniform")
    check_outcomes(rows["reward"])
    if assumed == "uniform":
        rows = rows.with_columns(chance=pl.lit(1.0 / rows.select(pl.struct(names).n_unique()).item()))
    elif assumed:
        rows = rows.with_columns(chance=pl.len().over(names) / rows.height)
    check_probabilities(rows["chance"])
    rounded = outcome == "clicked" and exported and "rounded" in table.columns
    return Rows(rows, without_chance, rounded)


def assumption(uniform: bool, estimated: bool) -> str:
    """Return what the probabilities of a log without any are taken for; empty: it must have some."""
    if uniform and estimated:
        raise InputError("one of uniform and estimated", "both", "say uniform where all was equally likely")
    return "uniform" * uniform + "estimated" * estimated


def check_outcomes(reward: pl.Series) -> None:
    """Refuse outcomes below 0 or above 1."""
    if not reward.is_between(0.0, 1.0).all():
        raise InputError("outcomes from 0 to 1", _range(reward), "divide by the largest that is possible")


def check_probabilities(chance: pl.Series) -> None:
    """Refuse probabilities of what happened that are no probabilities, or 0."""
    if not chance.is_between(0.0, 1.0, "right").all():
        raise InputError("probabilities above 0 and up to 1", _range(chance), "check the column")


def _range(numbers: pl.Series) -> str:
    known = numbers.drop_nulls().to_numpy()
    return f"{known.min():g} to {known.max():g}"


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


def is_changing(rows: pl.DataFrame, logged: Logged, kind: Ints) -> bool:
    """Whether the same was shown to the same kind of visitor with different probabilities: the policy learned."""
    chance = rows.select("chance", action=logged.action, kind=kind).drop_nulls().group_by("action", "kind")
    apart = pl.col("chance").max() > pl.col("chance").min() * (1.0 + 1e-6)
    return bool(chance.agg(apart=apart)["apart"].any())


def misfit(rows: pl.DataFrame, logged: Logged, names: Sequence[str]) -> str:
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
        wanted = f"weights of {expected:.2g} on average, as probabilities of {of} together would give"
        do = "name every factor that the probability is of, and check the columns of probabilities"
        raise InputError(wanted, f"{average:.3g}", do)


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
    if isinstance(target, str) and (" if " in target or ";" in target):
        return _read_groups(target)
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
    probability = number_column(table, "probability")
    return table.with_columns(pl.exclude("probability").cast(pl.String), probability=probability)


def _read_groups(text: str) -> pl.DataFrame:
    rows = []
    for part in text.split(";"):
        shown, _, who = part.partition(" if ")
        if not who:
            example = "headline=A if device=phone; headline=B if device=desktop"
            raise InputError("a target for each group of visitors", part.strip(), f"try '{example}'")
        known = {CONTEXT + name: level for name, level in named_levels(who, "visitors").items()}
        rows.append(named_levels(shown, "a target") | known | {"probability": 1.0})
    if len({tuple(row) for row in rows}) > 1:
        raise InputError("the same factors and attributes for each group", text, "name them all each time")
    return pl.DataFrame(rows)


def check_target(probability: pl.Series, what: str) -> None:
    """Refuse probabilities of a target that do not add up to 1, are negative or are missing."""
    if missing := probability.null_count():
        raise InputError(what, f"{missing:,} that are no numbers", "write a number for each")
    total = float(probability.sum())
    if abs(total - 1.0) > 1e-6:
        raise InputError(f"{what} that add up to 1", f"{total:g}", "divide them by their sum")
    if (probability < 0.0).any():
        raise InputError(f"{what} of 0 or more", _range(probability), "check them")


def attributes_of(table: pl.DataFrame, named: Sequence[str] | str, wanted: pl.DataFrame) -> dict[str, str]:
    """Return the columns of what is known of visitors, by how they may be called: those named, or of an export.

    Of those named in a target, too.
    """
    given = [named] if isinstance(named, str) else list(named)
    if not given and "learned" in table.columns:
        given = [name for name in table.columns if name.startswith(CONTEXT)]
    given += [
        name
        for name in factors_in(wanted)
        if name.startswith(CONTEXT) or (name not in table.columns and CONTEXT + name in table.columns)
    ]
    result = {}
    for name in given:
        short = name.removeprefix(CONTEXT)
        result[name] = next((each for each in (name, CONTEXT + name, short) if each in table.columns), short)
    return result


def read_decisions(
    rows: pl.DataFrame, wanted: pl.DataFrame, names: Sequence[str], attributes: Sequence[str] = ()
) -> Logged:
    """Number combinations and weigh decisions for a target; of each group of visitors, where it names attributes."""
    own = [name for name in factors_in(wanted) if name in attributes]
    if own:
        return _of_groups(rows, wanted, names, own)
    check_target(wanted["probability"], "probabilities of the target")
    return _weighed(rows, wanted, names, rows)


def _weighed(rows: pl.DataFrame, wanted: pl.DataFrame, names: Sequence[str], every: pl.DataFrame) -> Logged:
    """Weigh decisions for a target; `every` has all combinations there are to number."""
    keys = factors_in(wanted)
    if missing := [name for name in keys if name not in names]:
        expected = f"the factors {', '.join(names)} in the target"
        raise InputError(expected, ", ".join(missing), "name them in factors, too")
    if wanted.height == 1:
        _check_levels(every, wanted, keys)
    target = wanted.group_by(keys).agg(pl.col("probability").sum())
    # Combinations of the target that do not name every factor exist only as far as the log has them.
    whole = target.select(names) if set(names) <= set(keys) else rows.select(names).head(0)
    combinations = pl.concat([every.select(names), whole]).unique(maintain_order=True)
    levels = [combinations[name].unique().sort().to_list() for name in names]
    cells = [combinations[name].replace_strict(own, range(len(own))) for name, own in zip(names, levels, strict=True)]
    numbered = combinations.with_row_index("number")
    action = rows.join(numbered, on=names, how="left", maintain_order="left")["number"].to_numpy().astype(np.int64)
    # Factors that the target does not name are chosen as in the log: in these shares, given the ones that it names.
    q = numbered.join(target, on=keys, how="left", maintain_order="left")["probability"].fill_null(0.0).to_numpy()
    seen = np.bincount(action, minlength=len(q)).astype(float)
    named = numbered.select(group=pl.struct(keys).rank("dense"))["group"].to_numpy().astype(np.int64) - 1
    inside, members = np.bincount(named, seen)[named], np.bincount(named)[named]
    q = q * np.where(inside > 0.0, seen / np.maximum(inside, 1.0), 1.0 / members)
    never = target.filter(pl.any_horizontal(~pl.col(name).is_in(every[name].unique().implode()) for name in keys))
    logged = Logged(
        action,
        rows["reward"].to_numpy(),
        weight=q[action] / rows["chance"].fill_null(np.inf).to_numpy(),  # decisions without a probability: weight 0
        target=q,
        cells=np.column_stack([column.to_numpy() for column in cells]).astype(np.int64),
        sizes=tuple(map(len, levels)),
        unknown=float(never["probability"].sum()),
        unsupported=max(0.0, round(1.0 - float(q[seen > 0].sum()), 9)),
    )
    check_average(logged.weight, 1.0 - logged.unsupported, listed(names))
    return logged


def _of_groups(rows: pl.DataFrame, wanted: pl.DataFrame, names: Sequence[str], own: Sequence[str]) -> Logged:
    """Weigh decisions for a target that shows groups of visitors their own: each group is weighed separately."""
    group, parts = np.full(rows.height, -1, np.int64), []
    for number, (levels, part) in enumerate(wanted.group_by(own, maintain_order=True)):
        here = np.ones(rows.height, np.bool_)
        for name, level in zip(own, levels, strict=True):
            here &= (rows[name] == level).fill_null(value=False).to_numpy()
        said = _named(own, levels)
        check_target(part["probability"], f"probabilities of the target for {said}")
        if not here.any():
            raise InputError(f"visitors with {said} in the log", "none", "check the names of the levels")
        group[here] = number
        parts.append(_weighed(rows.filter(here), part.drop(own), names, rows))
    if (group < 0).any():
        left = _named(own, rows.filter(group < 0).select(own).row(0))
        raise InputError("a target for all visitors", f"none for {left}", "say what they would be shown")
    largest, place = max(parts, key=lambda part: len(part.target)), np.argsort(np.argsort(group, kind="stable"))
    if any(len(part.target) < len(largest.target) for part in parts):
        raise InputError("combinations that the log shows to somebody", "a target with others", "leave them out")
    shares = np.bincount(group, minlength=len(parts)) / rows.height
    return largest._replace(
        action=np.concatenate([part.action for part in parts])[place],
        reward=rows["reward"].to_numpy(),
        weight=np.concatenate([part.weight for part in parts])[place],
        target=np.stack([part.target for part in parts]),
        unknown=0.0,
        unsupported=float(shares @ [part.unsupported for part in parts]),
        group=group,
    )


def _named(names: Sequence[str], levels: Sequence[str | None]) -> str:
    return ", ".join(f"{name} {level or 'unknown'}" for name, level in zip(names, levels, strict=True))


def factors_in(target: pl.DataFrame) -> list[str]:
    """Return the factors that a target names."""
    return [name for name in target.columns if name != "probability"]


def _check_levels(rows: pl.DataFrame, wanted: pl.DataFrame, names: Sequence[str]) -> None:
    """Refuse a combination with a level that the log never shows: no estimate could say anything of it."""
    for name in names:
        known = rows[name].unique().sort().to_list()
        if (level := wanted[name][0]) not in known:
            some = ", ".join(known[:10]) + (", ..." if len(known) > 10 else "")
            do = did_you_mean(level, known, "name one of them")
            raise InputError(f"a level of {name} ({some}) in the target", f"'{level}'", do)


def target_text(wanted: pl.DataFrame, attributes: Sequence[str] = ()) -> str:
    """Name the target in words."""
    who = [name for name in factors_in(wanted) if name in attributes]
    if wanted.height > 1 and (not who or wanted["probability"].min() != 1.0):
        return f"{wanted.height:,} combinations with their probabilities"
    said = []
    for row in wanted.drop("probability").iter_rows(named=True):
        visitors = listed([f"{name.removeprefix(CONTEXT)} {row.pop(name)}" for name in who]) if who else ""
        said.append(" for ".join(filter(None, [combination_text(row), visitors])))
    return "; ".join(said)


def find_column(table: pl.DataFrame, known: Sequence[str], what: str, argument: str) -> str:
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
