"""Tables without a column of clicks: impressions beside a click rate, and logs of events (view, click)."""

import polars as pl

from rankone.clicks.counts.column_kinds import CLICKED, SHOWN, WORDS, distance, is_click_rate, kind_of, nearest
from rankone.clicks.counts.column_values import days_of, whole_numbers
from rankone.clicks.counts.factor_columns import clicks_by_contents
from rankone.errors import InputError
from rankone.specs import amount

_VIEWS = WORDS["events-view"]
_CLICKS = WORDS["events-click"]  # the first one that a log has is counted
_MOST_EVENTS = 100  # kinds of events in a log


def with_clicks(table: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return a table with a column of clicks where one can be computed, and notes that say how.

    >>> table, notes = with_clicks(pl.DataFrame({"ad": ["A", "B"], "Views": [4000, 2000], "CTR": ["2.5%", "3%"]}))
    >>> table["clicked"].to_list(), notes[0]
    ([100, 60], "Clicks were computed from 'Views' and 'CTR', to within 2 clicks a row.")
    """
    called = [name for name in table.columns if distance(name, CLICKED) is not None]
    if any(kind_of(table[name]).what == "clicked" for name in called):
        return table, ()
    kinds = {name: kind_of(table[name]).what for name in table.columns}
    shown = nearest([name for name, what in kinds.items() if what == "shown"], SHOWN)
    rate = next((name for name in table.columns if is_click_rate(name)), None)
    free = [name for name, what in kinds.items() if what == "levels"]
    if shown is not None and rate is not None and clicks_by_contents(table, free, shown) is None:
        return _clicks_of_rates(table, shown, rate)
    if shown is None:
        for column in table.select(pl.col(pl.String)):
            events = column.str.to_lowercase().str.replace_all(r"[_\W]+", " ").str.strip_chars()
            known = events.unique().drop_nulls()
            clicks = [word for word in _CLICKS if word in known]
            if len(known) <= _MOST_EVENTS and clicks and known.is_in(_VIEWS).any():
                return _clicks_of_events(table.drop(column.name), column.name, events, clicks[0])
    return table, ()


def _clicks_of_rates(table: pl.DataFrame, shown: str, rate: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Multiply: percentages where a cell or the name has a sign of percent, or a number is above 1."""
    counts = whole_numbers(table[shown])
    texts = table[rate].cast(pl.String).str.strip_chars()
    plain = texts.str.replace(r"\s*%$", "").str.replace(",", ".", literal=True)
    rates = plain.cast(pl.Float64, strict=False)
    if counts is None or rates.null_count() or not (rates >= 0.0).all():
        return table, ()
    signed = "%" in rate or texts.str.contains("%", literal=True).any()
    percents = signed or bool((rates > 1.0).any())
    if (rates > (100.0 if percents else 1.0)).any():
        raise InputError(f"A rate above 100% in column '{rate}':", str(rates.max()), "correct it")
    unit = 100.0 if percents else 1.0
    clicks = (counts * rates / unit).round().cast(pl.Int64)
    decimals = int(plain.str.extract(r"\.(\d+)$").str.len_chars().max() or 0)  # type: ignore[arg-type]
    off = round(float(counts.max()) * 0.5 * 10.0**-decimals / unit)  # type: ignore[arg-type]
    example = "" if signed else f" ({plain[0]} is read as {100.0 * rates[0] / unit:g}%)"
    within = f", to within {amount(off, 'click')} a row" if off else ""
    note = f"Clicks were computed from '{shown}' and '{rate}'{example}{within}."
    return table.drop(rate).with_columns(clicked=clicks), (note,)


def _clicks_of_events(
    table: pl.DataFrame, column: str, events: pl.Series, click: str
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Count views and clicks; where a column tells visitors apart, each once for each visitor and variant."""
    kinds = {name: kind_of(table[name]).what for name in table.columns}
    keys = [name for name, what in kinds.items() if what in ("levels", "audience", "visitor")]
    days = [
        day.alias(name)
        for name, what in kinds.items()
        if what == "time" and (day := days_of(table[name])) is not None and day.n_unique() > 1
    ][:1]
    who = [name for name, what in kinds.items() if what == "who"][:1]
    rows = table.select(*keys, *who, *days).with_columns(view=events.is_in(_VIEWS), click=events == click)
    when = [each.name for each in days]
    ignored = rows.height - int((rows["view"] | rows["click"]).sum())
    rows = rows.filter(pl.col("view") | pl.col("click"))
    notes = [f"Views and clicks were counted from the events in '{column}'."]
    if who:
        once = rows.group_by(*keys, *who, maintain_order=True).agg(
            pl.col("view", "click").any(), *(pl.col(name).filter("view").first() for name in when)
        )
        unseen = once.filter(~pl.col("view")).height
        result = once.filter("view").select(*keys, *who, *when, clicked=pl.col("click").cast(pl.Int64))
        notes[0] = f"{notes[0][:-1]}, each once for each '{who[0]}' and variant."
        notes += [f"Ignored: {amount(unseen, 'click')} without a view of the same '{who[0]}'."] if unseen else []
    else:
        sums = {"shown": pl.col("view").sum().cast(pl.Int64), "clicked": pl.col("click").sum().cast(pl.Int64)}
        result = rows.group_by(*keys, *when, maintain_order=True).agg(**sums)
        notes.append("No column tells visitors apart, so several clicks on one view count several times.")
    notes += [f"Ignored: {amount(ignored, 'other event')}."] if ignored else []
    return result, tuple(notes)
