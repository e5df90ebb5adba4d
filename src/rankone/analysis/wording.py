"""What an analysis says, in sentences; each names its condition."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from rankone.analysis.best import Bounded
from rankone.notebook import text_table

if TYPE_CHECKING:
    from rankone.analysis.result import Analysis

_FEW = 10  # clicks of a level
_MOST_NAMED = 5
_TIMES = 100  # as many visitors as there were: nobody waits for more


def percent(share: float) -> str:
    """Write a share with three digits.

    >>> percent(0.0412345), percent(0.5), percent(0.0), percent(1.0)
    ('4.12%', '50%', '0%', '100%')
    """
    return f"{100.0 * share if share >= 1e-7 else 0.0:.3g}%"


def rate_text(found: Bounded) -> str:
    """Write a rate with its interval."""
    return f"clicked {_with_interval(found, ' of the time')}"


def _with_interval(found: Bounded, unit: str = "") -> str:
    return f"{percent(found.value)}{unit} ({percent(found.low)} to {percent(found.high)})"


def named(levels: Mapping[str, str]) -> str:
    """Name a combination.

    >>> named({"headline": "A", "image": "2"}), named({"headline": "A", "image": "2", "button": "buy"})
    ("headline 'A' with image '2'", "headline 'A', image '2' and button 'buy'")
    """
    each = [f"{factor} '{level}'" for factor, level in levels.items()]
    return " with ".join(each) if len(each) < 3 else f"{', '.join(each[:-1])} and {each[-1]}"


def answer(found: Analysis) -> str:
    """Say which combination is best, and whether that is sure."""
    if found.doubtful or found.groups:
        return f"Best as observed: {named(found.winner.levels)}, {rate_text(found.winner.rate)}."
    sure = found.decided and found.best_was_shown and not found.counts.adaptive
    predicted = "" if found.best_was_shown else ", never shown together: the product of its levels predicts that it is"
    return f"{'Best' if sure else 'Best so far'}: {named(found.best)}{predicted}, {rate_text(found.rate)}."


def certainty(found: Analysis) -> list[str]:
    """Say which levels may still be the best, and what a wrong choice would cost."""
    lines = []
    if found.doubtful:
        return [
            "Its parts depend on one another, so levels cannot be ranked by themselves: see the table with caution."
        ]
    for factor, able in found.candidates.items():
        if factor in found.groups:
            lines.append(_apart(found, factor))
            continue
        size = found.levels.filter(pl.col("factor") == factor).height
        if size == 1:
            continue
        if len(able) == 1:
            lines.append(f"{factor}: '{able[0]}' is the best of {size}.")
        elif len(able) == size:
            lines.append(f"{factor}: undecided; each of the {size} may be the best.")
        else:
            out = "the other one is" if size - len(able) == 1 else f"the other {size - len(able)} are"
            lines.append(f"{factor}: undecided between {_some(able)}; {out} not the best.")
    if not found.decided and not found.groups and found.at_most_lost < 0.995:
        lines.append(f"Showing {named(found.best)} gives up at most {percent(found.at_most_lost)} of the best rate.")
    return lines


def _apart(found: Analysis, factor: str) -> str:
    """Say which levels cannot be compared."""
    groups = found.groups[factor]
    told = " with ".join(_some(group) for group in groups)
    if len(groups) > 2:
        told = f"{_some([name for group in groups for name in group])} all with one another"
    others = [name for name in found.counts.factors if name != factor]
    why = f"no {others[0]} was shown with both" if len(groups) == 2 else f"too few were shown with the same {others[0]}"
    if len(others) > 1:
        why = f"{' and '.join(found.groups)} were changed only together"
    return f"{factor}: cannot compare {told}, as {why}; so no {factor} is called the best."


def against_control(found: Analysis) -> list[str]:
    """Compare the best combination with the control."""
    if found.control is None or found.against_control is None or found.doubtful:
        return []
    if found.control == found.best:
        return [f"The control, {named(found.control)}, is itself the best so far."]
    ratio = found.against_control
    if math.isnan(ratio.value):
        return [f"The control, {named(found.control)}, cannot be compared with it: they share too few levels."]
    if math.isinf(ratio.value):
        return [
            f"The control, {named(found.control)}, has a level that was never clicked, so there is no ratio to it; "
            f"the best one's rate is at least {ratio.low:.3g} times the control's."
        ]
    said = f"{ratio.value:.3g} times that of the control, {named(found.control)} ({ratio.low:.3g} to {ratio.high:.3g})"
    return [f"Its rate is {said}."]


def winner(found: Analysis) -> list[str]:
    """Say what the highest observed rate is worth."""
    best, number = found.winner, found.combinations.height
    if number < 2:
        return []
    return [
        f"The highest rate as observed is that of {named(best.levels)}: {best.clicked:,} of {best.shown:,}, "
        f"{_with_interval(best.rate)}. The highest of {number:,} rates owes something to luck; the whole table "
        f"suggests about {percent(best.shrunken)}."
    ]


def rank1(found: Analysis) -> list[str]:
    """Say whether the factors act each for itself."""
    if found.check is None:
        return []
    misfit = found.check.misfit
    return [found.check.sentence, *([] if misfit is None else [misfit.sentence])]


def few_data(found: Analysis) -> list[str]:
    """Say which levels rest on few clicks."""
    few = found.levels.filter(pl.col("clicked") < _FEW)
    clicks = int(found.counts.clicked.sum())
    if few.is_empty():
        return []
    told = [f"{row['factor']} '{row['level']}' {row['clicked']}" for row in few.head(_MOST_NAMED).to_dicts()]
    more = f" and {few.height - _MOST_NAMED} more" if few.height > _MOST_NAMED else ""
    total = f"{clicks:,} {'click' if clicks == 1 else 'clicks'}"
    return [f"Few data: {total} in all, of these {', '.join(told)}{more}. Expect the answer to change."]


def next_step(found: Analysis) -> list[str]:
    """Say what to do next."""
    if found.doubtful:
        misfit = None if found.check is None else found.check.misfit
        if misfit is not None and misfit.costs_little:
            lost = f"loses {misfit.at_most} of the best clicks"
            return [f"Next: show {named(found.winner.levels)}; level by level is good enough, too: that {lost}."]
        policy = _policy(rank1=False)
        return [f"Next: judge combinations as wholes, not level by level; live, with the policy {policy}."]
    if found.groups:
        factor, groups = next(iter(found.groups.items()))
        pair = f"{factor} '{groups[0][0]}' with what '{groups[1][0]}' was shown with"
        return [f"Next: let the groups meet: show {pair}, for example."]
    if found.counts.adaptive:
        return ["Next: go by the report of the experiment that collected these counts (`rankone experiments`)."]
    if found.decided:
        first = "" if found.best_was_shown else " to some visitors first, as nobody has seen it yet"
        return [f"Next: show {named(found.best)}{first}."]
    open_factors = [factor for factor, able in found.candidates.items() if len(able) > 1]
    return [f"Next: more visitors are needed to settle {' and '.join(open_factors)}.{_visitors(found)}"]


def _visitors(found: Analysis) -> str:
    """Say about how many visitors that takes, if what was fitted were true."""
    from rankone.simulation.plan import count_text

    said = ""
    if math.isfinite(found.needed) and found.needed > _TIMES * found.counts.shown.sum():
        said = f" The best ones are so close that it would take more than {_TIMES} times as many as there were."
    elif math.isfinite(found.needed):
        count = count_text(max(found.needed, 10.0))
        said = f" If the fitted rates are the true ones, about {count} more, split as before, will do that more often "
        said += "than not."
    if len(found.counts.factors) >= 2:
        said += " Or go live: `rankone create` shows the better ones more and more and says when it is sure"
        said += ", and `rankone plan` says beforehand how many visitors that takes."
    return said


def _policy(rank1: bool) -> str:
    from rankone.simulation import recommend

    return str(recommend(rank1=rank1).policy.name)


def conditions(found: Analysis) -> list[str]:
    """Say under which conditions the intervals hold."""
    needed = ["visitors were split in fixed shares and each counted once"]
    needed.append("the click rates did not move (or the shares did not)")
    if len(found.counts.factors) > 1:
        doubt = " (which is doubtful; the rate of the best as observed does not need it)" if found.doubtful else ""
        needed.append(f"a combination's rate is the product of its levels' rates{doubt}")
    return [
        f"Each interval holds with {found.confidence:.0%} confidence, however the best was picked, if "
        f"{', if '.join(needed[:-1])}, and if {needed[-1]}.",
        f"{found.dispersion.sentence}.",
    ]


def adaptive(found: Analysis) -> list[str]:
    """Warn of counts that a policy collected."""
    if not found.counts.adaptive:
        return []
    return [
        "Beware: a policy chose what to show by what had been clicked. That makes the rates of losers too low and "
        "intervals too short, so what follows is a hint; the experiment's own report allows for it."
    ]


def page(found: Analysis) -> str:
    """Return the answer as a page of text."""
    head = [found.sentence, *adaptive(found), *certainty(found), *against_control(found), *few_data(found)]
    after = [*winner(found), *rank1(found), *next_step(found), *conditions(found)]
    return "\n".join([*head, *text_table(level_columns(found)), "", *after, "", *notes(found)]).rstrip()


def notes(found: Analysis) -> list[str]:
    """Say what was read as what, and what was left out."""
    columns = found.counts.columns
    return [*([] if columns is None else [columns.sentence]), *found.counts.notes]


def level_columns(found: Analysis) -> pl.DataFrame:
    """Return the table of levels for people."""
    interval = pl.format("{} to {}", _short("low"), _short("high"))
    columns = [
        pl.col("factor"), pl.col("level"), pl.col("shown"), pl.col("clicked"),
        pl.col("rate").map_elements(percent, pl.String), _finite("fitted"),
        _finite("ratio").alias("ratio to best"), interval.alias("interval"),
    ]  # fmt: skip
    if found.control is not None:
        against = pl.format("{} to {}", _short("control_low"), _short("control_high"))
        columns += [
            _finite("control_ratio").alias("ratio to control"),
            against.alias("control interval"),
        ]
    return found.levels.select(columns)


def _finite(name: str) -> Any:
    return pl.when(pl.col(name).is_finite()).then(pl.col(name).round_sig_figs(3)).alias(name)


def _short(name: str) -> Any:
    return (
        pl.col(name)
        .round_sig_figs(3)
        .map_elements(lambda value: "any" if value == math.inf else f"{value:.3g}", pl.String)
    )


def _some(names: list[str]) -> str:
    told = ", ".join(f"'{name}'" for name in names[:_MOST_NAMED])
    return f"{told} and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else told
