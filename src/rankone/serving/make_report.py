"""Making the report of an experiment from its fold: what leads, how sure that is, who got how much traffic."""

from __future__ import annotations

import json
import math

import numpy as np

from rankone.kernels.policy import race
from rankone.serving.fold import Fold
from rankone.serving.journal import Kind
from rankone.serving.report import LevelReport, Report
from rankone.serving.settings import Levels
from rankone.serving.unknown_policy import UnknownPolicy
from rankone.serving.verdict import verdict_of
from rankone.serving.winner import Floats, Ints, intervals


def make_report(fold: Fold) -> Report:
    """Return the report of a fold."""
    known = np.ix_(fold.live_rows, fold.live_cols)
    pulls, clicks = fold.pulls[known], fold.clicks[known]
    state, error = verdict_of(fold), fold.weighing.error
    low, high = intervals(pulls, clicks, error)
    best = state.row, state.col
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = clicks / pulls
    counts, estimates = (fold.asked, fold.pulls, fold.clicks), (rates, low, high)
    rows = _level_reports(
        fold.rows,
        np.stack([each.sum(axis=1) for each in counts]),
        np.stack([each[:, state.col] for each in estimates]),
        state.row_doubts,
        error,
    )
    cols = _level_reports(
        fold.cols,
        np.stack([each.sum(axis=0) for each in counts]),
        np.stack([each[state.row] for each in estimates]),
        state.col_doubts,
        error,
    )
    return Report(
        name=fold.settings.name,
        policy=fold.policy.label,
        policy_known=not isinstance(fold.policy, UnknownPolicy),
        seq=fold.seq,
        decisions=fold.decisions,
        outcomes=outcome_counts(fold),
        fillers=fold.fillers,
        voided_by_age=fold.voided_by_age,
        best_row=fold.rows.names[fold.live_rows[state.row]],
        best_col=fold.cols.names[fold.live_cols[state.col]],
        rate=None if pulls[best] == 0 else float(rates[best]),
        low=float(low[best]),
        high=float(high[best]),
        confidence=1.0 - state.doubt,
        error_rate=error,
        decided=state.enough <= error,
        stopped=None if fold.stopped is None else fold.stopped["why"],
        shown_row=fold.shown[0],
        shown_col=fold.shown[1],
        resumed=fold.resumed,
        clock_ahead=fold.clock_ahead / 1e6,
        clock_jumped=fold.clock_jumped / 1e6,
        window=fold.settings.window / 1e6 or None,
        rows=rows,
        cols=cols,
        eras=tuple(fold.eras),
        reward_cap=fold.settings.reward_cap or None,
    )


def winning_note(fold: Fold, error: float) -> str | None:
    """Return what a STOP event says once the winner is known at this error rate; None before that."""
    state = verdict_of(fold)
    if state.enough > error:
        return None
    pair = {"row": int(fold.live_rows[state.row]), "col": int(fold.live_cols[state.col])}
    return json.dumps(pair | {"why": f"won, wrong with probability at most {error:g}"})


def outcome_counts(fold: Fold) -> dict[str, int]:
    """Return how many outcomes of each kind there are; learned ones are clicked, not_clicked and expired."""
    clicks = int(fold.clicks.sum())
    return {
        "clicked": clicks,
        "not_clicked": fold.learned - clicks - fold.expired,
        "expired": fold.expired,
        "held": len(fold.held),
        "late": int(fold.tallies[Kind.LATE]),
        "void": int(fold.tallies[Kind.VOID]),
        "open": len(fold.open),
    }


def survivors(fold: Fold) -> tuple[list[str] | None, list[str] | None, int | None]:
    """Return the rows and columns that the policy has left and its stage; None where it eliminates nothing."""
    found = None if fold.state is None else race(fold.state)
    if found is None:
        return None, None, None
    rows, cols = (
        [name for name, left in zip(levels.names_living(), mask.tolist(), strict=True) if left]
        for levels, mask in ((fold.rows, found.rows), (fold.cols, found.cols))
    )
    return rows, cols, found.stage


def _level_reports(
    levels: Levels, counts: Ints, estimates: Floats, doubts: Floats, error: float
) -> tuple[LevelReport, ...]:
    """Return what is to be said of the rows, or of the columns.

    Args:
        levels: all of them, with their names.
        counts: decisions, outcomes and clicks of each.
        estimates: rate, low and high of each that lives, with the leading partner.
        doubts: each that lives is beaten at any error rate above its doubt.
        error: the error rate of the report.
    """
    place_of = {number: place for place, number in enumerate(levels.numbers())}
    total = max(1, int(counts[0].sum()))
    found = []
    for number, name in enumerate(levels.names):
        decisions, outcomes, clicks = counts[:, number].tolist()
        traffic = (decisions, decisions / total, outcomes, clicks)
        place = place_of.get(number)
        if place is None:
            found.append(LevelReport(name, False, *traffic, None, 0.0, 1.0, False, 0.0))
            continue
        rate, low, high = estimates[:, place].tolist()
        doubt = float(doubts[place])
        known = None if math.isnan(rate) else rate
        found.append(LevelReport(name, True, *traffic, known, low, high, doubt > error, doubt))
    return tuple(found)
