"""Weights that undo position bias: against plain loops, on data with known truth, and in a real ranker."""

import json

import duckdb
import lightgbm
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from rankone import clicks
from rankone.cli import build_app
from rankone.errors import InputError
from rankone.numerics.seeds import generator

POSITIONS, ITEMS, QUERIES = 8, 12, 60
EXAMINED = 1.0 / np.arange(1, POSITIONS + 1)


def attraction(features):
    """What visitors want is the second feature; the ranker that made the log goes by the first."""
    return 1.0 / (1.0 + np.exp(1.5 - 1.5 * features[..., 1]))


class Log:
    """Lists of a ranker that goes by the wrong feature, clicked by the position-based model."""

    def __init__(self, lists=12_000):
        rng = generator(3, "biased ranker")
        self.features = rng.normal(size=(QUERIES, ITEMS, 3))
        query = rng.integers(QUERIES, size=lists)
        score = 1.2 * self.features[query, :, 0] + rng.normal(0.0, 0.7, (lists, ITEMS))
        shown = np.argsort(-score, axis=1)[:, :POSITIONS]
        chance = attraction(self.features)[query[:, None], shown] * EXAMINED
        self.lists = lists
        self.frame = pl.DataFrame(
            {
                "query": np.repeat(query, POSITIONS), "item": shown.ravel(),
                "position": np.tile(np.arange(1, POSITIONS + 1), lists),
                "clicked": (rng.random(shown.shape) < chance).ravel().astype(int),
            }
        )  # fmt: skip


@pytest.fixture(scope="module")
def log():
    return Log()


@pytest.fixture(scope="module")
def found(log):
    return clicks.propensities(log.frame)


def test_every_row_weighs_as_a_plain_loop_says(log, found):
    rows = log.frame.head(500)
    clipped = clicks.propensities(log.frame, clip=3.0)
    for result, clip in ((found, 10.0), (clipped, 3.0)):
        curve = dict(zip(result.curve.table["position"], result.curve.table["examination"], strict=True))
        for row in result.weights(rows).iter_rows(named=True):
            whole = 1.0 / curve[row["position"]]
            weight = min(whole, clip) if row["clicked"] else 1.0
            assert row["propensity"] == curve[row["position"]]
            assert row["weight"] == pytest.approx(weight, rel=1e-12)
            assert row["relevance"] == pytest.approx(weight * row["clicked"], rel=1e-12)
            assert row["clipped"] == bool(row["clicked"] and whole > clip)


def test_what_weights_cost_is_that_of_the_rows(log):
    result = clicks.propensities(log.frame, clip=3.0)
    rows = result.weights(log.frame).filter(pl.col("clicked") == 1)
    weight = rows["weight"].to_numpy()
    assert result.clicks == len(rows)
    assert result.effective_clicks == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    assert result.clicks_clipped == int(rows["clipped"].sum())
    assert result.weight_clipped == pytest.approx(1.0 - weight.sum() / (1.0 / rows["propensity"].to_numpy()).sum())
    assert f"{result.clicks_clipped:,} clicks" in str(result)


def test_the_average_relevance_of_an_item_is_its_attraction(log, found):
    """Over all items: the sum of (relevance - truth) is within 4 standard errors of 0, that of clicks far from it."""
    rows = found.weights(log.frame)
    truth = attraction(log.features)[rows["query"].to_numpy(), rows["item"].to_numpy()]
    for label, unbiased in (("relevance", True), ("clicked", False)):
        apart = rows[label].to_numpy() - truth
        error = apart.std() / np.sqrt(len(apart))
        # the curve itself is an estimate: its own error, at most the widest interval's half width over 1.96, is common
        curve = found.table.filter(pl.col("position") > 1)
        common = float(((curve["high"] - curve["low"]) / curve["propensity"]).max()) / (2 * 1.96) * truth.mean()
        assert (abs(apart.mean()) < 4.0 * np.hypot(error, common)) == unbiased


