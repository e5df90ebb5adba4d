"""Python processes that we start take modules from where Python is installed, never from the current directory.

``python -m`` and ``python -c`` put that directory first on the path of modules: whoever can write to it could run code
as this user. This variable keeps them from it, and the processes that they start, too.
"""

import contextlib
import os
from collections.abc import Iterator

SAFE_PATH = {"PYTHONSAFEPATH": "1"}


@contextlib.contextmanager
def safe_path() -> Iterator[None]:
    """Give the variable to every process that is started meanwhile, for those that take no environment of their own.

    >>> with safe_path():
    ...     os.environ["PYTHONSAFEPATH"]
    '1'
    """
    before = {name: os.environ.get(name) for name in SAFE_PATH}
    os.environ.update(SAFE_PATH)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
