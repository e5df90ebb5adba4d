"""A query of a fitted click model, played as a list in the world of its own model."""

import dataclasses
import json

import numpy as np
import polars as pl
import pytest

import rankone
from rankone import clicks, lists
from rankone.errors import InputError
from rankone.numerics.seeds import generator
from rankone.policies import known_policies

KINDS = {"pbm": lists.PBM, "cascade": lists.Cascade, "dcm": lists.DCM, "sdbn": lists.SDBN, "ubm": lists.UBM}
TRUTH = lists.DCM([0.5, 0.3, 0.2, 0.1, 0.05], [0.6, 0.4, 0.8], name="q")


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A log of random lists, read by visitors with dependent clicks."""
    rng, rows = generator(3, "lists"), []
    for session in range(3_000):
        shown = rng.permutation(5)[:3]
        leaving = False
        for place, item in enumerate(shown):
            clicked = not leaving and rng.random() < TRUTH.attraction[item]
            leaving = leaving or bool(clicked and rng.random() < TRUTH.termination[place])
            rows.append((session, "q", f"i{item}", place + 1, int(clicked)))
    path = tmp_path_factory.mktemp("log") / "log.csv"
    pl.DataFrame(rows, schema=["list", "query", "item", "position", "clicked"], orient="row").write_csv(path)
    return path


@pytest.fixture(scope="module")
def fitted(log):
    counts = clicks.read(log)
    return {name: clicks.as_model(name).fit(counts) for name in KINDS}


@pytest.mark.parametrize("name", KINDS)
def test_every_model_has_its_world(fitted, name):
    problem = fitted[name].list_problem("q")
    assert type(problem) is KINDS[name]
    assert problem.shape == (5, 3)
    assert problem.item_names == [f"i{item}" for item in range(5)]
    best = [problem.item_names[item] for item in problem.best_decision()]
    assert set(best) >= {"i0", "i1"} or name == "sdbn"
    assert fitted[name].list_problem("q", positions=2).shape == (5, 2)
    with pytest.raises(InputError, match="Expected positions as a whole number of at least 1 and at most 3, but got 4"):
        fitted[name].list_problem("q", positions=4)


def test_dependent_clicks_are_found_again(fitted):
    found = fitted["dcm"].list_problem("q")
    np.testing.assert_allclose(found.attraction, TRUTH.attraction, atol=0.05)
    assert (found.termination[:2] >= TRUTH.termination[:2]).all(), (
        "the share of last clicks is more than who left there"
    )


def test_a_model_without_a_world_says_so(log):
    @dataclasses.dataclass(eq=False, kw_only=True)
    class Silent(clicks.ClickModel):
        def learn(self, cells, progress):
            self.item_attraction_ = np.zeros(cells.n_items)

    Silent.name = "silent"
    with pytest.raises(
        InputError, match=r"Expected a model of how lists are read, but got silent. Fit one of pbm, cascade"
    ):
        Silent().fit(clicks.read(log)).list_problem("q")


@pytest.mark.parametrize("name", ["cascade", "sdbn", "ubm"])
def test_a_file_keeps_them(fitted, name, tmp_path):
    problem, path = fitted[name].list_problem("q"), tmp_path / "models.json"
    rankone.save_problems([problem], path, extra={"fit": {"model": name}}, each=[{"impressions": 7}])
    found = rankone.as_problem(f"{path}#q")
    assert found.digest == problem.digest
    assert found.to_dict() == problem.to_dict()
    rankone.save_problem(problem, tmp_path / "one.json")
    assert rankone.load_problem(tmp_path / "one.json").digest == problem.digest
    content = json.loads(path.read_text())
    content["problems"][0]["attraction"][0] = 2.0
    path.write_text(json.dumps(content))
    with pytest.raises(
        InputError, match=r"Expected probabilities in \[0, 1\] in attraction in problem 1 of .*, but got 2.0"
    ):
        rankone.as_problem(f"{path}#q")
    with pytest.raises(InputError, match="Expected a rank-1 problem or a plain product in a CSV file"):
        rankone.save_problem(problem, tmp_path / "one.csv")


def test_the_worlds_are_played(fitted):
    for name in ("sdbn", "ubm"):
        study = rankone.simulate(fitted[name].list_problem("q"), ["cascade-ts", "random-list"], 500, runs=2, workers=1)
        regret = {row["policy"]: row["regret_mean"] for row in study.summary().iter_rows(named=True)}
        assert 0.0 <= regret["cascade-ts"] < regret["random-list"]
    assert known_policies()["cascade-ts"].decision_kind == "list"


@pytest.mark.parametrize("through", ["a file", "a frame"])
def test_lists_with_gaps_are_refused_where_a_model_follows_the_list(log, tmp_path, through):
    rows = pl.read_csv(log)
    missing = rows.filter((pl.col("position") != 2) | (pl.col("list") >= 100))  # of 100 lists in 3,000
    for table, gaps in ((missing, 100), (missing.filter(pl.col("list") >= 80), 20)):
        if through == "a file":
            table.write_csv(tmp_path / "gaps.csv")
            counts = clicks.read(tmp_path / "gaps.csv")
        else:
            named = {name: name for name in ("item", "position", "clicked", "query", "list")}
            counts = clicks.count(table, **named)
        assert counts.report["lists with gaps"] == gaps
        assert counts.impressions == len(table), "nothing is lost"
        clicks.as_model("pbm").fit(counts)
        if gaps == 20:
            clicks.as_model("cascade").fit(counts)  # as few as this do no harm
            continue
        for name in ("cascade", "dcm", "sdbn", "ubm"):
            with pytest.raises(
                InputError,
                match=r"at most 1% of the lists with gaps, .* got 100 of 3,000 lists .* or fit pbm",
            ):
                clicks.as_model(name).fit(counts)
