"""What can be done with a fitted model beside looking at it: keep it, draw it, ask it."""

import copy
import datetime
import json

import numpy as np
import polars as pl
import pytest

import rankone
from rankone import clicks
from rankone.errors import InputError
from rankone.numerics.seeds import generator
from tests.suites.click_models import example_counts

COLUMNS = {"query": "query", "item": "item", "position": "position", "clicked": "clicked"}


@pytest.fixture(scope="module")
def model():
    return clicks.PBM(prior=(1.0, 2.0)).fit(example_counts())


def test_a_model_from_a_file_does_all_that_the_model_did(model, tmp_path):
    model.save(tmp_path / "model.json")
    again = clicks.load_model(tmp_path / "model.json")
    assert type(again) is clicks.PBM
    assert again.prior == (1.0, 2.0)
    for one, other in zip(again.intervals(), model.intervals(), strict=True):
        assert one.equals(other)
    assert again.summary().equals(model.summary())
    assert again.problem("0_0") == model.problem("0_0")
    assert again.best().equals(model.best())
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == (tmp_path / "model.json").read_text()


def test_what_could_not_be_read_again_is_not_written(model, tmp_path):
    other = copy.copy(model)
    other.days_ = pl.DataFrame({"day": [datetime.date(2020, 1, 1)]})
    with pytest.raises(InputError, match="got day: Date"):
        other.save(tmp_path / "model.json")
    assert not (tmp_path / "model.json").exists()


def test_files_that_are_no_models_are_refused(model, tmp_path):
    model.save(tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    for change, said in (
        ({"version": 99}, "version 1, but got version 99"),
        ({"format": "other"}, "got another file"),
        ({"model": "no-such-model"}, "Expected one of the click models"),
        ({"learned": {"cells_": {"table": {"a": [1]}, "types": ["Strange"]}}}, "a whole click model"),
        ({"settings": {"colour": 1}}, "a whole click model"),
    ):
        (tmp_path / "wrong.json").write_text(json.dumps(content | change))
        with pytest.raises(InputError, match=said):
            clicks.load_model(tmp_path / "wrong.json")
    (tmp_path / "wrong.json").write_text("{")
    for file in ("wrong.json", "none.json"):
        with pytest.raises(InputError, match="a click model in"):
            clicks.load_model(tmp_path / file)
    with pytest.raises(InputError, match=r"ends in \.json"):
        model.save(tmp_path / "model.txt")
    with pytest.raises(InputError, match="before fit"):
        clicks.PBM().save(tmp_path / "model.json")


def test_predictions_say_where_they_know_nothing(model):
    rows = pl.DataFrame(
        {"list": [1, 1, 1, 2], "query": ["0_0", "0_0", "0_0", "other"], "item": ["3", "new", "5", "3"],
         "position": [1, 2, 9, 1]}
    )  # fmt: skip
    found = model.predict(rows)
    assert found.columns == [*rows.columns, "click_probability"]
    problem = model.problem("0_0")
    first = problem.rows[problem.row_names.index("3")] * problem.cols[0]
    typical = model.typical_attraction()[0] * problem.cols[1]
    assert found["click_probability"].to_list() == [pytest.approx(first), pytest.approx(typical), None, None]
    with pytest.raises(InputError, match="a column 'list'"):
        model.predict(rows.drop("list"))


@pytest.mark.parametrize("name", ["pbm", "pbm:examination=shared", "cascade", "ubm"])
def test_every_model_draws_itself(name, tmp_path):
    chart = clicks.as_model(name).fit(example_counts()).chart()
    chart.save(tmp_path / "model.svg")
    assert "Examination by position" in (tmp_path / "model.svg").read_text()
    with pytest.raises(InputError, match="a query that was fitted"):
        clicks.as_model(name).fit(example_counts()).chart(["none"])


def test_a_model_says_which_policy_suits_it():
    counts = example_counts()
    for name, policy in (("pbm", "gibbs-ts"), ("cascade", "cascade-ts"), ("dcm", "dcm-ts"), ("ubm", "gibbs-ts")):
        model = clicks.as_model(name).fit(counts)
        found = rankone.recommend(model)
        assert found.policy.name == policy
        assert found.policy.name == rankone.recommend(clicks.as_model(name)).policy.name
        found.policy.agent(8, 5).ask()
        world = model.list_problem("0_0")
        assert rankone.simulate(world, found.policy, 50, runs=1, workers=1).runs
    assert rankone.recommend(clicks.DCM().fit(counts)).policy.termination is not None
    assert rankone.recommend(clicks.PBM(), guarantee=True).policy.name == "grab"
    with pytest.raises(InputError, match="a click model"):
        rankone.recommend("pbm")


def test_each_segment_has_a_curve_of_its_own(tmp_path):
    """Attraction is one for all; phones look less far. Truth within 4 standard errors."""
    rng = generator(5, "segments")
    curves = {"desktop": np.array([1.0, 0.8, 0.7]), "phone": np.array([0.9, 0.4, 0.1])}
    attraction, rows = np.array([0.6, 0.5, 0.4, 0.3]), []
    for device, curve in curves.items():
        for item, a in enumerate(attraction):
            for place, g in enumerate(curve, 1):
                rows += [(device, f"i{item}", place, int(click)) for click in rng.random(2_000) < a * g]
    frame = pl.DataFrame(rows, schema=["device", "item", "position", "clicked"], orient="row")
    frame = frame.with_columns(position=pl.format("{} {}", "device", "position"))
    counts = clicks.count(frame, item="item", position="position", clicked="clicked")
    assert counts.position_names == tuple(f"{device} {place}" for device in curves for place in (1, 2, 3))
    _, table = clicks.PBM().fit(counts).intervals()
    truth = np.concatenate([curves["desktop"], curves["phone"]])
    error = table["se"].fill_null(0.0).to_numpy() + 1e-9
    assert (np.abs(table["examination"].to_numpy() - truth) < 4.0 * error).all()
    frame.write_csv(tmp_path / "log.csv")
    read = clicks.read(tmp_path / "log.csv")
    assert read.cells.equals(counts.cells)
    assert read.position_names == counts.position_names


def test_predictions_know_positions_by_name_and_nothing_of_others():
    frame = pl.DataFrame({"item": ["a", "b"] * 50, "place": ["top", "side"] * 50, "clicked": [1, 0, 0, 1] * 25})
    fitted = clicks.PBM(min_impressions=0).fit(clicks.count(frame, item="item", position="place", clicked="clicked"))
    rows = pl.DataFrame({"list": [1, 1, 2], "query": "all", "item": ["a", "b", "a"], "position": ["top", "side", "x"]})
    assert fitted.predict(rows)["click_probability"].round(3).to_list() == [0.5, 0.5, None]
