"""Position-based model: P(click) = attraction of the item * examination of the position, by maximum likelihood.

Craswell, Zoeter, Taylor, Ramsey, "An experimental comparison of click position-bias models" (WSDM 2008), section 3.
The likelihood is climbed directly (`rankone.clicks.models.fitting.climb`), or by EM as in Chuklin, Markov, de Rijke
(2015), section 4.3.3, which creeps along ridges and stops below the maximum (`rankone.clicks.models.fitting.em`).
"""

import dataclasses
from itertools import pairwise
from typing import Any, Self

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Cells, Lists, summed
from rankone.clicks.counts.counts import position_title
from rankone.clicks.models.base import ClickModel, FitProgress, check_prior
from rankone.clicks.models.fitting.climb import Fit, run_climb
from rankone.clicks.models.fitting.em import HIGHEST, LOWEST, product_em
from rankone.clicks.models.fitting.intervals import (
    GroupProfile,
    attraction_ends,
    best_pairs,
    examination_ends,
    with_ends,
)
from rankone.numerics.arrays import Floats, Ints
from rankone.problems import RankOne, lists
from rankone.specs import number_in, one_of, whole_number

CURVES = ("per-query", "shared")
SCALES = ("exam1", "as-is")
METHODS = ("climb", "em")


@dataclasses.dataclass(eq=False, kw_only=True)
class PBM(ClickModel):
    """Position-based model.

    Args:
        examination: "per-query" for one examination curve a query, "shared" for one curve for all.
        scale: only the products are identified, so a convention fixes the scale (in each connected component of items
            and positions): "exam1" makes the highest examination 1, so attraction is the click probability at the
            best position; "as-is" leaves what the algorithm ended with, as PyClick does.
        prior: pseudo-counts (clicks, impressions) added to every parameter; (0, 0) is maximum likelihood.
        tolerance: nats by which a query's log-likelihood may be below its maximum; with ``method="em"``: stop when no
            click probability moved by more than this in an iteration.
        max_iterations: EM stops after this many iterations anyway (`converged_` says so).
        start: value every parameter starts with; where the climb ends does not depend on it.
        accelerate: extrapolate EM steps; an iteration is then three EM steps.
        method: "climb", or "em" for expectation-maximisation alone.

    `converged_` says whether every query reached its maximum, the column ``converged`` of `summary()` which ones did.

    >>> import polars as pl
    >>> from rankone.clicks import Counts
    >>> counts = Counts(pl.DataFrame({"query": "q", "item": ["a", "a", "b", "b"], "position": [1, 2, 1, 2],
    ...                               "impressions": 1000, "clicks": [400, 100, 200, 50]}))
    >>> model = PBM().fit(counts)
    >>> model.attraction_["attraction"].round(3).to_list(), model.examination_["examination"].round(3).to_list()
    ([0.4, 0.2], [1.0, 0.25])
    """

    name = "pbm"
    title = "position-based model"
    read_as = "pbm"

    examination: str = "per-query"
    scale: str = "exam1"
    prior: tuple[float, float] = (0.0, 0.0)
    tolerance: float = 1e-6
    max_iterations: int = 10_000
    start: float = 0.5
    accelerate: bool = True
    method: str = "climb"

    @classmethod
    def pyclick(cls, **changes: Any) -> Self:
        """PyClick's rule: start at 0.5, pseudo-counts 1 and 2, 50 plain EM steps, every item, scale as it comes."""
        rule: dict[str, Any] = {"prior": (1.0, 2.0), "tolerance": -1.0, "max_iterations": 50, "accelerate": False}
        return cls(**rule | {"min_impressions": 0, "scale": "as-is", "method": "em"} | changes)

    def learn(self, cells: Cells, progress: FitProgress) -> None:
        """Climb, or run EM, in each query (or in all together, with a shared curve)."""
        one_of("examination", self.examination, CURVES)
        one_of("scale", self.scale, SCALES)
        prior = check_prior(self.prior)
        number_in("start", self.start, f"[{LOWEST}, {HIGHEST}]", example=0.5)
        check_stopping(self.tolerance, self.max_iterations)
        one_of("method", self.method, METHODS)
        fit = start_fit(cells, self._item_starts(cells), cells.position, cells.n_positions, self.start)
        if self.method == "em":
            trace = product_em(fit, prior, self.tolerance, self.max_iterations, self.accelerate, progress)
        else:
            trace = run_climb(fit, prior, self.tolerance, progress)
        self.n_iter_, self.log_likelihoods_ = int(fit.iterations.max()), trace
        self.converged_, self._converged = bool(fit.converged.all()), fit.converged
        self._labels = place_components(self._item_starts(cells), cells.item_cells, cells.position, cells.n_positions)
        self.item_attraction_, self.curves_ = fit.attraction, fit.examination
        if self.scale != "as-is":
            self._rescale(cells)
        product = self._cell_probabilities(cells)
        gain = cells.clicks * np.log(product) + (cells.impressions - cells.clicks) * np.log1p(-product)
        self._log_likelihoods = summed(cells.query, gain, len(cells.queries))
        self.log_likelihood_ = float(gain.sum())
        self._perplexities = _perplexities(cells, gain)

    @property
    def n_parameters_(self) -> int:
        """Items and positions, less one scale per connected component."""
        self._check_fitted()
        own = self._labels == np.arange(self._labels.shape[1])
        return self.cells_.n_items + int((self._labels >= 0).sum() - own.sum())

    def _item_starts(self, cells: Cells) -> Ints:
        """Where the items of each group start: a group is a query, or all queries if the curve is shared."""
        return np.array([0, cells.n_items]) if self.examination == "shared" else cells.query_items

    def _group(self, query: Any) -> Any:
        return query * 0 if self.examination == "shared" else query

    def _group_of_item(self, cells: Cells) -> Ints:
        return np.asarray(self._group(cells.query_of_item))

    def _cell_probabilities(self, cells: Cells) -> Floats:
        group = self._group_of_item(cells)[cells.item]
        product: Floats = self.item_attraction_[cells.item] * self.curves_[group, cells.position]
        return np.clip(product, 1e-12, 1.0 - 1e-12)

    def chances(self, lists: Lists, attraction: Floats) -> tuple[Floats, Floats]:
        """Clicks above change nothing in these models."""
        product = attraction * self.curves_[self._group(lists.query)]
        return product, product

    @property
    def examination_(self) -> pl.DataFrame:
        """One row per position (and query, unless the curve is shared): examination and connected component."""
        self._check_fitted()
        group, position = np.nonzero(self._labels >= 0)
        table = pl.DataFrame(
            {
                "position": position + 1,
                "examination": self.curves_[group, position],
                "component": self._labels[group, position] + 1,
            }
        )
        if self.position_names_:
            table = table.with_columns(position_name=self._named(position + 1))
        if self.examination == "shared":
            return table
        return table.select(pl.Series("query", self.cells_.queries).gather(group), pl.all())

    def intervals(self, level: float = 0.95) -> tuple[pl.DataFrame, pl.DataFrame]:
        """`attraction_` and `examination_` with standard errors and intervals (columns se, low, high).

        The intervals are profile likelihoods (`rankone.clicks.models.fitting.intervals`); se comes from the curvature.
        """
        self._check_fitted()
        items = [attraction_ends(group, self.scale, level) for group in self._profiles()]
        attraction = with_ends(self.attraction_, *(np.concatenate(column) for column in zip(*items, strict=True)))
        return attraction, self._examination_intervals(level)

    def _profiles(self) -> list[GroupProfile]:
        return [GroupProfile(self, group) for group in range(len(self.curves_))]

    def _examination_intervals(self, level: float = 0.95) -> pl.DataFrame:
        """The second table of `intervals` alone: there are few positions, and many items."""
        places = [examination_ends(group, self.scale, level) for group in self._profiles()]
        seen = (self._labels >= 0).ravel()
        columns = [np.concatenate(column)[seen] for column in zip(*places, strict=True)]
        return with_ends(self.examination_, *columns)

    def _chart_tables(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        return self.attraction_, self._examination_intervals()

    def rates(self, query: str | int, level: float = 0.95) -> pl.DataFrame:
        """One row per item and position that the query showed: counts, and the fitted click rate with its interval.

        Rates do not depend on the scale. The interval is the profile likelihood of each pair by itself.
        """
        number, cells = self._query_number(query), self.cells_
        first, last = cells.item_cells[cells.query_items[number : number + 2]].tolist()
        item, place = cells.item[first:last], cells.position[first:last]
        group = GroupProfile(self, self._group(number))
        ends = group.rates(item - group.items.start, place, level)
        return pl.DataFrame(
            {
                "item": cells.items["item"].gather(item),
                "position": place + 1,
                "impressions": cells.impressions[first:last].astype(np.int64),
                "clicks": cells.clicks[first:last].astype(np.int64),
                "rate": self.item_attraction_[item] * self.curves_[self._group(number), place],
                "low": np.exp(ends.low),
                "high": np.minimum(np.exp(ends.high), 1.0),
            }
        )

    def best(self, level: float = 0.95) -> pl.DataFrame:
        """One row per query: its best pair by the fit, the best that the data support, and what they rest on.

        `low` and `high` are an interval of the fitted best pair's rate, corrected for its choice. `impressions` and
        `clicks` are those of the best item anywhere, `pair_impressions` and `pair_clicks` those at the best position.
        `supported_...` is the pair with the highest lower bound among those shown at least 20 times; `not_told_apart`
        counts the items that may be as good as its item, and `too_little_data` says that they all may, or that even its
        own interval spans more than a factor of 3.
        """
        self._check_fitted()
        return best_pairs(self, level)

    def summary(self) -> pl.DataFrame:
        """One row per query: what was seen, its best pair, the fit, how hard it is (mu, p_max, gamma of the paper)."""
        cells, starts = self.cells_, self.cells_.query_items[:-1]
        group = self._group(np.arange(len(cells.queries)))
        seen = self._labels[group] >= 0
        curves = self.curves_[group]
        mean_a = np.add.reduceat(self.item_attraction_, starts) / np.diff(cells.query_items)
        mean_g = np.where(seen, curves, 0.0).sum(axis=1) / seen.sum(axis=1)
        best_a, best_g = np.maximum.reduceat(self.item_attraction_, starts), np.where(seen, curves, 0.0).max(axis=1)
        mu, p_max = np.minimum(mean_a, mean_g), np.maximum(best_a, best_g)
        own = self._labels[group] == np.arange(self._labels.shape[1])
        label = self._labels[self._group_of_item(cells), cells.position[cells.item_cells[:-1]]]
        # An item's best position is one of its own component: others cannot be joined with it.
        tops = self.item_attraction_ * self._highest()[self._group_of_item(cells), label]
        best_items = [int(tops[start:stop].argmax()) + start for start, stop in pairwise(cells.query_items)]
        joined = self._labels[group] == label[best_items][:, None]
        return (
            super()
            .summary()
            .with_columns(
                best_item=cells.items["item"].gather(best_items),
                best_position=self._named(np.where(joined, curves, -1.0).argmax(axis=1) + 1),
                best_click_rate=tops[best_items],
                positions=seen.sum(axis=1),
                components=own.sum(axis=1),
                log_likelihood=self._log_likelihoods,
                perplexity=self._perplexities,
                mu=mu,
                p_max=p_max,
                gamma=np.maximum(mu, 1.0 - p_max),
                converged=np.broadcast_to(self._converged, len(group)),
            )
        )

    def overview(self) -> pl.DataFrame:
        """One row per query, the most frequent first: the summary with `best`, with interval."""
        table = super().overview()
        names = {name: f"best_{name}" for name in ("low", "high", "impressions", "clicks")}
        known = [name for name in ("best_item", "best_position", "best_click_rate") if name in table.columns]
        return table.drop(known).join(self.best().rename(names), on="query", how="left", maintain_order="left")

    def _named(self, positions: Ints) -> pl.Series:
        names = self.position_names_
        return pl.Series([names[position - 1] for position in positions] if names else positions)

    def problem(self, query: str | int) -> RankOne:
        """Return one query as a problem: rows are its items, columns its positions."""
        number = self._query_number(query)
        items = slice(self.cells_.query_items[number], self.cells_.query_items[number + 1])
        group = self._group(number)
        positions = np.flatnonzero(self._labels[group] >= 0)
        return RankOne(
            rows=self.item_attraction_[items],
            cols=self.curves_[group, positions],
            row_names=self.cells_.items["item"][items.start : items.stop].to_list(),
            col_names=[position_title(self.position_names_, position + 1) for position in positions.tolist()],
            name=str(query),
        )

    def _as_list(self, query: int, items: slice, positions: int, named: dict[str, Any]) -> lists.PBM:
        group = self._group(query)
        seen = np.flatnonzero(self._labels[group] >= 0)[:positions]
        return lists.PBM(self.item_attraction_[items], np.clip(self.curves_[group, seen], 1e-6, 1.0), **named)

    def problems(self) -> list[RankOne]:
        """Every query as a problem."""
        self._check_fitted()
        return [self.problem(query) for query in self.cells_.queries]

    def _highest(self) -> Floats:
        group, place = np.nonzero(self._labels >= 0)
        highest = np.zeros(self._labels.shape)
        np.maximum.at(highest, (group, self._labels[group, place]), self.curves_[group, place])
        return highest

    def _rescale(self, cells: Cells) -> None:
        n_places = cells.n_positions
        group = self._group_of_item(cells)
        component = group * n_places + self._labels[group, cells.position[cells.item_cells[:-1]]]
        seen = self._labels >= 0
        component_g = (np.arange(len(self._labels))[:, None] * n_places + self._labels)[seen]
        highest = self._highest().ravel()
        self.item_attraction_ *= highest[component]
        self.curves_[seen] /= highest[component_g]


def _perplexities(cells: Cells, gain: Floats) -> Floats:
    """Per query: the average over its positions of the perplexity of a click at that position."""
    place = cells.query * cells.n_positions + cells.position
    size = len(cells.queries) * cells.n_positions
    gains = summed(place, gain, size).reshape(-1, cells.n_positions)
    shown = summed(place, cells.impressions, size).reshape(-1, cells.n_positions)
    perplexity = np.exp(-gains / np.where(shown > 0.0, shown, 1.0))
    return np.where(shown > 0.0, perplexity, 0.0).sum(axis=1) / (shown > 0.0).sum(axis=1)


def place_components(item_starts: Ints, item_cells: Ints, place: Ints, n_places: int) -> Ints:
    """Return per group and place the lowest place it is connected with; -1 for a place without impressions.

    >>> place_components(np.array([0, 2]), np.array([0, 2, 3]), np.array([0, 2, 1]), 4)
    array([[ 0,  1,  0, -1]])
    """
    sizes, groups = np.diff(item_cells), np.arange(len(item_starts) - 1)
    spot = np.repeat(np.repeat(groups, np.diff(item_starts)), sizes) * n_places + place
    labels = np.full(len(groups) * n_places, n_places)
    joined = labels.copy()
    joined[spot] = place
    while (joined != labels).any():  # an item takes all its places to the lowest label among them
        labels, lowest = joined.copy(), np.minimum.reduceat(joined[spot], item_cells[:-1])
        np.minimum.at(joined, spot, np.repeat(lowest, sizes))
    return np.where(labels == n_places, -1, labels).reshape(-1, n_places)


def check_stopping(tolerance: float, max_iterations: int) -> None:
    """Refuse rules that never let EM run, or never compare."""
    whole_number("max_iterations", max_iterations, example=10_000)
    number_in("tolerance", tolerance, "[-inf, inf]", example=1e-6)


def start_fit(cells: Cells, item_starts: Ints, place: Ints, n_places: int, start: float) -> Fit:
    """Return a fit with every parameter at `start`; `item_starts` says where the items of each group start."""
    groups = len(item_starts) - 1
    return Fit(
        item_starts,
        cells.item_cells,
        place,
        cells.impressions,
        cells.clicks,
        attraction=np.full(cells.n_items, start),
        examination=np.full((groups, n_places), start),
        iterations=np.zeros(groups, np.int64),
        converged=np.zeros(groups, np.bool_),
    )
