"""How a report is put into words. Every statement has its condition in the same sentence.

On the basis "any" it is the product model alone: each row changes clicks by a factor of its own, the same with every
column and at all times, while the click rate of the whole site may move as it likes; and that outcomes of all levels
come back alike, which is tested (`Shortfall`) where outcomes are told, and with a window as far as decisions are
voided; without a window also that they come equally soon, which is not tested. On the basis "steady" nothing may move
(`rankone.serving.verdict` says which basis there is). Plain Python: a client reads a report too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rankone.serving.alarm_wording import alarm_texts
from rankone.serving.clock import AHEAD
from rankone.serving.names import combination_text, factor_text
from rankone.serving.ratio_wording import between_text, compared_text, part_of, percent
from rankone.serving.segment_report import leaders_beaten
from rankone.specs import amount, duration

if TYPE_CHECKING:
    from rankone.serving.report import FactorReport, LevelReport, Report

_WITH = "rate with the leader"  # what the rate of a level is measured with
NOT_KNOWN = "policy not known here: import the module that defines it"
TRAFFIC_ERROR = 0.001  # of a warning about traffic
_MODEL = (
    "if each row changes clicks by the same factor with every column at all times and outcomes of all levels come back "
    "alike"
)
_MODEL_OF_FACTORS = _MODEL.replace("each row", "each level").replace("with every column", "whatever it is shown with")
_ADDED = re.compile(r"(?P<what>(row|col|factor|level of '.*') '.*'|level '.*' of '.*') added.*")  # why an era began
_UNTESTED = " (with a window silence is an outcome, so this can be tested by voided decisions only)"
_UNTIMED = " and equally soon"  # without a window outcomes are weighed as they come, and the sooner looks better
_STRIKING = 0.05  # p-values of levels that seem to act together
_SLOW = 0.1  # who explores less than this waits long for a verdict
_FEW = 5  # names that a sentence lists
_RATE = len("100.0% (100.0% - 100.0%)")  # characters


def told(report: Report) -> str:
    """Return what a report says, in a few sentences; `headline` is how they begin."""
    unknown = [] if report.policy_known else [f"P{NOT_KNOWN[1:]}; until then nothing can be asked or told."]
    said = [
        *alarm_texts(report, _come_back(report)),
        *_reward(report),
        *_anew(report),
        *_uplift(report),
        *_left(report),
        *_traffic(report),
        *_waiting(report),
        *alone_text(report),
    ]
    said += [*_together(report), *_even(report), *_segments(report), *prior_text(report), *_forbidden(report)]
    said += [*_crowded(report), *_clock(report), *unknown]
    return " ".join([headline(report) + _standing(report)[1], *said])


def headline(report: Report) -> str:
    """Return what visitors see if it was stopped, and what leads or has won."""
    shown = combination_text(report.shown_levels or {})
    stopped = [f"Stopped ({report.stopped}): every visitor now sees {shown}."] if report.stopped else []
    again = [f"It experiments again: {report.resumed}."] if report.resumed else []
    return " ".join([*stopped, *again, _standing(report)[0]])


def condition(report: Report, whose: str = "the whole site") -> str:
    """Return under which condition the statements of a report hold; `whose` click rate may move."""
    if report.basis == "any":
        model = (_MODEL if report.are_pair else _MODEL_OF_FACTORS) + (_UNTESTED if report.window else _UNTIMED)
        if whose == "each segment":
            model = model.replace("if each", "if within a segment each", 1)
        return f"however often you look and however the click rate of {whose} moves, {model}"
    return "while click rates stay as they are, however often you look"


def _come_back(report: Report) -> str:
    """Say what statements about clicks need of outcomes."""
    return "outcomes of all levels come back alike" + ("" if report.window else _UNTIMED)


def _standing(report: Report) -> tuple[str, str]:
    """Return what leads or has won, and how the sentence goes on: how sure that is, and what it rests on."""
    if report.outcomes["clicked"] + report.outcomes["not_clicked"] + report.outcomes["expired"] == 0:
        return f"No outcomes yet: {amount(report.decisions, 'decision')} given out, nothing is known so far.", ""
    pair = combination_text(report.best)
    figures = f"{percent(report.rate)} clicks"
    # An interval of a rate would have to say of which time: under "any" the rate of the site may move.
    figures += " so far" if report.basis == "any" else f", between {percent(report.low)} and {percent(report.high)}"
    wrong = f"wrong with probability at most {report.error_rate:g} {condition(report)}"
    if report.decided and report.shortfalls:
        return f"{pair} looks like the winner ({figures})", ", but outcomes do not come back alike: that may be wrong."
    if report.decided and report.doubted:
        rang = report.doubted[-1].what
        why = "clicks of its levels changed meanwhile" if rang == "change" else "levels are no product here"
        return f"{pair} looks like the winner ({figures})", f", but {why}: that may be wrong."
    if not report.are_pair and len(_single(report)) == len(report.factors):
        return f"{pair} is all there is to show ({figures})", "."
    if report.good_enough:
        what = "pair" if report.are_pair else "combination"
        enough = f"no {what} has more than {part_of(report.margin)} more clicks"
        return f"{pair} is good enough ({figures})", f": {enough}, {wrong}."
    if report.decided:
        return f"{pair} has won ({figures})", f": {wrong}."
    levels = [[level.in_race for level in factor.levels if level.live] for factor in report.factors]
    alone = () if report.are_pair or len(_single(report)) == len(levels) else _single(report)
    racing = _listed(
        [
            _of(sum(found), len(found), factor_text(factor.name), report.are_pair)
            for found, factor in zip(levels, report.factors, strict=True)
            if factor.name not in alone
        ]
    )
    out = not (report.stopped or all(map(all, levels)))
    sure = (
        "too early to be sure"
        if report.confidence < 0.5
        else f"wrong with probability at most {percent(1.0 - report.confidence)}"
    )
    said = f"{pair} leads ({figures}), {sure}"
    said += "" if report.stopped else f"; {racing} are still in the race"
    rests = f" (the others are out with an error of at most {report.error_rate:g})" if out else ""
    return said, rests + (f": this holds {condition(report)}." if out or report.confidence >= 0.5 else ".")


def _single(report: Report) -> list[str]:
    """Return the factors of which one level is left."""
    return [factor.name for factor in report.factors if sum(level.live for level in factor.levels) == 1]


def alone_text(report: Report) -> list[str]:
    """Say about which factors there is nothing to find out; of one row or one column the counts say it."""
    found = [] if report.are_pair else _single(report)
    if not found:
        return []
    named = _listed([f"'{name}'" for name in found])
    one, them = ("has one level", "it") if len(found) == 1 else ("have one level each", "them")
    return [f"{named} {one}, so there is nothing to find out about {them}."]


def _of(count: int, among: int, what: str, are_pair: bool) -> str:
    if not are_pair:  # names that people gave have no plural
        return f"{count:,} of {amount(among, 'level')} of '{what}'"
    return amount(count, what) if count == among else f"{count:,} of {amount(among, what)}"


def _listed(parts: Sequence[str]) -> str:
    """Return parts as a sentence lists them.

    >>> _listed(["a", "b"]), _listed(["a", "b", "c"])
    ('a and b', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _reward(report: Report) -> list[str]:
    if report.reward_cap is None or report.rate is None:
        return []
    mean, low, high = (f"{share * report.reward_cap:,.4g}" for share in (report.rate, report.low, report.high))
    between = "so far" if report.basis == "any" else f"between {low} and {high} while rewards stay as they are"
    return [f"Clicks are rounded rewards of at most {report.reward_cap:g}: {mean} on average, {between}."]


def _anew(report: Report) -> list[str]:
    """Say what began a new statement: a level that was added, outcomes that were excluded."""
    own = "the verdict since then is a new statement, with an error of its own."
    added = [found for why in report.eras[1:] if (found := _ADDED.fullmatch(why))]
    said = []
    if added:
        what = re.sub("^col ", "column ", added[-1]["what"])
        said.append(f"{what[0].upper()}{what[1:]} was added: {own}")
    if report.excluded:
        were = "was" if report.excluded == 1 else "were"
        said.append(f"{amount(report.excluded, 'outcome')} {were} excluded: {own}")
    return said


def prior_text(report: Report) -> list[str]:
    """Say which past counts the policy began with."""
    if not report.prior_impressions:
        return []
    seen = amount(report.prior_impressions, "past impression")
    if report.prior_weight is None:
        return [f"The policy began with {seen}; no statement rests on them."]
    names = [f"'{name}'" for name in report.prior_left_out[:_FEW]]
    more = len(report.prior_left_out) - len(names)
    said = (
        f"The policy began with {seen}, each counted for {report.prior_weight:g} at most; no statement rests on them."
    )
    if not names:
        return [said]
    others = ", ".join(names) + (f" and {more:,} more" if more else "")
    return [said, f"Past counts of {others} were left out, as the experiment has no such level."]


def _segments(report: Report) -> list[str]:
    """Say that a statement about all visitors needs ratios that they share, where it is proven that they do not."""
    if report.segments is None or not (report.segments.depends or leaders_beaten(report)):
        return []
    why = "What is best depends on the segment" if report.segments.depends else "Not every segment agrees with that"
    return [f"{why}, so this is no statement about the visitors of each of them."]


def _forbidden(report: Report) -> list[str]:
    if not report.forbidden:
        return []
    some = "; ".join(combination_text(levels) for levels in report.forbidden[:3])
    more = f" and {len(report.forbidden) - 3} more" if len(report.forbidden) > 3 else ""
    then = "where the best levels are forbidden together, several combinations may look best from all sides"
    return [f"Never shown together: {some}{more}; {then}, and no winner is stated."]


def _together(report: Report) -> list[str]:
    """Say which levels of two factors seem to act together, where chance does not explain it."""
    sure = [each for each in report.interactions if each.p <= _STRIKING]
    if not sure:
        return []
    first, (one, two) = sure[0], sure[0].levels.items()
    more = f" (and {len(sure) - 1} more such)" if len(sure) > 1 else ""
    chance = f"p {'<' if first.p < 0.001 else '='} {max(first.p, 0.001):.2g} for all such comparisons together, at one "
    than = "as" if first.times >= 2.0 else "than"
    said = f"{_listed(list(first.levels))} seem to act together{more}: with {two[0]} '{two[1]}', {one[0]} '{one[1]}' "
    said += f"has {compared_text(first.times)} clicks for each click on '{first.other}' {than} with other levels of "
    said += f"{two[0]} ({chance}look, whatever the click rate of the whole site does, if each level keeps its ratio to "
    said += f"the others at all times and {_come_back(report)})"
    return [f"{said}; where factors act together the best combination may be another."]


def _even(report: Report) -> list[str]:
    """Say what an even test would have earned; of rows and columns the page says it."""
    if report.even_clicks is None or len(report.factors) < 3:
        return []
    had = sum(level.clicks for level in report.factors[0].levels)  # of the time that the other figure is of
    when = "since all was begun anew" if any(alarm.did == "restart" for alarm in report.alarms) else "by now"
    even = f"An even test of all combinations would have had about {report.even_clicks:,.0f} clicks {when}"
    return [f"{even} instead of {had:,}, if click rates are products and stay as they are."]


def _uplift(report: Report) -> list[str]:
    if report.control_levels is None or report.basis != "any" or report.rate is None:
        return []
    control = f"the control {combination_text(report.control_levels)}"
    if report.best == report.control_levels:
        return [f"What leads is {control} itself."]
    if report.uplift is None or report.uplift_high is None:
        return [f"How it compares with {control} is not known yet."]
    between = between_text(1.0 + report.uplift_low, 1.0 + report.uplift_high)
    model = "row times column" if report.are_pair else "one level times the other"
    wrong = f"wrong with probability at most {report.error_rate:g}, by the same model: {model}"
    than = "as" if report.uplift >= 1.0 else "than"
    return [f"It has {compared_text(1.0 + report.uplift)} clicks {than} {control}, {between} ({wrong})."]


def _left(report: Report) -> list[str]:
    if report.decided or report.stopped or not report.explore or report.basis != "any":
        return []
    slow = f"it explores with {part_of(report.explore)} of its decisions only, to earn more meanwhile"
    do = "goal 'both' decides sooner, and a margin settles near ties"
    if report.visitors_left is None:
        return [f"A verdict may take long: {slow}; {do}."] if report.goal == "earn" else []
    few, many = report.visitors_left
    up_to = "" if few == many else f" to {many:,}"
    said = f"At its present estimates a verdict needs about {few:,}{up_to} more visitors"
    if report.seconds_left is not None:
        soon, late = (duration(seconds, rounded=True) for seconds in report.seconds_left)
        said += f", which at the traffic so far is {soon}" + (f" to {late}" if late != soon else "")
    said += "; such a guess is right about four times in five"
    if report.explore < _SLOW:
        said += f", and it is long because {slow}: {do}"
    return [f"{said}."]


def _traffic(report: Report) -> list[str]:
    if not report.shortfalls:
        return []
    worst = report.shortfalls[0]
    more = f" (and {len(report.shortfalls) - 1} more)" if len(report.shortfalls) > 1 else ""
    share = f" ({percent(worst.told)} of its decisions against {percent(worst.other_told)})"
    share = share if worst.told < worst.other_told else ""
    seen = f"fewer outcomes came back of {worst.side} '{worst.name}' than of '{worst.other}' for what was chosen{share}"
    once = f"which by chance happens in one experiment of {round(1 / TRAFFIC_ERROR):,}"
    said = (
        f"Check your traffic: {seen}{more}, {once}. Look for pages that fail, caches and bots before you trust a result"
    )
    late = "; outcomes that take longer for some levels than for others can look like this too"
    return [said + ("." if report.window else f"{late}.")]


def _waiting(report: Report) -> list[str]:
    held = report.outcomes["held"]
    are = "is" if held == 1 else "are"
    window = f"the window of {duration(report.window or 0)}"
    return [f"{amount(held, 'outcome')} told {are} held until {window} is over."] if held else []


def _crowded(report: Report) -> list[str]:
    voided = report.voided_by_age
    if not voided:
        return []
    were = f"{amount(voided, 'decision')} without an outcome {'was' if voided == 1 else 'were'}"
    do = "tell or void what you ask, or make the experiment with a window or a larger max_open"
    return [f"{were} voided for age, to make room: {do}."]


def _clock(report: Report) -> list[str]:
    said = []
    if report.clock_jumped and report.window:
        by = duration(report.clock_jumped, rounded=True)
        said.append(f"The machine's clock jumped ahead by {by}: windows that were open then ended early.")
    if report.clock_ahead * 1e6 > AHEAD:
        ahead = f"{duration(report.clock_ahead, rounded=True)} ahead of the clock of the machine that noted it"
        said.append(f"The journal is {ahead}; windows end by the journal's time.")
    return said


def level_table(report: Report, factor: FactorReport) -> list[str]:
    """Return the levels of a factor as lines of text."""
    side, levels = factor_text(factor.name), factor.levels
    width = max(len(side), *(len(level.name) for level in levels))
    any_time = report.basis == "any"
    last = [level.against or "-" if any_time else _interval(level) for level in levels]
    title = "against the leader" if any_time else _WITH
    wide = max(len(title), *map(len, last)) if any_time else _RATE
    rate = f"  {_WITH}" if any_time else ""
    lines = [f"  {side:<{width}}  traffic   outcomes     clicks{rate}  {title:<{wide}}  in the race"]
    for level, text in zip(levels, last, strict=True):
        race = "yes" if level.in_race else "no" if level.live else "retired"
        figures = f"{level.share:>7.1%}  {level.outcomes:>9,}  {level.clicks:>9,}"
        figures += f"  {percent(level.rate):>{len(_WITH)}}" if any_time else ""
        lines.append(f"  {level.name:<{width}}  {figures}  {text:<{wide}}  {race}")
    return lines


def level_columns(report: Report) -> dict[str, list[Any]]:
    """Return what `level_table` has as columns, the levels of the factors one below the other."""
    any_time = report.basis == "any"
    each = [(factor_text(factor.name), level) for factor in report.factors for level in factor.levels]
    rates: dict[str, list[Any]] = {_WITH: [percent(level.rate) for _, level in each]} if any_time else {}
    told: list[Any] = [level.against or "-" if any_time else _interval(level).strip() for _, level in each]
    return {
        "side" if report.are_pair else "factor": [side for side, _ in each],
        "level": [level.name for _, level in each],
        "traffic": [f"{level.share:.1%}" for _, level in each],
        "outcomes": [f"{level.outcomes:,}" for _, level in each],
        "clicks": [f"{level.clicks:,}" for _, level in each],
        **rates,
        "against the leader" if any_time else _WITH: told,
        "in the race": ["yes" if level.in_race else "no" if level.live else "retired" for _, level in each],
    }


def _interval(level: LevelReport) -> str:
    return f"{percent(level.rate):>6} ({percent(level.low)} - {percent(level.high)})"
