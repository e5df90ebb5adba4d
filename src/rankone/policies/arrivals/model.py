"""What a log says of items before the first user comes: classes of users, or a vector of each item.

Made by `rankone.personal`, kept as JSON, read by policies that take ``model=FILE``.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankone.errors import InputError
from rankone.numerics.arrays import Floats
from rankone.writing import write_file

FORMAT, VERSION = "rankone-users", 1


class Classes(NamedTuple):
    """Latent classes of users."""

    shown: Floats  # (C, M) how often each item was shown to each class
    clicked: Floats  # (C, M)
    members: Floats  # (C,) users of each class

    @property
    def means(self) -> Floats:
        """Click rates of each class, ``(C, M)``."""
        return (self.clicked + 1.0) / (self.shown + 2.0)


class Vectors(NamedTuple):
    """Vectors of items, and how those of users scatter; an outcome is `centre` plus their product plus noise."""

    noise: Floats  # (1,) variance
    centre: Floats  # (1,)
    user_mean: Floats  # (r,)
    user_cov: Floats  # (r, r)
    item_mean: Floats  # (M, r)
    item_cov: Floats  # (M, r, r)


_KINDS: dict[str, Any] = {"classes": Classes, "vectors": Vectors}


def write_model(path: str | Path, items: list[str], classes: Classes, vectors: Vectors) -> None:
    """Write both into a file."""
    plain = {
        key: {name: array.tolist() for name, array in part._asdict().items()}
        for key, part in (("classes", classes), ("vectors", vectors))
    }
    write_file(Path(path), json.dumps({"format": FORMAT, "version": VERSION, "items": items} | plain) + "\n")


def read_model(path: str | None, what: str, items: int, whose: str) -> Any:
    """Return the `Classes` or `Vectors` of a file for so many items; None where there is no path."""
    if path is None:
        return None
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        model = _KINDS[what](*(np.array(content[what][name], float) for name in _KINDS[what]._fields))
    except OSError as error:
        do = "write it with rankone.personal(...).save(path)"
        raise InputError(f"a model of users for {whose}", f"{path}: {str(error.strerror).lower()}", do) from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{what} of users in {path}", "another file", "write it with rankone.personal(...)") from None
    size = model.shown.shape[1] if what == "classes" else len(model.item_mean)
    if size != items:
        raise InputError(f"a model of {items} items for {whose}", f"{size} in {path}", "fit it to the same items")
    return model
