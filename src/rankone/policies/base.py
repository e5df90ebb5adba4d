"""What a policy is: parameters, a start state, a name; and the registry that turns names into policies."""

import dataclasses
import functools
import math
import typing
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from rankone.errors import InputError
from rankone.kernels.decision import KINDS, SIZES, DecisionKind, Shape, same_kind
from rankone.kernels.policy import learn, relearn, syncs
from rankone.registry import Registry
from rankone.specs import Numbers, number_in, one_of, parse_settings, value_text, whole_number

if TYPE_CHECKING:
    from rankone.policies.agent import Agent

AtLeast0 = Annotated[float, "[0, inf)"]  # a coefficient, a share of what may be any number of times
_POLICIES: Registry[type["Policy"]] = Registry("policy", "policies", "rankone.policies")


@dataclasses.dataclass(frozen=True)
class Policy:
    """Base of all policies: a frozen dataclass of parameters.

    A subclass states its `name`, when to use it (`use_when`) and which `decision_kind` it makes, implements `start`,
    and registers kernels for the state that `start` returns (see `rankone.kernels.policy`). Defining the subclass is
    all the registration there is. What values a parameter may have is part of its type:
    ``share: Annotated[float, "[0, 1)"] = 0.1``, the same of int, ``Annotated[str, ("first", "last")]``.
    """

    name: ClassVar[str]
    use_when: ClassVar[str] = ""  # when to use it, in a few words
    decision_kind: ClassVar[DecisionKind] = "pair"  # the kind of decision it makes
    uses_context: ClassVar[bool] = False  # it looks at what is known before a decision
    by_segment: ClassVar[bool] = False  # and that is one number: the segment of the visitor
    by_visitor: ClassVar[bool] = False  # or of the visitor, known by name: live they are numbered as they come
    clicks_only: ClassVar[bool] = True  # it learns from clicks, not from payoffs of any size (`unit` of what is known)
    supports_forbidden: ClassVar[bool] = False  # can do without combinations that are forbidden
    decides_away: ClassVar[bool] = False  # live, it publishes weights and others decide (`Experiment.weights`)
    told_best: ClassVar[str] = ""  # of a yardstick: the parameter that a study fills in with the best decision

    @property
    def by_features(self) -> bool:
        """Whether it looks at features: of the visitor, or of items."""
        return self.uses_context and not self.by_segment

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        one_of(f"{cls.__name__}.decision_kind", cls.decision_kind, KINDS)
        if "name" in cls.__dict__:
            _POLICIES.add(cls.name, cls)

    def __post_init__(self) -> None:
        kind: Any = type(self)
        hints = _declared(kind)
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None or field.default is not None:
                check_parameter(field.name, value, hints[field.name], field.default)

    def start(self, *shape: Any, **sizes: Any) -> Any:
        """Return the state before the first decision: a NamedTuple of NumPy arrays.

        The arguments are the shape of the decision: ``start(n_rows, n_cols)`` of a policy that plays pairs, one size a
        factor of a combination, ``start(n_items, n_positions)`` of lists (`rankone.kernels.decision`).
        """
        kind = type(self).__name__
        do = "return the state before the first decision"
        raise InputError(f"a method start({SIZES[self.decision_kind]}) of {kind}", "none", do)

    def check_kind(self, asked: DecisionKind, shape: Shape, whose: str) -> None:
        """Refuse to play another kind of decision than is asked for, before anything is played."""
        if not same_kind(self.decision_kind, asked, shape):
            got = f"{self.label}, which plays {KINDS[self.decision_kind]}"
            do = "choose another policy" if asked == "list" else "choose another policy, such as 'uts'"
            raise InputError(f"a policy that plays {KINDS[asked]}, as {whose} asks for", got, do)

    def check_context(self, n_context: int, whose: str) -> None:
        """Refuse to decide by a context where there is none: compiled code would read beyond its end."""
        if n_context == 0 and self.uses_context:
            do = "choose another policy, or say n_context where there is one"
            raise InputError(f"a context from {whose}", f"none, and {self.label} looks at it", do)

    @functools.cached_property  # asked for at every live decision
    def label(self) -> str:
        """Canonical string: the name and the parameters that differ from their defaults."""
        changed = [
            f"{field.name}={value_text(getattr(self, field.name))}"
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        ]
        return self.name + (":" + ",".join(changed) if changed else "")

    def with_horizon(self, horizon: int) -> Self:
        """Fill in the horizon where the policy needs one and has none yet."""
        if getattr(self, "horizon", 0) is None:
            return dataclasses.replace(self, **{"horizon": horizon})
        return self

    def with_known(self, known: Mapping[str, Any]) -> Self:
        """Fill in what a problem says beforehand (`Problem.known`), where the policy needs it and has not got it."""
        missing = {name: value for name, value in known.items() if getattr(self, name, 0) is None}
        return dataclasses.replace(self, **missing) if missing else self

    def known_live(self, sizes: typing.Sequence[int]) -> Mapping[str, Any]:
        """Return what a policy that is `by_visitor` takes live where nobody says so (`with_known`)."""
        return {}

    def for_problem(self, *best: int) -> Self:
        """Tell a yardstick which decision is best, where it has not been told: see `told_best`."""
        if getattr(self, self.told_best, best) is not None:
            return self
        return dataclasses.replace(self, **{self.told_best: tuple(best)})

    def live(self) -> Self:
        """Return the form in which the policy runs live: the same on average, every step left to chance that can be
        (`coin`).

        A step that is certain beforehand supports no comparison with what might have been shown instead.
        """
        return dataclasses.replace(self, **{"coin": True}) if hasattr(self, "coin") else self

    def agent(self, *shape: int, seed: int | None = 0, **more: Any) -> "Agent":
        """Return an agent that plays this policy one decision at a time; the arguments are those of `Agent`."""
        from rankone.policies.agent import Agent

        return Agent(self, *shape, seed=seed, **more)

    def __str__(self) -> str:
        return self.label


