"""Which policy suits what. The rules come from measurements: `docs/which-policy.md` has the tables behind each line."""

from __future__ import annotations

from dataclasses import dataclass

from rankone.policies import Policy, policy
from rankone.specs import whole_number

# Policies a newcomer should see beside the recommended one: the paper's algorithm and the usual baseline.
COMPARED_WITH = ("rank1elim-kl", "ucb1")


@dataclass(frozen=True)
class Recommendation:
    """A policy and why it was chosen."""

    policy: Policy
    why: str

    def __str__(self) -> str:
        return f"{self.policy}: {self.why}"


def recommend(
    *,
    horizon: int | None = None,
    synchronisations: int | None = None,
    guarantee: bool = False,
    rank_one: bool = True,
) -> Recommendation:
    """Recommend a policy for what is known about its use.

    Args:
        horizon: number of decisions, if it is known.
        synchronisations: how often outcomes can be brought in, if that is rare; None if they come one by one, at once
            or late.
        guarantee: a bound on regret that holds at finite horizons is needed, not only little regret.
        rank_one: False if a click does not need both a good row and a good column, each for itself.

    >>> print(recommend())
    uts: least regret of the published policies in the arena; needs no horizon, and late outcomes cost it little
    >>> recommend(horizon=1_000_000, guarantee=True).policy
    Rank1ElimKL(horizon=1000000, c=3.0)
    """
    if horizon is not None:
        whole_number("horizon", horizon)
    if synchronisations is not None:
        whole_number("synchronisations", synchronisations)
    return Recommendation(policy("uts"), "todo")
