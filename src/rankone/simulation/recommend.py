"""Which policy suits what. The rules come from measurements: `docs/measured.md` has the tables behind each line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankone.errors import InputError
from rankone.notebook import Shown
from rankone.policies import Policy, as_policy
from rankone.policies.engines.insurance import MOST_INSURED
from rankone.simulation.feedback import Feedback, as_feedback
from rankone.specs import as_whole_number, one_of
from rankone.wording.numbers import percent

if TYPE_CHECKING:
    from rankone.clicks.models.base import ClickModel

#: Where the arena has shown it. With 100 displays an item all Thompson samplers still try everything.
_ENOUGH = "where every item can be shown 600 times or more"
#: By feedback model: what had the least regret in that world of the arena and why, and what has a bound and which.
_FOR_LISTS: dict[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "cascade": (
        ("cascade-ts", f"reads each list down to its first click: the least regret in the arena's cascades {_ENOUGH}"),
        ("cascade-kl-ucb", "bounds its regret where lists are read down to the first click; outcomes at once"),
    ),
    "dcm": (
        (
            "dcm-ts",
            f"learns from each list down to its last click: the least regret in the arena {_ENOUGH}; say from which "
            "positions most leave satisfied",
        ),
        ("dcm-kl-ucb", "bounds its regret where clicks depend on each other as in the model; outcomes at once"),
    ),
    "pbm": (
        (
            "gibbs-ts",
            "learns attraction and examination together, in any order of positions: the least regret in the arena "
            f"{_ENOUGH}; no bound is proven",
        ),
        ("grab", "its bound on regret needs no knowledge of positions, not even their order; outcomes at once"),
    ),
    "unknown": (
        (
            "gibbs-ts",
            f"did well in every world of the arena {_ENOUGH}, also if its model is wrong, unless visitors leave more "
            "often further down; no bound is proven",
        ),
        ("toprank", "its bound holds in any model in which better items and higher positions are never clicked less"),
    ),
}


#: Of users who arrive by themselves: docs/nature.md has the measurements.
_FOR_USERS = {
    "often": ("mixture-ts", "finds users who click the same way, and what each kind likes best; no bound is proven"),
    "seldom": ("thompson", "one best item for all: users who come a few times say too little; or icf-ucb, with a log"),
    "features": ("mixture-linear-ts", "finds users who value features the same way; no bound is proven"),
}
#: How lists with features are read, by feedback model.
_UNTIL = {"cascade": "first", "dcm": "last", "pbm": "all", "unknown": "all"}


# Figures of the table in docs/measured.md, against which a test holds them: the regret of uts as a share of
# rank1elim-kl's, and what late outcomes add to thompson's.
LATE_SHARE, BATCHES_SHARE, THOMPSON_LATE = 0.15, 0.44, 0.09
_GUESSED_HORIZON = 1_000_000
# Policies a newcomer should see beside the recommended one: the paper's algorithm and the usual baseline.
COMPARED_WITH = ("rank1elim-kl", "ucb1")


@dataclass(frozen=True, repr=False)
class Recommendation(Shown):
    """A policy and why it was chosen."""

    policy: Policy
    why: str

    def _sentence(self) -> str:
        return f"{self.policy}: {self.why}"


def recommend(
    model: ClickModel | None = None,
    *,
    horizon: int | None = None,
    feedback: Feedback | str | None = None,
    stages_only: bool = False,
    guarantee: bool = False,
    rank1: bool | None = True,
    combinations: int | None = None,
    changes: bool = False,
    feedback_model: str | None = None,
    features: str | None = None,
    users: str | None = None,
) -> Recommendation:
    """Recommend a policy for what is known about its use.

    Args:
        model: a click model (`rankone.clicks`): whole lists are shown, and read as the model says; what a fitted model
            knows and the policy asks for is filled in.
        horizon: number of decisions, if it is known.
        feedback: when outcomes come, as in `simulate`: ``"delay:mean=1000"``, ``"batch:size=10000"``; default: before
            the next decision.
        stages_only: decisions have to be laid out in a few large plans, each fixed before its first outcome. (Late
            outcomes, and outcomes in batches, are no reason for this.)
        guarantee: a bound on regret that holds at finite horizons is needed, not only little regret.
        rank1: False if a click does not need both a good row and a good column, each for itself; None if nobody knows.
        combinations: how many there are, of all factors together, if it is known.
        changes: whether another pair may become the best while the policy runs; bounds on regret that hold while
            nothing changes are then none.
        feedback_model: for whole lists, how they are read: ``"cascade"`` (up to the first click), ``"dcm"`` (several
            clicks, from the top), ``"pbm"`` (each position for itself) or ``"unknown"``; default: pairs are shown.
        users: of users who arrive by themselves, and get an item each: ``"often"`` if they come dozens of times,
            ``"seldom"``, or ``"features"`` if items have features (`docs/nature.md`).
        features: ``"items"`` if the items of lists have features, ``"visitors"`` if the visitors of combinations have.

    >>> print(recommend())
    uts: least regret of the proven policies in the arena, with or without a horizon
    >>> print(recommend(feedback="batch:size=10000"))  # doctest: +NORMALIZE_WHITESPACE
    uts: spreads its choices while it waits: in the arena it had 0.15 of rank1elim-kl's regret where outcomes came
    1,000 decisions late, and 0.44 of it in batches of 10,000
    >>> recommend(horizon=1_000_000, guarantee=True).policy
    Rank1ElimKL(horizon=1000000, c=3.0)
    >>> recommend(rank1=None, combinations=64).policy.label, recommend(changes=True).policy.label
    ('insured-uts', 'glr-uts')
    >>> [recommend(**known).policy.label for known in ({"feedback_model": "cascade"}, {"users": "often"})]
    ['cascade-ts', 'mixture-ts']
    >>> recommend(features="items").policy.label, recommend(features="visitors").policy.label
    ('cascade-logit-ts', 'logit-ts')
    """
    horizon = None if horizon is None else as_whole_number("horizon", horizon)
    if users is not None:
        return _advice(*_FOR_USERS[one_of("users", users, _FOR_USERS)])
    if features is not None:
        return _for_features(features, feedback_model, guarantee, horizon, changes or stages_only)
    if model is not None:
        from rankone.clicks.models.base import ClickModel

        if not isinstance(model, ClickModel):
            raise InputError("a click model", type(model).__name__, "fit one, such as rankone.clicks.PBM().fit(counts)")
        advice = _for_lists(model.read_as if feedback_model is None else feedback_model, guarantee, horizon)
        known = model.list_problem(model.cells_.queries[0]).known() if model.has_world else {}
        why = f"{advice.why}; to show one item at one position, `recommend()` has a policy for pairs"
        return Recommendation(advice.policy.with_known(known), why if model.read_as == "pbm" else advice.why)
    if feedback_model is not None:
        return _for_lists(feedback_model, guarantee, horizon)
    late = not as_feedback(feedback).is_immediate
    if rank1 not in (True, False, None):
        raise InputError("rank1 as True, False or None", rank1, "say None if nobody knows")
    if changes:  # no bound that holds while nothing changes is of use then
        return _for_changes(rank1, stages_only, horizon)
    if rank1 is None and not (guarantee or stages_only):
        return _insured(combinations)
    if rank1 and (guarantee or stages_only) and horizon is not None:
        return _advice(f"rank1elim-kl:horizon={horizon}", "the paper's bound on regret, in a handful of fixed stages")
    if rank1 and stages_only:
        why = "decides in a handful of fixed stages, laid out for a horizon: this is a guess, say yours"
        return _advice(f"rank1elim-kl:horizon={_GUESSED_HORIZON}", why)
    if guarantee and not late:
        return _advice("kl-ucb", "bounds its regret pair by pair, without a horizon and for pairs of any structure")
    return _steady(bool(rank1), late, "; no policy here has a bound for late outcomes and no horizon" * guarantee)


def _for_changes(rank1: bool | None, stages_only: bool, horizon: int | None) -> Recommendation:
    if stages_only:
        raise InputError("changes or stages_only", "both", "leave one out: a fixed plan cannot follow a change")
    if rank1 is not False:
        why = "notices when another pair becomes the best, and starts again; no policy here has a bound"
        return _advice("glr-uts", why)
    why = "needs no structure; starts again when the click rate of a pair changes"
    return _horizon_filled("glr-kl-ucb", why, horizon)


def _steady(rank1: bool, late: bool, unproven: str) -> Recommendation:
    if not rank1:
        cost = f"; outcomes 1,000 decisions late added {percent(THOMPSON_LATE)} to its regret in the arena" * late
        return _advice("thompson", f"needs no structure and no horizon{cost}{unproven}")
    if not late:
        return _advice("uts", "least regret of the proven policies in the arena, with or without a horizon")
    experience = (
        f"in the arena it had {LATE_SHARE:.2f} of rank1elim-kl's regret where outcomes came 1,000 decisions late, "
        f"and {BATCHES_SHARE:.2f} of it in batches of 10,000"
    )
    return _advice("uts", f"spreads its choices while it waits: {experience}{unproven}")


def _insured(combinations: int | None) -> Recommendation:
    if combinations is not None and as_whole_number("combinations", combinations) > MOST_INSURED:
        why = f"insurance does not pay beyond {MOST_INSURED} combinations: run `rankone check-rank1` on what it finds"
        return _advice("uts", why)
    limit = "" if combinations is not None else f" (up to {MOST_INSURED} combinations)"
    return _advice("insured-uts", f"close to uts if they are rank-1, and close to thompson if they are not{limit}")


def _for_lists(feedback_model: str, guarantee: bool, horizon: int | None) -> Recommendation:
    least, proven = _FOR_LISTS[one_of("feedback_model", feedback_model, _FOR_LISTS)]
    return _horizon_filled(*(proven if guarantee else least), horizon)


def _for_features(
    whose: str, feedback_model: str | None, guarantee: bool, horizon: int | None, more: bool
) -> Recommendation:
    """Recommend what looks at features: `docs/features.md` has the measurements."""
    if more:
        raise InputError("features without changes or stages_only", "both", "no policy here does both: leave one out")
    if one_of("features", whose, ("items", "visitors")) == "visitors":
        if feedback_model is not None:
            do = "for lists, put what you know of visitors into the features of items: features='items'"
            raise InputError("visitors' features for combinations", f"feedback_model='{feedback_model}'", do)
        unproven = "; no policy here has a bound" * guarantee
        return _advice("logit-ts", f"learns what suits whom; loses little where that makes no difference{unproven}")
    until = _UNTIL[one_of("feedback_model", feedback_model or "cascade", _UNTIL)]
    how = "" if until == "first" else f":until={until}"
    if guarantee:
        why = "bounds its regret where attraction is linear in the features; in practice it explores too much"
        return _horizon_filled(f"c3-ucb{how}", why, horizon)
    why = "near the least regret whether attraction is linear or logistic in the features; no bound is proven"
    return _advice(f"cascade-logit-ts{how}", why)


def _horizon_filled(name: str, why: str, horizon: int | None) -> Recommendation:
    policy = as_policy(name)
    if horizon is None and getattr(policy, "horizon", 0) is None:
        why += "; a study fills in the horizon, elsewhere say it"
    return Recommendation(policy if horizon is None else policy.with_horizon(horizon), why)


def _advice(spec: str, why: str) -> Recommendation:
    return Recommendation(as_policy(spec), why)
