"""Problems: worlds to play in, rank-1 ones above all, how hard they are, and what theory says about regret on them."""

from typing import TYPE_CHECKING

from rankone.deprecation import old_names
from rankone.problems.base import Problem
from rankone.problems.bounds import UpperBound, lower_bound, lower_bound_constant, upper_bound
from rankone.problems.characteristic_time import characteristic_time
from rankone.problems.drift import Drift
from rankone.problems.drifting import Drifting
from rankone.problems.factor_hardness import FactorHardness
from rankone.problems.files import load_problem, load_problems, save_problem, save_problems
from rankone.problems.hardness import Hardness, hardness
from rankone.problems.headlines import headlines
from rankone.problems.means import Means
from rankone.problems.needle import needle
from rankone.problems.product import Product
from rankone.problems.product_family import product
from rankone.problems.random_problem import random_problem
from rankone.problems.rank_one import RankOne
from rankone.problems.registry import Family, as_problem, family, known_families

__all__ = [
    "Drift",
    "Drifting",
    "FactorHardness",
    "Family",
    "Hardness",
    "Means",
    "Problem",
    "Product",
    "RankOne",
    "UpperBound",
    "as_problem",
    "characteristic_time",
    "family",
    "hardness",
    "headlines",
    "known_families",
    "load_problem",
    "load_problems",
    "lower_bound",
    "lower_bound_constant",
    "needle",
    "product",
    "random_problem",
    "save_problem",
    "save_problems",
    "upper_bound",
]

if not TYPE_CHECKING:  # to a type checker there are only the new names
    __getattr__ = old_names("rankone.problems", {"problem": "rankone.problems.as_problem"})
