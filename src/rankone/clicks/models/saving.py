"""Fitted click models in files: JSON that says what it is, and gives back every number as it was.

``{"format": "rankone-click-model", "version": 1, "model": "pbm", "settings": {...}, "learned": {...}}``. What was
learned is whatever `learn` left behind: numbers, texts, arrays, tables, and the cells it was learned from, so a model
of one's own saves itself. Arrays and tables name their types. Floats are read again bit for bit.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Cells
from rankone.errors import InputError
from rankone.writing import write_file

if TYPE_CHECKING:
    from rankone.clicks.models.base import ClickModel

FORMAT, VERSION = "rankone-click-model", 1
_NOT_KEPT = {"_tails"}  # needed to fit, and to nothing else
_TYPES = {str(kind): kind for kind in (pl.String, pl.Int64, pl.UInt32, pl.UInt8, pl.Float64, pl.Boolean)}


def save_model(model: ClickModel, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a JSON file."""
    path = Path(path)
    if path.suffix.lower() != ".json":
        raise InputError("a file name that ends in .json", path.name, f"write {path.with_suffix('.json').name}")
    settings = [field.name for field in dataclasses.fields(model) if field.init]
    learned = {name: value for name, value in vars(model).items() if name not in {*settings, *_NOT_KEPT}}
    content = {
        "format": FORMAT,
        "version": VERSION,
        "model": model.name,
        "settings": {name: _packed(getattr(model, name)) for name in settings},
        "learned": {name: _packed(value) for name, value in learned.items()},
    }
    write_file(path, json.dumps(content, allow_nan=False))


def load_model(path: str | os.PathLike[str]) -> ClickModel:
    """Return a fitted model from a file that `model.save` wrote.

    >>> import tempfile
    >>> from rankone.clicks import PBM, Counts
    >>> model = PBM().fit(Counts(pl.DataFrame({"query": "q", "item": ["a", "a"], "position": [1, 2],
    ...                                        "impressions": 1000, "clicks": [400, 100]})))
    >>> file = tempfile.mkdtemp() + "/model.json"
    >>> model.save(file)
    >>> load_model(file).attraction_.equals(model.attraction_)
    True
    """
    from rankone.clicks.models.base import MODELS

    path = Path(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"a click model in {path.name}", str(error), "name a file that model.save wrote") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"a click model in {path.name}", "another file", "name a file that model.save wrote")
    if content.get("version") != VERSION:
        got, do = f"version {content.get('version')}", "read it with the version of rankone that wrote it"
        raise InputError(f"a click model of version {VERSION}", got, do)
    kind = MODELS.get(str(content.get("model")))
    try:
        model = kind(**{name: _unpacked(value) for name, value in content["settings"].items()})
        for name, value in content["learned"].items():
            setattr(model, name, _unpacked(value))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"a whole click model in {path.name}", repr(error), "save it again") from None
    model._tails = None
    return model


def _packed(value: Any) -> Any:
    """Turn a value into what JSON can hold; all but plain values say what they are."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"number": str(value)}
    if isinstance(value, list):
        return [_packed(each) for each in value]
    if isinstance(value, tuple):
        return {"tuple": [_packed(each) for each in value]}
    if isinstance(value, dict):
        return {"mapping": {name: _packed(each) for name, each in value.items()}}
    if isinstance(value, np.ndarray):
        return {"array": _packed(value.ravel().tolist()), "type": str(value.dtype), "shape": value.shape}
    if isinstance(value, pl.DataFrame):
        for name, kind in value.schema.items():
            if str(kind) not in _TYPES:
                got = f"{name}: {kind}"
                raise InputError(f"columns of {', '.join(_TYPES)} in a table to save", got, "cast it to one")
        columns = {name: _packed(value[name].to_list()) for name in value.columns}
        return {"table": columns, "types": [str(kind) for kind in value.dtypes]}
    if isinstance(value, Cells):
        return {"cells": {field.name: _packed(getattr(value, field.name)) for field in dataclasses.fields(value)}}
    raise InputError("learned values of numbers, texts, arrays and tables", type(value).__name__, "keep it as an array")


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "number" in value:
        return float(value["number"])
    if "tuple" in value:
        return tuple(_unpacked(each) for each in value["tuple"])
    if "array" in value:
        return np.array(_unpacked(value["array"]), value["type"]).reshape(value["shape"])
    if "table" in value:
        columns = {name: _unpacked(each) for name, each in value["table"].items()}
        return pl.DataFrame(columns, dict(zip(columns, map(_TYPES.__getitem__, value["types"]), strict=True)))
    inner = value["cells" if "cells" in value else "mapping"]
    unpacked = {name: _unpacked(each) for name, each in inner.items()}
    return Cells(**unpacked) if "cells" in value else unpacked
