"""Any problem as an environment of Gymnasium, for agents that were written for it (``pip install 'rankone[gym]'``)."""

from typing import Any

import numpy as np

from rankone.errors import InputError, MissingExtra
from rankone.kernels.world import loss, move, observe, respond
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.seeds import generator
from rankone.problems import Problem, as_problem

try:
    import gymnasium
    from gymnasium import spaces
except ImportError:
    raise MissingExtra("An environment of Gymnasium", "gym") from None


class Decisions(gymnasium.Env[Floats, Ints]):
    """One step is one visitor: the action is what is shown, the reward what it brings.

    The observation is what is known of the next visitor (where nothing is, one number that is always 0). `info` has
    the `clicks`, and the `regret`: how much less than the best decision this one earns on average. An episode ends,
    truncated, after `horizon` visitors.

    An action is a level of each factor, or an item at each position. In a list, an item that stands twice is shown
    once, and the first items that are not in the list fill the rest.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own name

    def __init__(self, problem: Problem, horizon: int = 10_000) -> None:
        if horizon < 1:
            raise InputError("a horizon of at least 1", horizon, "try horizon=10_000")
        self.problem, self.horizon = problem, horizon
        self._layout, shape = problem.layout, problem.shape
        self._is_list = problem.decision_kind == "list"
        self.action_space = spaces.MultiDiscrete([shape[0]] * shape[1] if self._is_list else list(shape))
        self.observation_space = spaces.Box(-np.inf, np.inf, (max(1, self._layout.context),), np.float64)
        self._forbidden = {tuple(rule) for rule in problem.forbidden.tolist()}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        """Begin again; the same `seed` has the same visitors."""
        super().reset(seed=seed)
        self._rng = generator(int(self.np_random.integers(2**62)))
        self._world, self._step = self.problem.start(), 0
        return self._next_visitor(), {}

    def step(self, action: Ints) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Show something to the visitor who is there."""
        shown = np.array(action, np.int64)
        if self._is_list:
            once = dict.fromkeys([*shown.tolist(), *range(self.problem.shape[0])])
            shown = np.array(list(once)[: len(shown)], np.int64)
        elif any(all(level in (-1, mine) for level, mine in zip(rule, shown, strict=True)) for rule in self._forbidden):
            raise InputError("a combination that is allowed", shown.tolist(), "see env.problem.forbidden")
        clicks = np.zeros(self._layout.outcome, np.int64)
        regret = float(loss(self._world, shown))
        respond(self._world, shown, clicks, self._rng)
        self._step += 1
        reward = float(self.problem.earned(clicks[None], shown[None])[0])
        info = {"clicks": clicks, "regret": regret, "shown": shown}
        return self._next_visitor(), reward, False, self._step >= self.horizon, info

    def _next_visitor(self) -> Floats:
        context = np.zeros(max(1, self._layout.context))
        move(self._world, self._step, self._rng)
        observe(self._world, self._step, self._rng, context[: self._layout.context])
        return context


def make(problem: Any, horizon: int = 10_000) -> Decisions:
    """Return a problem, or one by its name, as an environment.

    >>> import rankone.gym
    >>> env = rankone.gym.make("needle:4x4", horizon=100)
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    """
    return Decisions(as_problem(problem), horizon)
