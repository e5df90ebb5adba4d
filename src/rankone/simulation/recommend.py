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
    stages_only: bool = False,
    guarantee: bool = False,
    rank_one: bool = True,
) -> Recommendation:
    """Recommend a policy for what is known about its use.

    Args:
        horizon: number of decisions, if it is known.
        stages_only: decisions have to be laid out in a few large plans, each fixed before its first outcome. (Late
            outcomes, and outcomes in batches, are no reason for this.)
        guarantee: a bound on regret that holds at finite horizons is needed, not only little regret.
        rank_one: False if a click does not need both a good row and a good column, each for itself.

    >>> print(recommend())
    uts: least regret of the proven policies in the arena, without a horizon and with late outcomes or batches
    >>> recommend(horizon=1_000_000, guarantee=True).policy
    Rank1ElimKL(horizon=1000000, c=3.0)
    """
    if horizon is not None:
        whole_number("horizon", horizon)
    if not rank_one and guarantee:
        return _advice("kl-ucb", "bounds its regret pair by pair and needs no structure; wants outcomes at once")
    if not rank_one:
        return _advice("thompson", "needs no structure and no horizon; late outcomes cost it little")
    if (guarantee or stages_only) and horizon is not None:
        return _advice(f"rank1elim-kl:horizon={horizon}", "the paper's bound on regret, in a handful of fixed stages")
    if stages_only:
        return _advice("rank1elim-kl-anytime", "fixed stages that need no horizon")
    if guarantee:
        return _advice("kl-ucb", "bounds its regret without a horizon, for pairs of any structure")
    return _advice(
        "uts", "least regret of the proven policies in the arena, without a horizon and with late outcomes or batches"
    )


def _advice(spec: str, why: str) -> Recommendation:
    return Recommendation(policy(spec), why)
