"""A tree of seeds: every run has its own stream, named by what it is and not by when or where it ran.

A stream's name is a path such as (seed, problem, policy, run). Texts are hashed, numbers are used as they are, so the
same path gives the same numbers on every machine, with any number of workers, in any order.
"""

import hashlib

import numpy as np


def generator(*path: int | str) -> np.random.Generator:
    """Return the random generator of one path of the seed tree.

    >>> bool(generator(0, "needle", "ucb1", 3).random() == generator(0, "needle", "ucb1", 3).random())
    True
    """
    words: list[int] = []
    for part in path:
        # The kind comes first: 1 and "1" differ, while a NumPy integer is the number it holds.
        if isinstance(part, str):
            data = b"str" + part.encode()
        else:
            length = max(16, int(part).bit_length() // 8 + 1)
            data = b"int" + int(part).to_bytes(length, "little", signed=True)
        digest = hashlib.sha256(data).digest()
        words += np.frombuffer(digest[:16], dtype=np.uint32).tolist()
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))
