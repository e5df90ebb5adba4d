"""Which policy for lists suits what. The rules come from the arena of lists, whose tables are in
`docs/which-list-policy.md`; a test holds each line here against them."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from rankone.errors import InputError
from rankone.specs import did_you_mean

FeedbackModel = Literal["cascade", "dcm", "pbm", "unknown"]


class ListAdvice(NamedTuple):
    """What to play, and why; with a proven bound, and without."""

    least: str
    why: str
    proven: str
    why_proven: str


#: Where the arena has shown it. With 100 displays an item all Thompson samplers still try everything.
_ENOUGH = "where every item can be shown 600 times or more"
_PROVEN_PBM = "its bound on regret needs no knowledge of positions, not even their order; outcomes at once"
#: By feedback model: what had the least regret in that world of the arena, and what has a bound.
ADVICE: dict[FeedbackModel, ListAdvice] = {
    "cascade": ListAdvice(
        "cascade-ts", f"reads each list down to its first click: the least regret in the arena's cascades {_ENOUGH}",
        "cascade-kl-ucb", "bounds its regret where lists are read down to the first click; outcomes at once",
    ),
    "dcm": ListAdvice(
        "dcm-ts", f"learns from each list down to its last click: the least regret in the arena {_ENOUGH}; say from "
        "which positions most leave satisfied",
        "dcm-kl-ucb", "bounds its regret where clicks depend on each other as in the model; outcomes at once",
    ),
    "pbm": ListAdvice(
        "gibbs-ts", "learns attraction and examination together, in any order of positions: the least regret in the "
        f"arena {_ENOUGH}; no bound is proven",
        "grab", _PROVEN_PBM,
    ),
    "unknown": ListAdvice(
        "gibbs-ts", f"did well in every world of the arena {_ENOUGH}, also if its model is wrong, unless visitors "
        "leave more often further down; no bound is proven",
        "toprank", "its bound holds in any model in which better items and higher positions are never clicked less",
    ),
}  # fmt: skip


def advice_for(feedback_model: str, guarantee: bool) -> tuple[str, str]:
    """Return the policy for a way in which lists are read, and why.

    >>> advice_for("pbm", guarantee=False)[0]
    'gibbs-ts'
    """
    known = list(get_args(FeedbackModel))
    if feedback_model not in known:
        do = did_you_mean(str(feedback_model), known, "say 'unknown' if nobody knows")
        raise InputError(f"feedback_model as one of {', '.join(known)}", feedback_model, do)
    advice = ADVICE[feedback_model]  # type: ignore[index]
    return (advice.proven, advice.why_proven) if guarantee else (advice.least, advice.why)
