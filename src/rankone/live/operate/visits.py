"""What visitors were shown and clicked adds up to sums: a function of all that was told of them, and of no order.

Of each visitor there is what they were shown, each version once, the earliest time told; and when they clicked. A click
counts for what the visitor was shown last before it, within the window, and once a version. So sums change by what the
visitors of a batch add up to after it, less what they added up to before: late, out of order, twice, in any portions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from rankone.edge import WORDS, block_text
from rankone.live.evidence.published import UNFIT, Version
from rankone.numerics.arrays import Ints

UNKNOWN, WRONG = -2, -1  # cells of what does not fit
EARLY, GRACE = 300_000_000, 3_600_000_000  # microseconds by which a clock may be ahead, and weights out of date
EXPOSURES = {"visitor": pl.Int64, "version": pl.Int64, "at": pl.Int64, "cell": pl.Int64}
CLICKS = {"visitor": pl.Int64, "at": pl.Int64}


def visitor_numbers(visitors: Sequence[str], salt: str) -> Ints:
    """Return 64 bits of a hash of each visitor."""
    start, blake2b = f"{salt}/".encode(), hashlib.blake2b
    digests = [blake2b(start + visitor.encode(), digest_size=8).digest() for visitor in visitors]
    return np.frombuffer(b"".join(digests), "<i8")


def drawn_cells(version: Version, visitors: Sequence[str]) -> Ints:
    """Return the cell that each visitor was shown: what `rankone.edge.decide` says, for many at once."""
    words = np.concatenate(
        [
            _digests(block_text(version.number, version.salt, block), visitors)
            for block in range(len(version.parts) // WORDS + 1)
        ],
        axis=1,
    )
    result, strides = np.zeros(len(visitors), np.int64), np.cumprod([1, *version.sizes[:0:-1]])[::-1]
    for part, word in zip(version.parts, words[:, 1:].T, strict=False):
        line = np.searchsorted(np.cumsum(part.weights), word, side="right")
        result += (np.array(part.levels) @ strides[part.factors])[line]
    if version.control is not None:
        result[words[:, 0] < version.control[0]] = version.cells
    return result


def _digests(head: str, visitors: Sequence[str]) -> Any:
    start, sha256 = head.encode(), hashlib.sha256
    data = b"".join([sha256(start + visitor.encode()).digest() for visitor in visitors])
    return (np.frombuffer(data, ">u4").reshape(-1, WORDS) >> 12).astype(np.int64)


def cells_of(versions: Sequence[Version], told: pl.DataFrame, visitors: Sequence[str], levels: Ints) -> Ints:
    """Return the cell of each exposure that was told, below zero where it does not fit.

    `told` has the column `version`; `levels` has, for each row and factor, the number of its level, -1: none of that
    name.
    """
    named, result = told["version"].to_numpy(), np.full(len(told), UNKNOWN, np.int64)
    for number in np.unique(named).tolist():
        if not 1 <= number <= len(versions):
            continue
        version, rows = versions[number - 1], np.flatnonzero(named == number)
        drawn = drawn_cells(version, [visitors[row] for row in rows.tolist()])
        shown = np.stack(np.unravel_index(np.minimum(drawn, version.cells - 1), version.sizes), axis=1)
        if version.control is not None:
            shown[drawn == version.cells] = version.control[1]
        known = levels[rows, : len(version.sizes)]
        result[rows] = np.where((shown == known).all(axis=1), drawn, WRONG)
    return result


def merged(known: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    """Return exposures, each visitor and version once: the earliest time; rows that do not fit take nothing away."""
    every = pl.concat([known, told])
    return every.group_by("visitor", "version").agg(pl.col("at").min(), pl.col("cell").max())


def totals(
    exposures: pl.DataFrame, clicks: pl.DataFrame, spans: pl.DataFrame, window: int
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return what visitors add up to: (version, cell, shown, clicked), and how much does not fit, by why.

    There is each visitor and version once, all clicks of these visitors, when each version may have been shown
    (`spans`), and the microseconds in which a click counts (0: any time).
    """
    placed = exposures.join(spans, on="version", how="left")
    inside = pl.col("at").is_between(pl.col("since"), pl.col("until"))
    fits = placed.filter((pl.col("cell") >= 0) & inside).sort("at", "version")
    unfit = {
        "unknown_version": placed.filter(pl.col("cell") == UNKNOWN).height,
        "wrong_levels": placed.filter(pl.col("cell") == WRONG).height,
        "shown_outside": placed.filter((pl.col("cell") >= 0) & ~inside).height,
    }
    shown = fits.select("visitor", "at", "version", "cell", since_shown="at")
    found = clicks.sort("at").join_asof(shown, on="at", by="visitor", strategy="backward", check_sortedness=False)
    matched = found.filter(pl.col("version").is_not_null())
    timely = matched.filter(pl.col("at") - pl.col("since_shown") < window) if window else matched
    first = timely.unique(["visitor", "version"])
    unfit["unmatched"] = len(clicks) - len(matched)
    unfit["late"], unfit["repeated"] = len(matched) - len(timely), len(timely) - len(first)
    counted = [
        each.group_by("version", "cell").agg(pl.len().cast(pl.Int64).alias(name))
        for each, name in ((fits, "shown"), (first, "clicked"))
    ]
    sums = counted[0].join(counted[1], on=["version", "cell"], how="left").with_columns(pl.col("clicked").fill_null(0))
    return sums, unfit


def spans_of(versions: Sequence[Version], seconds: float) -> pl.DataFrame:
    """Return from when until when each version may have been shown: some time longer than a copy may be kept.

    Anyone who fetched a version just before the next was published keeps it for up to `seconds`.
    """
    starts, longer = [version.at for version in versions], GRACE + round(seconds * 1e6)
    ends = [start + longer for start in starts[1:]] + [2**62]
    values = {
        "version": range(1, len(starts) + 1),
        "since": [start - EARLY for start in starts],
        "until": ends[-len(starts) :],
    }
    return pl.DataFrame(values, schema=dict.fromkeys(values, pl.Int64))


def difference(
    before: tuple[pl.DataFrame, Mapping[str, int]], after: tuple[pl.DataFrame, Mapping[str, int]]
) -> dict[str, Any]:
    """Return what sums change by, as the journal keeps it; nothing where they stay."""
    less = before[0].with_columns(-pl.col("shown", "clicked"))
    changed = pl.concat([after[0], less]).group_by("version", "cell").agg(pl.col("shown", "clicked").sum())
    changed = changed.filter((pl.col("shown") != 0) | (pl.col("clicked") != 0)).sort("version", "cell")
    sums = [
        [number, *(part[name].to_list() for name in ("cell", "shown", "clicked"))]
        for (number,), part in changed.group_by("version", maintain_order=True)
    ]
    unfit = {why: after[1][why] - before[1][why] for why in UNFIT}
    unfit = {why: count for why, count in unfit.items() if count}
    return {"sums": sums, "unfit": unfit} if sums or unfit else {}
