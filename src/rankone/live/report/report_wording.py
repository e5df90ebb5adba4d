"""What a report says beside its headline: warnings that a person must see, notes, details, and the tables.

`rankone.live.report.headline` says what all of it rests on. Plain Python: a client reads a report too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rankone.live.journal.clock import AHEAD
from rankone.live.report.alarm_wording import alarm_details, alarm_texts
from rankone.live.report.goal_report import goal_details, goal_notes, goal_warnings
from rankone.live.report.headline import nothing_known, single_factors
from rankone.live.report.ranking_report import STANDING, list_details, list_notes, list_warnings
from rankone.live.report.segment_report import leaders_beaten, segment_details
from rankone.specs import amount, duration
from rankone.wording.combinations import combination_text
from rankone.wording.lists import listed, quoted, some_of
from rankone.wording.numbers import percent
from rankone.wording.ratios import APART, FEW, FEW_CLICKS, FEW_OUTCOMES, effect_text
from rankone.wording.tables import aligned

if TYPE_CHECKING:
    from rankone.live.report.report import FactorReport, LevelReport, Report

_WITH = "rate with the leader"  # what the rate of a level is measured with
NOT_KNOWN = "policy not known here: import the module that defines it"
TRAFFIC_ERROR = 0.001  # of a warning about traffic
_ADDED = re.compile(r"(?P<what>.+ '.*') added.*")  # why an era began
_SLOW = 0.1  # who explores less than this waits long for a verdict
_RATE = len("100.0% (100.0% - 100.0%)")  # characters


def warnings(report: Report) -> list[str]:
    """Return what a person must see, a short sentence each."""
    again = [f"Experimenting again: {report.resumed}."] if report.resumed else []
    unknown = [] if report.policy_known else [f"P{NOT_KNOWN[1:]}. Until then it takes no requests."]
    return [
        *again,
        *alarm_texts(report),
        *goal_warnings(report),
        *_traffic(report),
        *([] if report.ranking is None else list_warnings(report, report.ranking)),
        *([] if report.edge is None else report.edge.warnings),
        *_segments(report),
        *_undecidable(report),
        *_crowded(report),
        *_clock(report),
        *_faults(report),
        *unknown,
    ]


def notes(report: Report) -> list[str]:
    """Return what is good to know beside the table: the control, how long a verdict takes, why it was stopped."""
    stopped = [f"Stopped: {report.stopped}."] if report.stopped else []
    if report.ranking is not None:
        return [*stopped, *list_notes(report.ranking)]
    return [
        *stopped,
        *([] if report.edge is None else report.edge.notes),
        *uplift_text(report),
        *goal_notes(report),
        *_left(report),
        *alone_text(report),
    ]


def details(report: Report) -> list[str]:
    """Return what the statements rest on, how they are made, and what happened to the experiment."""
    if report.ranking is not None:
        return [*list_details(report, report.ranking), *_waiting(report)]
    return [
        *_method(report),
        *_personal(report),
        *alarm_details(report),
        *goal_details(report),
        *_restated(report),
        *_race(report),
        *_equal_split(report),
        *segment_details(report),
        *prior_text(report),
        *_forbidden(report),
        *_waiting(report),
        *([] if report.edge is None else [report.edge.details]),
        *_traffic_details(report),
    ]


def _method(report: Report) -> list[str]:
    if nothing_known(report):
        return [f"A level is compared from {FEW_CLICKS} clicks and {FEW_OUTCOMES} outcomes on."]
    sure = percent(1.0 - report.error_rate)
    if report.basis != "any":
        why = "Too few decisions were drawn at random, so a change in the site's click rate could look like a winner."
        do = "" if report.stopped else " Let a share of decisions explore (explore=) to compare levels."
        return [f"No winner is named. {why}{do}", f"Each interval holds with {sure} confidence if rates do not change."]
    said = [
        f"Winner: {sure} sure, however often you look and however the site's click rate changes. "
        f"All intervals hold together with {sure} confidence, and so do all statements that a level is out."
    ]
    if len(report.factors) > 1:
        said.append(
            "Effects multiply: a level changes clicks by the same factor whatever it is shown with, at all times."
        )
    tested = "completeness is tested; whether some levels are reported sooner is not"
    if report.window:
        tested = (
            "tested with cancelled decisions and late clicks only, as no answer within the window counts as not clicked"
        )
    return [*said, f"Equal reporting: {tested}."]


def _personal(report: Report) -> list[str]:
    if report.drawn is None:
        return []
    rest = f"Rates and winners rest on the {amount(report.drawn, 'outcome')} of decisions drawn at random"
    return [
        f"The policy chooses for each visitor. {rest}: its own choices say nothing of all visitors.",
        "Nothing is claimed of any one visitor, nor whether the best depends on the visitor.",
    ]


def alone_text(report: Report) -> list[str]:
    """Say about which factors there is nothing to find out."""
    result = single_factors(report)
    one = "has one level" if len(result) == 1 else "have one level each"
    return [f"{listed(quoted(result))} {one}: nothing to compare."] if result else []


def _restated(report: Report) -> list[str]:
    """Say what began a new statement: a level that was added, outcomes that were excluded."""
    own = "The verdict since then is a new statement, with its own chance of error."
    added = [result for why in report.eras[1:] if (result := _ADDED.fullmatch(why))]
    said = []
    if added:
        what = added[-1]["what"]
        said.append(f"{what[0].upper()}{what[1:]} was added. {own}")
    if report.excluded:
        were = "was" if report.excluded == 1 else "were"
        said.append(f"{amount(report.excluded, 'outcome')} {were} excluded. {own}")
    return said


def prior_text(report: Report) -> list[str]:
    """Say which past counts the policy began with."""
    if not report.prior_impressions:
        return []
    seen = amount(report.prior_impressions, "past impression")
    each = "" if report.prior_weight is None else f", each counted as {report.prior_weight:g} at most"
    said = [f"The policy began with {seen}{each}; no statement rests on them."]
    if report.prior_left_out:
        others = some_of(quoted(report.prior_left_out))
        said.append(f"Past counts of {others} were left out: the experiment does not have these levels.")
    return said


def _segments(report: Report) -> list[str]:
    if report.segments is None or not (report.segments.depends or leaders_beaten(report)):
        return []
    if report.segments.depends:
        return ["Segments have different winners; this result is for all visitors together."]
    return ["Some segments prefer another level; this result is for all visitors together."]


def _forbidden(report: Report) -> list[str]:
    if not report.forbidden:
        return []
    said = [f"Never shown together: {some_of([combination_text(levels) for levels in report.forbidden], 3)}."]
    if not report.decided and any(level.against == APART for factor in report.factors for level in factor.levels):
        said.append("Forbidden combinations are compared two levels at a time, which takes more visitors.")
    return said


def _undecidable(report: Report) -> list[str]:
    if report.decided or not report.apart:
        return []
    factor, one, other = report.apart[0]
    pairs = f" (and {amount(len(report.apart) - 1, 'more pair')})" if len(report.apart) > 1 else ""
    either = f"{combination_text({factor: one})} and '{other}'{pairs}"
    return [f"Cannot compare {either}: nothing may be shown with both. Allow one combination that links them."]


def _race(report: Report) -> list[str]:
    if nothing_known(report) or report.stopped or report.decided or report.basis != "any":
        return []
    alone = single_factors(report)
    levels = {each.name: [level.in_race for level in each.levels if level.live] for each in report.factors}
    racing = listed(
        [
            f"{sum(own):,} of {amount(len(own), 'level')} of '{name}'"
            for name, own in levels.items()
            if name not in alone
        ]
    )
    return [f"Still in the race: {racing}."]


def _equal_split(report: Report) -> list[str]:
    if report.even_clicks is None or report.steering is not None:
        return []
    had = sum(level.clicks for level in report.factors[0].levels)  # of the time that the other figure is of
    since = " since the restart" if any(alarm.did == "restart" for alarm in report.alarms) else ""
    return [
        f"An equal split of all combinations would have had about {report.even_clicks:,.0f} clicks{since} instead of "
        f"{had:,}, if effects multiply and click rates do not change."
    ]


def control_effect(report: Report) -> str:
    """Return the clicks of what leads against the control's; empty: there is no control, or nothing can be said."""
    if report.control is None or report.basis != "any" or report.leader.rate is None or report.shortfalls:
        return ""
    if report.best == report.control:
        return "is the control"
    if report.uplift is None or report.uplift_high is None:
        return FEW
    return effect_text(1.0 + report.uplift, 1.0 + report.uplift_low, 1.0 + report.uplift_high)


