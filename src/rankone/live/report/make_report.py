"""Making the report of an experiment from its fold: what leads, how sure that is, who got how much traffic."""

import itertools
import json
import math
from typing import Any

import numpy as np

from rankone.kernels.policy import race
from rankone.live.evidence.published import SHOWN, Published
from rankone.live.factors import margin, rule_names
from rankone.live.fold.fold import Fold
from rankone.live.fold.list_fold import ListFold
from rankone.live.fold.unknown_policy import UnknownPolicy
from rankone.live.journal.events import Kind
from rankone.live.report.comparing import Compared, against_control, against_leader, shortfalls
from rankone.live.report.edge_report import UNFIT_TEXTS, EdgeReport
from rankone.live.report.make_goals import held_back, make_goals
from rankone.live.report.make_ranking import ranking_facts
from rankone.live.report.make_segments import make_segments
from rankone.live.report.rates import intervals, uniform_rate
from rankone.live.report.report import Alarm, FactorReport, LevelReport, Report
from rankone.live.verdict.verdict import Verdict, verdict_of
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.student import chi_square_tail
from rankone.wording.numbers import percent
from rankone.wording.ratios import FEW_CLICKS, effect_text

_EXPECTED, _LEAST = 5.0, 100  # of a combination, and of a version, in the traffic check
_AS_THEY_ARE = ("seq", "decisions", "fillers", "voided_by_age", "shown", "resumed", "control", "faults")


def make_report(fold: Fold) -> Report:
    """Return the report of a fold."""
    facts = ranking_facts(fold) if isinstance(fold, ListFold) else _facts(fold)
    return Report(
        name=fold.settings.name,
        policy=fold.policy.label,
        policy_known=not isinstance(fold.policy, UnknownPolicy),
        **{name: getattr(fold, name) for name in _AS_THEY_ARE},
        outcomes=outcome_counts(fold),
        error_rate=fold.evidence.error,
        stopped=None if fold.stopped is None else fold.stopped["why"],
        clock_ahead=fold.clock_ahead / 1e6,
        clock_jumped=fold.clock_jumped / 1e6,
        window=fold.settings.outcomes.window,
        eras=tuple(fold.eras),
        aim=fold.settings.aim,
        explore=exploring(fold),
        margin=fold.settings.stopping.margin,
        control_share=fold.settings.control.share if fold.settings.control else 0.0,
        fault=fold.evidence.fault,
        excluded=sum(fold.exclusions.taken.values()),
        alarms=tuple(Alarm(**alarm | {"at": alarm["at"] / 1e6}) for alarm in fold.alarms),
        **facts,
    )


