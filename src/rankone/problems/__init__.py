"""Problems: worlds to play in, rank-1 ones above all, how hard they are, and what theory says about regret on them."""

from rankone.problems.base import Problem
from rankone.problems.drift import Drift
from rankone.problems.drifting import Drifting
from rankone.problems.families import headlines, needle, product, random_problem
from rankone.problems.files import load_problem, load_problems, save_problem, save_problems
from rankone.problems.means import Means
from rankone.problems.product import Product
from rankone.problems.rank_one import RankOne
from rankone.problems.registry import Family, as_problem, family, known_families
from rankone.problems.theory.bounds import UpperBound, lower_bound, lower_bound_constant, upper_bound
from rankone.problems.theory.hardness import Hardness, hardness
from rankone.problems.theory.time_to_be_sure import characteristic_time

__all__ = ["Drift", "Drifting", "Family", "Hardness", "Means", "Problem", "Product", "RankOne", "UpperBound"]
__all__ += ["as_problem", "characteristic_time", "family", "hardness", "headlines", "known_families", "load_problem"]
__all__ += ["load_problems", "lower_bound", "lower_bound_constant", "needle", "product", "random_problem"]
__all__ += ["save_problem", "save_problems", "upper_bound"]
