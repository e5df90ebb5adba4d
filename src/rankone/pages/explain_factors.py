"""A policy at work on more than two factors: one run, told at a few moments, in sentences, as a page and as a chart.

Combinations may be too many to draw, so levels are: of each factor which share of the decisions each level had, and how
often it was clicked. Moments lie ever further apart; a change of the leader and an elimination have their own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from rankone.charts.chart import Chart
from rankone.charts.factors import factor_chart
from rankone.compiling.compiled import compiled
from rankone.kernels.policy import race
from rankone.kernels.world import loss, respond
from rankone.numerics.arrays import Ints, Mask, starts_of
from rankone.numerics.seeds import generator
from rankone.pages.explain import Explanation, made_again
from rankone.policies import Agent, Policy
from rankone.policies.engines.unimodal import LeaderState, leader_of
from rankone.problems import Product
from rankone.simulation.traffic import level_ratios
from rankone.specs import amount
from rankone.wording.combinations import combination_text
from rankone.wording.numbers import percent

Combination = tuple[int, ...]

_MOMENTS, _STRETCHES = 6, 40  # told; drawn
_MOST_LEVELS, _MOST_EVENTS = 12, 12  # of a factor in a table; changes of the leader that are told


@dataclass(frozen=True)
class FactorMoment:
    """What is known after some decisions."""

    step: int
    kind: str  # start, stretch, leader, eliminates or end
    text: str
    shown: Ints  # (levels of all factors,) decisions so far
    clicks: Ints
    regret: float
    leader: Combination | None  # by the policy's own word; None: it names none
    left: Mask | None  # levels not eliminated; None: it eliminates nothing


@dataclass(frozen=True, kw_only=True, repr=False)
class FactorExplanation(Explanation):
    """One run of a policy on any number of factors."""

    frames: list[FactorMoment]
    traffic: pl.DataFrame

    def _tables(self) -> dict[str, Any]:
        story = {"decision": [frame.step for frame in self.frames], "what": [frame.text for frame in self.frames]}
        return {"story": story}

    def chart(self) -> Chart:
        """Return the picture: of each factor how good its levels are, and who was shown when."""
        return factor_chart(level_ratios(self.problem), self.traffic, self._title)

    def html(self) -> str:
        """Return the page: one file, offline."""
        told = [frame for frame in self.frames if frame.kind in ("stretch", "end")]
        tables = [self._table(frame, before) for before, frame in pairwise([self.frames[0], *told])]
        return self._static_page(
            "explain_factors.html",
            f"{self.policy.name}, factor by factor",
            _sizes(self.problem),
            story=[frame.text for frame in self.frames],
            tables=tables,
            some=self._some(),
        )

    def _some(self) -> str:
        """Say where the page shows only some of the levels."""
        large = [f"{name} ({len(own)})" for name, own in self.problem.level_names.items() if len(own) > _MOST_LEVELS]
        if not large:
            return ""
        return f"Of {', '.join(large)} tables have the {_MOST_LEVELS} levels that were shown most."

    def _table(self, frame: FactorMoment, before: FactorMoment) -> dict[str, Any]:
        """Return what is known of levels, factor by factor, and their shares since the moment before."""
        rows, first, fresh = [], 0, frame.shown - before.shown
        for index, (factor, names) in enumerate(self.problem.level_names.items()):
            own = slice(first, first + len(names))
            for level in sorted(np.argsort(-frame.shown[own], kind="stable")[:_MOST_LEVELS].tolist()):
                at = first + level
                shown, clicks = int(frame.shown[at]), int(frame.clicks[at])
                notes = ["leads"] if frame.leader is not None and frame.leader[index] == level else []
                notes += ["eliminated"] if frame.left is not None and not frame.left[at] else []
                rate = f"{clicks / shown:.3g}" if shown else ""
                share = percent(fresh[at] / max(1, fresh[own].sum()), 2)
                rows.append([factor, names[level], share, f"{shown:,}", f"{clicks:,}", rate, ", ".join(notes)])
            first += len(names)
        heads = ["factor", "level", "share since then", "shown", "clicks", "click rate, all partners", ""]
        return {"when": f"After {amount(frame.step, 'decision')}", "heads": heads, "rows": rows}


def explain_factors(policy: Policy, problem: Product, horizon: int, seed: int, text: str | None) -> FactorExplanation:
    """Play one run of a policy on a problem of any number of factors; `text` is how the problem was named."""
    policy.check_kind(problem.decision_kind, problem.shape, "an explanation")
    recorder = _Recorder(policy.with_horizon(horizon).for_problem(*problem.best_decision()), problem, horizon, seed)
    recorder.play()
    return FactorExplanation(
        policy=policy,
        problem=problem,
        horizon=horizon,
        seed=seed,
        frames=recorder.frames,
        traffic=recorder.traffic(),
        again=made_again(policy, problem, horizon, seed, None if text is None else ["--problem", text]),
    )


def _answer(world: Any, shown: Any, outcome: Any, rng: Any) -> float:
    respond(world, shown, outcome, rng)
    return loss(world, shown)


class _Recorder:
    """Plays one run and keeps its moments."""

    def __init__(self, policy: Policy, problem: Product, horizon: int, seed: int) -> None:
        self.problem, self.horizon = problem, horizon
        self.agent = Agent(policy, *problem.shape, seed=seed, forbidden=problem.forbidden)
        self.frames: list[FactorMoment] = []
        self._rng = generator(seed, "explain", problem.digest, policy.label)
        self._first = starts_of(problem.shape)
        self._shown, self._clicks = np.zeros((2, self._first[-1]), np.int64)
        self._recent: Counter[Combination] = Counter()
        self._drawn: list[tuple[int, Ints]] = []
        self._regret, self._step = 0.0, 0

    def play(self) -> None:
        """Play to the horizon."""
        self._keep("start", self._start())
        told = _spread(_MOMENTS, self.horizon)
        drawn = {*np.linspace(0, self.horizon, min(self.horizon, _STRETCHES) + 1).round().astype(int).tolist()[1:]}
        world, outcome = self.problem.start(), np.zeros(1, np.int64)
        answer = compiled(_answer, type(world).__module__)
        events, leader, left = 0, None, self._left()
        while self._step < self.horizon:
            decision = self.agent.ask()
            now = self._left()
            if left is not None and now is not None and (now != left).any():
                self._keep("eliminates", self._eliminated(left, now))
                left = now
            lost = answer(world, np.array(decision.shown), outcome, self._rng)
            self.agent.tell(decision, bool(outcome[0]))
            at = self._first[:-1] + decision.shown
            self._shown[at] += 1
            self._clicks[at] += outcome[0]
            self._recent[decision.shown] += 1
            self._regret += lost
            self._step += 1
            new = self._leader()
            if new is not None and new != leader:
                if events < _MOST_EVENTS:
                    self._keep("leader", self._takes_over(new, leader, last=events + 1 == _MOST_EVENTS))
                events, leader = events + 1, new
            if self._step in drawn:
                self._drawn.append((self._step, self._shown.copy()))
            if self._step in told:
                self._keep("stretch" if self._step < self.horizon else "end", self._stretch())

    def traffic(self) -> pl.DataFrame:
        """Return the share of decisions of each level, stretch by stretch."""
        names = [(factor, level) for factor, own in self.problem.level_names.items() for level in own]
        rows = [
            (self.agent.policy.label, *name, step, share)
            for (before, was), (step, now) in pairwise([(0, np.zeros_like(self._shown)), *self._drawn])
            for name, share in zip(names, ((now - was) / (step - before)).tolist(), strict=True)
        ]
        kinds = {"policy": pl.String, "factor": pl.String, "level": pl.String, "step": pl.Int64, "share": pl.Float64}
        return pl.DataFrame(rows, kinds, orient="row")

    def _keep(self, kind: str, text: str) -> None:
        self.frames.append(
            FactorMoment(
                self._step,
                kind,
                text,
                self._shown.copy(),
                self._clicks.copy(),
                self._regret,
                self._leader(),
                self._left(),
            )
        )

    def _leader(self) -> Combination | None:
        state = self.agent.state
        if not set(LeaderState._fields) <= set(state._fields) or (slot := leader_of(state)) < 0:
            return None
        number = int(state.keys[slot]) if len(state.keys) else slot  # beyond a million, numbers have slots
        return tuple(int(level) for level in np.unravel_index(number, self.problem.shape))

    def _left(self) -> Mask | None:
        standing = race(self.agent.state)
        return None if standing is None else np.concatenate(standing.left)

    def _start(self) -> str:
        problem = self.problem
        changes = sum(problem.shape) - len(problem.shape)
        said = (
            f"{_sizes(problem)}: {amount(problem.n_combinations, 'combination')}, and "
            f"{amount(changes, 'single change')} of any one of them. "
            f"The best is {_named(problem, problem.best_decision())} with a click rate of "
            f"{problem.best_mean:.3g}; {self.agent.policy.name} does not know that, and has "
            f"{amount(self.horizon, 'decision')} to find out."
        )
        if problem.peaks != 1:
            said += " There may be combinations that no single change makes better, and that are not best."
        return said

    def _takes_over(self, new: Combination, old: Combination | None, last: bool) -> str:
        said = f"Decision {self._step:,}: {_named(self.problem, new)} takes the lead"
        if old is not None:
            changed = [
                f"{factor} '{names[was]}' to '{names[now]}'"
                for (factor, names), was, now in zip(self.problem.level_names.items(), old, new, strict=True)
                if was != now
            ]
            said += f" ({', '.join(changed)})"
        return said + ("; later changes are not told." if last else ".")

    def _eliminated(self, was: Mask, now: Mask) -> str:
        names = [f"{factor} '{name}'" for factor, own in self.problem.level_names.items() for name in own]
        gone = [names[place] for place in np.flatnonzero(was & ~now)]
        left = [
            f"{int(now[first:last].sum())} of {last - first} of {factor}"
            for factor, (first, last) in zip(self.problem.factors, pairwise(self._first.tolist()), strict=True)
        ]
        who = f"{', '.join(gone)} eliminated" if gone else "levels are back in the race"
        return f"Before decision {self._step + 1:,}: {who}; left are {', '.join(left)}."

    def _stretch(self) -> str:
        since = next((frame.step for frame in reversed(self.frames) if frame.kind in ("start", "stretch")), 0)
        total = sum(self._recent.values())
        most = [
            f"{_named(self.problem, shown)} {percent(count / total, 2)}" for shown, count in self._recent.most_common(2)
        ]
        tried = amount(len(self._recent), "combination")
        self._recent.clear()
        said = f"Decisions {since + 1:,} to {self._step:,}: {tried} shown, most often {', then '.join(most)}."
        if self._step < self.horizon:
            return said
        cost = amount(round(self._regret), "click")
        return f"{said} The end: the run cost about {cost}, compared with showing the best from the start."


def _spread(count: int, horizon: int) -> set[int]:
    """Return moments that lie ever further apart, the last at the horizon."""
    return {int(step) for step in np.geomspace(min(10, horizon), horizon, count).round()}


def _sizes(problem: Product) -> str:
    return " x ".join(f"{factor} ({len(names)})" for factor, names in problem.level_names.items())


def _named(problem: Product, levels: Combination) -> str:
    named = zip(problem.level_names.items(), levels, strict=True)
    return combination_text({factor: names[level] for (factor, names), level in named})
