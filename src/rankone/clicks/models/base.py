"""What a click model is: parameters, `fit(counts)`, learned attributes that end in an underscore, and predictions."""

from __future__ import annotations

import dataclasses
import os
import typing
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Cells, Lists, cells_of, summed
from rankone.clicks.counts.counts import Counts
from rankone.errors import InputError
from rankone.notebook import Shown
from rankone.numerics.arrays import Floats
from rankone.problems import RankOne
from rankone.problems.lists import ListProblem
from rankone.progress import as_progress
from rankone.registry import Registry
from rankone.specs import amount, parse_settings, whole_number
from rankone.wording.lists import some_of

if TYPE_CHECKING:
    from rankone.charts.chart import Chart

MODELS: Registry[type[ClickModel]] = Registry("click model", "click models", __package__)

#: Called while a model is fitted: steps done, steps in all.
FitProgress = Callable[[int, int], None]


@dataclasses.dataclass(eq=False, kw_only=True)
class ClickModel(Shown):
    """Base of all click models. Parameters go into the constructor, which does nothing else.

    Args:
        min_impressions: items that a query showed less often are left out; 0 keeps all, as the paper does.

    A subclass states `name` and `title`, implements `learn` and `chances`, and sets `item_attraction_` and whatever
    else it learns, under names that end in an underscore.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    needs_lists: ClassVar[bool] = False
    read_as: ClassVar[str] = "unknown"  # how lists are read, as `rankone.recommend(feedback_model=)` says it
    uses_tails: ClassVar[bool] = False  # what stands below the last click makes its fit better

    min_impressions: int = 20

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "name" in cls.__dict__:
            MODELS.add(cls.name, cls)

    def _sentence(self) -> str:
        return f"{self!r}{'' if hasattr(self, 'cells_') else ', not fitted yet'}"

    def _tables(self) -> dict[str, pl.DataFrame]:
        return {"attraction": self.attraction_} if hasattr(self, "cells_") else {}

    def fit(self, counts: Counts, *, progress: FitProgress | bool | None = None) -> Self:
        """Learn from counts; returns the model itself."""
        if not isinstance(counts, Counts):
            raise InputError("counts", type(counts).__name__, "make them with rankone.clicks.count or .read")
        self.position_names_ = counts.position_names
        self.cells_: Cells = cells_of(counts, self.min_impressions, self.needs_lists)
        self.item_attraction_: Floats = np.zeros(0)
        self._tails = counts.tails
        self.learn(self.cells_, as_progress(progress, "steps"))
        return self

    def learn(self, cells: Cells, progress: FitProgress) -> None:
        """Learn from numbered cells; must set `self.item_attraction_`, one number per item of a query."""
        raise TypeError(f"{type(self).__name__} must define learn(cells, progress)")

    def chances(self, lists: Lists, attraction: Floats) -> tuple[Floats, Floats]:
        """Return for each list and position P(click | clicks above) and P(click); `attraction` has the same shape."""
        raise TypeError(f"{type(self).__name__} must define chances(lists, attraction)")

    def predict(self, frame: Any) -> pl.DataFrame:
        """Return the rows of lists with their click probabilities.

        Args:
            frame: any dataframe with the columns list, query, item and position. With a column clicked, the probability
                given the clicks above in the list is added too.

        An item that was not fitted is taken for the average impression of its query; of a query or a position that was
        not fitted, the probability is null.

        >>> from rankone.clicks import PBM, Counts
        >>> rows = {"query": "q", "item": ["a", "a"], "position": [1, 2], "impressions": 1000, "clicks": [400, 100]}
        >>> model = PBM().fit(Counts(pl.DataFrame(rows)))
        >>> asked = pl.DataFrame({"list": 1, "query": "q", "item": ["a", "new"], "position": [2, 1]})
        >>> model.predict(asked)["click_probability"].round(3).to_list()
        [0.1, 0.4]
        """
        from rankone.clicks.models.evaluation import predicted

        self._check_fitted()
        return predicted(self, frame)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a JSON file; `rankone.clicks.load_model` reads it, number for number."""
        from rankone.clicks.models.saving import save_model

        self._check_fitted()
        save_model(self, path)

    def chart(self, queries: Sequence[str] | None = None) -> Chart:
        """Draw attraction, and how often positions are looked at; by default of the queries with most impressions."""
        from rankone.charts.click_models import MOST_QUERIES, click_model_chart

        self._check_fitted()
        if queries is None:
            queries = self.summary().sort("impressions", descending=True)["query"].head(4).to_list()
        for query in queries:
            self._query_number(query)
        return click_model_chart(*self._chart_tables(), [str(query) for query in queries][:MOST_QUERIES])

    def _chart_tables(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Attraction and examination; of any model the latter is P(click) of average items, over their attraction."""
        cells, typical = self.cells_, self.typical_attraction()
        shape = (len(cells.queries), cells.n_positions)
        everywhere, nowhere = np.ones(shape, np.bool_), np.zeros(shape, np.bool_)
        lists = Lists(np.arange(shape[0]), np.zeros(shape, np.int64), everywhere, nowhere, 0)
        attraction = np.broadcast_to(typical[:, None], shape)
        clicked = self.chances(lists, attraction)[1] / np.where(attraction > 0.0, attraction, 1.0)
        curves = pl.DataFrame(
            {
                "query": np.repeat(np.array(cells.queries), shape[1]),
                "position": np.tile(np.arange(1, shape[1] + 1), shape[0]),
                "examination": clicked.ravel(),
            }
        )
        return self.attraction_, curves

    @property
    def attraction_(self) -> pl.DataFrame:
        """One row per item of a query: impressions, clicks and attraction."""
        self._check_fitted()
        return self.cells_.items.with_columns(attraction=self.item_attraction_)

    def typical_attraction(self, attraction: Floats | None = None) -> Floats:
        """Per query, the attraction of its average impression: what an item that was not seen is taken for."""
        values = self.item_attraction_ if attraction is None else attraction
        shown = self.cells_.items["impressions"].to_numpy()
        starts = self.cells_.query_items[:-1]
        return np.add.reduceat(values * shown, starts) / np.add.reduceat(shown, starts)

    def of_lists(self, lists: Lists, numbers: Floats | None = None) -> Floats:
        """Take numbers of items (attractions by default) to lists; an item that was not fitted is a typical one."""
        numbers = self.item_attraction_ if numbers is None else numbers
        typical = self.typical_attraction(numbers)[lists.query][:, None]
        return np.where(lists.item >= 0, numbers[lists.item], typical)

    @property
    def n_parameters_(self) -> int:
        """How many numbers were learned: one per item, unless the model says otherwise."""
        self._check_fitted()
        return self.cells_.n_items

    def summary(self) -> pl.DataFrame:
        """One row per query: what was seen and what was learned."""
        self._check_fitted()
        return (
            self.cells_.items.group_by("query", maintain_order=True)
            .agg(pl.len().alias("items"), pl.col("impressions", "clicks").sum())
            .with_columns(attraction=self.typical_attraction())
        )

    def overview(self) -> pl.DataFrame:
        """One row per query, the most frequent first: the summary, and what the data support of it."""
        return self.summary().sort("impressions", descending=True)

    def warnings(self) -> list[str]:
        """Say which queries should not be trusted, and why."""
        return _warnings(self.overview())

    def problem(self, query: str | int) -> RankOne:
        """Return the query as a problem, if the click probabilities of the model are a product."""
        expected = "a model whose click probabilities are item times position"
        raise InputError(expected, self.name, "fit PBM() to get a rank-1 problem")

    @property
    def has_world(self) -> bool:
        """Whether it is fitted, and says how whole lists are read, so that `list_problem` answers."""
        return hasattr(self, "cells_") and type(self)._as_list is not ClickModel._as_list

    def list_problem(self, query: str | int, positions: int | None = None) -> ListProblem:
        """Return the query as a problem of lists, in the world of this model: its items, and its first positions.

        Args:
            query: a query that was fitted.
            positions: how many; default: as many as the log has, and at most as many as the query has items.
        """
        number = self._query_number(query)
        items = slice(int(self.cells_.query_items[number]), int(self.cells_.query_items[number + 1]))
        most = min(self.cells_.n_positions, items.stop - items.start)
        count = most if positions is None else whole_number("positions", positions, most=most, example=most)
        names = self.cells_.items["item"][items.start : items.stop].to_list()
        return self._as_list(number, items, count, {"item_names": names, "name": str(query)})

    def _as_list(self, query: int, items: slice, positions: int, named: dict[str, Any]) -> ListProblem:
        """Return the world of some items and positions; `named` are the names to pass on."""
        do = "fit one of pbm, cascade, dcm, sdbn and ubm for that"
        raise InputError("a model of how lists are read", self.name, do)

    def _query_number(self, query: str | int) -> int:
        self._check_fitted()
        number = self.cells_.query_numbers.get(str(query))
        if number is None:
            examples = ", ".join(self.cells_.queries[:5])
            raise InputError(f"a query that was fitted, such as {examples}", str(query), "see model.summary()")
        return number

    def _check_fitted(self) -> None:
        if not hasattr(self, "cells_"):
            name = type(self).__name__
            raise InputError("a model that was fitted", f"{name}() before fit", f"call {name}().fit(counts) first")


def as_model(spec: str | ClickModel) -> ClickModel:
    """Turn ``"name"`` or ``"name:parameter=value,..."`` into a click model; a model stays as it is.

    >>> as_model("pbm:scale=as-is,min_impressions=0").min_impressions
    0
    """
    if isinstance(spec, ClickModel):
        return spec
    name, _, settings = str(spec).partition(":")
    kind = MODELS.get(name)
    hints = typing.get_type_hints(kind)
    return kind(**parse_settings(name, settings, {parameter: hints[parameter] for parameter in parameters(kind)}))


def parameters(kind: type[ClickModel]) -> list[str]:
    """Names of the parameters of a model's constructor."""
    return [field.name for field in dataclasses.fields(kind) if field.init]


def check_prior(prior: tuple[float, float]) -> tuple[float, float]:
    """Return pseudo-counts (clicks, impressions) that make sense."""
    clicks, impressions = (float(value) for value in prior)
    if not 0.0 <= clicks <= impressions:
        raise InputError("a prior of pseudo-counts 0 <= clicks <= impressions", prior, "try prior=(1, 2)")
    return clicks, impressions


def smoothed_share(successes: Floats, trials: Floats, prior: tuple[float, float]) -> Floats:
    """Share of successes with pseudo-counts (successes, trials) added; 0.5 where there is nothing at all."""
    top, bottom = successes + prior[0], trials + prior[1]
    return np.where(bottom > 0.0, top / np.where(bottom > 0.0, bottom, 1.0), 0.5)


def per_item(cells: Cells, numbers: Floats, mask: Any = None) -> Floats:
    """Sum a number of the cells (where `mask` holds) over each item."""
    weights = numbers if mask is None else np.where(mask, numbers, 0.0)
    return summed(cells.item, weights, cells.n_items)


def per_position(cells: Cells, numbers: Floats) -> Floats:
    """Sum a number of the cells over each position."""
    return summed(cells.position, numbers, cells.n_positions)


def _warnings(summary: pl.DataFrame) -> list[str]:
    clicked = pl.col("clicks") > 0
    where = {
        "too_little_data": clicked & pl.col("too_little_data") if "too_little_data" in summary.columns else False,
        "silent": ~clicked,
        "apart": pl.col("components") > 1 if "components" in summary.columns else False,
    }
    texts = {
        "too_little_data": "too little data in {}: every other item may be as good as the one in the table, or its "
        "click rate is known to no more than a factor of 3; take longer logs, the model pbm:examination=shared, or a "
        "live experiment",
        "silent": "not a single click in {}: nothing can be learned there; check the column of clicks",
        "apart": "positions that no item connects in {} (components above 1): what is in two components cannot be "
        "compared, so beware of the best pair; the model pbm:examination=shared connects them",
    }
    warnings = _another_is_fitted(summary) if "supported_rate" in summary.columns else []
    for what, condition in where.items():
        queries = summary.filter(condition)["query"].to_list()
        if queries:
            warnings.append(texts[what].format(_some(queries, len(summary))))
    return warnings


def _another_is_fitted(summary: pl.DataFrame) -> list[str]:
    """Say where the highest fitted rate is another pair's than the one that the data support, and by how much."""
    same = (pl.col("best_item") == pl.col("supported_item")) & (pl.col("best_position") == pl.col("supported_position"))
    other = summary.filter(~same & (pl.col("clicks") > 0))
    if other.is_empty():
        return []
    row = other.row(0, named=True)
    seen = f"{row['pair_clicks']:,} of {amount(row['pair_impressions'], 'impression')}"
    unseen = other.filter(pair_impressions=0).height
    never = f", never shown in {unseen:,} of them" if unseen and len(other) > 1 else ""
    return [
        f"the highest fitted click rate is another pair's in {_some(other['query'].to_list(), len(summary))}{never}: "
        f"in {row['query']} item {row['best_item']} at position {row['best_position']}, "
        f"{row['best_click_rate']:.2g} ({row['best_low']:.2g} to {row['best_high']:.2g}; clicked {seen}), against "
        f"{row['supported_rate']:.2g} ({row['supported_low']:.2g} to {row['supported_high']:.2g}) of the pair in the "
        "table; the table has the pair with the highest lower bound, which is what the data support"
    ]


def _some(queries: list[str], total: int) -> str:
    return f"query {queries[0]}" if len(queries) == 1 else f"{len(queries):,} of {total:,} queries ({some_of(queries)})"
