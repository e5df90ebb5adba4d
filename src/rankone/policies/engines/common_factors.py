"""A step of unimodal Thompson sampling in which the *common* factors, a bit for each, are set as in another
combination.

Of the others the leader is found uphill from the combination that leads at all, with the common levels, to the best
mean among those that differ in one factor which is not common. Then every gamma-th time the leader is chosen, else the
largest draw of the leader and these neighbours (`uts.py`).
"""

from typing import Any

from rankone.compiling.compiled import inlined, noalloc
from rankone.numerics.betas.beta import draw_beta
from rankone.policies.engines.combinations import add_chance, is_forbidden
from rankone.policies.engines.draw_chances import add_winner_of, counts_of
from rankone.policies.engines.unimodal import LEADER_CHAMPION, mean_at


@noalloc
def top_of(state: Any) -> int:
    """Return a combination with the best empirical mean; the champion, if it has that."""
    champion, best, node = state.counters[LEADER_CHAMPION], state.best, 1
    if mean_at(state, champion) >= best[1]:
        return champion
    while node < len(best) >> 1:
        node = 2 * node + (best[2 * node + 1] > best[2 * node])
    return node - (len(best) >> 1)


@noalloc
def level_of(sizes: Any, number: int, factor: int) -> int:
    """Return the level of a factor in a combination."""
    for last in range(len(sizes) - 1, factor, -1):
        number //= sizes[last]
    return number % sizes[factor]


@noalloc
def with_common(sizes: Any, number: int, like: int, common: int) -> int:
    """Return a combination with the levels of another one in the common factors."""
    result, stride = 0, 1
    for factor in range(len(sizes) - 1, -1, -1):
        whose = like if (common >> factor) & 1 else number
        result += (whose // stride) % sizes[factor] * stride
        stride *= sizes[factor]
    return result


@noalloc
def gather_near(state: Any, centre: int, common: int, near: Any) -> int:
    """Fill in what differs from a combination in one factor that is not common, and then the combination itself;
    return how many there are before it."""
    sizes, count, stride = state.sizes, 0, 1
    for factor in range(len(sizes) - 1, -1, -1):
        own = (centre // stride) % sizes[factor]
        for level in range(sizes[factor]):
            combination = centre + (level - own) * stride
            if not ((common >> factor) & 1 or level == own or is_forbidden(sizes, state.forbidden, combination)):
                near[count] = combination
                count += 1
        stride *= sizes[factor]
    near[count] = centre
    return count


@noalloc
def lead_with(state: Any, like: int, common: int, near: Any) -> tuple[int, int]:
    """Return who leads with the common levels, and how many others are near, which are filled in."""
    leader = with_common(state.sizes, top_of(state), like, common)
    while True:
        count, best = gather_near(state, leader, common, near), leader
        for index in range(count):
            if mean_at(state, near[index]) > mean_at(state, best):
                best = near[index]
        if best == leader:
            return leader, count
        leader = best


@noalloc
def draw_near(state: Any, leader: int, near: Any, count: int, rng: Any) -> int:
    """Return the largest draw of the leader and those near it."""
    winner, largest = leader, draw_beta(state.pulls[leader], state.clicks[leader], rng)
    for index in range(count):
        draw = draw_beta(state.pulls[near[index]], state.clicks[near[index]], rng)
        if draw > largest:
            winner, largest = near[index], draw
    return winner


@inlined
def near_chances(state: Any, leader: int, common: int, near: Any, forced: float, shown: Any, cross: Any) -> None:
    """Fill in the probabilities of such a step, the leader being forced with this one."""
    cross[:] = 0.0
    add_chance(state.sizes, shown, cross, leader, forced)
    if forced < 1.0:
        count = gather_near(state, leader, common, near)
        add_winner_of(near, count + 1, counts_of(state), 1.0 - forced, 0.0, 0, False, shown, cross)
