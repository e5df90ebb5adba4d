"""A policy on lists at work: one run, told at a few moments, as a page and as a strip.

At each moment: which items were shown at which positions since the last one, how often each was looked at and clicked,
and what the policy goes by (an index, a draw), where it says so (`rankone.kernels.policy.view`).
"""

import base64
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankone.charts.chart import Chart
from rankone.charts.page import whole_page
from rankone.errors import InputError
from rankone.kernels.policy import View, view
from rankone.kernels.world import steady
from rankone.notebook import cell_text
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.seeds import generator
from rankone.pages.explain import Explanation, Strip, made_again
from rankone.pages.recording import visitors
from rankone.policies import Policy
from rankone.problems import Problem
from rankone.specs import amount

MOST_ITEMS, MOMENTS = 16, 5


@dataclass(frozen=True)
class Moment:
    """What is known after some lists."""

    step: int
    shown: Ints  # (L, K) how often each item was shown at each position
    clicks: Ints  # (L, K)
    belief: View | None
    examination: Floats | None  # of each position, where the policy learns it

    @property
    def text(self) -> str:
        """A sentence for those who read no tables."""
        total = int(self.clicks.sum())
        return f"After {amount(self.step, 'list')}: {amount(total, 'click')}."


@dataclass(frozen=True, kw_only=True, repr=False)
class ListExplanation(Explanation):
    """One run of a policy on lists."""

    unit: ClassVar[str] = "list"
    draws: ClassVar[str] = "the page, chart() draws the strip"

    frames: list[Moment]

    def _tables(self) -> dict[str, Any]:
        return {"items": self._items(self.frames[-1])}

    def _items(self, moment: Moment) -> dict[str, list[Any]]:
        """Return what is known of each item, the best by what the policy goes by first."""
        shown, clicks = moment.shown.sum(axis=1), moment.clicks.sum(axis=1)
        columns = {
            "item": list(self.problem.item_names),
            "attraction (unknown to it)": self.problem.attraction.tolist(),
            "shown": shown.tolist(),
            "clicks": clicks.tolist(),
        }
        if moment.belief is not None:
            score = moment.belief.high if moment.belief.score is None else moment.belief.score
            columns |= {"looked at": moment.belief.pulls.tolist(), moment.belief.scored_by: score.tolist()}
            order = np.argsort(-score, kind="stable")
        else:
            order = np.argsort(-shown, kind="stable")
        return {title: [values[item] for item in order] for title, values in columns.items()}

    def chart(self) -> Chart:
        """Return the strip: who was shown where, and what the policy went by."""
        positions = [f"position {index + 1}" for index in range(self.problem.n_positions)]
        strip, before = Strip(self.unit, self.problem.item_names, positions), np.zeros_like(self.frames[0].shown)
        for moment in self.frames:
            fresh, before = moment.shown - before, moment.shown
            rates = moment.clicks.sum(axis=0) / np.maximum(1, moment.shown.sum(axis=0))
            seen = (rates if moment.examination is None else moment.examination).tolist()
            items = [_bounds(moment, item) for item in range(self.problem.n_items)]
            below = [{"mean": value, "low": None, "high": None, "left": True} for value in seen]
            strip.add(moment.step, fresh / np.maximum(1, fresh.sum(axis=0)), np.ones(fresh.shape, bool), items, below)
        belief = self.frames[-1].belief
        by = f"click rate of each item and {belief.scored_by}" if belief is not None else "click rate of each item"
        of = "click rate" if self.frames[-1].examination is None else "examination, as drawn,"
        note = f"Above: who was shown where, as a share of these lists. Below: {by}, then {of} of each position."
        return strip.chart(self._title, note)

    def html(self) -> str:
        """Return the page: one file, offline."""
        moments = []
        for moment in self.frames:
            items = self._items(moment)
            rows = [[cell_text(cell) for cell in row] for row in zip(*items.values(), strict=True)]
            when = f"After {amount(moment.step, 'list')}"
            moments.append({"when": when, "text": moment.text, "heads": list(items), "rows": rows})
        sizes = f"{self.problem.n_items} items, {amount(self.problem.n_positions, 'position')}"
        idea = f"What counts: {self.problem.reward}."
        title = f"{self.policy.name}, list by list"
        picture = f"data:image/png;base64,{base64.b64encode(self.chart()._render('.png', 2.0)).decode()}"
        body = self._filled("explain_list.html", title, sizes, idea=idea, moments=moments, picture=picture)
        return whole_page(title, body, "table { border-collapse: collapse } td, th { padding: 0 0.8em }", [], {})


def explain_lists(policy: Policy, problem: Problem, horizon: int, seed: int) -> ListExplanation:
    """Play one run of a policy on a small problem of lists."""
    policy.check_kind(problem.decision_kind, problem.shape, "an explanation of lists")
    if problem.shape[0] > MOST_ITEMS or not steady(problem.start()):
        got = f"{problem.shape[0]} items"
        raise InputError(f"at most {MOST_ITEMS} items to explain", got, "choose a smaller problem")
    agent = (
        policy.with_horizon(horizon)
        .with_known(problem.known())
        .for_problem(*problem.best_decision() or ())
        .agent(*problem.shape, seed=seed)
    )
    answer = visitors(problem, problem.shape[1], generator(seed, "visitors"))
    shown, clicks = np.zeros((2, *problem.shape), np.int64)
    frames = []
    stops = {int(step) for step in np.geomspace(min(10, horizon), horizon, MOMENTS).round()}
    for step in range(1, horizon + 1):
        decision = agent.ask()
        outcome = answer(decision.shown)
        own = list(decision.shown), range(len(outcome))
        shown[own] += 1
        clicks[own] += outcome
        agent.tell(decision, outcome if len(outcome) > 1 else outcome[0])
        if step in stops:
            exams = getattr(agent.state, "examination", None)
            learned = exams.copy() if exams is not None and not hasattr(policy, "examination") else None
            frames.append(Moment(step, shown.copy(), clicks.copy(), view(agent.state), learned))
    again = made_again(policy, problem, horizon, seed, problem.name)
    return ListExplanation(policy=policy, problem=problem, horizon=horizon, seed=seed, frames=frames, again=again)


def _bounds(moment: Moment, item: int) -> dict[str, Any]:
    """Return the click rate of an item, and what the policy goes by as its upper end."""
    shown = moment.shown[item].sum()
    mean, high = (float(moment.clicks[item].sum() / shown) if shown else None), math.nan
    if moment.belief is not None:
        looks = moment.belief.pulls[item]
        mean = float(moment.belief.clicks[item] / looks) if looks > 0 else None
        high = float(moment.belief.high[item] if moment.belief.score is None else moment.belief.score[item])
    top = high if math.isfinite(high) else None
    low = mean if top is not None and mean is not None and mean < top else top
    return {"mean": mean, "low": low, "high": top, "left": True}
