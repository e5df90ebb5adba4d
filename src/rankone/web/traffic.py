"""A simulated audience: visitors who click by the probabilities of a problem, labelled as simulated in the journal."""

import contextlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rankone.client.client import Client, RemoteExperiment
from rankone.errors import InputError
from rankone.kernels.world import move, respond
from rankone.live.lists import ITEM
from rankone.live.messages import Decision
from rankone.live.visitor_attributes import VisitorContext, checked_context
from rankone.numerics.seeds import generator
from rankone.problems import Drifting, Means, Problem, Product, RankOne
from rankone.problems.arrivals import Arrivals
from rankone.problems.arrivals.arriving import arriving
from rankone.problems.contextual import Visitors
from rankone.problems.lists.base import ListProblem
from rankone.web.timeline import SIMULATED
from rankone.wording.combinations import combination_text
from rankone.wording.lists import listed
from rankone.wording.numbers import percent

PERSONAL = "mixture-ts"  # of an experiment that is made for users who arrive by themselves


def names_of(problem: Problem) -> dict[str, list[str]]:
    """Return the names of a problem's levels, by factor; refuse problems that no experiment on a page has.

    >>> import rankone
    >>> names_of(rankone.as_problem("needle:2x1|changes=1"))
    {'row': ['row 1', 'row 2'], 'col': ['col 1']}
    """
    if isinstance(problem, ListProblem):
        return {ITEM: list(problem.item_names)}
    world = _at_first(problem)
    if isinstance(world, Product) and not isinstance(world, RankOne):
        return {factor: list(names) for factor, names in world.level_names.items()}
    if isinstance(world, (RankOne, Means)):
        return {"row": list(world.row_names), "col": list(world.col_names)}
    sizes = world.shape[:1] if isinstance(world, Arrivals) else world.shape
    names = {1: ("item",), 2: ("row", "col")}.get(len(sizes), tuple(f"factor {k + 1}" for k in range(len(sizes))))
    return {name: [f"{name} {k + 1}" for k in range(size)] for name, size in zip(names, sizes, strict=True)}


def truth_of(problem: Problem, named: Mapping[str, Sequence[str]]) -> str:
    """Say what an experiment should find, in these names of levels."""
    if isinstance(problem, ListProblem):
        (names,) = named.values()
        return f"the best items are {listed([names[item] for item in problem.best_decision()])}"
    world, then = _at_first(problem), " at first; then it changes" if isinstance(problem, Drifting) else ""
    if isinstance(world, (Arrivals, Visitors)):
        users = isinstance(world, Arrivals)
        rates = world.rates if isinstance(world, Arrivals) else world.rates().reshape(-1, math.prod(world.shape))
        shares = world.shares if isinstance(world, Arrivals) else np.full(len(rates), 1.0 / len(rates))
        of_all, each = shares @ rates, float(shares @ rates.max(axis=1))
        sizes = [len(names) for names in named.values()]
        best: Sequence[Any] = np.unravel_index(int(np.argmax(of_all)), sizes)
        rate = float(of_all.max())
        then = f"{' for all' * users}; with the best for each, {percent(each)}"
    else:
        best = world.best_decision() or (0,) * len(world.shape)
        rate = float(world.means.max()) if isinstance(world, Means) else world.best_mean
    levels = {factor: names[int(level)] for (factor, names), level in zip(named.items(), best, strict=True)}
    return f"{combination_text(levels)}, {percent(rate)} clicks{then}"


def attributes_of(problem: Problem) -> list[str]:
    """Return the names of the features of a world's visitors, each true or false; none where they have none."""
    return [f"feature {k + 1}" for k in range(problem.n_context)] if isinstance(problem, Visitors) else []


def _at_first(problem: Problem) -> RankOne | Product | Means | Visitors | Arrivals:
    """Return a world as its first visitor finds it."""
    world = problem.problem if isinstance(problem, Drifting) else problem
    if not isinstance(world, (RankOne, Product, Means, Visitors, Arrivals)):
        raise InputError("a problem on pairs or combinations", repr(problem), "try needle:8x8, or a file")
    return world


def simulate_traffic(
    client: Client,
    name: str,
    problem: Problem,
    *,
    policy: str | None = None,
    rate: float = 200.0,
    visits: int | None = None,
    batch: int = 10,
    seed: int = 0,
    context: VisitorContext | Mapping[str, Any] | None = None,
    begin: Callable[[str], None] = lambda truth: None,
    progress: Callable[[int, int], None] = lambda visits, clicks: None,
) -> tuple[int, int]:
    """Send visitors to an experiment, which is made if it is missing; return (visits, clicks).

    At most `rate` visits a second come in batches of `batch`, until there were `visits` of them (None: until
    interrupted). `policy` is for an experiment that is made. `context` is said of all these
    visitors: run it again, with another problem, for those of another one. `begin` hears the truth, `progress` visits
    and clicks. Where users arrive by themselves (`latent:50x5`), the policy that is made chooses for each.
    """
    known = {} if context is None else checked_context(context).to_dict()
    if name not in [each["name"] for each in client.experiments()]:
        _create(client, name, problem, policy, known)
    experiment = client.experiment(name)
    factors, named = _levels_of(experiment, problem)
    begin(truth_of(problem, factors))
    audience = _Audience(experiment, problem, list(factors.values()), known, named)
    rng, came, began = generator(seed, "audience"), 0, time.monotonic()
    with contextlib.suppress(KeyboardInterrupt):
        while count := batch if visits is None else min(batch, visits - came):
            time.sleep(max(0.0, began + came / rate - time.monotonic()))
            came += count
            audience.visit(count, rng)
            progress(audience.visits, audience.clicks)
    experiment.close()
    return audience.visits, audience.clicks


