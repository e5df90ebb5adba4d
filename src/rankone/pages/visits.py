"""One run with visitors who come by themselves, told in frames: who came, what the policy presumed of them, what it
showed, and what is best for them.

The world says who is there (`Problem.visitor`), the policy what it expects of them (`presume`). Frames lie close
together at the start, then ever further apart, and at some visits of the visitor who came first.
"""

import string
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import compiled
from rankone.kernels.policy import Presumed, presume
from rankone.kernels.world import observe, respond
from rankone.numerics.arrays import Floats, starts_of
from rankone.numerics.seeds import generator
from rankone.pages.narration import Combination, named
from rankone.pages.recording import Estimate, Frame
from rankone.policies import Agent, Policy
from rankone.problems import Problem, Product
from rankone.specs import amount
from rankone.wording.combinations import UNNAMED
from rankone.wording.numbers import percent

SHARES: dict[Combination, str] = {(0,): "best for the visitor", (1,): "another"}  # what a frame counts its visits by
_BEST, _ANOTHER = SHARES
_DENSE, _STRETCHES = 12, 60  # visits told one by one at first, then frames
_ITEM = "item"
_NEVER = -1e8  # a lower score only says that an item is not to be shown


class _Visit(NamedTuple):
    """One decision, and whom it was for."""

    who: str
    number: int  # of the visits of this visitor
    rates: Floats  # what each combination earns of this visitor on average
    shown: Combination
    presumed: Presumed | None
    outcome: float | None  # None: it is never known


