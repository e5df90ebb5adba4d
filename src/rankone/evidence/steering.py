"""What a live experiment mixes into a policy's decisions, so that it is decided some day: exploration and a control.

Each decision is a lottery whose probabilities are known. With the share of the control it is the control; of the rest,
the share of exploration is drawn by *product top-two*, and what is left is the policy's own decision.

**Product top-two.** One level is drawn for each factor, independently of the others: half of the time the level that
leads its factor, else one of its challengers, a small part evenly among all that are not called beaten yet. One
decision so serves the comparisons of all factors at once, which is what the product model is for: with K and L levels
it needs up to half the decisions of a rule that compares a leader with one neighbour at a time. Challengers are those
with the least evidence against them, plus half the logarithm of how often they were shown: the rule of top-two sampling
(Shang et al., AISTATS 2020; Jourdan et al., NeurIPS 2022) on the evidence that the verdict is made of
(`rankone.evidence.levels`).

A level is a challenger until the leader is proven to beat it as far as a winner needs. To call it beaten takes more
evidence, as any such call may be wrong: until then it keeps its part of what is spread evenly, so that no level is left
undecided for ever while another factor is a near tie.

The probabilities of levels (`mix`) are renewed now and then (`renew`) and stay as they are in between.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.kernels.policy import chances, decide, withdraw
from rankone.numerics.arrays import Floats, Ints, allowed_table, starts_of

ERROR_RATE = 0.05  # of statements where the experiment does not say
EXPLORED = 2**62  # the tag of a decision that the policy did not make; it is told of its outcome all the same
# Fields of `Steering.shares`.
CONTROL, EXPLORE = range(2)
_EVEN = 0.04  # the part of exploration that goes evenly to all levels
PARTS = 1_000_000  # probabilities of exploration are whole numbers of such parts, so that a journal keeps them exactly
_RARELY = 1e-3  # where exploration would draw something allowed more rarely, it is left out
_LEAST = 1e-6  # a share is not halved below this
SAME = 0.01  # probabilities that differ by less everywhere are not worth an event in the journal


class Aim(NamedTuple):
    """How an experiment explores until there is a verdict."""

    explore: float  # the share of its decisions
    lead: float  # the part of exploration in which a factor has the level that leads
    patience: float  # decisions a level after which the share is halved, and again when there are twice as many


# What an experiment may be for. `python -m benchmarks verdicts` has what each costs.
AIMS = {
    "earn": Aim(explore=0.02, lead=0.5, patience=100.0),
    "both": Aim(explore=0.5, lead=0.6, patience=math.inf),
    "decide": Aim(explore=1.0, lead=0.5, patience=math.inf),
}


def aim_of(name: str, explore: float) -> Aim:
    """Return how an experiment with this aim explores; a share that is not the aim's own never shrinks.

    >>> aim_of("earn", 0.02).patience, aim_of("earn", 0.3)
    (100.0, Aim(explore=0.3, lead=0.5, patience=inf))
    """
    aim = AIMS[name]
    return aim if explore == aim.explore else aim._replace(explore=explore, patience=math.inf)


class Steering(NamedTuple):
    """The lottery of a decision. Levels are those that the policy knows, numbered factor after factor."""

    shares: Floats  # (2,) of the control among all decisions, of exploration among the others
    control: Ints  # (factors,) the control's level of each factor, counted within the factor
    mix: Floats  # (levels,) the probability of each level of a factor where it is explored
    starts: Ints  # (factors + 1,) the first level of each factor, and the number of levels
    own: Ints  # (factors,) scratch space: what the policy decides
    forbidden: Ints  # (rules, factors) a level of each factor, counted within it, -1: any; never shown
    allowed: Floats  # (1,) the probability that exploration draws nothing forbidden; 0: too small to explore at all


def start_steering(
    sizes: tuple[int, ...], explore: float = 0.0, control: Any = None, share: float = 0.0, forbidden: Ints | None = None
) -> Steering:
    """Return a lottery in which exploration is even; `forbidden` are rules as in `Steering`."""
    starts = starts_of(sizes)
    mix = np.concatenate([np.full(size, 1.0 / size) for size in sizes])
    held = np.zeros(len(sizes), np.int64) if control is None else np.array(control, np.int64)
    rules = np.empty((0, len(sizes)), np.int64) if forbidden is None else forbidden
    result = Steering(np.array([share, explore]), held, mix, starts, np.zeros(len(sizes), np.int64), rules, np.ones(1))
    measure_allowed(result)
    return result


def measure_allowed(steering: Steering) -> None:
    """Note how probable it is that exploration draws nothing forbidden, after its probabilities have changed.

    >>> lottery = start_steering((2, 2), forbidden=np.array([[0, 1]]))
    >>> lottery.allowed.tolist()
    [0.75]
    """
    steering.allowed[0] = 1.0
    if len(steering.forbidden):
        mixes = np.split(steering.mix, steering.starts[1:-1])
        named = [factor for factor in range(len(mixes)) if (steering.forbidden[:, factor] >= 0).any()]
        kept = allowed_table(steering.forbidden[:, named], [len(mixes[factor]) for factor in named])
        chance = functools.reduce(np.multiply.outer, [mixes[factor] for factor in named])
        allowed = 1.0 - float(chance[~kept].sum())
        steering.allowed[0] = allowed if allowed >= _RARELY else 0.0


@noalloc
def _is_forbidden(steering: Any, shown: Any, factor: int, level: int) -> bool:
    """Return whether what is shown, with another level of one factor, is forbidden; factor -1: as it is."""
    for rule in range(len(steering.forbidden)):
        fits = True
        for each in range(len(shown)):
            named = steering.forbidden[rule, each]
            fits &= named < 0 or named == (level if each == factor else shown[each])
        if fits:
            return True
    return False


@noalloc
def _exploring(steering: Any) -> float:
    return steering.shares[EXPLORE] if steering.allowed[0] > 0.0 else 0.0


@noalloc
def _draw(mix: Any, first: int, end: int, rng: Any) -> int:
    """Draw a level of a factor; return its place within the factor."""
    left = rng.random()
    for level in range(first, end - 1):
        left -= mix[level]
        if left < 0.0:
            return level - first
    return end - 1 - first


@noalloc
def _weigh_mix(steering: Any, shown: Any, factor: int, level: int) -> float:
    """Return the probability that exploration draws what is shown with another level of one factor."""
    product = 1.0
    for each in range(len(shown)):
        product *= steering.mix[steering.starts[each] + (level if each == factor else shown[each])]
    return product


@noalloc
def _is_control(steering: Any, shown: Any, factor: int, level: int) -> bool:
    for each in range(len(shown)):  # noqa: SIM110 - no generators in compiled code
        if steering.control[each] != (level if each == factor else shown[each]):
            return False
    return True


@noalloc
def steered_chances(state: Any, steering: Any, shown: Any, cross: Any) -> bool:
    """Fill in, for each level of each factor, the probability of what is shown with that level instead.

    Return False, and fill in nothing that can be used, where the policy cannot say.
    """
    own = 1.0 - steering.shares[CONTROL] - (1.0 - steering.shares[CONTROL]) * _exploring(steering)
    if own > 0.0 and not chances(state, shown, cross):
        return False
    _add_steered(steering, shown, own if own > 0.0 else 0.0, cross)
    return True


@noalloc
def _add_steered(steering: Any, shown: Any, own: float, cross: Any) -> None:
    """Turn the policy's own probabilities, of which the share `own` is left, into those of all decisions."""
    control, explore = steering.shares[CONTROL], (1.0 - steering.shares[CONTROL]) * _exploring(steering)
    for factor in range(len(shown)):
        first = steering.starts[factor]
        for level in range(first, steering.starts[factor + 1]):
            chance = own * cross[level] if own > 0.0 else 0.0
            if explore > 0.0 and not _is_forbidden(steering, shown, factor, level - first):
                chance += explore * _weigh_mix(steering, shown, factor, level - first) / steering.allowed[0]
            if control > 0.0 and _is_control(steering, shown, factor, level - first):
                chance += control
            cross[level] = chance


