"""A picture of a policy at work: one run as a page to step through, and as a strip of its most telling moments."""

from __future__ import annotations

import base64
import dataclasses
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from rankone.charts.chart import Chart
from rankone.charts.page import filled, whole_page
from rankone.charts.strip import strip_chart
from rankone.errors import InputError
from rankone.notebook import Shown
from rankone.pages.narration import idea, sizes
from rankone.pages.recipes import is_named_problem
from rankone.pages.recording import Frame, Recorder
from rankone.policies import Policy, as_policy
from rankone.problems import Problem, Product, RankOne
from rankone.problems.registry import as_problem, as_rank_one
from rankone.specs import amount, as_seed, as_whole_number
from rankone.writing import write_file

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_LEVELS, MOST_STEPS = 16, 1_000_000
_HERE = Path(__file__).parent
_STRIP = 5  # moments in the strip


def example() -> RankOne:
    """Return the problem that is explained when none is given: four headlines, three pictures."""
    return RankOne(
        [0.85, 0.6, 0.35, 0.05],
        [0.8, 0.5, 0.1],
        row_names=["headline A", "headline B", "headline C", "headline D"],
        col_names=["image 1", "image 2", "image 3"],
        name="headlines and images",
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class Explanation(Shown):
    """One run of a policy, ready to be looked at: `save` writes the page and the picture.

    Attributes:
        policy: the policy that played.
        problem: the problem it played on.
        horizon: number of decisions.
        seed: seed of the run.
        frames: the moments of the run.
        again: the command, or the Python, that makes the same page again.
    """

    unit: ClassVar[str] = "decision"
    draws: ClassVar[str] = "the page, chart() draws who was shown when"

    policy: Policy
    problem: Any
    horizon: int
    seed: int
    frames: list[Any]
    again: str

    def _sentence(self) -> str:
        played = f"{amount(self.horizon, self.unit)} of {self.policy} on {self.problem.name}, seed {self.seed}"
        return f"{played}; save(directory) writes {self.draws}."

    @property
    def _title(self) -> str:
        return f"{self.policy.label} on {self.problem.name}, seed {self.seed}"

    def chart(self) -> Chart:
        """Return the picture of the run."""
        raise NotImplementedError

    def html(self) -> str:
        """Return the page: one file, offline."""
        raise NotImplementedError

    def _filled(self, template: str, title: str, sizes: str, **more: Any) -> Markup:
        """Return the body of the page."""
        return filled(
            _HERE / template,
            title=title,
            about=(type(self.policy).__doc__ or "").strip().partition("\n")[0],
            run=f"{self.problem.name}: {sizes} · {amount(self.horizon, self.unit)} · seed {self.seed}",
            again=self.again,
            **more,
        )

    def _static_page(self, template: str, title: str, sizes: str, **more: Any) -> str:
        """Return a page of tables with the picture in it."""
        picture = base64.b64encode(self.chart()._render(".png", 2.0)).decode()
        body = self._filled(template, title, sizes, picture=f"data:image/png;base64,{picture}", **more)
        return whole_page(title, body, "table { border-collapse: collapse } td, th { padding: 0 0.8em }", [], {})

    def save(self, directory: str | Path) -> list[Path]:
        """Write ``explain.html`` (the page), ``explain.png`` and ``explain.svg`` (the picture); return their paths."""
        page = Path(directory) / "explain.html"
        write_file(page, self.html())
        return [page, *(self.chart().save(page.with_suffix(suffix)) for suffix in (".png", ".svg"))]


def made_again(policy: Policy, problem: Problem, horizon: int, seed: int, named: Sequence[str] | None) -> str:
    """Return the command that makes an explanation again; the Python, if the problem has no name to be called by."""
    if named is None:
        made = f"import rankone\n\nproblem = rankone.{type(problem).__name__}(**{problem.to_dict()!r})\n"
        return f'{made}rankone.explain({policy.label!r}, problem, horizon={horizon}, seed={seed}).save("explain")'
    words = ["rankone", "explain", "--policy", policy.label, *named, "--horizon", str(horizon), "--seed", str(seed)]
    return shlex.join([*words, "--out", "explain"])


@dataclass(frozen=True, kw_only=True, repr=False)
class PairExplanation(Explanation):
    """One run on rows and columns: a page to step through, and a strip of its most telling moments."""

    draws: ClassVar[str] = "the page to step through, chart() draws the strip"

    frames: list[Frame]
    about_levels: bool  # estimates are of rows and columns; otherwise of pairs with the leader
    interval: str
    scored_by: str

    def _tables(self) -> dict[str, Any]:
        told = [frame for frame in self.frames if frame.kind not in ("decision", "stretch")]
        return {"story": {"decision": [frame.step for frame in told], "what happened": [frame.text for frame in told]}}

    def html(self) -> str:
        """Return the page: one file, interactive, offline."""
        title = f"{self.policy.name}, step by step"
        idea_of_it = idea(eliminates=self.frames[0].stage is not None, about_levels=self.about_levels)
        story = [frame.text for frame in self.frames if frame.kind not in ("decision", "stretch")]
        body = self._filled("explain.html", title, sizes(self.problem, ", "), idea=idea_of_it, story=story)
        style, script = ((_HERE / f"explain.{kind}").read_text() for kind in ("css", "js"))
        data = {
            "rows": self.problem.row_names,
            "cols": self.problem.col_names,
            "horizon": self.horizon,
            "aboutLevels": self.about_levels,
            "interval": self.interval,
            "scoredBy": self.scored_by,
            "frames": [_plain(frame) for frame in self.frames],
        }
        return whole_page(title, body, style, [script], data)

    def chart(self) -> Chart:
        """Return the strip: the most telling moments side by side."""
        cells: list[dict[str, Any]] = []
        levels: list[dict[str, Any]] = []
        problem, before = self.problem, 0
        moments = self.moments()
        for index, frame in enumerate(moments):
            fresh = frame.shown - (self.frames[0].shown if index == 0 else moments[index - 1].shown)
            when = f"decisions {before + 1:,} to {frame.step:,}" if frame.step > before else f"decision {frame.step:,}"
            for row in range(problem.n_rows):
                for col in range(problem.n_cols):
                    share = float(fresh[row, col] / max(1, fresh.sum()))
                    names = {"row": problem.row_names[row], "col": problem.col_names[col]}
                    left = bool(frame.left[row, col])
                    cells.append({"moment": index, "when": when, **names, "share": share, "left": left})
            sides = (("row", problem.row_names, frame.rows), ("col", problem.col_names, frame.cols))
            for side, labels, estimates in sides:
                for label, found in zip(labels, estimates, strict=True):
                    mean = found.clicks / found.pulls if found.pulls else None
                    values = {"mean": mean, "low": found.low, "high": found.high, "left": found.left}
                    levels.append({"moment": index, "when": when, "side": side, "name": label, **values})
            before = frame.step
        below = self.interval or "click rate"
        note = f"Above: who was shown, as a share of these decisions. Below: {below} after them."
        if self.frames[0].stage is not None:
            note += " Dashed: the best lower bound; who ends left of it is out (×, dotted)."
        return strip_chart(pl.DataFrame(cells), pl.DataFrame(levels, infer_schema_length=None), self._title, note)

    def moments(self) -> list[Frame]:
        """Return the frames of the strip: the ends of stages at which somebody left, or moments on a log scale."""
        left = [frame for frame in self.frames if frame.kind in ("eliminates", "settled")]
        telling = [
            frame
            for index, frame in enumerate(left)
            if index == 0 or _left(frame) < _left(left[index - 1]) or frame.kind == "settled"
        ][-_STRIP:]
        if len(telling) < 2:
            steps = np.geomspace(10, self.horizon, _STRIP)
            telling = [min(self.frames, key=lambda frame: abs(frame.step - step)) for step in steps]
        return list({frame.step: frame for frame in [*telling, self.frames[-1]]}.values())[-_STRIP:]


def explain(
    policy: Policy | str = "rank1elim-kl",
    problem: Problem | str | None = None,
    *,
    horizon: int = 20_000,
    seed: int | None = 0,
) -> Explanation:
    """Play one run of a policy on a small problem and return it as an explanation.

    Args:
        policy: a policy or its name.
        problem: a problem of at most 16 rows and 16 columns, or its text; default: four headlines and three images. Or
            a `Product` of any number of factors. For a policy on lists, one of at most 16 items; default:
            ``"cascade:8x3"``.
        horizon: number of decisions, at most 1,000,000.
        seed: seed of the policy and of the outcomes; None draws one, and the explanation names it.

    >>> import rankone
    >>> told = rankone.explain("uts", horizon=50)
    >>> told.frames[0].kind, told.frames[-1].step
    ('start', 50)
    """
    horizon = as_whole_number("horizon", horizon, most=MOST_STEPS)
    seed = as_seed(seed)
    player = as_policy(policy)
    if player.decision_kind == "list":
        from rankone.pages.explain_lists import explain_lists

        return explain_lists(
            player, as_problem("cascade:8x3") if problem is None else as_problem(problem), horizon, seed
        )
    given = example() if problem is None else as_problem(problem)
    text = problem if isinstance(problem, str) else given.name if is_named_problem(given) else None
    if isinstance(given, Product) and given.is_rank_one:
        given = given.as_rank_one()
    if isinstance(given, Product) and not isinstance(given, RankOne):
        from rankone.pages.explain_factors import explain_factors

        return explain_factors(player, given, horizon, seed, text)
    world = as_rank_one(given, "with rows and columns to draw")
    if max(world.n_rows, world.n_cols) > MOST_LEVELS:
        size = f"{world.n_rows} x {world.n_cols}"
        raise InputError(f"at most {MOST_LEVELS} rows and columns to explain", size, "choose a smaller problem")
    player.check_kind(world.decision_kind, world.shape, "an explanation")
    recorder = Recorder(player.with_horizon(horizon).for_problem(*world.best_pairs[0]), world, horizon, seed)
    frames = recorder.play()
    named = [] if problem is None else None if text is None else ["--problem", text]
    return PairExplanation(
        policy=player,
        problem=world,
        horizon=horizon,
        seed=seed,
        frames=frames,
        about_levels=recorder.about_levels,
        interval=recorder.interval,
        scored_by=recorder.scored_by,
        again=made_again(player, world, horizon, seed, named),
    )


def _left(frame: Frame) -> int:
    return sum(level.left for level in (*frame.rows, *frame.cols))


def _plain(frame: Frame) -> dict[str, Any]:
    plain = {field.name: getattr(frame, field.name) for field in dataclasses.fields(frame)}
    levels = {side: [dataclasses.astuple(level) for level in plain[side]] for side in ("rows", "cols")}
    return plain | levels | {name: plain[name].tolist() for name in ("shown", "clicks", "left")}
