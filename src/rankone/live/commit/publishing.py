"""The next version of the weights of an experiment that decides at the edge: when it is due, and what it says.

The rule is that of the policy `edge` (`rankone.policies.engines.level_lottery`), from the sums of all versions. Factors
of which levels are forbidden together are drawn together: which of their allowed combinations is best, draw by draw.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from typing import Any

import numpy as np

from rankone.compiling.tiers import tiered
from rankone.edge import WHOLE
from rankone.errors import InputError
from rankone.live.evidence.published import CLICKED, SHOWN, Part, Version
from rankone.live.fold.fold import Fold
from rankone.live.journal.events import Draft, Kind
from rankone.live.verdict.verdict import verdict_of
from rankone.numerics.arrays import Floats
from rankone.numerics.seeds import generator
from rankone.policies.engines.level_lottery import DRAWS, draw_factor, mix_lottery
from rankone.policies.factors.edge import GROWTH, Edge

MAX_COMBINATIONS = 10_000  # of an experiment at the edge: each has its sums in every version
_SHORT, _YOUNG = 10.0, 20  # seconds between versions at first, until so many of the shortest versions were shown


def lottery_of(fold: Fold) -> Edge:
    """Return the policy of an experiment that decides at the edge; refuse another."""
    if fold.published is None or not isinstance(fold.policy, Edge):
        got, do = f"{fold.policy.label}, which decides here", "make an experiment with policy='edge', or use ask"
        raise InputError("an experiment that decides away from the server", got, do)
    return fold.policy


def seconds_between(fold: Fold) -> float:
    """Return for how long a version holds at least."""
    policy = lottery_of(fold)
    young = fold.published is not None and fold.published.shown < _YOUNG * policy.every
    return min(_SHORT, policy.seconds) if young else policy.seconds


def _era(fold: Fold) -> int:
    return 2 * len(fold.eras) + (fold.stopped is not None)


def is_due(fold: Fold, now: int) -> bool:
    """Return whether it is time for another version: levels changed, or enough was shown for long enough."""
    policy, published = lottery_of(fold), fold.published
    assert published is not None
    if not published.versions or published.versions[-1].era != _era(fold):
        return True
    own, length = int(published.counts[-1][SHOWN].sum()), now - published.versions[-1].at
    least = max(policy.every, GROWTH * (published.shown - own))
    return fold.stopped is None and own >= least and length >= seconds_between(fold) * 1e6


def draft_version(fold: Fold, draft: Draft) -> None:
    """Draft the next version if it is due."""
    if not is_due(fold, draft.at) or fold.published is None:
        return
    earlier = fold.published.versions
    number, sizes = len(earlier) + 1, fold.factors.sizes
    # Who came back goes on with what was seen first, unless that may no longer be shown.
    oldest = earlier[-1].oldest if earlier else 1
    if earlier and earlier[-1].era != _era(fold) and not _still_shown(fold, earlier[-1]):
        oldest = number
    salt = hashlib.sha256(f"{fold.settings.seed}/{fold.settings.name}".encode()).hexdigest()[:16]
    stopped, control = fold.stopped_on(), None
    if stopped is not None:
        parts = tuple(Part([factor], [[level]], [WHOLE]) for factor, level in enumerate(stopped))
    else:
        parts = tuple(_parts(fold, number))
        if fold.settings.control is not None and fold.control is not None:
            levels = [fold.factors[factor].names.index(name) for factor, name in fold.control.items()]
            control = round(fold.settings.control.share * WHOLE), levels
    version = Version(number, draft.at, _era(fold), oldest, salt, sizes, parts, control)
    draft.mark(Kind.PUBLISH, version.note())


def _still_shown(fold: Fold, last: Version) -> bool:
    if fold.stopped is not None or len(fold.factors) > len(last.sizes):
        return False
    live, cells = fold.live, np.flatnonzero(last.chances()[:-1])
    shown = np.stack(np.unravel_index(cells, last.sizes), axis=1)
    if not all(np.isin(shown[:, factor], live[factor]).all() for factor in range(len(live))):
        return False
    allowed = fold.evidence.allowed
    counted = [np.searchsorted(live[factor], shown[:, factor]) for factor in range(len(live))]
    return all(allowed.allows(levels) for levels in np.unique(np.stack(counted, axis=1), axis=0).tolist())


def _parts(fold: Fold, number: int) -> list[Part]:
    assert fold.published is not None
    named, sizes = fold.evidence.allowed.named, [len(live) for live in fold.live]
    if math.prod(fold.factors.sizes) > MAX_COMBINATIONS:
        got = f"{math.prod(fold.factors.sizes):,}"
        raise InputError(f"at most {MAX_COMBINATIONS:,} combinations at the edge", got, "leave out factors or levels")
    rng = generator(fold.settings.seed, "edge", number)
    clicks = sum(int(counts[CLICKED, :-1].sum()) for counts in fold.published.counts)
    decides = fold.settings.explore
    if clicks:
        state = verdict_of(fold)
        decides = 0.0 if min(state.doubt, state.enough) <= fold.evidence.error else decides
    groups = [[factor] for factor in range(len(sizes)) if factor not in named] + ([named] if named else [])
    return [_part(fold, group, clicks, decides, rng) for group in sorted(groups)]


def _part(fold: Fold, group: list[int], clicks: int, decides: float, rng: Any) -> Part:
    lines = list(itertools.product(*(range(len(fold.live[factor])) for factor in group)))
    if len(group) > 1:
        allowed = fold.evidence.allowed
        lines = [line for line in lines if allowed.allows(dict(zip(group, line, strict=True)))]
    levels = [[int(fold.live[factor][level]) for factor, level in zip(group, line, strict=True)] for line in lines]
    if not clicks:
        return Part(group, levels, whole_weights(np.full(len(lines), 1.0 / len(lines))))
    scores, leads = np.zeros((DRAWS, len(lines))), np.zeros(len(lines))
    for at, factor in enumerate(group):
        own = [line[at] for line in lines]
        ratios, peak = _drawn(fold, factor, rng)
        scores += ratios[:, own]
        leads += peak[own]
    best = np.bincount(scores.argmax(axis=1), minlength=len(lines)) / DRAWS
    mix_lottery(best, 0, len(lines), int(leads.argmax()), float(clicks), decides)
    return Part(group, levels, whole_weights(best))


def _drawn(fold: Fold, factor: int, rng: Any) -> tuple[Floats, Floats]:
    """Return draws of the log ratio of each living level to the leader, and the scores at the posterior's peak."""
    assert fold.published is not None
    live, size = fold.live[factor], fold.factors.sizes[factor]
    chances, counts = (each[:, live] for each in fold.published.rows(factor, size, CLICKED))
    used = (counts.sum(axis=1) > 0) & (chances.sum(axis=1) > 0.0)
    k = len(live)
    scores, root, work, ratios = np.zeros(k), np.zeros((k, k)), np.zeros((4, k)), np.empty((DRAWS, k))
    rows = np.ascontiguousarray(counts[used], np.float64), np.ascontiguousarray(chances[used])
    tiered(draw_factor, draw_factor.__module__)(*rows, scores, root, work, rng, ratios)
    return ratios, scores


