"""How an alarm is put into words: a sentence to see at once, and the details. Plain Python, as `report_wording` is."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from rankone.wording.combinations import combination_text
from rankone.wording.numbers import percent
from rankone.wording.ratios import signed_percent

if TYPE_CHECKING:
    from rankone.live.report.report import Alarm, Report

ALARM_ERROR = 0.05  # of all alarms of a kind together


def alarm_texts(report: Report) -> list[str]:
    """Say in a sentence each which alarms were raised since the last restart; that one included."""
    return [_brief(alarm) for alarm in report.present_alarms]


def alarm_details(report: Report) -> list[str]:
    """Say what each of these alarms saw, what was done, and how often one is false."""
    said = [_seen(alarm) for alarm in report.present_alarms]
    if said:
        false = f"The chance of any false alarm of a kind over the experiment's life is at most {percent(ALARM_ERROR)}"
        said.append(f"{false}, under the assumptions above.")
    return said


def alarm_levels(alarm: Alarm) -> str:
    """Name the levels that an alarm is about."""
    beside = f" with {combination_text(alarm.beside)}" if alarm.beside else ""
    return f"{alarm.factor} '{alarm.first}' against '{alarm.second}'{beside}"


def _brief(alarm: Alarm) -> str:
    when = datetime.datetime.fromtimestamp(alarm.at, datetime.UTC)
    on = f"Alarm, {when.day} {when:%B %Y}:"
    if alarm.what != "change":
        return f"{on} levels interact ({alarm_levels(alarm)}). The best combination may be one that is rarely shown."
    if alarm.did == "restart":
        return f"{on} clicks changed ({alarm_levels(alarm)}). Learning restarted; results count from then."
    return f"{on} clicks changed ({alarm_levels(alarm)}). Results mix both periods and may be wrong."


def _seen(alarm: Alarm) -> str:
    when = datetime.datetime.fromtimestamp(alarm.at, datetime.UTC)
    parts = ("before", "since") if alarm.what == "change" else ("there", "with other levels")
    how = f"'{alarm.first}' was proven better, later '{alarm.second}'"
    if alarm.before is not None and alarm.after is not None:
        how = f"{signed_percent(alarm.before)} clicks {parts[0]}, {signed_percent(alarm.after)} {parts[1]}"
    until = f"Until then {combination_text(alarm.led)} {'had won' if alarm.won else 'led'}"
    until += "; that verdict stays valid for the time before." if alarm.won and alarm.did == "restart" else "."
    said = f"Alarm of {when:%d %B %Y, %H:%M} UTC: {alarm_levels(alarm)}, {how}. {_did(alarm)} {until}"
    if alarm.rival is None:
        return said
    rate, led = alarm.rival["rate"], alarm.rival["led"]
    had = f"{combination_text(alarm.rival['levels'])} had {percent(rate)} clicked, the leader {percent(led)}"
    cost = f"showing the leader costs about {percent(1.0 - led / rate, 2)} of clicks"
    return f"{said} {had}: if rates did not change, {cost}."


def _did(alarm: Alarm) -> str:
    if alarm.did == "restart":
        return "Learning restarted from the beginning."
    return "A policy that tests all combinations took over." if alarm.did == "test-all" else "No action was taken."
