"""What a suite is: a class whose methods `test_*` raise `ConformanceError` where a contract is not kept."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rankone.errors import ConformanceError, ExplainedError, InputError
from rankone.progress import as_progress


class Suite:
    """Base of all suites. What is tested is an attribute, said by a subclass or handed to `check`."""

    @classmethod
    def names(cls) -> Iterator[str]:
        """Name the tests, in the order in which they are written."""
        for kind in reversed(cls.__mro__):
            yield from (name for name in vars(kind) if name.startswith("test_"))

    @classmethod
    def check(cls, **tested: Any) -> None:
        """Run all tests, each on a suite of its own; the first that fails raises its error.

        If they take more than a second, a bar says on standard error how many are done, and of what.

        >>> from rankone import UCB1
        >>> from rankone.testing import PolicySuite
        >>> PolicySuite.check(policy=UCB1())
        """
        names = list(dict.fromkeys(cls.names()))
        about = ", ".join(str(getattr(each, "label", getattr(each, "name", each))) for each in tested.values())
        report = as_progress(None, f"tests of {about or cls.__name__}", late=True)
        for finished, name in enumerate(names, 1):
            suite = cls()
            for attribute, value in tested.items():
                setattr(suite, attribute, value)
            getattr(suite, name)()
            report(finished, len(names))


def expect(kept: Any, expected: str, got: Any, do: str) -> None:
    """Raise unless the condition holds."""
    if not kept:
        raise ConformanceError(expected, got, do)


def expect_plain_arrays(started: Any, again: Any, what: str) -> None:
    """Raise unless `start()`, called twice, returned a state or a world of plain arrays that two runs do not share."""
    do = "return a NamedTuple of NumPy arrays of numbers from start()"
    expect(isinstance(started, tuple) and hasattr(started, "_fields"), "a NamedTuple from start()", started, do)
    for field, array, its in zip(started._fields, started, again, strict=True):
        plain = isinstance(array, np.ndarray) and array.dtype.kind in "iufb"
        expect(plain, f"an array of numbers as {field} of the {what}", array, do)
        own = not array.flags.writeable or array.size == 0 or not np.shares_memory(array, its)
        expected = f"a new array {field} at every start(), or one that is read-only"
        expect(own, expected, "one that two runs share", "make a copy in start()")


def expect_refusal(
    call: Callable[[], Any], of: str, says: str = "", error: type[ExplainedError] = InputError
) -> ExplainedError:
    """Call what has to be refused, and return the error that refuses it."""
    expected = f"{of} to be refused with {error.__name__}" + (f", which says '{says}'" if says else "")
    do = f'raise rankone.errors.{error.__name__}("what is expected", got, "what to do")'
    try:
        call()
    except error as refusal:
        expect(says.lower() in str(refusal).lower(), expected, str(refusal), do)
        return refusal
    except Exception as other:
        raise ConformanceError(expected, f"{type(other).__name__}: {other}", do) from other
    raise ConformanceError(expected, "no error", do)
