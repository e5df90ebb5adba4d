"""Making the report of a ranking from its fold, and what it writes into its journal when something is proven."""

import json
from typing import Any

from rankone.live.fold.list_fold import ListFold
from rankone.live.journal.events import Kind
from rankone.live.lists import IN, OPEN
from rankone.live.report.ranking_report import RankingReport
from rankone.live.report.report import FactorReport, LevelReport
from rankone.live.verdict.list_verdict import list_verdict
from rankone.wording.numbers import percent
from rankone.wording.ratios import FEW_CLICKS


def ranking_facts(fold: ListFold) -> dict[str, Any]:
    """Return what the report of a ranking says otherwise than that of an experiment."""
    verdict, items = list_verdict(fold), fold.factors.each[0]
    places = dict(zip(fold.live[0].tolist(), verdict.standing, strict=True))
    total = max(1, int(fold.asked.sum()))
    levels = []
    for number, (name, live) in enumerate(zip(items.names, items.live, strict=True)):
        asked, told, clicks = (int(counts[:, number].sum()) for counts in (fold.asked, fold.pulls, fold.clicks))
        standing = places.get(number)
        facts: dict[str, Any] = {"in_race": standing in (IN, OPEN), "against": standing or ""}
        levels.append(LevelReport(name, live, asked, asked / total, told, clicks, **facts))
    present = tuple(items.names[item] for item in verdict.present)
    ranking = RankingReport(
        positions=fold.positions,
        present=present,
        standing={items.names[number]: standing for number, standing in places.items()},
        progress=verdict.progress,
        decide=fold.settings.stopping.decide,
        set_proven=verdict.set_proven,
        order_proven=verdict.order_proven,
        lists=fold.evidence.weighed,
        since=fold.eras[-1] if len(fold.eras) > 1 else None,
        pinned=fold.n_pinned,
        late=int(fold.late.sum()),
        over_control=verdict.over_control,
    )
    return {
        "factors": (FactorReport(next(iter(fold.factors)), present[0], tuple(levels)),),
        "leads": fold.n_clicked >= FEW_CLICKS,
        "confidence": 1.0 - min(1.0, verdict.doubt),
        "decided": verdict.decided,
        "good_enough": verdict.good_enough and not verdict.set_proven,
        "basis": "any",
        "ranking": ranking,
    }


def list_due(fold: ListFold) -> list[tuple[Kind, str]]:
    """Return the rare events that it is time for: that a verdict is there, and a stop on it."""
    if fold.stopped is not None:
        return []
    evidence, verdict = fold.evidence, list_verdict(fold)
    due, steer = list[tuple[Kind, str]](), {"proven": verdict.decided}
    if evidence.noted or (verdict.decided and not evidence.proven):
        due.append((Kind.STEER, json.dumps(steer)))
    if fold.settings.stopping.auto and verdict.decided:
        margin = percent(fold.settings.stopping.margin, 2)
        why = "the best items are known" if verdict.set_proven else f"good enough, within {margin} of the best"
        if fold.settings.stopping.decide == "order":
            why = "the best items and their order are known" if verdict.set_proven else "the order is known"
        note = {"levels": verdict.present, "why": f"{why}, {percent(1.0 - evidence.error)} sure"}
        due.append((Kind.STOP, json.dumps(note)))
    return due
