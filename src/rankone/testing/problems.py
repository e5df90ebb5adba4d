"""What every problem and its world must do (the contract: `rankone.kernels.world`), and every family of problems."""

import functools
import inspect
import itertools
import json
import math
from typing import Any

import cloudpickle
import numpy as np

from rankone.compiling.compiled import compile_errors_explained, compiled
from rankone.kernels.feedback import Scratch
from rankone.kernels.play import play_through
from rankone.kernels.world import loss, move, observe, respond, steady
from rankone.numerics.arrays import Ints
from rankone.numerics.seeds import generator
from rankone.policies import Policy, as_policy
from rankone.problems import Problem, as_problem, known_families
from rankone.problems.base import problem_from_dict, problem_to_dict
from rankone.testing.suite import Suite, expect, expect_plain_arrays, expect_refusal

_ROUNDING = 1e-9
_LOOKED_AT = 200  # decisions whose loss is looked at, where there are many
_TRIES = 2_000  # visitors to whom a decision is shown
_REPEATS = 50  # times that each is shown where two runs are compared: few clicks could be the same by chance
_ERRORS = 5.0  # standard errors by which a mean may be off


class ProblemSuite(Suite):
    """Tests of a problem and of the world that it starts.

    Set `problem`; where it asks for something else than pairs, also a `policy` that plays it. Define `earned` of the
    problem where what counts is not the number of clicks.
    """

    problem: Problem
    policy: Policy | str = "uniform"  # plays in the world, once

    def decisions(self) -> list[tuple[int, ...]]:
        """Return what may be shown, or a sample of it."""
        sizes, rng = self.problem.shape, generator(0, "decisions")
        if self.problem.decision_kind == "list":
            lists = itertools.permutations(rng.permutation(sizes[0]).tolist(), sizes[1])
            return list(itertools.islice(lists, _LOOKED_AT))
        chosen = rng.permutation(math.prod(sizes))[:_LOOKED_AT]
        return [tuple(int(part) for part in np.unravel_index(number, sizes)) for number in sorted(chosen)]

    def rewards(self, clicks: Ints, shown: Ints) -> Any:
        """Return what each of these outcomes is worth, ``(visitors, outcomes)`` to ``(visitors,)``."""
        return self.problem.earned(clicks, shown)

    def test_the_world_is_plain_arrays(self) -> None:
        """Compiled code works on it, and no run may change the world of another."""
        expect_plain_arrays(self.problem.start(), self.problem.start(), "world")

    def test_plain_values_lead_back_to_it(self) -> None:
        """Stored studies keep them, and workers get the problem from another process."""
        values = problem_to_dict(self.problem)
        do = "return from to_dict() what __init__ takes, in numbers, texts and lists"
        kept = json.loads(json.dumps(values)) == values
        expect(kept, f"plain values of {self.problem}", values, do)
        pickled = cloudpickle.loads(cloudpickle.dumps(self.problem))
        for what, again in (("its plain values", problem_from_dict(values)), ("a pickle", pickled)):
            same = again.digest == self.problem.digest and again.name == self.problem.name
            expect(same, f"{self.problem} again from {what}", again, do)

    def test_losses_are_gaps_to_the_best(self) -> None:
        """None is negative, and the best decision loses nothing."""
        losses = self._losses(self.problem.start())
        worst, best = min(losses.items(), key=lambda each: each[1]), min(losses.values())
        do = "return the expected reward of the best decision minus that of the decision shown"
        expect(all(map(math.isfinite, losses.values())), "losses that are numbers", losses, do)
        expect(best >= -_ROUNDING, "no loss below 0", f"{worst[1]:g} for {worst[0]}", do)
        if len(losses) < _LOOKED_AT:  # all there are
            expect(best <= _ROUNDING, "a loss of 0 for the best decision", f"{best:g}", do)

    def test_visitors_click_as_often_as_losses_say(self) -> None:
        """The loss of a decision is what its clicks fall short of those of the best, on average."""
        world, rng = self.problem.start(), generator(1, "conformance")
        self._visit(world, self.decisions()[:1], rng)  # from here on the world stands still
        losses = self._losses(world)
        by_loss = sorted(losses, key=losses.__getitem__)
        best, means, errors = by_loss[0], {}, {}
        for shown in {best, by_loss[len(by_loss) // 2], by_loss[-1]}:
            clicks = self._visit(world, [shown] * _TRIES, rng, moves=False)
            of_clicks = "unit" in self.problem.known() or np.isin(clicks, (0, 1)).all()
            expect(of_clicks, "outcomes of 0 or 1", np.unique(clicks), "fill in what was clicked")
            rewards = self.rewards(clicks, np.array([shown] * _TRIES))
            means[shown], errors[shown] = rewards.mean(), (rewards.std() + 1.0 / _TRIES) / math.sqrt(_TRIES)
        for shown in means:
            gap, said = means[best] - means[shown], losses[shown] - losses[best]
            room = _ERRORS * (errors[best] + errors[shown])
            expected = f"{shown} to lose {said:.3f} clicks, as `loss` says"
            got = f"{gap:.3f} ± {room:.3f}, as `respond` clicks"
            expect(abs(gap - said) <= room, expected, got, "let both go by the same probabilities")

    def test_a_seed_repeats_the_visitors(self) -> None:
        """All that is random comes from the generator."""
        shown = self.decisions() * _REPEATS
        one, other = (self._visit(self.problem.start(), shown, generator(2, "conformance")) for _ in range(2))
        expect(np.array_equal(one, other), "the same clicks from the same seed", "others", "draw from rng only")

    def test_what_does_not_move_stays(self) -> None:
        """The loop that plays leaves steady worlds alone once a policy is settled."""
        world = self.problem.start()
        if steady(world):
            before = self._losses(world)
            self._visit(world, self.decisions(), generator(3, "conformance"))
            after = self._losses(world)
            do = "change it in `move`, so that the loop knows"
            expect(before == after, "losses that stay in a world that does not move", after, do)

    def test_a_policy_plays_in_it(self) -> None:
        """Compiled, and with a regret that never falls."""
        policy, problem = as_policy(self.policy), self.problem
        policy.check_kind(problem.decision_kind, problem.shape, problem.name)
        state = policy.start(*problem.shape)
        checkpoints = np.array([10, 100, 1_000])
        run = generator(4, "conformance"), checkpoints, Scratch.new(problem.layout)
        world = problem.start()
        with compile_errors_explained(type(world).__module__):
            regrets, _ = play_through(state, world, None, *run)
        kept = (np.diff(regrets, prepend=0.0) >= -_ROUNDING).all()
        expect(kept, "regret that never falls", regrets, "see what `loss` returns")

    def _losses(self, world: Any) -> dict[tuple[int, ...], float]:
        decisions = self.decisions()
        losses = np.empty(len(decisions))
        self._run(_losses, world, np.array(decisions), losses)
        return dict(zip(decisions, losses.tolist(), strict=True))

    def _visit(self, world: Any, decisions: list[tuple[int, ...]], rng: Any, moves: bool = True) -> Ints:
        """Show a decision to each of some visitors; return what they click."""
        layout = self.problem.layout
        shown, context = np.array(decisions), np.zeros(layout.context)
        clicks = np.zeros((len(decisions), layout.outcome), np.int64)
        self._run(_visit, world, shown, clicks, context, rng, moves)
        same = bool((shown == decisions).all())
        expect(same, "what is shown to stay as it is in `respond`", "it changed", "fill in `outcome`, nothing else")
        expect(np.isfinite(context).all(), "a context of numbers", context, "fill it in `observe`")
        return clicks

    def _run(self, function: Any, world: Any, *arguments: Any) -> None:
        """Compiled, as the loop that plays is: the kernels of a step are not made to be called from Python."""
        module = type(world).__module__
        with compile_errors_explained(module):
            compiled(function, module)(world, *arguments)


def _losses(world: Any, decisions: Any, losses: Any) -> None:
    for index in range(len(decisions)):
        losses[index] = loss(world, decisions[index])


def _visit(world: Any, decisions: Any, clicks: Any, context: Any, rng: Any, moves: bool) -> None:
    for step in range(len(decisions)):
        if moves:
            move(world, step, rng)
            observe(world, step, rng, context)
        respond(world, decisions[step], clicks[step], rng)


class FamilySuite(Suite):
    """Tests of a family of problems: set `family` to its name."""

    family: str

    def make(self, n_rows: int, n_cols: int) -> Problem:
        """Return a problem of the family."""
        return known_families()[self.family].make(n_rows, n_cols)

    @property
    def of_lists(self) -> bool:
        """Whether its problems ask for lists, which have no more positions than items."""
        return known_families()[self.family].make(1, 1).decision_kind == "list"

    def test_is_known_and_says_what_it_is(self) -> None:
        """`rankone problems` and the reference list it."""
        known, do = known_families(), f'write @family("{self.family}") above its function'
        expect(self.family in known, f"a family '{self.family}'", "none", do)
        named = known[self.family]
        do = "begin the docstring of its function with one whole sentence"
        expect(named.explanation.endswith("."), f"a sentence about '{self.family}'", named.explanation or "none", do)
        missing = None, inspect.Parameter.empty
        without = [name for name, default in named.parameters.items() if any(default is each for each in missing)]
        expect(not without, "a default for every parameter", f"none for {without}", "give it one")

    def test_makes_problems_of_any_size(self) -> None:
        """One row or one column too; every probability in [0, 1]."""
        for sizes in ((1, 1), (1, 5), (5, 1), (3, 4), (40, 2), (20, 12)):
            if not self.of_lists or sizes[1] <= sizes[0]:
                made, do = self.make(*sizes), "go by the two sizes"
                users = made.known().get("users")  # whom nobody chooses
                got = made.shape if users is None else (users, *made.shape)
                expect(got == sizes, f"a problem of {sizes[0]} x {sizes[1]}", got, do)

    def test_is_the_same_every_time(self) -> None:
        """A name stands for one problem."""
        one, other = self.make(4, 3), self.make(4, 3)
        do = "draw from rankone.numerics.seeds.generator(seed, ...), with the seed as a parameter"
        expect(one.digest == other.digest, f"one problem '{one.name}'", "two different ones", do)

    def test_its_name_leads_back_to_it(self) -> None:
        """Studies and files know a problem by its name."""
        made = self.make(4, 3)
        again = as_problem(made.name)
        expect(again.to_dict() == made.to_dict(), f"'{made.name}' to be read as {made}", again, "see @family")

    def test_nonsense_is_refused(self) -> None:
        """In one voice: what was expected, what came, what to do."""
        one_factor = known_families()[self.family].factors is not None  # a single size is a problem, too
        wrong = ["", "0" if one_factor else "3", "0x3", "3x-1", "3x3:nonsense=1", *(["2x3"] if self.of_lists else [])]
        for text in wrong:
            spec = f"{self.family}:{text}"
            expect_refusal(functools.partial(as_problem, spec), f"the problem '{spec}'")