def test_a_real_ranker_learns_what_visitors_want_from_weights_and_not_from_clicks(log, found):
    """LightGBM on held-out queries whose truth is known: better by more than 5 standard errors of the difference."""
    rng = generator(4, "held out")
    held_out = rng.normal(size=(300, ITEMS, 3))
    truth, discount = attraction(held_out), 1.0 / np.log2(np.arange(2, 7))
    ideal = (-np.sort(-truth, axis=1)[:, :5] * discount).sum(axis=1)
    rows = found.weights(log.frame)
    features = log.features[rows["query"].to_numpy(), rows["item"].to_numpy()]
    settings = {"num_leaves": 15, "min_data_in_leaf": 50, "verbose": -1, "num_threads": 1, "deterministic": True}

    def gain(objective, label, weight=None):
        data = lightgbm.Dataset(features, label, weight=weight, group=np.full(log.lists, POSITIONS))
        model = lightgbm.train(settings | {"objective": objective, "seed": 0}, data, 30)
        order = np.argsort(-model.predict(held_out.reshape(-1, 3)).reshape(truth.shape), axis=1)[:, :5]
        return (np.take_along_axis(truth, order, axis=1) * discount).sum(axis=1) / ideal

    clicked = rows["clicked"].to_numpy()
    for naive, unbiased in (
        (gain("lambdarank", clicked), gain("lambdarank", clicked, rows["weight"].to_numpy())),
        (gain("regression", clicked), gain("regression", rows["relevance"].to_numpy())),
    ):
        better = unbiased - naive
        assert better.mean() > 5.0 * better.std() / np.sqrt(len(better))
        assert unbiased.mean() > 0.95


def test_positions_that_nothing_links_have_no_weight():
    frame = pl.DataFrame(
        {"item": ["a", "a", "b", "b"] * 50, "position": [1, 2, 3, 3] * 50, "clicked": [1, 0, 1, 1, 1, 1, 0, 1] * 25}
    )
    result = clicks.propensities(frame)
    rows = result.weights(frame)
    assert result.curve.components == [[1, 2], [3]] or result.curve.components == [[3], [1, 2]]
    apart = rows["position"].is_in(result.without_weight)
    assert rows.filter(apart).select("propensity", "weight", "relevance").null_count().row(0) == (apart.sum(),) * 3
    assert rows.filter(~apart)["weight"].null_count() == 0
    assert "No item links position" in str(result)


def test_the_answer_names_its_condition_and_the_rows_that_it_left_out(log, found):
    assert "position-based model" in str(found)
    assert "no item moved because" in str(found)
    assert "count for nothing" not in str(found)
    spoiled = log.frame.with_columns(position=pl.when(pl.int_range(pl.len()) >= 7).then("position"))
    result = clicks.propensities(spoiled)
    assert f"7 of {log.frame.height:,} rows could not be used" in str(result)
    assert "Beware" not in str(result)
    assert result.to_dict()["log"]["rows_quarantined"] == 7
    worse = log.frame.with_columns(position=pl.when(pl.int_range(pl.len()) >= 2_000).then("position"))
    assert f"Beware: 2,000 of {log.frame.height:,} rows could not be read (2.1%)" in str(
        clicks.propensities(worse, max_bad=0.1)
    )


def test_any_engine_gives_the_same_rows(log, found):
    rows = log.frame.head(200)
    expected = found.weights(rows)
    assert found.weights(rows.lazy()).collect().equals(expected)
    assert pl.DataFrame(found.weights(rows.to_pandas()).to_dict("list")).equals(expected)
    relation = duckdb.from_arrow(rows.to_arrow())
    assert found.weights(relation).pl().sort(pl.all()).equals(expected.sort(pl.all()))


def test_named_positions_have_weights_too():
    frame = pl.DataFrame(
        {"item": ["a", "a", "b", "b"] * 50, "position": ["top", "side"] * 100, "clicked": [1, 1, 1, 1, 1, 0, 1, 0] * 25}
    )
    rows = clicks.propensities(frame).weights(frame)
    assert rows.filter(position="side", clicked=1)["weight"].unique().to_list() == [pytest.approx(2.0, rel=1e-6)]


def test_positions_that_are_texts_of_numbers_have_weights():
    frame = pl.DataFrame({"item": ["a", "a"] * 50, "position": ["1", "2"] * 50, "clicked": [1, 1, 1, 0] * 25})
    rows = clicks.propensities(frame).weights(frame)
    assert rows.filter(position="2", clicked=1)["weight"].unique().to_list() == [pytest.approx(2.0, rel=1e-6)]


