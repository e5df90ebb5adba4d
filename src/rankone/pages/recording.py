"""One run of a policy, told in frames: what it did, what it believed and whom it eliminated, moment by moment.

The run is played by the policy's own agent; what it believes is read off its state (`view` and `race` of
`rankone.kernels.policy`). Frames lie close together at the start, then ever further apart, and at every event.
"""

import functools
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import compiled
from rankone.kernels.policy import Race, View, race, view
from rankone.kernels.world import respond
from rankone.numerics.arrays import Floats, Ints, Mask, starts_of
from rankone.numerics.seeds import generator
from rankone.pages import narration
from rankone.pages.narration import Combination
from rankone.policies import Agent, AgentDecision, Policy
from rankone.policies.advance import is_settled
from rankone.policies.engines.unimodal import LeaderState, leader_of
from rankone.problems import Product

MOST_LEVELS = 16  # of each of two factors whose pairs are shown one by one
_STRETCHES = 60  # frames of a run besides its first decisions and its events
_LEADER_CHANGES = 20  # told at the most


class Estimate(NamedTuple):
    """What is believed of one level: its own mean, or its combination's with the leading partners."""

    pulls: int
    clicks: int
    low: float | None
    high: float | None
    score: float | None
    left: bool
    truth: float | None  # what `clicks / pulls` estimates


class PairTable(NamedTuple):
    """What is known of each pair of two factors, each (K, L)."""

    shown: Ints
    clicks: Ints
    left: Mask  # not eliminated


@dataclass(frozen=True)
class Frame:
    """One moment of a run."""

    step: int  # decisions made
    kind: str  # start, decision, stretch, visitor, leader, stage ends, eliminates, restarts, settled or end
    text: str
    stage: int | None
    decision: Combination | None  # the last one
    clicked: bool | None
    sweeps: int | None  # the factor whose level the last decision measured
    leader: Combination | None  # None while nothing is known
    regret: float
    fresh: dict[Combination, int]  # decisions since the frame before
    shown: Ints  # (levels of all factors,) decisions so far
    clicks: Ints | Floats
    left: Mask  # levels not eliminated
    levels: list[list[Estimate]]  # by factor
    pairs: PairTable | None  # of two factors, if they are not too large
    who: str = ""  # where visitors come by themselves, the one who is there


def _respond(world: Any, shown: Any, outcome: Any, rng: Any) -> None:
    respond(world, shown, outcome, rng)


