"""Whole lists: worlds in which a decision shows K of L items (`rankone.problems.lists`), under a short name.

>>> from rankone.lists import Cascade
>>> Cascade([0.5, 0.4, 0.1], positions=2)
<Cascade cascade:3x2:...: 3 items, 2 positions, best 0.7>
"""

from rankone.problems.lists import *  # noqa: F403
from rankone.problems.lists import __all__ as __all__
