"""A whole HTML page in one file: style, scripts and data inside it, nothing asked of the network.

What comes from outside (names, labels) reaches a page in two ways only: as text that `escape` made harmless, or as data
that its scripts set as text. The page's own policy lets run nothing but the scripts it was written with, and forbids
every request.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from string import Template
from typing import TYPE_CHECKING, Any

from rankone.charts.bundle import LOOK

if TYPE_CHECKING:
    import polars as pl

_PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="$policy">
<title>$title</title>
<link rel="icon" href="data:,">
<style>
$style</style>
</head>
<body>
$body
<script type="application/json" id="data">$data</script>
$scripts
</body>
</html>
""")


def whole_page(title: str, body: str, style: str, scripts: Sequence[str], data: Any) -> str:
    """Return the page.

    Args:
        title: what the browser's tab says; plain text.
        body: markup, everything foreign in it escaped.
        style: what the page adds to the common look.
        scripts: JavaScript, in order; they find `data` as JSON in the element "data".
        data: anything that JSON can hold.
    """
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in scripts)
    policy = f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:"
    return _PAGE.substitute(
        policy=escape(policy, quote=True).replace("&#x27;", "'"),
        title=escape(title),
        style=LOOK.read_text() + style,
        body=body,
        data=as_data(data),
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )


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


def table_html(table: pl.DataFrame, columns: Mapping[str, str] | None = None) -> str:
    """Return a table as markup, numbers to the right; `columns` chooses and renames.

    >>> import polars as pl
    >>> table_html(pl.DataFrame({"policy": ["<b>"], "regret": [1234.5]})).partition("<tbody>")[2]
    '<tr><td>&lt;b&gt;</td><td class="number">1,234</td></tr></tbody></table>'
    """
    if columns is not None:
        table = table.select(*columns).rename(dict(columns))
    kinds = [' class="number"' if kind.is_numeric() else "" for kind in table.schema.values()]
    head = "".join(
        f"<th{kind}>{escape(name.replace('_', ' '))}</th>" for name, kind in zip(table.columns, kinds, strict=True)
    )
    lines = [
        "".join(f"<td{kind}>{escape(cell_text(value))}</td>" for value, kind in zip(row, kinds, strict=True))
        for row in table.iter_rows()
    ]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def cell_text(value: Any) -> str:
    """Write a value of a table for people, numbers no longer than they need to be.

    >>> cell_text(1234.5), cell_text(0.12345), cell_text(None), cell_text(True)
    ('1,234', '0.1235', '-', 'yes')
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return str(value)
