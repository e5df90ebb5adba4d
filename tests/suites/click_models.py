"""What every click model must do, on a small log that the suite makes."""

import functools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankone.clicks import Counts, count, evaluate, load_model
from rankone.clicks.counts.count_arrays import lists_of
from rankone.clicks.models.base import MODELS, ClickModel
from rankone.numerics.seeds import generator
from rankone.problems import RankOne
from rankone.testing.suite import Suite, expect, expect_refusal

_LENGTH = 5  # positions of a list
_CLOSE = 1e-9
_COLUMNS = ["list", "query", "item", "position", "clicked"]


@functools.cache
def example_lists(seed: int, lists: int, queries: int = 3, items: int = 8) -> pl.DataFrame:
    """Return result lists as a table, one row per impression; later items are better, later positions see less."""
    rng, rows = generator(seed, "test sessions"), []
    for number in range(lists):
        query = int(rng.integers(queries))
        chosen = rng.permutation(items)[:_LENGTH]
        clicks = rng.random(_LENGTH) < 0.6 * (1 + chosen) / items / (1 + 0.3 * rng.permutation(_LENGTH))
        for position, (item, clicked) in enumerate(zip(chosen, clicks.tolist(), strict=True), 1):
            rows.append((number, f"{query}_0", str(100 * query + item), position, clicked))
    return pl.DataFrame(rows, schema=_COLUMNS, orient="row")


@functools.cache
def example_counts() -> Counts:
    """Return what models are fitted to."""
    return count(example_lists(6, 800), query="query", item="item", position="position", clicked="clicked", list="list")


