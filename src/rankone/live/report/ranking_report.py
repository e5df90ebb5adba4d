"""What a report says of a ranking: the present list, where each item stands, how far the verdict is. Plain Python."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

from rankone.live.lists import IN, MOST_COMPARED, OPEN, OUT
from rankone.specs import amount
from rankone.wording.lists import cut_text, listed, quoted
from rankone.wording.numbers import percent
from rankone.wording.tables import aligned

if TYPE_CHECKING:
    from rankone.live.report.report import Report

STANDING = {IN: "surely in", OUT: "surely out", OPEN: "open"}
_NAMED = 9  # words that a headline has for a list


@dataclasses.dataclass(frozen=True)
class RankingReport:
    """Where a ranking stands."""

    positions: int  # how long a list is, at most
    present: tuple[str, ...]  # the present list, from the top
    standing: dict[str, str]  # of each living item: in (it surely belongs to the best), out (it surely does not), open
    progress: float  # part of the comparisons that the verdict needs that are proven
    decide: str  # what a verdict is about: "set", which items belong in the list, or "order", their order, too
    set_proven: bool  # the present list holds the best items
    order_proven: bool  # and in this order; where all items fit into the list, this alone
    lists: int  # lists that the comparisons rest on
    since: str | None  # why they began again; None: they are of all lists
    pinned: int  # items shown at positions that were pinned: they are not compared
    late: int  # clicks that came too late to count
    over_control: str | None = None  # the policy's own lists get "more" or "fewer" clicks than the control's, proven;
    # None: neither is

    def count(self, standing: str) -> int:
        """Return how many items stand so."""
        return list(self.standing.values()).count(standing)


def list_headline(report: Report, ranking: RankingReport) -> str:
    """Say in at most 25 words what is proven of a list."""
    items, size = len(ranking.standing), len(ranking.present)
    sure = f"{percent(1.0 - report.error_rate)} sure"
    if report.stopped:
        seen = _named(tuple((report.shown or {}).values()))
        return f"Stopped: everyone sees {seen}{_proven(report, ranking)}."
    best = _named(ranking.present)
    if items == size and ranking.order_proven:
        return f"The order of all {items} items is proven: {best}. {sure}."
    if items == size:
        order = "compared" if ranking.decide == "set" else "proven yet"
        return f"All {items} items fit into the list; their order is not {order}."
    if report.good_enough:
        margin = percent(report.margin, 2)
        return f"{best}: good enough. No other item beats one of them by more than {margin}. {sure}."
    if ranking.order_proven:
        return f"{best} are the best {size} of {items} items, in this order. {sure}."
    if ranking.set_proven:
        return f"{best} {'are' if size > 1 else 'is'} the best {size} of {items} items. {sure}."
    out = f"{ranking.count(OUT)} of {items} items are surely out, {ranking.count(IN)} surely in"
    return f"{best} lead, not proven yet: {out}." if size > 1 else f"{best} leads, not proven yet: {out}."


def _named(items: tuple[str, ...]) -> str:
    shown = items if len(items) <= 4 else items[:3]
    names = quoted([cut_text(name, max(1, _NAMED // len(shown)), 30) for name in shown]) if shown else ["nothing"]
    return listed(names) if len(items) <= 4 else f"{', '.join(names)} and {len(items) - 3} more"


def _proven(report: Report, ranking: RankingReport) -> str:
    seen = tuple((report.shown or {}).values())
    same, sure = set(seen) == set(ranking.present), f". {percent(1.0 - report.error_rate)} sure"
    best = ", proven best" if ranking.set_proven and same else ""
    if ranking.order_proven and seen == ranking.present:
        return f"{best or ', proven'} in this order{sure}"
    if report.good_enough and same:
        return f", within {percent(report.margin, 2)} of the best{sure}"
    if len(seen) == len(ranking.standing):
        return ""  # all items: nothing is left out
    return f"{best}{sure}" if best else ", not proven best"


def list_assumes(report: Report) -> str:
    """Say in a line what statements about a list rest on."""
    promptly = "" if report.window else " and promptly"
    return (
        "Assumes: how much an item attracts does not depend on the items above it; clicks are reported equally "
        f"completely{promptly} for every item."
    )


def list_notes(ranking: RankingReport) -> list[str]:
    """Say how far the verdict is."""
    if not ranking.lists:
        return []
    control = (
        []
        if ranking.over_control is None
        else [f"The policy's own lists get {ranking.over_control} clicks than the control list."]
    )
    about = "which items belong in the list" if ranking.decide == "set" else "which items belong, and in which order"
    if len(ranking.standing) == len(ranking.present):
        if ranking.decide == "set":
            return control  # there is nothing to compare
        about = "the order"
    proven = math.floor(100 * ranking.progress + 1e-9)  # 100% where all are
    return [*control, f"Verdict on {about}: {proven}% of its comparisons are proven."]


def list_warnings(report: Report, ranking: RankingReport) -> list[str]:
    """Say what a person must see of a ranking."""
    said = []
    if len(ranking.standing) > MOST_COMPARED:
        said.append(f"Nothing is stated of more than {MOST_COMPARED} items: retire some to compare the others.")
    if ranking.late:
        when = "after their windows" if report.window else "after their lists were closed"
        said.append(f"{amount(ranking.late, 'click')} came {when} and did not count: report sooner, or wait longer.")
    return said


def list_details(report: Report, ranking: RankingReport) -> list[str]:
    """Say what statements about a list rest on, and how they are made."""
    sure = percent(1.0 - report.error_rate)
    said = [
        f"The verdict, and separately all statements that an item is surely in or out, are {sure} sure, however often "
        "you look, however far visitors read, and however the site's click rate changes.",
        "Each click is compared with what else might have stood there, with the probabilities with which the list was "
        "drawn. Click rates of items are not compared: they depend on position and hour.",
    ]
    since = "" if ranking.since is None else f" since the comparisons began again ({ranking.since})"
    said.append(f"They rest on {amount(ranking.lists, 'list')} with an outcome{since}.")
    if since:
        said.append("The verdict since then is a new statement, with its own chance of error.")
    if ranking.pinned:
        said.append(f"{amount(ranking.pinned, 'pinned position')} shown: they are not compared.")
    if report.outcomes["open"] and not report.window:
        said.append("Lists without a report are open: nothing is learned of them.")
    return said


def list_table(report: Report, ranking: RankingReport) -> list[str]:
    """Return the items of a ranking as lines of text: the present list first, then the others by how often shown."""
    items = {level.name: level for level in report.factors[0].levels}
    others = sorted((name for name in items if name not in ranking.present), key=lambda name: -items[name].decisions)
    rows = [["", "item", "shown", "clicks", "standing"]]
    for place, name in enumerate([*ranking.present, *others], start=1):
        level, at = items[name], f"{place}." if place <= len(ranking.present) else ""
        standing = STANDING[ranking.standing[name]] if name in ranking.standing else "retired"
        rows.append([at, name, f"{level.decisions:,}", f"{level.clicks:,}", standing])
    return aligned(rows, ">3 < >8 >8 <")
