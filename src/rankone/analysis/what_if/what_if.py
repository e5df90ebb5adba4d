"""What would have happened: the value of another combination, or of another way to choose, from logged decisions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import polars as pl

from rankone.analysis.what_if import logged_decisions as reading
from rankone.analysis.what_if import visitor_model
from rankone.analysis.what_if.list_off_policy import list_estimates
from rankone.analysis.what_if.logged_lists import read_list_target, read_lists
from rankone.analysis.what_if.off_policy import LEAST, Estimated, effective_size, estimate_table, estimates, rates_moved
from rankone.analysis.what_if.replayed_policy import ReplayedPolicy, replay_policy
from rankone.errors import InputError
from rankone.policies.base import Policy
from rankone.specs import amount, number_in, one_of
from rankone.wording.numbers import percent

if TYPE_CHECKING:
    from rankone.charts.chart import Chart

_ASSUMED = {"uniform": "an equal split over all combinations in the log", "estimated": reading.ESTIMATED}
_HORIZON = 10_000
_LEARNED = "The log's policy learned, so the same combination had different probabilities."
_MOVED = (
    "Click rates seem to have moved while the log was made (more than chance does in nine logs of ten): read `snips`; "
    "`adaptive` and its interval are off."
)
VALUES = {"clicks": "clicks a list", "any": "lists with a click"}
_LISTS_ASSUMED = {"uniform": "lists drawn evenly from the items in the log", "estimated": reading.ESTIMATED}
_PARTS = {"sips": "lists", "rips": "beginnings of lists", "iips": "items at their positions"}
_WEIGHTS = {"snsips": "sips", "snrips": "rips", "sniips": "iips", "cascade-dr": "rips"}  # of which weights each is made
_NEED_SUPPORT = ("ips", "adaptive")  # where neither is worth enough there is no answer


@dataclasses.dataclass(frozen=True, repr=False)
class WhatIf(Estimated):
    """What a target would have earned per decision, by several estimators, and whether the log can say."""

    logged: float  # mean outcome of the log itself
    decisions: int
    left_out: int
    effective: float
    largest_weights: list[float]
    average_weight: float
    weight_error: float  # standard error of that average
    unsupported: float
    unknown: float  # share of the target in levels that the log never shows
    without_chance: int
    target: str
    assumed: str  # "uniform" or "estimated" where the log has no probabilities, else empty
    changing: bool  # whether the log's probabilities of the same combination differ
    moved: bool  # whether the log shows that click rates changed meanwhile
    misfit: str  # the combination that was shown more often than its probabilities explain, in words; empty: none
    level: float
    attributes: tuple[str, ...] = ()  # what is known of visitors, as far as the model of them looks at it
    rounded: bool = False  # whether outcomes are amounts of an experiment, each rounded at random to a click or none

    groups: int = 1  # of visitors who would be shown their own
    calibration: pl.DataFrame | None = None  # of the model of visitors: predicted and observed clicks

    @property
    def first(self) -> str:
        """The estimator to look at first: `adaptive` where the log's policy changed and click rates did not.

        Else `snips`: a mean whose weights change with time is not that of all decisions if rates change with it. Where
        visitors are known and the policy did not change, `logit-dr`.
        """
        if self.changing:
            return "snips" if self.moved or self.groups > 1 else "adaptive"
        return "logit-dr" if self.attributes and not self.unknown else "snips"

    @property
    def value(self) -> float | None:
        """The estimate to look at first; None: there is none."""
        values: list[float] = self.table.filter(estimator=self.first)["value"].to_list()
        return values[0] if values else None

    @property
    def headline(self) -> str:
        """The answer in at most 25 words."""
        return self._earned(self.first, self.target, "per decision", self.logged)

    @property
    def assumes(self) -> str:
        """What the answer rests on, in one line."""
        same = "; click rates that stayed the same" if self.first == "adaptive" else ""
        right = _ASSUMED.get(self.assumed, "correct logged probabilities")
        return f"Assumes: {right}; a target chosen before looking{same}."

    def _notes(self) -> list[str]:
        expected = 1.0 - self.unsupported
        short = expected - self.average_weight  # by more than a tenth, and by more than chance explains
        few = self.answered and short > max(0.1 * expected, 3.0 * self.weight_error)
        shown = percent(self.unsupported, 2)
        models = "dm, adaptive and those with dr in their name"
        unknown = f"{percent(self.unknown, 2)} are levels it never shows, so {models} have no value"
        guess = unknown if self.unknown > 0.0 else f"only {models} guess that part"
        said = {
            f"No answer: below {LEAST:.0f} effective decisions an estimate is chance. Log more decisions, or choose a "
            "target closer to what was shown.": not self.answered,
            f"`{self.first}` has no value: too little of the log covers all of its time.": (
                self.changing and self.answered and self.value is None
            ),
            _MOVED: self.changing and self.moved,
            f"{shown} of the target was never shown: {guess}.": self.unsupported > 0.0,
            f"The probabilities do not fit the log: {self.misfit}. Check them: all estimates need them.": bool(
                self.misfit
            ),
            f"Weights average {self.average_weight:.2f}, not {expected:.2g}: the logged probabilities are too high, or "
            "part of the log could not show the target. No interval allows for that.": few and not self.misfit,
            reading.ROUNDED: self.rounded,
        }
        off = "" if self.calibration is None else visitor_model.calibration_text(self.calibration)
        return [sentence for sentence, is_said in said.items() if is_said] + [off] * bool(off)

    def chart(self) -> Chart:
        """Return a picture of the model of visitors: clicks as predicted, and as observed."""
        from rankone.charts.calibration import calibration_chart

        if self.calibration is None:
            raise InputError("a model of visitors to draw", "a log without attributes", "name some (--attribute)")
        return calibration_chart(self.calibration, self.level)

    @property
    def details(self) -> str:
        """What the log holds, and what each estimator needs."""
        weights = ", ".join(f"{weight:.3g}" for weight in self.largest_weights)
        rest = f"; {amount(self.left_out, 'row')} left out (no outcome that counts, or no probability)"
        without = f"{amount(self.without_chance, 'decision')} without a probability have weight 0, which is right if "
        said = {
            f"Target: {self.target}. The log: {amount(self.decisions, 'decision')}{rest * bool(self.left_out)}.": True,
            f"The log is worth {self.effective:,.0f} decisions of the target; largest weights {weights}.": True,
            f"{_LEARNED} `{self.first}` is read first.": self.changing,
            "logit-dm and logit-dr: a logistic regression on the factors, on what is known of visitors "
            f"({', '.join(self.attributes)}) and on both together, fitted to other decisions.": bool(self.attributes),
            f"{without}the policy gives one only where it explores.": self.without_chance > 0,
            "Where the target was never shown, ips counts no clicks; snips and replay count the rest as the "
            "whole.": self.unsupported > 0.0,
            f"{percent(self.level)} intervals. Where a policy that learns shows the target ever more rarely, only "
            "`adaptive` has one that holds, as long as click rates stay the same. dm is the product of the factors; "
            "switch-dr, shrunk-dr, subgauss-dr and mips trade unknown bias for less spread: they and logit-dm have no "
            f"interval. Empty: worth fewer than {LEAST:.0f} decisions.": self.answered,
        }
        return "\n".join(sentence for sentence, is_said in said.items() if is_said)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        table = None if self.calibration is None else self.calibration.to_dicts()
        return super().to_dict() | {"first": self.first, "calibration": table}


@overload
def evaluate(log: Any, target: list[Any] | tuple[Any, ...], **settings: Any) -> WhatIfLists: ...
@overload
def evaluate(log: Any, target: Policy, **settings: Any) -> ReplayedPolicy: ...
@overload
def evaluate(log: Any, target: Any, **settings: Any) -> WhatIf: ...
def evaluate(  # type: ignore[misc]  # the settings are those below in either case
    log: Any,
    target: Any,
    *,
    factors: Sequence[str] | str = (),
    attributes: Sequence[str] | str = (),
    clicked: str | None = None,
    chance: str | None = None,
    time: str | None = None,
    uniform: bool = False,
    estimated: bool = False,
    horizon: int = _HORIZON,
    level: float = 0.95,
    tuning: str = "mse",
    seed: int = 0,
) -> WhatIf | WhatIfLists | ReplayedPolicy:
    """Estimate what a target would have earned per decision, from logged decisions with their probabilities.

    Args:
        log: an `Experiment`, or a row per decision: a file (what `rankone export` wrote, the Open Bandit Dataset's CSV,
            Vowpal Wabbit's dsjson, any table) or any dataframe, with a column for each factor, one of the outcome and
            one of the probability of the decision. Of an export (it has a column ``learned``) only outcomes that count
            are taken; decisions whose policy says no probability are kept with weight 0.
        target: a combination, ``{"headline": "A", "image": "1"}`` or ``"headline=A,image=1"`` (factors that are
            not named, but are in `factors`, are chosen as in the log), or a table with the factors and ``probability``.
            The items of a list from the top, ``["A", "B"]``, go to `evaluate_lists`, which has more to set. A `Policy`
            that learns (``rankone.UTS()``) is replayed from its first decision; that needs no probabilities. Groups of
            visitors may get their own: ``"headline=A if device=phone; headline=B if device=desktop"``.
        factors: columns of all factors that the probability is of; by default those of an export, else of the target.
        attributes: columns of what was known of visitors, for `logit-dm` and `logit-dr`; by default those of an export.
        clicked: column of the outcome, 0 to 1; by default ``clicked``, ``click`` or ``reward``.
        chance: column of the probability; by default ``chance``, ``propensity_score`` and the like.
        time: column by which decisions are ordered (`adaptive` needs that); by default the number of an export,
            ``asked_at`` or ``timestamp``, else they are in order as they stand.
        uniform: the log has no probabilities, and every combination in it was equally likely.
        estimated: the log has no probabilities, and its policy neither changed nor looked at who was asking: they are
            the shares of the combinations.
        horizon: decisions of a policy that is replayed, at most.
        level: of the intervals.
        tuning: how settings of estimators are chosen, by "mse" or "slope" (docs/what-would-have-happened.md).
        seed: of the folds and of replay.

    >>> log = pl.DataFrame({"headline": ["A", "B"] * 200, "clicked": [1, 0, 0, 0] * 100, "chance": 0.5})
    >>> found = evaluate(log, {"headline": "A"})
    >>> found.effective, found.table.filter(estimator="snips")["value"].round(3).to_list()
    (200.0, [0.5])
    """
    is_policy, is_list = isinstance(target, Policy), isinstance(target, list | tuple)
    if (is_list or is_policy) and attributes:
        raise InputError("attributes for a combination", "another target", "leave attributes out")
    if is_list and (factors or time is not None):
        got = "factors" if factors else "time"
        raise InputError("no factors and no time for a list", got, "leave it out: a list has items and positions")
    if horizon != _HORIZON and not is_policy:
        raise InputError("horizon only for a policy that is replayed", "another target", "leave horizon out")
    if is_list:
        return evaluate_lists(
            log, target, clicked=clicked, chance=chance, uniform=uniform, estimated=estimated, level=level, seed=seed
        )
    number_in("level", level, "(0, 1)", example=0.95)
    names = reading.factors_of(table := reading.table_of(log), factors)
    if is_policy:
        probabilities = {"chance": chance is not None, "uniform": uniform, "estimated": estimated}
        if given := [name for name, is_given in probabilities.items() if is_given]:
            do = "leave it out: a policy that is replayed needs none"
            raise InputError("a policy without a word on probabilities", given[0], do)
        if not names:
            got = f"the columns {', '.join(table.columns)}"
            raise InputError("the factors that the policy decides", got, "name their columns with factors (--factor)")
        rows = reading.usable_rows(table, names, clicked, None, time, "uniform")  # needs none
        return replay_policy(target, rows, names, level, seed, horizon)
    wanted, assumed = reading.read_target(target), reading.assumption(uniform, estimated)
    called = reading.attributes_of(table, attributes, wanted)
    wanted, known = wanted.rename(called, strict=False), list(dict.fromkeys(called.values()))
    names = names or [name for name in reading.factors_in(wanted) if name not in known]
    rows = reading.usable_rows(table, names, clicked, chance, time, assumed, known)
    logged = reading.read_decisions(rows.table, wanted, names, known)
    weight, every = logged.weight, estimates(logged, seed, tuning)
    used = visitor_model.usable(rows.table, known, logged.sizes, bool(attributes))
    visitors, table_of_clicks = visitor_model.visitors_of(rows.table, used), None
    if used:
        predicted = visitor_model.cross_fitted_visitors(logged, visitors, seed)
        every += visitor_model.visitor_estimates(logged, *predicted)
        table_of_clicks = visitor_model.calibration(predicted[0], logged.reward, level)
    answer = estimate_table(every, level, logged.reward)
    worth = answer.filter(pl.col("estimator").is_in(_NEED_SUPPORT))["effective"]
    return WhatIf(
        table=answer if (worth >= LEAST).any() else answer.clear(),
        logged=float(logged.reward.mean()),
        decisions=len(weight),
        left_out=table.height - len(weight),
        effective=effective_size(weight),
        largest_weights=np.sort(weight)[::-1][:3].tolist(),
        unsupported=logged.unsupported,
        average_weight=float(weight.mean()),
        weight_error=float(weight.std() / np.sqrt(len(weight))),
        unknown=logged.unknown,
        without_chance=rows.without_chance,
        target=reading.target_text(wanted, known),
        assumed=assumed,
        changing=reading.is_changing(rows.table, logged, visitors.kind),
        moved=rates_moved(logged.action, logged.reward, weight),
        misfit=reading.misfit(rows.table, logged, names),
        level=level,
        rounded=rows.rounded,
        attributes=tuple(used),
        groups=len(np.atleast_2d(logged.target)),
        calibration=table_of_clicks,
    )


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
    assumed: str  # "uniform" or "estimated" where the log has no probabilities, else empty
    level: float

    @property
    def headline(self) -> str:
        """The answer in at most 25 words."""
        able = self.table.filter(pl.col("value").is_not_null() & pl.col("low").is_not_null())["estimator"].to_list()
        first = next((name for name in ("snrips", "rips", "sips") if name in able), "snrips")
        return self._earned(first, self.target, f"{VALUES[self.of]} ({first})", self.logged)

    @property
    def assumes(self) -> str:
        """What the answer rests on, in one line."""
        right = _LISTS_ASSUMED.get(self.assumed, "correct logged probabilities")
        return f"Assumes: {right}; a policy that did not change; clicks that do not depend on what stands below."

    def _notes(self) -> list[str]:
        parts = ", ".join(f"{percent(share, 2)} of its {_PARTS[kind]}" for kind, share in self.unsupported.items())
        said = {
            f"No answer: below {LEAST:.0f} effective lists an estimate is chance. Log more lists, or choose a target "
            "closer to what was shown.": not self.answered,
            f"Never shown of the target: {parts}.": any(self.unsupported.values()),
        }
        return [sentence for sentence, is_said in said.items() if is_said]

    @property
    def details(self) -> str:
        """What the log holds, and what each estimator needs."""
        rest = f"; {amount(self.left_out, 'list')} left out (gaps, nothing known, or too short)" * bool(self.left_out)
        said = {
            f"Target: {self.target}. The log: {amount(self.lists, 'list')}{rest}.": True,
            "What was never shown counts as not clicked in sips, rips and iips; their self-normalised forms count the "
            "rest as the whole.": any(self.unsupported.values()),
            "sips holds in any world; rips and cascade-dr if a click does not depend on what stands below (cascades); "
            "iips only if it depends on its own item and position: do not use it where it differs from rips by more "
            "than the intervals allow. dm is a dependent click model.": self.answered,
            f"{percent(self.level)} intervals, for a target chosen before looking. Empty: worth fewer than "
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
        level: of the intervals.
        seed: of the folds.

    >>> rows = [(n, k + 1, "AB"[(n + k) % 2], int(n % 4 == 0 and k == 0)) for n in range(400) for k in (0, 1)]
    >>> log = pl.DataFrame(rows, schema=["list", "position", "item", "clicked"], orient="row")
    >>> found = evaluate_lists(log, ["A", "B"], uniform=True)
    >>> found.table.filter(estimator="snrips")["value"].to_list()
    [0.5]
    """
    number_in("level", level, "(0, 1)", example=0.95)
    one_of("of", of, VALUES)
    wanted, assumed = read_list_target(target), reading.assumption(uniform, estimated)
    columns = {"list": list, "position": position, "item": item, "clicked": clicked}
    logged, left_out, unsupported = read_lists(
        reading.table_of(log), wanted, columns, chance, assumed, first_click=of == "any"
    )
    earned, most = logged.reward.sum(axis=1), 1.0 if of == "any" else float(wanted.positions)
    answer = estimate_table(list_estimates(logged, seed), level, earned, most)  # 0 or 1 in a cascade
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
        assumed=assumed,
        level=level,
    )
