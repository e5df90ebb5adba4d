"""What an elimination policy has left: rows, columns and the stage it is in."""

from __future__ import annotations

from rankone.kernels.policy import race
from rankone.serving.fold import Fold


def survivors(fold: Fold) -> tuple[list[str] | None, list[str] | None, int | None]:
    """Return the names of the rows and columns left and the stage; None where the policy eliminates nothing."""
    found = None if fold.state is None else race(fold.state)
    if found is None:
        return None, None, None
    rows, cols = (
        [name for name, left in zip(lines.names_living(), mask.tolist(), strict=True) if left]
        for lines, mask in ((fold.rows, found.rows), (fold.cols, found.cols))
    )
    return rows, cols, found.stage
