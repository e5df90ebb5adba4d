"""How a report is put into words. Every statement has its condition in the same sentence.

On the basis "any" it is the product model alone: each level changes clicks by a factor of its own, the same whatever it
is shown with and at all times, while the click rate of the whole site may move as it likes; and that outcomes of all
levels come back alike, which is tested (`Shortfall`) where outcomes are told, and with a window as far as decisions are
voided and clicks are told too late; without a window also that they come equally soon, which is not tested. On the
basis "steady" nothing is stated (`rankone.live.verdict.verdict` says which basis there is). Plain Python: a client
reads a report too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rankone.live.journal.clock import AHEAD
from rankone.live.report.alarm_wording import COME_BACK, PRODUCT, alarm_texts
from rankone.live.report.goal_report import goals_text
from rankone.live.report.segment_report import leaders_beaten
from rankone.specs import amount, duration
from rankone.wording.combinations import combination_text
from rankone.wording.lists import listed, quoted, some_of
from rankone.wording.numbers import percent
from rankone.wording.ratios import APART, FEW, FEW_CLICKS, FEW_OUTCOMES, effect_text

if TYPE_CHECKING:
    from rankone.live.report.report import FactorReport, LevelReport, Report

_WITH = "rate with the leader"  # what the rate of a level is measured with
LEARNED = ("clicked", "not_clicked", "expired")  # outcomes that count
NOT_KNOWN = "policy not known here: import the module that defines it"
TRAFFIC_ERROR = 0.001  # of a warning about traffic
_MODEL = f"if {PRODUCT} and {COME_BACK}"
_ADDED = re.compile(r"(?P<what>.+ '.*') added.*")  # why an era began
_UNTESTED = " (with a window silence is an outcome, so this can be tested by voided decisions and late clicks only)"
_UNTIMED = " and equally soon"  # without a window outcomes are weighed as they come, and the sooner looks better
_SLOW = 0.1  # who explores less than this waits long for a verdict
_RATE = len("100.0% (100.0% - 100.0%)")  # characters


def sentences(report: Report) -> str:
    """Return what a report says, in a few sentences; `headline` is how they begin."""
    unknown = [] if report.policy_known else [f"P{NOT_KNOWN[1:]}; until then nothing can be asked or told."]
    said = [
        *alarm_texts(report, COME_BACK + ("" if report.window else _UNTIMED)),
        *goals_text(report),
        *_anew(report),
        *_uplift(report),
        *_left(report),
        *_traffic(report),
        *_waiting(report),
        *alone_text(report),
    ]
    said += [*_even(report), *_segments(report), *prior_text(report), *_forbidden(report)]
    said += [*_crowded(report), *_clock(report), *_faults(report), *unknown]
    return " ".join([headline(report) + _standing(report)[1], *said])


def headline(report: Report) -> str:
    """Return what visitors see if it was stopped, and what leads or has won."""
    shown = combination_text(report.shown or {})
    stopped = [f"Stopped ({report.stopped}): every visitor now sees {shown}."] if report.stopped else []
    again = [f"It experiments again: {report.resumed}."] if report.resumed else []
    return " ".join([*stopped, *again, _standing(report)[0]])


def condition(report: Report, whose: str = "the whole site") -> str:
    """Return under which condition the statements of a report hold; `whose` click rate may move."""
    if report.basis == "any":
        model = _MODEL + (_UNTESTED if report.window else _UNTIMED)
        if whose == "each segment":
            model = model.replace("if each", "if within a segment each", 1)
        return f"however often you look and however the click rate of {whose} moves, {model}"
    return "while click rates stay as they are, however often you look"


def _standing(report: Report) -> tuple[str, str]:
    """Return what leads or has won, and how the sentence goes on: how sure that is, and what it rests on."""
    if not any(report.outcomes[kind] for kind in LEARNED):
        return f"No outcomes yet: {amount(report.decisions, 'decision')} given out, nothing is known so far.", ""
    clicked, outcomes = (sum(report.outcomes[kind] for kind in kinds) for kinds in (("clicked",), LEARNED))
    if report.fault:
        return f"Nothing can be said of what leads: {clicked:,} of {amount(outcomes, 'visitor')} clicked.", ""
    if not report.leads:
        need = f"A level is compared from {FEW_CLICKS} clicks and {FEW_OUTCOMES} outcomes on."
        return f"Not enough data to say what leads: {clicked:,} of {amount(outcomes, 'visitor')} clicked.", f" {need}"
    best, leader = combination_text(report.best), report.leader
    # By the product of its levels; an interval would have to say of which time: under "any" the site's rate may move.
    figures = f"about {percent(leader.rate)} clicked"
    if report.basis != "any":
        figures = f"{percent(leader.rate)} clicked, between {percent(leader.low)} and {percent(leader.high)}"
    wrong = f"wrong with probability at most {report.error_rate:g} {condition(report)}"
    if report.decided and report.shortfalls:
        return f"{best} looks like the winner ({figures})", ", but outcomes do not come back alike: that may be wrong."
    if report.decided and report.doubted:
        rang = report.doubted[-1].what
        why = "clicks of its levels changed meanwhile" if rang == "change" else "levels are no product here"
        return f"{best} looks like the winner ({figures})", f", but {why}: that may be wrong."
    alone = _single(report)
    if len(alone) == len(report.factors):
        return f"{best} is all there is to show ({figures})", "."
    if report.good_enough:
        enough = f"no combination has more than {percent(report.margin, 2)} more clicks"
        return f"{best} is good enough ({figures})", f": {enough}, {wrong}."
    if report.decided:
        return f"{best} has won ({figures})", f": {wrong}."
    if report.basis == "steady":
        why = "too few decisions were drawn at random, so a change of the whole site's click rate could make one"
        do = "" if report.stopped else "; a share of decisions that explores (explore=) lets levels be compared"
        return f"{best} has the highest click rate ({figures})", f". No winner is named: {why}{do}."
    levels = [[level.in_race for level in factor.levels if level.live] for factor in report.factors]
    racing = listed(
        [
            f"{sum(in_race):,} of {amount(len(in_race), 'level')} of '{factor.name}'"
            for in_race, factor in zip(levels, report.factors, strict=True)
            if factor.name not in alone
        ]
    )
    out = not (report.stopped or all(map(all, levels)))
    sure = f"wrong with probability at most {percent(1.0 - report.confidence)}"
    sure = "too early to be sure" if report.confidence < 0.5 else sure
    sure = "nothing is proven, as outcomes do not come back alike" if report.shortfalls else sure
    said = f"{best} leads ({figures}), {sure}"
    said += "" if report.stopped else f"; {racing} are still in the race"
    rests = f" (the others are out with an error of at most {report.error_rate:g})" if out else ""
    return said, rests + (f": this holds {condition(report)}." if out or report.confidence >= 0.5 else ".")


def _single(report: Report) -> list[str]:
    """Return the factors of which one level is left."""
    return [factor.name for factor in report.factors if sum(level.live for level in factor.levels) == 1]


def alone_text(report: Report) -> list[str]:
    """Say about which factors there is nothing to find out."""
    result = _single(report)
    if not result:
        return []
    named = listed(quoted(result))
    one, them = ("has one level", "it") if len(result) == 1 else ("have one level each", "them")
    return [f"{named} {one}, so there is nothing to find out about {them}."]


def _anew(report: Report) -> list[str]:
    """Say what began a new statement: a level that was added, outcomes that were excluded."""
    own = "the verdict since then is a new statement, with an error of its own."
    added = [result for why in report.eras[1:] if (result := _ADDED.fullmatch(why))]
    said = []
    if added:
        what = added[-1]["what"]
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
    each = f"each counted for {report.prior_weight:g} at most"
    said = [f"The policy began with {seen}, {each}; no statement rests on them."]
    if report.prior_left_out:
        others = some_of(quoted(report.prior_left_out))
        said.append(f"Past counts of {others} were left out, as the experiment has no such level.")
    return said


def _segments(report: Report) -> list[str]:
    """Say that a statement about all visitors needs ratios that they share, where it is proven that they do not."""
    if report.segments is None or not (report.segments.depends or leaders_beaten(report)):
        return []
    why = "What is best depends on the segment" if report.segments.depends else "Not every segment agrees with that"
    return [f"{why}, so this is no statement about the visitors of each of them."]


def _forbidden(report: Report) -> list[str]:
    if not report.forbidden:
        return []
    said = [f"Never shown together: {some_of([combination_text(levels) for levels in report.forbidden], 3)}."]
    if not report.decided and any(level.against == APART for factor in report.factors for level in factor.levels):
        said.append("So what may be shown is compared by two levels at a time, which takes more visitors.")
    if report.apart and not report.decided:
        factor, one, other = report.apart[0]
        pairs = f" (and {len(report.apart) - 1} more such)" if len(report.apart) > 1 else ""
        why = "nothing may be shown with both of them, so clicks cannot compare them"
        either = f"{combination_text({factor: one})} or '{other}'{pairs}"
        said.append(f"Not decidable: {either}: {why}. Allow one such combination.")
    return said


def _even(report: Report) -> list[str]:
    """Say what an even test would have earned."""
    if report.even_clicks is None:
        return []
    had = sum(level.clicks for level in report.factors[0].levels)  # of the time that the other figure is of
    when = "since all was begun anew" if any(alarm.did == "restart" for alarm in report.alarms) else "by now"
    even = f"An even test of all combinations would have had about {report.even_clicks:,.0f} clicks {when}"
    return [f"{even} instead of {had:,}, if click rates are products and stay as they are."]


def _uplift(report: Report) -> list[str]:
    if report.control is None or report.basis != "any" or report.leader.rate is None or report.shortfalls:
        return []
    control = f"the control {combination_text(report.control)}"
    if report.best == report.control:
        return [f"What leads is {control} itself."]
    if report.uplift is None or report.uplift_high is None:
        return [f"Clicks against {control}: {FEW}."]
    effect = effect_text(1.0 + report.uplift, 1.0 + report.uplift_low, 1.0 + report.uplift_high)
    return [f"Clicks against {control}: {effect}."]


def _left(report: Report) -> list[str]:
    if report.decided or report.stopped or not report.explore or report.basis != "any":
        return []
    slow = f"it explores with {percent(report.explore, 2)} of its decisions only, to earn more meanwhile"
    do = "goal 'both' decides sooner, and a margin settles near ties"
    if report.visitors_left is None:
        return [f"A verdict may take long: {slow}; {do}."] if report.goal == "earn" else []
    few, many = report.visitors_left
    up_to = "" if few == many else f" to {many:,}"
    said = f"If these differences are real, a verdict needs about {few:,}{up_to} more visitors"
    if report.seconds_left is not None:
        soon, late = (duration(seconds, rounded=True) for seconds in report.seconds_left)
        said += f" ({soon}" + (f" to {late}" if late != soon else "") + " at the traffic so far)"
    if report.explore < _SLOW:
        said += f"; that is long because {slow}: {do}"
    return [f"{said}."]


def _traffic(report: Report) -> list[str]:
    if not report.shortfalls:
        return []
    worst = report.shortfalls[0]
    more = f" (and {len(report.shortfalls) - 1} more)" if len(report.shortfalls) > 1 else ""
    once = f"which by chance happens in one experiment of {round(1 / TRAFFIC_ERROR):,}"
    if worst.late:
        of_all = f"{percent(1.0 - worst.told)} of its clicks against {percent(1.0 - worst.other_told)}"
        when = f"after the window of {duration(report.window)}" if report.window else "after their decision was voided"
        seen = f"more clicks on {worst.factor} '{worst.name}' than on '{worst.other}' came {when} ({of_all}){more}"
        do = "make the experiment with a longer window" if report.window else "tell them sooner"
        return [f"Check your traffic: {seen}, {once}. Late clicks do not count: {do}."]
    share = f" ({percent(worst.told)} of its decisions against {percent(worst.other_told)})"
    share = share if worst.told < worst.other_told else ""
    level = f"{worst.factor} '{worst.name}'"
    seen = f"fewer outcomes came back of {level} than of '{worst.other}' for what was chosen{share}{more}"
    said = f"Check your traffic: {seen}, {once}. Look for pages that fail, caches and bots before you trust a result"
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


def _faults(report: Report) -> list[str]:
    said = []
    if report.fault:
        goes_on = "Decisions and outcomes go on as before; please report it"
        said.append(f"A fault in the program keeps it from any statement ({report.fault}). {goes_on}.")
    if report.faults:
        policy = f"The policy's own probabilities of {amount(report.faults, 'decision')} could not be true"
        said.append(f"{policy}: no statement rests on {'it' if report.faults == 1 else 'them'}.")
    return said


def level_table(report: Report, factor: FactorReport) -> list[str]:
    """Return the levels of a factor as lines of text."""
    rows = [_row(report, level) for level in factor.levels]
    heads = {name: factor.name if name == "level" else name for name in rows[0]}
    least = {"traffic": 7, "outcomes": 9, "clicks": 9} | ({} if report.basis == "any" else {_WITH: _RATE})
    widths = {name: max(least.get(name, 0), *(len(row[name]) for row in (heads, *rows))) for name in heads}
    right = ("traffic", "outcomes", "clicks", *([_WITH] if report.basis == "any" else []))
    lines = [[f"{row[name]:{'>' if name in right else '<'}{widths[name]}}" for name in heads] for row in (heads, *rows)]
    return ["  ".join(["", *line]).rstrip() for line in lines]


def _row(report: Report, level: LevelReport) -> dict[str, str]:
    """Return what a table says of a level."""
    row = {"level": level.name, "traffic": percent(level.share)}
    row |= {"outcomes": f"{level.outcomes:,}", "clicks": f"{level.clicks:,}"}
    if report.basis == "any":
        row |= {_WITH: percent(level.rate), "against the leader": level.against or "-"}
    else:
        row[_WITH] = _interval(level)
    return row | {"in the race": "yes" if level.in_race else "no" if level.live else "retired"}


def level_columns(report: Report) -> dict[str, list[Any]]:
    """Return what `level_table` has as columns, the levels of the factors one below the other."""
    each = [_row(report, level) | {"factor": factor.name} for factor in report.factors for level in factor.levels]
    return {name: [row[name].strip() for row in each] for name in ("factor", *_row(report, report.leader))}


def _interval(level: LevelReport) -> str:
    interval = "" if level.low is None else f" ({percent(level.low)} - {percent(level.high)})"
    return f"{percent(level.rate):>6}{interval}"