class ListPolicy(Policy):
    """Base of policies that show lists. A subclass implements `_begin`."""

    decision_kind: ClassVar[DecisionKind] = "list"

    def start(self, n_items: int, n_positions: int) -> Any:
        """Return the state before the first list."""
        check_list_sizes(n_items, n_positions)
        return self._begin(n_items, n_positions)

    def _begin(self, n_items: int, n_positions: int) -> Any:
        """Return the state before the first list; the sizes are right."""
        do = "return the state before the first list"
        raise InputError(f"a method _begin(n_items, n_positions) of {type(self).__name__}", "none", do)


@functools.cache
def _declared(policy: Any) -> dict[str, Any]:
    return typing.get_type_hints(policy, include_extras=True)


def check_parameter(name: str, value: Any, hint: Any, default: Any) -> None:
    """Refuse a value that its type, and the interval or the choices declared with it, do not allow."""
    allowed = hint.__metadata__[0] if typing.get_origin(hint) is typing.Annotated else None
    if hint is bool and not isinstance(value, bool):
        raise InputError(f"{name} as true or false", value, f"write {name}=True, or leave it out")
    if isinstance(allowed, tuple):
        one_of(name, value, allowed)
    elif allowed is not None and hint.__origin__ in (int, int | None):
        least, most = (float(end) for end in allowed[1:-1].split(","))
        whole_number(name, value, int(least), int(most) if most < math.inf else most, example=default)
    elif allowed is not None and hint.__origin__ == Numbers | None:
        if not isinstance(value, tuple) or not value:
            raise InputError(f"{name} as numbers, one per position", value, f"try {name}=(1.0, 0.5, 0.3)")
        for each in value:
            number_in(name, each, allowed, example=1.0)
    elif allowed is not None:
        number_in(name, value, allowed, example=default)


def known_policies() -> Mapping[str, type[Policy]]:
    """Every policy by name: those of the package and those the user's own modules define."""
    return _POLICIES.known()


def as_policy(spec: str | Policy) -> Policy:
    """Turn ``"name"`` or ``"name:parameter=value,..."`` into a policy; a policy stays as it is.

    >>> as_policy("rank1elim-kl:c=0").label
    'rank1elim-kl:c=0'
    """
    if isinstance(spec, Policy):
        return spec
    if not isinstance(spec, str):
        raise InputError("a policy or its name", spec, "see `rankone policies` for the names")
    name, _, settings = spec.partition(":")
    result = _POLICIES.get(name)
    hints = typing.get_type_hints(result)
    parameters = {field.name: hints[field.name] for field in dataclasses.fields(result)}
    return result(**parse_settings(name, settings, parameters))


def check_sizes(n_rows: int, n_cols: int) -> None:
    """Refuse sizes that no policy can play."""
    whole_number("n_rows", n_rows)
    whole_number("n_cols", n_cols)


def check_list_sizes(n_items: int, n_positions: int) -> None:
    """Refuse sizes of lists that no policy can play."""
    whole_number("n_items", n_items)
    if whole_number("n_positions", n_positions, example=1) > n_items:
        got = f"{n_positions} positions for {n_items} items"
        raise InputError("at most as many positions as items", got, "show each item once, in a shorter list")


def learns_nothing(state_class: type) -> None:
    """Register what a yardstick does with outcomes: nothing."""
    learn.register(state_class)(lambda state, shown, tag, outcome: None)
    relearn.register(state_class)(lambda state, shown, pulls, clicks: None)
    syncs.register(state_class)(lambda state: 0)


def needed_horizon(policy: Policy, horizon: int | None) -> int:
    """Return the horizon of a policy that cannot start without one."""
    if horizon is None:
        example = f"{type(policy).__name__}(horizon=100_000)"
        raise InputError(f"a horizon for {policy.name}", "none", f"write {example} or '{policy.name}:horizon=100000'")
    return whole_number("a horizon", horizon)
