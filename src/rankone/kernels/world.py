"""What a world must answer: the whole contract, dispatched on the type of the world.

A problem gives its world as a policy gives its state: ``problem.start()`` returns a NamedTuple of arrays, for whose
class the kernels are registered (``@respond.register(MyWorld)``). `rankone.kernels.decision` says what is shown.

Every world registers `respond` and `loss`. `move` and `observe` are the only places where a world changes, or notes
which visitor it has before it. A world that registers neither is *steady*: what a decision loses never changes, so that
the loop may stop playing a policy whose choice never changes either. Nobody has to say so, and nobody can forget to.

Like all kernels of a step they count no references, so they cannot make arrays.
"""

from typing import Any

from rankone.compiling.dispatch import derived, dispatched, optional


@dispatched
def respond(world: Any, shown: Any, outcome: Any, rng: Any) -> bool:
    """Fill in the outcome of what is shown; return False where it will never be observed."""
    raise NotImplementedError


@dispatched
def loss(world: Any, shown: Any) -> float:
    """Return how much less than the best decision now this one earns on average."""
    raise NotImplementedError


@optional
def move(world: Any, step: int, rng: Any) -> None:
    """Change the world before decision `step`, counted from 0."""


@optional
def observe(world: Any, step: int, rng: Any, context: Any) -> None:
    """Fill in what a policy may know of the visitor before decision `step`."""


_MOVES, _STAYS = (lambda world: False), (lambda world: True)


@derived(lambda world_class: _MOVES if move.has(world_class) or observe.has(world_class) else _STAYS)
def steady(world: Any) -> bool:
    """Tell whether the loss of a decision never changes. Read off the other kernels: there is nothing to register."""
    raise NotImplementedError
