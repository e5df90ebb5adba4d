"""What all pages have in common: their look, and the chart library Vega-Lite, taken out of the installed vl-convert."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

from rankone.numerics.compiled import cache_root
from rankone.writing import whole_file

LOOK = Path(__file__).with_name("look.css")
LICENCE = Path(__file__).with_name("vega-licence.txt")  # travels with every copy, as it asks


def bundle_path() -> Path:
    """Return where the bundle of the installed vl-convert is kept."""
    return cache_root() / "web" / f"vega-with-licence-{importlib.metadata.version('vl-convert-python')}.js"


def make_bundle() -> None:
    """Write the bundle unless it is there; this takes some seconds, once."""
    path = bundle_path()
    if path.exists():
        return
    import vl_convert

    bundle = LICENCE.read_text() + vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    with whole_file(path) as part:
        part.write_text(bundle, encoding="utf-8")