def _levels_of(experiment: RemoteExperiment, problem: Problem) -> tuple[dict[str, list[str]], bool]:
    """Return the levels that visitors may see, and whether it is told who comes; refuse another world's visitors."""
    report = experiment.report()
    factors = {factor.name: [level.name for level in factor.levels] for factor in report.factors}
    own = [*map(len, factors.values()), *([report.ranking.positions] if report.ranking else [])]
    sizes, wanted = (" x ".join(map(str, shape)) for shape in (own, problem.shape))
    if sizes != wanted:
        raise InputError(f"a problem of {sizes}, as experiment '{experiment.name}' is", wanted, "change --problem")
    if report.drawn is not None and not isinstance(problem, Arrivals):
        do = "try --problem latent:50x5"
        raise InputError(f"a problem with users, as '{experiment.name}' chooses for each visitor", repr(problem), do)
    return factors, report.drawn is not None


def _create(client: Client, name: str, problem: Problem, policy: str | None, known: Mapping[str, Any]) -> None:
    declared: dict[str, Any] = dict.fromkeys(known)
    if isinstance(problem, Visitors):
        declared, policy = declared | dict.fromkeys(attributes_of(problem), "bool"), policy or "logit-ts"
    if isinstance(problem, Arrivals):
        policy = policy or PERSONAL
    size: dict[str, Any] = {"positions": problem.n_positions} if isinstance(problem, ListProblem) else {}
    made = client.create(name, policy=policy, factors=names_of(problem), context=declared or None, **size)
    if isinstance(problem, Product):
        for rule in problem.to_dict().get("forbidden", ()):
            made.forbid(rule)


class _Audience:
    """Who visits: what they are shown and whether they click."""

    def __init__(
        self,
        experiment: RemoteExperiment,
        problem: Problem,
        factors: Sequence[Sequence[str]],
        known: Mapping[str, Any],
        named: bool,  # the experiment is told who comes
    ) -> None:
        self._experiment, self._problem, self._known, self._named = experiment, problem, known, named
        self._indices = [{name: index for index, name in enumerate(names)} for names in factors]
        self._world = problem.start()
        self._came = 0  # visitors who saw something, which is the time of a world that changes
        self.visits = self.clicks = 0

    def visit(self, count: int, rng: np.random.Generator) -> None:
        """Let some visitors come, and tell what they did."""
        decisions, clicks = self._visit(count, rng)
        outcomes = zip((decision.id for decision in decisions), clicks, strict=True)
        for answer in self._experiment.tell_many(outcomes, source=SIMULATED):
            if isinstance(answer, Exception):
                raise answer
        self.visits += count
        self.clicks += sum(map(bool, clicks))

    def _visit(self, count: int, rng: np.random.Generator) -> tuple[list[Decision], list[Any]]:
        """Ask for some visitors; return what each is shown, and whether it is clicked."""
        problem, ask, known = self._problem, self._experiment.ask, self._known or None
        if isinstance(problem, Visitors):
            features = rng.integers(2, size=(count, problem.n_context))
            names, rates = attributes_of(problem), problem.rates(features)
            said = [{**self._known, **dict(zip(names, map(bool, each), strict=True))} for each in features]
            made = [ask(source=SIMULATED, context=each) for each in said]
            shown = [rates[(index, *self._shown(each))] for index, each in enumerate(made)]
        elif isinstance(problem, Arrivals):
            users = self._arriving(count, rng)
            if self._named:
                made = [ask(visitor=f"visitor {user + 1}", source=SIMULATED, context=known) for user in users]
            else:
                made = ask(count, source=SIMULATED, context=known)
            shown = [problem.rates[user, self._shown(each)[0]] for user, each in zip(users, made, strict=True)]
        else:
            made = ask(count, source=SIMULATED, context=known)
            if isinstance(problem, ListProblem):
                return made, [self._clicked_positions(each, rng) for each in made]
            return made, [self._clicks(self._shown(each), rng) for each in made]
        return made, [bool(rng.random() < rate) for rate in shown]

    def _shown(self, made: Decision) -> tuple[int, ...]:
        return tuple(index[name] for index, name in zip(self._indices, made.levels.values(), strict=True))

    def _arriving(self, count: int, rng: np.random.Generator) -> list[int]:
        (visits, window), first = self._world.cold.tolist(), self._came
        self._came += count
        return [arriving(self._world.upto, visits, window, first + index, rng) for index in range(count)]

    def _clicked_positions(self, made: Decision, rng: np.random.Generator) -> list[int]:
        items = np.array([self._indices[0][name] for name in made.items or ()], np.int64)
        clicked = np.zeros(len(items), np.int64)
        respond(self._world, items, clicked, rng)
        return [int(at) + 1 for at in np.flatnonzero(clicked)]

    def _clicks(self, shown: tuple[int, ...], rng: np.random.Generator) -> bool:
        outcome = [0]
        move(self._world, self._came, rng)
        self._came += 1
        respond(self._world, shown, outcome, rng)
        return bool(outcome[0])
