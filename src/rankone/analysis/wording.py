"""What an analysis says, in sentences; each names its condition."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from rankone.analysis.product.best import Bounded
from rankone.notebook import text_table
from rankone.specs import amount
from rankone.wording.combinations import combination_text
from rankone.wording.lists import listed, quoted, some_of
from rankone.wording.numbers import count_text, percent

if TYPE_CHECKING:
    from rankone.analysis.result import Analysis

_FEW = 10  # clicks of a level
_NO_MOVE = 0.001  # of a rate
_TIMES = 100  # as many visitors as there were: nobody waits for more


def rate_text(result: Bounded) -> str:
    """Write a rate with its interval."""
    return f"clicked {_with_interval(result, ' of the time')}"


def _with_interval(result: Bounded, unit: str = "") -> str:
    return f"{percent(result.value)}{unit} ({percent(result.low)} to {percent(result.high)})"


def answer(result: Analysis) -> str:
    """Say which combination is best, and whether that is sure."""
    if max(result.counts.sizes) == 1:
        return f"Only one combination was counted: {combination_text(result.best)}, {rate_text(result.rate)}."
    if result.doubtful or result.groups:
        return f"Best as observed: {combination_text(result.winner.levels)}, {rate_text(result.winner.rate)}."
    sure = result.decided and result.best_was_shown
    predicted = "" if result.best_was_shown else ", never shown together: the product of its levels predicts that it is"
    return f"{'Best' if sure else 'Best so far'}: {combination_text(result.best)}{predicted}, {rate_text(result.rate)}."


def certainty(result: Analysis) -> list[str]:
    """Say which levels may still be the best, and what a wrong choice would cost."""
    lines = []
    if result.check is not None and result.doubtful:
        return [f"Its parts may depend on one another (p = {result.check.p_value:.2g}), so levels are not ranked."]
    for factor, able in result.candidates.items():
        if factor in result.groups:
            lines.append(_apart(result, factor))
            continue
        size = result.levels.filter(pl.col("factor") == factor).height
        if size == 1:
            continue
        if not result.proves:
            lines.append(f"{factor}: '{result.best[factor]}' is ahead, not proven.")
        elif len(able) == 1:
            lines.append(f"{factor}: '{able[0]}' is the best of {size}.")
        elif len(able) == size:
            lines.append(f"{factor}: undecided; each of the {size} may be the best.")
        else:
            out = "the other one is" if size - len(able) == 1 else f"the other {size - len(able)} are"
            lines.append(f"{factor}: undecided between {some_of(quoted(able))}; {out} not the best.")
    undecided = any(len(able) > 1 for able in result.candidates.values())
    if undecided and result.proves and not result.groups and result.at_most_lost < 0.995:
        lines.append(
            f"Showing {combination_text(result.best)} gives up at most {percent(result.at_most_lost)} of the best rate."
        )
    return lines


def _apart(result: Analysis, factor: str) -> str:
    """Say which levels cannot be compared."""
    groups = result.groups[factor]
    told = " with ".join(some_of(quoted(group)) for group in groups)
    if len(groups) > 2:
        told = f"{some_of(quoted([name for group in groups for name in group]))} all with one another"
    others = [name for name in result.counts.factors if name != factor]
    if result.counts.slices is not None:
        why = " with the same ".join(
            [f"too few were shown {_at(result)} the same {result.counts.period}s", *others[:1]]
        )
    elif len(groups) == 2:
        why = f"no {others[0]} was shown with both"
    else:
        why = f"too few were shown with the same {others[0]}"
    if len(others) > 1:
        why = f"{listed(list(result.groups))} were changed only together"
    return f"{factor}: cannot compare {told}, as {why}; so no {factor} is called the best."


def against_control(result: Analysis) -> list[str]:
    """Compare the best combination with the control."""
    if result.control is None or result.against_control is None or result.doubtful:
        return []
    if max(result.counts.sizes) == 1:
        return []
    if result.control == result.best:
        return [f"The control, {combination_text(result.control)}, is itself the best so far."]
    ratio, control = result.against_control, combination_text(result.control)
    if math.isnan(ratio.value):
        return [f"The control, {control}, cannot be compared with it: they share too few levels."]
    if math.isinf(ratio.value):
        return [
            f"The control, {control}, has a level that was never clicked, so there is no ratio to it; "
            f"the best one's rate is at least {ratio.low:.3g} times the control's."
        ]
    said = f"{ratio.value:.3g} times that of the control, {control} ({ratio.low:.3g} to {ratio.high:.3g})"
    return [f"Its rate is {said}."]


def winner(result: Analysis) -> list[str]:
    """Say what the highest observed rate is worth."""
    best, number = result.winner, result.combinations.height
    if number < 2:
        return []
    rate = _with_interval(best.rate)
    if result.counts.slices is not None:
        rate = f"{_at(result)} an average {result.counts.period} {rate}"
    return [
        f"The highest rate as observed is that of {combination_text(best.levels)}: {best.clicked:,} of {best.shown:,}, "
        f"{rate}. The highest of {number:,} rates owes something to luck; the whole table "
        f"suggests about {percent(best.shrunken)}."
    ]


def rank1(result: Analysis) -> list[str]:
    """Say whether the factors act each for itself."""
    if result.check is None:
        return []
    cost = result.check.misfit_sentence
    return [result.check.sentence, *([] if cost is None else [cost])]


def few_data(result: Analysis) -> list[str]:
    """Say which levels rest on few clicks."""
    few = result.levels.filter(pl.col("clicked") < _FEW)
    clicks = int(result.counts.clicked.sum())
    if few.is_empty():
        return []
    each = [f"{row['factor']} '{row['level']}' {row['clicked']}" for row in few.to_dicts()]
    return [f"Few data: {amount(clicks, 'click')} in all, of these {some_of(each)}. Expect the answer to change."]


def next_step(result: Analysis) -> list[str]:
    """Say what to do next."""
    if max(result.counts.sizes) == 1:
        return [
            f"Next: show some visitors another {result.counts.factors[0]}: one alone has nothing to be compared with."
        ]
    if result.mismatch is not None:
        causes = "redirects, bots, a variant that loads or is counted less often"
        meant = "or say that the split was meant to be uneven: --uneven (in Python uneven=True)"
        return [f"Next: find out why visitors are missing ({causes}), {meant}."]
    if result.doubtful:
        misfit = None if result.check is None else result.check.misfit
        if misfit is not None and misfit.costs_little:
            lost = f"loses {misfit.at_most} of the best clicks"
            return [
                f"Next: show {combination_text(result.winner.levels)}; level by level is good enough, too: that {lost}."
            ]
        policy = _policy(rank1=False)
        return [f"Next: judge combinations as wholes, not level by level; live, with the policy {policy}."]
    if result.groups:
        factor, groups = next(iter(result.groups.items()))
        pair = f"{factor} '{groups[0][0]}' with what '{groups[1][0]}' was shown with"
        if result.counts.slices is not None:
            pair += f", {_at(result)} the same {result.counts.period}s"
        return [f"Next: let the groups meet: show {pair}, for example."]
    if result.counts.adaptive:
        return ["Next: go by the report of the experiment that collected these counts (`rankone experiments`)."]
    if result.decided:
        first = "" if result.best_was_shown else " to some visitors first, as nobody has seen it yet"
        return [f"Next: show {combination_text(result.best)}{first}."]
    open_factors = [factor for factor, able in result.candidates.items() if len(able) > 1]
    return [f"Next: more visitors are needed to settle {listed(open_factors)}.{_visitors(result)}"]


def _visitors(result: Analysis) -> str:
    """Say about how many visitors that takes, if what was fitted were true."""
    said = ""
    if math.isfinite(result.needed) and result.needed > _TIMES * result.counts.shown.sum():
        said = f" The best ones are so close that it would take more than {_TIMES} times as many as there were."
    elif math.isfinite(result.needed):
        count = count_text(max(result.needed, 10.0))
        said = f" If the fitted rates are the true ones, about {count} more, split as before, will do that more often "
        said += "than not."
    if len(result.counts.factors) >= 2:
        said += " Or go live: `rankone create` shows the better ones more and more and says when it is sure"
        said += ", and `rankone plan` says beforehand how many visitors that takes."
    return said


def _policy(rank1: bool) -> str:
    from rankone.simulation import recommend

    return str(recommend(rank1=rank1).policy.name)


def assumes(result: Analysis) -> str:
    """Say in a line what every statement rests on."""
    split, add = "a random split in fixed shares", ""
    if result.counts.slices is not None:
        each = f"{_at(result)} each {result.counts.period}"
        split = f"a random split {each} (shares and click rates may move {_steps(result)})"
    elif not result.counts.adaptive:
        add = " There is no column of days: add one if click rates or shares moved."
    needed = [split, "each visitor counted once"]
    if len(result.counts.factors) > 1:
        doubt = " (which is doubtful; the rate of the best as observed does not need it)" if result.doubtful else ""
        needed.append(f"effects that multiply{doubt}")
    return f"Assumes: {'; '.join(needed)}.{add}"


def _steps(result: Analysis) -> str:
    return f"from {result.counts.period} to {result.counts.period}"


def _at(result: Analysis) -> str:
    return "on" if result.counts.period == "day" else "in"


def assumed_first(result: Analysis) -> list[str]:
    """The assumptions, where nothing in the table can tell whether they hold: then they come before the answer."""
    return [assumes(result)] if result.counts.slices is None and not result.counts.adaptive else []


def conditions(result: Analysis) -> list[str]:
    """Say how sure the statements are, and what they allow for."""
    sure = percent(result.confidence)
    together = (
        f"All statements on which levels are the best hold together with {sure} confidence; each interval holds with "
        f"{sure} confidence, however the best was picked."
    )
    return [
        *([] if assumed_first(result) else [assumes(result)]),
        *([together] if result.proves and max(result.counts.sizes) > 1 else []),
        *_scatter(result),
    ]


def mismatch(result: Analysis) -> list[str]:
    """Warn of visitors that are missing, before any winner is named."""
    return [] if result.mismatch is None else [result.mismatch.sentence]


def _scatter(result: Analysis) -> list[str]:
    """Say how much clicks scatter, and what levels do from day to day."""
    slices, scatter = result.counts.slices, result.day_scatter
    if slices is None or result.dispersion.origin == "given":
        return [f"{result.dispersion.sentence}."]
    many = f"{len(slices.names)} {result.counts.period}s are too few to tell"
    if result.dispersion.origin == "none":
        return [f"{many} how much noisier than chance real traffic is; intervals may be too short."]
    said = [f"{result.dispersion.sentence}."]
    if not scatter:
        return [*said, f"{many} how much levels move on their own; this is ignored."]
    moved = ", ".join(f"{percent(sd)} ({factor})" for factor, sd in scatter.items() if sd >= _NO_MOVE)
    from_to = _steps(result).capitalize()
    return said + [f"{from_to} a level's rate moves on its own by about {moved}; intervals allow for that."] * bool(
        moved
    )


def adaptive(result: Analysis) -> list[str]:
    """Warn of counts that a policy collected."""
    if not result.counts.adaptive:
        return []
    return [
        "Beware: a policy chose what to show by what had been clicked. That makes the rates of losers too low and "
        "intervals too short, so what follows is a hint; the experiment's own report allows for it."
    ]


def page(result: Analysis) -> str:
    """Return the answer as a page of text."""
    head = [*mismatch(result), *assumed_first(result), result.sentence, *adaptive(result), *before_table(result)]
    table = [*text_table(level_columns(result)), *about_table(result)]
    return "\n".join([*head, *table, "", *after_table(result), "", *notes(result)]).rstrip()


def before_table(result: Analysis) -> list[str]:
    """Say how sure the answer is."""
    return [*certainty(result), *against_control(result), *few_data(result)]


def after_table(result: Analysis) -> list[str]:
    """Say what else the table tells, what to do next, and what all this rests on."""
    return [*winner(result), *rank1(result), *next_step(result), *conditions(result)]


def about_table(result: Analysis) -> list[str]:
    """Say what the fitted numbers in the table of levels are."""
    return ["fitted: multiply one of each factor for a combination's rate."] if len(result.counts.factors) > 1 else []


def notes(result: Analysis) -> list[str]:
    """Say what was read as what, and what was left out."""
    return result.counts.taken


def level_columns(result: Analysis) -> pl.DataFrame:
    """Return the table of levels for people."""
    interval = pl.format("{} to {}", _short("low"), _short("high"))
    columns = [
        pl.col("factor"),
        pl.col("level"),
        pl.col("shown"),
        pl.col("clicked"),
        pl.col("rate").map_elements(percent, pl.String),
        _finite("fitted"),
        _finite("ratio").alias("ratio to best"),
        interval.alias("interval"),
    ]
    if result.control is not None:
        against = pl.format("{} to {}", _short("control_low"), _short("control_high"))
        columns += [_finite("control_ratio").alias("ratio to control"), against.alias("control interval")]
    return result.levels.select(columns)


def _finite(name: str) -> Any:
    return pl.when(pl.col(name).is_finite()).then(pl.col(name).round_sig_figs(3)).alias(name)


def _short(name: str) -> Any:
    return (
        pl.col(name)
        .round_sig_figs(3)
        .map_elements(lambda value: "any" if value == math.inf else f"{value:.3g}", pl.String)
    )
