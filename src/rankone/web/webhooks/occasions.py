"""What there is to tell of an experiment: what its journal notes (alarms, stops), what its report proves, missing data.

An occasion has a name, which is the same whenever and by whichever server it is noticed: so it is told once.
"""

import datetime
import hashlib
import json
from collections.abc import Iterator
from html import escape
from typing import Any, NamedTuple

from rankone.live.journal.events import AT, KIND, SEQ, Kind, of_rows
from rankone.live.report.goal_report import VIOLATED
from rankone.live.report.report import Report
from rankone.live.storage import Storage

NO_DATA = 3_600  # seconds


class Occasion(NamedTuple):
    """Something to tell."""

    event: str
    name: str  # of this one, among all of the experiment's
    seq: int  # the event of the journal with which it happened, or was noticed
    at: float  # seconds since 1970


class Notes(NamedTuple):
    """What a journal notes: its alarms and stops, as (event, at) in microseconds, and whether and since when nothing
    happens.
    """

    alarms: list[tuple[int, int]]
    stops: list[tuple[int, int]]
    last: tuple[int, int]


def notes_of(storage: Storage, name: str) -> Notes:
    """Read what the journal of an experiment notes. Quick: rare events and the last one."""
    number = storage.number(name)
    marks = of_rows(storage.marks(number))
    found: dict[str, list[tuple[int, int]]] = {"alarm": [], "stop": []}
    for head, texts in zip(marks.heads, marks.texts, strict=True):
        if head[KIND] == Kind.STOP:
            found["stop"].append((head[SEQ], head[AT]))
        elif head[KIND] == Kind.ERA and "alarm" in texts.details():
            found["alarm"].append((head[SEQ], head[AT]))
    return Notes(found["alarm"], found["stop"], storage.last_action(number))


def occasions(report: Report, notes: Notes, now: float) -> Iterator[Occasion]:
    """Yield what there is to tell of an experiment."""
    restarts = sum(alarm.did == "restart" for alarm in report.alarms)
    stopped = notes.stops[-1] if report.stopped and notes.stops else (report.seq, int(now * 1e6))
    for event, happened in (("alarm", notes.alarms), ("stop", notes.stops[-1:])):
        yield from (Occasion(event, f"{event}:{seq}", seq, at / 1e6) for seq, at in happened)
    if report.decided and not report.shortfalls and not report.doubted:
        yield Occasion("verdict", f"verdict:{_winner(report, restarts)}", stopped[0], stopped[1] / 1e6)
    if report.shortfalls:
        yield Occasion("traffic", f"traffic:{restarts}", report.seq, now)
    for goal in report.goals:
        if goal.guardrail == VIOLATED:
            seq, at = goal.event or report.seq, goal.since or now
            yield Occasion("guardrail", f"guardrail:{restarts}:{goal.name}:{json.dumps(report.best)}", seq, at)
    seq, at = notes.last
    if seq and not report.stopped and now - at / 1e6 >= NO_DATA:
        yield Occasion("no-data", f"no-data:{seq}", seq, at / 1e6 + NO_DATA)


def _winner(report: Report, restarts: int) -> str:
    """Return what tells a verdict from others: of a ranking, the items, in their order where that is decided."""
    if report.ranking is None:
        return f"{restarts}:{json.dumps(report.best)}"
    items = report.ranking.present if report.ranking.decide == "order" else sorted(report.ranking.present)
    return f"{len(report.eras)}:{json.dumps(items)}"


def _best(report: Report) -> dict[str, str]:
    """Return the best levels by factor; of a ranking, the items of the present list by position."""
    if report.ranking is None:
        return report.best
    return {str(position): item for position, item in enumerate(report.ranking.present, start=1)}


def message(occasion: Occasion, report: Report) -> tuple[str, str]:
    """Return the headline of a message, and the rest of it."""
    if occasion.event == "no-data":
        since = _when(occasion.at - NO_DATA)
        return f"No data for an hour: the last decision or outcome came {since}.", report.headline
    if occasion.event == "guardrail":
        said = [each.sentence for each in report.goals if f":{each.name}:" in occasion.name]
        return said[0], report.headline
    first = report.headline
    if occasion.event == "alarm" and report.warnings:
        first, *rest = report.warnings
        return first, "\n".join([report.headline, *rest])
    return first, "\n".join(filter(None, [report.assumes, *report.warnings, *report.notes]))


def body_of(occasion: Occasion, report: Report, format: str, id: str) -> str:
    """Return a message as one format has it."""
    headline, text = message(occasion, report)
    if format == "slack":
        said = f"{report.name}: {headline}\n{text}".strip()
        for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
            said = said.replace(sign, entity)
        return json.dumps({"text": said})
    if format == "email":
        said = f"{headline}\n{text}\n\n{report}"
        return json.dumps({"subject": f"{report.name}: {headline}"[:200], "text": said, "html": page(report, headline)})
    facts: dict[str, Any] = {"id": id, "event": occasion.event, "experiment": report.name, "number": occasion.seq}
    facts |= {"at": datetime.datetime.fromtimestamp(occasion.at, datetime.UTC).isoformat(timespec="seconds")}
    facts |= {"headline": headline, "text": text, "best": _best(report), "shown": report.shown}
    return json.dumps(facts | {"decided": report.decided, "decisions": report.decisions, "outcomes": report.outcomes})


def page(report: Report, headline: str) -> str:
    """Return a report as a page that a mail program shows: no script, nothing from elsewhere."""
    lines = "".join(f"<p>{escape(line)}</p>" for line in [headline, *report.warnings, *report.notes])
    style = "font:15px/1.4 sans-serif;max-width:46em;margin:1.5em auto;padding:0 1em"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(report.name)}</title></head>'
        f'<body style="{style}"><h1>{escape(report.name)}</h1>{lines}{report._repr_html_()}</body></html>'
    )


def id_of(experiment: str, occasion: Occasion) -> str:
    """Return the id of a message, the same at every try: the number of the event, and what tells it from others.

    >>> id_of("homepage", Occasion("stop", "stop:12", 12, 0.0))
    '12-ab52ffd0'
    """
    return f"{occasion.seq}-{hashlib.sha256(f'{experiment}/{occasion.name}'.encode()).hexdigest()[:8]}"


def _when(at: float) -> str:
    return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("at %H:%M UTC on %d %B %Y")
