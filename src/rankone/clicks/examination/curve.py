"""One examination curve for all queries: how often each position is looked at, compared with the best one.

Only ratios of examinations are identified, and only between positions that items connect: an item that was shown at
two positions compares them (`rankone.clicks.models.pbm`). So the positions fall into components, each with a
scale of its own.
"""

import dataclasses
import functools
from typing import Any

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import cells_of
from rankone.clicks.counts.counts import Counts, position_title
from rankone.clicks.examination.intervention_harvesting import harvest
from rankone.clicks.models.base import per_position
from rankone.clicks.models.fitting.intervals import GroupProfile, examination_ends, z_of
from rankone.clicks.models.pbm import PBM
from rankone.notebook import Shown
from rankone.specs import amount, one_of
from rankone.wording.lists import listed

METHODS = ("auto", "likelihood", "all-pairs")
_THIN = 5.0  # clicks of an item on average, below which its attraction takes its luck in


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class ExaminationCurve(Shown):
    """Examination by position, with intervals, and what the data link.

    `table` has one row per position: examination relative to the most examined position of its component. `links` has
    one row per pair of positions at which some item was shown both: how many items, and the ratio of the second's
    examination to the first's that they say.
    """

    table: pl.DataFrame  # position, title, examination, low, high, component, impressions, clicks
    links: pl.DataFrame  # position, other, items, ratio, low, high
    method: str
    level: float
    thin: float | None = None  # clicks of an item on average, where they are so few that this decided the method
    position_names: tuple[str, ...] = ()

    @functools.cached_property
    def components(self) -> list[list[int]]:
        """Positions that can be compared with each other, the component with the most clicks first."""
        groups = self.table.group_by("component", maintain_order=True).agg("position", pl.col("clicks").sum())
        return groups.sort("clicks", descending=True, maintain_order=True)["position"].to_list()

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

    @property
    def choice(self) -> str:
        """Why pairs of positions were compared, where the data decided that; else nothing."""
        if self.thin is None:
            return ""
        return f" Items have {self.thin:.1f} clicks on average, too few to fit each: method all-pairs."

    def _sentence(self) -> str:
        if len(self.components) == 1:
            return f"Items that moved link all {amount(len(self.linked), 'position')}.{self.choice}"
        groups = "; ".join(self.titles(group) for group in self.components)
        both = " (it takes clicks at both)" if self.method == "all-pairs" else ""
        return f"No item links these groups of positions{both}, so nothing compares them: {groups}.{self.choice}"

    def _tables(self) -> dict[str, pl.DataFrame]:
        return {"positions": self.table, "links": self.links}

    def _shown(self) -> pl.DataFrame:
        shown = self.table.drop("position" if self.position_names else "title")
        return shown.drop("component") if len(self.components) == 1 else shown

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "method": self.method,
            "level": self.level,
            "components": self.components,
            "positions": self.table.to_dicts(),
            "links": self.links.to_dicts(),
        }


def examination_curve(counts: Counts, *, method: str = "auto", level: float = 0.95) -> ExaminationCurve:
    """Estimate one examination curve from all queries, from items that were shown at several positions.

    Every item of a query has an attraction of its own, so an item that was shown at one position only says nothing
    about examination.

    Args:
        counts: what was shown and clicked.
        method: "likelihood" for the maximum likelihood of the position-based model, relative to the most examined
            position of each component; "all-pairs" for intervention harvesting, relative to the first position
            (`rankone.clicks.examination.intervention_harvesting`). "auto" takes that where items have fewer than 5
            clicks on average, and says so: an attraction fitted to each takes its luck in, and bends the curve.
        level: of the intervals.

    >>> counts = Counts(pl.DataFrame({"query": "q", "item": ["a", "a", "b"], "position": [1, 2, 3],
    ...                               "impressions": 1000, "clicks": [400, 100, 50]}))
    >>> curve = examination_curve(counts)
    >>> curve.components, curve.table["examination"].round(3).to_list()
    ([[1, 2], [3]], [1.0, 0.25, 1.0])
    """
    z = z_of(level)
    one_of("method", method, METHODS)
    each, thin = counts.clicks / max(1, counts.table.select("query", "item").n_unique()), None
    if method == "auto":
        method, thin = ("all-pairs", each) if each < _THIN else ("likelihood", None)
    if method == "likelihood":
        model = PBM(examination="shared", min_impressions=0).fit(counts)
        cells, labels, values = model.cells_, model._labels[0], model.curves_[0]
        _, low, high = examination_ends(GroupProfile(model, 0), "exam1", level)
        harvested = harvest(cells)
    else:
        cells = cells_of(counts, 0, False)
        harvested = harvest(cells)
        labels, values = harvested.labels, np.exp(harvested.log_curve)
        low, high = np.exp(harvested.log_curve - z * harvested.error), np.exp(harvested.log_curve + z * harvested.error)
    seen = np.flatnonzero(labels >= 0)  # positions with impressions
    totals = {"impressions": cells.impressions, "clicks": cells.clicks}
    table = {
        "position": seen + 1,
        "title": [position_title(counts.position_names, int(index) + 1) for index in seen],
        "examination": values[seen],
        "low": low[seen],
        "high": high[seen],
        "component": labels[seen] + 1,
    } | {name: per_position(cells, numbers).astype(np.int64)[seen] for name, numbers in totals.items()}
    ratio, reach = harvested.log_ratio, z * harvested.pair_error
    ratios = {"ratio": ratio, "low": ratio - reach, "high": ratio + reach}
    links = {"position": harvested.pairs[:, 0] + 1, "other": harvested.pairs[:, 1] + 1, "items": harvested.items} | {
        name: pl.Series(np.exp(numbers)).fill_nan(None) for name, numbers in ratios.items()
    }
    return ExaminationCurve(
        table=pl.DataFrame(table),
        links=pl.DataFrame(links),
        method=method,
        level=level,
        thin=thin,
        position_names=counts.position_names,
    )


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
    return listed([text for run in runs for text in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run))])