def uplift_text(report: Report) -> list[str]:
    """Compare what leads with the control."""
    effect = control_effect(report)
    if not effect:
        return []
    control = f"the control {combination_text(report.control or {})}"
    what = "Clicks" if report.steering is None else f"'{report.steering.name}'"
    return [
        f"The leader is {control} itself." if report.best == report.control else f"{what} against {control}: {effect}."
    ]


def _left(report: Report) -> list[str]:
    if report.decided or report.stopped or not report.explore or report.basis != "any":
        return []
    slow = f"only {percent(report.explore, 2)} of decisions explore"
    do = "Goal 'both' decides sooner; a margin settles near ties."
    if report.visitors_left is None:
        return [f"A verdict may take long: {slow}. {do}"] if report.aim == "earn" else []
    few, many = report.visitors_left
    up_to = "" if few == many else f" to {many:,}"
    said = f"If these differences are real: {few:,}{up_to} more visitors until a verdict"
    if report.seconds_left is not None:
        soon, late = (duration(seconds, rounded=True) for seconds in report.seconds_left)
        said += f" ({soon}" + (f" to {late})" if late != soon else ")")
    return [f"{said}, as {slow}. {do}" if report.explore < _SLOW else f"{said}."]


def _traffic(report: Report) -> list[str]:
    if not report.shortfalls:
        return []
    worst = report.shortfalls[0]
    more = f" ({amount(len(report.shortfalls) - 1, 'more level')}: see details)" if len(report.shortfalls) > 1 else ""
    level = f"{worst.factor} '{worst.name}'"
    if worst.late:
        when = f"after the window of {duration(report.window)}" if report.window else "after the decision was cancelled"
        late = f"{percent(1.0 - worst.told)} of clicks on {level} came {when}, {percent(1.0 - worst.other_told)} on"
        return [f"Check your traffic: {late} '{worst.other}'{more}."]
    if worst.told >= worst.other_told:
        return [f"Check your traffic: too few outcomes of {level} for what was chosen, against '{worst.other}'{more}."]
    share = f"{percent(worst.told)} of decisions with {level} have an outcome, {percent(worst.other_told)} with"
    return [f"Check your traffic: {share} '{worst.other}'{more}."]


