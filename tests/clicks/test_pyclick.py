"""What PyClick's `to_json` wrote is read, and predicts what PyClick predicts.

The files in `pyclick` were written by PyClick's code (github.com/markovi/PyClick, not on the package index; its
`xrange` read as `range`) after training on 60 made-up lists; `asked.json` has lists and PyClick's answers to them.
"""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rankone import clicks
from rankone.errors import InputError

HERE = Path(__file__).parent / "pyclick"
ASKED = json.loads((HERE / "asked.json").read_text())
KINDS = {
    "pbm": clicks.PBM, "cm": clicks.Cascade, "ubm": clicks.UBM, "dcm": clicks.DCM, "sdbn": clicks.SDBN,
    "dbn": clicks.DBN, "ccm": clicks.CCM, "dctr": clicks.DocumentCTR, "ubm-short": clicks.UBM,
}  # fmt: skip


def asked_lists(name):
    lists = ASKED[name].get("lists", ASKED["lists"])
    rows = [
        (number, query, item, place, click)
        for number, (query, items, clicked) in enumerate(lists)
        for place, (item, click) in enumerate(zip(items, clicked, strict=True), 1)
    ]
    return pl.DataFrame(rows, schema=["list", "query", "item", "position", "clicked"], orient="row")


@pytest.mark.parametrize("name", KINDS)
def test_what_pyclick_trained_predicts_as_it_did(name, tmp_path):
    """PyClick's own chances without a click above it takes from the last of ten ranks, so only long lists have them."""
    model, rows = clicks.load_model(HERE / f"{name}.json"), asked_lists(name)
    assert type(model) is KINDS[name]
    found = model.predict(rows)
    happened = pl.when(clicked=1).then("given_clicks_above").otherwise(1.0 - pl.col("given_clicks_above"))
    ours, theirs = found.select(happened).to_series().to_numpy(), np.ravel(ASKED[name]["conditional"])
    if name != "cm":  # whose P(click) PyClick takes for that without a click above, and 1e-6 for all below a click
        assert ours == pytest.approx(theirs, rel=1e-12)
    if "predicted" in ASKED[name]:
        told = np.ravel(ASKED[name]["predicted"])
        assert found["click_probability"].to_numpy() == pytest.approx(told, rel=1e-12)
    clicks.evaluate(model, rows)
    model.chart().save(tmp_path / "model.svg")
    assert model.summary()["query"].to_list() == ["q0", "q1"]
    model.save(tmp_path / "kept.json")
    assert clicks.load_model(tmp_path / "kept.json").predict(rows).equals(found)


def test_what_needs_counts_is_refused():
    for name in ("pbm", "dctr"):
        model = clicks.load_model(HERE / f"{name}.json")
        for ask in (model.intervals, model.shrunken, lambda model=model: model.rates("q0")):
            with pytest.raises(InputError, match="one from PyClick"):
                ask()


def test_parameters_are_where_they_belong():
    def parameter(name, part, *places):
        found = json.loads(json.loads((HERE / f"{name}.json").read_text())[part])
        for place in places:
            found = found[place]
        return pytest.approx(found["_numerator"] / found["_denominator"])

    ubm = clicks.load_model(HERE / "ubm-short.json")
    table = ubm.examination_.filter(position=3)
    for previous, place in ((0, 3), (1, 0)):  # no click above is the last rank; one at the top
        assert table.filter(previous=previous)["examination"].to_list() == [parameter("ubm-short", "exam", 2, place)]
    assert len(ubm.curves_) == 4
    assert ubm.list_problem("q0").n_positions == 4
    assert clicks.load_model(HERE / "dbn.json").perseverance_ == parameter("dbn", "cont")
    assert clicks.load_model(HERE / "dcm.json").continuation_["continuation"][9] == parameter("dcm", "cont", 9)
    assert clicks.load_model(HERE / "ccm.json").alphas_["alpha1"][0] == parameter("ccm", "cont_noclick")
    satisfied = clicks.load_model(HERE / "sdbn.json").satisfaction_.filter(query="q1", item="d05")
    assert satisfied["satisfaction"].to_list() == [parameter("sdbn", "sat", "q1", "d05")]


def test_what_has_no_twin_is_refused(tmp_path):
    texts = {name: json.loads((HERE / f"{name}.json").read_text()) for name in ("pbm", "ubm", "sdbn", "ubm-short")}
    half = {"_numerator": 1, "_denominator": 2}
    mixed = json.loads(texts["ubm"]["exam"])
    mixed[0][3] = {"_numerator": 3, "_denominator": 9}  # as lists of four would leave it
    tasks = {name: json.dumps(half) for name in ("match", "new", "fresh")}
    for wrong, said in (
        ({"attr": "{", "exam": "[]"}, "PyClick's PBM"),
        ({"attr": "{}"}, "PyClick's PBM"),
        ({"attr": 3}, "PyClick's PBM"),
        ({"ctr": "{}"}, "PyClick's PBM"),
        (texts["pbm"] | {"colour": "{}"}, "got parameters attr, exam, colour"),
        (texts["pbm"] | {"exam": "[]"}, "PyClick's PBM"),
        (texts["sdbn"] | {"sat": "{}"}, "PyClick's PBM"),
        (texts["pbm"] | tasks, "its TCM"),
        ({"ctr": json.dumps([half] * 10)}, "RCTR or GCTR"),
        ({"ctr": json.dumps(half)}, "RCTR or GCTR"),
        (texts["ubm"] | {"exam": json.dumps(mixed)}, "lists of one length, but got lengths 4, 10"),
    ):
        (tmp_path / "wrong.json").write_text(json.dumps(wrong))
        with pytest.raises(InputError, match=said):
            clicks.load_model(tmp_path / "wrong.json")


@pytest.mark.parametrize(
    ("over", "under"), [(float("nan"), 2), (1, float("nan")), (-3, 2), (-3, -2), (1, 0), (1, float("inf")), (1, 1e300)]
)
@pytest.mark.parametrize("name", ["pbm", "dctr"])
def test_parameters_that_are_no_shares_are_refused(name, over, under, tmp_path):
    text = json.loads((HERE / f"{name}.json").read_text())
    part = "attr" if "attr" in text else "ctr"
    values = json.loads(text[part])
    values["q0"]["d00"] = {"_numerator": over, "_denominator": under}
    (tmp_path / "wrong.json").write_text(json.dumps(text | {part: json.dumps(values)}))
    with pytest.raises(InputError, match="PyClick's PBM"):
        clicks.load_model(tmp_path / "wrong.json")
