"""Tables as lines of text."""

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], layout: str) -> list[str]:
    """Return rows, the names of the columns first; for each column `layout` has a side and the least width.

    >>> print(*aligned([["level", "clicks"], ["A", "12"]], "< >9"), sep="\\n")
      level     clicks
      A             12
    """
    columns = zip(layout.split(), zip(*rows, strict=True), strict=True)
    kinds = [f"{kind[0]}{max(int(kind[1:] or 0), *map(len, column))}" for kind, column in columns]
    cells = ([f"{cell:{kind}}" for cell, kind in zip(row, kinds, strict=True)] for row in rows)
    return ["  ".join(["", *line]).rstrip() for line in cells]