class VisitRecorder:
    """Plays one run and keeps its frames."""

    about_levels = sweeps = False
    interval = ""

    def __init__(self, policy: Policy, problem: Problem, horizon: int, seed: int) -> None:
        self.problem = _scene(problem)
        self.unit = problem.known().get("unit")  # of payoffs; None: clicks
        self.frames: list[Frame] = []
        self._agent = Agent(policy, *problem.shape, seed=seed, n_context=problem.n_context)
        presumes = presume.has(type(self._agent.state))
        self.scored_by = "what the policy expects of this visitor, as drawn or bounded" if presumes else ""
        self._of, self._horizon, self._world = problem, horizon, problem.start()
        self._rng = generator(seed, "explain", problem.digest, policy.label)
        self._context, self._outcome = np.zeros(problem.n_context), np.zeros(1, np.int64)
        self._observe, self._respond = (compiled(each, type(self._world).__module__) for each in (_observe, _respond))
        self._starts = starts_of(problem.shape)
        self._shown, self._earned = np.zeros(self._starts[-1], np.int64), np.zeros(self._starts[-1])
        self._of_visitors: Counter[tuple[str, Combination, str]] = Counter()
        self._visits: Counter[str] = Counter()
        self._fresh: Counter[Combination] = Counter()
        self._regret, self._step, self._late = 0.0, 0, 0

    def play(self) -> list[Frame]:
        """Play the run to its horizon; return the frames."""
        self._keep("start", self._start_text())
        told = min(self._horizon, _DENSE)
        wanted = set(np.geomspace(told, self._horizon, _STRETCHES).round().astype(int).tolist())
        followed = ""
        while self._step < self._horizon:
            visit = self._next_visit()
            followed = followed or visit.who
            is_told_alone = self._step <= told
            is_event = visit.who == followed and visit.number.bit_count() == 1  # visits 1, 2, 4, 8, ...
            if is_told_alone or is_event or self._step in wanted:
                kind = "visitor" if is_event else "decision" if is_told_alone else "stretch"
                before = f"{self._stretch_text()} " if self._fresh.total() > 1 else ""
                self._keep(kind, before + self._visit_text(visit), visit)
        self._keep("end", self._end_text())
        return self.frames

    @property
    def _late_from(self) -> int:
        """After so many decisions the run is nearly over: what is shown then shows what was learned."""
        return self._horizon - max(1, self._horizon // 10)

    def _next_visit(self) -> _Visit:
        self._observe(self._world, self._step, self._rng, self._context)
        who, rates = self._of.visitor(self._world) or ("a visitor", np.zeros(self.problem.shape))
        decision = self._agent.ask(self._context.tolist())
        presumed, shown, outcome = presume(self._agent.state, self._context), decision.shown, None
        if self._respond(self._world, np.array(shown), self._outcome, self._rng):
            self._agent.tell(decision, int(self._outcome[0]))
            outcome = float(self._outcome[0]) * (self.unit or 1.0)
        else:
            self._agent.void(decision)
        is_best = bool(rates[shown] == rates.max())
        own = self._starts[:-1] + shown
        self._shown[own] += 1
        self._earned[own] += outcome or 0.0
        self._of_visitors[who, shown, "shown"] += 1
        self._of_visitors[who, shown, "clicked"] += outcome is not None and outcome > 0.0
        self._visits[who] += 1
        self._fresh[_BEST if is_best else _ANOTHER] += 1
        self._late += is_best and self._step >= self._late_from
        self._regret += float(rates.max() - rates[shown])
        self._step += 1
        return _Visit(who, self._visits[who], rates, shown, presumed, outcome)

    def _keep(self, kind: str, text: str, visit: _Visit | None = None) -> None:
        self.frames.append(
            Frame(
                step=self._step,
                kind=kind,
                text=text,
                stage=None,
                decision=None if visit is None else visit.shown,
                clicked=None if visit is None or self.unit or visit.outcome is None else visit.outcome > 0.0,
                sweeps=None,
                leader=None if visit is None else visit.shown,
                regret=self._regret,
                fresh=dict(self._fresh),
                shown=self._shown.copy(),
                clicks=self._earned.copy(),
                left=np.ones(len(self._shown), bool),
                levels=self._estimates(visit),
                pairs=None,
                who="" if visit is None else f"{visit.who}, visit {visit.number:,}",
            )
        )
        self._fresh.clear()

    def _estimates(self, visit: _Visit | None) -> list[list[Estimate]]:
        """What is known of each level, with the other levels shown: what this visitor did, and would do."""
        nothing = Estimate(0, 0, None, None, None, True, None)
        if visit is None:
            return [[nothing] * size for size in self.problem.shape]
        result, shown = [], visit.shown
        for factor, size in enumerate(self.problem.shape):
            own = []
            for each in [(*shown[:factor], level, *shown[factor + 1 :]) for level in range(size)]:
                line = nothing._replace(truth=float(visit.rates[each]))
                if not self.unit:  # items with payoffs are others at each visit
                    pulls, clicks = (self._of_visitors[visit.who, each, what] for what in ("shown", "clicked"))
                    line = line._replace(pulls=pulls, clicks=clicks)
                if visit.presumed is not None:
                    score = float(visit.presumed.scores[np.ravel_multi_index(each, self.problem.shape)])
                    line = line._replace(score=score if score > _NEVER else None)
                own.append(line)
            result.append(own)
        return result

    def _named(self, shown: Combination) -> str:
        """Name what is shown; an item without the word."""
        return f"'{self.problem.level_names[_ITEM][shown[0]]}'" if len(shown) == 1 else named(self.problem, shown)

    def _start_text(self) -> str:
        name, alike = (
            self._agent.policy.name,
            "" if self._agent.policy.uses_context else ", in the same way for all of them",
        )
        return (
            f"Visitors come as they like, and {name} picks what each of them sees{alike}: "
            f"{amount(self._horizon, 'decision')}. What is best may differ from visitor to visitor; regret compares "
            "each decision with the best for this visitor."
        )

    def _visit_text(self, visit: _Visit) -> str:
        rates, shown = visit.rates, visit.shown
        best = tuple(int(level) for level in np.unravel_index(int(rates.argmax()), rates.shape))
        group = visit.presumed.group if visit.presumed else ""
        counted = f" {self._agent.policy.name} counts them in {group}." if group else ""
        right = f"the best for them, {rates[shown]:.2f} on average"
        if rates[shown] < rates[best]:
            right = f"{rates[shown]:.2f} on average for them; the best is {self._named(best)} with {rates[best]:.2f}"
        came = "a click" if visit.outcome else "no click"
        if self.unit and visit.outcome is not None:
            came = f"a payoff of {visit.outcome:.2f}"
        return (
            f"{visit.who[0].upper()}{visit.who[1:]}, visit {visit.number:,}.{counted} "
            f"Shown: {self._named(shown)}, {right}. Outcome: {came}."
        )

    def _stretch_text(self) -> str:
        since, total = self.frames[-1], self._fresh.total()
        share, lost = percent(self._fresh[_BEST] / total, 2), (self._regret - since.regret) / total
        span = f"Decisions {since.step + 1:,} to {self._step:,}"
        return f"{span}: {share} showed the best for the visitor, {lost:.2g} lost each."

    def _end_text(self) -> str:
        last = self._horizon - self._late_from
        cost = f"{self._regret:,.0f} of payoff" if self.unit else amount(round(self._regret), "click")
        return (
            f"The end, after {amount(self._horizon, 'decision')}: {percent(self._late / last, 2)} of the last {last:,} "
            f"showed the best for the visitor. Learning cost about {cost}, compared with showing the best for each "
            "visitor from the start."
        )


def _scene(problem: Problem) -> Product:
    """Return a product with the factors and levels of a problem; its numbers mean nothing."""
    count, names = len(problem.shape), string.ascii_uppercase
    factors = [_ITEM] if count == 1 else UNNAMED if count == 2 else names[:count]
    items = {_ITEM: getattr(problem, "item_names", None)} if count == 1 else {}
    numbers = {factor: np.full(size, 0.5) for factor, size in zip(factors, problem.shape, strict=True)}
    return Product(numbers, level_names=items, name=problem.name)


def _observe(world: Any, step: int, rng: Any, context: Any) -> None:
    observe(world, step, rng, context)


def _respond(world: Any, shown: Any, outcome: Any, rng: Any) -> bool:
    return respond(world, shown, outcome, rng)
