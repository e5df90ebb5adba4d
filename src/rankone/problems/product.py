"""A problem of any number of factors: a combination is clicked with the product of one probability per factor.

`RankOne` is the product of two factors: any such `Product` is the same world, has the same digest and is equal to it.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rankone.errors import InputError
from rankone.kernels.decision import DecisionKind
from rankone.notebook import Shown
from rankone.numerics.arrays import Floats, Ints, Mask, allowed_table, starts_of
from rankone.problems.base import RANK_ONE, Problem, checked_name
from rankone.problems.product_input import (
    Given,
    Names,
    by_factors,
    checked_parts,
    checked_scale,
    forbidden_rules,
    names_of_levels,
    shared_parts,
)
from rankone.problems.product_world import SCALES, ProductWorld, RankOneWorld, Scale
from rankone.specs import in_words

if TYPE_CHECKING:
    from rankone.problems.rank_one import RankOne

_MOST_LOOKED_AT = 10**7  # combinations


class Product(Problem, Shown):
    """A problem of any number of factors: the click rate of a combination is the product of its levels' probabilities.

    Args:
        factors: for each factor, by name, the probabilities of its levels; on another scale, their effects.
        level_names: for each factor, by name, the names of its levels.
        interactions: for two factors, by their names, what two levels have together, by their names: a click rate
            times 1.3, for example; on other scales it is added.
        forbidden: combinations that are never shown: for each rule, levels by the names of their factors.
        scale: "product", "additive" (effects are added to `base`) or "logit" (added to the log odds of `base`).
        base: the click rate without any effect; only of the scales that add.
        name: what tables and charts call the problem.

    >>> problem = Product({"headline": [0.9, 0.5], "image": [0.8, 0.3, 0.2], "button": [0.7, 0.6]})
    >>> problem.shape, round(problem.best_mean, 3), problem.best_decision()
    ((2, 3, 2), 0.504, (0, 0, 0))
    """

    kind: ClassVar[str] = "product"
    decision_kind: ClassVar[DecisionKind] = "combination"

    def __init__(
        self,
        factors: Mapping[str, Given],
        *,
        level_names: Mapping[str, Names] | None = None,
        interactions: Mapping[Any, Mapping[Any, float]] | None = None,
        forbidden: Sequence[Mapping[str, str]] = (),
        scale: Scale = "product",
        base: float | None = None,
        name: str | None = None,
    ) -> None:
        self.scale, self.base = checked_scale(scale, base)
        self.factors = checked_parts(factors, self.scale)
        self.level_names = names_of_levels(factors, level_names, self.factors)
        self.interactions = by_factors(interactions)
        self._together = shared_parts(self.interactions, self.level_names, self.scale)
        self.rules = forbidden_rules(forbidden, self.level_names)
        self._looked_at()
        self._unnamed = f"{self._kind}:{'x'.join(map(str, self.shape))}:"
        self.name = checked_name(name, lambda: self._unnamed + self._digest_of_numbers()[:6])

    @property
    def shape(self) -> tuple[int, ...]:
        """Levels of each factor: what a policy starts with."""
        return tuple(len(values) for values in self.factors.values())

    @property
    def forbidden(self) -> Ints:
        """Rules of one level per factor, -1 where any level will do: what a policy must never show."""
        return self.rules

    @property
    def n_combinations(self) -> int:
        """How many combinations there are, forbidden ones among them."""
        return math.prod(self.shape)

    @property
    def is_plain(self) -> bool:
        """Whether nothing interacts, nothing is forbidden and probabilities are multiplied: what theory is about."""
        return self.scale == "product" and not self._together and not len(self.rules)

    @property
    def is_rank_one(self) -> bool:
        """Whether this is the world of a `RankOne`."""
        return self.is_plain and len(self.factors) == 2

    @property
    def _kind(self) -> str:
        """The kind by which the world goes: that of two factors without more has one, whatever they are called."""
        return RANK_ONE if self.is_rank_one and self.kind == Product.kind else self.kind

    def as_rank_one(self) -> RankOne:
        """Return the same problem of two factors as rows and columns."""
        from rankone.problems.rank_one import RankOne

        if not self.is_rank_one:
            raise InputError("a product of two factors, without more", f"{self!r}", "leave the others out")
        (rows, cols), (row_names, col_names) = self.factors.values(), self.level_names.values()
        return RankOne(rows, cols, row_names=row_names, col_names=col_names, name=self.name)

    def start(self) -> Any:
        """Return the world before the first decision."""
        if not self.is_rank_one:
            return self.world()
        rows, cols = self.factors.values()
        return RankOneWorld(rows, cols, np.array([self.best_mean]))

    def world(self) -> ProductWorld:
        """Return the same world as parts of any number of factors, also where there are two."""
        together, tables = np.empty((len(self._together), 4), np.int64), [np.empty(0)]
        for index, ((one, other), table) in enumerate(self._together.items()):
            together[index] = one, other, sum(map(len, tables)), table.shape[1]
            tables.append(table.ravel())
        parts, base = np.concatenate(list(self.factors.values())), np.array([self._start, self.best_mean])
        scale = np.array([SCALES.index(self.scale)])
        return ProductWorld(parts, starts_of(self.shape)[:-1], together, np.concatenate(tables), base, scale)

    def _digest_of_numbers(self) -> str:
        """Hash of the numbers alone of two factors, whatever a subclass makes of them; of others, the digest."""
        if not self.is_rank_one:
            return self.digest
        data = np.concatenate([[self.shape[0]], *self.factors.values()]).astype("<f8").tobytes()
        return hashlib.sha256(data).hexdigest()[:16]

    @property
    def digest(self) -> str:
        """Hash of the world: problems with the same digest are the same world, whatever they are called."""
        if self._kind == RANK_ONE:  # a subclass may have another world
            return self._digest_of_numbers()
        if not len(self.rules):
            return super().digest
        return hashlib.sha256(super().digest.encode() + self.rules.astype("<i8").tobytes()).hexdigest()[:16]

    @functools.cached_property
    def means(self) -> Floats:
        """Click rate of each combination, an array with a dimension for each factor."""
        if self.n_combinations > _MOST_LOOKED_AT:
            got = f"{self.n_combinations:,}"
            raise InputError(f"at most {_MOST_LOOKED_AT:,} combinations for a table", got, "ask for one with `rate`")
        return self._rates(range(len(self.shape)))[0]

    def rate(self, *levels: int) -> float:
        """Return the click rate of one combination, by the indices of its levels.

        >>> round(Product({"a": [0.5, 0.4], "b": [0.3], "c": [0.9, 0.1]}).rate(1, 0, 0), 3)
        0.108
        """
        rate = self._start
        parts = [values[level] for values, level in zip(self.factors.values(), levels, strict=True)]
        parts += [table[levels[one], levels[other]] for (one, other), table in self._together.items()]
        for part in parts:
            rate = rate * part if self.scale == "product" else rate + part
        return float(1.0 / (1.0 + math.exp(-rate)) if self.scale == "logit" else rate)

    @property
    def _start(self) -> float:
        """What a combination has on its scale without any part."""
        return math.log(self.base / (1.0 - self.base)) if self.scale == "logit" else self.base

    def _rates(self, kept: Sequence[int], others: Callable[[Floats], float] = np.max) -> tuple[Floats, Mask]:
        """Return rates over all levels of the factors `kept`, each other one at its best level (or at its worst, or its
        mean, where that is right), and which of them may be shown."""
        multiply = self.scale == "product"
        rates = np.full([1] * len(self.shape), self._start)
        for index, values in enumerate(self.factors.values()):
            part = values if index in kept else np.array([others(values)])
            part = part.reshape([-1 if each == index else 1 for each in range(len(self.shape))])
            rates = rates * part if multiply else rates + part
        for (one, other), table in self._together.items():
            sizes = {one: len(table), other: table.shape[1]}
            part = table.reshape([sizes.get(each, 1) for each in range(rates.ndim)])
            rates = rates * part if multiply else rates + part
        allowed = allowed_table(self.rules, rates.shape)
        return (1.0 / (1.0 + np.exp(-rates)) if self.scale == "logit" else rates), allowed

    @functools.cached_property
    def _involved(self) -> list[int]:
        """Factors that interact or that a rule names: the others' best levels are best with everything."""
        named = {index for pair in self._together for index in pair} | set(np.argwhere(self.rules >= 0)[:, 1].tolist())
        if math.prod(self.shape[index] for index in named) > _MOST_LOOKED_AT:
            got = " x ".join(str(self.shape[index]) for index in sorted(named))
            expected = f"interactions and rules on at most {_MOST_LOOKED_AT:,} combinations"
            raise InputError(expected, got, "let fewer factors interact")
        return sorted(named)

    def _looked_at(self) -> None:
        """Find the best combination; refuse rates that are none, and rules that leave nothing to show."""
        rates, allowed = self._rates(self._involved)
        if not allowed.any():
            got = f"{len(self.rules)} that forbid all"
            raise InputError("rules that leave something to show", got, "take one away")
        for index in self._involved:
            alone = ~allowed.any(axis=tuple(other for other in range(allowed.ndim) if other != index))
            if alone.any():
                factor, names = list(self.level_names.items())[index]
                got = f"rules that forbid {names[int(np.argmax(alone))]} of {factor} with everything"
                raise InputError("rules that leave every level something to be shown with", got, "leave the level out")
        lowest = self._rates(self._involved, np.min)[0].min()
        if not lowest >= 0.0 or not rates.max() <= 1.0:
            got = f"{lowest:.4g}" if not lowest >= 0.0 else f"{rates.max():.4g}"
            raise InputError("click rates in [0, 1] of all combinations", got, "make effects or interactions smaller")
        best = np.unravel_index(np.where(allowed, rates, -1.0).argmax(), rates.shape)
        others = [int(np.argmax(values)) for values in self.factors.values()]
        for index in self._involved:
            others[index] = int(best[index])
        self._best = tuple(others)
        self.best_mean = self.rate(*self._best)

    def best_decision(self) -> tuple[int, ...]:
        """Return the best combination, the first of several."""
        return self._best

    @property
    def best_levels(self) -> list[str]:
        """The names of the best combination's levels."""
        return [names[level] for names, level in zip(self.level_names.values(), self._best, strict=True)]

    def allows(self, levels: Sequence[int]) -> bool:
        """Tell whether no rule forbids a combination, by the indices of its levels.

        >>> problem = Product({"a": [0.5, 0.4], "b": [0.3, 0.2]}, forbidden=[{"a": "a 1", "b": "b 2"}])
        >>> problem.allows([0, 1]), problem.allows([1, 1])
        (False, True)
        """
        return not any(
            all(own in (-1, level) for own, level in zip(rule, levels, strict=True)) for rule in self.rules.tolist()
        )

    def rates_with_each_level(self) -> Iterator[tuple[str, str, float | None]]:
        """Yield factor, level, and the click rate of the best combination with it instead; None: that is forbidden."""
        best = self.best_decision()
        for index, (factor, names) in enumerate(self.level_names.items()):
            for level, name in enumerate(names):
                changed = (*best[:index], level, *best[index + 1 :])
                yield factor, name, self.rate(*changed) if self.allows(changed) else None

    @functools.cached_property
    def peaks(self) -> int | None:
        """Combinations that no single change makes better; of more than one, local policies may miss the best.

        None: there are too many to look at. What is forbidden is no change.
        """
        if self.is_plain:
            return 1
        if self.n_combinations > _MOST_LOOKED_AT:
            return None
        rates, allowed = self._rates(range(len(self.shape)))
        shown = np.where(allowed, rates, -1.0)
        peak = allowed.copy()
        for axis in range(shown.ndim):
            peak &= shown >= shown.max(axis=axis, keepdims=True)
        return int((peak & (shown > 0.0)).sum()) or 1

    def loss_at_random(self) -> float | None:
        """Return how much less a combination drawn at random is clicked than the best, on average."""
        kept = range(len(self.shape)) if self.scale == "logit" else self._involved
        if math.prod(self.shape[index] for index in kept) > _MOST_LOOKED_AT:
            return None
        rates, allowed = self._rates(kept, np.mean)
        return self.best_mean - float(rates[allowed].mean())

    def worst_mean(self) -> float:
        """Return the click rate of the worst combination that may be shown.

        >>> Product({"a": [0.5, 0.4], "b": [0.5], "c": [1.0, 0.5]}).worst_mean()
        0.1
        """
        rates, allowed = self._rates(self._involved, np.min)
        return float(rates[allowed].min())

    def lower_bound_constant(self) -> float | None:
        """Return C: no policy that is good on every product has less regret than about C log n."""
        from rankone.problems.theory.bounds import lower_bound_constant

        return lower_bound_constant(self) if self.is_plain else None

    def facts(self) -> dict[str, float]:
        """Return sizes and the smallest gap."""
        gaps = [gap for values in self.factors.values() for gap in (values.max() - values).tolist() if gap > 0.0]
        return {"lines": sum(self.shape), "pairs": self.n_combinations, "min_gap": min(gaps, default=math.inf)}

    def description(self) -> dict[str, Any]:
        """Return sizes, the best combination, and whether single changes lead there."""
        result = {
            "factors": self._sizes(),
            "combinations": self.n_combinations,
            "best combination": " + ".join(self.best_levels),
            "click rate of the best": self.best_mean,
        }
        alone = [name for name, values in self.factors.items() if len(values) == 1]
        if alone:
            result["factors with one level, nothing to find out"] = ", ".join(alone)
        if len(self.rules):
            result["never shown together"] = "; ".join(" + ".join(rule.values()) for rule in self._named_rules())
        if self.peaks != 1:
            several = "several are possible" if self.peaks is None else self.peaks
            result["combinations that no single change makes better"] = several
        return result

    def to_dict(self) -> dict[str, Any]:
        """Plain values that ``Product(**values)`` turns back into the same problem."""
        result: dict[str, Any] = {"name": self.name, "level_names": self.level_names}
        result["factors"] = {name: values.tolist() for name, values in self.factors.items()}
        if self.interactions:
            result["interactions"] = [
                [*pair, *levels, part] for pair, parts in self.interactions.items() for levels, part in parts.items()
            ]
        if len(self.rules):
            result["forbidden"] = self._named_rules()
        if self.scale != "product":
            result |= {"scale": self.scale, "base": self.base}
        return result

    def save(self, path: str | Path) -> None:
        """Write the problem to a ``.json`` file, or a plain product to ``.csv``, that `rankone.as_problem` reads."""
        from rankone.problems.files import save_problem

        save_problem(self, path)

    def _named_rules(self) -> list[dict[str, str]]:
        return [
            {
                factor: names[level]
                for (factor, names), level in zip(self.level_names.items(), rule, strict=True)
                if level >= 0
            }
            for rule in self.rules.tolist()
        ]

    @property
    def title(self) -> str:
        """The name in words; of a problem that was given none, what it looks like."""
        if not self.name.startswith(self._unnamed):
            return in_words(self.name)
        return f"{self._sizes()}, best click rate {self.best_mean:.3g}"

    def _sizes(self) -> str:
        return " x ".join(f"{name} ({len(values)})" for name, values in self.factors.items())

    def _sentence(self) -> str:
        return repr(self)

    def _tables(self) -> dict[str, Any]:
        factor = [name for name, values in self.factors.items() for _ in values]
        level = [level for names in self.level_names.values() for level in names]
        part = np.concatenate([*self.factors.values()]).tolist()
        return {
            "levels": {"factor": factor, "level": level, "probability" if self.scale == "product" else "effect": part}
        }

    def __eq__(self, other: object) -> bool:
        """Problems are equal that are the same world under the same names; rows and columns are two factors."""
        if isinstance(other, Product) and self.kind != other.kind and self._kind == other._kind == RANK_ONE:
            return self.as_rank_one().to_dict() == other.as_rank_one().to_dict()
        return super().__eq__(other)

    def __hash__(self) -> int:
        return hash((self._kind, self.name, self.shape))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {' x '.join(map(str, self.shape))}, best {self.best_mean:.4g}>"
