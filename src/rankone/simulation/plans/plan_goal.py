"""How long will it take? Visitors until revenue has a winner, or until a guardrail is cleared, before it begins.

Orders are played through the evidence that runs live (`rankone.evidence.amounts`), for an even split that is looked at
after each order: the aims "both" and "decide" are usually sooner. What is meant by `rate` and `lift` is as in
`rankone.plan`, but with orders in the place of clicks; amounts are log-normal. A guardrail is planned for a level that
changes nothing; each factor has its part of `worse_by`, so of several factors the plan is a little too long.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankone.evidence.amounts import error_shares, evidence_of_sums
from rankone.evidence.steering import ERROR_RATE
from rankone.notebook import Answer
from rankone.numerics.arrays import Floats
from rankone.numerics.seeds import generator
from rankone.simulation.plans.plan_inputs import check_plan, combinations_text
from rankone.specs import number_in, whole_number
from rankone.wording.numbers import count_text, days_text, percent, rounded

_RUNS = 200
_FIRST, _MOST = 4_000, 4_000_000  # orders that are played, at first and at most
_USUAL_CAP = 10.0  # times the average order


@dataclasses.dataclass(frozen=True, repr=False)
class GoalPlan(Answer):
    """What a goal takes: visitors until half, and nine of ten, of such experiments can say it."""

    says: str  # "for a winner on revenue", "to clear the guardrail"
    meaning: str
    median: float | None
    late: float | None
    visitors_a_day: float | None
    error: float

    @property
    def headline(self) -> str:
        """The answer in at most 25 words."""
        if self.median is None:
            return f"Most experiments like this need too many visitors {self.says}."
        late = "" if self.late is None else f"; nine in ten finish by {self._time(self.late)}"
        return f"About {self._time(self.median)} {self.says}{late}."

    @property
    def assumes(self) -> str:
        """What the answer rests on, in one line."""
        return f"Assumes: {self.meaning}; an equal split; effects that multiply."

    @property
    def details(self) -> str:
        """How sure the statement is."""
        return f"At most {percent(self.error)} of such statements are wrong, however often you look."

    def _time(self, visitors: float) -> str:
        days = "" if self.visitors_a_day is None else f" ({days_text(visitors / self.visitors_a_day)})"
        return f"{count_text(visitors)} visitors{days}"

    def _tables(self) -> dict[str, Any]:
        return {"spans": {"visitors_median": [self.median], "visitors_late": [self.late]}}

    def _shown(self) -> Any:
        each = (("visitors, half decided", self.median), ("visitors, nine of ten", self.late))
        return {title: ["longer" if value is None else count_text(value)] for title, value in each}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return self.depths() | values | {"sentence": self._sentence()}


def plan_goal(
    rows: int | None = None,
    cols: int | None = None,
    rate: float | None = None,
    lift: float = 0.0,
    *,
    factors: Mapping[str, int | Sequence[str]] | None = None,
    average: float | None = None,
    spread: float = 1.0,
    cap: float | None = None,
    worse_by: float | None = None,
    goals: int | None = None,
    visitors_a_day: float | None = None,
    error: float = ERROR_RATE,
    seed: int = 0,
) -> GoalPlan:
    """Say how many visitors revenue needs for a winner or, with `worse_by`, a guardrail until it is cleared.

    Args:
        rows: how many there are to try.
        cols: how many there are to try.
        rate: share of visitors who order, of a combination that differs from the best one in one level. Needed.
        lift: how much more the best one brings: 0.1 is 10% more. Needed for a winner.
        factors: instead of rows and columns, how many levels each factor has (or their names).
        average: of an order; left out: a yes-no goal, such as refunds.
        spread: standard deviation of orders, as part of their average.
        cap: the most that a visitor counts for; by default ten times the average.
        worse_by: of a guardrail.
        goals: how many the experiment has: they share the error. By default one, or two with a guardrail.
        visitors_a_day: to have days too.
        error: the probability with which the experiment may be wrong.
        seed: of the simulation.

    >>> plan_goal(factors={"price": 2}, rate=0.02, lift=0.3, average=50.0, visitors_a_day=5000).says
    'for a winner on revenue'
    """
    guards = worse_by is not None
    levels = check_plan(rate, lift or 1e-6, visitors_a_day, None, 0.0, error, rows, cols, factors)
    assert rate is not None
    number_in("spread", spread, "[0, 20]", example=1.0)
    whole_number("goals", goals or 1, least=1)
    if worse_by is not None:
        number_in("worse_by", worse_by, "(0, 1)", example=0.1)
    else:
        number_in("lift", lift, "[0.01, 1e+09]", example=0.1)
    spread = spread if average is not None else 0.0  # yes or no
    average = number_in("average", average or 1.0, "(0, 1e9]", example=50.0)
    cap = number_in("cap", cap or (_USUAL_CAP * average if spread else average), "(0, 1e9]", example=500.0)
    sizes = [size for size in levels.values() if size > 1]
    shares = error_shares(error, max(goals or 1, 1 + guards))
    if guards:
        bar, held = math.log(2.0 * sum(size - 1 for size in sizes) / shares[1]), 1.0 / (1.0 + (worse_by or 0.0))
        ratio, better = held ** (1.0 / len(sizes)), 1.0
    else:
        bar, ratio, better = math.log(max(2, sum(size - 1 for size in sizes)) / shares[0]), 1.0, 1.0 + lift
    rng, best = generator(seed, "plan of a goal"), rate * better
    runs = [_until(rng, sizes, best, better, bar, ratio, _amounts(spread, average, cap)) for _ in range(_RUNS)]
    ends = [rounded(each) if math.isfinite(each) else None for each in np.quantile(runs, (0.5, 0.9), method="higher")]
    says = f"to clear a guardrail of {percent(worse_by or 0.0)}" if guards else "for a winner on revenue"
    more = "no difference" if guards else f"the best brings {percent(lift)} more than with one part changed"
    each = f", orders of {average:g} on average, capped at {cap:g}" if spread and cap != 1.0 else ""
    meaning = f"{combinations_text(levels)}; {percent(rate)} bring something{each}; {more}"
    return GoalPlan(says, meaning, ends[0], ends[1], visitors_a_day, error)


def _amounts(spread: float, average: float, cap: float) -> Any:
    """Return what draws orders, as parts of the cap."""
    width = math.sqrt(math.log1p(spread * spread))
    return lambda rng, n: np.minimum(average / cap * np.exp(width * rng.normal(size=n) - 0.5 * width * width), 1.0)


def _until(rng: Any, sizes: Sequence[int], best: float, better: float, bar: float, ratio: float, amounts: Any) -> float:
    """Return the visitors until the best level of each factor is proven to bring more than `ratio` times all others."""
    last = 0.0
    for own, size in enumerate(sizes):
        beside = math.prod((1.0 + (each - 1) / better) / each for at, each in enumerate(sizes) if at != own)
        per_visitor = best * beside * (1.0 + (size - 1) / better) / size
        first = better / (better + size - 1)  # of the orders
        count, orders = _FIRST, -1
        level, value = np.empty(0, np.int64), np.empty(0)
        while orders < 0 and count <= _MOST:
            more = count - len(level)
            drawn = np.where(rng.random(more) < first, 0, rng.integers(1, size, more))
            level, value = np.append(level, drawn), np.append(value, amounts(rng, more))
            proven = np.ones(count, bool)
            for other in range(1, size):
                won, lost = np.where(level == 0, value, 0.0), np.where(level == other, value, 0.0)
                proven &= np.maximum.accumulate(_logs(won / ratio, lost)) >= bar
            orders = int(np.argmax(proven)) if proven.any() else -1
            count *= 4
        last = max(last, (orders + 1) / per_visitor if orders >= 0 else math.inf)
    return last


def _logs(won: Floats, lost: Floats) -> Floats:
    """Return the log evidence after each order."""
    return evidence_of_sums(np.cumsum(won), np.cumsum(lost), np.cumsum(won**2), np.cumsum(lost**2))
