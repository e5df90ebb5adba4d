"""Our estimators beside those of the Open Bandit Pipeline, on the data that come with it.

Its newest versions say that they refuse Python 3.11, and work: ``pip install --no-deps --ignore-requires-python
obp==0.5.7`` and ``pip install scikit-learn seaborn matplotlib tqdm mypy-extensions``. It imports torch, which only its neural policies use: where torch
is missing an empty module takes its place.
"""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import rankone
from rankone.analysis.what_if.logged_decisions import read_decisions, usable_rows
from rankone.analysis.what_if.off_policy import estimates, fold_rates
from rankone.analysis.what_if.tuned_weights import LAMBDAS, marginal_weights
from rankone.clicks.counts.table_files import read_table


class _AnyName(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Nothing


class _Nothing(metaclass=_AnyName):
    pass


class _Module(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Nothing


def _obp() -> Any:
    """Return the Pipeline's estimators; None where it is not installed."""
    try:
        importlib.import_module("torch")
    except ImportError:
        parts = ("", ".nn", ".nn.functional", ".optim", ".utils", ".utils.data")
        sys.modules |= {f"torch{part}": _Module(f"torch{part}") for part in parts}
    try:
        return importlib.import_module("obp.ope")
    except ImportError:
        return None


def differences() -> dict[str, float] | None:
    """Return the largest difference of each estimator; None where the Pipeline is not installed."""
    ope = _obp()
    if ope is None:
        return None
    data = Path(sys.modules["obp"].__file__ or "").parent / "dataset" / "obd"
    found: dict[str, float] = {}
    for behaviour in ("random", "bts"):
        log = read_table(data / behaviour / "all" / "all.csv").filter(position="1")
        few = pl.DataFrame({"item_id": [str(item) for item in range(20)], "probability": 1 / 20})
        one = pl.DataFrame({"item_id": log["item_id"].mode()[:1], "probability": 1.0})
        for target in (few, one):
            for name, apart in _decisions(ope, log, target).items():
                if name != "replay" or (behaviour == "random" and target is one):  # theirs is for uniform logs
                    found[name] = max(found.get(name, 0.0), apart)
    return found | _lists(ope)


def _decisions(ope: Any, table: pl.DataFrame, target: pl.DataFrame) -> dict[str, float]:
    rows = usable_rows(table, ["item_id"], None, None, None, "")
    log = read_decisions(rows.table, target, ["item_id"])
    ours = {each.estimator: each for each in estimates(log, seed=0)}
    fold, rates = fold_rates(log, seed=0)
    n = len(log.reward)
    given = {
        "reward": log.reward,
        "action": log.action,
        "pscore": rows.table["chance"].to_numpy(),
        "position": np.zeros(n, int),
        "action_dist": np.tile(log.target[None, :, None], (n, 1, 1)),
        "estimated_rewards_by_reg_model": rates[fold][:, :, None],
    }
    caps = {name: ours[name].setting if np.isfinite(ours[name].setting) else 1e9 for name in ("switch-dr", "shrunk-dr")}
    theirs = {
        "replay": ope.ReplayMethod(),
        "ips": ope.InverseProbabilityWeighting(),
        "snips": ope.SelfNormalizedInverseProbabilityWeighting(),
        "dm": ope.DirectMethod(),
        "dr": ope.DoublyRobust(),
        "switch-dr": ope.SwitchDoublyRobust(lambda_=caps["switch-dr"]),
        "shrunk-dr": ope.DoublyRobustWithShrinkage(lambda_=caps["shrunk-dr"] ** 2),
        "subgauss-dr": ope.SubGaussianDoublyRobust(lambda_=ours["subgauss-dr"].setting),
    }
    found = {name: abs(each.estimate_policy_value(**given) - ours[name].value) for name, each in theirs.items()}
    by_slope = {each.estimator: each.value for each in estimates(log, seed=0, tuning="slope")}
    sloped = ope.SubGaussianDoublyRobustTuning(lambdas=list(LAMBDAS), tuning_method="slope", delta=0.05)
    found["subgauss-dr, slope"] = abs(sloped.estimate_policy_value(**given) - by_slope["subgauss-dr"])
    return found | {"mips": _marginal(ope, log, given)}


def _marginal(ope: Any, log: Any, given: dict[str, Any]) -> float:
    """Their marginal weights, told the shares of the log; half of the items are one kind, the others another."""
    kind = np.arange(len(log.target)) % 2
    n, shares = len(log.reward), np.bincount(log.action, minlength=len(log.target)) / len(log.reward)
    theirs = ope.MarginalizedInverseProbabilityWeighting(n_actions=len(kind)).estimate_policy_value(
        **given | {"pi_b": np.tile(shares[None, :, None], (n, 1, 1)), "context": np.zeros((n, 1))},
        action_embed=kind[log.action][:, None],
        p_e_a=np.eye(2)[kind][:, :, None],
    )
    own = marginal_weights(kind[:, None], log.action, log.groups(), log.target[None])
    return float(abs(theirs - (own * log.reward).mean()))


def _lists(ope: Any) -> dict[str, float]:
    """Lists, of which the Pipeline brings no data: uniform ones, and a target of three."""
    rng = np.random.default_rng(1)
    shown = rng.permuted(np.tile(np.arange(5), (4_000, 1)), axis=1)[:, :3]
    clicked = rng.random(shown.shape) < np.linspace(0.5, 0.1, 5)[shown]
    wanted = {(0, 1, 2): 0.5, (0, 2, 1): 0.3, (3, 1, 0): 0.2}
    lists = [list(map(int, each)) for each in shown]
    log = pl.DataFrame(
        {
            "slate_id": np.repeat(np.arange(4_000), 3),
            "position": np.tile(np.arange(3), 4_000),
            "item": shown.ravel(),
            "reward": clicked.ravel().astype(float),
            "pscore": 1 / 60,
            "pscore_item_position": 1 / 5,
            "pscore_cascade": np.tile([1 / 5, 1 / 20, 1 / 60], 4_000),
        }
    )
    target = pl.DataFrame(
        [(n, k, str(item), p) for n, (each, p) in enumerate(wanted.items()) for k, item in enumerate(each)],
        schema=["list", "position", "item", "probability"],
        orient="row",
    )
    found = rankone.evaluate_lists(log, target).table
    ours = dict(zip(found["estimator"], found["value"], strict=True))

    def share(fits: Any) -> np.ndarray:
        return np.array([sum(p for each, p in wanted.items() if fits(each, own, k)) for own in lists for k in range(3)])

    given = {name: log[name].to_numpy() for name in log.columns} | {
        "evaluation_policy_pscore": share(lambda each, own, k: list(each) == own),
        "evaluation_policy_pscore_cascade": share(lambda each, own, k: list(each[: k + 1]) == own[: k + 1]),
        "evaluation_policy_pscore_item_position": share(lambda each, own, k: each[k] == own[k]),
    }
    theirs = {
        "sips": ope.SlateStandardIPS(3),
        "rips": ope.SlateRewardInteractionIPS(3),
        "iips": ope.SlateIndependentIPS(3),
    }
    return {name: abs(each.estimate_policy_value(**given) - ours[name]) for name, each in theirs.items()}
