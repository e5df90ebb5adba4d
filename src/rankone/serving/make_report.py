"""Making the report of an experiment from its fold: what leads, how sure that is, who got how much traffic."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from rankone.kernels.policy import race
from rankone.kernels.steering import EXPLORE
from rankone.kernels.watching import scattered
from rankone.serving.comparing import Compared, against_control, against_leader, shortfalls
from rankone.serving.even_test import uniform_rate
from rankone.serving.factors import Levels, margin
from rankone.serving.fold import Fold
from rankone.serving.forbidden import names_of
from rankone.serving.interactions import strongest
from rankone.serving.journal import Kind
from rankone.serving.make_segments import make_segments
from rankone.serving.names import factor_text
from rankone.serving.ratio_wording import against_text
from rankone.serving.report import Alarm, FactorReport, Interaction, LevelReport, Report
from rankone.serving.unknown_policy import UnknownPolicy
from rankone.serving.verdict import verdict_of
from rankone.serving.winner import Floats, Ints, intervals

T = TypeVar("T")


def make_report(fold: Fold) -> Report:
    """Return the report of a fold."""
    known = np.ix_(*fold.live)
    pulls, clicks = fold.pulls[known], fold.clicks[known]
    state, error = verdict_of(fold), fold.weighing.error
    low, high = intervals(pulls, clicks, error)
    best = state.leaders
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = clicks / pulls
    proven = state.basis == "any"
    ratios = against_leader(fold, state) if proven and fold.clicks.any() else None
    uplift = against_control(fold, state) if proven else None
    won = state.doubt <= error
    left = fold.weighing.visitors_left(fold.asked) if proven and not fold.stopped else None
    factors = tuple(
        FactorReport(
            factor,
            levels.names[fold.live[place][best[place]]],
            _level_reports(
                levels,
                np.stack([margin(each, place) for each in (fold.asked, fold.pulls, fold.clicks, *fold.earlier[1:])]),
                np.stack([_beside_leader(each, best, place) for each in (rates, low, high)]),
                state.doubts[place],
                error,
                None if ratios is None else ratios[place],
                best[place],
            ),
        )
        for place, (factor, levels) in enumerate(fold.factors.items())
    )
    shown, control = fold.shown, fold.control
    even = uniform_rate(pulls, clicks, fold.rules)
    past = fold.settings.past if fold.prior.any() else None
    return Report(
        name=fold.settings.name,
        policy=fold.policy.label,
        policy_known=not isinstance(fold.policy, UnknownPolicy),
        seq=fold.seq,
        decisions=fold.decisions,
        outcomes=outcome_counts(fold),
        fillers=fold.fillers,
        voided_by_age=fold.voided_by_age,
        best_row=_of_pair([factor.best for factor in factors], 0),
        best_col=_of_pair([factor.best for factor in factors], 1),
        rate=None if pulls[best] == 0 else float(rates[best]),
        low=float(low[best]),
        high=float(high[best]),
        confidence=1.0 - state.doubt,
        error_rate=error,
        decided=min(state.doubt, state.enough) <= error,
        stopped=None if fold.stopped is None else fold.stopped["why"],
        shown_row=_of_pair(list((shown or {}).values()), 0),
        shown_col=_of_pair(list((shown or {}).values()), 1),
        resumed=fold.resumed,
        clock_ahead=fold.clock_ahead / 1e6,
        clock_jumped=fold.clock_jumped / 1e6,
        window=fold.settings.window / 1e6 or None,
        rows=_of_pair([factor.levels for factor in factors], 0) or (),
        cols=_of_pair([factor.levels for factor in factors], 1) or (),
        eras=tuple(fold.eras),
        reward_cap=fold.settings.reward_cap or None,
        goal=fold.settings.goal,
        basis=state.basis,
        explore=exploring(fold),
        margin=fold.settings.margin,
        good_enough=not won and state.enough <= error,
        control_row=_of_pair(list((control or {}).values()), 0),
        control_col=_of_pair(list((control or {}).values()), 1),
        control_share=fold.settings.share,
        uplift=None if uplift is None or uplift.ratio is None else uplift.ratio - 1.0,
        uplift_low=-1.0 if uplift is None else uplift.low - 1.0,
        uplift_high=None if uplift is None or uplift.high is None else uplift.high - 1.0,
        shortfalls=tuple(shortfalls(fold)),
        visitors_left=left,
        seconds_left=None if left is None else _seconds(fold, left),
        factors=factors,
        shown_levels=shown,
        control_levels=control,
        forbidden=tuple(names_of(fold.forbidden, fold.factors)),
        prior_impressions=int(fold.prior[0].sum()) if past is None else past.impressions,
        prior_weight=None if past is None else past.weight,
        prior_left_out=() if past is None else past.left_out,
        excluded=sum(fold.exclusions.taken.values()),
        segments=make_segments(fold, state),
        interactions=_interactions(fold),
        even_clicks=None if even is None else even * int(fold.pulls.sum()),
        on_change=fold.settings.on_change,
        on_misfit=fold.settings.on_misfit,
        alarms=tuple(_alarm(alarm) for alarm in fold.alarms),
    )


def _interactions(fold: Fold) -> tuple[Interaction, ...]:
    """Return which levels of two factors seem to act together."""
    weighing, factors = fold.weighing, list(fold.factors.items())
    found = []
    for one in strongest(weighing.together, weighing.levels_of_each(), scattered(weighing.watch)):
        (factor, levels), (second, beside) = (factors[place] for place in one.factors)
        acting = {factor: levels.names[one.level], second: beside.names[one.beside]}
        found.append(Interaction(acting, levels.names[one.other], one.times, one.p))
    return tuple(found)


def _alarm(alarm: dict[str, Any]) -> Alarm:
    """Return an alarm of the journal, whose times are microseconds, as a report has it."""
    told = {key: value for key, value in alarm.items() if key != "factor"}
    return Alarm(**told | {"at": alarm["at"] / 1e6, "side": factor_text(alarm["factor"])})


def _of_pair(each: Sequence[T], place: int) -> T | None:
    """Return what there is of the first or of the second of two factors; None where there are not two."""
    return each[place] if len(each) == 2 else None


def _beside_leader(each: Floats, best: tuple[int, ...], factor: int) -> Floats:
    """Return the values of each level of a factor with the leading levels of the others."""
    line: Any = (*best[:factor], slice(None), *best[factor + 1 :])
    return np.asarray(each[line])


def _seconds(fold: Fold, visitors: tuple[int, int]) -> tuple[float, float] | None:
    """Return how long so many visitors take at the average traffic so far; None: all came at one moment."""
    each = (fold.at - fold.began) / 1e6 / max(1, fold.decisions)
    return (each * visitors[0], each * visitors[1]) if each > 0.0 else None


def winning_note(fold: Fold, error: float) -> str | None:
    """Return what a STOP event says once the winner is known at this error rate; None before that.

    None too where traffic does not match what was chosen: nobody shall be shown a winner that lost outcomes made. Nor
    where clicks are those of two worlds, or levels are no product.
    """
    state = verdict_of(fold)
    # What a verdict rests on does not hold where outcomes do not come back alike, or something rang.
    if min(state.doubt, state.enough) > error or shortfalls(fold) or fold.doubted:
        return None
    shown = fold.factors.note_of([int(live[leader]) for live, leader in zip(fold.live, state.leaders, strict=True)])
    why = "won" if state.doubt <= error else f"good enough, within {fold.settings.margin:g} of the best"
    steady = "" if state.basis == "any" else " while click rates stay as they are"
    return json.dumps(shown | {"why": f"{why}, wrong with probability at most {error:g}{steady}"})


def exploring(fold: Fold) -> float:
    """Return the share of decisions that explore now."""
    return 0.0 if fold.stopped or not fold.weighing.fits else float(fold.weighing.steering.shares[EXPLORE])


def outcome_counts(fold: Fold) -> dict[str, int]:
    """Return how many outcomes of each kind there are; learned ones are clicked, not_clicked and expired."""
    clicks = int(fold.clicks.sum() + fold.earlier[2].sum())
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
    found = None if fold.state is None or len(fold.factors) != 2 else race(fold.state)
    if found is None:
        return None, None, None
    rows, cols = (
        [name for name, left in zip(levels.names_living(), mask.tolist(), strict=True) if left]
        for levels, mask in zip(fold.factors.each, (found.rows, found.cols), strict=True)
    )
    return rows, cols, found.stage


def _level_reports(
    levels: Levels,
    counts: Ints,
    estimates: Floats,
    doubts: Floats,
    error: float,
    ratios: list[Compared] | None,
    leader: int,
) -> tuple[LevelReport, ...]:
    """Return what is to be said of the levels of a factor.

    Args:
        levels: all of them, with their names.
        counts: decisions, outcomes and clicks of each, and outcomes and clicks before the last restart.
        estimates: rate, low and high of each that lives, with the leading levels of the other factors.
        doubts: each that lives is beaten at any error rate above its doubt.
        error: the error rate of the report.
        ratios: each that lives against the leading one; None: not known.
        leader: the one that leads, among those that live.
    """
    place_of = {number: place for place, number in enumerate(levels.numbers())}
    total = max(1, int(counts[0].sum()))
    found = []
    for number, name in enumerate(levels.names):
        decisions, outcomes, clicks, *earlier = counts[:, number].tolist()
        traffic = (decisions, decisions / total, outcomes, clicks)
        place = place_of.get(number)
        if place is None:
            found.append(LevelReport(name, False, *traffic, None, 0.0, 1.0, False, 0.0, None, 0.0, None, "", *earlier))
            continue
        rate, low, high = estimates[:, place].tolist()
        doubt = float(doubts[place])
        known = None if math.isnan(rate) else rate
        report = LevelReport(
            name, True, *traffic, known, low, high, doubt > error, doubt, None, 0.0, None, "", *earlier
        )
        if ratios is not None:
            ratio, least, most = ratios[place]
            against = "leads" if place == leader else against_text(ratio, least, most)
            report = dataclasses.replace(report, ratio=ratio, ratio_low=least, ratio_high=most, against=against)
        found.append(report)
    return tuple(found)
