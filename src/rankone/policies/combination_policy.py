"""What policies for any number of factors share: how they start, on which sizes, with which combinations forbidden;
and what those that count combinations show to who watches (`view` of the contract)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from rankone.errors import InputError
from rankone.kernels.decision import check_combinations
from rankone.kernels.policy import View
from rankone.numerics.arrays import Floats, Ints, Mask, allowed_table
from rankone.policies.base import Policy
from rankone.policies.engines.combinations import ANY
from rankone.specs import whole_number

_MOST_KEPT, _MOST_PAIRS_KEPT = 10**6, 10**7
_MOST_NAMED = 10**7  # combinations of the factors that rules name
_NAMES = ("n_rows", "n_cols")


class CombinationPolicy(Policy):
    """Base of policies that play combinations of any number of factors; pairs are combinations of two.

    A subclass implements `_begin`.
    """

    decision_kind = "combination"
    supports_forbidden = True
    keeps_each: ClassVar[bool] = False  # counts of each combination, so that there may not be too many

    def start(self, *sizes: int, forbidden: Any = (), **named: int) -> Any:
        """Return the state before the first decision.

        Args:
            sizes: how many levels each factor has; of two factors as ``n_rows=, n_cols=``, too (`named`).
            forbidden: rules, each with one level per factor, -1 where any level will do.
        """
        shape = checked_sizes(sizes, named)
        if len(forbidden) and not self.supports_forbidden:
            got = f"{self.label}, which shows all levels of a factor with the same partners"
            raise InputError("a policy that can leave combinations out", got, "choose 'uts'")
        if self.keeps_each:
            check_kept(np.array(shape), self.name)
        return self._begin(np.array(shape, np.int64), checked_rules(forbidden, shape))

    def _begin(self, sizes: Ints, forbidden: Ints) -> Any:
        """Return the state before the first decision; sizes and rules are right."""
        do = "return the state before the first decision"
        raise InputError(f"a method _begin(sizes, forbidden) of {type(self).__name__}", "none", do)


def checked_sizes(sizes: Sequence[int], named: Mapping[str, int] | None = None) -> tuple[int, ...]:
    """Return the sizes of factors; refuse those that no policy can play.

    >>> checked_sizes([2, 3, 4]), checked_sizes([], {"n_rows": 2, "n_cols": 3})
    ((2, 3, 4), (2, 3))
    """
    named = named or {}
    if named:
        taken = {**dict(zip(_NAMES, sizes, strict=False)), **named}
        if set(taken) != set(_NAMES) or len(sizes) + len(named) != 2:
            got = ", ".join([*map(str, sizes), *named])
            raise InputError("a size for each factor, or n_rows and n_cols", got, "try start(4, 5, 3)")
        sizes = [taken[name] for name in _NAMES]
    names = _NAMES if len(sizes) == 2 else [f"levels of factor {index}" for index in range(len(sizes))]
    result = tuple(whole_number(name, size, example=8) for name, size in zip(names, sizes, strict=True))
    check_combinations(result)
    return result


def checked_rules(forbidden: Any, sizes: Sequence[int]) -> Ints:
    """Return rules as an array, ``(rules, factors)``; refuse those that name no level or leave nothing to show."""
    rules = np.array(forbidden, np.int64).reshape(-1, len(sizes)) if len(forbidden) else np.empty((0, len(sizes)), int)
    for rule in rules.tolist():
        known = all(ANY <= level < size for level, size in zip(rule, sizes, strict=True))
        if not known or max(rule) == ANY:
            expected = f"a level of each factor to forbid, from 0 on or {ANY} for any"
            raise InputError(expected, rule, "name at least one level, within the sizes")
    if len(rules) and first_allowed(np.array(sizes, np.int64), rules) < 0:
        got = f"{len(rules)} that forbid all {math.prod(sizes):,} combinations"
        raise InputError("rules that leave something to show", got, "take one away")
    return np.ascontiguousarray(rules)


def _allowed_of_named(sizes: Ints, rules: Ints) -> Mask:
    """Return whether a combination is allowed, by its levels; of factors that no rule names, by the first level."""
    shape = [size if named else 1 for size, named in zip(sizes.tolist(), (rules != ANY).any(axis=0), strict=True)]
    if math.prod(shape) > _MOST_NAMED:
        got = f"rules on {' x '.join(str(size) for size in shape if size > 1)} levels"
        raise InputError(f"rules on factors of at most {_MOST_NAMED:,} combinations", got, "forbid fewer factors")
    return allowed_table(rules, shape)


def first_allowed(sizes: Ints, rules: Ints) -> int:
    """Return the number of the first combination that no rule forbids, -1 if there is none.

    >>> first_allowed(np.array([2, 2, 9]), np.array([[0, -1, -1], [-1, 0, -1]]))
    27
    """
    result = np.argwhere(_allowed_of_named(sizes, rules))
    return int(np.ravel_multi_index(tuple(result[0]), tuple(sizes.tolist()))) if len(result) else -1


def n_allowed(sizes: Ints, rules: Ints) -> int:
    """Return how many combinations no rule forbids.

    >>> n_allowed(np.array([2, 2, 9]), np.array([[0, 1, -1]]))
    27
    """
    result = _allowed_of_named(sizes, rules)
    return int(result.sum()) * (math.prod(sizes.tolist()) // result.size)


def allowed_mask(sizes: Ints, rules: Ints) -> Mask:
    """Return for each combination, by number, whether no rule forbids it.

    >>> allowed_mask(np.array([2, 2]), np.array([[0, 1]])).tolist()
    [True, False, True, True]
    """
    return np.broadcast_to(_allowed_of_named(sizes, rules), sizes.tolist()).ravel()


def most_kept(sizes: Ints) -> int:
    """Return up to how many combinations counts of all are kept; beyond, only of those shown."""
    return _MOST_PAIRS_KEPT if len(sizes) == 2 else _MOST_KEPT


def check_kept(sizes: Ints, name: str) -> None:
    """Refuse more combinations than a policy can keep that knows each for itself."""
    n, most = math.prod(sizes.tolist()), most_kept(sizes)
    if n > most:
        got = f"{' x '.join(map(str, sizes.tolist()))} = {n:,}"
        do = "choose 'uts', which keeps only what was shown"
        raise InputError(f"at most {most:,} combinations for {name}, which keeps counts of each", got, do)


def combination_view(state: Any, low: Floats, high: Floats, interval: str, **more: Any) -> View | None:
    """Return the view of a policy that counts combinations and eliminates none; None where it keeps only some."""
    if len(getattr(state, "keys", ())):
        return None
    left = np.ones(len(state.pulls), bool) & allowed_mask(state.sizes, state.forbidden)
    about = "pairs" if len(state.sizes) == 2 else "combinations"
    return View(about, state.pulls.copy(), state.clicks.copy(), low, high, left, interval, **more)


def posterior_view(state: Any, **more: Any) -> View | None:
    """Return the view of a Thompson sampler: Beta(clicks + 1, pulls - clicks + 1) of each combination."""
    mean = (state.clicks + 1.0) / (state.pulls + 2.0)
    width = 2.0 * np.sqrt(mean * (1.0 - mean) / (state.pulls + 3.0))
    return combination_view(state, mean - width, mean + width, "posterior mean ± 2 standard deviations", **more)
