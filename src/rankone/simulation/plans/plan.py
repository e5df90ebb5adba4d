"""How long will it take? Visitors and days until an experiment has a verdict, before it begins.

What is meant by `rate` and `lift`: the best pair is clicked with probability rate * (1 + lift). Pairs that differ from
it in one level, row or column, are clicked with probability `rate`; all others follow from the product, rate / (1 +
lift), and with more factors every further change divides by 1 + lift once more. So one level of each factor is better
by the lift, and the others are alike: the hardest case for such a lift.

The answer is rehearsed (`rankone.simulation.plans.rehearsal`). At low rates the clicks until the verdict hardly depend
on the rate, and with a small lift they are in proportion to T* of rare clicks. So these are rehearsed as more frequent
clicks and a larger lift (the more levels, the larger), and the result is brought back by the ratio of the two, so that
an answer takes seconds. `python -m benchmarks plans` compares with experiments played in full.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankone.evidence.levels import RARE, RATIOS
from rankone.evidence.steering import AIMS, ERROR_RATE, margin_ratio_of_each
from rankone.notebook import Answer
from rankone.problems.product import Product
from rankone.problems.theory.equal_split import equal_split_visitors
from rankone.problems.theory.time_to_be_sure import least_decisions, star_time
from rankone.progress import Progress, as_progress
from rankone.simulation.plans.plan_inputs import check_plan, combinations_text
from rankone.simulation.plans.rehearsal import simulate_experiment
from rankone.wording.numbers import count_text, days_text, percent, rounded

if TYPE_CHECKING:
    from rankone.charts.chart import Chart

CLASSIC = "equal split"
_REHEARSED_RATE = 0.2  # where rarer clicks are rehearsed
_REHEARSED_LIFT, _LARGEST_LIFT, _FEW_LEVELS = 0.25, 0.8, 9  # where smaller lifts are, with few levels and with many
_RUNS, _LEAST_RUNS, _SOME_LEVELS = {"earn": 10, "both": 30, "decide": 40}, 10, 20
_LONGEST = {"earn": 10.0, "both": 25.0, "decide": 15.0}  # times T* log(1 / error) until a rehearsal gives up
_YEAR = 365.0
# What is proposed instead of the impossible; visitors until a verdict, in times of the bound, where nobody had one.
_LIFTS = tuple(each / 100.0 for each in (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500))
_MARGINS = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2)
_USUAL_TIMES = 5.0
_VERY_RARE = 1e-3  # a click rate at which those who do not click tell nothing
_SEEN_LEAST = 0.25  # of the evidence; a lift that leaves less is not decided in practice
_TITLES = {
    "aim": "aim",
    "visitors_median": "visitors, half decided",
    "visitors_late": "visitors, nine of ten",
    "days_median": "days, half",
    "days_late": "days, nine of ten",
    "clicks_lost": "clicks lost",
}


class Span(NamedTuple):
    """One way to run the experiment: what it takes and what it costs."""

    way: str  # a aim, or "equal split"
    median: float | None  # visitors until the verdict; None: more than half of the rehearsals had none
    late: float | None  # until nine of ten have one
    lost: float | None  # clicks until the verdict, on average; None: not known, there were too few verdicts
    beyond: float  # visitors after which rehearsals gave up; all figures are rounded to what the rehearsals can tell


@dataclasses.dataclass(frozen=True, repr=False)
class Plan(Answer):
    """What an experiment of this size would take, with each aim and as an equal split."""

    rate: float
    lift: float
    margin: float
    error: float
    visitors_a_day: float | None
    bound: float  # decisions that any rule makes at least, on average; 0: none is known (with a margin)
    spans: tuple[Span, ...]
    advice: tuple[str, ...]
    factors: dict[str, int]  # the number of levels of each; rows and columns are two factors

    @property
    def meaning(self) -> str:
        """What rate and lift say about the pairs."""
        best, compared = self.rate * (1.0 + self.lift), sum(size > 1 for size in self.factors.values())
        others = percent(best / (1.0 + self.lift) ** compared)
        rest = f", all others {others}" if compared == 2 else f", the worst {others}" if compared > 2 else ""
        near = f"the best clicked {percent(best)}, with one part changed {percent(self.rate)}"
        return f"{combinations_text(self.factors)}: {near}{rest}."

    @property
    def headline(self) -> str:
        """The answer in at most 25 words."""
        aim, close = self.main, f" within {percent(self.margin)} of the best" if self.margin else ""
        if aim.median is None:
            ever = "ever" if math.isinf(aim.beyond) else f"within {count_text(aim.beyond)} visitors"
            return f"Most experiments like this find no winner{close} {ever}."
        late = "" if aim.late is None else f"; nine in ten finish by {self._time(aim.late, '')}"
        return f"Aim '{aim.way}': about {self._time(aim.median)} for a winner{close}{late}."

    @property
    def assumes(self) -> str:
        """What the answer rests on, in one line."""
        return f"Assumes: {self.meaning[:-1]}; effects that multiply."

    def _notes(self) -> list[str]:
        return list(self.advice)

    @property
    def details(self) -> str:
        """How sure the verdict is, what no method can do without, and what an equal split means."""
        sure = (
            f"Visitors are for the aim '{self.main.way}', by which half of simulated experiments had a verdict. At "
            f"most {percent(self.error)} of verdicts are wrong, however often you look and however the click rate of "
            "the whole site moves, if effects multiply and outcomes are reported equally completely and promptly for "
            "every level."
        )
        least = [] if self.margin else [f"Theoretical minimum of any method: {count_text(self.bound)} visitors."]
        same = f" (margin {percent(self.margin)})" if self.margin else ""
        split = f"Equal split: judged once{same}, after all planned visitors, by two-proportion tests of each factor's "
        split += "best level against the others (Bonferroni). Looking earlier makes it wrong more often."
        return "\n".join([sure, *least, split])

    @property
    def main(self) -> Span:
        """The aim that people use: "both", or the only one that was asked for."""
        return next((span for span in self.spans if span.way == "both"), self.spans[0])

    def _time(self, visitors: float, unit: str = " visitors") -> str:
        days = "" if self.visitors_a_day is None else f" ({days_text(visitors / self.visitors_a_day)})"
        return f"{count_text(visitors)}{unit}{days}"

    def _tables(self) -> dict[str, Any]:
        table: dict[str, list[Any]] = {"aim": [span.way for span in self.spans]}
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
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        spans = [span._asdict() | {"beyond": None if math.isinf(span.beyond) else span.beyond} for span in self.spans]
        words = {"advice": list(self.advice), "meaning": self.meaning, "sentence": self._sentence()}
        return self.depths() | values | {"spans": spans} | words

    def chart(self) -> Chart:
        """Return a picture of visitors until the verdict and of the clicks lost, one line each way."""
        from rankone.charts.plan import plan_chart

        return plan_chart([span._asdict() for span in self.spans], self.bound, self.visitors_a_day, self.meaning)


def plan(
    rows: int | None = None,
    cols: int | None = None,
    rate: float | None = None,
    lift: float | None = None,
    *,
    factors: Mapping[str, int | Sequence[str]] | None = None,
    visitors_a_day: float | None = None,
    aim: str | None = None,
    margin: float = 0.0,
    error: float = ERROR_RATE,
    seed: int = 0,
    progress: Progress | bool | None = None,
) -> Plan:
    """Say how many visitors an experiment needs until it has a verdict, and what it loses meanwhile.

    Args:
        rows: how many there are to try.
        cols: how many there are to try.
        rate: click rate of a pair, or combination, that differs from the best one in one level. Needed.
        lift: how much more often than that the best one is clicked: 0.1 is 10% more. Needed.
        factors: instead of rows and columns any number of factors: how many levels each has (or their names), such as
            ``{"headline": 4, "image": 5, "button": 3}``.
        visitors_a_day: to have days too.
        aim: "earn", "both" or "decide"; None: all of them.
        margin: a verdict is enough that proves the winner within this part of the best, such as 0.05.
        error: the probability with which the verdict may be wrong.
        seed: of the rehearsals.
        progress: True for a bar, False for none, or a function of (rehearsals finished, all); unless told, a bar that
            appears after a second.

    >>> found = plan(rows=2, cols=2, rate=0.2, lift=0.5, visitors_a_day=1000, aim="decide")
    >>> print(found.meaning)
    2 x 2 pairs: the best clicked 30%, with one part changed 20%, all others 13.3%.
    >>> 500 < found.spans[0].median < 2_000
    True
    """
    levels = check_plan(rate, lift, visitors_a_day, aim, margin, error, rows, cols, factors)
    assert rate is not None
    assert lift is not None
    case = Case(tuple(levels.values()), rate, lift, margin)
    spans = rehearsed_spans(aim, case, seed, progress, lambda name: _trial(name, case, error))
    late, median = (equal_split_visitors(case.problem(), power, error, margin) for power in (0.9, 0.5))
    at_random = float(np.prod([1.0 - (size - 1) / size * lift / (1.0 + lift) for size in case.sizes]))
    lost = median * rate * (1.0 + lift) * (1.0 - at_random)
    spans.append(Span(CLASSIC, rounded(median), rounded(late), rounded(lost), rounded(late)))
    bound = 0.0 if margin else least_decisions(case.problem(), error)
    planned = Plan(rate, lift, margin, error, visitors_a_day, bound, tuple(spans), (), levels)
    return dataclasses.replace(planned, advice=_advice(planned, case))


class Case(NamedTuple):
    """What is planned, or what is rehearsed instead of it."""

    sizes: tuple[int, ...]
    rate: float
    lift: float
    margin: float

    @property
    def best(self) -> float:
        """The click rate of the best combination."""
        return self.rate * (1.0 + self.lift)

    def problem(self) -> Product:
        """Return the problem; each factor has its part of the best rate."""
        side = margin_ratio_of_each(self.best - 1.0, len(self.sizes))
        levels = [[side] + [side / (1.0 + self.lift)] * (size - 1) for size in self.sizes]
        return Product({f"factor {index}": values for index, values in enumerate(levels, 1)})

    def time_until(self, error: float) -> float:
        """Return T* log(1 / error) of telling the best pair from its neighbours, or that it is not that much worse."""
        neighbour = self.rate / margin_ratio_of_each(self.margin, len(self.sizes))
        return star_time(self.best, [neighbour] * (sum(self.sizes) - len(self.sizes))) * math.log(1.0 / error)

    def click_time(self, silence: bool = True) -> float:
        """Return what visitors until the verdict are in proportion to: T*, that of rare clicks where clicks are rare.

        Verdicts use visitors who do not click only where clicks are frequent (`rankone.evidence.levels`), those of
        lists never (without `silence`), T* always.
        """
        rare = 1.0 if silence and self.best >= RARE else _VERY_RARE / self.best
        return rare * self._replace(rate=self.rate * rare).time_until(error=1.0 / math.e)

    @property
    def seen(self) -> float:
        """Which part of the evidence is left, since only some ratios are looked for: 1 between two of them.

        Where the logarithm of the nearest ratio is x times the true one, the part 2 x - x^2 is left. Between two ratios
        both tell something, and measured verdicts come no later than at one of them.
        """
        spared = math.log1p(self.margin) / len(self.sizes)
        looked_for = [math.log(ratio) for ratio in RATIOS] + [0.0, spared] * (self.margin > 0.0)
        times = [(each + spared) / (math.log1p(self.lift) + spared) for each in looked_for]
        return 1.0 if min(times) <= 1.0 <= max(times) else max(0.0, *(2.0 * each - each * each for each in times))

    def rehearsed(self, aim: str) -> Case:
        """Return the case that is rehearsed: clicks are frequent, and the lift is large enough."""
        spared, least = math.log1p(self.margin) / len(self.sizes), _rehearsed_lift(aim, sum(self.sizes), self.best)
        longer = max(1.0, math.log1p(least) / (math.log1p(self.lift) + spared))
        large, wide = (1.0 + self.lift) ** longer - 1.0, (1.0 + self.margin) ** longer - 1.0
        return Case(self.sizes, max(self.best, _REHEARSED_RATE) / (1.0 + large), large, wide)


class Trial(NamedTuple):
    """What is rehearsed for an aim, and how the result is brought back."""

    play: Callable[[int, int], tuple[int | None, float]]  # seed, visitors at most: those until a verdict, clicks lost
    time: float  # T* log(1 / error) of what is rehearsed
    scale: float  # visitors planned for each one rehearsed
    lost_scale: float  # clicks that a visitor loses, the same way


def _trial(aim: str, case: Case, error: float) -> Trial:
    """Return how an experiment is rehearsed."""
    rehearsed = case.rehearsed(aim)
    wanted: dict[str, Any] = {"aim": aim, "margin": rehearsed.margin, "error": error, "after": "stop", "runs": 1}

    def play(seed: int, visitors: int) -> tuple[int | None, float]:
        (found,) = simulate_experiment(rehearsed.problem(), **wanted, visitors=visitors, seed=seed)
        return found.verdict, found.lost

    gap = case.rate * case.lift / (rehearsed.rate * rehearsed.lift)  # what another pair loses, here and there
    return Trial(play, rehearsed.time_until(error), case.click_time() / rehearsed.click_time(), gap)


def rehearsed_spans(
    aim: str | None, case: Case, seed: int, progress: Progress | bool | None, trial: Callable[[str], Trial]
) -> list[Span]:
    """Rehearse an aim, or all of them."""
    report, names = as_progress(progress, "rehearsals", late=True), [aim] if aim else list(AIMS)
    runs, spans = [_runs(name, case.sizes) for name in names], []
    for index, name in enumerate(names):
        own = range(sum(runs[:index]), sum(runs[: index + 1]))
        spans.append(_span(name, case, seed, trial, own, lambda done: report(done, sum(runs))))
        report(own.stop, sum(runs))
    return spans


def _span(
    aim: str, case: Case, seed: int, trial: Callable[[str], Trial], runs: range, report: Callable[[int], None]
) -> Span:
    """Rehearse one aim, and bring the result back."""
    if case.seen <= _SEEN_LEAST:
        return Span(aim, None, None, None, math.inf)
    play, time, scale, lost_scale = trial(aim)
    visitors, scale = max(2_000, round(_LONGEST[aim] * time)), scale / case.seen
    results: list[tuple[int | None, float]] = []
    for run, done in enumerate(runs):
        report(done)
        results.append(play(seed + run, visitors))
        if sum(verdict is None for verdict, _ in results) > len(runs) / 2:  # then most have none, whatever follows
            return Span(aim, None, None, None, rounded(visitors * scale))
    verdicts = sorted(math.inf if verdict is None else verdict * scale for verdict, _ in results)
    median, late = (_quantile(verdicts, share) for share in (0.5, 0.9))
    lost = float(np.mean([each for _, each in results])) * scale * lost_scale
    known = [rounded(each) if math.isfinite(each) else None for each in (median, late, lost + late)]
    return Span(aim, known[0], known[1], known[2] and rounded(lost), rounded(visitors * scale))


def _runs(aim: str, sizes: Sequence[int]) -> int:
    """Return how often to rehearse: with many levels a run takes longer, and its length is less a matter of luck."""
    return max(_LEAST_RUNS, round(_RUNS[aim] * min(1.0, _SOME_LEVELS / sum(sizes))))


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Return a quantile that is too high as often as too low (Hyndman, Fan 1996, number 8); the last may be infinite.

    >>> _quantile([1.0, 2.0, 3.0, math.inf], 0.5)
    2.5
    """
    position = min(max((len(ordered) + 1 / 3) * share + 1 / 3, 1.0), float(len(ordered))) - 1.0
    low, part = math.floor(position), position - math.floor(position)
    return ordered[low] + part * (ordered[low + 1] - ordered[low]) if part > 1e-9 else ordered[low]


