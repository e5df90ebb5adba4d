"""The sentences of an explanation: one for each kind of frame, for any number of factors."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np

from rankone.kernels.policy import Race, View
from rankone.numerics.arrays import starts_of
from rankone.policies import Policy
from rankone.problems import Product
from rankone.specs import amount
from rankone.wording.combinations import UNNAMED, combination_text
from rankone.wording.lists import listed
from rankone.wording.numbers import percent

Combination = tuple[int, ...]

_SHOWN = 0.005  # of the decisions: a smaller share would be said to be 0%
_WORDS = dict(zip(UNNAMED, ("row", "column"), strict=True))


class Gone:
    """Who leaves the race between two moments: levels, and combinations of levels that stay."""

    def __init__(self, problem: Product, was: Race, now: Race, others: int) -> None:
        levels = [
            _level(problem, factor, level)
            for factor, (before, after) in enumerate(zip(was.left, now.left, strict=True))
            for level in np.flatnonzero(before & ~after).tolist()
        ]
        self.size = len(levels) + others
        self.names = levels + [amount(others, "more " * bool(levels) + thing(problem))] * bool(others)

    def __len__(self) -> int:
        return self.size


def combinations(standing: Race) -> int:
    """How many combinations the levels make that are left."""
    return math.prod(int(own.sum()) for own in standing.left)


def thing(problem: Product) -> str:
    """What a combination is called."""
    return {1: "level", 2: "pair"}.get(len(problem.shape), "combination")


def named(problem: Product, levels: Combination) -> str:
    """Name a combination."""
    each = zip(problem.level_names.items(), levels, strict=True)
    return combination_text({factor: names[level] for (factor, names), level in each})


def factor_words(problem: Product) -> list[str]:
    """What factors are called where several of their levels are spoken of."""
    return [f"{_WORDS[factor]}s" if _unnamed(problem) else factor for factor in problem.factors]


def sizes(problem: Product) -> str:
    """Factors, and how many levels they have."""
    if _unnamed(problem):
        return " x ".join(amount(size, word) for size, word in zip(problem.shape, _WORDS.values(), strict=True))
    return " x ".join(f"{factor} ({size})" for factor, size in zip(problem.factors, problem.shape, strict=True))


def start(problem: Product, policy: Policy, horizon: int) -> str:
    """Before the first decision."""
    changes = sum(problem.shape) - len(problem.shape)
    several = " There may be combinations that no single change makes better, and that are not best."
    return (
        f"{sizes(problem)}: {amount(problem.n_combinations, thing(problem))}, and {amount(changes, 'single change')} "
        f"of any one of them. The best is {named(problem, problem.best_decision())} with a click rate of "
        f"{problem.best_mean:.3g}; {policy.name} does not know that, and has {amount(horizon, 'decision')} to find out."
    ) + several * (problem.peaks != 1)


def swept(problem: Product, shown: Combination, factor: int, sweep: int, clicked: bool) -> str:
    """One decision of a sweep."""
    partners = [_level(problem, other, level) for other, level in enumerate(shown) if other != factor]
    drawn, them = ("is", "it") if len(partners) == 1 else ("are", "them")
    return (
        f"Sweep {sweep:,} over {factor_words(problem)[factor]}: {listed(partners)} {drawn} drawn for all of these. "
        f"Now {_level(problem, factor, shown[factor])} is shown with {them}: {_outcome(clicked)}."
    )


def decided(problem: Product, shown: Combination, leader: Combination | None, clicked: bool) -> str:
    """One decision about a combination."""
    who = "Shown"
    if shown == leader:
        who = "The leader is shown"
    elif leader is not None and sum(own != other for own, other in zip(shown, leader, strict=True)) == 1:
        who = f"One change away from the leader {named(problem, leader)}"
    return f"{who}: {named(problem, shown)}, {_outcome(clicked)}."


def stretch(problem: Product, before: int, step: int, fresh: Counter[Combination]) -> str:
    """Many decisions at once: who got them."""
    total = step - before
    most = [(combination, count / total) for combination, count in fresh.most_common(3) if count >= _SHOWN * total]
    shares = [f"{named(problem, combination)} {percent(share, 2)}" for combination, share in most]
    others = 1.0 - sum(share for _, share in most)
    rest = f", all others {percent(others, 2)}" if others >= _SHOWN else ""
    many = f"Decisions {before + 1:,} to {step:,}" if total > 1 else f"Decision {step:,}"
    return f"{many}: {', '.join(shares)}{rest}."


def swept_on(problem: Product, stage: int, seen: View) -> str:
    """Many decisions of sweeps at once: how far the intervals have shrunk."""
    leads = []
    for factor, (first, last) in enumerate(pairwise(starts_of(problem.shape).tolist())):
        means = seen.clicks[first:last] / np.maximum(1, seen.pulls[first:last])
        best = int(np.where(seen.left[first:last], means, -1.0).argmax())
        bounds = f"{max(0.0, seen.low[first + best]):.2f} to {min(1.0, seen.high[first + best]):.2f}"
        leads.append(f"{_level(problem, factor, best, word=True)} leads with {means[best]:.2f} (interval {bounds})")
    return f"Stage {stage + 1} sweeps on, and the intervals shrink: {', '.join(leads)}."


def leader(problem: Product, old: Combination | None, new: Combination) -> str:
    """Another combination takes the lead."""
    return f"{named(problem, new)} takes the lead{'' if old is None else f' from {named(problem, old)}'}."


def stage_ends(problem: Product, stage: int, seen: View | None, gone: Gone) -> str:
    """The moment before an elimination: the bounds it compares."""
    begin = f"Stage {stage + 1} is over, all its outcomes are in."
    if seen is None:
        return begin
    best = []
    low = np.where(seen.left, seen.low, -np.inf)
    if seen.about == "levels":
        for factor, (first, last) in enumerate(pairwise(starts_of(problem.shape).tolist())):
            if seen.left[first:last].sum() > 1:
                name = _level(problem, factor, int(low[first:last].argmax()), word=True)
                best.append(f"{name} is the best, at least {low[first:last].max():.2f}")
    else:
        levels = tuple(int(level) for level in np.unravel_index(int(low.argmax()), problem.shape))
        best.append(f"{named(problem, levels)} is the best")
    verdict = f"{listed(gone.names)} cannot reach that." if gone else "Everybody's interval still reaches that."
    return f"{begin} By its lower bound {', '.join(best)}. {verdict}"


def eliminates(problem: Product, now: Race, gone: Gone, left: int) -> str:
    """Who is left after an elimination."""
    who = f"{listed(gone.names)} {'is' if len(gone) == 1 else 'are'} eliminated" if gone else "Nobody is eliminated"
    return f"{who}: {remain(problem, now, left)}." + (f" Stage {now.stage + 1} begins." if left > 1 else "")


def remain(problem: Product, now: Race, left: int) -> str:
    """How much of the race is left, in combinations too where not all of the remaining levels are."""
    of = "" if _unnamed(problem) else "of "
    each = [
        f"{int(own.sum())} of {len(own)} {of}{word}" for own, word in zip(now.left, factor_words(problem), strict=True)
    ]
    more = f", and {left} of {amount(problem.n_combinations, thing(problem))}"
    return f"{listed(each)} remain{more * (left != combinations(now))}"


def restarts(step: int) -> str:
    """An elimination without a horizon begins again, on the outcomes kept."""
    return (
        f"After {amount(step, 'decision')} the guess of the horizon doubles, and with it the certainty that an "
        "elimination needs: everybody is back, and all outcomes are kept."
    )


def settles(problem: Product, shown: Combination, step: int, horizon: int) -> str:
    """The choice can never change again."""
    right = f"{'' if _is_best(problem, shown) else 'not '}the best {thing(problem)}"
    unlucky = "" if _is_best(problem, shown) else ": this run was unlucky"
    after = f"After {amount(step, 'decision')}" if step else "From the start"
    others = amount(horizon - step, "other decision")
    return f"{after} one {thing(problem)} remains: {named(problem, shown)}, {right}{unlucky}. It gets the {others}."


def ends(problem: Product, result: str, horizon: int, regret: float) -> str:
    """The horizon: what came of the run, and what it cost."""
    return (
        f"The end, after {amount(horizon, 'decision')}. {result} cost about {amount(round(regret), 'click')}, compared "
        f"with showing the best {thing(problem)} from the start."
    )


def undecided(problem: Product, now: Race, left: int) -> str:
    """The result of an elimination that the horizon ended."""
    why = "not one stage was over; try a longer horizon" if now.stage == 0 else "the race is not decided"
    return f"{remain(problem, now, left)}: {why}. That"


def preferred(problem: Product, total: Counter[Combination]) -> str:
    """The result of a policy that eliminates nobody: where its decisions went."""
    ((shown, count),) = total.most_common(1)
    best = f"not {named(problem, problem.best_decision())}, the best"
    which = f"the best {thing(problem)}" if _is_best(problem, shown) else best
    share = percent(count / total.total(), 2)
    return f"Shown most, {share} of the time: {named(problem, shown)}, {which}. Learning that"


def _is_best(problem: Product, shown: Combination) -> bool:
    return math.isclose(problem.rate(*shown), problem.best_mean, abs_tol=1e-15)


def _unnamed(problem: Product) -> bool:
    return tuple(problem.factors) == UNNAMED


def _level(problem: Product, factor: int, level: int, word: bool = False) -> str:
    """Name a level; with the word for its factor, if the factor has a name or the word is asked for."""
    own, names = list(problem.level_names.items())[factor]
    called = (f"{_WORDS[own]} " if word else "") if _unnamed(problem) else f"{own} "
    return f"{called}'{names[level]}'"


def _outcome(clicked: bool) -> str:
    return "a click" if clicked else "no click"
