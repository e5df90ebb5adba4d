"""What all pages have in common: their look, and the chart library Vega-Lite, taken out of the installed vl-convert."""

from __future__ import annotations

import contextlib
import importlib.metadata
from pathlib import Path

from rankone.compiling.cache import cache_roots
from rankone.errors import StorageError
from rankone.writing import write_file

LOOK = Path(__file__).with_name("look.css")
LICENCE = Path(__file__).with_name("vega-licence.txt")  # travels with every copy, as it asks


def bundle_path() -> Path | None:
    """Return where the bundle of the installed vl-convert is kept; None before it is made."""
    return next((path for path in map(_place, cache_roots()) if path.exists()), None)


def _place(root: Path) -> Path:
    return root / "web" / f"vega-with-licence-{importlib.metadata.version('vl-convert-python')}.js"


def make_bundle() -> Path:
    """Write the bundle unless it is there, which takes some seconds, once; return where it is kept."""
    found = bundle_path()
    if found is not None:
        return found
    import vl_convert

    bundle = LICENCE.read_text() + vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    for root in cache_roots(make=True):
        with contextlib.suppress(StorageError):
            write_file(_place(root), bundle)
            return _place(root)
    raise StorageError("a directory for the chart library", "none that can be written", "name one in RANKONE_CACHE_DIR")