def whole_weights(chances: Floats) -> list[int]:
    """Return weights that sum to `WHOLE`, at least 1 each; what is left over goes to the largest.

    >>> whole_weights(np.array([1e-9, 1.0 - 1e-9]))
    [1, 1048575]
    """
    result = np.maximum(np.floor(chances * WHOLE), 1.0).astype(int)
    result[int(result.argmax())] += WHOLE - int(result.sum())
    return [int(weight) for weight in result]


def weights_document(fold: Fold, number: int | None, now: int) -> dict[str, Any]:
    """Return a version, the newest one if none is named, as those who decide need it: names, whole numbers, no more."""
    lottery_of(fold)
    assert fold.published is not None
    if not fold.published.versions:
        do = "ask for them where the database may be written: weights() publishes them"
        raise InputError("weights that were published", "none yet", do)
    versions, names = fold.published.versions, [levels.names for levels in fold.factors.values()]
    number = len(versions) if number is None else number
    if not 1 <= number <= len(versions):
        do = "leave it out for the newest one"
        raise InputError(f"a version of the weights from 1 to {len(versions)}", number, do)
    version, factors, step = versions[number - 1], list(fold.factors), round(seconds_between(fold) * 1e6)
    until = version.at + step * ((now - version.at) // step + 1) if number == len(versions) else None

    def named(group: list[int], line: list[int]) -> list[str]:
        return [names[factor][level] for factor, level in zip(group, line, strict=True)]

    parts = [
        {"factors": [factors[factor] for factor in part.factors]}
        | {"levels": [named(part.factors, line) for line in part.levels], "weights": part.weights}
        for part in version.parts
    ]
    control = None
    if version.control is not None:
        share, held = version.control
        control = {"share": share, "levels": dict(zip(factors, named(list(range(len(held))), held), strict=False))}
    return {
        "experiment": fold.settings.name,
        "version": number,
        "oldest": version.oldest,
        "salt": version.salt,
        "published": version.at // 1_000_000,
        "valid_until": None if until is None else math.ceil(until / 1e6),
        "whole": WHOLE,
        "control": control,
        "parts": parts,
    }
