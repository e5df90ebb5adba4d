"""What every policy must do, whoever wrote it (the contract: `rankone.kernels.policy`)."""

import copy
import dataclasses
import functools
import itertools
import json
import math
import sys
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from rankone.compiling.compiled import compile_errors_explained, compiled
from rankone.errors import InputError
from rankone.kernels.policy import check_relearns, race, view
from rankone.numerics.seeds import generator
from rankone.policies import Agent, Policy, as_policy, known_policies
from rankone.policies.advance import LEARN, Stretch, advance, is_settled
from rankone.policies.chances import watch
from rankone.problems.arrivals import ClusteredLinear, latent
from rankone.problems.contextual import FixedFeatures, Visitors
from rankone.problems.segmented import Segmented
from rankone.simulation import simulate
from rankone.testing.games import Game, Shown, game_of, play
from rankone.testing.suite import Suite, expect, expect_plain_arrays, expect_refusal

_LATE, _USERS = 20, 3  # decisions open at a time, where outcomes are late; users who arrive
_RUNS, _STEPS = 40, 60  # in which what is shown is compared with how probable it was
_FACTORS = "see `decide` in rankone.kernels.policy"
_REMEMBER = "keep all that is remembered in the state's arrays, and draw from rng only"
_VOID = 0.1  # share of the decisions that never have an outcome, then


