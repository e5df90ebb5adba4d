"""Expectation-maximisation on counts, for click models of any kind.

EM is slow along the ridge where attraction grows and examination shrinks, so steps are extrapolated (SQUAREM, Varadhan
and Roland 2008, scheme S3, on the logits); one that does not raise the likelihood is dropped.

`product_em` is for attraction times examination (Chuklin, Markov, de Rijke, "Click Models for Web Search", 2015,
section 4.3.3): after a non-click the item was attractive with probability a (1 - g) / (1 - a g) and the place examined
with g (1 - a) / (1 - a g); after a click both were. The M-step averages. A *place* is a position, or, of the user
browsing model, (position, click before).
"""

from collections.abc import Callable

import numpy as np

from rankone.clicks.counts.count_arrays import summed
from rankone.clicks.models.fitting.climb import Fit
from rankone.numerics.arrays import Floats
from rankone.progress import Progress

LOWEST, HIGHEST = 1e-6, 1.0 - 1e-6
_LEAST = 1e-9
#: From parameters to the next ones, and the objective at those given.
Step = Callable[[Floats], tuple[Floats, float]]


def run_em(
    start: Floats,
    step: Step,
    change: Callable[[Floats, Floats, float], float],
    tolerance: float,
    most: int,
    *,
    accelerate: bool = True,
    patience: int = 1,
    progress: Progress = lambda done, most: None,
) -> tuple[Floats, Floats, bool]:
    """Repeat EM steps until `patience` iterations running change less than `tolerance`.

    An iteration is one step, or with acceleration three and an extrapolation. `change` says how much one changed: from
    which parameters, to which, and its gain. Returns the parameters, the objective at the start of each iteration and
    at the end, and whether it stopped by itself.
    """
    here, trace, slow, done = start, [], 0, 0
    while done < most and slow < patience:
        new, value = step(here)
        gain = 0.0
        if accelerate:
            two, value_new = step(new)
            settled, value_far = step(_extrapolated(here, new, two))
            new, gain = settled if value_far >= value_new else two, max(value_far, value_new) - value
        trace.append(value)
        slow = slow + 1 if change(here, new, gain) <= tolerance else 0
        here, done = new, done + 1
        progress(done, done if slow == patience else most)
    trace.append(step(here)[1])
    return here, np.array(trace), slow >= patience


def _extrapolated(zero: Floats, one: Floats, two: Floats) -> Floats:
    """Go on along two steps, as far as they bend."""
    start, first = _logit(zero), _logit(one) - _logit(zero)
    bend = _logit(two) - _logit(one) - first
    size = max(1.0, float(np.sqrt((first**2).sum() / max((bend**2).sum(), 1e-300))))
    far = np.clip(start + 2.0 * size * first + size * size * bend, -30.0, 30.0)
    return np.clip(1.0 / (1.0 + np.exp(-far)), _LEAST, 1.0 - _LEAST)


def _logit(chances: Floats) -> Floats:
    kept = np.clip(chances, _LEAST, 1.0 - _LEAST)
    return np.log(kept / (1.0 - kept))


def product_em(
    fit: Fit, prior: tuple[float, float], tolerance: float, most: int, accelerate: bool, progress: Progress
) -> Floats:
    """Run EM on a product until no click probability moves by more than `tolerance`; return the trace.

    At most `most` iterations; a tolerance below zero always does that many.
    """
    items, (groups, places) = len(fit.attraction), fit.examination.shape
    item = np.repeat(np.arange(items), np.diff(fit.item_cells))
    group_cells = fit.item_cells[fit.item_starts]
    place = items + np.repeat(np.arange(groups), np.diff(group_cells)) * places + fit.place
    size, missed = items + groups * places, fit.impressions - fit.clicks

    def both(numbers: Floats, other: Floats) -> Floats:
        return summed(item, numbers, size) + summed(place, other, size)

    shown, clicked = both(fit.impressions, fit.impressions), both(fit.clicks, fit.clicks)
    seen = shown > 0.0  # a place that the group never shows keeps its start
    successes, others = np.where(seen, clicked + prior[0], 0.0), np.where(seen, prior[1] - prior[0], 0.0)

    def step(values: Floats) -> tuple[Floats, float]:
        a, g = values[item], values[place]
        product = a * g
        weight = missed / (1.0 - product)
        shares = (prior[0] + both(fit.clicks + weight * (a - product), fit.clicks + weight * (g - product))) / (
            np.where(seen, prior[1] + shown, 1.0)
        )
        height = (missed * np.log(1.0 - product)).sum() + (successes * np.log(values)).sum()
        height += (others * np.log(1.0 - values)).sum()
        return np.where(seen, np.clip(shares, LOWEST, HIGHEST), values), float(height)

    def change(old: Floats, new: Floats, gain: float) -> float:
        moved = np.maximum.reduceat(np.abs(new[item] * new[place] - old[item] * old[place]), group_cells[:-1])
        fit.converged[:] = moved <= tolerance
        return float(moved.max())

    start = np.concatenate([fit.attraction, fit.examination.ravel()])
    values, trace, _ = run_em(start, step, change, tolerance, most, accelerate=accelerate, progress=progress)
    fit.attraction[:], fit.examination[:] = values[:items], values[items:].reshape(groups, places)
    fit.iterations[:] = len(trace) - 1
    return trace
