"""What every click model must do (`tests.suites`), a new one too, and what some of them do."""

import numpy as np
import polars as pl
import pytest

from rankone import clicks
from rankone.clicks.counts.count_arrays import lists_of
from rankone.clicks.models.evaluation import PRIORS
from rankone.errors import InputError
from rankone.numerics.seeds import generator
from tests.clicks.logs import long_table, random_sessions, rpc_rows
from tests.oracles.list_models import browsing_attraction, cascade_attraction, ubm_probabilities, walk_probabilities
from tests.suites.click_models import ClickModelSuite

COLUMNS = {"query": "query", "item": "item", "position": "position", "clicked": "clicked"}
MODELS = sorted(clicks.MODELS.known())
PRODUCTS = [name for name in MODELS if issubclass(clicks.MODELS.get(name), clicks.PBM)]


@pytest.fixture(scope="module")
def sessions():
    return random_sessions(seed=6, lists=800)


@pytest.fixture(scope="module")
def counts(sessions):
    return clicks.count(long_table(sessions), **COLUMNS, list="list")


@pytest.fixture(scope="module")
def held_out():
    return long_table(random_sessions(seed=7, lists=200))


class TestEveryModel(ClickModelSuite):
    @pytest.fixture(autouse=True, params=MODELS)
    def _each(self, request):
        self.model = clicks.MODELS.get(request.param)


def test_few_impressions_are_left_out_and_reported(counts):
    rare = pl.DataFrame({"query": "0_0", "item": "rare", "position": 1, "impressions": 19, "clicks": 10})
    more = clicks.Counts(pl.concat([counts.cells, rare.cast(counts.cells.schema)]))
    model = clicks.PBM().fit(more)
    assert (model.cells_.dropped_items, model.cells_.dropped_impressions) == (1, 19)
    assert "rare" not in model.problem("0_0").row_names
    assert "rare" in clicks.PBM(min_impressions=0).fit(more).problem("0_0").row_names


def test_closed_forms_agree_with_slow_twins(sessions, counts):
    for model, expected in (
        (clicks.Cascade(), cascade_attraction(sessions)),
        (clicks.DCM(method="closed"), browsing_attraction(sessions)),
        (clicks.SDBN(method="closed"), browsing_attraction(sessions)),
    ):
        table = model.fit(counts).attraction_
        assert dict(
            zip(zip(table["query"], table["item"], strict=True), table["attraction"], strict=True)
        ) == pytest.approx(expected)


def test_what_follows_a_click_is_told_by_the_last_clicks():
    """Two lists of a and b: both clicked, then a alone. Half the clicks on a are the last, every click on b is."""
    frame = pl.DataFrame(
        {"list": [1, 1, 2, 2], "item": ["a", "b"] * 2, "position": [1, 2] * 2, "clicked": [1, 1, 1, 0]}
    )
    counts = clicks.count(frame, item="item", position="position", clicked="clicked", list="list")
    plain = {"min_impressions": 0, "prior": (0.0, 0.0), "method": "closed"}
    assert clicks.DCM(**plain).fit(counts).continuation_.rows() == [(1, 0.5), (2, 0.0)]
    assert clicks.SDBN(**plain).fit(counts).satisfaction_["satisfaction"].to_list() == [0.5, 1.0]


@pytest.mark.parametrize("name", ["cascade", "dcm", "sdbn", "dbn", "ccm"])
def test_predictions_agree_with_every_walk_down_the_list(name, counts, held_out):
    model = clicks.MODELS.get(name)().fit(counts)
    lists = lists_of(held_out.filter(pl.col("list") < 10), model.cells_, 5)
    attraction = model.item_attraction_[lists.item]
    conditional, marginal = model.chances(lists, attraction)
    going_on = np.zeros_like(attraction) if name == "cascade" else model._going_on(lists)
    skip = 1.0 if name == "cascade" else model._after_skip(model._others)
    for number in range(len(attraction)):
        chances = walk_probabilities(
            attraction[number], lambda rank, clicked, on=going_on[number]: on[rank] if clicked else skip, lists.clicked[number]
        ) if name != "cascade" or lists.clicked[number].sum() <= 1 else None  # fmt: skip
        if chances is not None:
            assert conditional[number] == pytest.approx(chances[0], abs=1e-9)
            assert marginal[number] == pytest.approx(chances[1], abs=1e-9)


