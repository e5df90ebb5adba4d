"""The sentences of an explanation: one for each kind of frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankone.kernels.policy import Race, View
from rankone.numerics.arrays import Mask
from rankone.policies import AgentDecision, Policy
from rankone.problems import RankOne
from rankone.specs import amount
from rankone.wording.combinations import combination_text
from rankone.wording.lists import listed, quoted
from rankone.wording.numbers import percent

if TYPE_CHECKING:
    from rankone.pages.recording import Frame

Pair = tuple[int, int]

_SHOWN = 0.005  # of the decisions: a smaller share would be said to be 0%


class Gone:
    """Who leaves the race between two moments: rows and columns, and pairs of levels that stay."""

    def __init__(self, was: Race, now: Race, pairs_were: Mask, pairs_are: Mask) -> None:
        self.rows = np.flatnonzero(was.rows & ~now.rows).tolist()
        self.cols = np.flatnonzero(was.cols & ~now.cols).tolist()
        stays = np.logical_and.outer(now.rows, now.cols)
        self.pairs = int((pairs_were & ~pairs_are & stays).sum())

    def __len__(self) -> int:
        return len(self.rows) + len(self.cols) + self.pairs

    def names(self, problem: RankOne) -> list[str]:
        """Return the names of the levels that left, and how many pairs besides."""
        levels = quoted([problem.row_names[row] for row in self.rows] + [problem.col_names[col] for col in self.cols])
        pairs = amount(self.pairs, "more pair" if levels else "pair")
        return [*levels, pairs] if self.pairs else levels


def start(problem: RankOne, policy: Policy, horizon: int) -> str:
    """Before the first decision."""
    best = _pair(problem, problem.best_pairs[0])
    return (
        f"{sizes(problem, ' and ')} make {amount(problem.n_rows * problem.n_cols, 'pair')}. The best is "
        f"{best} with a click rate of {problem.best_mean:.2f}; {policy.name} does not know that, and has {horizon:,} "
        "decisions to find out."
    )


def swept(problem: RankOne, decision: AgentDecision, side: int, sweep: int, clicked: bool) -> str:
    """One decision of a sweep."""
    rows, cols = ("row", "column") if side == 0 else ("column", "row")
    level, partner = problem.row_names[decision.row], problem.col_names[decision.col]
    if side == 1:
        level, partner = partner, level
    return (
        f"Sweep {sweep:,} over the {rows}s: '{partner}' is the {cols} drawn for all of them. "
        f"Now '{level}' is shown with it: {_outcome(clicked)}."
    )


def decided(problem: RankOne, decision: AgentDecision, leader: Pair | None, clicked: bool) -> str:
    """One decision about a pair."""
    pair = (decision.row, decision.col)
    if leader is None:
        who = "Shown"
    elif pair == leader:
        who = "The leader is shown"
    else:
        side = "row" if pair[0] == leader[0] else "column" if pair[1] == leader[1] else None
        who = f"A pair from the {side} of the leader {_pair(problem, leader)} is shown" if side else "Shown"
    return f"{who}: {_pair(problem, pair)}, {_outcome(clicked)}."


def stretch(problem: RankOne, before: Frame, step: int, shown: Any) -> str:
    """Many decisions at once: who got them."""
    fresh = shown - before.shown
    total, order = int(fresh.sum()), np.argsort(-fresh, axis=None, kind="stable")[:3]
    most = [divmod(int(place), problem.n_cols) for place in order if fresh.flat[place] >= _SHOWN * total]
    shares = [f"{_pair(problem, pair)} {percent(fresh[pair] / total, 2)}" for pair in most]
    others = 1.0 - sum(fresh[pair] for pair in most) / total
    rest = f", all others {percent(others, 2)}" if others >= _SHOWN else ""
    many = f"Decisions {before.step + 1:,} to {step:,}" if total > 1 else f"Decision {step:,}"
    return f"{many}: {', '.join(shares)}{rest}."


def swept_on(problem: RankOne, stage: int, seen: View) -> str:
    """Many decisions of sweeps at once: how far the intervals have shrunk."""
    leads = []
    for side, names, first in (("row", problem.row_names, 0), ("column", problem.col_names, problem.n_rows)):
        span = slice(first, first + len(names))
        mean = np.where(seen.left[span], seen.clicks[span] / np.maximum(1, seen.pulls[span]), -1.0)
        best = int(mean.argmax())
        bounds = f"{max(0.0, seen.low[first + best]):.2f} to {min(1.0, seen.high[first + best]):.2f}"
        leads.append(f"{side} '{names[best]}' leads with {mean[best]:.2f} (interval {bounds})")
    return f"Stage {stage + 1} sweeps on, and the intervals shrink: {leads[0]}, {leads[1]}."


def leader(problem: RankOne, old: Pair | None, new: Pair) -> str:
    """Another pair takes the lead."""
    return f"{_pair(problem, new)} takes the lead{'' if old is None else f' from {_pair(problem, old)}'}."


def stage_ends(problem: RankOne, stage: int, seen: View | None, gone: Gone) -> str:
    """The moment before an elimination: the bounds it compares."""
    begin = f"Stage {stage + 1} is over, all its outcomes are in."
    if seen is None:
        return begin
    best = []
    if seen.about != "pairs":
        for side, span in (("row", slice(0, problem.n_rows)), ("column", slice(problem.n_rows, None))):
            low = np.where(seen.left[span], seen.low[span], -np.inf)
            names = problem.row_names if side == "row" else problem.col_names
            if seen.left[span].sum() > 1:
                best.append(f"the best {side} is '{names[int(low.argmax())]}', at least {low.max():.2f}")
    else:
        low = np.where(seen.left, seen.low, -np.inf)
        best.append(f"the best pair is {_pair(problem, divmod(int(low.argmax()), problem.n_cols))}")
    out = gone.names(problem)
    verdict = f"{listed(out)} cannot reach that." if out else "Everybody's interval still reaches that."
    return f"{begin} By its lower bound {', '.join(best)}. {verdict}"


def eliminates(problem: RankOne, now: Race, gone: Gone, pairs: Mask) -> str:
    """Who is left after an elimination."""
    who = (
        f"{listed(gone.names(problem))} {'is' if len(gone) == 1 else 'are'} eliminated"
        if gone
        else "Nobody is eliminated"
    )
    return f"{who}: {remain(problem, now, pairs)}." + (f" Stage {now.stage + 1} begins." if pairs.sum() > 1 else "")


def remain(problem: RankOne, now: Race, pairs: Mask) -> str:
    """How much of the race is left, in pairs too where not all pairs of the remaining levels are."""
    rows, cols = int(now.rows.sum()), int(now.cols.sum())
    left = f"{rows} of {amount(problem.n_rows, 'row')} and {cols} of {amount(problem.n_cols, 'column')} remain"
    return left if rows * cols == pairs.sum() else f"{left}, and {pairs.sum()} of {amount(pairs.size, 'pair')}"


def restarts(step: int) -> str:
    """An elimination without a horizon begins again, on the outcomes kept."""
    return (
        f"After {amount(step, 'decision')} the guess of the horizon doubles, and with it the certainty that an "
        "elimination needs: everybody is back, and all outcomes are kept."
    )


def settles(problem: RankOne, pair: Pair, step: int, horizon: int) -> str:
    """The choice can never change again."""
    right = "the best pair" if pair in problem.best_pairs else "not the best pair: this run was unlucky"
    after = f"After {amount(step, 'decision')}" if step else "From the start"
    others = amount(horizon - step, "other decision")
    return f"{after} one pair remains: {_pair(problem, pair)}, {right}. It gets the {others}."


def ends(problem: RankOne, result: str, horizon: int, regret: float) -> str:
    """The horizon: what came of the run, and what it cost."""
    return (
        f"The end, after {amount(horizon, 'decision')}. {result} cost about {amount(round(regret), 'click')}, compared "
        "with showing the best pair from the start."
    )


def found(problem: RankOne, pair: Pair) -> str:
    """The result of a run that had settled."""
    return f"Finding {_pair(problem, pair)}"


def undecided(problem: RankOne, now: Race, pairs: Mask) -> str:
    """The result of an elimination that the horizon ended."""
    why = "not one stage was over; try a longer horizon" if now.stage == 0 else "the race is not decided"
    return f"{remain(problem, now, pairs)}: {why}. That"


def preferred(problem: RankOne, shown: Any) -> str:
    """The result of a policy that eliminates nobody: where its decisions went."""
    pair = divmod(int(shown.argmax()), problem.n_cols)
    which = "the best pair" if pair in problem.best_pairs else f"not {_pair(problem, problem.best_pairs[0])}, the best"
    share = percent(shown.max() / shown.sum(), 2)
    return f"Shown most, {share} of the time: {_pair(problem, pair)}, {which}. Learning that"


def sizes(problem: RankOne, between: str) -> str:
    """Rows and columns, counted."""
    return f"{amount(problem.n_rows, 'row')}{between}{amount(problem.n_cols, 'column')}"


def _pair(problem: RankOne, pair: Pair | Sequence[int]) -> str:
    return combination_text({"row": problem.row_names[pair[0]], "col": problem.col_names[pair[1]]})


def _outcome(clicked: bool) -> str:
    return "a click" if clicked else "no click"


_OF_LEVELS = {
    "Sweeps": "A column is drawn, and every row still in the race is shown with it; then a row is drawn for the "
    "columns. So all rows meet the same columns, and their click rates can be compared.",
    "Intervals": "The more sweeps, the narrower the interval in which the click rate of a row or column almost surely "
    "lies. It is the rate with the partners drawn so far, so it rises when bad partners leave.",
    "Eliminations": "When a stage ends, every row and column whose interval ends below the best lower bound is out. "
    "From then on a winner plays in its place.",
}
_OF_PAIRS = {
    "Rounds": "Every pair still in the race is shown equally often.",
    "Intervals": "The more outcomes, the narrower the interval in which a pair's click rate almost surely lies.",
    "Eliminations": "When a stage ends, every pair whose interval ends below the best lower bound is out.",
}
_OF_CHOICES = {
    "Choices": "The policy chooses the next pair from the outcomes so far. The more often a pair was shown, the surer "
    "is what is known of it.",
    "Leader": "The pair that looks best. A good policy moves the traffic to it, and looks at others just often enough "
    "to notice a mistake.",
}
_OF_ALL = {"Regret": "The clicks lost against always showing the best pair. Where its curve is flat, nothing is lost."}


def idea(eliminates: bool, about_levels: bool) -> dict[str, str]:
    """Return how such a policy works, term by term.

    >>> list(idea(eliminates=True, about_levels=True))
    ['Sweeps', 'Intervals', 'Eliminations', 'Regret']
    """
    ideas = _OF_LEVELS if about_levels else _OF_PAIRS if eliminates else _OF_CHOICES
    return ideas | _OF_ALL
