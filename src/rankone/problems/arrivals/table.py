"""A world from a complete table of users and items in a file: ``table:ratings.csv``, ``table:FILE:low=-10,high=10``.

Each line is a user, each column an item; a first column of texts names users and is left out. What a user gives an
item, from `low` to `high`, becomes the rate at which it is clicked, from 0 to 1.
"""

from pathlib import Path

import numpy as np

from rankone.errors import InputError
from rankone.problems.arrivals.arriving import Arrivals, arriving_users
from rankone.specs import parse_settings

_SETTINGS = {"low": float, "high": float, "arrivals": str, "visits": int, "seed": int}


def load_arrivals(
    path: str | Path,
    *,
    low: float = 0.0,
    high: float = 1.0,
    arrivals: str = "uniform",
    visits: int = 20,
    seed: int = 0,
    name: str | None = None,
) -> Arrivals:
    """Return the world of a CSV or Parquet file with a line for each user and a column for each item.

    Args:
        path: the file.
        low: the value that stands for a click rate of 0.
        high: the value that stands for a click rate of 1.
        arrivals: how users arrive: uniform, weighted, zipf or cold.
        visits: about how often each user comes, where they are cold.
        seed: of the weights, where arrivals are weighted.
        name: what tables call it; default: how it is written as a text.
    """
    import polars as pl

    path = Path(path)
    if not path.is_file():
        raise InputError("a file of users and items", f"no such file: {path}", "check the path")
    read = pl.read_parquet if path.suffix.lower() == ".parquet" else pl.read_csv
    frame = read(path)
    if frame.width > 1 and frame.dtypes[0] == pl.String:
        frame = frame.drop(frame.columns[0])
    wrong = [column for column in frame.columns if not frame[column].dtype.is_numeric() or frame[column].null_count()]
    if wrong or frame.height == 0:
        got = f"column '{wrong[0]}' has gaps or texts" if wrong else "no line"
        raise InputError(f"a number for every user and item in {path}", got, "fill the gaps, or leave the column out")
    values = (frame.to_numpy().astype(float) - low) / (high - low) if high > low else np.full((1, 1), np.nan)
    if not ((values >= 0.0) & (values <= 1.0)).all():
        got = f"low={low:g}, high={high:g}"
        raise InputError(f"low and high with all values of {path} in between", got, "say low= and high=")
    result = arriving_users(values, arrivals, visits, seed)
    given = {"low": (low, 0.0), "high": (high, 1.0), "arrivals": (arrivals, "uniform"), "visits": (visits, 20)}
    changed = ",".join(f"{key}={value}" for key, (value, usual) in given.items() if value != usual)
    result.name = name or ":".join(filter(None, [f"table:{path}", changed]))
    return result


def table_world(text: str) -> Arrivals:
    """Return the world that is written ``table:FILE`` or ``table:FILE:low=...``; the text is what follows the colon."""
    path, colon, settings = text.rpartition(":")
    if not colon or "=" not in settings:
        path, settings = text, ""
    return load_arrivals(path, **parse_settings(f"table:{path}", settings, _SETTINGS))
