"""Speed of other libraries' policies on the needle problem; a script of its own, so that any interpreter can run it.

``python benchmarks/peers.py 32`` prints, as its last line in JSON, the steps a second of every peer that can be imported,
on a needle problem of 32 x 32 pairs, and why the others cannot. It needs NumPy and the peers, nothing of this project:
they want versions of NumPy and SciPy that may not suit the rest. Every pair (peers call it an arm) gets two outcomes
first, so that what is timed is choosing and learning, not a first sweep.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

SECONDS = 2.0
Player = tuple[Callable[[], int], Callable[[int, float], Any]]  # choose() -> arm, learn(arm, reward)


def prime(player: Player, arms: int) -> Player:
    """Give every arm a click and a miss."""
    for arm in range(arms):
        player[1](arm, 1.0)
        player[1](arm, 0.0)
    return player


def smpybandits(arms: int) -> Iterator[tuple[str, Player]]:
    from SMPyBandits.Policies import Thompson, UCBalpha, klUCB

    for name, policy in (("ucb1", UCBalpha(arms, alpha=4)), ("kl-ucb", klUCB(arms)), ("thompson", Thompson(arms))):
        policy.startGame()
        yield name, prime((policy.choice, policy.getReward), arms)


def pymab(arms: int) -> Iterator[tuple[str, Player]]:
    from pymab.policies.thompson_sampling import BernoulliThompsonSamplingPolicy
    from pymab.policies.ucb import KLUCBPolicy, UCBPolicy

    rng = np.random.default_rng(1)
    kinds = {"ucb1": UCBPolicy, "kl-ucb": KLUCBPolicy, "thompson": BernoulliThompsonSamplingPolicy}
    for name, kind in kinds.items():
        policy = kind(n_arms=arms)
        choose = partial(policy.select_action, rng=rng)
        yield name, prime((choose, lambda arm, reward, policy=policy: policy.update(action=arm, reward=reward)), arms)


def river(arms: int) -> Iterator[tuple[str, Player]]:
    from river import bandit, proba

    everyone = list(range(arms))
    policies = {
        "ucb1": bandit.UCB(delta=1.0, seed=1),
        "thompson": bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=1),
    }
    for name, policy in policies.items():
        yield name, prime((partial(policy.pull, everyone), policy.update), arms)


def mabwiser(arms: int) -> Iterator[tuple[str, Player]]:
    from mabwiser.mab import MAB, LearningPolicy

    everyone = list(range(arms))
    for name, kind in (("ucb1", LearningPolicy.UCB1()), ("thompson", LearningPolicy.ThompsonSampling())):
        policy = MAB(everyone, kind, seed=1)
        policy.fit(everyone * 2, [1] * arms + [0] * arms)  # one by one would take minutes
        yield name, (policy.predict, lambda arm, reward, policy=policy: policy.partial_fit([arm], [reward]))


PEERS = {"SMPyBandits": smpybandits, "pymab": pymab, "river": river, "mabwiser": mabwiser}


def steps_per_second(player: Player, means: np.ndarray) -> float:
    """Speed by processor time, over some seconds and at least ten steps."""
    choose, learn = player
    rng = np.random.default_rng(0)
    steps, begin = 0, time.process_time()
    while steps < 10 or time.process_time() - begin < SECONDS:
        arm = choose()
        learn(arm, float(rng.random() < means[arm]))
        steps += 1
    return steps / (time.process_time() - begin)


def main() -> None:
    size = int(sys.argv[1])
    lines = np.full(size, 0.25)
    lines[0] = 0.75
    means = np.outer(lines, lines).ravel()
    found: dict[str, Any] = {}
    for peer, players in PEERS.items():
        try:
            speeds = {name: steps_per_second(player, means) for name, player in players(len(means))}
            found[peer] = {"version": version(peer), "speeds": speeds}
        except Exception as error:  # a peer that is absent or broken is a line in the report, not the end of it
            found[peer] = {"missing": f"{type(error).__name__}: {error}"}
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    main()
