"""What every policy on pairs must do, whoever wrote it (the contract: `rankone.kernels.policy`)."""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
import json
import sys
from typing import Any, ClassVar

import numpy as np

from rankone.compiling.compiled import compile_errors_explained, compiled
from rankone.kernels.advance import ASK, LEARN, VOID, Stretch, advance
from rankone.kernels.decision import KINDS, Layout
from rankone.kernels.policy import check_relearns, race, settled, view
from rankone.numerics.seeds import generator
from rankone.policies import Agent, AgentDecision, Policy, as_policy, known_policies
from rankone.problems import RankOne
from rankone.simulation import simulate
from rankone.testing.suite import Suite, expect, expect_plain_arrays, expect_refusal

Pair = tuple[int, int]
_CERTAIN = np.outer([0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0])  # only the pair (1, 2) is ever clicked, and always
_MIXED = np.outer([0.9, 0.2, 0.4], [0.8, 0.1, 0.3, 0.5])
_LATE = 20  # decisions open at a time, where outcomes are late
_VOID = 0.1  # share of the decisions that never have an outcome, then


class PolicySuite(Suite):
    """Tests of a policy that plays pairs. One that plays combinations or lists: see `ProblemSuite`.

    Set `policy`, and for a yardstick, which has nothing to find, `learns` or `draws_ties` to False.
    """

    policy: Policy
    learns: bool = True  # finds the pair that alone is clicked
    draws_ties: bool = True  # its first choice is not always the same
    horizon: ClassVar[int] = 20_000  # of the runs in which it has to find something

    def agent(self, n_rows: int = 3, n_cols: int = 4, seed: int = 0, horizon: int = 500) -> Agent:
        """Return an agent that plays the policy, with all that the policy cannot start without."""
        expect(
            self.policy.plays == "pair", "a policy that plays pairs", f"one that plays {KINDS[self.policy.plays]}",
            "test it in a problem that asks for them: ProblemSuite.check(problem=..., policy=...)",
        )  # fmt: skip
        return self.policy.with_horizon(horizon).for_problem(0, 0).agent(n_rows, n_cols, seed=seed)

    def test_small_problems_are_played_within_bounds(self) -> None:
        """It plays one row or one column, clicks always or never, and outcomes that come late."""
        for shape in ((1, 1), (1, 5), (5, 1), (2, 2)):
            for mean in (0.0, 1.0, 0.5):
                play(self.agent(*shape), 120, np.full(shape, mean), 3, late=3)

    def test_the_label_leads_back_to_the_policy(self) -> None:
        """Commands, files and journals know a policy by its label alone."""
        kind = type(self.policy)
        expect(
            dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen,  # type: ignore[attr-defined]
            f"{kind.__name__} as a frozen dataclass", "one that can change", "write @dataclass(frozen=True) above it",
        )  # fmt: skip
        expect(
            known_policies().get(getattr(kind, "name", "")) is kind,
            f"{kind.__name__} under a name", getattr(kind, "name", "none"), 'write name: ClassVar[str] = "my-policy"',
        )  # fmt: skip
        for policy in (self.policy, *_variants(self.policy)):
            found = as_policy(policy.label)
            do = "let the parameters be numbers or texts, and keep them as they are given"
            expect(found == policy, f"'{policy.label}' to be read as {policy!r}", repr(found), do)
            values = dataclasses.asdict(policy)
            expect(json.loads(json.dumps(values)) == values, f"parameters of {policy!r} that JSON keeps", values, do)

    def test_says_what_it_is_and_what_it_suits(self) -> None:
        """Tables and the reference show both."""
        kind = type(self.policy)
        first = (kind.__doc__ or "").strip().partition("\n")[0]
        expect(
            first.endswith(".") and not first.startswith(f"{kind.__name__}("),  # what dataclass writes if nobody does
            f"a docstring of {kind.__name__} that begins with a whole sentence", first or "none", "say what it does",
        )  # fmt: skip
        expect(kind.suits, f"a text {kind.__name__}.suits", kind.suits, "say in a few words when to use it")

    def test_the_state_is_plain_arrays(self) -> None:
        """So it can be stored, and compiled code can work on it; nothing of it belongs to another run."""
        state, other = self.agent().state, self.agent().state
        expect_plain_arrays(state, other, "state")
        for field, array, its in zip(state._fields, state, other, strict=True):
            same = array.dtype == its.dtype and np.array_equal(array, its, equal_nan=array.dtype.kind == "f")
            expect(same, f"the same {field} at every start()", its, "draw random numbers in `choose`, from rng")

    def test_playing_changes_no_parameter(self) -> None:
        """A study plays the same object many times; whatever changes belongs into the state."""
        before = copy.deepcopy(dataclasses.asdict(self.policy))
        play(self.agent(), 50, _MIXED, 1)
        after = dataclasses.asdict(self.policy)
        expect(before == after, f"the parameters {before} after playing", after, "keep what changes in the state")

    def test_a_copied_state_goes_on_the_same(self) -> None:
        """All that the policy remembers is in its state: live experiments store that and nothing else."""
        for late in (0, 7):
            agent, twin = self.agent(), self.agent()
            play(agent, 150, _MIXED, 1, late)
            twin.state = type(agent.state)(*(array.copy() for array in agent.state))
            twin.rng.bit_generator.state = agent.rng.bit_generator.state
            pairs, again = play(agent, 150, _MIXED, 2), play(twin, 150, _MIXED, 2)
            expect(
                pairs == again, "the same decisions from a copy of the state", _first_difference(pairs, again),
                "keep all that the policy remembers in the state's arrays, and draw from rng only",
            )  # fmt: skip

    def test_a_journal_is_replayed_bit_for_bit(self) -> None:
        """A live experiment that starts again repeats its history, and refuses to go on where that differs."""
        events, agent = self._journal(300), self.agent()
        with compile_errors_explained(type(self.policy).__module__):
            passed = compiled(advance, type(self.policy).__module__)(agent.state, None, agent.rng, events)
        expect(
            passed == len(events.what), "the same decisions when the journal is replayed",
            f"another one at event {passed}", "draw from rng only, and keep all that is remembered in the state",
        )  # fmt: skip

    def test_a_step_keeps_nothing_of_its_generator(self) -> None:
        """A service makes millions of steps: what each kept would add up."""
        agent = self.agent()
        agent.tell(agent.ask(), 1)
        before = sys.getrefcount(agent.rng)
        for _ in range(10):
            agent.tell(agent.ask(), 0)
            agent.void(agent.ask())
        more = sys.getrefcount(agent.rng) - before
        expect(more == 0, "no reference to the generator kept by a step", more, "pass rng on, and store it nowhere")

    def test_finds_the_pair_that_is_clicked(self) -> None:
        """Outcomes come at once."""
        if self.learns:
            pairs = play(self.agent(horizon=self.horizon), self.horizon, _CERTAIN, 4)
            self._expect_found(pairs, "does `update` take the outcome in?")

    def test_finds_it_when_outcomes_are_late_or_missing(self) -> None:
        """Outcomes come in any order, after other decisions, and some never."""
        if self.learns:
            pairs = play(self.agent(horizon=self.horizon), self.horizon, _CERTAIN, 4, _LATE, _VOID)
            self._expect_found(pairs, "wait for no outcome before the next decision: it may never come")

    def test_an_outcome_is_filed_under_its_own_decision(self) -> None:
        """Which of two open decisions was clicked makes a difference."""
        agent = self.agent()
        play(agent, 30, _MIXED, 10)
        waiting = [decision for decision in (agent.ask() for _ in range(20)) if not decision.filler]
        others = [(one, other) for one, other in itertools.pairwise(waiting) if one[:2] != other[:2]]
        same = [self._after(agent, one, other) == self._after(agent, other, one) for one, other in others]
        expect(
            not self.learns or not same or not all(same), "the state to show which of two open decisions was clicked",
            "the same state", "let `update` go by its row, column and tag, not by the last decision",
        )  # fmt: skip

    def test_the_first_choice_is_not_always_the_same(self) -> None:
        """Ties that are broken by order would favour the first row and column for ever."""
        if self.draws_ties:
            firsts = {self.agent(seed=seed).ask()[:2] for seed in range(20)}
            expect(len(firsts) > 1, "ties broken at random", f"{firsts} first, with 20 seeds", "draw among equals")

    def test_starts_afresh_on_what_is_known(self) -> None:
        """A live experiment does so when rows or columns come and go; what is known then are counts, not tags."""
        agent = self.agent(horizon=self.horizon)
        check_relearns(type(agent.state))
        pulls = np.full((3, 4), 20)
        pulls[1, 2] = 2_000
        known, module = Stretch.known(pulls, (pulls * _CERTAIN).astype(np.int64)), type(self.policy).__module__
        with compile_errors_explained(module):
            compiled(advance, module)(agent.state, None, agent.rng, known)
        if self.learns:
            pairs = play(agent, self.horizon, _CERTAIN, 11)
            self._expect_found(pairs, "see that `recall` files outcomes under their row and column")

    def test_once_settled_it_stays(self) -> None:
        """A study stops playing a policy that says it is settled."""
        agent = self.agent(horizon=2_000)
        play(agent, 2_000, _CERTAIN, 5)
        if compiled(_is_settled, type(self.policy).__module__)(agent.state):
            pairs = set(play(agent, 300, np.zeros((3, 4)), 6))
            expect(len(pairs) == 1, "one pair for ever after `settled`", pairs, "say `settled` later, or not at all")

    def test_what_it_shows_of_itself_has_the_right_size(self) -> None:
        """`view` and `race` speak of rows and columns, or of pairs, of this problem."""
        agent = self.agent()
        for _ in range(2):
            seen, left = view(agent.state), race(agent.state)
            if seen is not None:
                size = {"levels": 7, "pairs": 12}.get(seen.about)
                found = {len(array) for array in (seen.pulls, seen.clicks, seen.low, seen.high, seen.left)}
                expect(found == {size}, f"{size} beliefs about {seen.about} of 3 x 4", found, "see View")
            if left is not None:
                sizes = len(left.rows), len(left.cols)
                expect(sizes == (3, 4), "a race of 3 rows and 4 columns", sizes, "see Race")
            play(agent, 100, _MIXED, 7)

    def test_sizes_that_cannot_be_are_refused(self) -> None:
        """In words, before anything is played."""
        policy = self.policy.with_horizon(10).for_problem(0, 0)
        for rows, cols in ((0, 3), (3, -1), (2.5, 2)):
            sizes: Any = rows, cols
            expect_refusal(functools.partial(policy.start, *sizes), f"{rows} x {cols} rows and columns")

    def test_a_study_plays_it(self) -> None:
        """At once and with late outcomes; regret never falls, and is never more than all there is to lose."""
        play(self.agent(), 50, _MIXED, 8)  # within bounds: the loop of studies does not look
        problem, horizon = RankOne([0.9, 0.2, 0.4], [0.8, 0.1, 0.3, 0.5]), 500
        for feedback in (None, "delay:mean=10"):
            study = simulate(problem, self.policy, horizon, runs=2, workers=1, feedback=feedback)
            for run in study.runs:
                regret = np.concatenate([[0.0], run.regret])
                kept = bool((np.diff(regret) >= -1e-9).all()) and regret[-1] <= horizon * problem.best_mean + 1e-9
                expect(kept, "regret that never falls", run.regret, "see that `choose` returns row, column, tag")

    def _expect_found(self, pairs: list[Pair], do: str) -> None:
        last = pairs[-self.horizon // 10 :]
        share = last.count((1, 2)) / len(last)
        expect(share > 0.75, "the pair (1, 2), which alone is clicked, in most decisions", f"{share:.0%} of them", do)

    def _after(self, agent: Agent, clicked: AgentDecision, not_clicked: AgentDecision) -> list[bytes]:
        """Return a copy of the state that has learned these two outcomes, the earlier decision first."""
        told = sorted([(clicked, 1), (not_clicked, 0)], key=lambda each: each[0].number)
        state = type(agent.state)(*(array.copy() for array in agent.state))
        stretch = _stretch([(LEARN, decision, reward) for decision, reward in told])
        compiled(advance, type(self.policy).__module__)(state, None, generator(0, "conformance"), stretch)
        return [array.tobytes() for array in state]

    def _journal(self, steps: int) -> Stretch:
        """Play, and write down every event as a journal would."""
        events: list[tuple[int, AgentDecision, int]] = []
        play(self.agent(), steps, _MIXED, 9, late=5, void=_VOID, events=events)
        return _stretch(events)


def _stretch(events: list[tuple[int, AgentDecision, int]]) -> Stretch:
    stretch = Stretch.room(Layout(shown=2, outcome=1), size=len(events))
    for place, (what, decision, reward) in enumerate(events):
        stretch.what[place], stretch.tags[place] = what, decision.tag
        stretch.shown[place], stretch.outcomes[place, 0] = decision[:2], reward
    return stretch


def play(
    agent: Agent, steps: int, means: Any, seed: int, late: int = 0, void: float = 0.0, events: list[Any] | None = None
) -> list[Pair]:
    """Ask and tell with up to `late` decisions open, told in random order, some never; return the pairs."""
    rng, (n_rows, n_cols) = generator(seed, "conformance"), means.shape
    pairs: list[Pair] = []
    waiting: list[AgentDecision] = []
    events = [] if events is None else events
    for _ in range(steps):
        decision = agent.ask()
        expect(
            0 <= decision.row < n_rows and 0 <= decision.col < n_cols,
            f"a row from 0 to {n_rows - 1} and a column from 0 to {n_cols - 1}", f"{decision.row}, {decision.col}",
            "see what `choose` returns: row, column, tag",
        )  # fmt: skip
        pairs.append((decision.row, decision.col))
        waiting.append(decision)
        events.append((ASK, decision, 0))
        while len(waiting) > late:
            told = waiting.pop(int(rng.random() * len(waiting)))
            if void and rng.random() < void:
                agent.void(told)
                events.append((VOID, told, 0))
            else:
                reward = int(rng.random() < means[told.row, told.col])
                agent.tell(told, reward)
                events.append((LEARN, told, reward))
    return pairs


def _variants(policy: Policy) -> list[Policy]:
    """Return the policy with each of its numbers changed."""
    numbers = {field.name: getattr(policy, field.name) for field in dataclasses.fields(policy)}
    changed = {name: value + 0.5 for name, value in numbers.items() if isinstance(value, float)}
    return [dataclasses.replace(policy, **{name: value}) for name, value in changed.items()]


def _first_difference(pairs: list[Pair], others: list[Pair]) -> str:
    differences = (place for place, (one, other) in enumerate(zip(pairs, others, strict=True)) if one != other)
    return next((f"{pairs[place]} and {others[place]} at decision {place}" for place in differences), "the same")


def _is_settled(state: Any) -> bool:
    """Ask compiled code: the kernels of a step are not made to be called from Python."""
    return settled(state)
