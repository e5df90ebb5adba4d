"""Interactive collaborative filtering: Zhao, Zhang, Wang, "Interactive Collaborative Filtering" (CIKM 2013), section 4.

Vectors of items, with their covariances, come from users of a log (`rankone.personal`). A user's vector p is normal; an
outcome with item vector q adds q q' / s2 to its precision and (outcome - centre) q / s2 to precision times mean.

`icf-ts` draws every q_j, then p, and shows the item with the largest p'q_j. (The paper counts each outcome with the q
of its own draw, we count all with the present one: then nothing but counts has to be kept.)
`icf-ucb` shows the largest ``mean'q + alpha sqrt(q' covariance q)``, q the mean vector of the item.

The paper's users begin at p = 0 (``prior=zero``, with variance s2 / 5): new users are then shown anything. With the
mean and covariance of the log's users (``prior=learned``) they are first shown what most like.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.compiling.dispatch import extends
from rankone.errors import InputError
from rankone.numerics.arrays import Floats, Ints
from rankone.policies.arrivals.lowrank_ts import draw_user, fill_user, normal_priors, score_by
from rankone.policies.arrivals.model import read_model
from rankone.policies.arrivals.users import copy_row
from rankone.policies.arrivals.visits import VisitPolicy, Visits, score
from rankone.policies.engines.regression import set_root, solve_down, solve_up

_LAMBDA = 5.0  # noise over the variance of users' numbers, where they begin at 0
_NEVER = -1e300
# Fields of `settings`: the first and the third are those of `lowrank_ts`.
ICF_NOISE, ICF_ALPHA, ICF_CENTRE, ICF_REPEATS = range(4)


@extends(Visits)
class _ICFState:
    """Counts of each user and item (`Visits`), and what is known of items and users."""

    means: Annotated[Floats, "M, r"]  # of the vectors of items
    spread: Annotated[Floats, "M, r, r"]  # roots of their covariances
    of_items: Annotated[Floats, "M, r"]  # as last drawn
    user_prior: Annotated[Floats, "1+r, r"]  # precision times mean, then the precision
    settings: Annotated[Floats, "4"]
    root: Annotated[Floats, "r, r"]  # scratch space
    drawn: Annotated[Floats, "r"]  # scratch space
    work: Annotated[Floats, "r"]  # scratch space


class ICFTSState(_ICFState):
    """What `icf-ts` remembers."""


class ICFUCBState(_ICFState):
    """What `icf-ucb` remembers."""


@dataclass(frozen=True)
class ICF(VisitPolicy):
    """Base of both.

    Args:
        users: how many users there are at most; a study fills it in.
        model: the file of `rankone.personal` with the vectors of items.
        prior: what is known of a new user: ``learned`` from the users of the log, or ``zero``, as published.
        repeat: whether an item may be shown to a user again.
    """

    state: ClassVar[Any]
    model: str | None = None
    prior: Annotated[Literal["learned", "zero"], ("learned", "zero")] = "learned"
    repeat: bool = True

    def known_at_start(self, sizes: Ints, forbidden: Ints) -> dict[str, Any]:
        """Return the start; what a log says is known."""
        tables = self.tables(self.state, sizes, forbidden)
        known = read_model(self.model, "vectors", tables["M"], self.name)
        if known is None:
            do = f"write '{self.name}:model=FILE', with a file of rankone.personal"
            raise InputError(f"vectors of items for {self.name}", "none", do)
        r, prior = len(known.user_mean), normal_priors(known)[0]
        if self.prior == "zero":
            prior = np.concatenate([np.zeros((1, r)), np.eye(r) * _LAMBDA / known.noise[0]])
        settings = [known.noise[0], getattr(self, "alpha", 0.0), known.centre[0], float(self.repeat)]
        vectors = {"means": known.item_mean, "spread": np.linalg.cholesky(known.item_cov), "of_items": known.item_mean}
        return tables | vectors | {"r": r, "user_prior": prior, "settings": settings}


@dataclass(frozen=True)
class ICFTS(ICF):
    """Interactive collaborative filtering by Thompson sampling."""

    name = "icf-ts"
    use_when = "a reference: new users, and vectors of items from a log"
    state = ICFTSState


@dataclass(frozen=True)
class ICFUCB(ICF):
    """Interactive collaborative filtering by confidence bounds."""

    name = "icf-ucb"
    use_when = "new users who come a few times, and vectors of items from a log"
    state = ICFUCBState
    alpha: Annotated[float, "[0, inf)"] = 0.5


@noalloc
def _draw_items(state: Any, rng: Any) -> None:
    r = len(state.drawn)
    for item in range(len(state.means)):
        copy_row(state.of_items[item], state.means[item])
        for m in range(r):
            z = rng.standard_normal()
            for k in range(m, r):
                state.of_items[item, k] += state.spread[item, k, m] * z


@noalloc
def _leave_out_seen(state: Any, user: int) -> None:
    """Where need be, let no item that the user has seen be shown."""
    for item in range(len(state.scores)):
        if state.settings[ICF_REPEATS] == 0.0 and state.pulls[user, item] > 0.0:
            state.scores[item] = _NEVER


@score.register(ICFTSState)
def _score_ts(state: Any, user: int, rng: Any) -> None:
    _draw_items(state, rng)
    draw_user(state, user, rng)
    score_by(state, state.drawn)
    _leave_out_seen(state, user)


@score.register(ICFUCBState)
def _score_ucb(state: Any, user: int, rng: Any) -> None:
    fill_user(state, user)
    set_root(state.root)
    solve_down(state.root, state.drawn)
    solve_up(state.root, state.drawn)
    score_by(state, state.drawn)
    for item in range(len(state.scores)):
        square = 0.0
        copy_row(state.work, state.of_items[item])
        solve_down(state.root, state.work)
        for k in range(len(state.work)):
            square += state.work[k] * state.work[k]
        state.scores[item] += state.settings[ICF_ALPHA] * math.sqrt(square)
    _leave_out_seen(state, user)