def test_ubm_agrees_with_every_pattern(counts, held_out):
    model = clicks.UBM().fit(counts)
    lists = lists_of(held_out.filter(pl.col("list") < 10), model.cells_, 5)
    attraction = model.item_attraction_[lists.item]
    conditional, marginal = model.chances(lists, attraction)
    for number in range(len(attraction)):
        slow = ubm_probabilities(attraction[number], model.curves_, lists.clicked[number])
        assert conditional[number] == pytest.approx(slow[0])
        assert marginal[number] == pytest.approx(slow[1])
    assert model.converged_
    assert (np.diff(model.log_likelihoods_) >= -1e-9).all()
    assert model.examination_["examination"].is_between(0, 1).all()


def read_from_the_top(seed, lists, after_click, after_skip, items=10, positions=5):
    """Lists read from the top by a user who goes on after a click with after_click(position, item); attraction."""
    rng, attraction = generator(seed, "read from the top"), np.linspace(0.6, 0.1, items)
    shown = np.argsort(0.15 * np.arange(items) + rng.normal(0.0, 1.0, (lists, items)), axis=1)[:, :positions]
    reading, clicked = np.ones(lists, bool), np.zeros((lists, positions), bool)
    for place in range(positions):
        clicked[:, place] = reading & (rng.random(lists) < attraction[shown[:, place]])
        on = np.where(clicked[:, place], after_click(place, shown[:, place]), after_skip)
        reading &= rng.random(lists) < on
    names = np.array([f"i{item}" for item in range(items)])
    table = {"list": np.repeat(np.arange(lists), positions), "query": "q", "item": names[shown.ravel()]}
    places = np.tile(np.arange(1, positions + 1), lists)
    return pl.DataFrame({**table, "position": places, "clicked": clicked.ravel()}), attraction


STAYS, SATISFIES = np.array([0.8, 0.3, 0.7, 0.4, 0.6]), np.linspace(0.1, 0.9, 10)[[3, 8, 1, 6, 0, 9, 4, 2, 7, 5]]
RATES = np.linspace(0.6, 0.1, 10)
WORLDS = {
    "dcm": (lambda place, item: STAYS[place], 1.0),
    "sdbn": (lambda place, item: 1.0 - SATISFIES[item], 1.0),
    "dbn": (lambda place, item: 0.8 * (1.0 - SATISFIES[item]), 0.8),
    "ccm": (lambda place, item: 0.9 - 0.7 * RATES[item], 0.85),
    "cascade": (lambda place, item: 0.0, 1.0),
}


@pytest.mark.parametrize("name", ["dcm", "sdbn", "dbn", "ccm"])
def test_maximum_likelihood_finds_the_truth_that_closed_forms_miss(name):
    """20,000 lists: every attraction within 5 standard errors of a share of its clicks; closed forms are far off."""
    table, attraction = read_from_the_top(1, 20_000, *WORLDS[name])
    counts = clicks.count(table, **COLUMNS, list="list")
    model = clicks.MODELS.get(name)().fit(counts)
    assert (model.method_, model.converged_) == ("likelihood", True)
    assert (np.diff(model.log_likelihoods_) >= -1e-6).all()
    closed = clicks.MODELS.get(name)(method="closed").fit(counts)
    error = np.sqrt(attraction * (1 - attraction) / model.attraction_["clicks"].to_numpy() * attraction)
    assert (np.abs(model.item_attraction_ - attraction) < 5 * error + 0.004).all()
    assert np.abs(closed.item_attraction_ - attraction).max() > 0.025
    if name == "dcm":
        assert model.continuation_["continuation"][:4].to_numpy() == pytest.approx(STAYS[:4], abs=0.04)
        assert (closed.continuation_["continuation"][:4].to_numpy() < STAYS[:4] - 0.03).all(), "too low"
    if name in ("sdbn", "dbn"):
        assert model.satisfaction_["satisfaction"].to_numpy() == pytest.approx(SATISFIES, abs=0.2)
    if name == "dbn":
        assert model.perseverance_ == pytest.approx(0.8, abs=0.02)
    if name == "ccm":
        assert model.alphas_.row(0) == pytest.approx((0.85, 0.9, 0.2), abs=0.06)


@pytest.mark.parametrize("name", sorted(WORLDS))
def test_every_model_is_chosen_on_its_own_logs(name):
    table, _ = read_from_the_top(3, 8_000, *WORLDS[name])
    train, test = table.filter(pl.col("list") < 6_000), table.filter(pl.col("list") >= 6_000)
    found = clicks.compare_models(clicks.count(train, **COLUMNS, list="list"), test)
    assert [each.partition(":")[0] for each in found.filter("chosen")["model"]] == [name]


