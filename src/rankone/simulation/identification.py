"""Identification studies: how many decisions until a rule is sure of the best combination, and how often is it wrong?

* Fixed confidence (Garivier, Kaufmann, COLT 2016): the rule stops when it is sure, with an error of at most e. The mean
  number of decisions until then is at least about T* log(1 / e) (`rankone.problems.theory.time_to_be_sure`).
* Fixed budget (Audibert, Bubeck, Munos, COLT 2010): the rule names a combination after n decisions; what counts is how
  often that is not the best. Named is the winner, where there is one, or else the best of the likeliest product.

Exploration and stop rule are those of live experiments, played by `rankone.simulation.plans.rehearsal`.
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rankone.evidence.steering import AIMS, ERROR_RATE, Aim
from rankone.notebook import Shown, text_table
from rankone.numerics.product_fit import product_rates
from rankone.policies import Policy, as_policy
from rankone.problems.product import Product
from rankone.problems.theory.time_to_be_sure import characteristic_time
from rankone.progress import Progress, as_progress
from rankone.simulation.plans.rehearsal import Rehearsal, product_to_rehearse, simulate_experiment
from rankone.simulation.simulate import listed
from rankone.specs import as_whole_number, number_in, one_of

POLICY_ALONE = "policy"  # explores nothing besides what the policy draws
RULES = {**AIMS, POLICY_ALONE: Aim(explore=0.0, lead=0.5, patience=math.inf)}


@dataclasses.dataclass(frozen=True, repr=False)
class Identification(Shown):
    """Decisions until a verdict and the share of wrong ones, rule by rule; and the same after fixed budgets.

    Args:
        confidence: a row for each problem, policy and aim.
        budget: a row for each of them and each budget; empty where none was given.
        error: of the verdicts, as promised.
    """

    confidence: list[dict[str, Any]]
    budget: list[dict[str, Any]]
    error: float

    def _sentence(self) -> str:
        return f"Decisions until {1.0 - self.error:.0%} sure of the best, against the theoretical minimum T* log(1/e):"

    def _tables(self) -> dict[str, Any]:
        tables = {"confidence": self.confidence, "budget": self.budget}
        return {name: {key: [row[key] for row in rows] for key in rows[0]} for name, rows in tables.items() if rows}

    @property
    def budget_text(self) -> str:
        """The second table, as text."""
        table = text_table(self._tables().get("budget", {}))
        return "\n".join(["How often the combination named after a budget is not the best:", *table])


def identify(
    problems: Product | str | Sequence[Product | str],
    policies: Policy | str | Sequence[Policy | str] = "uts",
    *,
    aims: str | Sequence[str] = ("both", "decide"),
    error: float = ERROR_RATE,
    longest: int = 100_000,
    budgets: int | Sequence[int] = (),
    runs: int = 100,
    seed: int = 0,
    progress: Progress | bool | None = None,
) -> Identification:
    """Play rules until they are sure of the best combination, and count how often they are wrong.

    Args:
        problems: products of factors, or their texts.
        policies: what decides where nothing is explored.
        aims: how to explore: "earn", "both", "decide" as in live experiments, or "policy" for the policy alone. With
            "decide" everything is explored, so that policies make no difference: the first one stands for all.
        error: the probability of a wrong verdict, at most.
        longest: decisions after which a run ends without a verdict.
        budgets: also name the best after so many decisions, one number or several.
        runs: of each rule on each problem.
        seed: of all of them.
        progress: True for a bar, or a function of (finished, all).

    >>> found = identify("needle:3x3:p=0.3,gap=0.5", aims="decide", budgets=500, runs=5)
    >>> [row["wrong"] for row in found.confidence], found.budget[0]["wrong"] <= 0.4
    ([0.0], True)
    """
    worlds = [product_to_rehearse(problem) for problem in listed(problems, (Product, str), "problems", "needle:8x8")]
    players = [as_policy(policy) for policy in listed(policies, (Policy, str), "policies", "uts")]
    rules = [one_of("aims", aim, tuple(RULES)) for aim in listed(aims, (str,), "aims", "decide")]
    number_in("error", error, "(0, 1)", example=ERROR_RATE)
    ends = [as_whole_number("budgets", each) for each in ([budgets] if isinstance(budgets, int) else budgets)]
    runs, longest = as_whole_number("runs", runs), as_whole_number("longest", longest)
    cases = [
        (world, aim, player)
        for world, aim in itertools.product(worlds, rules)
        for player in (players[:1] if RULES[aim].explore >= 1.0 else players)
    ]
    report, confidence, budget = as_progress(progress), list[dict[str, Any]](), list[dict[str, Any]]()
    for number, (world, aim, player) in enumerate(cases):
        report(number, len(cases))
        about = {"problem": world.name, "policy": player.label, "aim": aim, "runs": runs}
        how: dict[str, Any] = {"policy": player, "aim": RULES[aim], "error": error, "runs": runs, "seed": seed}
        played = simulate_experiment(world, visitors=longest, after="stop", **how)
        confidence.append(about | _until_sure(played, characteristic_time(world) * math.log(1.0 / error)))
        for end in ends:
            wrong = np.mean([_is_wrong(world, each) for each in simulate_experiment(world, visitors=end, **how)])
            spread = math.sqrt(wrong * (1.0 - wrong) / runs)
            budget.append(about | {"budget": end, "wrong": float(wrong), "se": spread})
    report(len(cases), len(cases))
    return Identification(confidence, budget, error)


def _until_sure(played: Sequence[Rehearsal], bound: float) -> dict[str, float | None]:
    verdicts = np.array([math.inf if each.verdict is None else each.verdict for each in played])
    median, late = (float(np.quantile(verdicts, share, method="higher")) for share in (0.5, 0.9))
    return {
        "sure": float(np.mean(np.isfinite(verdicts))),
        "wrong": float(np.mean([each.wrong for each in played])),
        "median": median if math.isfinite(median) else None,
        "p90": late if math.isfinite(late) else None,
        "bound": bound,
        "median_to_bound": median / bound if math.isfinite(median) and 0.0 < bound < math.inf else None,
    }


def _is_wrong(world: Product, run: Rehearsal) -> bool:
    """Tell whether the combination that is named at the end is not the best."""
    if run.pair is not None:
        return run.wrong
    cells = np.indices(world.shape).reshape(len(world.shape), -1).T
    rates = product_rates(cells, world.shape, run.pulls.reshape(1, -1), run.clicks.reshape(1, -1))[0]
    return bool(world.rate(*map(int, cells[int(np.argmax(rates))])) < world.best_mean * (1.0 - 1e-12))
