"""What a policy must answer: the whole contract, dispatched on the type of its state.

A policy is a frozen dataclass of parameters (`rankone.policies.base.Policy`); ``policy.start(*shape)`` returns its
state, a NamedTuple of arrays (shapes, and what is shown and comes of it: `rankone.kernels.decision`). The kernels are
plain functions registered for the class of the state (``@decide.register(MyState)``, `rankone.compiling.dispatch`).

Every policy registers `decide` and `learn`, and one whose levels may come and go in a live experiment `relearn`; all
others are optional. The context is an array of numbers known before the decision. A policy that looks at it says
``uses_context = True``.

Verdicts of live experiments rest on the probabilities of decisions: `chance` or `chances` say them. Both are asked
right after `decide`, before anything is learned, and answer for what was known *before* it: a `decide` that changes the
state keeps what they need (which pair led, for example). Their answer follows from the state alone, bit for bit. An
order that was drawn ahead counts as known only as far as it has been shown.

A negative tag marks a filler: a decision whose outcome the policy does not learn from.

Kernels of a step are inlined into the loop that plays and count no references to the state's arrays, so they cannot
make arrays: keep scratch space in the state, or call a helper declared with `rankone.compiling.compiled.kernel`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.dispatch import derived, dispatched, optional
from rankone.errors import InputError
from rankone.numerics.arrays import Floats, Ints, Mask

FILLER = -1  # the tag of a decision that teaches nothing
ANY_NUMBER = np.iinfo(np.int64).max


@dispatched
def decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    """Fill in what to show; return the tag, which files the outcome, however late."""
    raise NotImplementedError


@dispatched
def learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    """Learn what came of a decision; in any order."""


@optional
def withdraw(state: Any, shown: Any, tag: int) -> None:
    """Note that what was shown will never have an outcome."""


@optional
def settled(state: Any) -> bool:
    """Tell whether the choice can never change again."""
    return False


@optional
def syncs(state: Any) -> int:
    """Return how often outcomes were taken in so far; -1 if at every decision. Asked after a run, from Python only."""
    return -1


@optional
def room(state: Any) -> int:
    """Return how many more outcomes fit into the state, where not all combinations are counted: then it must grow."""
    return ANY_NUMBER


@optional
def grown(state: Any, more: int) -> Any:
    """Return the state with room for so many more outcomes; from Python only."""
    return state


def with_room(state: Any, more: int) -> Any:
    """Return a state that can take so many outcomes in: the same, or one that has grown. From Python only."""
    return state if room(state) >= more else grown(state, more)


@optional
def prepare(state: Any, rng: Any) -> None:
    """Lay out a state that has just started, where the first `decide` would: `relearn` comes next."""


@optional
def relearn(state: Any, shown: Any, pulls: int, clicks: int) -> None:
    """Take in outcomes of what was shown before the policy (re)started; their tags are not known any more."""
    raise NotImplementedError  # `check_relearns` is asked first


@optional
def set_context(state: Any, context: Any) -> None:
    """Note whose outcomes `relearn` is about to bring: the context of their decisions."""


def check_relearns(state_class: type) -> None:
    """Refuse a state that cannot start afresh on what is known, as in a live experiment whose levels come and go."""
    if not relearn.has(state_class):
        kind = state_class.__name__
        raise InputError(f"a kernel 'relearn' for the state {kind}", "none", f"register one: @relearn.register({kind})")


@dispatched
def chance(state: Any, shown: Any) -> float:
    """Return the probability with which the last decision was made so, given all that was known before it."""
    raise NotImplementedError


def _chance_of_each(state: Any, shown: Any, cross: Any) -> bool:
    first = 0
    for factor in range(len(shown)):
        own = shown[factor]
        for level in range(state.sizes[factor]):
            shown[factor] = level
            cross[first + level] = chance(state, shown)
        shown[factor] = own
        first += state.sizes[factor]
    return True


def _no_chances(state: Any, shown: Any, cross: Any) -> bool:
    return False


def _default_of_chances(state_class: type) -> Callable[[Any, Any, Any], bool]:
    known = chance.has(state_class) and "sizes" in getattr(state_class, "_fields", ())
    return _chance_of_each if known else _no_chances


@derived(_default_of_chances)
def chances(state: Any, shown: Any, cross: Any) -> bool:
    """Fill in, for each level of each factor (rows, then columns), the probability of `shown` with that level instead.

    False: the policy cannot say. By default `chance` of each, if the state has a field `sizes`, those of the factors.
    """
    return False


def has_chances(state_class: type) -> bool:
    """Tell whether a policy with such a state can say how probable its decisions are.

    >>> from rankone import as_policy
    >>> has_chances(type(as_policy("uts").start(2, 2))), has_chances(type(as_policy("glm-thompson").start(2, 2)))
    (True, False)
    """
    return chances.has(state_class) or _default_of_chances(state_class) is not _no_chances


class Belief(NamedTuple):
    """What a policy on lists draws from: blocks in order, and in each block the items with the largest draws first.

    An item draws from the posterior of its attraction (`rankone.numerics.betas.product_posterior`). No data in a block:
    it is shuffled. A block of one item: it stands where it stands.
    """

    blocks: Ints  # (L,) the number of the item's block
    clicks: Floats  # (L,)
    misses: Floats  # (L, R) displays without a click at each rate
    rates: Floats  # (R,) with which the attraction was multiplied; a Beta is the case of one rate, 1
    positions: Ints  # (K,) the position of the first item of this order, of the second, ...
    tag: int = 0  # of lists drawn from it, which `learn` gets back


@optional
def believe(state: Any, rng: Any) -> Belief | None:
    """Return what the next lists are drawn from, with known probabilities; None: the policy cannot say.

    From Python only. A policy with this kernel learns from any list, also a shorter one, and skips a position of which
    `shown` is -1: it was not seen, or its item is not the policy's to choose.
    """
    return None


@optional
def defeats(state: Any, n_levels: int) -> Ints:
    """Return for each level the level that eliminated it; a level still in the race points at itself."""
    return np.arange(n_levels)


@optional
def adopt(state: Any, defeated_by: Ints) -> None:
    """Start with the eliminations of an earlier state, where `defeats` is registered."""


class View(NamedTuple):
    """Beliefs about levels (factor by factor: rows 0 to K - 1, then columns), or about combinations.

    Combinations are in order, the last factor fastest: a pair is ``row * n_cols + col``.
    """

    about: str  # "levels", "pairs", "combinations" (of other than two factors)
    pulls: Ints  # outcomes that the belief rests on
    clicks: Ints
    low: Floats  # not a number where the policy has no such bound
    high: Floats
    left: Mask  # not eliminated
    interval: str  # what low and high are; empty if there is neither
    leader: int = -1  # the pair or combination that leads, if the policy has a leader
    score: Floats | None = None  # what the choice goes by, the largest first, where that is not `high`
    scored_by: str = ""


@optional
def view(state: Any) -> View | None:
    """Return what a policy believes; None: it does not say.

    >>> from rankone import as_policy
    >>> found = view(as_policy("rank1elim-kl:horizon=1000").start(2, 3))
    >>> found.about, found.high.tolist()
    ('levels', [1.0, 1.0, 1.0, 1.0, 1.0])
    """
    return None


class Presumed(NamedTuple):
    """What a policy presumes of one visitor."""

    scores: Floats  # what it expects of each combination shown to them, as drawn or bounded
    group: str = ""  # whom it counts them among, in words


@optional
def presume(state: Any, context: Any) -> Presumed | None:
    """Return what a policy presumes of the visitor for whom it has just decided; None: it tells nobody apart."""
    return None


class Race(NamedTuple):
    """The stage (from 0), and which levels of each factor are not eliminated."""

    stage: int
    left: tuple[Mask, ...]  # a mask for each factor


@optional
def race(state: Any) -> Race | None:
    """Return who is still in the race; None: the policy eliminates nothing.

    >>> from rankone import as_policy
    >>> race(as_policy("rank1elim-kl:horizon=1000").start(2, 3))
    Race(stage=0, left=(array([ True,  True]), array([ True,  True,  True])))
    """
    return None
