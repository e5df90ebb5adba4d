"""Weights that undo position bias when a ranker learns from clicks.

Joachims, Swaminathan, Schnabel, "Unbiased learning-to-rank with biased feedback" (WSDM 2017), sections 4 and 5.2: a
clicked row weighs the inverse of its position's examination, relative to the most examined one, clipped so that a few
clicks far down do not rule the fit; clipping trades variance for bias, and both are said.
"""

import dataclasses
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from rankone.clicks.counts.counts import Counts
from rankone.clicks.counts.frames import count, known_frame
from rankone.clicks.examination.curve import ExaminationCurve, examination_curve
from rankone.clicks.logs.read_report import ReadReport
from rankone.errors import InputError
from rankone.notebook import Shown
from rankone.specs import amount, number_in
from rankone.wording.numbers import percent
from rankone.writing import whole_file

NEW_COLUMNS = ("propensity", "weight", "relevance", "clipped")
#: An interval of an examination that spans more than this factor is called wide.
WIDE = 3.0
_CONDITION = (
    "Right if a click needs two things, each for itself, that the position is looked at and that the item attracts "
    "(the position-based model), and if no item moved because it had become more or less attractive."
)


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Propensities(Shown):
    """The weight of a click at each position, and what weighting costs.

    `table` has one row per position: its propensity (null where the data do not link it with the others), interval,
    weight, whether the weight was clipped, and the clicks that it counts for.
    """

    curve: ExaminationCurve
    clip: float
    columns: dict[str, str]  # of the log: position and clicked, and what else was named
    table: pl.DataFrame
    report: ReadReport = dataclasses.field(default_factory=ReadReport)  # what of the log was set aside

    @property
    def clicks(self) -> int:
        """Clicks that have a weight."""
        return int(self.table.filter(pl.col("weight").is_not_null())["clicks"].sum())

    @property
    def effective_clicks(self) -> float:
        """As many clicks of equal weight would tell as much (Kish): the square of the sum over the sum of squares."""
        weight, clicks = pl.col("weight"), pl.col("clicks")
        total, squares = self.table.select((clicks * weight).sum(), squares=(clicks * weight**2).sum()).row(0)
        return float(total**2 / squares) if squares else 0.0

    @property
    def clicks_clipped(self) -> int:
        """Clicks that weigh less than the inverse of their propensity."""
        return int(self.table.filter("clipped")["clicks"].sum())

    @property
    def weight_clipped(self) -> float:
        """Share of the weight that clipping took away: how far the weighted clicks are from unbiased."""
        known = self.table.filter(pl.col("clicks") > 0).drop_nulls("weight")
        whole = float((known["clicks"] / known["propensity"]).sum())
        return 1.0 - float((known["clicks"] * known["weight"]).sum()) / whole if whole else 0.0

    @property
    def without_weight(self) -> list[int]:
        """Positions that no item links with the others: their rows have no weight."""
        return self.curve.apart

    def weights(self, frame: Any) -> Any:
        """Return a frame of impressions with four columns more, row for row, in its own engine.

        ``propensity``: the examination of the row's position, relative to the most examined one. ``weight``: of a click
        the inverse of that, clipped, otherwise 1; for rankers that compare rows of a list (LightGBM's lambdarank).
        ``relevance``: ``weight`` of a click, otherwise 0; its average is the item's attraction, so it is a label for
        regression. ``clipped``: whether the weight of a click was cut. All are null where the position is unknown to
        the curve, or not linked.

        >>> frame = pl.DataFrame({"item": ["a", "a"] * 4, "position": [1, 2] * 4, "clicked": [1, 1, 1, 0, 1, 0, 1, 0]})
        >>> weighed = propensities(frame).weights(frame)
        >>> weighed.select(pl.col("propensity", "weight", "relevance").round(3)).head(2).rows()
        [(1.0, 1.0, 1.0), (0.25, 4.0, 4.0)]
        """
        table = known_frame(frame)
        schema = table.collect_schema()
        position, clicked = self.columns["position"], self.columns["clicked"]
        for what, column in (("position", position), ("clicked", clicked)):
            if column not in schema:
                got = f"the columns {', '.join(schema)}"
                raise InputError(f"a column '{column}' ({what})", got, "weigh rows of the same log")
        taken = [name for name in NEW_COLUMNS if name in schema]
        if taken:
            raise InputError(f"no column {taken[0]} yet", "one", "rename or drop it")
        place = nw.col(position)
        if schema[position] == nw.String and not self.curve.position_names:
            place = place.cast(nw.Float64)
        known = self.table.drop_nulls("weight")
        keys = known["title" if self.curve.position_names else "position"].to_list()

        def of_place(values: list[Any], kind: Any) -> nw.Expr:
            result: nw.Expr = nw.lit(None, kind)
            for key, value in zip(keys, values, strict=True):
                result = nw.when(place == key).then(nw.lit(value, kind)).otherwise(result)
            return result

        is_clicked = (nw.col(clicked).cast(nw.Int64) == 1).fill_null(False)
        kinds = {"propensity": nw.Float64, "weight": nw.Float64, "clipped": nw.Boolean}
        added = table.with_columns(**{name: of_place(known[name].to_list(), kind) for name, kind in kinds.items()})
        weight = nw.col("weight")
        one, zero = (nw.when(~weight.is_null()).then(nw.lit(value)) for value in (1.0, 0.0))
        added = added.with_columns(
            relevance=nw.when(is_clicked).then(weight).otherwise(zero),
            weight=nw.when(is_clicked).then(weight).otherwise(one),
            clipped=nw.col("clipped") & is_clicked,
        )
        return added.select(*schema, *NEW_COLUMNS).to_native()

    def _sentence(self) -> str:
        share = self.effective_clicks / self.clicks if self.clicks else 0.0
        said = [
            f"{amount(self.clicks, 'click')} with weights tell as much as {self.effective_clicks:,.0f} of equal weight "
            f"({percent(share, 2)}).{self.curve.choice}"
        ]
        if self.clicks_clipped:
            said.append(
                f"Weights above {self.clip:g} were clipped: {amount(self.clicks_clipped, 'click')}, which takes away "
                f"{percent(self.weight_clipped, 2)} of the weight; clicks there count for less than they should."
            )
        if self.without_weight:
            lost = int(self.table.filter(pl.col("weight").is_null())["clicks"].sum())
            said.append(
                f"No item links {self.curve.titles(self.without_weight)} with the others, so their rows "
                f"({amount(lost, 'click')}) have no weight; swapping neighbours now and then would link them."
            )
        wide = self.table.filter(pl.col("weight").is_not_null() & (pl.col("high") > WIDE * pl.col("low")))
        if wide.height:
            names = self.curve.titles(wide["position"].to_list())
            said.append(f"Known to no more than a factor of {WIDE:g}: the propensity of {names}.")
        said.append(_CONDITION)
        if self.report.rows_quarantined:
            why = ", ".join(f"{reason}: {number:,}" for reason, number in sorted(self.report.reasons.items()))
            set_aside = f"{self.report.rows_quarantined:,} of {amount(self.report.rows, 'row')}"
            said.append(f"{set_aside} could not be used and count for nothing here ({why}).")
        said += [f"Beware: {warning}" for warning in self.report.warnings()]
        return "\n".join(said)

    def _tables(self) -> dict[str, pl.DataFrame]:
        return {"positions": self.table}

    def _shown(self) -> pl.DataFrame:
        return self.table.drop("position" if self.curve.position_names else "title")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        names = ("clip", "clicks", "effective_clicks", "clicks_clipped", "weight_clipped", "without_weight")
        own = {"positions": self.table.to_dicts(), "log": self.report.to_dict()}
        return self.curve.to_dict() | {name: getattr(self, name) for name in names} | own


