"""Combinations as numbers: what is shown, its neighbours, and which of them may not be shown.

The number of a combination counts in mixed radix, the last factor fastest: pair (row, col) is ``row * n_cols + col``.
Its *cross* are the combinations that differ from it in one factor: first those with another level of the last factor.

A rule forbids combinations: one level per factor, -1 where any level will do. Where both single changes that lead to a
double change are forbidden, it counts as a neighbour, too; all neighbours that may be shown are what a combination
*reaches*.
"""

from typing import Any

from rankone.compiling.compiled import inlined, noalloc
from rankone.compiling.dispatch import dispatched
from rankone.kernels.policy import learn, relearn
from rankone.numerics.arrays import Ints

ANY = -1  # level of a rule


@inlined
def number_of(sizes: Ints, shown: Any) -> int:
    """Return the number of a combination."""
    if len(sizes) == 2:  # the loop below costs more than a pair
        return shown[0] * sizes[1] + shown[1]
    number = shown[0]
    for factor in range(1, len(sizes)):
        number = number * sizes[factor] + shown[factor]
    return number


@inlined
def write_levels(sizes: Ints, number: int, shown: Any) -> None:
    """Fill in the levels of a combination."""
    if len(sizes) == 2:  # as above
        shown[0] = number // sizes[1]
        shown[1] = number - shown[0] * sizes[1]
        return
    for factor in range(len(sizes) - 1, 0, -1):
        rest = number // sizes[factor]
        shown[factor] = number - rest * sizes[factor]
        number = rest
    shown[0] = number


@dispatched
def record_outcome(state: Any, combination: int, clicked: int) -> None:
    """Learn one outcome of a combination, by its number; for states of which `learns_combinations` is called."""
    raise NotImplementedError


def learns_combinations(state_class: type) -> None:
    """Register `learn`, and `relearn` one outcome after the other, for a state that registers `record_outcome`."""
    learn.register(state_class)(learn_combination)
    relearn.register(state_class)(relearn_combination)


