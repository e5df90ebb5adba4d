"""One run of a policy, told in frames: what it did, what it believed and whom it eliminated, moment by moment.

The run is played by the policy's own agent; what it believes is read off its state (`view` and `race` of
`rankone.kernels.policy`). Frames lie close together at the start, then ever further apart, and at every event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankone.kernels.policy import Race, View, race, view
from rankone.kernels.world import loss, respond
from rankone.numerics.arrays import Floats, Ints, Mask
from rankone.numerics.seeds import generator
from rankone.pages import narration
from rankone.policies import Agent, AgentDecision, Policy
from rankone.policies.advance import is_settled
from rankone.policies.engines.unimodal import LeaderState, leader_of
from rankone.problems import RankOne

_STRETCHES = 60  # frames of a run besides its first decisions and its events
_LEADER_CHANGES = 20  # told at the most


@dataclass(frozen=True)
class Estimate:
    """What is believed of one level: its own mean, or that of its pair with the leading partner."""

    pulls: int
    clicks: int
    low: float | None
    high: float | None
    score: float | None
    left: bool
    truth: float | None  # what `clicks / pulls` estimates


@dataclass(frozen=True)
class Frame:
    """One moment of a run."""

    step: int  # decisions made
    kind: str  # start, decision, stretch, leader, stage ends, eliminates, restarts, settled or end
    text: str
    stage: int | None
    pair: tuple[int, int] | None  # the last decision
    clicked: bool | None
    sweeps: str | None  # "rows" or "cols": what the last decision measured
    leader: tuple[int, int] | None  # None while nothing is known
    regret: float
    shown: Ints  # (K, L) decisions so far
    clicks: Ints  # (K, L)
    left: Mask  # (K, L) pairs not eliminated
    rows: list[Estimate]
    cols: list[Estimate]


class Recorder:
    """Plays one run and keeps its frames."""

    def __init__(self, policy: Policy, problem: RankOne, horizon: int, seed: int) -> None:
        self.problem, self.horizon = problem, horizon
        self.agent = Agent(policy, *problem.shape, seed=seed)
        self.frames: list[Frame] = []
        self._world = problem.start()
        self.interval = self.scored_by = ""
        self._outcomes = generator(seed, "explain", problem.digest, policy.label)
        shape = (problem.n_rows, problem.n_cols)
        self._shown, self._clicks = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        self._met = np.zeros((2, *shape), np.int64)  # outcomes counted for the row, and for the column
        self._last: tuple[AgentDecision, bool] | None = None
        self._regret, self._step = 0.0, 0
        self.about_levels = False

    def play(self) -> list[Frame]:
        """Play the run to its horizon, or until nothing can change; return the frames."""
        agent, levels = self.agent, sum(self._shown.shape)
        self._keep("start", narration.start(self.problem, agent.policy, self.horizon))
        eliminates = race(agent.state) is not None
        dense = min(self.horizon, 2 * levels if self.about_levels else 12)
        stretches = _STRETCHES // 2 if self.about_levels else _STRETCHES  # sweeps are much alike
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
            if self._step in wanted:
                self._keep_decision(decision, dense)
            elif changes < _LEADER_CHANGES and (new := self._leads()) is not None and new != leader:
                changes += 1
                self._keep("leader", narration.leader(self.problem, leader, new))
        else:
            self._end(self._result())
        return self.frames

    def _see(self, decision: AgentDecision) -> None:
        """Let the world answer, and count."""
        (row, col), tag = decision.shown, decision.tag
        outcome = [0]
        respond(self._world, (row, col), outcome, self._outcomes)
        clicked = bool(outcome[0])
        self.agent.tell(decision, clicked)
        if self.about_levels and tag >= 0:
            self._met[tag % 2, row, col] += 1
        self._count(row, col, 1, int(clicked))
        self._last = (decision, clicked)

    def _count(self, row: int, col: int, shown: int, clicks: int) -> None:
        self._shown[row, col] += shown
        self._clicks[row, col] += clicks
        self._regret += shown * float(loss(self._world, (row, col)))
        self._step += shown

    def _leads(self) -> tuple[int, int] | None:
        """Return the pair that leads, by the policy's own word."""
        state = self.agent.state
        leads = leader_of(state) if set(LeaderState._fields) <= set(state._fields) else -1
        return None if leads < 0 else self._pair(leads)

    def _pair(self, number: int) -> tuple[int, int]:
        return divmod(int(number), self.problem.n_cols)

    def _keep_decision(self, decision: AgentDecision, dense: int) -> None:
        clicked = self._last is not None and self._last[1]
        seen, standing = (view(self.agent.state), race(self.agent.state)) if self.about_levels else (None, None)
        if self._step > dense and seen is not None and standing is not None:
            self._keep("stretch", narration.swept_on(self.problem, standing.stage, seen))
        elif self._step > dense:
            self._keep("stretch", narration.stretch(self.problem, self.frames[-1], self._step, self._shown))
        elif self.about_levels:
            side = decision.tag % 2
            sweep = int(self._met[0, decision.row].sum() if side == 0 else self._met[1, :, decision.col].sum())
            self._keep("decision", narration.swept(self.problem, decision, side, sweep, clicked))
        else:
            self._keep("decision", narration.decided(self.problem, decision, self._leads(), clicked))

    def _note_race(self, before: Any) -> None:
        """Tell what the last `ask` eliminated, if it did: first the bounds it compared, then who is left."""
        was, now = race(before), race(self.agent.state)
        if was is None or now is None or _same(was, now):
            return
        if now.stage < was.stage:
            self._keep("restarts", narration.restarts(self._step))
            return
        left = self._pairs_left(self.agent.state, now)
        gone = narration.Gone(was, now, self._pairs_left(before, was), left)
        self._keep("stage ends", narration.stage_ends(self.problem, was.stage, view(before), gone), before)
        self._keep("eliminates", narration.eliminates(self.problem, now, gone, left))

    def _pairs_left(self, state: Any, standing: Race) -> Mask:
        seen = view(state)
        return np.logical_and.outer(standing.rows, standing.cols) if seen is None else self._left(seen)

    def _settle(self, decision: AgentDecision) -> None:
        pair = (decision.row, decision.col)
        text = narration.settles(self.problem, pair, self._step, self.horizon)
        if self.frames[-1].kind == "eliminates":  # one moment, one frame
            text = f"{self.frames.pop().text} {text}"
        self._keep("settled", text)
        rest = self.horizon - self._step
        self._count(*pair, rest, int(self._outcomes.binomial(rest, float(self.problem.means[pair]))))
        self._end(narration.found(self.problem, pair))

    def _result(self) -> str:
        """Return what came of a run that did not settle."""
        state = self.agent.state
        if (standing := race(state)) is None:
            return narration.preferred(self.problem, self._shown)
        return narration.undecided(self.problem, standing, self._pairs_left(state, standing))

    def _end(self, result: str) -> None:
        self._keep("end", narration.ends(self.problem, result, self.horizon, self._regret))

    def _keep(self, kind: str, text: str, state: Any = None) -> None:
        state = self.agent.state if state is None else state
        seen, standing = view(state), race(state)
        counted = view_of_counts(self._shown, self._clicks) if seen is None else seen
        self.interval, self.scored_by = counted.interval, counted.scored_by
        self.about_levels = counted.about != "pairs"
        last, clicked = self._last or (None, None)
        pair = None if last is None or kind in ("settled", "end") else (last.row, last.col)
        sweeps = ("rows", "cols")[last.tag % 2] if last is not None and self.about_levels and last.tag >= 0 else None
        leader = self._leader(counted)
        rows, cols = self._of_levels(counted) if self.about_levels else self._of_cross(counted, leader or (0, 0))
        self.frames.append(
            Frame(
                self._step,
                kind,
                text,
                None if standing is None else standing.stage,
                pair,
                clicked if pair else None,
                sweeps if pair else None,
                leader,
                self._regret,
                self._shown.copy(),
                self._clicks.copy(),
                self._left(counted),
                rows,
                cols,
            )
        )

    def _leader(self, seen: View) -> tuple[int, int] | None:
        """Return who leads: by the policy's own word, or by the best mean among those who are left."""
        n_rows = self.problem.n_rows
        if not seen.pulls.any() or (
            self.about_levels and not (seen.pulls[:n_rows].any() and seen.pulls[n_rows:].any())
        ):
            return None
        if seen.leader >= 0:
            return self._pair(seen.leader)
        mean = np.where(seen.left, seen.clicks / np.maximum(seen.pulls, 1), -1.0)
        if self.about_levels:
            return int(mean[:n_rows].argmax()), int(mean[n_rows:].argmax())
        return self._pair(int(mean.argmax()))

    def _left(self, seen: View) -> Mask:
        if self.about_levels:
            return np.logical_and.outer(seen.left[: self.problem.n_rows], seen.left[self.problem.n_rows :])
        return seen.left.reshape(self._shown.shape)

    def _of_levels(self, seen: View) -> tuple[list[Estimate], list[Estimate]]:
        sides: tuple[list[Estimate], list[Estimate]] = ([], [])
        for side, first in enumerate((0, self.problem.n_rows)):
            met = self._met[side] if side == 0 else self._met[side].T
            means = self.problem.means if side == 0 else self.problem.means.T
            for level in range(len(met)):
                counted = int(met[level].sum())
                known = 0 < counted == seen.pulls[first + level]
                truth = float((met[level] * means[level]).sum() / counted) if known else None
                sides[side].append(_estimate(seen, first + level, truth))
        return sides

    def _of_cross(self, seen: View, leader: tuple[int, int]) -> tuple[list[Estimate], list[Estimate]]:
        """Rows with the leading column, columns with the leading row."""
        n_rows, n_cols = self._shown.shape
        rows = [(row, leader[1]) for row in range(n_rows)]
        cols = [(leader[0], col) for col in range(n_cols)]
        found = [
            [_estimate(seen, row * n_cols + col, float(self.problem.means[row, col])) for row, col in side]
            for side in (rows, cols)
        ]
        return found[0], found[1]


def view_of_counts(shown: Ints, clicks: Ints) -> View:
    """Return what can be seen of a policy that does not say what it believes: its decisions and their clicks."""
    none = np.full(shown.size, np.nan)
    return View("pairs", shown.ravel().copy(), clicks.ravel().copy(), none, none, np.ones(shown.size, bool), "")


def _estimate(seen: View, place: int, truth: float | None) -> Estimate:
    def number(values: Floats | None, low: float, high: float) -> float | None:
        if values is None or np.isnan(values[place]):
            return None
        return float(np.clip(values[place], low, high))

    return Estimate(
        int(seen.pulls[place]),
        int(seen.clicks[place]),
        number(seen.low, 0.0, 1.0),
        number(seen.high, 0.0, 1.0),
        number(seen.score, -1e9, 1e9),
        bool(seen.left[place]),
        truth,
    )


def _same(was: Race, now: Race) -> bool:
    return was.stage == now.stage and all(map(np.array_equal, was.left, now.left))
