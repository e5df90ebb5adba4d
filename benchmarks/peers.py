"""Speed of other libraries' policies on the needle problem; a script of its own, so that any interpreter can run it.

``python benchmarks/peers.py 32`` prints, as its last line in JSON, the steps a second of every peer that can be imported,
on a needle problem of 32 x 32 pairs, and why the others cannot. It needs NumPy and the peers, nothing of this project:
they want versions of NumPy and SciPy that may not suit the rest. Every pair (peers call it an arm) gets two outcomes
first, so that what is timed is choosing and learning, not a first sweep.

``python benchmarks/peers.py 100 5`` does the same for lists of 5 out of 100 items, read down to the first click. No peer
has a policy for lists; what is timed is what their users do instead: the 5 best of a policy for single arms, which
learns item by item from what was looked at.
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


def smpybandits_lists(items: int, positions: int) -> Iterator[tuple[str, Player]]:
    for name, (_, learn) in smpybandits(items):
        yield LIST_NAMES[name], (partial(learn.__self__.choiceMultiple, positions), learn)


def mabwiser_lists(items: int, positions: int) -> Iterator[tuple[str, Player]]:
    for name, (choose, learn) in mabwiser(items):
        expected = choose.__self__.predict_expectations

        def best(expected: Callable[[], dict[int, float]] = expected) -> list[int]:
            found = expected()
            return sorted(found, key=found.__getitem__, reverse=True)[:positions]

        yield LIST_NAMES[name], (best, learn)


def obp_lists(items: int, positions: int) -> Iterator[tuple[str, Player]]:
    from obp.policy import BernoulliTS

    policy = BernoulliTS(n_actions=items, len_list=positions, random_state=1)
    yield "cascade-ts", prime((policy.select_action, policy.update_params), items)


LIST_NAMES = {"ucb1": "cascade-ucb1", "kl-ucb": "cascade-kl-ucb", "thompson": "cascade-ts"}
LIST_PEERS = {"SMPyBandits": smpybandits_lists, "mabwiser": mabwiser_lists, "obp": obp_lists}


def steps_per_second(step: Callable[[], None]) -> float:
    """Speed by processor time, over some seconds and at least ten steps."""
    steps, begin = 0, time.process_time()
    while steps < 10 or time.process_time() - begin < SECONDS:
        step()
        steps += 1
    return steps / (time.process_time() - begin)


def pair_step(player: Player, means: np.ndarray, rng: np.random.Generator) -> None:
    """Choose an arm and learn its outcome."""
    arm = player[0]()
    player[1](arm, float(rng.random() < means[arm]))


def list_step(player: Player, means: np.ndarray, rng: np.random.Generator) -> None:
    """Choose a list and learn from each of its items, down to the first click."""
    for item in player[0]():
        clicked = rng.random() < means[item]
        player[1](item, float(clicked))
        if clicked:
            break


def main() -> None:
    sizes = [int(text) for text in sys.argv[1:]]
    if len(sizes) == 1:
        lines = np.full(sizes[0], 0.25)
        lines[0] = 0.75
        means = np.outer(lines, lines).ravel()
        peers, step, sizes = PEERS, pair_step, [len(means)]
    else:
        means = np.full(sizes[0], 0.05)
        means[: sizes[1]] = 0.2
        peers, step = LIST_PEERS, list_step
    found: dict[str, Any] = {}
    for peer, players in peers.items():
        try:
            rng = np.random.default_rng(0)
            speeds = {name: steps_per_second(partial(step, player, means, rng)) for name, player in players(*sizes)}
            found[peer] = {"version": version(peer), "speeds": speeds}
        except Exception as error:  # a peer that is absent or broken is a line in the report, not the end of it
            found[peer] = {"missing": f"{type(error).__name__}: {error}"}
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    main()