@noalloc
def steered_decide(state: Any, steering: Any, context: Any, rng: Any, shown: Any, cross: Any) -> int:
    """Fill in what to show and the probabilities of its cross (-1: not known); return the tag.

    The policy decides in any case: what it would have done has the same law whether or not it is done. Where the policy
    cannot say its probabilities, those of a decision that it did not make are given by the lottery alone: whether it is
    one of these is drawn before, and independently of the visitor.
    """
    own, tag = steering.own, decide(state, context, rng, steering.own)
    for factor in range(len(shown)):
        shown[factor] = own[factor]
    control = steering.shares[CONTROL]
    steered = control + (1.0 - control) * _exploring(steering)
    drawn = rng.random() if steered > 0.0 else 1.0  # a policy that runs alone draws as it does in studies
    overruled = drawn < steered
    if drawn < control:
        for factor in range(len(shown)):
            shown[factor] = steering.control[factor]
    elif overruled:
        again = True
        while again:
            for factor in range(len(shown)):
                shown[factor] = _draw(steering.mix, steering.starts[factor], steering.starts[factor + 1], rng)
            again = _is_forbidden(steering, shown, -1, 0)
    if len(cross) > 0 and not steered_chances(state, steering, shown, cross):
        if overruled:
            _add_steered(steering, shown, 0.0, cross)
        else:
            cross[0] = -1.0
    if overruled:
        withdraw(state, own, tag)
        tag = EXPLORED
    return tag


