"""Who chooses. One algorithm is one file; defining the policy's class registers its name.

Every policy of the package is here by the name of its class (``rankone.policies.KLUCB``), found when it is first used:
`python -m tests.test_public_api` writes the lines for type checkers.
"""

from typing import TYPE_CHECKING, Any

from rankone.policies.agent import Agent as Agent
from rankone.policies.agent import AgentDecision as AgentDecision
from rankone.policies.base import Policy as Policy
from rankone.policies.base import as_policy as as_policy
from rankone.policies.base import known_policies as known_policies

if TYPE_CHECKING:  # what type checkers and editors see
    from rankone.policies.arrivals.club import CLUB as CLUB
    from rankone.policies.arrivals.icf import ICFTS as ICFTS
    from rankone.policies.arrivals.icf import ICFUCB as ICFUCB
    from rankone.policies.arrivals.known_classes import LatentTS as LatentTS
    from rankone.policies.arrivals.known_classes import LatentUCB as LatentUCB
    from rankone.policies.arrivals.lowrank_ts import LowRankTS as LowRankTS
    from rankone.policies.arrivals.mixture_linear_ts import MixtureLinearTS as MixtureLinearTS
    from rankone.policies.arrivals.mixture_ts import MixtureTS as MixtureTS
    from rankone.policies.arrivals.nmf_bandit import NMFBandit as NMFBandit
    from rankone.policies.arrivals.pts import PTS as PTS
    from rankone.policies.arrivals.visits import UserTS as UserTS
    from rankone.policies.factors.best import Best as Best
    from rankone.policies.factors.changing.forgetting import DTS as DTS
    from rankone.policies.factors.changing.forgetting import SWTS as SWTS
    from rankone.policies.factors.changing.forgetting import DiscountedUTS as DiscountedUTS
    from rankone.policies.factors.changing.forgetting import SlidingUTS as SlidingUTS
    from rankone.policies.factors.changing.glr_uts import GLRUTS as GLRUTS
    from rankone.policies.factors.changing.restarting import GLRKLUCB as GLRKLUCB
    from rankone.policies.factors.changing.restarting import MUCB as MUCB
    from rankone.policies.factors.changing.restarting import CusumUCB as CusumUCB
    from rankone.policies.factors.edge import Edge as Edge
    from rankone.policies.factors.elimination.rank1elim import Rank1Elim as Rank1Elim
    from rankone.policies.factors.elimination.rank1elim_kl import Rank1ElimKL as Rank1ElimKL
    from rankone.policies.factors.elimination.ucb1_elim import UCB1Elim as UCB1Elim
    from rankone.policies.factors.glm_thompson import GLMThompson as GLMThompson
    from rankone.policies.factors.kl_ucb import KLUCB as KLUCB
    from rankone.policies.factors.logit_ts import LogitTS as LogitTS
    from rankone.policies.factors.per_factor import PerFactor as PerFactor
    from rankone.policies.factors.thompson import Thompson as Thompson
    from rankone.policies.factors.ucb1 import UCB1 as UCB1
    from rankone.policies.factors.uniform import Uniform as Uniform
    from rankone.policies.factors.unimodal.imed_ub import IMEDUB as IMEDUB
    from rankone.policies.factors.unimodal.imed_ub import KLUCBUB as KLUCBUB
    from rankone.policies.factors.unimodal.insured_uts import InsuredUTS as InsuredUTS
    from rankone.policies.factors.unimodal.osub import OSUB as OSUB
    from rankone.policies.factors.unimodal.segmented_uts import SegmentedUTS as SegmentedUTS
    from rankone.policies.factors.unimodal.top_two import TopTwo as TopTwo
    from rankone.policies.factors.unimodal.uts import UTS as UTS
    from rankone.policies.lists.batchrank import BatchRank as BatchRank
    from rankone.policies.lists.cascades.cascade_kl_ucb import DCMKLUCB as DCMKLUCB
    from rankone.policies.lists.cascades.cascade_kl_ucb import CascadeKLUCB as CascadeKLUCB
    from rankone.policies.lists.cascades.cascade_ts import DCMTS as DCMTS
    from rankone.policies.lists.cascades.cascade_ts import CascadeTS as CascadeTS
    from rankone.policies.lists.cascades.cascade_ts_gauss import CascadeTSGauss as CascadeTSGauss
    from rankone.policies.lists.cascades.cascade_ucb1 import CascadeUCB1 as CascadeUCB1
    from rankone.policies.lists.cascades.cascade_ucb1 import CombCascade as CombCascade
    from rankone.policies.lists.cascades.pie_l import PIEL as PIEL
    from rankone.policies.lists.contextual.c3_ucb import C3UCB as C3UCB
    from rankone.policies.lists.contextual.cascade_lin_ts import CascadeLinTS as CascadeLinTS
    from rankone.policies.lists.contextual.cascade_lin_ucb import CascadeLinUCB as CascadeLinUCB
    from rankone.policies.lists.contextual.cascade_logit_ts import CascadeLogitTS as CascadeLogitTS
    from rankone.policies.lists.contextual.cascade_logit_ucb import CascadeLogitUCB as CascadeLogitUCB
    from rankone.policies.lists.contextual.cascade_woful import CascadeWOFUL as CascadeWOFUL
    from rankone.policies.lists.contextual.lin_ts_cascade import LinTSCascade as LinTSCascade
    from rankone.policies.lists.contextual.vac2_ucb import VAC2UCB as VAC2UCB
    from rankone.policies.lists.positions.gibbs_ts import GibbsTS as GibbsTS
    from rankone.policies.lists.positions.grab import Grab as Grab
    from rankone.policies.lists.positions.pb_mhb import PBMHB as PBMHB
    from rankone.policies.lists.positions.pbm_ts import BCTS as BCTS
    from rankone.policies.lists.positions.pbm_ts import PBMTS as PBMTS
    from rankone.policies.lists.positions.pbm_ucb import PBMPIE as PBMPIE
    from rankone.policies.lists.positions.pbm_ucb import PBMUCB as PBMUCB
    from rankone.policies.lists.random_list import RandomList as RandomList
    from rankone.policies.lists.ranked_ts import RankedTS as RankedTS
    from rankone.policies.lists.swap_neighbours import SwapNeighbours as SwapNeighbours
    from rankone.policies.lists.toprank import TopRank as TopRank
    from rankone.policies.lists.unirank import UniRank as UniRank

_CONTRACT = [Agent, AgentDecision, Policy, as_policy, known_policies]


def _of_the_package() -> dict[str, type[Policy]]:
    return {kind.__name__: kind for kind in known_policies().values() if kind.__module__.startswith(f"{__name__}.")}


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "__all__":
            return sorted([*_of_the_package(), *(each.__name__ for each in _CONTRACT)])
        if name[0].isupper() and name in _of_the_package():  # other names may be files that are being imported
            globals()[name] = _of_the_package()[name]
            return globals()[name]
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_of_the_package()])
