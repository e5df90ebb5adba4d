"""Decide away from the server: the levels that a visitor sees, by published weights. Needs only the standard library.

The rule, for any language (`docs/edge.md` has it in 30 lines, `edge_vectors.json` what must come out):

1. *Words*: SHA-256 of the text ``BLOCK/VERSION/SALT/VISITOR`` in UTF-8 is eight numbers of 32 bits, the highest byte
   first. Block 0 has words 0 to 7, block 1 words 8 to 15, and so on. Of each, the highest 20 bits count: 0 to 1048575.
2. If word 0 is below ``control.share``, the visitor sees the control.
3. Otherwise each part of the weights (one factor, or several of which levels are forbidden together) takes one word,
   the first part word 1: take the first line of levels whose weight, added to those before it, is above the word.

The weights of a part sum to 1048576. So every program draws the same levels, with exactly the chances published.
"""

import hashlib
import struct
import time
from collections.abc import Mapping, Sequence
from typing import Any

WHOLE = 2**20  # what the weights of a part sum to
WORDS = 8  # of a block
_UNPACK = struct.Struct(">8I").unpack


def block_text(version: int, salt: str, block: int = 0) -> str:
    """Return what stands before the visitor in the text that is hashed."""
    return f"{block}/{version}/{salt}/"


def _words(version: int, salt: str, visitor: str, count: int) -> list[int]:
    result: list[int] = []
    while len(result) < count:
        text = f"{block_text(version, salt, len(result) // WORDS)}{visitor}"
        result += [word >> 12 for word in _UNPACK(hashlib.sha256(text.encode()).digest())]
    return result


def _chosen(weights: Sequence[int], word: int) -> int:
    for index, weight in enumerate(weights):
        word -= weight
        if word < 0:
            return index
    raise ValueError(f"weights that sum to less than {WHOLE}")


def decide(weights: Mapping[str, Any], visitor: str, kept: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what a visitor sees, as a row of the log of exposures.

    Args:
        weights: what `Experiment.weights` returned, or ``GET /v1/experiments/NAME/weights``.
        visitor: the same text for the same visitor, such as the id in a cookie.
        kept: what was returned at the first visit, from a cookie for example: a returning visitor goes on seeing that,
            unless levels were retired or forbidden, or the experiment was stopped since.

    >>> weights = {"version": 1, "oldest": 1, "salt": "s", "control": None, "parts": [
    ...     {"factors": ["headline"], "levels": [["A"], ["B"]], "weights": [524288, 524288]}]}
    >>> decide(weights, "ann")["levels"], decide(weights, "bob")["levels"]
    ({'headline': 'B'}, {'headline': 'A'})
    """
    if kept is not None and weights["oldest"] <= kept["version"] <= weights["version"]:
        version, levels = kept["version"], dict(kept["levels"])
    else:
        version, parts, control = weights["version"], weights["parts"], weights["control"]
        words = _words(version, weights["salt"], visitor, 1 + len(parts))
        levels = {}
        if control and words[0] < control["share"]:
            levels = dict(control["levels"])
        else:
            for part, word in zip(parts, words[1:], strict=False):
                levels.update(zip(part["factors"], part["levels"][_chosen(part["weights"], word)], strict=True))
    return {"visitor": visitor, "version": version, "levels": levels, "time": time.time()}
