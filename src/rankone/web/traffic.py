"""A simulated audience: visitors who click by the probabilities of a problem, labelled as simulated in the journal."""

import dataclasses
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    if isinstance(problem, Arrivals):
        return {"item": [f"item {number}" for number in range(1, problem.shape[0] + 1)]}
    world = _at_first(problem)
    if isinstance(world, Visitors):
        names = ("row", "col") if len(world.shape) == 2 else [f"factor {own + 1}" for own in range(len(world.shape))]
        return {name: [f"{name} {k + 1}" for k in range(size)] for name, size in zip(names, world.shape, strict=True)}
    if isinstance(world, Product) and not isinstance(world, RankOne):
        return {factor: list(names) for factor, names in world.level_names.items()}
    return {"row": list(world.row_names), "col": list(world.col_names)}


def truth_of(problem: Problem, named: Mapping[str, Sequence[str]]) -> str:
    """Say what an experiment should find, in these names of levels."""
    if isinstance(problem, ListProblem):
        (names,) = named.values()
        return f"the best items are {listed([names[item] for item in problem.best_decision()])}"
    if isinstance(problem, Arrivals):
        of_all, each = problem.shares @ problem.rates, float(problem.shares @ problem.rates.max(axis=1))
        liked = {factor: levels[int(np.argmax(of_all))] for factor, levels in named.items()}
        return f"{combination_text(liked)} for all, {percent(of_all.max())} clicks; the best for each, {percent(each)}"
    world = _at_first(problem)
    if isinstance(world, Visitors):
        rates = world.rates().reshape(-1, math.prod(world.shape))
        places = np.unravel_index(int(rates.mean(axis=0).argmax()), world.shape)
        levels = {factor: names[int(level)] for (factor, names), level in zip(named.items(), places, strict=True)}
        average, own = float(rates.mean(axis=0).max()), float(rates.max(axis=1).mean())
        return (
            f"{combination_text(levels)} on average, {percent(average)} clicks; with the best for each, {percent(own)}"
        )
    best = world.best_decision() or (0,) * len(world.shape)
    rate = float(world.means.max()) if isinstance(world, Means) else world.best_mean
    levels = {factor: names[level] for (factor, names), level in zip(named.items(), best, strict=True)}
    then = " at first; then it changes" if isinstance(problem, Drifting) else ""
    return f"{combination_text(levels)}, {percent(rate)} clicks{then}"


def attributes_of(problem: Problem) -> list[str]:
    """Return the names of the features of a world's visitors, each true or false; none where they have none."""
    return [f"feature {k + 1}" for k in range(problem.n_context)] if isinstance(problem, Visitors) else []


