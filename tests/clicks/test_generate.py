"""The log generator: its truth, its exact counts of edge cases, and the round trip log -> counts -> EM -> truth."""

import numpy as np
import polars as pl
import pytest

from rankone import clicks
from rankone.clicks.synthetic.generate import EDGES, HARDNESS, PAPER_ITEMS
from rankone.errors import InputError, StorageError


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("generated") / "log.tsv.gz"
    return clicks.generate_log(path, 20_000, edges=True, items=60, seed=3)


def test_everything_injected_is_read_back_exactly(log):
    made = log
    report = clicks.read(made.path).report
    assert report.format == "yandex-rpc"
    assert (report.rows, report["lists"], report["clicks"]) == (made.rows, made.lists, made.clicks)
    read_back = {edge: report[edge] for edge in EDGES} | {"rows set aside": report.rows_quarantined}
    assert read_back == made.injected
    assert all(number > 0 for number in made.injected.values())
    last_list = clicks.read(made.path, clicks="last-list").report
    late = made.injected["clicks on an earlier list"]
    assert last_list["clicks off the list"] == made.injected["clicks off the list"] + late


def test_truth_has_the_papers_hardness(tmp_path):
    made = clicks.generate_log(tmp_path / "log", 1)
    assert [problem.n_rows for problem in made.problems[:2]] == list(PAPER_ITEMS)
    assert all(800 <= problem.n_rows <= 900 for problem in made.problems[2:])
    for problem, (mu, p_max) in zip(made.problems, HARDNESS, strict=True):
        assert (problem.mu, problem.p_max) == pytest.approx((mu, p_max), abs=1e-9)
        assert problem.rows.mean() == pytest.approx(1.25 * mu + 0.02, abs=1e-6)
        first, second = np.sort(problem.rows)[-2:][::-1]
        assert first - second == pytest.approx(0.05, abs=1e-9)
    assert [round(problem.gamma, 3) for problem in made.problems[:2]] == [0.150, 0.340]


def test_round_trip_recovers_click_probabilities(tmp_path):
    """Click probabilities of the fit against the truth, in units of what the same cell's own clicks could tell."""
    made = clicks.generate_log(tmp_path / "log", 60_000, queries=3, items=40, steepness=1.5, seed=5)
    counts = clicks.read(made.path)
    model = clicks.PBM().fit(counts)
    cells = model.cells_
    truth = np.empty(len(cells.item))
    for query, problem in enumerate(made.problems):
        rows = {name: place for place, name in enumerate(problem.row_names)}
        inside = cells.query == query
        items = cells.items["item"].gather(cells.item[inside])
        truth[inside] = problem.means[[rows[item] for item in items], cells.position[inside]]
    often = cells.impressions * truth >= 5
    se = np.sqrt(truth * (1 - truth) / cells.impressions)[often]
    error = (model._cell_probabilities(cells) - truth)[often]
    assert often.sum() > 500
    assert np.sqrt(np.mean((error / se) ** 2)) < 1.0  # better than each cell alone: the model pools
    assert np.average(np.abs(error), weights=cells.impressions[often]) < 0.01
    for query, problem in enumerate(made.problems):
        assert np.argmax(model.problem(problem.name).cols) == np.argmax(problem.cols), query


def test_same_seed_same_log_and_compression_changes_nothing(tmp_path):
    tables = [
        clicks.read(clicks.generate_log(tmp_path / f"log{suffix}", 500, items=30, seed=seed).path).table
        for suffix, seed in (("", 1), (".gz", 1), (".zst", 1), ("2", 2))
    ]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    assert not tables[0].equals(tables[3])


def test_popularity_is_skewed_and_positions_are_biased(tmp_path):
    made = clicks.generate_log(tmp_path / "log", 20_000, items=50, seed=7)
    counts = clicks.read(made.path)
    lists = counts.queries["lists"].to_numpy()
    assert lists[0] / lists[-1] > 10
    best = counts.cells.filter(pl.col("query") == counts.queries["query"][0], pl.col("position") == 1)
    assert best["impressions"].max() / best["impressions"].sum() > 0.5  # the top place mostly shows one item


@pytest.mark.parametrize("wrong", [{"lists": 0}, {"items": 5}])
def test_wrong_settings_are_refused(wrong, tmp_path):
    with pytest.raises(InputError):
        clicks.generate_log(tmp_path / "log", **wrong)


@pytest.mark.parametrize("wrong", [{"sigma": -1.0}, {"steepness": float("nan")}, {"epochs": 0}])
def test_settings_out_of_range_are_refused(wrong, tmp_path):
    with pytest.raises(InputError):
        clicks.generate_log(tmp_path / "log", 10, **wrong)


@pytest.mark.parametrize("name", ["log.tsv", "log.tsv.gz", "log.tsv.zst"])
def test_a_log_is_written_whole_or_not_at_all(name, tmp_path):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        clicks.generate_log(tmp_path / name, 10, items=20, progress=stop)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StorageError, match=r"Expected to write .*, but got Is a directory"):
        clicks.generate_log(tmp_path, 10, items=20)
