"""How well a fitted model predicts clicks it has not seen: log-likelihood and perplexity, per rank.

As PyClick and Chuklin, Markov, de Rijke (2015), chapter 5 measure them: the log-likelihood is the mean over lists of
the mean over ranks of log P(click or not | clicks above); the perplexity at a rank is 2 to the minus mean log2 of
P(click or not), clicks above unknown; the overall perplexity is the mean over ranks. Ranks that a list does not show do
not count. Probabilities are kept off 0 and 1 by 1e-6, so that one impossible click does not decide everything.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Floats
from rankone.clicks.counts.counts import Counts
from rankone.clicks.logs.held_out_lists import lists_of
from rankone.clicks.models.base import MODELS, ClickModel, FitProgress, as_model, parameters
from rankone.deprecation import old_positions
from rankone.notebook import Shown
from rankone.progress import as_progress

_KEPT_OFF = 1e-6


@old_positions()
@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Evaluation(Shown):
    """What a model scored on held-out lists."""

    model: str
    log_likelihood: float
    log_likelihood_se: float
    perplexity: float
    perplexity_by_rank: Floats
    lists: int
    lists_left_out: int  # of queries that were not fitted

    def _sentence(self) -> str:
        likelihood = f"log-likelihood {self.log_likelihood:.4g} ± {self.log_likelihood_se:.2g}"
        return f"{self.model} on {self.lists:,} lists: {likelihood}, perplexity {self.perplexity:.4g}; by rank:"

    def _tables(self) -> dict[str, Any]:
        ranks = list(range(1, len(self.perplexity_by_rank) + 1))
        return {"ranks": {"rank": ranks, "perplexity": self.perplexity_by_rank.tolist()}}


def evaluate(model: ClickModel, lists: Any) -> Evaluation:
    """Score a fitted model on held-out lists: a long table with the columns list, query, item, position, clicked."""
    cells = model.cells_
    held_out = lists_of(lists, cells, cells.n_positions)
    typical = model.typical_attraction()[held_out.query][:, None]
    attraction = np.where(held_out.item >= 0, model.item_attraction_[held_out.item], typical)
    conditional, marginal = model.predict(held_out, attraction)
    shown = held_out.shown
    per_list = np.where(shown, np.log(_chance(conditional, held_out.clicked)), 0.0).sum(axis=1) / shown.sum(axis=1)
    seen = shown.sum(axis=0)
    bits = np.where(shown, np.log2(_chance(marginal, held_out.clicked)), 0.0).sum(axis=0)
    by_rank = np.where(seen > 0, 2.0 ** (-bits / np.maximum(seen, 1)), np.nan)
    return Evaluation(
        model=model.name,
        log_likelihood=float(per_list.mean()),
        log_likelihood_se=float(per_list.std() / np.sqrt(len(per_list))),
        perplexity=float(np.nanmean(by_rank)),
        perplexity_by_rank=by_rank,
        lists=len(per_list),
        lists_left_out=held_out.left_out,
    )


@old_positions("models", "progress")
def compare_models(
    counts: Counts,
    lists: Any,
    *,
    models: Iterable[str | ClickModel] | None = None,
    progress: FitProgress | bool | None = None,
) -> pl.DataFrame:
    """Fit models on counts and score them on held-out lists; the best log-likelihood first.

    Args:
        counts: what to fit on.
        lists: the held-out lists, as `evaluate` takes them.
        models: models, or their names as in ``"pbm:scale=balanced"``; without them, every model that the counts allow.
            A name that sets no prior stands for the model with pseudo-counts (1, 2), if it takes any, so that the
            comparison is fair to all.
        progress: True for a bar, or a function, called with models done and in all.
    """
    if models is None:
        models = [name for name, kind in MODELS.known().items() if counts.has_lists or not kind.needs_lists]
    ready = [(chosen, _smoothed(chosen)) if isinstance(chosen, str) else (chosen.name, chosen) for chosen in models]
    rows, report = [], as_progress(progress, "models")
    for done, (label, chosen) in enumerate(ready, 1):
        scores = evaluate(chosen.fit(counts), lists)
        report(done, len(ready))
        rows.append(
            {"model": label, "log_likelihood": scores.log_likelihood, "se": scores.log_likelihood_se}
            | {"perplexity": scores.perplexity}
            | {f"rank {rank}": value for rank, value in enumerate(scores.perplexity_by_rank, 1)}
            | {"lists": scores.lists, "left_out": scores.lists_left_out}
        )  # fmt: skip
    return pl.DataFrame(rows).sort("log_likelihood", descending=True)


def _smoothed(spec: str) -> ClickModel:
    name, _, settings = spec.partition(":")
    if "prior" in parameters(MODELS.get(name)) and "prior=" not in settings:
        settings = f"{settings},prior=1x2"
    return as_model(f"{name}:{settings}")


def _chance(probability: Floats, clicked: Any) -> Floats:
    """Probability of what happened."""
    kept = np.clip(probability, _KEPT_OFF, 1.0 - _KEPT_OFF)
    return np.where(clicked, kept, 1.0 - kept)