def _at_first(problem: Problem) -> RankOne | Product | Means | Visitors:
    """Return a world on pairs or combinations as its first visitor finds it."""
    world = problem.problem if isinstance(problem, Drifting) else problem
    if not isinstance(world, (RankOne, Product, Means, Visitors)):
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
    workers: int = 2,
    seed: int = 0,
    context: VisitorContext | Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] = lambda visits, clicks: None,
) -> tuple[int, int]:
    """Send visitors to an experiment, which is made if it is missing; return (visits, clicks).

    At most `rate` visits a second come in batches of `batch`, over `workers` connections, until there were `visits`
    of them (None: until interrupted). `policy` is for an experiment that is made. `context` is said of all these
    visitors: run it again, with another problem, for those of another one. `progress` hears of visits and clicks.
    Where users arrive by themselves (`latent:50x5`), the policy that is made chooses for each, and each is asked for.
    """
    names = [each["name"] for each in client.experiments()]
    if name not in names:
        _create(client, name, problem, policy, context)
    experiment = client.experiment(name)
    if isinstance(problem, Product) and name not in names:
        for rule in problem.to_dict().get("forbidden", ()):
            experiment.forbid(rule)
    report = experiment.report()
    factors = [[level.name for level in factor.levels] for factor in report.factors]
    own = [*map(len, factors), *([report.ranking.positions] if report.ranking else [])]
    sizes, wanted = (" x ".join(map(str, shape)) for shape in (own, problem.shape))
    if sizes != wanted:
        raise InputError(f"a problem of {sizes}, as experiment '{name}' is", wanted, "change --problem")
    if report.drawn is not None and not isinstance(problem, Arrivals):
        do = "try --problem latent:50x5"
        raise InputError(f"a problem with users, as '{name}' chooses for each visitor", repr(problem), do)
    named = report.drawn is not None
    audience = _Audience(experiment, problem, factors, rate, visits, batch, seed, context, progress, named)
    threads = [threading.Thread(target=audience.visit, args=(number,), daemon=True) for number in range(workers)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(0.1)
    except KeyboardInterrupt:
        audience.end()
        for thread in threads:
            thread.join()
    if audience.failure is not None:
        raise audience.failure
    return audience.visits, audience.clicks


def _create(client: Client, name: str, problem: Problem, policy: str | None, context: Any) -> None:
    declared: Any = None if context is None else dict.fromkeys(checked_context(context).attributes)
    policy = policy or (PERSONAL if isinstance(problem, Arrivals) else None)
    if attributes_of(problem):
        declared, policy = (declared or {}) | dict.fromkeys(attributes_of(problem), "bool"), policy or "logit-ts"
    size: dict[str, Any] = {"positions": problem.n_positions} if isinstance(problem, ListProblem) else {}
    client.create(name, policy=policy, factors=names_of(problem), context=declared, **size)


@dataclasses.dataclass
class _Audience:
    """What the workers share."""

    experiment: RemoteExperiment
    problem: Problem
    factors: Sequence[Sequence[str]]
    rate: float
    limit: int | None
    batch: int
    seed: int
    context: VisitorContext | Mapping[str, Any] | None
    progress: Callable[[int, int], None]
    named: bool  # the experiment is told who comes
    visits: int = 0
    clicks: int = 0
    failure: BaseException | None = None

    def __post_init__(self) -> None:
        self._world = self.problem.start()
        self._came = 0  # visitors who saw something, which is the time of a world that changes
        self._indices = [{name: index for index, name in enumerate(names)} for names in self.factors]
        self._mutex, self._started, self._began = threading.Lock(), 0, time.monotonic()
        self._over = threading.Event()

    def end(self) -> None:
        """Send no more visitors."""
        self._over.set()

    def visit(self, worker: int) -> None:
        """Send batch after batch of visitors until it is over."""
        rng = generator(self.seed, "audience", worker)
        try:
            while (count := self._next()) and not self._over.is_set():
                decisions, clicks = self._visit(count, rng)
                outcomes = zip((decision.id for decision in decisions), clicks, strict=True)
                for answer in self.experiment.tell_many(outcomes, source=SIMULATED):
                    if isinstance(answer, Exception):
                        raise answer
                with self._mutex:
                    self.visits += count
                    self.clicks += sum(map(bool, clicks))
                    self.progress(self.visits, self.clicks)
        except BaseException as error:
            self.failure = error
            self.end()
        finally:
            self.experiment.close()

    def _visit(self, count: int, rng: np.random.Generator) -> tuple[list[Decision], list[Any]]:
        """Ask for some visitors; return what each is shown, and whether it is clicked."""
        if isinstance(self.problem, Arrivals):
            return self._visit_of_users(self.problem, count, rng)
        if not isinstance(self.problem, Visitors):
            made = self.experiment.ask(count, source=SIMULATED, context=self.context)
            return made, [self._clicks(each, rng) for each in made]
        decisions, clicks = [], []
        known = {} if self.context is None else checked_context(self.context).to_dict()
        for _ in range(count):
            features = rng.integers(2, size=self.problem.n_context)
            said = known | dict(zip(attributes_of(self.problem), map(bool, features), strict=True))
            decisions += self.experiment.ask(1, source=SIMULATED, context=said)
            shown = self._numbers(decisions[-1].levels.values())
            clicks.append(bool(rng.random() < self.problem.rates(features[None])[(0, *shown)]))
        return decisions, clicks

    def _numbers(self, levels: Iterable[str]) -> tuple[int, ...]:
        return tuple(index[name] for index, name in zip(self._indices, levels, strict=True))

    def _visit_of_users(
        self, problem: Arrivals, count: int, rng: np.random.Generator
    ) -> tuple[list[Decision], list[bool]]:
        about: dict[str, Any] = {"source": SIMULATED, "context": self.context}
        with self._mutex:
            (visits, window), first = self._world.cold.tolist(), self._came
            self._came += count
        users = [arriving(self._world.upto, visits, window, first + index, rng) for index in range(count)]
        if self.named:
            decisions = [self.experiment.ask(visitor=f"visitor {user + 1}", **about) for user in users]
        else:
            decisions = self.experiment.ask(count, **about)
        items = [self._numbers(made.levels.values())[0] for made in decisions]
        return decisions, [bool(rng.random() < rate) for rate in problem.rates[users, items]]

    def _clicks(self, made: Decision, rng: np.random.Generator) -> bool | list[int]:
        """Return whether a visitor clicks what is shown; of a list, at which positions."""
        if made.items is not None:
            items = np.array([self._indices[0][name] for name in made.items], np.int64)
            clicked = np.zeros(len(items), np.int64)
            respond(self._world, items, clicked, rng)
            return [int(at) + 1 for at in np.flatnonzero(clicked)]
        outcome = [0]
        with self._mutex:
            move(self._world, self._came, rng)
            self._came += 1
            respond(self._world, self._numbers(made.levels.values()), outcome, rng)
        return bool(outcome[0])

    def _next(self) -> int:
        """Return how many visitors come next, when it is time for them; 0: no more."""
        with self._mutex:
            count = self.batch if self.limit is None else min(self.batch, self.limit - self._started)
            due = self._began + self._started / self.rate
            self._started += count
        self._over.wait(max(0.0, due - time.monotonic()))
        return count
