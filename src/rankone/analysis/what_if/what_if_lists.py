"""What would have happened with other lists: the value of a list, or of lists with probabilities, from logged lists."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import polars as pl

from rankone.analysis.what_if.list_off_policy import BASELINES, list_estimates
from rankone.analysis.what_if.logged_decisions import ESTIMATED, assumption, table_of
from rankone.analysis.what_if.logged_lists import Columns, read_list_target, read_lists
from rankone.analysis.what_if.off_policy import LEAST, Estimated, estimate_table
from rankone.clicks.models.fitting.uncertainty import checked_level
from rankone.specs import amount, one_of
from rankone.wording.numbers import percent

VALUES = {"clicks": "clicks a list", "any": "lists with a click"}
_ASSUMED = {"uniform": "its lists are taken for uniform over the items in it", "estimated": ESTIMATED}
_PARTS = {"sips": "lists", "rips": "beginnings of lists", "iips": "items at their positions"}
_WEIGHTS = {"snsips": "sips", "snrips": "rips", "sniips": "iips", "cascade-dr": "rips"}  # of which weights each is made


@dataclasses.dataclass(frozen=True, repr=False)
class WhatIfLists(Estimated):
    """What a target would have earned per list, by several estimators, and whether the log can say.

    The table also has the `largest` weight of each estimator, and the share of the target that is `unsupported`.
    """

    logged: float  # mean of the log itself
    lists: int
    left_out: int
    unsupported: dict[str, float]  # share of the target that the log never shows, by kind of weights
    target: str
    of: str  # "clicks" or "any"
    baseline: str
    assumed: str  # "uniform" or "estimated" where the log has no probabilities, else empty
    level: float

    def _sentence(self) -> str:
        rest = f"; {amount(self.left_out, 'list')} left out (gaps, nothing known, or too short)" * bool(self.left_out)
        parts = ", ".join(f"{percent(share, 2)} of its {_PARTS[kind]}" for kind, share in self.unsupported.items())
        said = {
            f"Target: {self.target}.": True,
            f"The log: {amount(self.lists, 'list')}, {self.logged:.4g} {VALUES[self.of]}{rest}.": True,
            f"The log has no probabilities: {_ASSUMED.get(self.assumed, '')}.": bool(self.assumed),
            f"Of the target, the log never shows {parts}: sips, rips and iips take that for never clicked, their "
            "self-normalised forms take the rest for the whole.": any(self.unsupported.values()),
            f"No answer: below {LEAST:.0f} effective lists an estimate is chance. Log more lists, or ask for a target "
            "closer to what was shown.": not self.answered,
            "sips is right in any world; rips and cascade-dr if a click does not depend on what stands below "
            "(cascades); iips only if it depends on its own item and position alone: where it differs from rips by "
            "more than the intervals allow, do not use it. dm is the model "
            f"'{self.baseline}', as good as that is.": self.answered,
            f"{percent(self.level)} intervals hold for a target that was fixed beforehand, if the probabilities are "
            "those of the lists and the log's policy stayed as it was. Empty: worth fewer than "
            f"{LEAST:.0f} lists, or items that the log never shows.": self.answered,
        }
        return "\n".join(sentence for sentence, is_said in said.items() if is_said)


def evaluate_lists(
    log: Any,
    target: Any,
    *,
    of: str = "clicks",
    list: str | None = None,
    position: str | None = None,
    item: str | None = None,
    clicked: str | None = None,
    chance: str | Mapping[str, str] | None = None,
    uniform: bool = False,
    estimated: bool = False,
    baseline: str = "cascade",
    level: float = 0.95,
    seed: int = 0,
) -> WhatIfLists:
    """Estimate what other lists would have earned per list, from logged lists with their probabilities.

    Args:
        log: a row per position of each list: a file or any dataframe, of one page or query. Lists longer than the
            target are cut to its length; others that are not whole are left out.
        target: the items of a list from the top, ``["A", "B"]``, or a table with the columns ``list``, ``position``,
            ``item`` and ``probability`` (of the list).
        of: ``"clicks"``, their mean number a list, or ``"any"``, the share of lists with at least one.
        list: column that names the list of a row; by default ``list``, ``list_id``, ``slate_id`` or ``session``.
        position: column of the position; by default ``position`` or ``rank``.
        item: column of the item; by default ``item``, ``item_id``, ``action`` or ``doc``.
        clicked: column of the outcome, 0 to 1; by default ``clicked``, ``click`` or ``reward``.
        chance: column of the probability of the item given those above it; or a mapping that says what columns of
            probabilities are of: ``above`` (that), ``beginning`` (the list down to here), ``position`` (the item at
            this position, whatever the others are; `iips` needs it) and ``list`` (the whole list). By default
            ``chance``, and the names of the Open Bandit Pipeline: ``pscore_cascade``, ``pscore_item_position`` and
            ``pscore``.
        uniform: the log has no probabilities, and every list of the items in it was equally likely.
        estimated: the log has no probabilities, and its policy neither changed nor looked at who was asking: they are
            the shares of lists, of their beginnings, and of items at positions.
        baseline: model that `cascade-dr` is corrected from, ``"cascade"`` or ``"product"``.
        level: of the intervals.
        seed: of the folds.

    >>> rows = [(n, k + 1, "AB"[(n + k) % 2], int(n % 4 == 0 and k == 0)) for n in range(400) for k in (0, 1)]
    >>> log = pl.DataFrame(rows, schema=["list", "position", "item", "clicked"], orient="row")
    >>> found = evaluate_lists(log, ["A", "B"], uniform=True)
    >>> found.table.filter(estimator="snrips")["value"].to_list()
    [0.5]
    """
    checked_level(level)
    one_of("of", of, VALUES)
    one_of("baseline", baseline, BASELINES)
    wanted, assumed = read_list_target(target), assumption(uniform, estimated)
    columns = Columns(list, position, item, clicked, chance)
    logged, left_out, unsupported = read_lists(table_of(log), wanted, columns, assumed, first_click=of == "any")
    earned, most = logged.reward.sum(axis=1), 1.0 if of == "any" else float(wanted.positions)
    answer = estimate_table(list_estimates(logged, baseline, seed), level, earned, most)  # 0 or 1 in a cascade
    weights = pl.col("estimator").replace(_WEIGHTS)
    largest = {kind: float(weight.max()) for kind, weight in logged.weights.items()}
    answer = answer.with_columns(
        largest=weights.replace_strict(largest, default=None, return_dtype=pl.Float64),
        unsupported=weights.replace_strict(unsupported, default=None, return_dtype=pl.Float64),
    )
    return WhatIfLists(
        table=answer if (answer["effective"] >= LEAST).any() else answer.clear(),
        logged=float(earned.mean()),
        lists=len(logged.items),
        left_out=left_out,
        unsupported=unsupported,
        target=wanted.text,
        of=of,
        baseline=baseline,
        assumed=assumed,
        level=level,
    )
