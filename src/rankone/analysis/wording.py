"""What an analysis says, in sentences; each names its condition."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from rankone.analysis.product.best import Bounded
from rankone.notebook import text_table
from rankone.simulation import recommend
from rankone.specs import amount
from rankone.wording.combinations import combination_text
from rankone.wording.lists import listed, quoted, some_of
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
_BEFORE = ("certainty", "control", "few data")
_AFTER = ("winner", "rank1", "next", "conditions")
#: What is said where, by part: as text, in a notebook, and as the remarks and the warning of a report.
TEXT = (("mismatch", "assumed", "answer", "adaptive", *_BEFORE), _AFTER, ("notes",))
NOTEBOOK = (("assumed", "adaptive", *_BEFORE), (*_AFTER, "notes"))
REMARKS, WARNING = ("assumed", "certainty", "control", *_AFTER, "notes"), ("mismatch", "adaptive", "few data")


def sentences(result: Analysis, *parts: str) -> list[str]:
    """Return what an analysis says of some parts of it, in this order."""
    counts = result.counts
    said = {
        "mismatch": [] if result.mismatch is None else [result.mismatch.sentence],
        "assumed": [assumes(result)] if _is_assumed_first(result) else [],
        "answer": [answer(result)],
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
    """Return the answer as a page of text."""
    head, after, notes = (sentences(result, *parts) for parts in TEXT)
    return "\n".join([*head, *text_table(level_columns(result)), "", *after, "", *notes]).rstrip()


def _clicked(result: Bounded) -> str:
    return f"clicked {_with_interval(result, ' of the time')}"


def _with_interval(result: Bounded, unit: str = "") -> str:
    return f"{percent(result.value)}{unit} ({percent(result.low)} to {percent(result.high)})"


def answer(result: Analysis) -> str:
    """Say which combination is best, and whether that is sure."""
    if max(result.counts.sizes) == 1:
        return f"Only one combination was counted: {combination_text(result.best)}, {_clicked(result.rate)}."
    if result.doubtful or result.groups:
        return f"Best as observed: {combination_text(result.winner.levels)}, {_clicked(result.winner.rate)}."
    sure = result.decided and result.best_was_shown
    predicted = "" if result.best_was_shown else ", never shown together: the product of its levels predicts that it is"
    return f"{'Best' if sure else 'Best so far'}: {combination_text(result.best)}{predicted}, {_clicked(result.rate)}."


def _certainty(result: Analysis) -> list[str]:
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


def _is_assumed_first(result: Analysis) -> bool:
    """Whether nothing in the table can tell if the assumptions hold: then they come before the answer."""
    return result.counts.slices is None and not result.counts.adaptive


def _conditions(result: Analysis) -> list[str]:
    """Say how sure the statements are, and what they allow for."""
    sure = percent(result.confidence)
    together = (
        f"All statements on which levels are the best hold together with {sure} confidence; each interval holds with "
        f"{sure} confidence, however the best was picked."
    )
    return [
        *([] if _is_assumed_first(result) else [assumes(result)]),
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
