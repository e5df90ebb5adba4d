"""What an analysis says, in sentences; each names its condition."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from rankone.simulation import recommend
from rankone.specs import amount
from rankone.wording.combinations import brief_combination, combination_text
from rankone.wording.lists import cut_text, listed, quoted, some_of
from rankone.wording.numbers import count_text, percent, rate_text
from rankone.wording.ratios import FEW, FEW_CLICKS, effect_text, signed_percent

if TYPE_CHECKING:
    from rankone.analysis.product.best import Bounded
    from rankone.analysis.result import Analysis

_FEW_NAMES, _MOST_ROWS = 5, 20
_NO_MOVE = 0.001  # of a rate
_FEWEST_CLICKS = 50  # with fewer nothing is said of visitors still needed
_TIMES = 100  # as many visitors as there were: nobody waits for more


_ADAPTIVE = (
    "Warning: a policy chose what to show by its clicks, so losers look worse than they are and intervals are too "
    "short. The experiment's own report allows for this."
)
#: What is said where, by part: around the table of a text and a notebook, and as the warning and remarks of a report.
WARNING = ("mismatch", "adaptive", "few data")
NOTES, AFTER = ("adaptive", "few data", "certainty", "control"), ("winner", "next", "notes")
REMARKS = ("assumed", "certainty", "control", *AFTER)
DETAILS = ("rate", "rank1", "conditions")


def sentences(result: Analysis, *parts: str) -> list[str]:
    """Return what an analysis says of some parts of it, in this order."""
    counts = result.counts
    said = {
        "mismatch": [] if result.mismatch is None else [result.mismatch.sentence],
        "assumed": [assumes(result)],
        "rate": _fitted(result),
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


def _fitted(result: Analysis) -> list[str]:
    """Say what the product of levels makes of the best combination's rate, where that is another figure."""
    if result.doubtful or result.groups or max(result.counts.sizes) == 1 or len(result.counts.factors) == 1:
        return []
    return [f"Click rate of {combination_text(result.best)}, from all data: {rate_text(*result.rate)}."]


def headline(result: Analysis) -> str:
    """Say in at most 25 words which combination is the best, and whether that is proven."""
    if max(result.counts.sizes) == 1:
        clicked = percent(result.rate.value)
        return f"Nothing to compare: only {brief_combination(result.best)} was shown, {clicked} clicked."
    if not _enough(result):
        return f"Not enough data yet: {amount(int(result.counts.clicked.sum()), 'click')} in all, no clear winner."
    leader, rate = _leader(result)
    best = brief_combination(leader)
    if result.doubtful:
        return f"{best} has the highest rate: {rate_text(*rate)} clicked. Factors seem to interact, so no winner yet."
    if not (result.decided and result.best_was_shown):
        clicked = "clicked" if result.best_was_shown else "expected, never shown together"
        return f"{best} is ahead, not proven yet: {rate_text(*rate)} {clicked}."
    factor = next(name for name, size in zip(result.counts.factors, result.counts.sizes, strict=True) if size > 1)
    rivals = result.levels.filter(factor=factor).filter(pl.col("level") != result.best[factor]).sort("ratio")
    ratio, low, high = rivals.select("ratio", "low", "high").row(-1)
    ratio, low, high = (1.0 / end if end > 0.0 else math.inf for end in (ratio, high, low))
    effect = effect_text(ratio, low, high, wins=True)
    over = f"{effect} over the next {cut_text(factor, 3)}"
    clicked = rate_text(rate.value, rate.low, rate.high, interval=False)
    return f"{best} wins: {clicked} clicked, {over}. {percent(result.confidence)} sure."


def _leader(result: Analysis) -> tuple[dict[str, str], Bounded]:
    observed = result.doubtful or bool(result.groups)
    return (result.winner.levels, result.winner.rate) if observed else (result.best, result.rate)