def test_files_and_frames_have_the_same_tails(tmp_path, sessions, counts):
    (tmp_path / "log.tsv").write_bytes(rpc_rows(sessions))
    long_table(sessions).write_csv(tmp_path / "log.csv")
    for file in ("log.tsv", "log.csv"):
        read = clicks.read(tmp_path / file, tails=True)
        keys = ["query", "last_item", "last_position", "tail"]
        found, expected = (
            table.tails.with_columns(pl.col("tail").list.join(",")).sort(keys) for table in (read, counts)
        )
        assert found.rows() == expected.rows()
        assert found["times"].sum() == len(sessions)
        assert clicks.read(tmp_path / file).tails is None
    assert clicks.DCM().fit(clicks.read(tmp_path / "log.tsv")).method_ == "closed"
    with pytest.raises(InputError, match="tails=True"):
        clicks.DCM(method="likelihood").fit(clicks.read(tmp_path / "log.tsv"))
    with pytest.raises(InputError, match="method as one of"):
        clicks.DCM(method="guess").fit(counts)


def test_comparison_ranks_all_models(counts, held_out):
    table = clicks.compare_models(counts, held_out)
    assert sorted(each.partition(":")[0] for each in table["model"]) == MODELS
    assert table["log_likelihood"].is_sorted(descending=True)
    assert (table["behind"][0], table["behind_se"][0], table["chosen"].sum()) == (0.0, 0.0, 1)
    assert (table["behind_se"][1:] < table["se"][1:] * 1.5).all(), "differences are taken list by list"
    assert {f"rank {rank}" for rank in range(1, 6)} <= set(table.columns)
    only_cells = clicks.compare_models(clicks.Counts(counts.cells), held_out)
    assert sorted(each.partition(":")[0] for each in only_cells["model"]) == [
        name for name in MODELS if not clicks.MODELS.get(name).needs_lists
    ]
    with pytest.raises(InputError, match="a pandas, Polars"):
        clicks.evaluate(clicks.PBM().fit(counts), [1, 2])
    with pytest.raises(InputError, match="the columns"):
        clicks.evaluate(clicks.PBM().fit(counts), held_out.drop("item"))
    with pytest.raises(InputError, match="queries that were fitted"):
        clicks.evaluate(clicks.PBM().fit(counts), held_out.with_columns(query=pl.lit("new")))


def test_comparison_takes_parameters_and_shows_progress(counts, held_out):
    specs, calls = ["pbm:scale=as-is", "pbm", "pbm:prior=0x0"], []
    table = clicks.compare_models(counts, held_out, models=specs, progress=lambda *call: calls.append(call))
    scores = dict(zip(table["model"], table["log_likelihood"], strict=True))
    assert scores["pbm"] == pytest.approx(scores["pbm:scale=as-is"], abs=1e-9)  # a scale changes no probability
    assert scores["pbm"] == scores["pbm:prior=0x0"], "a name means what `as_model` makes of it"
    assert calls == [(1, 3), (2, 3), (3, 3)]


def rarely_shown(lists, seed):
    """Lists of 5 of 40 items, which attract little."""
    rng = np.random.default_rng(seed)
    attraction, examined = np.linspace(0.02, 0.12, 40), np.linspace(1.0, 0.4, 5)
    items = rng.permuted(np.tile(np.arange(40), (lists, 1)), axis=1)[:, :5]
    clicked = rng.random(items.shape) < attraction[items] * examined
    columns = {"list": np.repeat(np.arange(lists), 5), "query": "q", "item": items.ravel().astype(str)}
    return pl.DataFrame(
        {**columns, "position": np.tile(np.arange(1, 6), lists), "clicked": clicked.ravel().astype(int)}
    )