class ClickModelSuite(Suite):
    """Tests of a click model: set `model` to its class."""

    model: type[ClickModel]

    def fitted(self) -> ClickModel:
        """Return the model, fitted to the example."""
        return self.model().fit(example_counts())

    def test_is_known_and_says_what_it_is(self) -> None:
        """`fit` and `compare-models` find it by its name."""
        kind = self.model
        known = MODELS.known().get(getattr(kind, "name", ""))
        expect(known is kind, f"{kind.__name__} under a name", known, 'write name = "my-model" in the class')
        expect(getattr(kind, "title", ""), f"a text {kind.__name__}.title", "none", "say what it is in a few words")

    def test_learns_probabilities_and_says_so(self) -> None:
        """One attraction an item of a query, between 0 and 1."""
        counts, model = example_counts(), self.model()
        got = model.fit(counts)
        expect(got is model, "fit() to return the model itself", got, "return self")
        size = len(model.item_attraction_)
        do = "set self.item_attraction_ in learn(), one number an item of a query"
        expect(size == counts.n_items, f"an attraction for each of {counts.n_items} items", size, do)
        expect_chances("attraction", model.item_attraction_)
        queries = model.summary()["query"].to_list()
        expect(queries == sorted(counts.queries["query"]), "a summary with every query", queries, "see summary()")

    def test_what_was_held_out_is_not_a_surprise(self) -> None:
        """It does better than guessing, on lists that it has not seen."""
        scores = evaluate(self.fitted(), example_lists(7, 200))
        expect(scores.lists == 200, "200 lists evaluated", scores.lists, "return chances() of every list")
        lowest = -np.log(1e6)
        got = scores.log_likelihood
        expect(lowest <= got < 0.0, f"a log-likelihood from {lowest:.1f} to 0", got, "see what chances() returns")
        got = scores.perplexity
        expect(1.0 < got < 2.5, "a perplexity between 1 and 2.5 (2 is guessing)", got, "see what learn() learns")

    def test_chances_of_all_click_patterns_add_up(self) -> None:
        """The product of P(click | above) over a list is a distribution of click patterns; its margins are P(click)."""
        model = self.fitted()
        patterns = [[bool(pattern >> rank & 1) for rank in range(4)] for pattern in range(16)]
        rows = [
            (number, "0_0", item, rank, clicked)
            for number, pattern in enumerate(patterns)
            for rank, (item, clicked) in enumerate(zip("0357", pattern, strict=True), 1)
        ]
        lists = lists_of(pl.DataFrame(rows, schema=_COLUMNS, orient="row"), model.cells_, _LENGTH)
        conditional, marginal = (chances[:, :4] for chances in model.chances(lists, model.item_attraction_[lists.item]))
        expect_chances("P(click | clicks above)", conditional)
        expect_chances("P(click)", marginal)
        clicked = lists.clicked[:, :4]
        chance = np.where(clicked, conditional, 1.0 - conditional).prod(axis=1)
        total = chance.sum()
        do = "return P(click | clicks above) and P(click) from chances(), in this order"
        expect(abs(total - 1.0) < _CLOSE, "chances of all click patterns that add up to 1", f"{total:g}", do)
        margins = (chance[:, None] * clicked).sum(axis=0)
        same = np.allclose(margins, marginal[0], atol=_CLOSE, rtol=0.0)
        expect(same, f"P(click) of {margins}, as P(click | clicks above) says", marginal[0], do)

    def test_comes_back_from_a_file_number_for_number(self) -> None:
        """What was learned is all that predictions need, and JSON can hold it."""
        model = self.fitted()
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "model.json")
            again = load_model(Path(folder) / "model.json")
        rows = example_lists(7, 50)
        do = "keep what learn() learns as numbers, arrays and tables"
        expect(repr(again) == repr(model), "the same settings and attractions", repr(again), do)
        expect(again.predict(rows).equals(model.predict(rows)), "the same predictions after load_model()", "others", do)

    def test_predictions_stand_beside_their_rows(self) -> None:
        """P(click) and P(click | clicks above) of every row, whatever the order of the rows."""
        model, rows = self.fitted(), example_lists(7, 50)
        lists = lists_of(rows, model.cells_, model.cells_.n_positions)
        given, alone = model.chances(lists, model.item_attraction_[lists.item])
        got = model.predict(rows).sort("list", "position")
        for name, chances in (("click_probability", alone), ("given_clicks_above", given)):
            same = np.array_equal(got[name].to_numpy(), chances.ravel())
            do = "return one chance for each row of a list"
            expect(same, f"the {name} of chances() beside each row", "others", do)
        shuffled = rows.sample(fraction=1.0, shuffle=True, seed=1)
        same = model.predict(shuffled).sort("list", "position").equals(got)
        expect(same, "the same predictions in any order of rows", "others", "let chances() look at positions alone")

    def test_what_it_cannot_use_is_refused(self) -> None:
        """In words, and before anything is learned."""
        counts, kind = example_counts(), self.model
        table: Any = counts.table
        expect_refusal(lambda: kind().fit(table), "a table instead of counts", "counts")
        expect_refusal(lambda: kind().attraction_, "a look at a model that was not fitted", "before fit")
        expect_refusal(lambda: kind(min_impressions=10_000).fit(counts), "too few data", "lower min_impressions")
        if kind.needs_lists:
            cells = Counts(counts.cells)
            expect_refusal(lambda: kind().fit(cells), "counts without lists", "whole result lists")
        if kind.problem is ClickModel.problem or kind.needs_lists:
            expect_refusal(lambda: self.fitted().problem("0_0"), "a rank-1 problem", "rank-1 problem")

    def test_a_problem_has_the_names_and_chances_of_its_query(self) -> None:
        """A model whose click probabilities are item times position gives a problem."""
        if self.model.problem is ClickModel.problem or self.model.needs_lists:
            return
        counts, model = example_counts(), self.fitted()
        problem = model.problem("1_0")
        expect(isinstance(problem, RankOne) and problem.name == "1_0", "a RankOne named 1_0", problem, "see problem()")
        items = counts.only(["1_0"]).cells["item"].unique().sort().to_list()
        expect(problem.row_names == items, f"rows named {items}", problem.row_names, "see problem()")
        positions = [f"position {position}" for position in range(1, _LENGTH + 1)]
        expect(problem.col_names == positions, f"columns named {positions}", problem.col_names, "see problem()")
        lists = lists_of(example_lists(7, 50).filter(query="1_0"), model.cells_, _LENGTH)
        _, marginal = model.chances(lists, model.item_attraction_[lists.item])
        rows = lists.item - model.cells_.query_items[1]
        means = problem.means[rows, np.arange(_LENGTH)]
        same = np.allclose(means, marginal, atol=_CLOSE, rtol=0.0)
        expect(same, "the click probabilities that chances() says", "others", "make problem() of the same numbers")
        summary = model.summary().row(1, named=True)
        said, true = [summary[name] for name in ("mu", "p_max", "gamma")], [problem.mu, problem.p_max, problem.gamma]
        expect(np.allclose(said, true), f"mu, p_max and gamma {true} in the summary", said, "see summary()")
        expect_refusal(lambda: model.problem("nope"), "a query that is not there", "a query that was fitted")


def expect_chances(what: str, numbers: Any) -> None:
    """Raise unless all are probabilities: chances below 0 could add up to 1 too."""
    values = np.asarray(numbers)
    wrong = values[~((values >= 0.0) & (values <= 1.0))]  # written so that NaN is wrong too
    expect(not len(wrong), f"{what} between 0 and 1", wrong[:3], "let learn() and chances() give probabilities")
