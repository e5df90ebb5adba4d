"""What a policy that learns would have earned, by replay (Li, Chu, Langford, Wang, WSDM 2011).

The policy decides; the next logged decision that shows the same gives the outcome, from which it learns. Others are
passed over. For that it does not matter how often the log shows what (nor that it learned itself), as long as outcomes
of a combination do not change with time. Those of each combination are taken in the order of the log: a policy that
learned gave up what had bad luck, so its outcomes of that, shuffled, would be too low on average. A replay ends where
the log has no outcome left of what the policy wants. Outcomes are at once, as in a study without delay.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from rankone.analysis.estimate_table import LEAST, interval
from rankone.analysis.logged_decisions import Rows
from rankone.clicks.counts.count_arrays import Floats
from rankone.errors import InputError
from rankone.notebook import Shown
from rankone.numerics.seeds import generator
from rankone.policies.base import Policy
from rankone.specs import amount

_REPLAYS = 10


@dataclasses.dataclass(frozen=True, repr=False)
class ReplayedPolicy(Shown):
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

    @property
    def answered(self) -> bool:
        """Whether there is enough in the log to say anything."""
        return self.value is not None

    def _sentence(self) -> str:
        said = [f"The log: {amount(self.rows, 'decision')}, {self.logged:.4g} per decision."]
        if not self.answered:
            said.append(
                f"No answer for {self.policy}: after {amount(self.decisions, 'decision')} the log has no outcome left "
                f"of what it wants; below {LEAST:.0f} an estimate is chance. Log more decisions of every combination."
            )
        else:
            said.append(
                f"{self.policy} from nothing: {self.value:.4g} per decision in its first {self.decisions:,} "
                f"({self.low:.4g} to {self.high:.4g}), if outcomes do not change with time and come at once. Mean of "
                f"{_REPLAYS} replays; further the log does not go, or was not asked for. The interval is too narrow: "
                f"it is of level {self.level:.0%} for the luck of clicks, and the luck of what the policy comes to "
                "prefer, which one log has only once, comes on top."
            )
        return "\n".join(said)

    def _tables(self) -> dict[str, Any]:
        figures = {"policy": self.policy, "decisions": self.decisions, "value": self.value}
        return {"value": {name: [figure] for name, figure in (figures | {"low": self.low, "high": self.high}).items()}}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return dataclasses.asdict(self) | {"answered": self.answered}


def replay_policy(
    policy: Policy, rows: Rows, names: Sequence[str], level: float, seed: int, most: int
) -> ReplayedPolicy:
    """Replay a policy against logged decisions, at most so many of its own."""
    table = rows.table
    levels = [table[name].unique().sort() for name in names]
    sizes = [len(each) for each in levels]
    if policy.plays == "list" or (policy.plays == "pair" and len(names) != 2):
        raise InputError(f"a policy that plays {len(names)} factors", policy.label, "try uts")
    action = np.zeros(table.height, np.int64)
    for name, each, size in zip(names, levels, sizes, strict=True):
        action = action * size + table[name].replace_strict(each.to_list(), list(range(size))).to_numpy()
    reward = table["reward"].to_numpy()
    if not np.isin(reward, (0.0, 1.0)).all():
        raise InputError("outcomes that are yes or no", "others", "a policy learns from clicks")
    paths = [
        _replay(policy, sizes, action, reward, generator(seed, "replayed", number), most) for number in range(_REPLAYS)
    ]
    length = min(map(len, paths))
    logged, label = float(reward.mean()), policy.label
    if length < LEAST:
        return ReplayedPolicy(label, None, None, None, None, length, logged, table.height, level)
    means = np.array([path[:length].mean() for path in paths])
    value = float(means.mean())
    # Replays share the log's outcomes: what is theirs in common adds to what sets them apart. All go much the same way,
    # so how the way itself depends on the luck of the log is not in it (`python -m benchmarks.replayed_policies`).
    se = float(np.sqrt(means.var(ddof=1) + value * (1.0 - value) / length))
    low, high = interval(value, se, float(length), level, yes_or_no=True)
    return ReplayedPolicy(label, value, se, max(low, 0.0), min(high, 1.0), length, logged, table.height, level)


def _replay(policy: Policy, sizes: Sequence[int], action: Any, reward: Floats, rng: Any, most: int) -> Floats:
    """Return the outcomes of one replay, in the order of its decisions."""
    order = np.argsort(action, kind="stable")  # combination by combination, each as in the log
    ends = np.cumsum(np.bincount(action, minlength=int(np.prod(sizes))))
    following = np.concatenate([[0], ends[:-1]])
    agent = policy.with_horizon(most).for_problem(0, 0).agent(*sizes, seed=int(rng.integers(2**31)))
    found: list[float] = []
    while len(found) < most:
        decision = agent.ask()
        wanted = int(np.ravel_multi_index(decision.shown, sizes))
        if following[wanted] == ends[wanted]:
            break
        outcome = reward[order[following[wanted]]]
        following[wanted] += 1
        agent.tell(decision, clicked=bool(outcome))
        found.append(float(outcome))
    return np.array(found)
