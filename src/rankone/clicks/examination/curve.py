"""One examination curve for all queries: how often each position is looked at, compared with the best one.

Only ratios of examinations are identified, and only between positions that items connect: an item that was shown at
two positions compares them (`rankone.clicks.models.components`). So the positions fall into components, each with a
scale of its own.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Floats, Ints, summed
from rankone.clicks.counts.counts import Counts, position_title
from rankone.clicks.models.intervals import GroupProfile, examination_ends
from rankone.clicks.models.pbm import PBM
from rankone.clicks.models.uncertainty import checked_level
from rankone.notebook import Shown
from rankone.specs import amount


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class ExaminationCurve(Shown):
    """Examination by position, with intervals, and what the data link.

    `table` has one row per position: examination relative to the most examined position of its component, the ends of
    its interval, the component (named after its first position), impressions and clicks.
    """

    table: pl.DataFrame  # position, title, examination, low, high, component, impressions, clicks
    level: float
    position_names: tuple[str, ...] = ()

    @functools.cached_property
    def components(self) -> list[list[int]]:
        """Positions that can be compared with each other, the component with the most clicks first."""
        groups = self.table.group_by("component", maintain_order=True).agg("position", pl.col("clicks").sum())
        found: list[list[int]] = groups.sort("clicks", descending=True, maintain_order=True)["position"].to_list()
        return found

    @property
    def linked(self) -> list[int]:
        """Positions of the component with the most clicks."""
        return self.components[0]

    @property
    def apart(self) -> list[int]:
        """Positions that the data do not link with those."""
        return sorted(position for group in self.components[1:] for position in group)

    def titles(self, positions: list[int]) -> str:
        """Name some positions: "positions 1 to 4 and 7", or what they are called."""
        if self.position_names:
            return ", ".join(position_title(self.position_names, position) for position in positions)
        return ("position " if len(positions) == 1 else "positions ") + spans(positions)

    def _sentence(self) -> str:
        if len(self.components) == 1:
            return f"Items that moved link all {amount(len(self.linked), 'position')}."
        groups = "; ".join(self.titles(group) for group in self.components)
        return f"No item links these groups of positions, so nothing compares them: {groups}."

    def _tables(self) -> dict[str, pl.DataFrame]:
        return {"positions": self.table}

    def _shown(self) -> pl.DataFrame:
        return self.table.drop("component") if len(self.components) == 1 else self.table


def examination_curve(counts: Counts, *, level: float = 0.95) -> ExaminationCurve:
    """Estimate one examination curve from all queries, by maximum likelihood of the position-based model.

    Every item of a query has an attraction of its own, so an item that was shown at one position only says nothing
    about examination. The intervals are profile likelihoods.

    >>> counts = Counts(pl.DataFrame({"query": "q", "item": ["a", "a", "b"], "position": [1, 2, 3],
    ...                               "impressions": 1000, "clicks": [400, 100, 50]}))
    >>> curve = examination_curve(counts)
    >>> curve.components, curve.table["examination"].round(3).to_list()
    ([[1, 2], [3]], [1.0, 0.25, 1.0])
    """
    checked_level(level)
    model = PBM(examination="shared", min_impressions=0).fit(counts)
    _, low, high = examination_ends(GroupProfile(model, 0), "exam1", level)
    cells = model.cells_
    return ExaminationCurve(
        table=curve_table(model._labels[0], model.curves_[0], low, high, _totals(cells.position, cells.impressions,
            cells.n_positions), _totals(cells.position, cells.clicks, cells.n_positions), counts.position_names),
        level=level, position_names=counts.position_names,
    )  # fmt: skip


def curve_table(
    labels: Ints, values: Floats, low: Floats, high: Floats, impressions: Ints, clicks: Ints, names: tuple[str, ...]
) -> pl.DataFrame:
    """Return the table of a curve; positions without impressions (label -1) are left out."""
    seen = np.flatnonzero(labels >= 0)
    return pl.DataFrame(
        {
            "position": seen + 1,
            "title": [position_title(names, int(place) + 1) for place in seen],
            "examination": values[seen],
            "low": low[seen],
            "high": high[seen],
            "component": labels[seen] + 1,
            "impressions": impressions[seen],
            "clicks": clicks[seen],
        }
    )


def _totals(place: Ints, numbers: Floats, size: int) -> Ints:
    return summed(place, numbers, size).astype(np.int64)


def spans(numbers: list[int]) -> str:
    """Write whole numbers in order as spans.

    >>> spans([1, 2, 3, 4, 7, 9, 10])
    '1 to 4, 7, 9 and 10'
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    texts = []
    for run in runs:
        texts += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else [str(number) for number in run]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