@noalloc
def _beats_all(proof: Any, levels: Any, first: int, end: int, level: int, bar: float) -> bool:
    for other in range(first, end):  # noqa: SIM110
        if other != level and proof[levels[level], levels[other]] < bar:
            return False
    return True


@noalloc
def _lead(evidence: Any, levels: Any, first: int, end: int, level: int) -> float:
    """Return how far a level is ahead of the one that comes closest to it."""
    least = math.inf
    for other in range(first, end):
        if other != level:
            x, y = levels[level], levels[other]
            ahead = evidence.now[x, y] - evidence.now[y, x]
            least = ahead if ahead < least else least
    return least


@noalloc
def _plan(
    evidence: Any,
    levels: Ints,
    starts: Ints,
    shown: Floats,
    bar: float,
    beaten: float,
    lead: float,
    mix: Floats,
    leaders: Ints,
) -> bool:
    """Fill in the probabilities of exploration and who leads; return whether all factors are decided."""
    won = settled = True  # each factor by proof that its leader is the best, by proof that it is good enough
    margin = evidence.margin_ratio[0] >= 0
    proof = evidence.enough if margin else evidence.proof
    for factor in range(len(starts) - 1):
        first, end = starts[factor], starts[factor + 1]
        leader, most, first_rank = first, -math.inf, 0
        for level in range(first, end):
            ahead = _lead(evidence, levels, first, end, level)
            rank = 1 if _beats_all(proof, levels, first, end, level, bar) else 0
            rank = 2 if _beats_all(evidence.proof, levels, first, end, level, bar) else rank
            if rank > first_rank or (rank == first_rank and ahead > most):
                leader, most, first_rank = level, ahead, rank
        leaders[factor] = leader
        won &= first_rank == 2
        settled &= _beats_all(proof, levels, first, end, leader, bar)
        least, racing, waiting = math.inf, 0, 0
        for level in range(first, end):
            mix[level] = math.inf  # of the leader, and of those that it is proven to beat
            against = proof[levels[leader], levels[level]]
            if level != leader and against < bar:
                racing += 1
                mix[level] = against + 0.5 * math.log(1.0 + shown[level])
                least = mix[level] if mix[level] < least else least
            elif level != leader and not margin and against < beaten:
                waiting += 1
                mix[level] = -1.0
        total = 0.0
        for level in range(first, end):
            if mix[level] >= 0.0:
                mix[level] = 0.0 if mix[level] == math.inf else math.exp(least - mix[level])
                total += mix[level]
        evenly = (1.0 - lead) * _EVEN / max(1, racing + waiting)
        left = 1.0
        for level in range(first, end):
            if mix[level] > 0.0:
                mix[level] = (1.0 - lead) * (1.0 - _EVEN) * mix[level] / total + evenly
            elif mix[level] < 0.0:
                mix[level] = evenly
            left -= mix[level]
        mix[leader] = lead if racing > 0 else left
    return won or settled