def propensities(
    log: Any,
    *,
    item: str = "item",
    position: str = "position",
    clicked: str = "clicked",
    query: str | None = None,
    clip: float = 10.0,
    method: str = "auto",
    level: float = 0.95,
    max_bad: float = 0.01,
) -> Propensities:
    """Estimate how often each position is looked at, and the weight of a click there.

    The curve is one for all queries (`examination_curve`); what it rests on is in the answer.

    Args:
        log: any dataframe with one row per impression, or `Counts`.
        item: column of the item shown.
        position: column of the position.
        clicked: column of the outcome.
        query: column of the query; by default "query" if there is one, else all rows are one query.
        clip: the largest weight.
        method: as in `examination_curve`.
        level: of the intervals.
        max_bad: refuse a frame with a larger share of rows that cannot be used.

    >>> frame = pl.DataFrame({"item": ["a", "a"] * 4, "position": [1, 2] * 4, "clicked": [1, 1, 1, 0, 1, 0, 1, 0]})
    >>> found = propensities(frame)
    >>> found.table["weight"].round(3).to_list(), found.clicks, round(found.effective_clicks, 2)
    ([1.0, 4.0], 5, 3.2)
    """
    clip = number_in("clip", clip, "[1, inf]", example=10)
    columns = {"item": item, "position": position, "clicked": clicked}
    if not isinstance(log, Counts):
        if query is None and "query" in known_frame(log).collect_schema():
            query = "query"
        log = count(log, item=item, position=position, clicked=clicked, query=query, max_bad=max_bad)
    if query is not None:
        columns["query"] = query
    if not log.clicks:
        raise InputError("at least one click", "none", "check the column of clicks")
    curve = examination_curve(log, method=method, level=level)
    table = _weighted(curve, clip)
    return Propensities(curve=curve, clip=clip, columns=columns, table=table, report=log.report)


def _weighted(curve: ExaminationCurve, clip: float) -> pl.DataFrame:
    linked, inverse = pl.col("position").is_in(curve.linked), 1.0 / pl.col("examination")
    known: dict[str, Any] = {"propensity": "examination", "low": "low", "high": "high"}
    known["weight"] = pl.min_horizontal(inverse, pl.lit(clip))
    shown = [pl.when(linked).then(value).alias(name) for name, value in known.items()]
    return curve.table.select(
        "position", "title", *shown, (linked & (inverse > clip)).alias("clipped"), "impressions", "clicks"
    )


def weights_file(path: Path) -> str:
    """Return the ending of a file for weights, or refuse it."""
    if path.suffix not in (".parquet", ".csv"):
        raise InputError("a .parquet or .csv file for the weights", path.name, f"try {path.stem}.parquet")
    return path.suffix


def save_weights(frame: pl.LazyFrame, path: Path) -> None:
    """Write rows with their weights piece by piece, as a log may be larger than memory."""
    ending = weights_file(path)
    with whole_file(path) as part:
        if ending == ".parquet":
            frame.sink_parquet(part)
        else:
            frame.sink_csv(part)
