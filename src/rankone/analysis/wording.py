"""What an analysis says, in sentences; each names its condition."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from rankone.analysis.best import Bounded
from rankone.kernels.steering import ERROR_RATE
from rankone.notebook import text_table

if TYPE_CHECKING:
    from rankone.analysis.result import Analysis

_FEW = 10  # clicks of a level
_MOST_NAMED = 5


def percent(share: float) -> str:
    """Write a share with three digits.

    >>> percent(0.0412345), percent(0.5), percent(0.0), percent(1.0)
    ('4.12%', '50%', '0%', '100%')
    """
    return f"{100.0 * share:.3g}%"


def rate_text(found: Bounded) -> str:
    """Write a rate with its interval."""
    return f"clicked {_with_interval(found, ' of the time')}"


def _with_interval(found: Bounded, unit: str = "") -> str:
    return f"{percent(found.value)}{unit} ({percent(found.low)} to {percent(found.high)})"


def ratio_text(found: Bounded) -> str:
    """Write a ratio with its interval."""
    return f"{found.value:.3g} times ({found.low:.3g} to {found.high:.3g})"


def named(levels: Mapping[str, str]) -> str:
    """Name a combination.

    >>> named({"headline": "A", "image": "2"})
    "headline 'A' with image '2'"
    """
    return " with ".join(f"{factor} '{level}'" for factor, level in levels.items())


def answer(found: Analysis) -> str:
    """Say which combination is best, and whether that is sure."""
    if found.doubtful:
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
    if not found.decided and found.at_most_lost < 0.995:
        lines.append(f"Showing {named(found.best)} gives up at most {percent(found.at_most_lost)} of the best rate.")
    return lines


def against_control(found: Analysis) -> list[str]:
    """Compare the best combination with the control."""
    if found.control is None or found.against_control is None or found.doubtful:
        return []
    if found.control == found.best:
        return [f"The control, {named(found.control)}, is itself the best so far."]
    return [f"Against the control, {named(found.control)}, its rate is {ratio_text(found.against_control)}."]


def winner(found: Analysis) -> list[str]:
    """Say what the highest observed rate is worth."""
    best, number = found.winner, found.combinations.height
    if number < 2:
        return []
    return [
        f"The highest rate as observed is that of {named(best.levels)}: {best.clicked:,} of {best.shown:,}, "
        f"{_with_interval(best.rate)}. The highest of {number} rates owes something to luck; the whole table "
        f"suggests about {percent(best.shrunken)}."
    ]


def rank1(found: Analysis) -> list[str]:
    """Say whether the factors act each for itself."""
    if found.check is None:
        return []
    if len(found.counts.factors) == 2:
        return [found.check.sentence]
    tested = [check for check in found.check.checks if check.p_value is not None]
    if not tested:
        return ["Nothing to test: the combinations share too few levels, so any click rates are a product."]
    told = ", ".join(f"{check.name} (p = {check.p_value:.2g})" for check in tested)
    if not found.doubtful:
        return [f"No sign that two factors depend on one another: {told}."]
    worst = " and ".join(f"'{name}'" for name in found.check.doubts[0].cells.select("row", "col").row(0))
    return [
        f"Factors depend on one another, so the product is doubtful: {found.check.doubts[0].name}, "
        f"most of all {worst}. All tests: {told}."
    ]


def few_data(found: Analysis) -> list[str]:
    """Say which levels rest on few clicks."""
    few = found.levels.filter(pl.col("clicked") < _FEW)
    clicks = int(found.counts.clicked.sum())
    if few.is_empty():
        return []
    told = [f"{row['factor']} '{row['level']}' {row['clicked']}" for row in few.head(_MOST_NAMED).to_dicts()]
    more = f" and {few.height - _MOST_NAMED} more" if few.height > _MOST_NAMED else ""
    return [f"Few data: {clicks:,} clicks in all, of these {', '.join(told)}{more}. Expect the answer to change."]


def next_step(found: Analysis) -> list[str]:
    """Say what to do next."""
    if found.doubtful:
        policy = _policy(rank1=False)
        return [f"Next: judge combinations as wholes, not level by level; live, with the policy {policy}."]
    if found.counts.adaptive:
        return ["Next: go by the report of the experiment that collected these counts (`rankone experiments`)."]
    if found.decided:
        first = "" if found.best_was_shown else " to some visitors first, as nobody has seen it yet"
        return [f"Next: show {named(found.best)}{first}."]
    pairs = len(found.counts.factors) == 2
    how = f": live, with the policy {_policy(rank1=True)} (`rankone create`)" if pairs else ""
    open_factors = [factor for factor, able in found.candidates.items() if len(able) > 1]
    return [f"Next: more visitors are needed to settle {' and '.join(open_factors)}{how}.", *_visitors(found, pairs)]


def _visitors(found: Analysis, pairs: bool) -> list[str]:
    """Say about how many visitors a live experiment would need, if what was fitted were true."""
    from rankone.problems.characteristic_time import star_time
    from rankone.simulation.plan import USUAL_TIMES, count_text

    rate = found.rate.value
    others = [row for row in found.levels.to_dicts() if row["level"] != found.best[row["factor"]]]
    time = star_time(rate, [rate * row["ratio"] for row in others]) if pairs else math.inf
    if not math.isfinite(time):
        return []
    count = count_text(USUAL_TIMES * time * math.log(1.0 / ERROR_RATE))
    return [
        f"If the fitted rates were the true ones, that would take a live experiment about {count} visitors; "
        "`rankone plan` says it for rates of your choice."
    ]


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
    after = [*winner(found), *rank1(found), *next_step(found), *conditions(found), *found.counts.notes]
    return "\n".join([*head, *text_table(level_columns(found)), "", *after])


def level_columns(found: Analysis) -> pl.DataFrame:
    """Return the table of levels for people."""
    interval = pl.format("{} to {}", _short("low"), _short("high"))
    columns = [
        pl.col("factor"), pl.col("level"), pl.col("shown"), pl.col("clicked"),
        pl.col("rate").map_elements(percent, pl.String), pl.col("fitted").round_sig_figs(3),
        pl.col("ratio").round_sig_figs(3).fill_nan(None).alias("ratio to best"), interval.alias("interval"),
    ]  # fmt: skip
    if found.control is not None:
        against = pl.format("{} to {}", _short("control_low"), _short("control_high"))
        columns += [
            pl.col("control_ratio").round_sig_figs(3).fill_nan(None).alias("ratio to control"),
            against.alias("control interval"),
        ]
    return found.levels.select(columns)


def _short(name: str) -> Any:
    return pl.col(name).round_sig_figs(3).map_elements(lambda value: f"{value:.3g}", pl.String)


def _some(names: list[str]) -> str:
    told = ", ".join(f"'{name}'" for name in names[:_MOST_NAMED])
    return f"{told} and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else told
