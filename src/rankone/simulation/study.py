"""A finished study: its runs as tables, its figures with their uncertainty, its picture."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankone.charts.chart import Chart
from rankone.lazy import pl
from rankone.notebook import Shown
from rankone.numerics.arrays import Ints
from rankone.problems import Problem
from rankone.problems.base import problem_from_dict
from rankone.simulation.feedback import AT_ONCE, Feedback, as_feedback
from rankone.simulation.store import kept_runs, read_about
from rankone.simulation.work_unit import Run
from rankone.specs import amount, one_of
from rankone.writing import write_file, write_table, writing_under

# What of a summary people look for, and under which names.
TITLES = {
    "problem": "problem",
    "policy": "policy",
    "runs": "runs",
    "regret_mean": "regret",
    "regret_se": "± se",
    "regret_median": "median",
    "regret_p95": "p95",
    "sync_points": "sync points",
    "seconds": "s per run",
    "steps_per_second": "steps/s",
}
_SHOWN = list(TITLES)[:7]


class Study(Shown):
    """Runs of policies on problems, as `rankone.simulate` returns them.

    >>> import rankone
    >>> study = rankone.simulate(rankone.needle(4, 4), ["ucb1", "rank1elim-kl"], horizon=1_000, runs=4, workers=1)
    >>> study.table.columns
    ['problem', 'policy', 'run', 'step', 'regret']
    >>> study.summary().height
    2
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        policies: Sequence[str],
        checkpoints: Ints,
        runs: Sequence[Run],
        feedback: Feedback = AT_ONCE,
        *,
        seed: int | None = None,
        wanted: int | None = None,
        paired: bool = False,
    ) -> None:
        self.problems, self.policies = list(problems), list(policies)
        self.checkpoints, self.feedback, self.seed, self.paired = checkpoints, feedback, seed, paired
        self.wanted = len(runs) if wanted is None else wanted  # runs that were asked for
        self.runs = sorted(
            runs, key=lambda run: (self._problem_names.index(run.problem), self.policies.index(run.policy), run.run)
        )

    @classmethod
    def load(cls, directory: str | Path) -> Study:
        """Return the study that ``rankone.simulate(..., out=directory)`` keeps there, as far as runs are finished."""
        directory = Path(directory)
        about = read_about(directory, "study")
        problems = [problem_from_dict(values) for values in about["problems"]]
        runs = kept_runs(directory, problems, about["policies"], about["runs"])
        steps = np.array(about["checkpoints"], dtype=np.int64)
        late, wanted = as_feedback(about.get("feedback")), len(problems) * len(about["policies"]) * about["runs"]
        how = {"seed": about["seed"], "wanted": wanted, "paired": about.get("paired", False)}
        return cls(problems, about["policies"], steps, runs, late, **how)

    @property
    def headline(self) -> str:
        """Which policy lost the fewest clicks, in at most 25 words."""
        table = self.summary()
        regret = table.group_by("policy", maintain_order=True).agg(pl.col("regret_mean").log().mean())
        if table.is_empty() or regret.height < 2:
            return ""
        names = regret.sort("regret_mean")["policy"].to_list()
        if len(self.problems) > 1:
            wins = table.filter(pl.col("regret_mean") == pl.col("regret_mean").min().over("problem"))["policy"]
            won = int((wins == names[0]).sum())
            return f"{names[0]} lost the fewest clicks on average, and on {won} of {len(self.problems)} problems."
        first, second = (table.row(by_predicate=pl.col("policy") == name, named=True) for name in names[:2])
        apart = second["regret_mean"] - first["regret_mean"]
        sure = apart > 2.0 * math.hypot(first["regret_se"] or math.inf, second["regret_se"] or math.inf)
        fewer = f"{first['regret_mean']:,.0f}, {second['policy']} {second['regret_mean']:,.0f}"
        return f"{names[0]} lost the fewest clicks: {fewer}{'' if sure else ' (too close to call)'}."

    def _sentence(self) -> str:
        when = "" if self.feedback.is_immediate else f", feedback {self.feedback}"
        seed = "" if self.seed is None else f", seed {self.seed}"
        part = f" ({len(self.runs):,} of {self.wanted:,} runs are finished)" if self.is_partial else ""
        after = f"Clicks lost (regret) after {amount(self.horizon, 'decision')}{when}{seed}{part}:"
        return "\n".join(filter(None, [self.headline, after]))

    def _tables(self) -> dict[str, pl.DataFrame]:
        return {"summary": self.summary(), "table": self.table, "versus": self.versus()}

    def _shown(self) -> pl.DataFrame:
        return self.summary().select(pl.col(name).alias(TITLES[name]) for name in _SHOWN)

    @property
    def horizon(self) -> int:
        """Number of decisions per run."""
        return int(self.checkpoints[-1])

    @property
    def is_partial(self) -> bool:
        """Whether runs are missing, because the study was stopped or is still at work."""
        return len(self.runs) < self.wanted

    @property
    def _problem_names(self) -> list[str]:
        return [problem.name for problem in self.problems]

    @functools.cached_property
    def table(self) -> pl.DataFrame:
        """Long table: problem, policy, run, step, regret (cumulative pseudo-regret after `step` decisions).

        A study with late feedback has the column feedback too, after policy.
        """
        steps = pl.lit(self.checkpoints.tolist(), pl.List(pl.Int64)).alias("step")
        per_run = self._runs.select("problem", "policy", "run", steps, "regret")
        return self._with_feedback(per_run.explode("step", "regret"))

    @property
    def _runs(self) -> pl.DataFrame:
        kinds: list[Any] = [pl.String, pl.String, pl.Int64, pl.Float64, pl.List(pl.Float64), pl.Int64]
        runs = [run._replace(regret=run.regret.tolist()) for run in self.runs]
        return pl.DataFrame(runs, schema=dict(zip(Run._fields, kinds, strict=True)), orient="row")

    def _with_feedback(self, table: pl.DataFrame) -> pl.DataFrame:
        if self.feedback.is_immediate:
            return table
        return table.insert_column(2, pl.repeat(self.feedback.label, table.height, eager=True).alias("feedback"))

    def summary(self) -> pl.DataFrame:
        """One row per problem and policy: final regret (mean, standard error, median, upper quantiles) and speed.

        ``sync_points`` is the mean number of synchronisation points of a run: decisions that rest on outcomes which no
        earlier decision rested on.
        """
        regret, seconds = pl.col("regret").list.last(), pl.col("seconds").mean()
        table = self._runs.group_by("problem", "policy", maintain_order=True).agg(
            runs=pl.len(),
            horizon=pl.lit(self.horizon),
            regret_mean=regret.mean(),
            regret_se=regret.std() / pl.len().sqrt(),
            regret_median=regret.median(),
            regret_p95=regret.quantile(0.95, "linear"),
            regret_p99=regret.quantile(0.99, "linear"),
            sync_points=pl.col("sync_points").mean(),
            seconds=seconds,
            steps_per_second=self.horizon / seconds,
        )
        return self._with_feedback(table)

    def versus(self) -> pl.DataFrame:
        """Who beats whom: one row for each two policies of a problem, the one with less final regret first.

        ``difference`` is how much less, ``se`` its standard error and ``better`` the share of runs in which it has
        less. Where the study is paired, the error is that of the differences run by run.

        >>> import rankone
        >>> names = ["uts", "ucb1", "uniform"]
        >>> study = rankone.simulate("needle:4x4", names, 2_000, runs=5, workers=1, paired=True)
        >>> study.versus().select("policy", "other").row(0)
        ('uts', 'ucb1')
        """
        final = self._runs.select("problem", "policy", "run", regret=pl.col("regret").list.last())
        pairs = final.join(final, on=["problem", "run"], suffix="_other", maintain_order="left_right")
        pairs = pairs.filter(pl.col("policy") != pl.col("policy_other"))
        less, regret, other = pl.col("regret_other") - pl.col("regret"), pl.col("regret"), pl.col("regret_other")
        spread = less.std() if self.paired else (regret.var() + other.var()).sqrt()
        table = pairs.group_by("problem", "policy", pl.col("policy_other").alias("other"), maintain_order=True).agg(
            runs=pl.len(), difference=less.mean(), se=spread / pl.len().sqrt(), better=(less > 0).mean()
        )
        rank = {label: index for index, label in enumerate(self.policies)}
        before = pl.col("policy").replace_strict(rank) < pl.col("other").replace_strict(rank)
        table = table.filter((pl.col("difference") > 0) | ((pl.col("difference") == 0) & before))
        return self._with_feedback(table)

    def only(self, policies: Sequence[str]) -> Study:
        """Return the part of the study that is about these policies, named by their labels."""
        for label in policies:
            one_of("policies of the study", label, self.policies)
        kept = [run for run in self.runs if run.policy in policies]
        return Study(self.problems, policies, self.checkpoints, kept, self.feedback, seed=self.seed, paired=self.paired)

    def chart(self, *, log_steps: bool = False, log_regret: bool = False, lower_bound: bool = True) -> Chart:
        """Draw regret against time, the mean with a band of two standard errors, a panel per problem.

        Args:
            log_steps: logarithmic time.
            log_regret: logarithmic regret.
            lower_bound: whether the lower bound is drawn where there is one.
        """
        from rankone.charts.regret import regret_chart

        constants = {problem.name: problem.lower_bound_constant() for problem in self.problems if lower_bound}
        bounds = {name: constant for name, constant in constants.items() if constant is not None}
        titles = {problem.name: problem.title for problem in self.problems}
        return regret_chart(self.table, bounds, log_steps=log_steps, log_regret=log_regret, titles=titles)

    def save(self, directory: str | Path, *, log_steps: bool = False, log_regret: bool = False) -> None:
        """Write ``table.parquet``, ``summary.csv``, ``summary.json`` and ``regret.png`` into a directory.

        They are for others to read; what `load` reads is kept by ``rankone.simulate(..., out=directory)``.
        `log_steps` and `log_regret` are for the picture, as in `chart`.
        """
        directory = Path(directory)
        summary = self.summary()
        with writing_under(directory):
            write_table(directory / "table.parquet", self.table)
            write_table(directory / "summary.csv", summary)
            write_file(directory / "summary.json", json.dumps(summary.to_dicts(), indent=1))
            self.chart(log_steps=log_steps, log_regret=log_regret).save(directory / "regret.png")
