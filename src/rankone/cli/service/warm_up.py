"""``rankone warm-up``: compile now what would be compiled when it is first used."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rankone.cli._commands import command
from rankone.cli._options import policy_option
from rankone.cli._progress import stopped_by_hand
from rankone.errors import StorageError

if TYPE_CHECKING:
    from rankone.policies import Policy


@command("warm-up", example="--policy uts --policy top-two")
def warm_up(policy: list[str] = policy_option([], "A policy to compile; repeatable. Default: all.")) -> None:
    """Compile the policies for this machine, after installing or while an image is built."""
    from rankone.compiling.compiled import kept_in
    from rankone.compiling.compilers import say_nothing
    from rankone.compiling.folders import can_keep, has_kept
    from rankone.compiling.tiers import compiling_first
    from rankone.kernels.decision import same_kind
    from rankone.live.commit.warm_up import warm_up as compile_live
    from rankone.policies import as_policy

    chosen = [as_policy(name) for name in policy or _all_policies()]
    if not can_keep() and not has_kept():
        raise _nowhere()
    print("rankone: each takes some seconds, unless it was compiled here before", file=sys.stderr)
    say_nothing()
    places: dict[Path | None, None] = {}
    with compiling_first(), stopped_by_hand(lambda: "what was finished is kept; the same command continues"):
        for number, each in enumerate(chosen, 1):
            print(f"rankone: compiling {each.label}, {number} of {len(chosen)}", file=sys.stderr)
            if not same_kind(each.decision_kind, "pair", (2, 2)):
                _play_lists(each)
                continue
            ready = each.with_horizon(1_000).for_problem(0, 0)
            live = compile_live(ready)
            if live is None:
                print(f"rankone: {each.label} is for larger problems: compiled when it plays one", file=sys.stderr)
            else:
                if not each.uses_context:  # it needs visitors who can be told apart
                    _play(ready)
                places[kept_in(live)] = None
    if None in places:
        raise _nowhere()
    if places:
        print(f"rankone: ready, kept in {' and '.join(map(str, places))}", file=sys.stderr)


def _all_policies() -> list[str]:
    """Return the names of all policies but those that know users by their number: nothing live asks them."""
    from rankone.policies import known_policies

    return sorted(name for name, kind in known_policies().items() if not hasattr(kind, "users"))


def _nowhere() -> StorageError:
    do = "name one in RANKONE_CACHE_DIR, here and where the policies run"
    return StorageError("a directory for what is compiled", "none that can be written", do)


def _play(policy: Policy) -> None:
    """Play a policy as a study and an agent do."""
    from rankone.simulation import simulate

    simulate("needle:2x2", policy, horizon=2, runs=1, workers=1)
    agent = policy.agent(2, 2)
    agent.tell(agent.ask(), 0)
    agent.void(agent.ask())


def _play_lists(policy: Policy) -> None:
    """Play a policy on lists as a study does; live experiments show pairs."""
    from rankone.simulation import simulate

    if policy.decision_kind == "list":
        simulate("vial:2x2" if policy.uses_context else "pbm-list:2x2", policy, horizon=2, runs=1, workers=1)
