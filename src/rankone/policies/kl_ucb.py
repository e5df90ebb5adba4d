"""KL-UCB on the K * L pairs: Garivier, Cappe, "The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond" (2011).

After t decisions, choose the pair with the largest ``max{q : pulls * d(mean, q) <= log t + c log log t}``; a pair without
an outcome comes first. c = 3 in the theorem, c = 0 in practice (the default). Ties go to the pair chosen longest ago,
and among pairs never chosen to a random one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.errors import InputError
from rankone.numerics.kl import bernoulli_kl, kl_upper
from rankone.policies.base import Policy, check_sizes
from rankone.policies.kernels import chooses, updates
from rankone.policies.pairs import ASKED, PairState, remember_choice, shuffle_first_choices, start_pairs
