"""A whole HTML page in one file: style, scripts and data inside it, nothing asked of the network.

What comes from outside (names, labels) reaches a page in two ways only: as text that its template escapes, or as data
that its scripts set as text. The page's own policy lets run nothing but the scripts it was written with, and forbids
every request.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankone.charts.bundle import LOOK

if TYPE_CHECKING:
    from markupsafe import Markup

_PAGE = Path(__file__).with_name("page.html")


def filled(template: Path, **values: Any) -> Markup:
    """Return the markup of a Jinja template: all values in it are escaped, except those that are markup already.

    Jinja comes with Altair in any case; it escapes by itself, which code that puts texts together may forget.
    """
    import jinja2
    from markupsafe import Markup

    spaces: Any = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, **spaces)
    text = template.read_text(encoding="utf-8")
    return Markup(environment.from_string(text).render(values))  # noqa: S704 - just escaped


def whole_page(title: str, body: Markup, style: str, scripts: Sequence[str], data: Any) -> str:
    """Return the page: a `body` that `filled` made; `scripts` find `data` as JSON in the element "data"."""
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in scripts)
    policy = f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:"
    said = {"policy": policy, "title": title, "style": LOOK.read_text() + style, "body": body, "scripts": scripts}
    return str(filled(_PAGE, data=as_data(data), **said))


def as_data(data: Any) -> str:
    """Return JSON that cannot end the element it stands in.

    >>> as_data(["</script>"])
    '["\\\\u003c/script>"]'
    """
    return json.dumps(_finite(data), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _finite(data: Any) -> Any:
    """Return the data with null for numbers that JSON does not know."""
    if isinstance(data, Mapping):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