def _enough(result: Analysis) -> bool:
    clicks = {(row["factor"], row["level"]): row["clicked"] for row in result.levels.iter_rows(named=True)}
    return result.decided or min(clicks[own] for own in _leader(result)[0].items()) >= FEW_CLICKS


def _certainty(result: Analysis) -> list[str]:
    lines = []
    if result.check is not None and result.doubtful:
        return [f"{listed(result.counts.factors).capitalize()} seem to interact, so only combinations are compared."]
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
            lines.append(f"{factor}: no clear winner yet between {listed(_few(able))}; the others are out.")
    undecided = any(len(able) > 1 for able in result.candidates.values())
    if undecided and result.proves and not result.groups and _enough(result):
        lines.append(
            f"At worst {combination_text(result.best)} loses {percent(result.at_most_lost, 2)} of possible clicks."
        )
    return lines


def _apart(result: Analysis, factor: str) -> str:
    groups = result.groups[factor]
    apart = " with ".join(some_of(quoted(group)) for group in groups)
    if len(groups) > 2:
        apart = some_of(quoted([name for group in groups for name in group]))
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
    return f"{factor}: cannot compare {apart}, because {why}."


def _against_control(result: Analysis) -> list[str]:
    ratio, alone = result.against_control, max(result.counts.sizes) == 1
    if result.control is None or ratio is None or result.doubtful or alone:
        return []
    control = combination_text(result.control)
    if result.control == result.best:
        return [f"The control, {control}, is the best so far."]
    if math.isnan(ratio.value):
        return [f"Cannot compare with the control, {control}: they share too few levels."]
    return [f"Against the control, {control}: {effect_text(*ratio)} clicks."]


def _winner(result: Analysis) -> list[str]:
    best = result.winner
    if result.combinations.height < 2 or not _enough(result):
        return []
    rate = rate_text(*best.rate)
    if result.counts.slices is not None:
        rate = f"{_at(result)} an average {result.counts.period} {rate}"
    found, expect = (rate_text(each, *best.rate[1:], interval=False) for each in (best.rate[0], best.shrunken))
    luck = f" Expect about {expect} after launch: the top rate is flattered by luck."
    flattered = best.shrunken < best.rate[0] and expect != found
    of = f"{best.clicked:,} of {best.shown:,}"
    return [f"Highest observed rate: {combination_text(best.levels)}, {of}, {rate}.{luck if flattered else ''}"]


def _few_data(result: Analysis) -> list[str]:
    few = result.levels.filter(pl.col("clicked") < FEW_CLICKS)
    clicks = int(result.counts.clicked.sum())
    if few.is_empty():
        return []
    each = [f"{row['factor']} '{row['level']}' {row['clicked']}" for row in few.to_dicts()]
    return [f"Only {amount(clicks, 'click')} in all ({some_of(each)}): expect this answer to change."]


def _next_step(result: Analysis) -> str:
    counts = result.counts
    if max(counts.sizes) == 1:
        return f"Next: show another {counts.factors[0]} to some visitors."
    if result.mismatch is not None:
        causes = "redirects, bots, a variant that loads more slowly"
        return f"Next: find out why visitors are missing ({causes}), or pass --uneven if no equal split was meant."
    if result.doubtful:
        misfit = None if result.check is None else result.check.misfit
        if misfit is not None and misfit.costs_little:
            lost = f"choosing level by level loses {misfit.at_most} of possible clicks"
            return f"Next: show {combination_text(result.winner.levels)}; {lost}."
        policy = recommend(rank1=False).policy.name
        return f"Next: test whole combinations; in a live experiment, with the policy {policy}."
    if result.groups:
        factor, groups = next(iter(result.groups.items()))
        pair = f"{factor} '{groups[0][0]}' with what '{groups[1][0]}' was shown with"
        pair += "" if counts.slices is None else f", {_at(result)} the same {counts.period}s"
        return f"Next: connect the groups: show {pair}, for example."
    if counts.adaptive:
        return "Next: read the report of the experiment that collected these counts (`rankone experiments`)."
    if result.decided:
        first = "" if result.best_was_shown else " to some visitors first: they were never shown together"
        return f"Next: show {combination_text(result.best)}{first}."
    open_factors = [factor for factor, able in result.candidates.items() if len(able) > 1]
    return f"Next: more visitors to settle {listed(open_factors)}.{_visitors(result)}"