class Recorder:
    """Plays one run and keeps its frames."""

    unit: float | None = None  # of payoffs; None: clicks

    def __init__(self, policy: Policy, problem: Product, horizon: int, seed: int) -> None:
        self.problem, self.horizon = problem, horizon
        self.agent = Agent(policy, *problem.shape, seed=seed, forbidden=problem.forbidden)
        self.frames: list[Frame] = []
        self.interval = self.scored_by = ""
        self._rng = generator(seed, "explain", problem.digest, policy.label)
        self._world, self._outcome = problem.start(), np.zeros(1, np.int64)
        self._respond = compiled(_respond, type(self._world).__module__)
        self._starts = starts_of(problem.shape)
        self._shown, self._clicks = np.zeros((2, self._starts[-1]), np.int64)
        self._met, self._met_rates = np.zeros(len(self._shown), np.int64), np.zeros(len(self._shown))  # in sweeps
        self._is_table = len(problem.shape) == 2 and max(problem.shape) <= MOST_LEVELS
        self._pairs = np.zeros((2, *problem.shape) if self._is_table else (2, 0), np.int64)
        self._total: Counter[Combination] = Counter()
        self._fresh: Counter[Combination] = Counter()
        self._last: tuple[AgentDecision, bool] | None = None
        self._regret, self._step = 0.0, 0
        # Estimates are of levels; otherwise of combinations with the leader's other levels.
        self.about_levels = self._seen(self.agent.state).about == "levels"
        self.sweeps = self.about_levels and race(self.agent.state) is not None

    def play(self) -> list[Frame]:
        """Play the run to its horizon, or until nothing can change; return the frames."""
        agent = self.agent
        self._keep("start", narration.start(self.problem, agent.policy, self.horizon))
        eliminates = race(agent.state) is not None
        dense = min(self.horizon, 2 * len(self._shown) if self.sweeps else 12)
        stretches = _STRETCHES // 2 if self.sweeps else _STRETCHES  # sweeps are much alike
        wanted = {*range(1, dense + 1), *np.geomspace(dense, self.horizon, stretches).round().astype(int).tolist()}
        changes = 0
        while self._step < self.horizon:
            before = type(agent.state)(*(array.copy() for array in agent.state)) if eliminates else None
            decision = agent.ask()
            if before is not None:
                self._note_race(before)
            if is_settled(agent.state):
                self._settle(decision)
                break
            leader = self.frames[-1].leader
            self._see(decision)
            new = self._leads()
            if self._step > dense and new is not None and new != leader and changes < _LEADER_CHANGES:
                changes += 1
                self._keep("leader", narration.leader(self.problem, leader, new))
            elif self._step in wanted:
                self._keep_decision(decision, dense)
        else:
            standing = race(agent.state)
            undecided = standing and narration.undecided(self.problem, standing, self._left(standing))
            self._end(undecided or narration.preferred(self.problem, self._total))
        return self.frames

    def _see(self, decision: AgentDecision) -> None:
        self._respond(self._world, np.array(decision.shown), self._outcome, self._rng)
        clicked = int(self._outcome[0])
        self._last = (decision, bool(clicked))
        self.agent.tell(decision, bool(clicked))
        if self.sweeps and decision.tag >= 0:
            own = self._level(decision, decision.tag % len(self.problem.shape))
            self._met[own] += 1
            self._met_rates[own] += self.problem.rate(*decision.shown)
        self._count(decision.shown, 1, clicked)

    def _level(self, decision: AgentDecision, factor: int) -> int:
        return int(self._starts[factor]) + decision.shown[factor]

    def _count(self, combination: Combination, shown: int, clicks: int) -> None:
        own = self._starts[:-1] + combination
        self._shown[own] += shown
        self._clicks[own] += clicks
        if self._is_table:
            self._pairs[0][combination] += shown
            self._pairs[1][combination] += clicks
        self._total[combination] += shown
        self._fresh[combination] += shown
        self._regret += shown * (self.problem.best_mean - self.problem.rate(*combination))
        self._step += shown

    def _leads(self) -> Combination | None:
        state = self.agent.state
        if not set(LeaderState._fields) <= set(state._fields) or (slot := leader_of(state)) < 0:
            return None
        return self._levels_of(int(state.keys[slot]) if len(state.keys) else slot)  # beyond a million there are slots

    def _levels_of(self, number: int) -> Combination:
        return tuple(int(level) for level in np.unravel_index(number, self.problem.shape))

    def _keep_decision(self, decision: AgentDecision, dense: int) -> None:
        clicked = self._last is not None and self._last[1]
        seen, standing = (view(self.agent.state), race(self.agent.state)) if self.sweeps else (None, None)
        if self._step > dense and seen is not None and standing is not None:
            self._keep("stretch", narration.swept_on(self.problem, standing.stage, seen))
        elif self._step > dense:
            self._keep("stretch", narration.stretch(self.problem, self.frames[-1].step, self._step, self._fresh))
        elif self.sweeps:
            factor = decision.tag % len(self.problem.shape)
            sweep = int(self._met[self._level(decision, factor)])
            self._keep("decision", narration.swept(self.problem, decision.shown, factor, sweep, clicked))
        else:
            self._keep("decision", narration.decided(self.problem, decision.shown, self._leads(), clicked))

    def _note_race(self, before: Any) -> None:
        """Tell what the last `ask` eliminated, if it did: first the bounds it compared, then who is left."""
        was, now = race(before), race(self.agent.state)
        if was is None or now is None or (was.stage == now.stage and all(map(np.array_equal, was.left, now.left))):
            return
        if now.stage < was.stage:
            self._keep("restarts", narration.restarts(self._step))
            return
        alive_before, alive = self._alive(before), self._alive(self.agent.state)
        others = 0
        if alive_before is not None and alive is not None:
            others = int((alive_before & ~alive & functools.reduce(np.logical_and.outer, now.left)).sum())
        gone = narration.Gone(self.problem, was, now, others)
        self._keep("stage ends", narration.stage_ends(self.problem, was.stage, view(before), gone), before)
        self._keep("eliminates", narration.eliminates(self.problem, now, gone, self._left(now)))

    def _alive(self, state: Any) -> Mask | None:
        """Return which combinations are left; None: all of the levels that are left."""
        seen = view(state)
        return None if seen is None or seen.about == "levels" else seen.left.reshape(self.problem.shape)

    def _left(self, standing: Race) -> int:
        alive = self._alive(self.agent.state)
        return narration.combinations(standing) if alive is None else int(alive.sum())

    def _settle(self, decision: AgentDecision) -> None:
        text = narration.settles(self.problem, decision.shown, self._step, self.horizon)
        if self.frames[-1].kind == "eliminates":  # one moment, one frame
            text = f"{self.frames.pop().text} {text}"
        self._keep("settled", text)
        rest = self.horizon - self._step
        self._count(decision.shown, rest, int(self._rng.binomial(rest, self.problem.rate(*decision.shown))))
        self._end(f"Finding {narration.named(self.problem, decision.shown)}")

    def _end(self, result: str) -> None:
        self._keep("end", narration.ends(self.problem, result, self.horizon, self._regret))

    def _keep(self, kind: str, text: str, state: Any = None) -> None:
        state = self.agent.state if state is None else state
        counted, standing = self._seen(state), race(state)
        self.interval, self.scored_by = counted.interval, counted.scored_by
        last, clicked = (None, None) if self._last is None or kind in ("settled", "end") else self._last
        leader = self._leader(counted)
        left = np.ones(len(self._shown), bool) if standing is None else np.concatenate(standing.left)
        pairs = None
        if self._is_table:
            by_level = np.logical_and.outer(*np.split(left, self._starts[1:2]))
            alive = by_level if counted.about == "levels" else counted.left.reshape(self.problem.shape)
            pairs = PairTable(self._pairs[0].copy(), self._pairs[1].copy(), alive)
        self.frames.append(
            Frame(
                step=self._step,
                kind=kind,
                text=text,
                stage=None if standing is None else standing.stage,
                decision=None if last is None else last.shown,
                clicked=clicked,
                sweeps=last.tag % len(self.problem.shape) if last and self.sweeps and last.tag >= 0 else None,
                leader=leader,
                regret=self._regret,
                fresh=dict(self._fresh),
                shown=self._shown.copy(),
                clicks=self._clicks.copy(),
                left=left,
                levels=self._estimates(counted, leader or (0,) * len(self.problem.shape)),
                pairs=pairs,
            )
        )
        self._fresh.clear()

    def _seen(self, state: Any) -> View:
        """Return what the policy believes, or, if it does not say, its decisions and their clicks."""
        if (seen := view(state)) is not None:
            return seen
        counts = self._pairs.reshape(2, -1) if self._is_table else np.array([self._shown, self._clicks])
        none, every = np.full(counts.shape[1], np.nan), np.ones(counts.shape[1], bool)
        return View("pairs" if self._is_table else "levels", counts[0].copy(), counts[1].copy(), none, none, every, "")

    def _leader(self, seen: View) -> Combination | None:
        """Return who leads: by the policy's own word, or by the best mean among those who are left."""
        if (leads := self._leads()) is not None or not seen.pulls.any():
            return leads
        mean = np.where(seen.left, seen.clicks / np.maximum(seen.pulls, 1), -1.0)
        if seen.about != "levels":
            return self._levels_of(int(mean.argmax()))
        spans = list(pairwise(self._starts.tolist()))
        known = all(seen.pulls[first:last].any() for first, last in spans)
        return tuple(int(mean[first:last].argmax()) for first, last in spans) if known else None

    def _estimates(self, seen: View, leader: Combination) -> list[list[Estimate]]:
        """What is believed of each level; where it is of combinations, of its own with the leading partners."""
        result = []
        for factor, size in enumerate(self.problem.shape):
            own = []
            for level in range(size):
                if seen.about == "levels":
                    index = int(self._starts[factor]) + level
                    met = int(self._met[index])
                    truth = float(self._met_rates[index] / met) if 0 < met == seen.pulls[index] else None
                else:
                    combination = (*leader[:factor], level, *leader[factor + 1 :])
                    index = int(np.ravel_multi_index(combination, self.problem.shape))
                    truth = self.problem.rate(*combination)
                own.append(_estimate(seen, index, truth))
            result.append(own)
        return result


def _estimate(seen: View, index: int, truth: float | None) -> Estimate:
    def number(values: Floats | None, low: float, high: float) -> float | None:
        return None if values is None or np.isnan(values[index]) else float(np.clip(values[index], low, high))

    bounds = number(seen.low, 0.0, 1.0), number(seen.high, 0.0, 1.0)
    score = number(seen.score, -1e9, 1e9)
    return Estimate(int(seen.pulls[index]), int(seen.clicks[index]), *bounds, score, bool(seen.left[index]), truth)
