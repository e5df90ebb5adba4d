"""The arena: every policy on every named problem. It is how a policy is judged, ours included.

Regret is given as mean, standard error and quantiles, as a multiple of the lower bound C(u, v) log n, and against a
reference policy: over many problems only ratios can be averaged, by their geometric mean.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rankone.charts.chart import Chart
from rankone.errors import InputError
from rankone.kernels.decision import DecisionKind, Shape, same_kind
from rankone.lazy import pl
from rankone.notebook import Shown
from rankone.policies import Policy, as_policy, known_policies
from rankone.problems import Problem, as_problem, load_problems
from rankone.progress import Progress
from rankone.simulation.arena_problems import ARENAS, WORLDS, ArenaProblem, Half, assumed_examination, random_loss
from rankone.simulation.feedback import Feedback, as_feedback
from rankone.simulation.simulate import Part, listed, simulate_parts
from rankone.simulation.store import read_about, write_about
from rankone.specs import amount, as_seed, one_of, whole_number
from rankone.wording.ratios import signed_percent
from rankone.writing import write_table, writing_under


class Field(NamedTuple):
    """What an arena plays, and the policy that all are compared with."""

    problems: tuple[ArenaProblem, ...]
    plays: DecisionKind
    shape: Shape  # the smallest
    reference: str


_FIELDS = {
    "pairs": Field(ARENAS["pairs"], "pair", (2, 2), "uts"),
    "lists": Field(ARENAS["lists"], "list", (2, 2), "gibbs-ts"),
    "factors": Field(ARENAS["factors"], "combination", (2, 2, 2), "uts"),
    "drifting": Field(ARENAS["drifting"], "pair", (2, 2), "uts"),
    "features": Field(ARENAS["features"], "list", (2, 2), "cascade-logit-ts"),
    "visitors": Field(ARENAS["visitors"], "combination", (2, 2), "logit-ts"),
    "arrivals": Field(ARENAS["arrivals"], "combination", (2,), "mixture-ts"),
}
_MODEL_HORIZON = 100_000
_QUICK_SHARE = 10  # a quick arena plays a tenth of each horizon
# Without regret there is nothing to compare; comb-cascade wants lists of which every item is good, and segmented-uts
# visitors who can be told apart.
_LEFT_OUT = {"best", "comb-cascade", "segmented-uts", "swap-neighbours"}
# These need to know classes or vectors of items beforehand, pts 20 times the time of the others.
_LEFT_OUT |= {"icf-ts", "icf-ucb", "latent-ucb", "mts", "pts"}
# What is made for worlds that change plays where worlds do, unless it is named.
_FOR_CHANGES = {"cusum-ucb", "d-ts", "discounted-uts", "glr-kl-ucb", "glr-uts", "m-ucb"}
_FOR_CHANGES |= {"sliding-uts", "sw-ts"}
_WITHOUT_USERS = {"thompson", "uniform"}
_WITHOUT_FEATURES = {"cascade-ts", "random-list", "thompson", "uts", "uniform"}  # who plays beside those who use them


@dataclass(frozen=True, repr=False)
class Arena(Shown):
    """What an arena found: a row per problem and policy, and the policy everything is compared with.

    Columns of `table`: problem, half, trap, policy, runs, horizon, regret_mean, regret_se, regret_median, regret_p95,
    regret_p99, times_bound (mean regret as a multiple of C(u, v) log n), sync_points and seconds (a run). An arena of
    lists also has the world of each problem, and in `lost` the 95% quantile as a share of what random lists lose.
    """

    table: pl.DataFrame
    against: str
    settings: Mapping[str, Any] = field(default_factory=dict)  # the arguments of `rankone.arena`, as plain values

    @classmethod
    def load(cls, directory: str | Path) -> Arena:
        """Return the arena that `save` wrote into a directory."""
        about = read_about(Path(directory), "arena")
        table = pl.read_csv(Path(directory) / "arena.csv", infer_schema_length=None)
        return cls(table, about["against"], about["settings"])

    @property
    def headline(self) -> str:
        """Which policy has the least regret over all problems, in at most 25 words."""
        scores = self.scores()
        best = scores.row(0, named=True)
        if scores.height == 1:
            return f"Nothing to compare: only {best['policy']} was played."
        least = f"{best['policy']} has the least regret"
        if best["policy"] == self.against:
            return f"{least} over {amount(self.table['problem'].n_unique(), 'problem')}."
        mean, worst = (signed_percent(best[name]) for name in ("against_mean", "against_worst"))
        return f"{least}: {mean} against {self.against}, at worst {worst} on {best['worst_problem']}."

    def _sentence(self) -> str:
        problems = amount(self.table["problem"].n_unique(), "problem")
        means = f"Geometric means over {problems}, as multiples of the lower bound and of {self.against}'s regret:"
        return f"{self.headline}\n{means}"

    def _tables(self) -> dict[str, pl.DataFrame]:
        lists = {"robustness": self.robustness()} if self.of_lists else {}
        return {"scores": self.scores(), **lists, "table": self.table, "ratios": self.ratios()}

    @property
    def of_lists(self) -> bool:
        """Whether lists were played, not pairs."""
        return "world" in self.table.columns

    def ratios(self) -> pl.DataFrame:
        """Return mean and 99% quantile of each policy's regret as multiples of the reference's, problem by problem."""
        ours = ("regret_mean", "regret_se", "regret_p99")
        reference = self.table.filter(pl.col("policy") == self.against).select("problem", "horizon", *ours)
        both = self.table.join(reference, on=["problem", "horizon"], suffix="_reference", maintain_order="left")
        mean = pl.col("regret_mean") / pl.col("regret_mean_reference")
        noise = sum((pl.col(f"regret_se{of}") / pl.col(f"regret_mean{of}")) ** 2 for of in ("", "_reference"))
        ratios = {"mean_ratio": mean, "mean_ratio_se": mean * pl.Expr.sqrt(pl.lit(0.0) + noise)}
        ratios["p99_ratio"] = pl.col("regret_p99") / pl.col("regret_p99_reference")
        return both.select("problem", "horizon", "half", "trap", "policy", **ratios)

    def scores(self) -> pl.DataFrame:
        """Return a row per policy, best first: geometric means over problems, and the worst cases."""
        worst = pl.col("mean_ratio").arg_max()
        columns = {
            "against_mean": _mean_ratio(),
            "against_worst": pl.col("mean_ratio").max(),
            "worst_problem": pl.col("problem").get(worst),
            "against_trap_p99": pl.col("p99_ratio").filter(pl.col("trap")).max(),
        }
        scores = self.ratios().group_by("policy").agg(**columns)
        bounds = self.table.group_by("policy").agg(times_bound=pl.col("times_bound").log().mean().exp())
        return scores.join(bounds, on="policy").sort("against_mean")

    def robustness(self) -> pl.DataFrame:
        """Return a row per policy and world, best first: how it does there, also where it was not made for.

        Columns: policy, world, against_mean (geometric mean of its regret as a multiple of the reference's), and lost:
        of the world's problems the worst 95% quantile of regret, as a share of what random lists lose.
        """
        if not self.of_lists:
            raise InputError("an arena of lists", "one of pairs", "pass of='lists' to arena")
        worlds = self.table.select("problem", "policy", "world", "lost")
        both = self.ratios().join(worlds, on=["problem", "policy"]).group_by("policy", "world")
        orders = {"policy": self.scores()["policy"].to_list(), "world": list(WORLDS)}
        ranks = [
            pl.col(name).replace_strict({each: i for i, each in enumerate(order)}) for name, order in orders.items()
        ]
        return both.agg(against_mean=_mean_ratio(), lost=pl.col("lost").max()).sort(*ranks)

    def chart(self) -> Chart:
        """Return the heat map: problems down, policies across (best first), multiples of the lower bound.

        Not every world of lists or factors has a bound: there it is multiples of the reference's regret.
        """
        from rankone.charts.heatmap import heatmap

        table, value, what = self.table, "times_bound", "the lower bound C(u, v) log n"
        if self.of_lists or table["times_bound"].has_nulls():
            table, value, what = self.ratios(), "mean_ratio", f"{self.against}'s"
        order, title = self.scores()["policy"].to_list(), f"Regret as a multiple of {what}"
        return heatmap(table, x="policy", y="problem", value=value, order=order, title=title)

    def save(self, directory: str | Path) -> None:
        """Write ``arena.csv``, ``arena.json``, ``scores.csv`` and the heat map (PNG, SVG, HTML) into a directory."""
        directory = Path(directory)
        with writing_under(directory):
            write_about(directory, "arena", {"against": self.against, "settings": dict(self.settings)})
            write_table(directory / "arena.csv", self.table)
            write_table(directory / "scores.csv", self.scores())
            if self.of_lists:
                write_table(directory / "robustness.csv", self.robustness())
            for suffix in (".png", ".svg", ".html"):
                self.chart().save(directory / f"arena{suffix}")


def arena(
    problems: str | Sequence[str] | None = None,
    policies: Policy | str | Sequence[Policy | str] | None = None,
    *,
    of: str = "pairs",
    half: Half | None = None,
    models: str | Path | None = None,
    runs: int = 100,
    seed: int | None = 0,
    stretch: int = 1,
    quick: bool = False,
    against: str | None = None,
    workers: int | None = None,
    out: str | Path | None = None,
    executor: Executor | Any | None = None,
    progress: Progress | bool | None = None,
    feedback: Feedback | str | None = None,
) -> Arena:
    """Play policies on the arena's named problems, each at its own horizon.

    Args:
        problems: one or several names of problems of the arena; default: those of the two halves.
        policies: policies or their names; default: all but the yardstick `best`. The reference always plays.
        of: which arena, each with problems and policies of its own: ``"pairs"``, ``"lists"``, ``"factors"`` (two to
            eight), ``"drifting"`` (worlds that change), ``"features"`` (lists of items that have them), ``"visitors"``
            (combinations for visitors with features) or ``"arrivals"`` (users who arrive by themselves).
        half: ``"tune"`` or ``"report"`` for one of the two fixed halves of the named problems, ``"headlines"`` for the
            third part, problems like real tests of headlines and images.
        models: JSON or CSV file of problems (fitted click models, for example) that join the named ones.
        runs: runs of each policy on each problem.
        seed: root of the seed tree; None draws one, which is then among the `settings`.
        stretch: play this many times each problem's horizon.
        quick: a tenth of each horizon, and what changes in a world does so ten times as soon.
        against: the policy that ratios compare with; default `uts`, of lists `gibbs-ts`, with features
            `cascade-logit-ts` or `logit-ts`, of arrivals `mixture-ts`.
        out: directory that keeps finished runs; an interrupted arena continues there.
        workers, executor, progress, feedback: as in `rankone.simulate`.

    >>> found = arena("two-by-two", ["uts", "ucb1"], runs=3, quick=True, workers=1)
    >>> found.table["policy"].to_list()
    ['uts', 'ucb1']
    """
    late, seed = as_feedback(feedback), as_seed(seed)
    field = _FIELDS[one_of("of", of, _FIELDS)]
    against = as_policy(field.reference if against is None else against).label
    if problems is not None:
        problems = listed(problems, (str,), "problems of the arena", field.problems[0].name)
    entries = _chosen(problems, half, models, field.problems)
    players = _players(policies, against, of)
    whole_number("stretch", stretch)
    worlds, parts = [], []
    for entry in entries:
        horizon = max(1, entry.horizon * stretch // _QUICK_SHARE) if quick else entry.horizon * stretch
        world = entry.problem(horizon)
        known = (assumed_examination(world) if of == "lists" else {}) | world.known()
        when = "" if late.is_immediate else f"-{late.label.replace(':', '-')}"  # what comes late is kept apart
        worlds.append((entry, world))
        ready = [player.with_known(known) for player in players]
        parts.append(Part([world], ready, horizon, late, f"runs/{world.digest}-{horizon}{when}"))
    studies, tables = simulate_parts(parts, whole_number("runs", runs), seed, workers, executor, progress, out), []
    for (entry, world), part, study in zip(worlds, parts, studies, strict=True):
        names = {ready.label: player.label for ready, player in zip(part.policies, players, strict=True)}
        summary = study.summary().with_columns(pl.col("policy").replace_strict(names))
        tables.append(_rows(summary, entry, world, part.horizon))
    settings: dict[str, Any] = {"of": of, "policies": [player.label for player in players], "problems": problems}
    settings |= {"half": half, "models": None if models is None else str(models), "runs": runs, "seed": seed}
    settings |= {"stretch": stretch, "quick": quick, "against": against, "feedback": late.label}
    return Arena(pl.concat(tables), against, settings)


def _mean_ratio() -> pl.Expr:
    return pl.col("mean_ratio").log().mean().exp()


def _rows(summary: pl.DataFrame, entry: ArenaProblem, world: Problem, horizon: int) -> pl.DataFrame:
    bound = (world.lower_bound_constant() or 0.0) * math.log(horizon)
    figures = [name for name in summary.columns if name.startswith("regret")]
    times_bound = (pl.col("regret_mean") / (bound if bound > 0.0 else math.nan)).fill_nan(None).alias("times_bound")
    about = [pl.lit(entry.half, pl.String).alias("half"), pl.lit(entry.trap).alias("trap")]
    of_lists: dict[str, pl.Expr] = {}
    if entry.world is not None:
        lost = pl.col("regret_p95") / (random_loss(world) * horizon)
        of_lists = {"world": pl.lit(entry.world), "lost": lost}
    measured = pl.col("policy", "runs", "horizon", *figures)
    return summary.select("problem", *about, measured, times_bound, "sync_points", "seconds", **of_lists)


def _chosen(
    names: Sequence[str] | None, half: Half | None, models: str | Path | None, field: Sequence[ArenaProblem]
) -> list[ArenaProblem]:
    if half is not None:
        one_of("half", half, typing.get_args(Half))
    for name in names or ():
        one_of("problem of the arena", name, [entry.name for entry in field])
    chosen = [
        entry
        for entry in field
        if (entry.name in names if names else half is not None or entry.half != "headlines")
        and (half is None or entry.half == half)
    ]
    for world in load_problems(models) if models is not None else ():
        chosen.append(ArenaProblem(world.name, _MODEL_HORIZON, None, partial(as_problem, world)))
    if not chosen:
        got = ", ".join(names or ()) or "none in this arena"
        raise InputError(f"problems of the half '{half}'", got, "leave one of the two out")
    return chosen


def _players(policies: Policy | str | Sequence[Policy | str] | None, against: str, of: str = "pairs") -> list[Policy]:
    """Return who plays; by default all who can, and look at what there is to see beforehand."""
    field = _FIELDS[of]
    if policies is None:
        left_out = _LEFT_OUT if of == "drifting" else _LEFT_OUT | _FOR_CHANGES
        contexts, users = of in ("features", "visitors"), of == "arrivals"
        everybody = [as_policy(name) for name in sorted(known_policies()) if name not in left_out]
        policies = [
            policy
            for policy in everybody
            if same_kind(policy.decision_kind, field.plays, field.shape)
            and (hasattr(policy, "users") and policy.by_segment) == (users and policy.name not in _WITHOUT_USERS)
            and (users or policy.uses_context == contexts or (contexts and policy.name in _WITHOUT_FEATURES))
        ]
    given = [as_policy(item) for item in listed(policies, (Policy, str), "policies", "ucb1")]
    reference = as_policy(against)
    players = given if reference in given else [reference, *given]
    for player in players:
        player.check_kind(field.plays, field.shape, "the arena")
    return players
