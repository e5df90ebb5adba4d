"""What visitors of a combination do: a click rate of one part a factor, and of parts that two factors have together.

On the scale "product" parts are multiplied, on the others they are added: as they are ("additive"), or as log odds
("logit").
"""

import math
from typing import Any, Literal, NamedTuple

from rankone.compiling.compiled import inlined
from rankone.kernels.world import loss, respond
from rankone.numerics.arrays import Floats, Ints

Scale = Literal["product", "additive", "logit"]
SCALES: tuple[Scale, ...] = ("product", "additive", "logit")


class ProductWorld(NamedTuple):
    """Parts of the click rate of a combination."""

    parts: Floats  # (levels of all factors,)
    first: Ints  # (D,) where the parts of each factor begin
    together: Ints  # (pairs of factors, 4) the two factors, where their parts begin, levels of the second
    shared: Floats  # the parts that two factors have together
    base: Floats  # (2,) what a combination has without any part; the rate of the best combination
    scale: Ints  # (1,) index in `SCALES`


@inlined
def rate_of(world: ProductWorld, shown: Any) -> float:
    """Return the click rate of a combination."""
    rate, multiplied = world.base[0], world.scale[0] == 0
    for factor in range(len(shown)):
        part = world.parts[world.first[factor] + shown[factor]]
        rate = rate * part if multiplied else rate + part
    for pair in range(len(world.together)):
        one, other = shown[world.together[pair, 0]], shown[world.together[pair, 1]]
        part = world.shared[world.together[pair, 2] + one * world.together[pair, 3] + other]
        rate = rate * part if multiplied else rate + part
    return 1.0 / (1.0 + math.exp(-rate)) if world.scale[0] == 2 else rate


@respond.register(ProductWorld)
def _respond(world: ProductWorld, shown: Any, outcome: Any, rng: Any) -> bool:
    rate = rate_of(world, shown)
    outcome[0] = 1 if rng.random() < rate else 0
    return True


@loss.register(ProductWorld)
def _loss(world: ProductWorld, shown: Any) -> float:
    return world.base[1] - rate_of(world, shown)


class RankOneWorld(NamedTuple):
    """The same of two factors, rows and columns, whose probabilities are multiplied: what the paper plays on."""

    rows: Floats  # (K,)
    cols: Floats  # (L,)
    best: Floats  # (1,) click probability of the best pair


@respond.register(RankOneWorld)
def _respond_to_pair(world: RankOneWorld, shown: Any, outcome: Any, rng: Any) -> bool:
    rate = world.rows[shown[0]] * world.cols[shown[1]]  # before the draw, which the compiler takes to change anything
    outcome[0] = 1 if rng.random() < rate else 0
    return True


@loss.register(RankOneWorld)
def _loss_of_pair(world: RankOneWorld, shown: Any) -> float:
    return world.best[0] - world.rows[shown[0]] * world.cols[shown[1]]