def _traffic_details(report: Report) -> list[str]:
    if not report.shortfalls:
        return []
    said = f"A false traffic warning appears in at most 1 of {round(1 / TRAFFIC_ERROR):,} experiments."
    if report.shortfalls[0].late:
        do = "Create the experiment with a longer window" if report.window else "Report clicks sooner"
        return [f"{said} Late clicks do not count. {do}."]
    slow = "" if report.window else " Outcomes that take longer for some levels can cause this too."
    return [f"{said} Look for pages that fail, caches and bots before you trust a result.{slow}"]


def _waiting(report: Report) -> list[str]:
    held = report.outcomes["held"]
    until = f"until the window of {duration(report.window or 0)} is over"
    return [f"{amount(held, 'outcome')} {'waits' if held == 1 else 'wait'} {until}."] if held else []


def _crowded(report: Report) -> list[str]:
    count = report.voided_by_age
    if not count:
        return []
    were = f"{amount(count, 'decision')} without an outcome {'was' if count == 1 else 'were'} cancelled to make room"
    return [f"{were}. Report or cancel each decision, or set a window or a larger max_open."]


def _clock(report: Report) -> list[str]:
    said = []
    if report.clock_jumped and report.window:
        by = duration(report.clock_jumped, rounded=True)
        said.append(f"The machine's clock jumped ahead by {by}: windows that were open then ended early.")
    if report.clock_ahead * 1e6 > AHEAD:
        ahead = duration(report.clock_ahead, rounded=True)
        said.append(f"The journal is {ahead} ahead of its machine's clock. Windows end by the journal's time.")
    return said


def _faults(report: Report) -> list[str]:
    said = []
    if report.fault:
        said.append(f"A fault in the program: {report.fault}. Please report it; decisions and outcomes go on.")
    if report.faults:
        them = "it" if report.faults == 1 else "them"
        policy = f"The policy gave impossible probabilities for {amount(report.faults, 'decision')}"
        said.append(f"{policy}; no statement rests on {them}.")
    return said


def level_table(report: Report, factor: FactorReport) -> list[str]:
    """Return the levels of a factor as lines of text."""
    rows = [_row(report, level) for level in factor.levels]
    more = "<" if report.ranking is not None else "> < <" if report.basis == "any" else f"<{_RATE} <"
    return aligned([[factor.name, *list(rows[0])[1:]], *(list(row.values()) for row in rows)], f"< >7 >9 >9 {more}")


def _row(report: Report, level: LevelReport) -> dict[str, str]:
    row = {"level": level.name, "traffic": percent(level.share) if level.decisions else "never shown"}
    row |= {"outcomes": f"{level.outcomes:,}", "clicks": f"{level.clicks:,}"}
    if report.ranking is not None:
        return row | {"standing": STANDING.get(level.against, "retired")}
    if report.basis == "any":
        row |= {_WITH: percent(level.rate), "against the leader": level.against or "-"}
    else:
        row[_WITH] = _interval(level)
    return row | {"in the race": "yes" if level.in_race else "no" if level.live else "retired"}


def level_columns(report: Report) -> dict[str, list[Any]]:
    """Return what `level_table` has as columns, the levels of the factors one below the other."""
    each = [{"factor": factor.name} | _row(report, level) for factor in report.factors for level in factor.levels]
    return {name: [row[name].strip() for row in each] for name in each[0]}


def _interval(level: LevelReport) -> str:
    interval = "" if level.low is None or level.rate is None else f" ({percent(level.low)} - {percent(level.high)})"
    return f"{percent(level.rate):>6}{interval}"
