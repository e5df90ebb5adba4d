"""What an analysis says, in sentences; each names its condition."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from rankone.analysis.product.best import Bounded
from rankone.notebook import text_table
from rankone.simulation import recommend
from rankone.specs import amount
from rankone.wording.combinations import brief_combination, combination_text
from rankone.wording.lists import cut_text, listed, quoted, some_of
from rankone.wording.numbers import count_text, percent
from rankone.wording.ratios import effect_text

if TYPE_CHECKING:
    from rankone.analysis.result import Analysis

_FEW = 10  # clicks of a level
_NO_MOVE = 0.001  # of a rate
_TIMES = 100  # as many visitors as there were: nobody waits for more


_ADAPTIVE = (
    "Beware: a policy chose what to show by what had been clicked. That makes the rates of losers too low and "
    "intervals too short, so what follows is a hint; the experiment's own report allows for it."
)
#: What is said where, by part: around the table of a text and a notebook, and as the warning and remarks of a report.
WARNING = ("mismatch", "adaptive", "few data")
BEFORE, AFTER = ("assumed", "adaptive", "few data", "certainty", "control"), ("winner", "next", "notes")
REMARKS = ("assumed", "certainty", "control", *AFTER)
DETAILS = ("rate", "rank1", "conditions")
_MORE = "Assumptions and method: --details, in Python .details"


def sentences(result: Analysis, *parts: str) -> list[str]:
    """Return what an analysis says of some parts of it, in this order."""
    counts = result.counts
    said = {
        "mismatch": [] if result.mismatch is None else [result.mismatch.sentence],
        "assumed": [assumes(result)],
        "rate": [
            f"Click rate of {combination_text(result.best)}: {_with_interval(result.rate)}, by the fitted product."
        ],
        "adaptive": [_ADAPTIVE] if counts.adaptive else [],
        "certainty": _certainty(result),
        "control": _against_control(result),
        "few data": _few_data(result),
        "winner": _winner(result),
        "rank1": [] if result.check is None else [*filter(None, (result.check.sentence, result.check.misfit_sentence))],
        "next": [_next_step(result)],
        "conditions": _conditions(result),
        "notes": counts.taken,
    }
    return [sentence for part in parts for sentence in said[part]]


def page(result: Analysis) -> str:
    """Return the answer as a page of text: headline, assumptions, table and what to do; the rest is in `details`."""
    head, after = sentences(result, *BEFORE), sentences(result, *AFTER)
    first = [*sentences(result, "mismatch"), headline(result)]
    return "\n".join([*first, *head, *text_table(level_columns(result)), "", *after, _MORE])


def details(result: Analysis) -> str:
    """Return what the answer rests on: intervals, tests, conditions and how the table was read."""
    return "\n".join(sentences(result, *DETAILS))


def _with_interval(result: Bounded) -> str:
    return f"{percent(result.value)} ({percent(result.low)} to {percent(result.high)})"


def headline(result: Analysis) -> str:
    """Say in at most 25 words which combination is the best, and whether that is proven."""
    if max(result.counts.sizes) == 1:
        return (
            f"Only one combination was counted: {brief_combination(result.best)}, {percent(result.rate.value)} clicked."
        )
    if result.doubtful or result.groups:
        winner = result.winner
        return f"{brief_combination(winner.levels)} is ahead, not proven yet: {_with_interval(winner.rate)} clicked."
    best = brief_combination(result.best)
    if not (result.decided and result.best_was_shown):
        clicked = "clicked" if result.best_was_shown else "expected, never shown together"
        return f"{best} is ahead, not proven yet: {_with_interval(result.rate)} {clicked}."
    factor = next(name for name, size in zip(result.counts.factors, result.counts.sizes, strict=True) if size > 1)
    rivals = result.levels.filter(factor=factor).filter(pl.col("level") != result.best[factor]).sort("ratio")
    ratio, low, high = rivals.select("ratio", "low", "high").row(-1)
    effect = effect_text(*(1.0 / end if end > 0.0 else math.inf for end in (ratio, high, low)))
    over = f"{effect} over the next {cut_text(factor, 3)}"
    return f"{best} wins: {percent(result.rate.value)} clicked, {over}. {percent(result.confidence)} sure."


def _certainty(result: Analysis) -> list[str]:
    """Say which levels may still be the best, and what a wrong choice would cost."""
    lines = []
    if result.check is not None and result.doubtful:
        return [f"Its parts may interact (p = {result.check.p_value:.2g}), so levels are not ranked."]
    for factor, able in result.candidates.items():
        if factor in result.groups:
            lines.append(_apart(result, factor))
            continue
        size = result.levels.filter(pl.col("factor") == factor).height
        if size == 1:
            continue
        if not result.proves:
            lines.append(f"{factor}: '{result.best[factor]}' is ahead, not proven yet.")
        elif len(able) == 1:
            lines.append(f"{factor}: '{able[0]}' is the best of {size}.")
        elif len(able) == size:
            lines.append(f"{factor}: no clear winner yet.")
        else:
            lines.append(f"{factor}: no clear winner yet between {some_of(quoted(able))}; the others are out.")
    undecided = any(len(able) > 1 for able in result.candidates.values())
    if undecided and result.proves and not result.groups and result.at_most_lost < 0.995:
        lines.append(
            f"At worst {combination_text(result.best)} loses {percent(result.at_most_lost, 2)} of possible clicks."
        )
    return lines


def _apart(result: Analysis, factor: str) -> str:
    """Say which levels cannot be compared."""
    groups = result.groups[factor]
    apart = " with ".join(some_of(quoted(group)) for group in groups)
    if len(groups) > 2:
        apart = f"{some_of(quoted([name for group in groups for name in group]))} all with one another"
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
    return f"{factor}: cannot compare {apart}, as {why}; so no {factor} is called the best."


def _against_control(result: Analysis) -> list[str]:
    """Compare the best combination with the control."""
    ratio, alone = result.against_control, max(result.counts.sizes) == 1
    if result.control is None or ratio is None or result.doubtful or alone:
        return []
    control = combination_text(result.control)
    if result.control == result.best:
        return [f"The control, {control}, is itself the best so far."]
    if math.isnan(ratio.value):
        return [f"The control, {control}, cannot be compared with it: they share too few levels."]
    if math.isinf(ratio.value):
        effect = effect_text(ratio.value, ratio.low, None)
        return [f"The control, {control}, has a level that was never clicked. Clicks against it: {effect}."]
    return [f"Clicks against the control, {control}: {effect_text(*ratio)}."]


def _winner(result: Analysis) -> list[str]:
    """Say what the highest observed rate is worth."""
    best = result.winner
    if result.combinations.height < 2:
        return []
    rate = _with_interval(best.rate)
    if result.counts.slices is not None:
        rate = f"{_at(result)} an average {result.counts.period} {rate}"
    return [
        f"Highest observed rate: {combination_text(best.levels)}, {best.clicked:,} of {best.shown:,}, {rate}. "
        f"Expect about {percent(best.shrunken)} after launch: the top rate is flattered by luck."
    ]


def _few_data(result: Analysis) -> list[str]:
    """Say which levels rest on few clicks."""
    few = result.levels.filter(pl.col("clicked") < _FEW)
    clicks = int(result.counts.clicked.sum())
    if few.is_empty():
        return []
    each = [f"{row['factor']} '{row['level']}' {row['clicked']}" for row in few.to_dicts()]
    return [f"Few data: {amount(clicks, 'click')} in all, of these {some_of(each)}. Expect the answer to change."]


def _next_step(result: Analysis) -> str:
    """Say what to do next."""
    counts = result.counts
    if max(counts.sizes) == 1:
        return f"Next: show some visitors another {counts.factors[0]}: one alone has nothing to be compared with."
    if result.mismatch is not None:
        causes = "redirects, bots, a variant that loads or is counted less often"
        meant = "or say that the split was meant to be uneven: --uneven (in Python uneven=True)"
        return f"Next: find out why visitors are missing ({causes}), {meant}."
    if result.doubtful:
        misfit = None if result.check is None else result.check.misfit
        if misfit is not None and misfit.costs_little:
            lost = f"that loses {misfit.at_most} of the best clicks"
            return f"Next: show {combination_text(result.winner.levels)}; level by level is good enough, too: {lost}."
        policy = recommend(rank1=False).policy.name
        return f"Next: judge combinations as wholes, not level by level; live, with the policy {policy}."
    if result.groups:
        factor, groups = next(iter(result.groups.items()))
        pair = f"{factor} '{groups[0][0]}' with what '{groups[1][0]}' was shown with"
        pair += "" if counts.slices is None else f", {_at(result)} the same {counts.period}s"
        return f"Next: let the groups meet: show {pair}, for example."
    if counts.adaptive:
        return "Next: go by the report of the experiment that collected these counts (`rankone experiments`)."
    if result.decided:
        first = "" if result.best_was_shown else " to some visitors first, as nobody has seen it yet"
        return f"Next: show {combination_text(result.best)}{first}."
    open_factors = [factor for factor, able in result.candidates.items() if len(able) > 1]
    return f"Next: more visitors are needed to settle {listed(open_factors)}.{_visitors(result)}"


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


def assumes(result: Analysis) -> str:
    """Say in a line what every statement rests on."""
    split, add = "a random split in fixed shares", ""
    if result.counts.slices is not None:
        each = f"{_at(result)} each {result.counts.period}"
        split = f"a random split {each} (shares and click rates may move {_steps(result)})"
    elif not result.counts.adaptive:
        add = " Add a date column if click rates or shares moved."
    needed = [split, "each visitor counted once"]
    if len(result.counts.factors) > 1:
        doubt = " (which is doubtful; the rate of the best as observed does not need it)" if result.doubtful else ""
        needed.append(f"effects that multiply{doubt}")
    return f"Assumes: {'; '.join(needed)}.{add}"


def _steps(result: Analysis) -> str:
    return f"from {result.counts.period} to {result.counts.period}"


def _at(result: Analysis) -> str:
    return "on" if result.counts.period == "day" else "in"


def _conditions(result: Analysis) -> list[str]:
    """Say how sure the statements are, and what they allow for."""
    sure = percent(result.confidence)
    together = (
        f"All statements on which levels are the best hold together with {sure} confidence. Each interval holds with "
        f"{sure} confidence and is corrected for picking the winner."
    )
    return [
        *([together] if result.proves and max(result.counts.sizes) > 1 else []),
        *_scatter(result),
    ]


def _scatter(result: Analysis) -> list[str]:
    """Say how much clicks scatter, and what levels do from day to day."""
    slices, scatter, said = result.counts.slices, result.day_scatter, [f"{result.dispersion.sentence}."]
    if slices is None or result.dispersion.origin == "given":
        return said
    many = f"{len(slices.names)} {result.counts.period}s are too few to tell"
    if result.dispersion.origin == "none":
        return [f"{many} how much noisier than chance real traffic is; intervals may be too short."]
    if not scatter:
        return [*said, f"{many} how much levels move on their own; this is ignored."]
    moved = ", ".join(f"{percent(sd)} ({factor})" for factor, sd in scatter.items() if sd >= _NO_MOVE)
    from_to = _steps(result).capitalize()
    alone = f"{from_to} a level's rate moves on its own by about {moved}; intervals allow for that."
    return [*said, alone] if moved else said


def level_columns(result: Analysis) -> pl.DataFrame:
    """Return the table of levels for people."""
    names = ["factor", "level", "shown", "clicked"]
    rate = pl.col("rate").map_elements(percent, pl.String)
    effects = [_effects(result.levels, "", "best")]
    if result.control is not None:
        effects.append(_effects(result.levels, "control_", "control"))
    return result.levels.select(*names, rate, *effects)


def _effects(levels: pl.DataFrame, prefix: str, to: str) -> pl.Series:
    """Return each level against the best one or the control, in words."""
    ends = levels.select(f"{prefix}{name}" for name in ("ratio", "low", "high")).iter_rows()
    said = [f"the {to}" if own == (1.0, 1.0, 1.0) else effect_text(*own) for own in ends]
    return pl.Series(f"against the {to}", said, pl.String)
