"""A picture of a policy at work: one run as a page to step through."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from rankone.charts.page import filled, whole_page
from rankone.errors import InputError
from rankone.notebook import Shown
from rankone.numerics.arrays import starts_of
from rankone.pages.narration import Combination, factor_words, sizes, thing
from rankone.pages.recording import MOST_LEVELS, Frame, Recorder
from rankone.pages.visits import SHARES, VisitRecorder
from rankone.policies import Policy, as_policy
from rankone.problems import Problem, Product, RankOne
from rankone.problems.registry import as_problem
from rankone.simulation.work_unit import ready_for
from rankone.specs import amount, as_seed, as_whole_number
from rankone.writing import write_file

MOST_STEPS = 1_000_000
_HERE = Path(__file__).parent
_AS_THEY_ARE = ("step", "kind", "text", "stage", "clicked", "sweeps", "regret", "who")  # of a frame, for the page
_MOST_SHOWN, _MOST_STRIPS = 12, 8  # levels of a large factor, and combinations over time, that the page shows


def example() -> RankOne:
    """Return the problem that is explained when none is given: four headlines, three pictures."""
    return RankOne(
        [0.85, 0.6, 0.35, 0.05],
        [0.8, 0.5, 0.1],
        row_names=["headline A", "headline B", "headline C", "headline D"],
        col_names=["image 1", "image 2", "image 3"],
        name="headlines and images",
    )


def _made_again(policy: Policy, problem: Problem | str | None, horizon: int, seed: int) -> str:
    """Return the command that makes an explanation again; the Python, if the problem was made there."""
    if isinstance(problem, Problem):
        kind = type(problem)
        code = f"import rankone\nfrom {kind.__module__} import {kind.__name__}\n\n"
        code += f"problem = {kind.__name__}(**{problem.to_dict()!r})\n"
        return f'{code}rankone.explain({policy.label!r}, problem, horizon={horizon}, seed={seed}).save("explain")'
    options = {"policy": policy.label, "problem": problem, "horizon": horizon, "seed": seed, "out": "explain"}
    words = [word for name, value in options.items() if value is not None for word in (f"--{name}", str(value))]
    return shlex.join(["rankone", "explain", *words])


@dataclass(frozen=True, kw_only=True, repr=False)
class Explanation(Shown):
    """One run of a policy on any number of factors, to be looked at: `save` writes the page."""

    policy: Policy
    problem: Any
    horizon: int
    seed: int
    frames: list[Frame]  # the moments of the run
    again: str  # the command, or the Python, that makes the same page again
    recorder: Recorder | VisitRecorder  # who played it

    def _sentence(self) -> str:
        played = f"{amount(self.horizon, 'decision')} of {self.policy} on {self.problem.name}, seed {self.seed}"
        return f"{played}; save(directory) writes the page to step through."

    @property
    def _visits(self) -> bool:
        """Whether visitors come by themselves: estimates are then of the one who is there."""
        return isinstance(self.recorder, VisitRecorder)

    @property
    def _story(self) -> list[Frame]:
        return [frame for frame in self.frames if frame.kind not in ("decision", "stretch")]

    def _tables(self) -> dict[str, Any]:
        story = self._story
        return {"story": {"decision": [frame.step for frame in story], "what happened": [one.text for one in story]}}

    def html(self) -> str:
        """Return the page: one file, interactive, offline."""
        title = f"{self.policy.name}, step by step"
        body = filled(
            _HERE / "explain.html",
            title=title,
            about=(type(self.policy).__doc__ or "").strip().partition("\n")[0],
            run=f"{self.problem.name}: {sizes(self.problem)} · {amount(self.horizon, 'decision')} · seed {self.seed}",
            again=self.again,
            eliminates=self.frames[0].stage is not None,
            sweeps=self.recorder.sweeps,
            visits=self._visits,
            story=[frame.text for frame in self._story],
            some=self._some(),
        )
        style, script = ((_HERE / f"explain.{kind}").read_text() for kind in ("css", "js"))
        return whole_page(title, body, style, [script], self._data())

    def _kept(self) -> list[list[int]]:
        """The levels of each factor that the page shows: of many, those that were shown most."""
        starts, shown = starts_of(self.problem.shape).tolist(), self.frames[-1].shown
        most = [np.argsort(-shown[first:last], kind="stable") for first, last in pairwise(starts)]
        return [sorted(own[: len(own) if len(own) <= MOST_LEVELS else _MOST_SHOWN].tolist()) for own in most]

    def _some(self) -> str:
        large = [f"{name} ({len(own)})" for name, own in self.problem.level_names.items() if len(own) > MOST_LEVELS]
        return f"Of {', '.join(large)} only the {_MOST_SHOWN} levels are here that were shown most." if large else ""

    def _data(self) -> dict[str, Any]:
        kept, names = self._kept(), list(self.problem.level_names.values())
        total: Counter[Combination] = Counter()
        for frame in self.frames:
            total.update(frame.fresh)
        strips = list(SHARES) if self._visits else [each for each, _ in total.most_common(_MOST_STRIPS)]
        starts = starts_of(self.problem.shape)[:-1]
        so_far = np.zeros(len(strips), np.int64)
        frames = []
        for frame in self.frames:
            so_far += [frame.fresh.get(combination, 0) for combination in strips]
            alive = math.prod(int(own.sum()) for own in np.split(frame.left, starts[1:]))
            frames.append(
                {name: getattr(frame, name) for name in _AS_THEY_ARE}
                | {
                    "decision": self._names(frame.decision),
                    "leader": self._names(frame.leader),
                    "clicks": round(float(frame.clicks[: len(names[0])].sum())),
                    "strips": so_far.tolist(),
                    "remaining": alive if frame.pairs is None else int(frame.pairs.left.sum()),
                    "left": [frame.left[first + own].tolist() for first, own in zip(starts, kept, strict=True)],
                    "levels": [[each[at] for at in own] for each, own in zip(frame.levels, kept, strict=True)],
                    "pairs": frame.pairs and [table.tolist() for table in frame.pairs],
                }
            )
        factors = zip(factor_words(self.problem), names, kept, strict=True)
        return {
            "factors": [{"name": word, "levels": [own[level] for level in some]} for word, own, some in factors],
            "combinations": self.problem.n_combinations,
            "strips": [[SHARES[each]] if self._visits else self._names(each) for each in strips],
            "horizon": self.horizon,
            "visits": self._visits,
            "payoffs": self.recorder.unit is not None,
            "thing": thing(self.problem),
            "aboutLevels": self.recorder.about_levels,
            "interval": self.recorder.interval,
            "scoredBy": self.recorder.scored_by,
            "frames": frames,
        }

    def _names(self, combination: Combination | None) -> list[str] | None:
        names = self.problem.level_names.values()
        return None if combination is None else [own[level] for own, level in zip(names, combination, strict=True)]

    def save(self, directory: str | Path) -> list[Path]:
        """Write the page, ``explain.html``, into a directory; return its path."""
        page = Path(directory) / "explain.html"
        write_file(page, self.html())
        return [page]


def explain(
    policy: Policy | str | None = None,
    problem: Problem | str | None = None,
    *,
    horizon: int = 20_000,
    seed: int | None = 0,
) -> Explanation:
    """Play one run of a policy on a small problem and return it as an explanation.

    Args:
        policy: a policy or its name; not one that shows lists. Default: ``rank1elim-kl``; where visitors come by
            themselves, one that tells them apart.
        problem: a `RankOne`, a `Product` of any number of factors, visitors who come by themselves (``latent:50x10``,
            ``visitors:5x4``), or its text; default: four headlines and three images.
        horizon: number of decisions, at most 1,000,000.
        seed: seed of the policy and of the outcomes; None draws one, and the explanation names it.

    >>> import rankone
    >>> told = rankone.explain("uts", horizon=50)
    >>> told.frames[0].kind, told.frames[-1].step
    ('start', 50)
    """
    horizon = as_whole_number("horizon", horizon, most=MOST_STEPS)
    seed = as_seed(seed)
    world: Any = example() if problem is None else as_problem(problem)
    visits = not isinstance(world, Product)
    if world.decision_kind == "list" or (visits and world.visitor(world.start()) is None):
        what = "lists" if world.decision_kind == "list" else f"{world!r}, which is neither"
        do = "see `rankone simulate`, which plays it too"
        raise InputError("factors, or visitors who come by themselves: an explanation shows nothing else", what, do)
    player = as_policy(policy or _usual_policy(world))
    ready = ready_for(player, world, horizon)
    recorder = (VisitRecorder if visits else Recorder)(ready, world, horizon, seed)
    return Explanation(
        policy=player,
        problem=recorder.problem,
        horizon=horizon,
        seed=seed,
        frames=recorder.play(),
        again=_made_again(player, world if isinstance(problem, Problem) else problem, horizon, seed),
        recorder=recorder,
    )


def _usual_policy(problem: Problem) -> str:
    known = problem.known()
    if "users" in known:
        return "mixture-linear-ts" if "features" in known else "mixture-ts"
    return "logit-ts" if "features" in known else "rank1elim-kl"
