"""What a policy that learns would have earned, by replay (Li, Chu, Langford, Wang, WSDM 2011).

The policy decides; the next logged decision that shows the same gives the outcome, from which it learns at once. It
does not matter how often the log shows what, as long as outcomes of a combination do not change with time. They are
taken in the order of the log: a policy that learned gave up what had bad luck, so outcomes of that, shuffled, would be
too low on average. A replay ends where the log has no outcome left of what the policy wants.

Replays share the log's outcomes, so they lie closer together than those of new logs would. How far those do is found by
playing the policy in a world whose click rates are the shares of the log (a parametric bootstrap; Efron, Tibshirani,
"An introduction to the bootstrap", section 6.5): the mean of several replays of one log spreads no more than one play.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from rankone.analysis.what_if.logged_decisions import ROUNDED, Rows
from rankone.analysis.what_if.off_policy import LEAST, interval, rates_moved
from rankone.errors import InputError
from rankone.notebook import Answer
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.seeds import generator
from rankone.numerics.student import student_quantile
from rankone.policies.base import Policy
from rankone.specs import amount
from rankone.wording.numbers import percent

_REPLAYS, _PLAYS = 10, 25


@dataclasses.dataclass(frozen=True, repr=False)
class ReplayedPolicy(Answer):
    """What a policy would have earned per decision in its first decisions, while it learned."""

    policy: str
    value: float | None  # None: the log cannot say
    se: float | None
    low: float | None
    high: float | None
    decisions: int  # how many the log allows for in every replay
    logged: float
    rows: int  # decisions of the log
    level: float
    rounded: bool = False  # whether outcomes are amounts of an experiment, each rounded at random to a click or none
    moved: bool = False  # whether the log shows that click rates changed meanwhile

    @property
    def answered(self) -> bool:
        """Whether there is enough in the log to say anything."""
        return self.value is not None

    @property
    def headline(self) -> str:
        """The answer in at most 25 words."""
        if not self.answered:
            return f"No answer for {self.policy}: the log runs out after {amount(self.decisions, 'decision')}."
        first = f"in its first {self.decisions:,} decisions; the log earned {self.logged:.3g}"
        value = f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"
        return f"{self.policy} would have earned {value} per decision {first}."

    @property
    def assumes(self) -> str:
        """What the answer rests on, in one line."""
        return "Assumes: click rates that stayed the same; outcomes known at once."

    def _notes(self) -> list[str]:
        said = {
            f"Log more decisions of every combination: below {LEAST:.0f} an estimate is chance.": not self.answered,
            "Click rates seem to have moved while the log was made (more than chance does in nine logs of ten): do not "
            "rely on this.": self.moved,
            ROUNDED: self.rounded,
        }
        return [sentence for sentence, is_said in said.items() if is_said]

    @property
    def details(self) -> str:
        """How it was found."""
        return (
            f"The log: {amount(self.rows, 'decision')}. Mean of {_REPLAYS} replays. The {percent(self.level)} interval "
            f"comes from {_PLAYS} plays with the log's click rates: it allows for luck in clicks and in what the "
            "policy comes to prefer."
        )

    def _tables(self) -> dict[str, Any]:
        figures = {"policy": self.policy, "decisions": self.decisions, "value": self.value}
        return {"value": {name: [figure] for name, figure in (figures | {"low": self.low, "high": self.high}).items()}}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return self.depths() | dataclasses.asdict(self) | {"answered": self.answered}


def replay_policy(
    policy: Policy, rows: Rows, names: Sequence[str], level: float, seed: int, most: int
) -> ReplayedPolicy:
    """Replay a policy against logged decisions, at most so many of its own."""
    table = rows.table
    levels = [table[name].unique().sort() for name in names]
    sizes = [len(each) for each in levels]
    if policy.decision_kind == "list" or (policy.decision_kind == "pair" and len(names) != 2):
        raise InputError(f"a policy that plays {len(names)} factors", policy.label, "try uts")
    action = np.zeros(table.height, np.int64)
    for name, each, size in zip(names, levels, sizes, strict=True):
        action = action * size + table[name].replace_strict(each.to_list(), list(range(size))).to_numpy()
    reward = table["reward"].to_numpy()
    if not np.isin(reward, (0.0, 1.0)).all():
        raise InputError("outcomes that are yes or no", "others", "a policy learns from clicks")
    paths = [
        _decided(policy, sizes, _from_log(action, reward), generator(seed, "replayed", number), most, most)
        for number in range(_REPLAYS)
    ]
    length = min(map(len, paths))
    about = (length, float(reward.mean()), table.height, level, rows.rounded)
    moved = rates_moved(action, reward, np.ones(len(reward)))
    if length < LEAST:
        return ReplayedPolicy(policy.label, None, None, None, None, *about, moved=moved)
    value = float(np.mean([path[:length].mean() for path in paths]))
    se = _spread(policy, sizes, action, reward, length, most, seed)
    wider = student_quantile(0.5 + level / 2.0, _PLAYS - 1.0) / NormalDist().inv_cdf(0.5 + level / 2.0)
    low, high = interval(value, se * wider, float(length), level, yes_or_no=True)
    return ReplayedPolicy(policy.label, value, se, max(low, 0.0), min(high, 1.0), *about, moved=moved)


def _spread(
    policy: Policy, sizes: Sequence[int], action: Ints, reward: Floats, length: int, most: int, seed: int
) -> float:
    """How far plays of so many decisions lie apart, in a world whose click rates are the shares of the log."""
    size = math.prod(sizes)
    clicks, shown = np.bincount(action, reward, size), np.bincount(action, minlength=size)
    rate = (clicks + reward.mean()) / (shown + 1.0)  # what the log hardly shows is taken for its average
    means = []
    for number in range(_PLAYS):
        rng = generator(seed, "spread", number)
        outcomes = functools.partial(_drawn, rate, rng)
        means.append(_decided(policy, sizes, outcomes, rng, length, most).mean())
    return float(np.std(means, ddof=1))


def _drawn(rate: Floats, rng: np.random.Generator, wanted: int) -> float:
    return float(rng.random() < rate[wanted])


def _from_log(action: Ints, reward: Floats) -> Callable[[int], float | None]:
    order = np.argsort(action, kind="stable")  # combination by combination, each as in the log
    ends = np.cumsum(np.bincount(action))
    following = ends - np.bincount(action)

    def answer(wanted: int) -> float | None:
        if wanted >= len(ends) or following[wanted] == ends[wanted]:
            return None
        following[wanted] += 1
        return float(reward[order[following[wanted] - 1]])

    return answer


def _decided(
    policy: Policy, sizes: Sequence[int], answer: Callable[[int], Any], rng: Any, decisions: int, horizon: int
) -> Floats:
    """Return the outcomes of a policy from nothing, until there is none or there are enough."""
    agent = policy.with_horizon(horizon).for_problem(0, 0).agent(*sizes, seed=int(rng.integers(2**31)))
    outcomes: list[float] = []
    while len(outcomes) < decisions:
        decision = agent.ask()
        outcome = answer(int(np.ravel_multi_index(decision.shown, sizes)))
        if outcome is None:
            break
        agent.tell(decision, clicked=bool(outcome))
        outcomes.append(float(outcome))
    return np.array(outcomes)
