"""Runs that an earlier release left in a study: those that this one would play bit for bit alike are not played again.

Runs name the sources that played them (`source_key`). A release belongs here as long as `tests/golden`, which its code
recorded, holds: once a choice is meant to change, it has to go.
"""

from __future__ import annotations

import numba

from rankone.compiling.compiled import source_key

# What `source_key("rankone")` was in 0.1.0, with each release of Numba that it ran on.
_KEYS_OF_0_1_0 = {
    "0.61.0": "36a126e27946023f", "0.61.2": "d47e1361cc56903e", "0.62.0": "ae321f7944c9d16d",
    "0.62.1": "dd8662b9614155ec", "0.63.0": "41c61798f748c60e", "0.63.1": "90bf2b80de679ba5",
    "0.64.0": "17de598dabee3977", "0.65.0": "23499b0760adcb18", "0.65.1": "bb3688b0b7ef2195",
    "0.66.0": "8ded8e741266dd73", "0.67.0": "a46fab6cc27273ee", "0.68.0": "8964dfa6201909d5",
    "0.68.1": "dacc1b64c1851d48",
}  # fmt: skip


def plays_alike(key: str, present: str | None) -> bool:
    """Tell whether runs of the sources `key` are those that the `present` sources would play.

    Of a policy or problem in a file of the user's, only the very same sources are: its key says nothing about the file
    alone.

    >>> plays_alike("0123456789abcdef", source_key("rankone"))
    False
    """
    if key == present:
        return True
    return present == source_key("rankone") and key == _KEYS_OF_0_1_0.get(numba.__version__)