class PolicySuite(Suite):
    """Tests of a policy. One that plays combinations plays pairs in most of them, and more factors in some.

    Set `policy`, and for a yardstick, which has nothing to find, `learns` or `draws_ties` to False. Where time is
    short, `studied_late` may be False: late outcomes are told one by one in other tests.
    """

    policy: Policy
    learns: bool = True  # finds what alone is clicked
    draws_ties: bool = True  # its first choice is not always the same
    studied_late: bool = True  # a study with late outcomes is played too: it is compiled by itself, which takes seconds
    horizon: ClassVar[int] = 20_000  # of the runs in which it has to find something

    @property
    def game(self) -> Game:
        """What the policy is tested in."""
        return game_of(self.policy.decision_kind)

    def ready(self, shape: tuple[Any, Any], horizon: int = 500) -> Policy:
        """Return the policy with all that it cannot start without."""
        game, positions = self.game, max(1, int(shape[1]))
        best = (0, 0) if game.decision_kind == "pair" else tuple(range(positions))
        return self.told(shape).with_horizon(horizon).for_problem(*best)

    def told(self, shape: Sequence[Any]) -> Policy:
        """Return the policy with all that a problem of this shape says beforehand."""
        positions = max(1, int(shape[1])) if len(shape) > 1 else 1
        own = {"features": n_features(self.policy, shape), "users": _USERS}
        return self.policy.with_known(self.game.known(positions) | own)

    def agent(self, *shape: int, seed: int = 0, horizon: int = 500) -> Agent:
        """Return an agent that plays the policy, with all that the policy cannot start without."""
        sizes = shape or self.game.certain.shape
        return agent_of(self.ready((sizes[0], sizes[1]), horizon), *sizes, seed=seed)

    def play(self, *given: Any, **more: Any) -> list[Shown]:
        """Ask and tell: see `play`."""
        return play(self.game, *given, **more)

    def test_small_problems_are_played_within_bounds(self) -> None:
        """It plays one row or one column, clicks always or never, and outcomes that come late."""
        for shape in self.game.small:
            for mean in (0.0, 1.0, 0.5):
                self.play(self.agent(*shape), 120, np.full(shape, mean), 3, late=3)

    def test_the_label_leads_back_to_the_policy(self) -> None:
        """Commands, files and journals know a policy by its label alone."""
        kind = type(self.policy)
        frozen = getattr(getattr(kind, "__dataclass_params__", None), "frozen", False)
        do = "write @dataclass(frozen=True) above it"
        expect(frozen, f"{kind.__name__} as a frozen dataclass", "one that can change", do)
        name, do = getattr(kind, "name", "none"), 'write name = "my-policy"'
        expect(known_policies().get(name) is kind, f"{kind.__name__} under a name", name, do)
        for policy in (self.policy, *_variants(self.policy)):
            again = as_policy(policy.label)
            do = "let the parameters be numbers or texts, and keep them as they are given"
            expect(again == policy, f"'{policy.label}' to be read as {policy!r}", repr(again), do)
            values = dataclasses.asdict(policy)
            expect(json.loads(json.dumps(values)) == values, f"parameters of {policy!r} that JSON keeps", values, do)

    def test_says_what_it_is_and_when_to_use_it(self) -> None:
        """Tables and the reference show both."""
        kind = type(self.policy)
        first = (kind.__doc__ or "").strip().partition("\n")[0]
        whole = first.endswith(".") and not first.startswith(f"{kind.__name__}(")  # what dataclass writes otherwise
        expected = f"a docstring of {kind.__name__} that begins with a whole sentence"
        expect(whole, expected, first or "none", "say what it does")
        expect(kind.use_when, f"a text {kind.__name__}.use_when", kind.use_when, "say in a few words when to use it")

    def test_the_state_is_plain_arrays(self) -> None:
        """So it can be stored, and compiled code can work on it; nothing of it belongs to another run."""
        state, other = self.agent().state, self.agent().state
        expect_plain_arrays(state, other, "state")
        for field, array, its in zip(state._fields, state, other, strict=True):
            same = array.dtype == its.dtype and np.array_equal(array, its, equal_nan=array.dtype.kind == "f")
            expect(same, f"the same {field} at every start()", its, "draw random numbers in `decide`, from rng")

    def test_playing_changes_no_parameter(self) -> None:
        """A study plays the same object many times; whatever changes belongs into the state."""
        before = copy.deepcopy(dataclasses.asdict(self.policy))
        self.play(self.agent(), 50, self.game.mixed, 1)
        after = dataclasses.asdict(self.policy)
        expect(before == after, f"the parameters {before} after playing", after, "keep what changes in the state")

    def test_a_copied_state_goes_on_the_same(self) -> None:
        """All that the policy remembers is in its state: live experiments store that and nothing else."""
        for late in (0, 7):
            agent, twin = self.agent(), self.agent()
            self.play(agent, 150, self.game.mixed, 1, late)
            twin.state = type(agent.state)(*(array.copy() for array in agent.state))
            twin.rng.bit_generator.state = agent.rng.bit_generator.state
            pairs, again = (self.play(each, 150, self.game.mixed, 2) for each in (agent, twin))
            expected, got = "the same decisions from a copy of the state", _first_difference(pairs, again)
            expect(pairs == again, expected, got, _REMEMBER)

    def test_a_journal_is_replayed_bit_for_bit(self) -> None:
        """A live experiment that starts again repeats its history, and refuses to go on where that differs."""
        events, agent = self._journal(300), self.agent()
        with compile_errors_explained(type(self.policy).__module__):
            passed = compiled(advance, type(self.policy).__module__)(agent.state, None, agent.rng, events)
        expected, got = "the same decisions when the journal is replayed", f"another one at event {passed}"
        expect(passed == len(events.what), expected, got, _REMEMBER)

    def test_a_step_keeps_nothing_of_its_generator(self) -> None:
        """A service makes millions of steps: what each kept would add up."""
        agent, count = self.agent(), self.game.layout.outcome
        agent.tell(agent.ask(), self.game.as_told([1] * count))
        before = sys.getrefcount(agent.rng)
        for _ in range(10):
            agent.tell(agent.ask(), self.game.as_told([0] * count))
            agent.void(agent.ask())
        more = sys.getrefcount(agent.rng) - before
        expect(more == 0, "no reference to the generator kept by a step", more, "pass rng on, and store it nowhere")

    def test_finds_what_is_clicked(self) -> None:
        """Outcomes come at once."""
        if self.learns:
            pairs = self.play(self.agent(horizon=self.horizon), self.horizon, self.game.certain, 4)
            self._expect_found(pairs, "does `learn` take the outcome in?")

    def test_finds_it_when_outcomes_are_late_or_missing(self) -> None:
        """Outcomes come in any order, after other decisions, and some never."""
        if self.learns:
            pairs = self.play(self.agent(horizon=self.horizon), self.horizon, self.game.certain, 4, _LATE, _VOID)
            self._expect_found(pairs, "wait for no outcome before the next decision: it may never come")

    def test_an_outcome_is_filed_under_its_own_decision(self) -> None:
        """Which of two open decisions was clicked makes a difference."""
        agent = self.agent()
        self.play(agent, 30, self.game.mixed, 10)
        waiting = [decision for decision in (agent.ask() for _ in range(20)) if not decision.filler]
        others = [(one, other) for one, other in itertools.pairwise(waiting) if set(one.shown) != set(other.shown)]
        same = [self._after(agent, one, other) == self._after(agent, other, one) for one, other in others]
        expected = "the state to show which of two open decisions was clicked"
        do = "let `learn` go by what was shown and its tag, not by the last decision"
        expect(not self.learns or not same or not all(same), expected, "the same state", do)

    def test_the_first_choice_is_not_always_the_same(self) -> None:
        """Ties that are broken by order would favour the first row and column for ever."""
        if self.draws_ties:
            firsts = {self.agent(seed=seed).ask().shown for seed in range(20)}
            expect(len(firsts) > 1, "ties broken at random", f"{firsts} first, with 20 seeds", "draw among equals")

    def test_says_whether_it_looks_at_the_context(self) -> None:
        """Where there is none, compiled code would read beyond its end."""
        if not self.policy.uses_context:
            shape = self.game.certain.shape
            players = [self.ready(shape).agent(*shape, n_context=1) for _ in range(2)]
            shown = [[player.ask([float(number)]).shown for _ in range(20)] for number, player in enumerate(players)]
            do = "write uses_context = True"
            expect(shown[0] == shown[1], "the same decisions whatever the context is", "others", do)

    def test_starts_afresh_on_what_is_known(self) -> None:
        """A live experiment does so when rows or columns come and go; what is known then are counts, not tags."""
        if self.game.decision_kind != "pair":  # live experiments show no lists
            return
        agent = self.agent(horizon=self.horizon)
        check_relearns(type(agent.state))
        pulls = np.full((3, 4), 20)
        pulls[1, 2] = 2_000
        clicks = (pulls * self.game.certain).astype(np.int64)
        known, module = Stretch.known(pulls, clicks), type(self.policy).__module__
        if self.policy.by_segment:
            known = Stretch.known(pulls[None], clicks[None], by_segment=True)
        with compile_errors_explained(module):
            compiled(advance, module)(agent.state, None, agent.rng, known)
        if self.learns:
            pairs = self.play(agent, self.horizon, self.game.certain, 11)
            self._expect_found(pairs, "see that `relearn` files outcomes under what was shown")

    def test_takes_an_outcome_in_before_its_first_decision(self) -> None:
        """A live experiment may start it afresh before any outcome; those of earlier decisions then come first."""
        if self.game.decision_kind != "pair":
            return
        agent, module = self.agent(horizon=self.horizon), type(self.policy).__module__
        pulls = np.zeros((1, 3, 4) if self.policy.by_segment else (3, 4), np.int64)
        pulls[..., 1, 2] = 1
        events = Stretch.known(pulls, pulls, by_segment=self.policy.by_segment)
        with compile_errors_explained(module):
            for event in range(len(events.what)):  # first it is laid out, and nothing more
                one = Stretch._make(array[event : event + 1] for array in events)._replace(choice=events.choice)
                passed = compiled(advance, module)(agent.state, None, agent.rng, one)
                expect(passed == 1, "an outcome taken in", "none", "let `prepare` lay out what `relearn` works on")
        self.play(agent, 300, self.game.mixed, 12)  # within bounds, and to an end

    def test_says_how_probable_its_decisions_are(self) -> None:
        """If it says so at all (`chances`): live verdicts rest on it.

        What is shown less its probability sums to 0 but for chance, over any decisions, with any weights that are known
        before: here each pair by itself, and all pairs weighted by their probability.
        """
        if self.game.decision_kind != "pair":
            return
        rates = self.game.mixed
        off, spread = np.zeros((2, *rates.shape, 2))  # for each pair; in the last column of a sum, weighted
        for seed in range(_RUNS):
            for shown, table in watch(self.agent(seed=seed), _STEPS, rates, seed):
                off[..., 0] -= table
                off[shown][0] += 1.0
                off[..., 1] -= table * table
                off[shown][1] += table[shown]
                spread[..., 0] += table * (1.0 - table)
                spread[..., 1] += table**3 - table**4
        # Freedman's inequality: beyond this with a probability of about e^-18
        wrong = np.abs(off) > 6.0 * np.sqrt(spread) + 12.0
        for row, col, weighted in np.argwhere(wrong)[:1]:
            expected = f"decisions for the pair ({row}, {col}) as often as `chances` says, within chance"
            got = f"{off[row, col, weighted]:+.0f} of {_RUNS * _STEPS}" + " (weighted)" * int(weighted)
            expect(False, expected, got, "let `chances` answer for what was known before `decide`")

    def test_plays_any_number_of_factors(self) -> None:
        """A policy that plays combinations finds the one that is clicked, of 1, 3 and 4 factors, and says how probable
        each was; what is forbidden is never shown."""
        if self.policy.decision_kind != "combination":
            return
        for shape in ((1,), (5,), (2, 3, 2), (2, 1, 2, 2)):
            certain = np.zeros(shape)
            best = tuple(size - 1 for size in shape)
            certain[best] = 1.0
            policy = self.told(shape).with_horizon(self.horizon).for_problem(*best)
            game = dataclasses.replace(self.game, certain=certain)
            steps = self.horizon // (1 if hasattr(policy, "horizon") else 10)  # stages are laid out for the horizon
            decisions = play(game, agent_of(policy, *shape), steps, certain, 4, late=3)
            share = sum(map(game.is_found, decisions[-200:])) / 200
            expect(not self.learns or share > 0.5, f"mostly {best} of {shape}", f"{share:.0%} of decisions", _FACTORS)
            for shown, table in watch(agent_of(policy, *shape), 40, np.full(shape, 0.3), 1):
                expect(table.shape == shape and len(shown) == len(shape), f"a table of {shape}", table.shape, _FACTORS)
        if not self.learns or not self.policy.supports_forbidden:
            return
        agent = agent_of(self.told((2, 3, 2)).with_horizon(500), 2, 3, 2, forbidden=[(0, 1, -1), (-1, -1, 1)])
        for shown in play(self.game, agent, 300, np.full((2, 3, 2), 0.5), 5, late=3):
            expect(shown[:2] != (0, 1) and shown[2] != 1, "no forbidden combination", shown, "see `forbidden` of start")

    def test_once_settled_it_stays(self) -> None:
        """A study stops playing a policy that says it is settled."""
        agent = self.agent(horizon=2_000)
        self.play(agent, 2_000, self.game.certain, 5)
        if is_settled(agent.state):
            shown = set(self.play(agent, 300, np.zeros(self.game.certain.shape), 6))
            do = "say `settled` later, or not at all"
            expect(len(shown) == 1, "one decision for ever after `settled`", shown, do)

    def test_what_it_shows_of_itself_has_the_right_size(self) -> None:
        """`view` and `race` speak of rows and columns, or of pairs, of this problem."""
        agent, shape = self.agent(), self.game.certain.shape
        sizes = {"levels": sum(shape), "pairs": math.prod(shape)}
        for _ in range(2):
            seen, left = view(agent.state), race(agent.state)
            if seen is not None:
                size = sizes.get(seen.about)
                lengths = {len(array) for array in (seen.pulls, seen.clicks, seen.low, seen.high, seen.left)}
                expected = f"{size} beliefs about {seen.about} of {shape[0]} x {shape[1]}"
                expect(lengths == {size}, expected, lengths, "see View")
            if left is not None:
                raced = tuple(map(len, left.left))
                expect(raced == shape, f"a race of {shape[0]} rows and {shape[1]} columns", raced, "see Race")
            self.play(agent, 100, self.game.mixed, 7)

    def test_sizes_that_cannot_be_are_refused(self) -> None:
        """In words, before anything is played."""
        what = "rows and columns" if self.game.decision_kind == "pair" else "items and positions"
        for sizes in self.game.wrong:
            policy = self.ready(sizes, 10)
            expect_refusal(functools.partial(policy.start, *sizes), f"{sizes[0]} x {sizes[1]} {what}")

    def test_a_study_plays_it(self) -> None:
        """At once and with late outcomes; regret never falls, and is never more than all there is to lose."""
        self.play(self.agent(), 50, self.game.mixed, 8)  # within bounds: the loop of studies does not look
        problem, horizon = self.game.problem, 500
        if hasattr(self.policy, "users"):
            weights = np.eye(12)[:_USERS]
            problem = latent(_USERS, 12) if self.policy.by_segment else ClusteredLinear(weights, range(_USERS), 12)
        elif self.policy.by_segment:
            problem = Segmented([[[0.9, 0.5], [0.8, 0.4]], [[0.5, 0.9], [0.8, 0.4]]])
        elif self.policy.uses_context and self.game.decision_kind == "list":
            problem = FixedFeatures([0.9, 0.2, 0.4, 0.6], np.eye(4), 2)
        elif self.policy.uses_context:
            problem = Visitors([3.0, 0.0, 0.0, 0.0, 1.0, 0.0, -2.0, 2.0, 0.0, 0.0, 0.0, 0.0], (3, 2), 1)
        policy = self.told(problem.shape)
        for feedback in (None, "delay:mean=10") if self.studied_late else (None,):
            study = simulate(problem, policy, horizon, runs=2, workers=1, feedback=feedback)
            for run in study.runs:
                most = 2.0 * horizon * self.game.layout.outcome + 1e-9  # payoffs are from -1 to 1
                kept = (np.diff(run.regret, prepend=0.0) >= -1e-9).all() and run.regret[-1] <= most
                expect(kept, "regret that never falls", run.regret, "see that `decide` fills in what is shown")

    def _expect_found(self, decisions: list[Shown], do: str) -> None:
        last = decisions[-self.horizon // 10 :]
        share = sum(map(self.game.is_found, last)) / len(last)
        needle = self.game.needle()
        expect(share > 0.75, f"{needle}, which alone is clicked, in most decisions", f"{share:.0%} of them", do)

    def _after(self, agent: Agent, clicked: Any, not_clicked: Any) -> list[bytes]:
        """Return a copy of the state that has learned these two outcomes, the earlier decision first."""
        outcomes = sorted([(clicked, 1), (not_clicked, 0)], key=lambda each: each[0].number)
        state = type(agent.state)(*(array.copy() for array in agent.state))
        stretch = _stretch(self.game, [(LEARN, decision, [reward]) for decision, reward in outcomes])
        compiled(advance, type(self.policy).__module__)(state, None, generator(0, "conformance"), stretch)
        return [array.tobytes() for array in state]

    def _journal(self, steps: int) -> Stretch:
        events: list[tuple[int, Any, list[int]]] = []
        play(self.game, self.agent(), steps, self.game.mixed, 9, late=5, void=_VOID, events=events)
        return _stretch(self.game, events, self.policy)


class _Visited(Agent):
    """Asked by three visitors in turn, or for items that their features tell apart."""

    def ask(self, context: Sequence[float] = ()) -> Any:
        """Return the next decision."""
        return super().ask(context or _context(self.policy, self.shape, self._asked))


def n_features(policy: Policy, shape: Sequence[Any]) -> int:
    """Return how many features there are in tests: one an item, or one a visitor."""
    if hasattr(policy, "users"):
        return max(1, math.prod(int(size) for size in shape))
    return max(1, int(shape[0])) if policy.decision_kind == "list" else 1


def _context(policy: Policy, shape: Sequence[int], number: int) -> tuple[float, ...]:
    if policy.decision_kind == "list":
        return tuple(np.eye(shape[0]).ravel().tolist())
    of_items = np.eye(math.prod(shape)).ravel().tolist() if hasattr(policy, "users") and not policy.by_segment else []
    return (float(number % _USERS), *of_items)


def agent_of(policy: Policy, *shape: int, **more: Any) -> Agent:
    """Return an agent; one whose policy looks at a context is given one."""
    if not policy.uses_context:
        return policy.agent(*shape, **more)
    return _Visited(policy, *shape, n_context=len(_context(policy, shape, 0)), **more)


def _stretch(game: Game, events: list[tuple[int, Any, list[int]]], policy: Policy | None = None) -> Stretch:
    stretch = Stretch.room(game.layout, size=len(events))
    for index, (what, decision, outcome) in enumerate(events):
        stretch.what[index], stretch.tags[index] = what, decision.tag
        stretch.shown[index], stretch.outcomes[index] = decision.shown, outcome
    if policy is not None and policy.uses_context:
        contexts = [_context(policy, game.certain.shape, decision.number) for _, decision, _ in events]
        stretch = stretch._replace(context=np.array(contexts))
    return stretch


def _variants(policy: Policy) -> list[Policy]:
    result = []
    for name, value in dataclasses.asdict(policy).items():
        if isinstance(value, float):
            try:
                result.append(dataclasses.replace(policy, **{name: value + 0.5}))
            except InputError:  # too large
                result.append(dataclasses.replace(policy, **{name: 0.5 * value}))
    return result


def _first_difference(pairs: list[Shown], others: list[Shown]) -> str:
    compared = enumerate(zip(pairs, others, strict=True))
    return next(
        (f"{one} and {other} at decision {index}" for index, (one, other) in compared if one != other), "the same"
    )