@noalloc
def round_parts(mix: Floats, first: int, end: int) -> None:
    """Round the probabilities of a factor to whole parts; what is left goes to the largest."""
    largest, left = first, 1.0 * PARTS
    for level in range(first, end):
        mix[level] = math.floor(mix[level])
        largest = level if mix[level] > mix[largest] else largest
        left -= mix[level]
    mix[largest] += left


def renew(
    evidence: Any,
    levels: Ints,
    steering: Any,
    shown: Floats,
    bar: float,
    beaten: float,
    aim: Any,
    mix: Floats,
    leaders: Ints,
) -> tuple[bool, float, bool]:
    """Fill in the mix that fits by now, in whole parts.

    Returns whether that is worth a change, the share that explores from here on, and whether all is decided.

    Once all is decided nothing is explored any more. What is proven stays proven, but for clicks that come too late to
    count: where they contradict it, exploration begins again. With a margin, "good enough" is what is explored for; a
    winner that is proven before that decides as well.

    Args:
        evidence: about all levels there ever were.
        levels: the number there of each living level.
        steering: how decisions are drawn.
        shown: how often each living level was shown.
        bar: the log evidence that decides.
        beaten: the log evidence from which on a level is called beaten.
        aim: how it explores until there is a verdict.
        mix: the probabilities, to be filled in.
        leaders: the living level that leads each factor, to be filled in.
    """
    decided = _plan(evidence, levels, steering.starts, shown, bar, beaten, aim.lead, mix, leaders)
    for rule in range(len(steering.forbidden)):  # what is best of each may be forbidden together: then it goes on
        fits = True
        for factor in range(len(leaders)):
            named = steering.forbidden[rule, factor]
            fits &= named < 0 or named == leaders[factor] - steering.starts[factor]
        decided &= not fits
    share, differs = 0.0 if decided else aim.explore, False
    decisions = 0.0
    for level in range(steering.starts[1]):
        decisions += shown[level]
    while share > _LEAST and decisions >= aim.patience * len(mix):
        share, decisions = share / 2.0, decisions / 2.0
    for level in range(len(mix)):
        differs |= abs(mix[level] - steering.mix[level]) >= SAME
    for factor in range(len(leaders)):
        for level in range(steering.starts[factor], steering.starts[factor + 1]):
            mix[level] *= PARTS
        round_parts(mix, steering.starts[factor], steering.starts[factor + 1])
    if decided and steering.shares[EXPLORE] == 0.0:
        return False, share, decided
    return differs or share != steering.shares[EXPLORE], share, decided


def comparisons(sizes: Any) -> int:
    """Return how many ordered pairs of levels can be compared; that any of them is wrong, they share the error.

    >>> comparisons((2, 3))
    8
    """
    return sum(int(size) * (int(size) - 1) for size in sizes)


def margin_ratio_of_each(margin: float, n_factors: int) -> float:
    """Return what each factor may lose so that all of them together lose at most the margin.

    >>> round(margin_ratio_of_each(0.21, n_factors=2), 6)
    1.1
    """
    return math.sqrt(1.0 + margin) if n_factors == 2 else (1.0 + margin) ** (1.0 / n_factors)


def look_due(before: int, after: int) -> bool:
    """Return whether to look for a winner when the outcomes that count grow from `before` to `after`.

    Now and then is enough, and costs less: every 20 outcomes, from 4,000 on with every half to one percent more. That
    depends on the outcomes alone, so that a restart changes nothing.

    >>> look_due(19, 20), look_due(20, 39), look_due(20, 2000), look_due(100_000, 100_100), look_due(100_000, 101_000)
    (True, False, True, False, True)
    """
    step, size = 20, after
    while size >= 4000:
        step, size = step * 2, size // 2
    return before // step < after // step
