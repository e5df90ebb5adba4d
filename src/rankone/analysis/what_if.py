"""What would have happened: the value of another combination, or of another way to choose, from logged decisions."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl

from rankone.analysis.off_policy import Logged, estimates
from rankone.clicks.counts.count_arrays import Floats
from rankone.clicks.counts.frames import known_frame, to_polars
from rankone.clicks.counts.table_files import read_table
from rankone.clicks.models.uncertainty import checked_level
from rankone.errors import InputError
from rankone.notebook import Shown
from rankone.specs import amount

LEAST = 30.0  # effective decisions
CHANCES = ("chance", "propensity_score", "propensity", "pscore", "probability")
OUTCOMES = ("clicked", "click", "reward", "outcome")


@dataclasses.dataclass(frozen=True, repr=False)
class WhatIf(Shown):
    """What a target would have earned per decision, by several estimators, and whether the log can say."""

    table: pl.DataFrame  # estimator, value, se, low, high; empty where the log cannot say
    logged: float  # mean outcome of the log itself
    decisions: int
    left_out: int
    effective: float
    largest_weights: list[float]
    average_weight: float
    unsupported: float
    unknown: float  # share of the target in levels that the log never shows
    without_chance: int
    target: str
    uniform: bool
    level: float

    @property
    def answered(self) -> bool:
        """Whether there is enough in the log to say anything."""
        return self.effective >= LEAST

    def _sentence(self) -> str:
        weights = ", ".join(f"{weight:.3g}" for weight in self.largest_weights)
        rest = f"; {amount(self.left_out, 'row')} left out (no outcome that counts, or no probability)"
        rest = rest if self.left_out else ""
        said = [
            f"Target: {self.target}.",
            f"The log: {amount(self.decisions, 'decision')}, {self.logged:.4g} per decision{rest}.",
            f"Worth {self.effective:,.0f} decisions of the target's own; largest weights {weights}.",
        ]
        if self.uniform:
            said.append("The log has no probabilities: it is taken for uniform over the combinations in it.")
        if self.without_chance:
            said.append(
                f"{amount(self.without_chance, 'decision')} without a probability have weight 0. That is right if the "
                "policy says one only where it explores; if not, weights average too little, and that is said."
            )
        if self.unsupported > 0.0:
            known = "only the model says something of it (dm, and with it dr, switch-dr and shrunk-dr)"
            if self.unknown > 0.0:
                known = f"{self.unknown:.0%} are levels that it never shows, of which the model knows nothing either, "
                known += "so dm, dr, switch-dr and shrunk-dr have no value"
            said.append(
                f"{self.unsupported:.0%} of what the target shows is not in the log at all: {known}. ips takes it for "
                "never clicked; snips and replay take the rest for the whole."
            )
        if self.answered and self.average_weight < 0.9 * (1.0 - self.unsupported):
            said.append(
                f"Weights average {self.average_weight:.2f}, not {1.0 - self.unsupported:.2g}: in part of the log the "
                "target had no chance to be shown, or hardly any. ips and dr are off by what that part would have "
                "earned; snips takes the rest for the whole."
            )
        if not self.answered:
            said.append(
                f"No answer: below {LEAST:.0f} effective decisions an estimate is chance. Log more decisions, or ask "
                "for a target closer to what was shown."
            )
        else:
            said.append(
                f"{self.level:.0%} intervals hold for a target that was fixed beforehand, if the probabilities are "
                "those of the decisions and do not go to 0 (where a policy that learns has stopped showing what is "
                "asked for, they are too narrow). dm is a product of the factors, as good as that is; switch-dr and "
                "shrunk-dr give up an unknown bias for less spread: these three have no interval."
            )
        return "\n".join(said)

    def _tables(self) -> dict[str, Any]:
        return {"estimates": self.table} if self.answered else {}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "table"}
        return values | {"answered": self.answered, "estimates": self.table.to_dicts()}


def evaluate(
    log: Any,
    target: Any,
    *,
    factors: Sequence[str] | str = (),
    clicked: str | None = None,
    chance: str | None = None,
    uniform: bool = False,
    level: float = 0.95,
    seed: int = 0,
) -> WhatIf:
    """Estimate what a target would have earned per decision, from logged decisions with their probabilities.

    Args:
        log: a row per decision: a file (what `rankone export` wrote, the Open Bandit Dataset's CSV, any table) or any
            dataframe, with a column for each factor, one of the outcome and one of the probability of the decision.
            Of an export (it has a column ``learned``) only outcomes that count are taken; decisions whose policy says
            no probability are kept with weight 0.
        target: a combination, ``{"row_name": "A", "col_name": "1"}`` or ``"row_name=A,col_name=1"`` (factors that are
            not named, but are in `factors`, are chosen as in the log), or a table with the factors and ``probability``.
        factors: columns of all factors that the probability is of; by default those of the target.
        clicked: column of the outcome, 0 to 1; by default ``clicked``, ``click`` or ``reward``.
        chance: column of the probability; by default ``chance``, ``propensity_score`` and the like.
        uniform: the log has no probabilities, and every combination in it was equally likely.
        level: of the intervals.
        seed: of the folds and of replay.

    >>> log = pl.DataFrame({"headline": ["A", "B"] * 200, "clicked": [1, 0, 0, 0] * 100, "chance": 0.5})
    >>> found = evaluate(log, {"headline": "A"})
    >>> found.effective, found.table.filter(estimator="snips")["value"].round(3).to_list()
    (200.0, [0.5])
    """
    checked_level(level)
    table = read_table(log) if isinstance(log, str | os.PathLike) else to_polars(known_frame(log))
    wanted = _target(target)
    names = [factors] if isinstance(factors, str) else list(factors)
    names = names or [name for name in wanted.columns if name != "probability"]
    outcome = clicked or _found(table, OUTCOMES, "the outcome", "clicked")
    probability = None if uniform else (chance or _found(table, CHANCES, "the probability of a decision", "chance"))
    for name in [*names, outcome, *([probability] if probability else [])]:
        if name not in table.columns:
            raise InputError(f"a column '{name}'", f"the columns {', '.join(table.columns)}", "name another one")
    numbers = [_number(outcome).alias("reward")]
    numbers += [_number(probability).alias("chance")] if probability else []
    rows = table.select(*(pl.col(name).cast(pl.String) for name in names), *numbers)
    exported = "learned" in table.columns  # what `rankone export` wrote: outcomes that do not count are in it, too
    if exported:
        rows = rows.filter(table.select(_number("learned").eq(1.0).fill_null(value=False)).to_series())
    rows_used = rows.drop_nulls([*names, "reward"] if exported else None)
    without_chance = rows_used["chance"].null_count() if probability else 0
    if exported and 0 < without_chance == rows_used.height:
        raise InputError(
            "decisions with a probability", "none in this export: its policy says none, or it has too many levels",
            "run the experiment with a policy that says them, such as thompson",
        )  # fmt: skip
    if rows_used.is_empty():
        raise InputError("decisions with outcome and probability", "none", "check the columns, or say uniform")
    if not rows_used["reward"].is_between(0.0, 1.0).all():
        worst = rows_used["reward"].to_numpy()
        got = f"{worst.min():g} to {worst.max():g}"
        raise InputError("outcomes from 0 to 1", got, "divide by the largest that is possible")
    if not probability:
        combinations = rows_used.select(pl.struct(names).n_unique()).item()
        rows_used = rows_used.with_columns(chance=pl.lit(1.0 / combinations))
    if not (rows_used["chance"].is_between(0.0, 1.0) & (rows_used["chance"] > 0.0)).all():
        worst = rows_used["chance"].drop_nulls().to_numpy()
        raise InputError("probabilities above 0 and up to 1", f"{worst.min():g} to {worst.max():g}", "check the column")
    logged, unsupported = _logged(rows_used, wanted, names)
    weight = logged.weight
    _check_average(weight, 1.0 - unsupported, names)
    squares = float((weight * weight).sum())
    effective = float(weight.sum()) ** 2 / squares if squares > 0.0 else 0.0
    z = NormalDist().inv_cdf(0.5 + level / 2.0)
    found = estimates(logged, seed) if effective >= LEAST else []
    answer = (
        pl.DataFrame(
            [
                (each.estimator, each.value, each.se, each.value - z * each.se, each.value + z * each.se)
                for each in found
            ],
            schema={
                "estimator": pl.String,
                "value": pl.Float64,
                "se": pl.Float64,
                "low": pl.Float64,
                "high": pl.Float64,
            },
            orient="row",
        )
        .with_columns(pl.col("low").clip(0.0, 1.0), pl.col("high").clip(0.0, 1.0))
        .fill_nan(None)
    )
    return WhatIf(
        table=answer, logged=float(logged.reward.mean()), decisions=len(weight), left_out=table.height - len(weight),
        effective=effective, largest_weights=np.sort(weight)[::-1][:3].tolist(), unsupported=unsupported,
        average_weight=float(weight.mean()), unknown=logged.unknown, without_chance=without_chance,
        target=_told(target, wanted), uniform=probability is None, level=level,
    )  # fmt: skip


def _check_average(weight: Floats, expected: float, names: Sequence[str]) -> None:
    """Refuse weights that average to more than what the log supports: then the probabilities are of other decisions."""
    average, error = float(weight.mean()), float(weight.std() / np.sqrt(len(weight)))
    if average - expected > max(6.0 * error, 0.2):
        raise InputError(
            f"weights of {expected:.2g} on average, as probabilities of {' and '.join(names)} together would give",
            f"{average:.3g}", "name every factor that the probability is of, in factors, and check that column",
        )  # fmt: skip


def _target(target: Any) -> pl.DataFrame:
    """Return the target as a table of combinations with their probabilities."""
    if isinstance(target, str):
        parts = [part.partition("=") for part in target.split(",")]
        if not all(equals for _, equals, _ in parts):
            raise InputError("a target written factor=level,factor=level", target, "try headline=A,image=1")
        target = {name.strip(): level.strip() for name, _, level in parts}
    if isinstance(target, Mapping):
        if not target:
            raise InputError("a target", "nothing", "name a level: headline=A")
        return pl.DataFrame({**{name: [str(level)] for name, level in target.items()}, "probability": [1.0]})
    table = to_polars(known_frame(target))
    if "probability" not in table.columns:
        raise InputError("a column 'probability' in the target", f"the columns {', '.join(table.columns)}", "add it")
    total = float(table["probability"].sum())
    if abs(total - 1.0) > 1e-6 or (table["probability"] < 0.0).any():
        raise InputError("probabilities of the target that add up to 1", f"{total:g}", "divide them by their sum")
    return table.with_columns(pl.exclude("probability").cast(pl.String))


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
    never = target.filter(pl.any_horizontal(~pl.col(name).is_in(rows[name].unique().implode()) for name in keys))
    log = Logged(
        action, rows["reward"].to_numpy(), weight, q, places, tuple(len(each) for each in levels.values()),
        unknown=float(never["probability"].sum()),
    )  # fmt: skip
    return log, max(0.0, round(1.0 - float(q[seen > 0].sum()), 9))


def _whole(target: pl.DataFrame, rows: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Combinations of the target that name every factor; others exist only as far as the log has them."""
    if all(name in target.columns for name in names):
        return target.select(names)
    return rows.select(names).head(0)


def _told(target: Any, wanted: pl.DataFrame) -> str:
    if wanted.height > 1:
        return f"{wanted.height:,} combinations with their probabilities"
    return ", ".join(f"{name} {wanted[name][0]}" for name in wanted.columns if name != "probability")


def _found(table: pl.DataFrame, known: Sequence[str], what: str, argument: str) -> str:
    for name in known:
        if name in table.columns:
            return name
    more = ", or say uniform" if argument == "chance" else ""
    raise InputError(f"a column of {what}", f"the columns {', '.join(table.columns)}", f"name it with {argument}{more}")


def _number(name: str) -> pl.Expr:
    """A column as numbers; true and false are 1 and 0, and what is no number is missing."""
    text = pl.col(name).cast(pl.String).str.to_lowercase()
    return text.replace({"true": "1", "false": "0"}).cast(pl.Float64, strict=False).fill_nan(None)
