"""Which queries of a fitted model should not be trusted, and why."""

from __future__ import annotations

import polars as pl

from rankone.specs import amount
from rankone.wording.lists import some_of


def fit_warnings(summary: pl.DataFrame) -> list[str]:
    """Say which queries of an overview should not be trusted, and why."""
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
    """Name a few of some queries."""
    return f"query {queries[0]}" if len(queries) == 1 else f"{len(queries):,} of {total:,} queries ({some_of(queries)})"