def learn_combination(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    """`learn` by the number of the combination, whatever the tag is."""
    record_outcome(state, number_of(state.sizes, shown), outcome[0])


def relearn_combination(state: Any, shown: Any, pulls: int, clicks: int) -> None:
    """`relearn` one outcome after the other, clicks first."""
    combination = number_of(state.sizes, shown)
    for outcome in range(pulls):
        record_outcome(state, combination, 1 if outcome < clicks else 0)


@noalloc
def cross_size(sizes: Ints) -> int:
    """Return how many combinations are on a cross."""
    size = -len(sizes)
    for factor in range(len(sizes)):
        size += sizes[factor]
    return size


@noalloc
def on_cross(sizes: Ints, centre: int, index: int) -> int:
    """Return the combination at a place, from 0, of a cross."""
    if len(sizes) == 2:  # as above
        n_cols = sizes[1]
        row = centre // n_cols
        col = centre - row * n_cols
        if index < n_cols - 1:
            return centre - col + index + (index >= col)
        index -= n_cols - 1
        return (index + (index >= row)) * n_cols + col
    rest, stride = centre, 1
    for factor in range(len(sizes) - 1, -1, -1):
        size = sizes[factor]
        above = rest // size
        own = rest - above * size
        if index < size - 1:
            return centre + (index + (index >= own) - own) * stride
        index -= size - 1
        rest, stride = above, stride * size
    return centre


@noalloc
def position_on_cross(sizes: Ints, centre: int, number: int) -> int:
    """Return the place of a combination on a cross, -1 if it is not there."""
    if len(sizes) == 2:  # as above
        n_cols = sizes[1]
        row, own_row = number // n_cols, centre // n_cols
        col, own_col = number - row * n_cols, centre - own_row * n_cols
        if row == own_row:
            return col - (col > own_col) if col != own_col else -1
        return n_cols - 1 + row - (row > own_row) if col == own_col else -1
    result, before = -1, 0
    for factor in range(len(sizes) - 1, -1, -1):
        size = sizes[factor]
        above, centre_above = number // size, centre // size
        level, own = number - above * size, centre - centre_above * size
        if level != own:
            if result >= 0:
                return -1
            result = before + level - (level > own)
        before += size - 1
        number, centre = above, centre_above
    return result


@noalloc
def is_forbidden(sizes: Ints, rules: Ints, number: int) -> bool:
    """Tell whether a rule forbids a combination."""
    for rule in range(len(rules)):
        rest, held = number, True
        for factor in range(len(sizes) - 1, -1, -1):
            above = rest // sizes[factor]
            held &= rules[rule, factor] in (ANY, rest - above * sizes[factor])
            rest = above
        if held:
            return True
    return False


@inlined
def may_show(state: Any, number: int) -> bool:
    """Tell whether no rule of a state forbids a combination."""
    return len(state.forbidden) == 0 or not is_forbidden(state.sizes, state.forbidden, number)


@noalloc
def _same_factor(sizes: Ints, index: int, other: int) -> bool:
    """Tell whether two places of a cross, the smaller first, change the same factor."""
    for factor in range(len(sizes) - 1, -1, -1):
        if index < sizes[factor] - 1:
            return other < sizes[factor] - 1
        index -= sizes[factor] - 1
        other -= sizes[factor] - 1
    return False


@noalloc
def gather_reach(sizes: Ints, rules: Ints, centre: int, reach: Ints) -> int:
    """Fill in what a combination reaches; return how many that are. Places that are forbidden wait at the far end."""
    count, waiting, stride = 0, 0, 1
    for factor in range(len(sizes) - 1, -1, -1):
        own = (centre // stride) % sizes[factor]
        for level in range(sizes[factor]):
            number = centre + (level - own) * stride
            if level == own:
                continue
            if len(rules) > 0 and is_forbidden(sizes, rules, number):
                waiting += 1
                reach[len(reach) - waiting] = count + waiting - 1
            else:
                reach[count] = number
                count += 1
        stride *= sizes[factor]
    for one in range(waiting):
        for other in range(one + 1, waiting):
            first, second = reach[len(reach) - 1 - one], reach[len(reach) - 1 - other]
            if not _same_factor(sizes, first, second):
                both = on_cross(sizes, centre, first) + on_cross(sizes, centre, second) - centre
                if not is_forbidden(sizes, rules, both):
                    reach[count] = both
                    count += 1
    return count


def room_to_reach(sizes: Ints, rules: Ints) -> int:
    """Return how many combinations one can reach at the most, with room to work in."""
    named = len({(factor, int(level)) for factor in range(len(sizes)) for level in rules[:, factor] if level != ANY})
    return int((sizes - 1).sum()) + named * (named + 1) // 2


@noalloc
def count_changes(sizes: Ints, shown: Any, number: int) -> int:
    """Return in how many factors a combination differs from the one shown."""
    changed = 0
    for factor in range(len(sizes) - 1, -1, -1):
        rest = number // sizes[factor]
        changed += number - rest * sizes[factor] != shown[factor]
        number = rest
    return changed


@noalloc
def is_asked_for(sizes: Ints, shown: Any, number: int) -> bool:
    """Tell whether `chances` is asked for a combination: it differs from the one shown in one factor at most."""
    return count_changes(sizes, shown, number) <= 1


@noalloc
def add_chance(sizes: Ints, shown: Any, cross: Any, number: int, chance: float) -> None:
    """Add to the probability of a combination, wherever `chances` is asked for it."""
    changed, index, first = 0, -1, len(cross)
    for factor in range(len(sizes) - 1, -1, -1):
        rest = number // sizes[factor]
        level = number - rest * sizes[factor]
        first -= sizes[factor]
        if level != shown[factor]:
            changed += 1
            index = first + level
        number = rest
    if changed == 1:
        cross[index] += chance
    elif changed == 0:
        first = 0
        for factor in range(len(sizes)):
            cross[first + shown[factor]] += chance
            first += sizes[factor]
