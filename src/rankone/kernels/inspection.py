"""What a kernel looks at: does `update` tell tags apart, does `decide` look at the context?

Read off its code, so that no author of a policy has to remember to say.
"""

from __future__ import annotations

import dis
import operator
from collections.abc import Callable
from typing import Any

FILLER = -1

_PLACE = 3  # of the tag among the parameters of `update`
_ORDER = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def tells_tags_apart(update: Callable[..., Any]) -> bool:
    """Tell whether an `update` could do one thing for one tag and another for another, fillers left aside.

    It cannot if it looks at its tag only to find out whether it is a filler's: by comparing it with `FILLER` or with 0
    in a way that comes out the same for every tag from 0 on.

    >>> tells_tags_apart(lambda state, row, col, tag, reward: tag != FILLER)
    False
    >>> tells_tags_apart(lambda state, row, col, tag, reward: tag == 1)
    True
    """
    function = getattr(update, "py_func", update)  # what Numba compiled
    if function.__code__.co_argcount <= _PLACE:  # it takes them all together, as *arguments
        return True
    name, steps = function.__code__.co_varnames[_PLACE], list(dis.get_instructions(function.__code__))
    for step, bound, compared in zip(steps, [*steps[1:], None], [*steps[2:], None, None], strict=True):
        if _mentions(step, name) and not (step.argval == name and _asks_for_filler(bound, compared, function)):
            return True
    return False


def looks_at(kernel: Callable[..., Any], place: int) -> bool:
    """Tell whether a kernel looks at its parameter at this place, from 0.

    >>> looks_at(lambda state, context, rng, shown: context[0] > 0.5, 1)
    True
    """
    code = getattr(kernel, "py_func", kernel).__code__
    name = code.co_varnames[place] if place < code.co_argcount else None
    return name is None or any(_mentions(step, name) for step in dis.get_instructions(code))


def _mentions(step: dis.Instruction, name: str) -> bool:
    return step.argval == name or (isinstance(step.argval, tuple) and name in step.argval)


def _asks_for_filler(bound: dis.Instruction | None, compared: dis.Instruction | None, function: Any) -> bool:
    """Tell whether these two instructions compare with a number such that all tags from 0 on come out the same."""
    if bound is None or compared is None or compared.opname != "COMPARE_OP":
        return False
    number = function.__globals__.get(bound.argval) if bound.opname == "LOAD_GLOBAL" else bound.argval
    compare = _ORDER.get(str(compared.argval))
    if bound.opname.startswith("LOAD_FAST") or type(number) is not int or number > 0 or compare is None:
        return False
    return compare(0, number) == compare(1, number)  # and so for all above 1, as the number is not