def _facts(fold: Fold) -> dict[str, Any]:
    pulls, clicks = fold.of_living(fold.pulls), fold.of_living(fold.clicks)
    state, error = verdict_of(fold), fold.evidence.error
    short = tuple(shortfalls(fold))
    ratios, uplift = against_leader(fold, state, not short), against_control(fold, state, not short)
    open_still = state.basis == "any" and min(state.doubt, state.enough) > error
    goes_on = open_still and not (short or fold.stopped or fold.published)
    left = fold.evidence.visitors_left(state.leaders, int(clicks.sum())) if goes_on else None
    if fold.policy.uses_context:  # it shows levels to visitors whom they suit: other decisions say what all would do
        pulls, clicks = (fold.of_living(each) for each in fold.explored)
        pulls, clicks = (each * (clicks.sum() >= FEW_CLICKS) for each in (pulls, clicks))
    bounds = intervals(pulls, clicks, error) if state.basis == "steady" else np.full((2, *pulls.shape), np.nan)
    held = held_back(fold, state)
    names, factors = fold.factors.named(fold.numbers_of(state.leaders)), []
    for index, (factor, best) in enumerate(names.items()):
        rates = _rates(pulls, clicks, state, index, ratios)
        estimates = np.stack([rates, *(_beside_leader(each, state.leaders, index) for each in bounds)])
        levels = _level_reports(fold, state, index, estimates, None if ratios is None else ratios[index], not short)
        factors.append(FactorReport(factor, best, levels))
    even = uniform_rate(pulls, clicks, fold.evidence.allowed)
    past = fold.settings.past if fold.prior.any() else None
    return {
        "factors": tuple(factors),
        "drawn": None if fold.visitors is None else int(fold.explored[0].sum()),
        "leads": state.leads,
        "confidence": 0.0 if short else 1.0 - state.doubt,
        "decided": min(state.doubt, state.enough) <= error and not held,
        "basis": state.basis,
        "good_enough": state.enough <= error < state.doubt and not held,
        "uplift": None if uplift.ratio is None else uplift.ratio - 1.0,
        "uplift_low": uplift.low - 1.0,
        "uplift_high": None if uplift.high is None else uplift.high - 1.0,
        "shortfalls": short,
        "visitors_left": left,
        "seconds_left": None if left is None else _seconds(fold, left),
        "forbidden": tuple(rule_names(fold.forbidden, fold.factors)),
        "apart": _apart(fold, state),
        "prior_impressions": int(fold.prior[0].sum()) if past is None else past.impressions,
        "prior_weight": None if past is None else past.weight,
        "prior_left_out": () if past is None else past.left_out,
        "segments": make_segments(fold, state, not short),
        "goals": make_goals(fold, state, not short),
        "edge": make_edge_report(fold.published),
        "even_clicks": None if even is None else even * int(fold.pulls.sum()),
    }


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
    allowed, error, result = fold.evidence.allowed, fold.evidence.error, []
    for factor, ((name, levels), doubts) in enumerate(zip(fold.factors.items(), state.doubts, strict=True)):
        names = levels.names_living()
        result += [
            (name, names[x], names[y])
            for x, y in np.argwhere(allowed.apart(factor))
            if x < y and doubts[x] > error and doubts[y] > error
        ]
    return tuple(result)


def _beside_leader(each: Any, best: tuple[int, ...], factor: int) -> Floats:
    line: Any = (*best[:factor], slice(None), *best[factor + 1 :])
    return np.asarray(each[line])


def _seconds(fold: Fold, visitors: tuple[int, int]) -> tuple[float, float] | None:
    """Return how long so many visitors take at the average traffic so far; None: all came at one moment."""
    each = (fold.at - fold.began) / 1e6 / max(1, fold.decisions)
    return (each * visitors[0], each * visitors[1]) if each > 0.0 else None


def winning_note(fold: Fold) -> str | None:
    """Return what a STOP event says once the winner is known at this error rate; None before that.

    None too where traffic is known not to match what was chosen. Lost outcomes can still make a winner before that is
    noticed, and waiting would not help: after a verdict nothing explores, so nothing more is learned about traffic. Nor
    where clicks are those of two worlds, levels are no product, or a guardrail holds the winner back.
    """
    error = fold.evidence.error
    if fold.evidence.fits and not fold.evidence.may_be_decided:
        return None  # a look takes time where there are many levels
    state = verdict_of(fold)
    # What a verdict rests on does not hold where outcomes do not come back alike, or something rang.
    if min(state.doubt, state.enough) > error or shortfalls(fold) or fold.doubted or held_back(fold, state):
        return None
    enough = f"good enough, within {percent(fold.settings.stopping.margin, 2)} of the best"
    why = "won" if state.doubt <= error else enough
    return json.dumps({"levels": fold.numbers_of(state.leaders), "why": f"{why}, {percent(1.0 - error)} sure"})


def exploring(fold: Fold) -> float:
    """Return the share of decisions that explore now."""
    if fold.published is not None:
        state = verdict_of(fold)
        return 0.0 if fold.stopped or min(state.doubt, state.enough) <= fold.evidence.error else fold.settings.explore
    return 0.0 if fold.stopped else fold.evidence.exploring


def outcome_counts(fold: Fold) -> dict[str, int]:
    """Return how many outcomes of each kind there are; learned ones are clicked, not_clicked and expired."""
    return {
        "clicked": fold.n_clicked,
        "not_clicked": fold.learned - fold.n_clicked - fold.expired,
        "expired": fold.expired,
        "held": len(fold.held),
        "late": int(fold.tallies[Kind.LATE]),
        "void": int(fold.tallies[Kind.VOID]),
        "open": len(fold.open),
    }