def test_the_command_writes_the_rows_of_the_log(log, found, tmp_path):
    rows = log.frame.with_columns(price=pl.lit(2.5))
    rows.write_parquet(tmp_path / "log.parquet")
    rows.rename({"item": "doc"}).write_csv(tmp_path / "log.csv")
    runner, app = CliRunner(), build_app()
    for name, more in (("log.parquet", []), ("log.csv", ["-o", "item=doc"])):
        out = tmp_path / f"weights of {name}.parquet"
        done = runner.invoke(app, ["propensities", str(tmp_path / name), "--out", str(out), *more, "--json"])
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["effective_clicks"] == pytest.approx(found.effective_clicks)
        weighed = pl.read_parquet(out)
        assert weighed["price"].to_list() == [2.5] * len(rows)
        assert weighed["weight"].to_numpy() == pytest.approx(found.weights(log.frame)["weight"].to_numpy())


def test_a_log_of_sessions_becomes_rows(tmp_path):
    made = clicks.generate_log(tmp_path / "log.tsv", 500, queries=2, items=20)
    frame, columns = clicks.log_rows(tmp_path / "log.tsv")
    rows = clicks.propensities(frame, **columns).weights(frame).collect()
    assert rows.columns[:5] == ["list", "query", "item", "position", "clicked"]
    assert rows["clicked"].sum() == made.clicks
    counted, read = clicks.count(rows, **columns).cells, clicks.read(tmp_path / "log.tsv").cells
    assert counted.equals(read)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"clip": 0.5}, "at least 1"),
        ({"clip": float("nan")}, "at least 1"),
        ({"item": "doc"}, "a column 'doc'"),
        ({"level": 1.5}, "level between 0 and 1"),
    ],
)
def test_what_cannot_be_used_is_refused(log, arguments, said):
    with pytest.raises(InputError, match=said):
        clicks.propensities(log.frame.head(100), **arguments)


def test_what_cannot_be_weighed_is_refused(log, found, tmp_path):
    with pytest.raises(InputError, match="at least one click"):
        clicks.propensities(log.frame.with_columns(clicked=0))
    with pytest.raises(InputError, match="no column weight yet"):
        found.weights(log.frame.with_columns(weight=1.0))
    with pytest.raises(InputError, match=r"a column 'clicked' \(clicked\)"):
        found.weights(log.frame.drop("clicked"))
    (tmp_path / "counts.csv").write_text("query,item,position,impressions,clicks\nq,a,1,10,2\n")
    with pytest.raises(InputError, match="one row per impression"):
        clicks.log_rows(tmp_path / "counts.csv")
    (tmp_path / "log.csv").write_text("query,item,position,clicked\nq,a,1,1\n")
    done = CliRunner().invoke(
        build_app(), ["propensities", str(tmp_path / "log.csv"), "--out", str(tmp_path / "w.txt")]
    )
    assert "a .parquet or .csv file" in str(done.exception)


def test_all_pairs_is_right_where_items_have_few_impressions():
    """600 items, five impressions each at two places: the likelihood takes the luck of items for attraction."""
    examined, off = 1.0 / np.arange(1, 6) ** 0.8, {"likelihood": [], "all-pairs": []}
    for run in range(20):
        rng, shown = generator(run, "few impressions"), np.zeros((600, 5), int)
        first = rng.integers(4, size=600)
        shown[np.arange(600), first], shown[np.arange(600), first + 1] = 3, 2
        clicked = rng.binomial(shown, np.outer(rng.uniform(0.05, 0.9, 600), examined))
        item, place = np.nonzero(shown)
        table = {"query": "q", "item": item.astype(str), "position": place + 1, "impressions": shown[item, place]}
        counts = clicks.Counts(pl.DataFrame(table | {"clicks": clicked[item, place]}))
        for method, found in off.items():
            found.append(np.log(clicks.propensities(counts, method=method).table["propensity"][4] / examined[4]))
    assert abs(np.mean(off["all-pairs"])) < 4.0 * np.std(off["all-pairs"]) / np.sqrt(20) + 0.05
    assert np.mean(off["likelihood"]) > 0.4
