"""The headline of a report, at most 25 words, and what it assumes. Plain Python: a client reads both.

Which bases statements have: `rankone.live.verdict.verdict`. That outcomes of all levels are told equally completely is
tested (`Shortfall`); that they are told equally promptly, which statements need without a window, is not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rankone.live.report.ranking_report import list_assumes, list_headline
from rankone.specs import amount
from rankone.wording.combinations import brief_combination
from rankone.wording.lists import cut_text
from rankone.wording.numbers import percent
from rankone.wording.ratios import effect_text

if TYPE_CHECKING:
    from rankone.live.report.report import Report

LEARNED = ("clicked", "not_clicked", "expired")  # outcomes that count
_SHORT = 5  # words of a combination where a headline names two


def headline(report: Report) -> str:
    """Say in at most 25 words what won or leads, and what every visitor sees if the experiment was stopped."""
    if report.ranking is not None:
        return (not report.stopped and nothing_known(report)) or list_headline(report, report.ranking)
    if report.stopped:
        return _stopped(report)
    unknown = nothing_known(report)
    if unknown:
        return unknown
    best = brief_combination(report.best, 11 if report.steering is None else 9)
    if report.drawn is not None:
        best = f"For all visitors together {brief_combination(report.best, _SHORT)}"
    figure, sure = figure_text(report), _sure(report)
    if report.shortfalls:
        return f"{best} looks best ({figure}), but outcomes are not reported equally: check your traffic."
    if report.decided and report.doubted:
        why = "clicks changed during the test" if report.doubted[-1].what == "change" else "its parts interact"
        return f"{best} looks best ({figure}), but {why}: see the alarm."
    if len(single_factors(report)) == len(report.factors):
        return f"{best} is the only combination: {figure}."
    held = [goal.name for goal in report.goals if goal.holds_back]
    if held and 1.0 - report.confidence <= report.error_rate:
        best = brief_combination(report.best, _SHORT)
        return f"{best} is best ({figure}), but guardrail '{cut_text(held[0], 3)}' does not allow a winner yet."
    if report.good_enough:
        return f"{best} is good enough: {figure}; nothing beats it by more than {percent(report.margin, 2)}. {sure}."
    if report.decided:
        return f"{best} wins: {figure}{_over_next(report)}. {sure}."
    if report.basis == "steady":
        best = best if report.drawn is not None else brief_combination(report.best, 9)
        return f"{best} has the highest rate, {figure}; too little random traffic to prove it."
    return f"{best} is ahead, not proven yet: {figure}."


def nothing_known(report: Report) -> str:
    """Say why nothing leads; empty: something does."""
    clicked, outcomes = (sum(report.outcomes[kind] for kind in kinds) for kinds in (("clicked",), LEARNED))
    if not outcomes:
        return f"No outcomes yet: {amount(report.decisions, 'decision')} so far."
    of_all = f"{clicked:,} of {amount(outcomes, 'visitor')} clicked"
    if report.steering is not None:  # what counts as a click is rounded
        levels = [level for level in report.steering.levels if level.factor == report.factors[0].name]
        brought, visitors = (sum(getattr(level, what) for level in levels) for what in ("outcomes", "visitors"))
        of_all = f"{brought:,} of {amount(visitors, 'visitor')} with '{cut_text(report.steering.name, 5)}'"
    if report.fault:
        return f"No result because of a fault in the program: {of_all}."
    return "" if report.leads else f"Not enough data yet: {of_all}."


def figure_text(report: Report) -> str:
    """Say how often what leads was clicked, or what it earned per visitor."""
    leader = report.leader
    values = [value for value in (leader.rate, leader.low, leader.high) if value is not None]
    if leader.rate is None:
        return "click rate not known yet" if report.steering is None else "average not known yet"
    if report.steering is None:
        texts, unit = [percent(value) for value in values], "clicked"
    else:
        texts, unit = [f"{value * report.steering.cap:,.3g}" for value in values], "per visitor"
    return f"{texts[0]} {unit}" if len(texts) < 3 else f"{texts[0]} ({texts[1]} to {texts[2]}) {unit}"


def single_factors(report: Report) -> list[str]:
    """Return the factors of which one level is left."""
    return [factor.name for factor in report.factors if sum(level.live for level in factor.levels) == 1]


def _sure(report: Report) -> str:
    return f"{percent(1.0 - report.error_rate)} sure"


def _over_next(report: Report) -> str:
    """Say how many more clicks the winner has than the next level of the first factor that has several."""
    alone = single_factors(report)
    factor = next(each for each in report.factors if each.name not in alone)
    rivals = [
        each for each in factor.levels if each.live and each.name != factor.best and each.ratio and each.ratio_low
    ]
    if not rivals:
        return ""  # all others are beaten, with too few clicks for an interval
    rival = max(rivals, key=lambda each: each.ratio or 0.0)
    ratio, low, high = (1.0 / each for each in (rival.ratio or math.nan, rival.ratio_high or math.inf, rival.ratio_low))
    what = factor.name if len(factor.name.split()) < 3 else "level"
    return f", {effect_text(ratio, low, high, wins=True)} over the next {what}"


def _stopped(report: Report) -> str:
    shown = report.shown or {}
    sees, unknown = f"Stopped: everyone sees {brief_combination(shown)}", nothing_known(report)
    if unknown:
        return f"{sees}. {unknown.split(':')[0]}."
    if shown != report.best:
        best = brief_combination(report.best, _SHORT)
        state = "had won" if _proven(report) else "was ahead, not proven"
        return f"Stopped: everyone sees {brief_combination(shown, _SHORT)}; {best} {state}."
    if report.decided and _proven(report):
        won = f"within {percent(report.margin, 2)} of the best" if report.good_enough else "the winner"
        return f"{sees}, {won}: {figure_text(report)}. {_sure(report)}."
    return f"{sees}, not proven best: {figure_text(report)}."


def _proven(report: Report) -> bool:
    return report.decided and not report.shortfalls and not report.doubted


def assumes(report: Report) -> str:
    """Say in a line what the statements rest on; empty where nothing is stated."""
    if nothing_known(report):
        return ""
    if report.ranking is not None:
        return list_assumes(report)
    mix = "" if report.drawn is None else "the mix of visitors and "
    if report.basis != "any":
        return f"Assumes: {mix}click rates do not change over time."
    multiply = "" if len(report.factors) == 1 else "multiply and "
    promptly = "" if report.window else " and promptly"
    reported = f"outcomes are reported equally completely{promptly} for every level"
    return f"Assumes: {mix}effects {multiply}stay constant; {reported}."
