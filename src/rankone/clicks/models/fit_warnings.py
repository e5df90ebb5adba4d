"""Which queries of a fitted model should not be trusted, and why."""

from __future__ import annotations

import polars as pl

from rankone.specs import amount
from rankone.wording.lists import some_of


def fit_warnings(summary: pl.DataFrame) -> list[str]:
    """Say which queries of an overview should not be trusted, and why."""
    silent = summary.filter(clicks=0)["query"].to_list()
    apart = summary.filter(summary["components"] > 1)["query"].to_list() if "components" in summary.columns else []
    warnings = [*_another_is_fitted(summary), *_too_little(summary)]
    if silent:
        warnings.append(
            f"not a single click in {_some(silent, len(summary))}: nothing can be learned there; "
            "check the column of clicks"
        )
    if apart:
        warnings.append(
            f"positions that no item connects in {_some(apart, len(summary))} (components above 1): what is in two "
            "components cannot be compared, so beware of the best pair; the model pbm:examination=shared connects them"
        )
    return warnings


def _another_is_fitted(summary: pl.DataFrame) -> list[str]:
    """Say where the highest fitted rate is another pair's than the one that the data support, and by how much."""
    if "supported_rate" not in summary.columns:
        return []
    same = (summary["best_item"] == summary["supported_item"]) & (
        summary["best_position"] == summary["supported_position"]
    )
    other = summary.filter(~same & (summary["clicks"] > 0))
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


def _too_little(summary: pl.DataFrame) -> list[str]:
    """Say where even the best supported pair is little known."""
    if "too_little_data" not in summary.columns:
        return []
    few = summary.filter(summary["too_little_data"] & (summary["clicks"] > 0))["query"].to_list()
    if not few:
        return []
    return [
        f"too little data in {_some(few, len(summary))}: every other item may be as good as the one in the table, or "
        "its click rate is known to no more than a factor of 3; take longer logs, the model "
        "pbm:examination=shared, or a live experiment"
    ]


def _some(queries: list[str], total: int) -> str:
    """Name a few of some queries."""
    if len(queries) == 1:
        return f"query {queries[0]}"
    return f"{len(queries):,} of {total:,} queries ({some_of(queries)})"
