"""One way to write a statement for all databases.

A statement is a template: ``{}`` stands for a parameter, ``{integer}`` and the like for a type of the database, ``{{``
for a brace. It is put into a database's own words once and kept; parameters never pass here. All the rest of a
statement is text, whatever signs of the driver it holds.

>>> postgres = Dialect("%s", {"integer": "BIGINT"}, {"%": "%%"})
>>> postgres.text("SELECT name FROM shops WHERE id = {} AND name LIKE '100%?'")
"SELECT name FROM shops WHERE id = %s AND name LIKE '100%%?'"
>>> Dialect("?", {"integer": "INTEGER"}).text("CREATE TABLE shops (id {integer}, open {integer})")
'CREATE TABLE shops (id INTEGER, open INTEGER)'
"""

from __future__ import annotations

import functools
import string
from collections.abc import Mapping

_KEPT = 1_000  # statements; those with a list of values come in many lengths


class Dialect:
    """How a database writes what databases write differently.

    Args:
        parameter: what stands for a parameter.
        words: types of columns and the like, by the names that templates use.
        escapes: signs of a statement that its driver would take for something else, and what to write instead.
    """

    def __init__(self, parameter: str, words: Mapping[str, str], escapes: Mapping[str, str] | None = None) -> None:
        self._words = {"": parameter, **words}
        self._escapes = str.maketrans(dict(escapes or {}))
        self.text = functools.lru_cache(_KEPT)(self._text)

    def _text(self, template: str) -> str:
        """Return a template in the words of this database."""
        return "".join(
            literal.translate(self._escapes) + ("" if name is None else self._words[name])
            for literal, name, _, _ in string.Formatter().parse(template)
        )


def places(count: int) -> str:
    """Return a list of so many parameters, as ``IN`` takes it.

    >>> places(3)
    '{}, {}, {}'
    """
    return ", ".join(["{}"] * count)