def survivors(fold: Fold) -> tuple[dict[str, list[str]] | None, int | None]:
    """Return the levels of each factor that the policy has left, and its stage; None where it eliminates nothing."""
    result = None if fold.state is None or len(fold.factors) != 2 else race(fold.state)
    if result is None:
        return None, None
    left = {
        factor: [name for name, stays in zip(levels.names_living(), mask.tolist(), strict=True) if stays]
        for (factor, levels), mask in zip(fold.factors.items(), result.left, strict=True)
    }
    return left, result.stage


def _level_reports(
    fold: Fold, state: Verdict, factor: int, estimates: Floats, ratios: list[Compared] | None, sound: bool
) -> tuple[LevelReport, ...]:
    """Return what is to be said of the levels of a factor.

    Of each that lives, `estimates` has rate, low and high beside the leading levels of the other factors (not a number:
    not known), `ratios` how it compares with the leading one. Not `sound`: no level is out of the race.
    """
    counts = np.stack([margin(each, factor) for each in (fold.asked, fold.pulls, fold.clicks, *fold.earlier[1:])])
    levels, total, living, reports = fold.factors.each[factor], max(1, int(counts[0].sum())), itertools.count(), []
    for name, live, (decisions, outcomes, clicks, *earlier) in zip(
        levels.names, levels.live, counts.T.tolist(), strict=True
    ):
        facts: dict[str, Any] = dict(zip(("earlier_outcomes", "earlier_clicks"), earlier, strict=True))
        if live:
            index = next(living)
            doubt = float(state.doubts[factor][index]) if sound else 1.0
            facts |= dict(zip(("rate", "low", "high"), map(_known, estimates[:, index].tolist()), strict=True))
            facts |= {"in_race": doubt > fold.evidence.error, "doubt": doubt}
            if ratios is not None:
                ratio, low, high, why = ratios[index]
                leads = state.leads and index == state.leaders[factor]
                against = "leads" if leads else why or effect_text(ratio, low, high)
                facts |= {"ratio": ratio, "ratio_low": low, "ratio_high": high, "against": against}
        reports.append(LevelReport(name, live, decisions, decisions / total, outcomes, clicks, **facts))
    return tuple(reports)


def make_edge_report(published: Published | None) -> EdgeReport | None:
    """Return what is known of an experiment that decides at the edge, and the traffic check; None: it does not.

    Exposures of a version fall on combinations with the chances that were published for it. A chi-square test of each
    version and one of the sum over all say whether they did. It is a test of one look; beside it stands one that holds
    at all looks (`shortfalls`).
    """
    if published is None:
        return None
    tested: list[tuple[float, int, float, int]] = []  # p-value, version, statistic, degrees of freedom
    for version, counts in published.each():
        shown = counts[SHOWN]
        if shown.sum() >= _LEAST:
            statistic, freedom = _chi_square(shown, version.chances())
            if freedom:
                tested.append((chi_square_tail(statistic, freedom), version.number, statistic, freedom))
    p_value, worst = None, None
    if tested:
        least, worst, *_ = min(tested)
        whole = chi_square_tail(sum(each[2] for each in tested), sum(each[3] for each in tested))
        p_value = min(1.0, 2.0 * min(whole, least * len(tested)))
    unfit = {why: published.unfit[why] for why in UNFIT_TEXTS if published.unfit[why]}
    return EdgeReport(len(published.versions), published.shown, unfit, p_value, worst)


def _chi_square(shown: Ints, chances: Floats) -> tuple[float, int]:
    """Return the statistic of what was shown against its chances, those that are rare together, and its freedom."""
    expected = shown.sum() * chances
    often = expected >= _EXPECTED
    counts, means = list(shown[often]), list(expected[often])
    rest, few = int(shown[~often].sum()), float(expected[~often].sum())
    if few >= 1.0:
        counts, means = [*counts, rest], [*means, few]
    elif counts:
        counts[0], means[0] = counts[0] + rest, means[0] + few
    found, wanted = np.array(counts, float), np.array(means)
    return float(((found - wanted) ** 2 / wanted).sum()), max(0, len(found) - 1)
