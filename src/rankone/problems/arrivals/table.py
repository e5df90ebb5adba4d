"""A world from a complete table of users and items in a file: ``table:ratings.csv``, ``table:FILE:low=-10,high=10``.

Each line is a user, each column an item; a first column of texts names users and is left out. What a user gives an
item, from `low` to `high`, becomes the rate at which it is clicked, from 0 to 1. With `positions`, lists are shown to
half of the users, and the others give the features of items (`Coverage`).
"""

from pathlib import Path

import numpy as np

from rankone.errors import InputError
from rankone.numerics.arrays import Floats
from rankone.numerics.seeds import generator
from rankone.problems.arrivals.arriving import Arrivals, arriving_users
from rankone.problems.contextual.coverage import Coverage
from rankone.problems.contextual.feature_lists import item_features
from rankone.specs import parse_settings, whole_number

_DEFAULTS = {"low": 0.0, "high": 1.0, "arrivals": "uniform", "visits": 20, "positions": 0, "d": 10, "seed": 0}


def load_table(
    path: str | Path,
    *,
    low: float = 0.0,
    high: float = 1.0,
    arrivals: str = "uniform",
    visits: int = 20,
    positions: int = 0,
    d: int = 10,
    seed: int = 0,
    name: str | None = None,
) -> Arrivals | Coverage:
    """Return the world of a CSV or Parquet file with a line for each user and a column for each item.

    Args:
        path: the file.
        low: the value that stands for a click rate of 0.
        high: the value that stands for a click rate of 1.
        arrivals: how users arrive: uniform, weighted, zipf or cold.
        visits: about how often each user comes, where they are cold.
        positions: of lists; 0: each user gets one item.
        d: features of an item in lists: the best approximation of rank d of what half of the users give.
        seed: of the halves, and of the weights, where arrivals are weighted.
        name: what tables call it; default: how it is written as a text.
    """
    given = {"low": low, "high": high, "arrivals": arrivals, "visits": visits, "positions": positions, "d": d}
    changed = ",".join(f"{key}={value}" for key, value in (given | {"seed": seed}).items() if value != _DEFAULTS[key])
    name = name or ":".join(filter(None, [f"table:{path}", changed]))
    items, rates = _read(Path(path), low, high)
    if not positions:
        result = arriving_users(rates, arrivals, visits, seed)
        result.name, result.item_names = name, items
        return result
    if len(rates) < 2:
        raise InputError("at least two users, half of whom give the features of items", len(rates), "add some")
    users = generator(whole_number("seed", seed, least=0), "halves", len(rates)).permutation(len(rates))
    learned, visiting = np.array_split(users, 2)
    features = item_features(rates[learned], whole_number("d", d))
    return Coverage(rates[visiting], features, positions, item_names=items, name=name)


def _read(path: Path, low: float, high: float) -> tuple[list[str], Floats]:
    """Return the names of items, and click rates of users and items."""
    import polars as pl

    if not path.is_file():
        raise InputError("a file of users and items", f"no such file: {path}", "check the path")
    frame = pl.read_parquet(path) if path.suffix.lower() == ".parquet" else pl.read_csv(path)
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
    return frame.columns, values


def table_world(text: str) -> Arrivals | Coverage:
    """Return the world that is written ``table:FILE`` or ``table:FILE:low=...``; the text is what follows the colon."""
    path, colon, settings = text.rpartition(":")
    if not colon or "=" not in settings:
        path, settings = text, ""
    hints = {key: type(value) for key, value in _DEFAULTS.items()}
    return load_table(path, **parse_settings(f"table:{path}", settings, hints, _DEFAULTS))
