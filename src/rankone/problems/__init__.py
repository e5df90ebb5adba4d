"""The world: rank-1 problems, how hard they are, and what theory says about regret on them."""

from rankone.problems.rank_one import RankOne

__all__ = ["RankOne"]
