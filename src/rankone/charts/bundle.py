"""What all pages have in common: their look, and the chart library Vega-Lite, taken out of the installed vl-convert."""

import contextlib
import importlib.metadata
from pathlib import Path

from rankone.compiling.folders import cache_roots, is_closed, make_folder
from rankone.errors import StorageError
from rankone.writing import write_file

LOOK = Path(__file__).with_name("look.css")
LICENCE = Path(__file__).with_name("vega-licence.txt")  # travels with every copy, as it asks


def bundle_path() -> Path | None:
    """Return where the bundle of the installed vl-convert is kept; None before it is made."""
    found = (path for path in map(_place, cache_roots()) if path.exists())
    return next((path for path in found if is_closed(path) and is_closed(path.parent)), None)


def _place(root: Path) -> Path:
    return root / "web" / f"vega-with-licence-{importlib.metadata.version('vl-convert-python')}.js"


def make_bundle() -> Path:
    """Write the bundle unless it is there, which takes some seconds, once; return where it is kept."""
    result = bundle_path()
    if result is not None:
        return result
    import vl_convert

    bundle = LICENCE.read_text() + vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    for root in cache_roots(make=True):
        with contextlib.suppress(OSError, StorageError):
            make_folder(_place(root).parent)
            write_file(_place(root), bundle, mode=0o644)
            return _place(root)
    raise StorageError("a directory for the chart library", "none that can be written", "name one in RANKONE_CACHE_DIR")
