"""How well a fitted model predicts clicks it has not seen: log-likelihood and perplexity, per rank.

As PyClick and Chuklin, Markov, de Rijke (2015), chapter 5: the log-likelihood is the mean over lists of the mean over
ranks of log P(click or not | clicks above); the perplexity at a rank is 2 to the minus mean log2 of P(click or not),
clicks above unknown (PyClick's `Perplexity`), the conditional one the same, given them (`PerplexityCond`). Ranks that a
list does not show do not count. Probabilities are kept off 0 and 1 by 1e-6.

Models are compared list by list: the difference of two is known much better than either. Where no models are named,
each has the prior, its own or one of `PRIORS`, with which it predicts held-out lists best. Half of these choose for the
others and the other way round, so that no list is predicted with what it chose itself; the table names the prior that
all of them choose.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import lists_of, matrices, numbered
from rankone.clicks.counts.counts import Counts, as_names, check_columns, position_number
from rankone.clicks.counts.frames import known_frame, to_polars
from rankone.clicks.models.base import MODELS, ClickModel, FitProgress, as_model, parameters
from rankone.notebook import Shown
from rankone.numerics.arrays import Floats
from rankone.progress import as_progress

_KEPT_OFF = 1e-6
PRIORS = ("1x2", "1x10")  # pseudo-counts (clicks, impressions): PyClick's, and some that expect fewer clicks
CLEARLY = 2.0  # standard errors


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Evaluation(Shown):
    """What a model scored on held-out lists."""

    model: str
    log_likelihood: float
    log_likelihood_se: float
    perplexity: float
    conditional_perplexity: float
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
    return _scores(model, lists)[0]


def _scores(model: ClickModel, lists: Any) -> tuple[Evaluation, Floats]:
    cells = model.cells_
    held_out = lists_of(lists, cells, cells.n_positions)
    conditional, marginal = model.chances(held_out, model.of_lists(held_out))
    shown = held_out.shown
    per_list = np.where(shown, np.log(_chance(conditional, held_out.clicked)), 0.0).sum(axis=1) / shown.sum(axis=1)
    seen = shown.sum(axis=0)
    bits = [np.where(shown, np.log2(_chance(each, held_out.clicked)), 0.0) for each in (marginal, conditional)]
    by_rank, given_above = (
        np.where(seen > 0, 2.0 ** (-each.sum(axis=0) / np.maximum(seen, 1)), np.nan) for each in bits
    )
    scores = Evaluation(
        model=model.name,
        log_likelihood=float(per_list.mean()),
        log_likelihood_se=float(per_list.std() / np.sqrt(len(per_list))),
        perplexity=float(np.nanmean(by_rank)),
        conditional_perplexity=float(np.nanmean(given_above)),
        perplexity_by_rank=by_rank,
        lists=len(per_list),
        lists_left_out=held_out.left_out,
    )
    return scores, per_list


def compare_models(
    counts: Counts,
    lists: Any,
    *,
    models: Iterable[str | ClickModel] | None = None,
    progress: FitProgress | bool | None = None,
) -> pl.DataFrame:
    """Fit models on counts and score them on held-out lists; the best log-likelihood first.

    `behind` is how far a model is behind the best, per list and rank, and `behind_se` the standard error of that
    difference; `chosen` marks the smallest model that is not clearly behind (`parameters` of them). `model` is a text
    that `as_model` reads, with the prior.

    Args:
        counts: what to fit on.
        lists: the held-out lists, as `evaluate` takes them.
        models: models, or their names as in ``"pbm:prior=1x2"``, each as it is named; without them, every model that
            the counts allow, with the prior that predicts held-out lists best.
        progress: True for a bar, or a function, called with models done and in all.
    """
    if models is None:
        allowed = [name for name, kind in MODELS.known().items() if counts.has_lists or not kind.needs_lists]
        ready = [(name, _priors_of(name)) for name in allowed]
    else:
        ready = [(each if isinstance(each, str) else each.name, [each]) for each in models]
    rows, each, report = [], {}, as_progress(progress, "models")
    for done, (name, specs) in enumerate(ready, 1):
        label, chosen, scores, own = _best_prior(specs, counts, lists)
        label = label if len(specs) > 1 else name
        each[label] = own
        report(done, len(ready))
        rows.append(
            {"model": label, "log_likelihood": scores.log_likelihood, "se": scores.log_likelihood_se}
            | {"parameters": chosen.n_parameters_, "perplexity": scores.perplexity}
            | {"conditional_perplexity": scores.conditional_perplexity}
            | {f"rank {rank}": value for rank, value in enumerate(scores.perplexity_by_rank, 1)}
            | {"lists": scores.lists, "left_out": scores.lists_left_out}
        )
    table = pl.DataFrame(rows).sort("log_likelihood", descending=True)
    behind, errors = zip(*(_difference(each[table["model"][0]], each[model]) for model in table["model"]), strict=True)
    close = np.array([gap <= CLEARLY * error for gap, error in zip(behind, errors, strict=True)])
    smallest = int(np.where(close, table["parameters"].to_numpy(), np.inf).argmin())
    more = {"behind": pl.Series(behind), "behind_se": pl.Series(errors)}
    first = ["model", "log_likelihood", "se", "behind", "behind_se", "chosen", "parameters"]
    table = table.with_columns(**more, chosen=pl.int_range(table.height) == smallest)
    return table.select(*first, pl.exclude(first))


def _difference(best: Floats, other: Floats) -> tuple[float, float]:
    """Mean of the differences list by list, and its standard error; unpaired where the lists are not the same."""
    if len(best) != len(other):
        spread = best.var() / len(best) + other.var() / len(other)
        return float(best.mean() - other.mean()), float(np.sqrt(spread))
    apart = best - other
    return float(apart.mean()), float(apart.std() / np.sqrt(len(apart)))


def _priors_of(name: str) -> list[str | ClickModel]:
    """Return a model with each prior, if it takes any."""
    if "prior" not in parameters(MODELS.get(name)):
        return [name]
    own = "{:g}x{:g}".format(*getattr(as_model(name), "prior"))  # noqa: B009 - only some models have one
    return [f"{name}:prior={prior}" for prior in dict.fromkeys([own, *PRIORS])]


def _best_prior(
    specs: Sequence[str | ClickModel], counts: Counts, lists: Any
) -> tuple[str, ClickModel, Evaluation, Floats]:
    """Return the best of some models by its text, and what it scores; list by list what the other half chose scores."""
    fitted = [as_model(spec).fit(counts) for spec in specs]
    scores, each = zip(*(_scores(model, lists) for model in fitted), strict=True)
    table = np.array(each)
    half = np.arange(table.shape[1]) % 2 == 0
    best = int(table.mean(axis=1).argmax())
    others = [int(table[:, own].mean(axis=1).argmax()) if own.any() else best for own in (half, ~half)]
    own = np.where(half, table[others[1]], table[others[0]])
    likelihood = {"log_likelihood": float(own.mean()), "log_likelihood_se": float(own.std() / np.sqrt(len(own)))}
    return str(specs[best]), fitted[best], dataclasses.replace(scores[best], **likelihood), own


def _chance(probability: Floats, clicked: Any) -> Floats:
    kept = np.clip(probability, _KEPT_OFF, 1.0 - _KEPT_OFF)
    return np.where(clicked, kept, 1.0 - kept)


def predicted(model: ClickModel, frame: Any) -> pl.DataFrame:
    """Return the rows with the columns click_probability and, where clicks are known, given_clicks_above."""
    table = to_polars(known_frame(frame))
    check_columns(table.columns, ("list", "query", "item", "position"), "rename the columns of the lists")
    cells, with_clicks = model.cells_, "clicked" in table.columns
    rows = table.select(
        pl.int_range(pl.len()).alias("row"),
        "list",
        *as_names(table.schema, ["query", "item"]),
        position_number(model.position_names_),
        (pl.col("clicked").cast(pl.Int64) if with_clicks else pl.lit(0)).alias("clicked"),
    ).filter(pl.col("position").is_between(1, cells.n_positions))
    rows = numbered(rows, cells)
    found = np.full((2, table.height), np.nan)
    if rows.height:
        lists, place = matrices(rows, cells.n_positions)
        given, alone = model.chances(lists, model.of_lists(lists))
        found[:, rows["row"].to_numpy()] = alone[place], given[place]
    added = {"click_probability": found[0]} | ({"given_clicks_above": found[1]} if with_clicks else {})
    return table.with_columns(**{name: pl.Series(values).fill_nan(None) for name, values in added.items()})
