"""How long will it take? Visitors and days until an experiment has a verdict, before it begins.

What is meant by `rate` and `lift`: the best pair is clicked with probability rate * (1 + lift). Pairs that differ from
it in one level, row or column, are clicked with probability `rate`; all others follow from the product, rate / (1 +
lift). So one level of each factor is better by the lift, and the others are alike: the hardest case for such a lift.

The answer is rehearsed (`rankone.simulation.rehearsal`). Evidence rests on clicks, so at low rates the clicks until the
verdict hardly depend on the rate; and with a small lift they are in proportion to T*
(`rankone.problems.characteristic_time`). So a rare click and a small lift are rehearsed as more frequent clicks and a
larger lift, and the result is brought back by the ratio of the two T*. The more levels there are, the larger the lift
that is rehearsed, so that an answer takes seconds: from 25 % up to 80 %. On 8 x 8 medians moved by up to 5 % when a
lift of 50 % was rehearsed, and by up to 14 % with 80 %.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankone.errors import InputError
from rankone.kernels.evidence import RATIOS
from rankone.kernels.steering import ERROR_RATE, GOALS
from rankone.notebook import Shown
from rankone.problems.characteristic_time import star_time
from rankone.problems.equal_split import equal_split_visitors
from rankone.problems.rank_one import RankOne
from rankone.simulation.rehearsal import Rehearsal, rehearse
from rankone.specs import is_number, whole_number

if TYPE_CHECKING:
    from rankone.charts.chart import Chart

CLASSIC = "equal split"
_REHEARSED_RATE = 0.2  # where rarer clicks are rehearsed
_REHEARSED_LIFT, _LARGEST_LIFT, _FEW_LEVELS = 0.25, 0.8, 9  # where smaller lifts are, with few levels and with many
_RUNS = {"earn": 10, "both": 20, "decide": 20}
_LONGEST = {"earn": 10.0, "both": 25.0, "decide": 15.0}  # times T* log(1 / error) until a rehearsal gives up
_MOST_LEVELS = 256
_YEAR = 365.0
# What is proposed instead of the impossible; visitors until a verdict, in times of the bound, where nobody had one.
_LIFTS = tuple(each / 100.0 for each in (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500))
_MARGINS = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2)
USUAL_TIMES = 5.0
_SEEN_LEAST = 0.25  # of the evidence; a lift that leaves less is not decided in practice


_TITLES = {
    "goal": "goal",
    "visitors_median": "visitors, half decided",
    "visitors_late": "visitors, nine of ten",
    "days_median": "days, half",
    "days_late": "days, nine of ten",
    "clicks_lost": "clicks lost",
}


class Span(NamedTuple):
    """One way to run the experiment: what it takes and what it costs."""

    way: str  # a goal, or "equal split"
    median: float | None  # visitors until the verdict; None: more than half of the rehearsals had none
    late: float | None  # until nine of ten have one
    lost: float | None  # clicks until the verdict, on average; None: not known, there were too few verdicts
    beyond: float  # visitors after which rehearsals gave up


@dataclasses.dataclass(frozen=True, repr=False)
class Plan(Shown):
    """What an experiment of this size would take, with each goal and as a classic test."""

    rows: int
    cols: int
    rate: float
    lift: float
    margin: float
    error: float
    visitors_a_day: float | None
    bound: float  # T* log(1 / error)
    spans: tuple[Span, ...]
    advice: tuple[str, ...]

    @property
    def meaning(self) -> str:
        """What rate and lift say about the pairs."""
        best, other = self.rate * (1.0 + self.lift), self.rate / (1.0 + self.lift)
        rest = f", all others {_percent(other)}" if min(self.rows, self.cols) > 1 else ""
        near = f"pairs one change away from it {_percent(self.rate)}"
        return f"{self.rows} x {self.cols} pairs: the best is clicked {_percent(best)} of the time, {near}{rest}."

    def _sentence(self) -> str:
        goal = self.main
        if goal.median is None:
            beyond = "ever" if math.isinf(goal.beyond) else f"within {count_text(goal.beyond)} visitors"
            took = f"With goal '{goal.way}' most such experiments reach no verdict {beyond}."
        else:
            close = f" that the winner is within {self.margin:.0%} of the best" if self.margin else ""
            late = "" if goal.late is None else f", nine of ten within {self._time(goal.late)}"
            took = f"With goal '{goal.way}' half of such experiments have a verdict{close} within "
            took += f"{self._time(goal.median)}{late}. The verdict is wrong with probability at most {self.error:g}, "
            took += "however the click rate of the whole site moves, if a pair's click rate is its row's times its "
            took += "column's."
        limit = f"Rules that compare neighbours need at least roughly {count_text(self.bound)} visitors on average."
        classic = (
            f"An equal split (two-proportion tests of the best pair against the other {self.rows * self.cols - 1}, "
        )
        classic += "Bonferroni) may be looked at only once, when all visitors planned have come."
        return "\n".join([self.meaning, took, *([] if self.margin else [limit]), classic, *self.advice])

    @property
    def main(self) -> Span:
        """The goal that people use: "both", or the only one that was asked for."""
        return next((span for span in self.spans if span.way == "both"), self.spans[0])

    def _time(self, visitors: float) -> str:
        days = "" if self.visitors_a_day is None else f" ({days_text(visitors / self.visitors_a_day)})"
        return f"{count_text(visitors)} visitors{days}"

    def _tables(self) -> dict[str, Any]:
        table: dict[str, list[Any]] = {"goal": [span.way for span in self.spans]}
        for name in ("median", "late"):
            table[f"visitors_{name}"] = [getattr(span, name) for span in self.spans]
        if self.visitors_a_day is not None:
            for name in ("median", "late"):
                visitors = table[f"visitors_{name}"]
                table[f"days_{name}"] = [None if each is None else each / self.visitors_a_day for each in visitors]
        return {"spans": table | {"clicks_lost": [span.lost for span in self.spans]}}

    def _shown(self) -> Any:
        return {
            _TITLES[name]: [_cell(name, value, span) for value, span in zip(column, self.spans, strict=True)]
            for name, column in self._tables()["spans"].items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        spans = [
            span._asdict() | {"beyond": span.beyond if math.isfinite(span.beyond) else None} for span in self.spans
        ]
        words = {"meaning": self.meaning, "sentence": self._sentence()}
        return found | {"spans": spans, "advice": list(self.advice)} | words

    def chart(self) -> Chart:
        """Return a picture of visitors until the verdict and of the clicks lost, one line each way."""
        from rankone.charts.plan import plan_chart

        return plan_chart([span._asdict() for span in self.spans], self.bound, self.visitors_a_day, self.meaning)


def plan(
    rows: int,
    cols: int,
    rate: float,
    lift: float,
    *,
    visitors_a_day: float | None = None,
    goal: str | None = None,
    margin: float = 0.0,
    error: float = ERROR_RATE,
    seed: int = 0,
) -> Plan:
    """Say how many visitors an experiment needs until it has a verdict, and what it loses meanwhile.

    Args:
        rows: how many there are to try.
        cols: how many there are to try.
        rate: click rate of a pair that differs from the best one in one level.
        lift: how much more often than that the best pair is clicked: 0.1 is 10 % more.
        visitors_a_day: to have days too.
        goal: "earn", "both" or "decide"; None: all of them.
        margin: a verdict is enough that proves the winner within this part of the best, such as 0.05.
        error: the probability with which the verdict may be wrong.
        seed: of the rehearsals.

    >>> found = plan(rows=2, cols=2, rate=0.2, lift=0.5, visitors_a_day=1000, goal="decide")
    >>> print(found.meaning)
    2 x 2 pairs: the best is clicked 30% of the time, pairs one change away from it 20%, all others 13.3%.
    >>> 500 < found.spans[0].median < 2_000
    True
    """
    check_plan(rows, cols, rate, lift, visitors_a_day, goal, margin, error)
    problem, bound = _problem(rows, cols, rate, lift), _time_until(rows, cols, rate, lift, margin, error)
    spans = [_span(name, rows, cols, rate, lift, margin, error, seed) for name in ([goal] if goal else GOALS)]
    late, median = (equal_split_visitors(problem, power, error) for power in (0.9, 0.5))
    spans.append(Span(CLASSIC, median, late, median * problem.loss_at_random(), late))
    found = Plan(rows, cols, rate, lift, margin, error, visitors_a_day, bound, tuple(spans), ())
    return dataclasses.replace(found, advice=_advice(found))


def _problem(rows: int, cols: int, rate: float, lift: float) -> RankOne:
    side = math.sqrt(rate * (1.0 + lift))
    lines = [[side] + [side / (1.0 + lift)] * (size - 1) for size in (rows, cols)]
    return RankOne(*lines)


def _time_until(rows: int, cols: int, rate: float, lift: float, margin: float, error: float) -> float:
    """Return T* log(1 / error) of telling the best pair from its neighbours, or that it is not that much worse."""
    told = rate / math.sqrt(1.0 + margin)
    return star_time(rate * (1.0 + lift), [told] * (rows + cols - 2)) * math.log(1.0 / error)


def _seen(lift: float, margin: float) -> float:
    """Return which part of the evidence is left, since only some ratios are looked for: 1 if the lift is one of them.

    Where the logarithm of the ratio is x times the true one, the part 2 x - x^2 is left.
    """
    spared = 0.5 * math.log1p(margin)
    looked_for = [math.log(ratio) for ratio in RATIOS] + [0.0, spared] * (margin > 0.0)
    times = [(each + spared) / (math.log1p(lift) + spared) for each in looked_for]
    return max(0.0, *(2.0 * each - each * each for each in times))


def _span(goal: str, rows: int, cols: int, rate: float, lift: float, margin: float, error: float, seed: int) -> Span:
    """Rehearse one goal, where clicks are frequent and the lift is large enough, and bring the result back."""
    longer = max(1.0, math.log1p(_rehearsed_lift(goal, rows + cols)) / (math.log1p(lift) + 0.5 * math.log1p(margin)))
    large, wide = (1.0 + lift) ** longer - 1.0, (1.0 + margin) ** longer - 1.0
    frequent = max(rate * (1.0 + lift), _REHEARSED_RATE) / (1.0 + large)
    there = _time_until(rows, cols, frequent, large, wide, error)
    seen = _seen(lift, margin)
    if seen <= _SEEN_LEAST:
        return Span(goal, None, None, None, math.inf)
    scale = _time_until(rows, cols, rate, lift, margin, error) / there * _seen(large, wide) / seen
    visitors = max(2_000, round(_LONGEST[goal] * there))
    problem = _problem(rows, cols, frequent, large)
    found: list[Rehearsal] = []
    for run in range(_RUNS[goal]):
        more = rehearse(
            problem, goal=goal, margin=wide, error=error, visitors=visitors, after="stop", runs=1, seed=seed + run
        )
        found += more
        if sum(each.verdict is None for each in found) > _RUNS[goal] / 2:  # then most have none, whatever follows
            return Span(goal, None, None, None, visitors * scale)
    verdicts = sorted(math.inf if each.verdict is None else each.verdict * scale for each in found)
    median, late = (verdicts[math.ceil(share * len(verdicts)) - 1] for share in (0.5, 0.9))
    gap = rate * lift / (frequent * large)  # of a visitor who sees another pair, here and where it was rehearsed
    lost = float(np.mean([each.lost for each in found])) * scale * gap
    known = [each if math.isfinite(each) else None for each in (median, late, lost + late)]
    return Span(goal, known[0], known[1], known[2] and lost, visitors * scale)


def _rehearsed_lift(goal: str, levels: int) -> float:
    """Return the lift below which a larger one is rehearsed; to earn takes longest, and is rarely decided at all."""
    longer = max(1.0, levels / _FEW_LEVELS) * (2.0 if goal == "earn" else 1.0)
    return min((1.0 + _REHEARSED_LIFT) ** longer - 1.0, _LARGEST_LIFT)


def _advice(found: Plan) -> tuple[str, ...]:
    """Say what would be possible where a verdict takes more than a year."""
    if found.visitors_a_day is None:
        return ()
    goal, year = found.main, _YEAR * found.visitors_a_day
    if goal.median is not None and goal.median <= year:
        return ()
    times = USUAL_TIMES if goal.median is None else goal.median / found.bound

    def possible(rows: int, cols: int, lift: float, margin: float) -> bool:
        seen = _seen(lift, margin)
        if seen <= _SEEN_LEAST or found.rate * (1.0 + lift) > 1.0:
            return False
        return times * _time_until(rows, cols, found.rate, lift, margin, found.error) / seen <= year

    said, size = [], (found.rows, found.cols)
    for lift in _LIFTS:
        if lift > found.lift and possible(*size, lift, found.margin):
            said.append(f"a lift of {lift:.0%}")
            break
    for margin in _MARGINS:
        if margin > found.margin and possible(*size, found.lift, margin):
            said.append(f"with margin={margin:g}, a winner that is at most {margin:.0%} worse than the best")
            break
    if sum(size) > 4 and possible(2, 2, found.lift, found.margin):
        said.append("this lift among 2 x 2 pairs")
    took = "A verdict would never come" if math.isinf(goal.beyond) else "A verdict would take many years"
    if goal.median is not None:
        took = f"A verdict would take {days_text(goal.median / found.visitors_a_day)}"
    unseen = not found.margin and found.lift < RATIOS[0] - 1.0
    why = f": without a margin, differences below {RATIOS[0] - 1.0:.0%} are hardly looked for" if unseen else ""
    shown = f"A year with {count_text(year)} visitors would show: {'; or '.join(said)}."
    nothing = "A year brings too few visitors for any verdict: use the goal 'earn', which needs none."
    return (f"{took}{why}. {shown if said else nothing}",)


def check_plan(
    rows: Any, cols: Any, rate: Any, lift: Any, visitors_a_day: Any, goal: Any, margin: Any, error: Any
) -> None:
    """Raise what is wrong with the wishes of a plan."""
    if whole_number("rows", rows) * whole_number("cols", cols) < 2:
        raise InputError("at least two pairs", "1 x 1", "there is nothing to find out about one")
    if rows + cols > _MOST_LEVELS:
        raise InputError(f"at most {_MOST_LEVELS} rows and columns together", rows + cols, "leave out some")
    for what, value, low, high, example in (
        ("rate", rate, 0.0, 1.0, 0.03), ("lift", lift, 0.0, math.inf, 0.1), ("error", error, 0.0, 0.5, 0.05),
    ):  # fmt: skip
        if not is_number(value) or not low < value <= high or not math.isfinite(value):
            most = f" and at most {high:g}" if math.isfinite(high) else ""
            raise InputError(f"{what} above {low:g}{most}", value, f"try {what}={example:g}")
    if rate * (1.0 + lift) > 1.0:
        got = f"{rate:g} * (1 + {lift:g}) = {rate * (1.0 + lift):g}"
        raise InputError("rate * (1 + lift), the best pair's click rate, of at most 1", got, "ask for a smaller lift")
    if visitors_a_day is not None and (not is_number(visitors_a_day) or not 0.0 < visitors_a_day < math.inf):
        raise InputError("visitors_a_day above 0", visitors_a_day, "try visitors_a_day=5000")
    if goal is not None and goal not in GOALS:
        raise InputError(f"a goal: {', '.join(GOALS)}", goal, "leave it out for all of them")
    if not is_number(margin) or not 0.0 <= margin <= 1.0:
        raise InputError("margin from 0 to 1", margin, "try margin=0.05")


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g}%"


def _cell(name: str, value: Any, span: Span) -> str | None:
    if value is None and name != "clicks_lost":
        return "never" if math.isinf(span.beyond) else "longer"
    return value if value is None or isinstance(value, str) else count_text(value)


def count_text(value: float) -> str:
    """Write a number of visitors, clicks or days with as many figures as it deserves.

    >>> count_text(1234567.0), count_text(8.23), count_text(432.0)
    ('1,230,000', '8.2', '430')
    """
    if value < 9.95:
        return f"{value:.1f}"
    digits = 10 ** max(0, math.floor(math.log10(value)) - (2 if value >= 1000 else 1))
    return f"{round(value / digits) * digits:,}"


def days_text(days: float) -> str:
    """Write a stretch of days.

    >>> days_text(0.2), days_text(31.4), days_text(236.0), days_text(4000.0)
    ('less than a day', '31 days', '240 days', '11 years')
    """
    if days < 1.5:
        return "about a day" if days > 0.5 else "less than a day"
    if days < 2.0 * _YEAR:
        return f"{count_text(days)} days"
    return f"{count_text(days / _YEAR)} years"
