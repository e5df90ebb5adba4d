"""Making the report of an experiment from its fold: what leads, how sure that is, who got how much traffic."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np

from rankone.evidence.steering import EXPLORE
from rankone.kernels.policy import race
from rankone.live.factors import Levels, margin
from rankone.live.fold.fold import Fold
from rankone.live.fold.unknown_policy import UnknownPolicy
from rankone.live.forbidden import Allowed, names_of
from rankone.live.journal.events import Kind
from rankone.live.report.comparing import Compared, against_control, against_leader, shortfalls
from rankone.live.report.make_segments import make_segments
from rankone.live.report.rate_intervals import intervals
from rankone.live.report.report import Alarm, FactorReport, LevelReport, Report
from rankone.live.report.uniform_benchmark import uniform_rate
from rankone.live.verdict.verdict import Verdict, verdict_of
from rankone.numerics.arrays import Floats, Ints
from rankone.wording.ratios import against_text


def make_report(fold: Fold) -> Report:
    """Return the report of a fold."""
    pulls, clicks = fold.of_living(fold.pulls), fold.of_living(fold.clicks)
    state, error = verdict_of(fold), fold.weighing.error
    bounds = intervals(pulls, clicks, error) if state.basis == "steady" else np.full((2, *pulls.shape), np.nan)
    best = state.leaders
    proven = state.basis == "any"
    short = tuple(shortfalls(fold))
    ratios, uplift = against_leader(fold, state, not short), against_control(fold, state, not short)
    rates = [_rates(pulls, clicks, state, factor, ratios) for factor in range(pulls.ndim)]
    won, goes_on = state.doubt <= error, proven and not short and not fold.stopped
    left = fold.weighing.visitors_left(best, int(clicks.sum())) if goes_on else None
    factors = tuple(
        FactorReport(
            factor,
            levels.names[fold.live[place][best[place]]],
            _level_reports(
                levels,
                np.stack([margin(each, place) for each in (fold.asked, fold.pulls, fold.clicks, *fold.earlier[1:])]),
                np.stack([rates[place], *(_beside_leader(each, best, place) for each in bounds)]),
                np.ones_like(state.doubts[place]) if short else state.doubts[place],
                error,
                None if ratios is None else ratios[place],
                best[place] if state.leads else None,
            ),
        )
        for place, (factor, levels) in enumerate(fold.factors.items())
    )
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
        factors=factors,
        leads=state.leads,
        confidence=0.0 if short else 1.0 - state.doubt,
        error_rate=error,
        decided=min(state.doubt, state.enough) <= error,
        stopped=None if fold.stopped is None else fold.stopped["why"],
        shown=fold.shown,
        resumed=fold.resumed,
        clock_ahead=fold.clock_ahead / 1e6,
        clock_jumped=fold.clock_jumped / 1e6,
        window=fold.settings.window,
        eras=tuple(fold.eras),
        reward_cap=fold.settings.reward_cap,
        goal=fold.settings.goal,
        basis=state.basis,
        explore=exploring(fold),
        margin=fold.settings.stopping.margin,
        good_enough=not won and state.enough <= error,
        control=fold.control,
        control_share=fold.settings.control.share if fold.settings.control else 0.0,
        uplift=None if uplift is None or uplift.ratio is None else uplift.ratio - 1.0,
        uplift_low=-1.0 if uplift is None else uplift.low - 1.0,
        uplift_high=None if uplift is None or uplift.high is None else uplift.high - 1.0,
        shortfalls=short,
        fault=fold.weighing.fault,
        faults=fold.faults,
        visitors_left=left,
        seconds_left=None if left is None else _seconds(fold, left),
        forbidden=tuple(names_of(fold.forbidden, fold.factors)),
        apart=_apart(fold, state),
        prior_impressions=int(fold.prior[0].sum()) if past is None else past.impressions,
        prior_weight=None if past is None else past.weight,
        prior_left_out=() if past is None else past.left_out,
        excluded=sum(fold.exclusions.taken.values()),
        segments=make_segments(fold, state, not short),
        even_clicks=None if even is None else even * int(fold.pulls.sum()),
        alarms=tuple(Alarm(**alarm | {"at": alarm["at"] / 1e6}) for alarm in fold.alarms),
    )


def _rates(pulls: Ints, clicks: Ints, state: Verdict, factor: int, ratios: list[list[Compared]] | None) -> Floats:
    """Return the click rate of each level of a factor beside the leading levels of the others; not a number: not known.

    Where levels are compared by their clicks it is the rate of a product with these ratios that has had as many clicks:
    a raw one would be that of the time at which a pair was shown, and could contradict the ratio beside it.
    """
    if not state.leads or not clicks.any():
        return np.full(pulls.shape[factor], np.nan)
    if ratios is None:
        shown, clicked = (_beside_leader(each, state.leaders, factor) for each in (pulls, clicks))
        rates = clicked / np.maximum(shown, 1)
        few = (rates > rates[state.leaders[factor]]) | (shown == 0)  # what leads has the highest of those with enough
        return np.where(few, np.nan, rates)
    assert state.standing is not None
    expected = pulls.astype(np.float64)
    for axis, scores in enumerate(state.standing.scores):
        shape = [-1 if axis == other else 1 for other in range(pulls.ndim)]
        expected = expected * np.exp(scores - scores[state.leaders[axis]]).reshape(shape)
    each = np.array([math.nan if each.ratio is None else each.ratio for each in ratios[factor]])
    return np.asarray(np.minimum(each * (clicks.sum() / expected.sum()), 1.0))


def _known(value: float) -> float | None:
    """Return a number; None for what is none."""
    return None if math.isnan(value) else float(value)


def _apart(fold: Fold, state: Verdict) -> tuple[tuple[str, str, str], ...]:
    """Return a factor and two levels of it, both in the race, that are never shown with the same."""
    allowed, error, found = Allowed(fold.rules, [len(live) for live in fold.live]), fold.weighing.error, []
    for factor, ((name, levels), doubts) in enumerate(zip(fold.factors.items(), state.doubts, strict=True)):
        names = levels.names_living()
        found += [
            (name, names[x], names[y])
            for x, y in np.argwhere(allowed.apart(factor))
            if x < y and doubts[x] > error and doubts[y] > error
        ]
    return tuple(found)


def _beside_leader(each: Any, best: tuple[int, ...], factor: int) -> Floats:
    """Return the values of each level of a factor with the leading levels of the others."""
    line: Any = (*best[:factor], slice(None), *best[factor + 1 :])
    return np.asarray(each[line])


def _seconds(fold: Fold, visitors: tuple[int, int]) -> tuple[float, float] | None:
    """Return how long so many visitors take at the average traffic so far; None: all came at one moment."""
    each = (fold.at - fold.began) / 1e6 / max(1, fold.decisions)
    return (each * visitors[0], each * visitors[1]) if each > 0.0 else None


def winning_note(fold: Fold, error: float) -> str | None:
    """Return what a STOP event says once the winner is known at this error rate; None before that.

    None too where traffic is known not to match what was chosen. Lost outcomes can still make a winner before that is
    noticed, and waiting would not help: after a verdict nothing explores, so nothing more is learned about traffic. Nor
    where clicks are those of two worlds, or levels are no product.
    """
    if fold.weighing.fits and not fold.weighing.may_be_decided:
        return None  # a look takes time where there are many levels
    state = verdict_of(fold)
    # What a verdict rests on does not hold where outcomes do not come back alike, or something rang.
    if min(state.doubt, state.enough) > error or shortfalls(fold) or fold.doubted:
        return None
    shown = [int(live[leader]) for live, leader in zip(fold.live, state.leaders, strict=True)]
    why = "won" if state.doubt <= error else f"good enough, within {fold.settings.stopping.margin:g} of the best"
    return json.dumps({"levels": shown, "why": f"{why}, wrong with probability at most {error:g}"})


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


def survivors(fold: Fold) -> tuple[dict[str, list[str]] | None, int | None]:
    """Return the levels of each factor that the policy has left, and its stage; None where it eliminates nothing."""
    found = None if fold.state is None or len(fold.factors) != 2 else race(fold.state)
    if found is None:
        return None, None
    left = {
        factor: [name for name, stays in zip(levels.names_living(), mask.tolist(), strict=True) if stays]
        for (factor, levels), mask in zip(fold.factors.items(), (found.rows, found.cols), strict=True)
    }
    return left, found.stage


def _level_reports(
    levels: Levels,
    counts: Ints,
    estimates: Floats,
    doubts: Floats,
    error: float,
    ratios: list[Compared] | None,
    leader: int | None,
) -> tuple[LevelReport, ...]:
    """Return what is to be said of the levels of a factor.

    Args:
        levels: all of them, with their names.
        counts: decisions, outcomes and clicks of each, and outcomes and clicks before the last restart.
        estimates: rate, low and high of each that lives, with the leading levels of the other factors; not a number:
            not known.
        doubts: each that lives is beaten at any error rate above its doubt.
        error: the error rate of the report.
        ratios: each that lives against the leading one; None: not known.
        leader: the one that leads, among those that live; None: nobody does.
    """
    place_of = {number: place for place, number in enumerate(levels.numbers())}
    total = max(1, int(counts[0].sum()))
    found = []
    for number, name in enumerate(levels.names):
        decisions, outcomes, clicks, *earlier = counts[:, number].tolist()
        traffic = (decisions, decisions / total, outcomes, clicks)
        place = place_of.get(number)
        if place is None:
            found.append(
                LevelReport(name, False, *traffic, None, None, None, False, 0.0, None, 0.0, None, "", *earlier)
            )
            continue
        rate, low, high = map(_known, estimates[:, place].tolist())
        doubt = float(doubts[place])
        report = LevelReport(name, True, *traffic, rate, low, high, doubt > error, doubt, None, 0.0, None, "", *earlier)
        if ratios is not None:
            ratio, least, most, why = ratios[place]
            against = "leads" if place == leader else why or against_text(ratio, least, most)
            report = dataclasses.replace(report, ratio=ratio, ratio_low=least, ratio_high=most, against=against)
        found.append(report)
    return tuple(found)
