"""JSON as the service writes it."""

import json
from typing import Any

_WRITER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))  # `json.dumps` would make one for every answer


def encode(content: Any) -> bytes:
    """Return content as JSON: no spaces, and no NaN, which JSON does not have.

    >>> encode({"decisions": [1, 2]})
    b'{"decisions":[1,2]}'
    """
    return _WRITER.encode(content).encode()
