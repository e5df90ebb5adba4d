"""The kinds of decision there are, and how long the arrays are that hold one.

=============  ===================  =======================================  =======================
a policy       starts with          `shown`                                  `outcome`
=============  ===================  =======================================  =======================
plays a pair   (n_rows, n_cols)     (2,) row and column                      (1,) clicked
a combination  (sizes of factors)   (D,) the choice of each factor           (1,) clicked
a list         (n_items, K)         (K,) the item at each position           (K,) each clicked
=============  ===================  =======================================  =======================

The middle column is the *shape*: ``policy.start(*shape)`` returns the state, ``problem.shape`` says which. A pair is a
combination of two factors.
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, Self

from rankone.errors import InputError

DecisionKind = Literal["pair", "combination", "list"]
Shape = tuple[int, ...]

#: Each kind in the plural, as messages say it.
KINDS: dict[DecisionKind, str] = {"pair": "pairs", "combination": "combinations", "list": "lists"}
#: What ``start`` of a policy of each kind takes.
SIZES: dict[DecisionKind, str] = {"pair": "n_rows, n_cols", "combination": "*sizes", "list": "n_items, n_positions"}


#: Of factors, and of their combinations.
MOST_FACTORS, MOST_COMBINATIONS = 20, 10**12


def check_combinations(sizes: Sequence[int]) -> None:
    """Refuse more factors or combinations than can be numbered safely."""
    if not 1 <= len(sizes) <= MOST_FACTORS:
        do = "leave some out, or let a level of one factor stand for levels of two" if sizes else "name at least one"
        raise InputError(f"from 1 to {MOST_FACTORS} factors", f"{len(sizes)}", do)
    if math.prod(sizes) > MOST_COMBINATIONS:
        got = f"{' x '.join(map(str, sizes))} = {math.prod(sizes):,}"
        raise InputError(f"at most {MOST_COMBINATIONS:,} combinations", got, "take levels or factors away")


class Layout(NamedTuple):
    """Lengths of the arrays of a decision."""

    shown: int
    outcome: int
    context: int = 0

    @classmethod
    def of(cls, plays: DecisionKind, shape: Shape, context: int = 0) -> Self:
        """Return the lengths for a kind of decision.

        >>> Layout.of("pair", (8, 10)), Layout.of("list", (100, 5))
        (Layout(shown=2, outcome=1, context=0), Layout(shown=5, outcome=5, context=0))
        """
        return cls(shape[1], shape[1], context) if plays == "list" else cls(len(shape), 1, context)


def same_kind(plays: DecisionKind, asked: DecisionKind, shape: Shape) -> bool:
    """Tell whether a policy that plays one kind can play what is asked for.

    >>> same_kind("list", "pair", (2, 3)), same_kind("combination", "pair", (2, 3))
    (False, True)
    """
    return plays == asked or (len(shape) == 2 and {plays, asked} == {"pair", "combination"})
