"""How an alarm is put into words, with its condition in the same sentence. Plain Python, as `report_wording` is."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from rankone.wording.combinations import combination_text
from rankone.wording.numbers import percent

if TYPE_CHECKING:
    from rankone.live.report.report import Alarm, Report

ALARM_ERROR = 0.05  # of all alarms of a kind together
PRODUCT = "each level changes clicks by the same factor whatever it is shown with at all times"
COME_BACK = "outcomes of all levels come back alike"


def alarm_texts(report: Report, come_back: str) -> list[str]:
    """Say which alarms rang, when and why, since the last restart; that one included.

    `come_back` says how outcomes have to come back for that.
    """
    return [_alarm_text(come_back, alarm) for alarm in report.present_alarms]


def _alarm_text(come_back: str, alarm: Alarm) -> str:
    when = datetime.datetime.fromtimestamp(alarm.at, datetime.UTC)
    noticed = f"noticed on {when.day} {when:%B %Y, %H:%M} UTC"
    beside = f" with {combination_text(alarm.beside)}" if alarm.beside else ""
    levels = f"{alarm.factor} '{alarm.first}' against '{alarm.second}'{beside}"
    said = _changed(alarm, levels, noticed) if alarm.what == "change" else _no_product(alarm, levels, noticed)
    # Two levels beside one of the only other factor need no product: nothing else was beside them.
    alone = alarm.what == "change" and alarm.beside is not None and len(alarm.led) == 2
    untouched = "levels keep their ratios" if alone else PRODUCT
    false = f"such an alarm rings with probability at most {ALARM_ERROR:g}, over all eras together"
    where = f"Where {untouched} and {come_back}"
    return f"{said}. {where}, {false}, however the click rate of the whole site moves."


def _changed(alarm: Alarm, levels: str, noticed: str) -> str:
    how = "the first was proven to be better, and then the second"
    if alarm.before is not None and alarm.after is not None:
        how = f"{alarm.before:.2g} for each click of the other before, {alarm.after:.2g} since"
    seen = f"Clicks of {levels} changed, {noticed}: {how}"
    if alarm.did != "restart":
        return f"{seen}; what is said above takes both times together, so it may be wrong"
    until = f"until then {combination_text(alarm.led)} {'had won' if alarm.won else 'led'}"
    own = ", which stays proven of that time" if alarm.won else ""
    return f"{seen}; so all was begun anew, and what is said above is of the time since; {until}{own}"


def _no_product(alarm: Alarm, levels: str, noticed: str) -> str:
    differs = f"{alarm.before or 0.0:.2g} for each click of the other, {alarm.after or 0.0:.2g} elsewhere"
    did = "a policy that looks at all combinations took over" if alarm.did == "test-all" else "nothing was done"
    said = f"Levels are no product, {noticed}: clicks of {levels} are {differs}; the best combination may be one that "
    said += f"is hardly shown, and {did}"
    if alarm.rival is None:
        return said
    rate, led = alarm.rival["rate"], alarm.rival["led"]
    had = f"{combination_text(alarm.rival['levels'])} had {percent(rate)} clicks by then, what led {percent(led)}"
    cost = f"showing what led may cost about {percent(1.0 - led / rate, 2)} of the clicks"
    return f"{said}. {had}: {cost}, as far as click rates stayed as they are"