def _visitors(result: Analysis) -> str:
    said = ""
    if result.counts.clicked.sum() < _FEWEST_CLICKS:
        return said
    if math.isfinite(result.needed) and result.needed > _TIMES * result.counts.shown.sum():
        said = f" The best are so close that this takes more than {_TIMES} times the visitors so far."
    elif math.isfinite(result.needed):
        said = f" If these differences are real: about {count_text(max(result.needed, 10.0))} more, split as before."
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
    if len(result.counts.factors) > 1 and not result.doubtful:  # single combinations are compared then
        needed.append("effects that multiply")
    return f"Assumes: {'; '.join(needed)}.{add}"


def _steps(result: Analysis) -> str:
    return f"from {result.counts.period} to {result.counts.period}"


def _at(result: Analysis) -> str:
    return "on" if result.counts.period == "day" else "in"


def _conditions(result: Analysis) -> list[str]:
    sure = f"{percent(result.confidence)} confidence"
    together = f"The statements on which levels are best hold together with {sure}. "
    each = f"Each interval holds with {sure} and is corrected for picking the winner."
    proven = result.proves and max(result.counts.sizes) > 1 and not result.doubtful
    return [*([together + each] if proven else []), *_scatter(result)]


def _scatter(result: Analysis) -> list[str]:
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


def main_table(result: Analysis) -> pl.DataFrame:
    """Return the table under the headline: levels, or combinations where these interact."""
    if not result.doubtful:
        return level_columns(result)
    table = result.combinations.sort("rate", descending=True, maintain_order=True).head(_MOST_ROWS)
    rate = pl.col("rate").map_elements(percent, pl.String)
    expected = pl.col("fitted").map_elements(percent, pl.String).alias("without interaction")
    return table.select(*result.counts.factors, "shown", "clicked", rate, expected)


def level_columns(result: Analysis) -> pl.DataFrame:
    """Return the table of levels for people."""
    names = ["factor", "level", "shown", "clicked"]
    rate = pl.col("rate").map_elements(percent, pl.String)
    effects = [_effects(result, "", "best")]
    if result.control is not None:
        effects.append(_effects(result, "control_", "control"))
    return result.levels.select(*names, rate, *effects)


def _effects(result: Analysis, prefix: str, to: str) -> pl.Series:
    own = f"the {to}" if to == "control" or result.proves else "ahead, not proven"
    alone = {factor for factor, size in zip(result.counts.factors, result.counts.sizes, strict=True) if size == 1}
    rows = result.levels.select("factor", "clicked", *(f"{prefix}{name}" for name in ("ratio", "low", "high")))
    said = [
        "the only one" if factor in alone else own if set(ends) == {1.0} else _effect(clicks, ends, to)
        for factor, clicks, *ends in rows.iter_rows()
    ]
    return pl.Series(f"against the {to}", said, pl.String)


def _effect(clicks: int, own: list[float], to: str) -> str:
    """Write an effect; "not enough data" where few clicks leave open which of the two is better."""
    ratio, low, high = own
    if clicks < FEW_CLICKS and low < 1.0 <= high:
        return FEW
    return f"ahead, at worst {signed_percent(low)}" if ratio == 1.0 and to == "best" else effect_text(ratio, low, high)


def _few(names: list[str]) -> list[str]:
    return (
        quoted(names) if len(names) <= _FEW_NAMES else [*quoted(names[:_FEW_NAMES]), f"{len(names) - _FEW_NAMES} more"]
    )