def _rehearsed_lift(aim: str, levels: int, best: float) -> float:
    """Return the lift below which a larger one is rehearsed; to earn takes longest, and is rarely decided at all.

    Frequent clicks take few visitors, but what they tell depends on the rate: there the lift is changed little.
    """
    longer = max(1.0, levels / _FEW_LEVELS) * (2.0 if aim == "earn" else 1.0)
    lift = _REHEARSED_LIFT * (1.0 if best < RARE else (1.0 - best) ** 2)
    return min((1.0 + lift) ** longer - 1.0, _LARGEST_LIFT)


def _advice(planned: Plan, case: Case) -> tuple[str, ...]:
    """Say what would be possible where a verdict takes more than a year."""
    if planned.visitors_a_day is None:
        return ()
    aim, year = planned.main, _YEAR * planned.visitors_a_day
    if aim.median is not None and aim.median <= year:
        return ()
    times = _USUAL_TIMES if aim.median is None else aim.median / case.time_until(planned.error)

    def possible(other: Case) -> bool:
        if other.seen <= _SEEN_LEAST or other.best > 1.0:
            return False
        return times * other.time_until(planned.error) / other.seen <= year

    said, smaller = [], dict.fromkeys(planned.factors, 2)
    lifts = (lift for lift in _LIFTS if lift > case.lift and possible(case._replace(lift=lift)))
    margins = (margin for margin in _MARGINS if margin > case.margin and possible(case._replace(margin=margin)))
    for lift in itertools.islice(lifts, 1):
        said.append(f"a lift of {percent(lift)}")
    for margin in itertools.islice(margins, 1):
        said.append(f"a winner at most {percent(margin)} worse than the best (margin={margin:g})")
    if sum(case.sizes) > 2 * len(case.sizes) and possible(case._replace(sizes=tuple(smaller.values()))):
        said.append(f"this lift with {combinations_text(smaller)}")
    unseen = not case.margin and case.lift < RATIOS[0] - 1.0
    why = f"Without a margin, a lift below {percent(RATIOS[0] - 1.0, 2)} is hardly found. " if unseen else ""
    shown = f"A year with {year:,.0f} visitors is enough for {', or '.join(said)}."
    nothing = "A year brings too few visitors for any verdict: use the aim 'earn', which needs none."
    return (f"{why}{shown if said else nothing}",)


def _cell(name: str, value: Any, span: Span) -> str | None:
    if value is None and name != "clicks_lost":
        return "never" if math.isinf(span.beyond) else "longer"
    return value if value is None or isinstance(value, str) else count_text(value)
