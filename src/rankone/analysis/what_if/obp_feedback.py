"""Logged decisions in the shape of the Open Bandit Pipeline's feedback dictionary (Saito et al. 2021)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from rankone.analysis.what_if import logged_decisions as reading
from rankone.errors import InputError
from rankone.specs import amount
from rankone.wording.numbers import percent


def to_obp(
    log: Any,
    *,
    factors: Sequence[str] | str = (),
    position: str | None = None,
    context: Sequence[str] | str = (),
    clicked: str | None = None,
    chance: str | None = None,
    time: str | None = None,
    uniform: bool = False,
    estimated: bool = False,
    target: Any = None,
) -> dict[str, Any]:
    """Return logged decisions as the dictionary that the Open Bandit Pipeline's estimators and learners take.

    An action is a combination of all factors, numbered as in ``action_names``; its features are the levels that it has.
    Decisions whose policy says no probability, or that have no position where one is asked for, are left out, as the
    Pipeline has no place for them. ``n_left_out`` says how many rows of the log are not among the rounds, for these
    reasons or because they have no outcome that counts.

    Args:
        log: as in `evaluate`: an `Experiment`, a file or any dataframe.
        factors: columns of all factors that the probability is of; by default those of an export.
        position: column of a position that was given and not chosen, as in the Open Bandit Dataset, whose probabilities
            are those of the item there; without one, all is position 0.
        context: columns of numbers that were known before the decision, none missing; without any, a single constant.
        clicked: as in `evaluate`; so are `chance`, `time`, `uniform` and `estimated`.
        target: as in `evaluate`; its probabilities are added as ``action_dist`` (decisions, actions, positions).

    >>> log = pl.DataFrame({"headline": ["A", "B", "A"], "clicked": [1, 0, 0], "chance": [0.5, 0.5, 0.75]})
    >>> feedback = to_obp(log, factors="headline", target={"headline": "A"})
    >>> feedback["action"].tolist(), feedback["pscore"].tolist(), feedback["n_actions"]
    ([0, 1, 0], [0.5, 0.5, 0.75], 2)
    >>> feedback["action_dist"][0, :, 0].tolist()
    [1.0, 0.0]
    """
    table = reading.table_of(log)
    names = reading.factors_of(table, factors)
    if not names:
        raise InputError("the factors of the log", f"the columns {', '.join(table.columns)}", "name them with factors")
    context, by_position = [context] if isinstance(context, str) else list(context), [position] if position else []
    rows = reading.usable_rows(
        table, names, clicked, chance, time, reading.assumption(uniform, estimated), [*by_position, *context]
    ).table
    if position and rows.schema[position].is_float():
        rows = rows.with_columns(pl.col(position).fill_nan(None))
    rows = rows.drop_nulls(["chance", *by_position])
    if rows.is_empty():
        raise InputError("decisions with a position and a probability", "none", "check the columns")
    combinations = rows.select(names).unique().sort(names).with_row_index("number")
    action = rows.join(combinations, on=names, how="left", maintain_order="left")["number"].to_numpy().astype(np.int64)
    positions = np.zeros(len(action), np.int64)
    if position:
        positions = rows[position].rank("dense").to_numpy().astype(np.int64) - 1
    feedback: dict[str, Any] = {
        "n_rounds": len(action),
        "n_left_out": table.height - len(action),
        "n_actions": combinations.height,
        "action": action,
        "position": positions,
        "reward": rows["reward"].to_numpy(),
        "pscore": rows["chance"].to_numpy(),
        "context": _known_before(rows, context),
        "action_context": np.concatenate([combinations[name].to_dummies().to_numpy() for name in names], axis=1),
        "action_names": combinations.select(names).rows(),
    }
    if target is not None:
        q = _target_probabilities(reading.read_target(target), combinations, names)
        # The same at every decision and position: one copy, seen from all of them.
        feedback["action_dist"] = np.broadcast_to(q[None, :, None], (len(action), len(q), int(positions.max()) + 1))
    return feedback


def _known_before(rows: pl.DataFrame, context: Sequence[str]) -> Any:
    """Columns of numbers, or a single constant; the Pipeline has no place for a number that is missing."""
    if not context:
        return np.ones((rows.height, 1))
    known = rows.select(reading.number_column(rows, name).alias(name) for name in context)
    for name in context:
        if missing := known[name].null_count():
            got = f"{amount(missing, 'decision')} without one in '{name}'"
            raise InputError("a number in every column of the context", got, "fill it in, or leave the column out")
    return known.to_numpy()


def _target_probabilities(wanted: pl.DataFrame, combinations: pl.DataFrame, names: list[str]) -> Any:
    """Probabilities of a target, one of each combination."""
    if sorted(reading.factors_in(wanted)) != sorted(names):
        expected = f"a target that names all of {', '.join(names)}"
        raise InputError(expected, ", ".join(reading.factors_in(wanted)), "name a level of each")
    q = combinations.join(wanted, on=names, how="left", maintain_order="left")["probability"].fill_null(0.0).to_numpy()
    if abs(q.sum() - 1.0) > 1e-6:
        got = f"{percent(1.0 - q.sum(), 2)} that it never does"
        raise InputError("a target that the log shows", got, "leave that out")
    return q