def test_a_prior_is_chosen_by_held_out_likelihood_and_named():
    """Items are shown some 40 times: without a prior the model overfits. The text in the table makes the very model."""
    few, held_out = clicks.count(rarely_shown(320, 1), **COLUMNS), rarely_shown(2_000, 2)
    table = clicks.compare_models(few, held_out)
    scores = {row["model"]: row["log_likelihood"] for row in table.iter_rows(named=True)}
    (spec,) = [name for name in scores if name.startswith("pbm:")]
    tried = {
        each: clicks.evaluate(clicks.as_model(f"pbm:prior={each}").fit(few), held_out) for each in ("0x0", *PRIORS)
    }
    best = max(tried, key=lambda each: tried[each].log_likelihood)
    assert spec == f"pbm:prior={best}" != "pbm:prior=0x0"
    assert scores[spec] == pytest.approx(tried[best].log_likelihood, abs=0.002), "half of the lists may choose another"
    assert table.filter(model=spec)["perplexity"].item() == tried[best].perplexity


def test_perplexities_are_those_of_the_definition(counts, held_out):
    """Clicks above unknown, and given them: 2 to the minus mean binary logarithm, rank by rank."""
    model = clicks.DBN().fit(counts)
    found, rows = clicks.evaluate(model, held_out), model.predict(held_out)
    for column, value in {
        "click_probability": found.perplexity,
        "given_clicks_above": found.conditional_perplexity,
    }.items():
        chance = (
            pl.when(pl.col("clicked") == 1).then(pl.col(column)).otherwise(1.0 - pl.col(column)).clip(1e-6, 1 - 1e-6)
        )
        by_rank = rows.drop_nulls(column).group_by("position").agg((-chance.log(2.0).mean()).alias("bits"))
        assert (2.0 ** by_rank["bits"]).mean() == pytest.approx(value, rel=1e-9)
    assert found.conditional_perplexity < found.perplexity


@pytest.mark.parametrize(
    "spec", ["ubm:max_iterations=0", "pbm:max_iterations=0", "ubm:tolerance=nan", "pbm:tolerance=nan"]
)
def test_em_refuses_rules_to_stop_that_are_none(spec, counts):
    with pytest.raises(InputError, match=r"max_iterations|tolerance"):
        clicks.as_model(spec).fit(counts)


@pytest.mark.parametrize("name", ["ctr-global", "ctr-rank", "ctr-document"])
def test_click_through_rates_have_no_scale_to_choose(name):
    with pytest.raises(InputError, match="min_impressions, prior as parameters"):
        clicks.as_model(f"{name}:scale=as-is")


@pytest.mark.parametrize(("name", "parameters"), [("ctr-global", 1), ("ctr-rank", 5), ("ctr-document", 8)])
def test_click_through_rates_are_shares(name, parameters):
    """Items of equal rates are parameters all the same."""
    item, position = np.divmod(np.arange(40), 5)
    table = pl.DataFrame({"query": "q", "item": [f"i{each}" for each in item], "position": position + 1})
    clicked = pl.Series([40 - 5 * place + 10 * (each % 2) for each, place in zip(item, position, strict=True)])
    model = clicks.as_model(name).fit(clicks.Counts(table.with_columns(impressions=200, clicks=clicked)))
    assert model.n_parameters_ == parameters
    row = {"list": [1], "query": "q", "item": ["i3"], "position": [2]}
    shown = {"ctr-global": (35, 200), "ctr-rank": (40, 200), "ctr-document": (40, 200)}[name]
    assert model.predict(pl.DataFrame(row))["click_probability"].item() == pytest.approx(shown[0] / shown[1])
    with pytest.raises(InputError, match="item times position"):
        model.problem("q")


@pytest.mark.parametrize("scale", ["exam1", "as-is"])
def test_the_best_pair_is_within_one_component(scale):
    """Item b is only ever at position 1, item a at 2: a at 1 is no pair that anything is known of."""
    table = pl.DataFrame({"query": "q", "item": ["b", "a"], "position": [1, 2], "impressions": 1000})
    model = clicks.PBM(scale=scale).fit(clicks.Counts(table.with_columns(clicks=pl.Series([200, 500]))))
    for found in (model.best(), model.summary()):
        assert found.select("best_item", "best_position").row(0) == ("a", 2)
        assert found["best_click_rate"][0] == pytest.approx(0.5, abs=1e-3)


def test_models_by_name_and_parameters():
    model = clicks.as_model("pbm:scale=as-is,prior=1x2,min_impressions=0")
    assert (model.scale, model.prior, model.min_impressions) == ("as-is", (1.0, 2.0), 0)
    assert clicks.as_model(model) is model
    with pytest.raises(InputError, match="one of the click models"):
        clicks.as_model("bbm")
    with pytest.raises(InputError, match="as parameters of 'pbm'"):
        clicks.as_model("pbm:speed=9")
