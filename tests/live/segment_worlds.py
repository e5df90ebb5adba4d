"""Simulated experiments with segments: allocation that learns, click rates that move in each segment."""

import numpy as np

from rankone.live.evidence.segments import Segments
from rankone.live.verdict.segment_verdict import segment_verdict
from rankone.numerics.seeds import generator


def played(rates, seed, batches=20, size=400, ignore=False):
    """Play visitors of some segments; return what is proven after each batch, whatever was looked at before.

    Args:
        rates: for each segment and factor, how much each level changes clicks: [segment][factor][level].
        seed: of everything.
        batches: how often the allocation changes: towards levels that were clicked, more and more.
        size: visitors of a batch.
        ignore: only the last look.
    """
    rng = generator(seed, "segments")
    sizes = tuple(len(factor) for factor in rates[0])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    segments = Segments(sizes)
    numbers_of = [segments.number(f'{{"segment":"{number}"}}') for number in range(len(rates))]
    living = np.split(np.arange(starts[-1]), starts[1:-1])
    seen, clicked_of = np.ones(starts[-1]), np.ones(starts[-1])
    looks = []
    for batch in range(batches):
        level = clicked_of / seen
        chances = [np.maximum(0.03, (part / part.max()) ** (1 + batch)) for part in np.split(level, starts[1:-1])]
        chances = [chance / chance.sum() for chance in chances]
        numbers = rng.integers(len(rates), size=size)
        shown = np.stack([rng.choice(len(chance), size, p=chance) for chance in chances], axis=1)
        site = 0.2 + 0.75 * np.abs(np.sin(batch * (1 + np.arange(len(rates))) / 3.0))  # each segment moves by itself
        rate = site[numbers] * np.prod(
            [np.array([each[f] for each in rates])[numbers, shown[:, f]] for f in range(len(sizes))], axis=0
        )
        clicked = (rng.random(size) < rate).astype(np.int64)
        of_each = [chance[shown[:, factor]] for factor, chance in enumerate(chances)]
        whole = np.prod(of_each, axis=0)
        crosses = np.concatenate(
            [np.outer(whole / mine, chance) for mine, chance in zip(of_each, chances, strict=True)], axis=1
        )
        segments.weigh(np.array(numbers_of)[numbers], shown + starts[:-1], clicked, crosses)
        np.add.at(seen, shown + starts[:-1], 1.0)
        np.add.at(clicked_of, shown + starts[:-1], clicked[:, None] * np.ones(len(sizes)))
        if not ignore:
            looks.append(segment_verdict(segments, living, 0.05))
    return segments, looks or [segment_verdict(segments, living, 0.05)]


def wrong(rates, statements):
    """Return the statements that are not true."""
    flat = [np.concatenate(segment) for segment in rates]
    return [each for each in statements if flat[each.segment][each.better] <= flat[each.segment][each.worse]]
