"""Results in a notebook: text, HTML and pandas of every report, charts without a network, a database in memory."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankone
from rankone.clicks.counts.counts import Counts
from rankone.clicks.models.evaluation import Evaluation
from rankone.errors import InputError, StorageError
from rankone.notebook import Shown, html_table, to_pandas
from rankone.paper.claims import Claim, Reproduction

HOSTILE = "<script>alert(1)</script>"


def experiment() -> rankone.Experiment:
    made = rankone.Experiment("mine", [HOSTILE, "B"], ["1", "2"], policy="uniform", db=None)
    made.tell(made.ask(), clicked=True)
    return made


def check() -> Any:
    table = rankone.clicks.as_pair_counts([[90, 90], [90, 90]], [[9, 5], [8, 4]], row_names=[HOSTILE, "B"])
    return rankone.check_rank1([table], simulations=20)


def study() -> rankone.Study:
    problem = rankone.RankOne([0.5, 0.2], [0.5], name=HOSTILE)
    return rankone.simulate(problem, "uniform", 100, runs=2, workers=1)


def counts() -> Counts:
    cells = {"query": [HOSTILE], "item": ["a"], "position": [1], "impressions": [3], "clicks": [1]}
    return Counts(pl.DataFrame(cells))


def evaluation() -> Evaluation:
    figures: dict[str, Any] = {
        "log_likelihood": -0.5,
        "log_likelihood_se": 0.1,
        "perplexity": 1.5,
        "conditional_perplexity": 1.4,
    }
    ranks = np.array([1.4, 1.6])
    return Evaluation(model=HOSTILE, perplexity_by_rank=ranks, lists=3, lists_left_out=0, **figures)


def model() -> rankone.clicks.ClickModel:
    cells = {"query": ["q"] * 2, "item": [HOSTILE, "b"], "position": [1, 2], "impressions": [90, 90], "clicks": [9, 3]}
    return rankone.clicks.RankCTR().fit(Counts(pl.DataFrame(cells)))


def moved() -> pl.DataFrame:
    """A log of lists in which two items change places."""
    pattern = [1, 0, 1, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    cells = {"item": [HOSTILE, "b", "b", HOSTILE] * 100, "position": [1, 2] * 200, "clicked": pattern * 25}
    return pl.DataFrame({"list": np.repeat(np.arange(200), 2), "query": "q"} | cells)


def moved_counts() -> Counts:
    return rankone.clicks.count(moved(), query="query", item="item", position="position", clicked="clicked")


def three() -> rankone.Product:
    return rankone.Product({"headline": [0.5, 0.2], "image": [0.9, 0.4], "button": [0.8, 0.3]})


MAKERS: list[Callable[[], Any]] = [
    study,
    experiment,
    lambda: experiment().report(),
    check,
    lambda: check().checks[0],
    lambda: rankone.analyse(([[90, 90], [90, 90]], [[9, 5], [8, 4]]), simulations=20),
    counts,
    lambda: counts().report,
    model,
    evaluation,
    lambda: rankone.RankOne([0.5, 0.2], [0.5], row_names=[HOSTILE, "B"]),
    three,
    lambda: rankone.hardness(three(), 100),
    lambda: rankone.explain("uniform", three(), horizon=10),
    lambda: rankone.Means([[0.5], [0.2]], row_names=[HOSTILE, "B"]),
    lambda: rankone.hardness(rankone.RankOne([0.5, 0.2], [0.5], row_names=[HOSTILE, "B"]), 100),
    lambda: rankone.plan(2, 2, 0.2, 1.0, aim="decide"),
    lambda: rankone.identify("needle:2x2:p=0.2,gap=0.6", aims="decide", runs=2),
    lambda: rankone.explain("uniform", rankone.RankOne([0.5], [0.2], row_names=[HOSTILE]), horizon=10),
    lambda: Reproduction({}, [Claim(HOSTILE, "as printed", "1", True)], {}),
    lambda: rankone.sweep("needle:{k}x2", "uniform", 50, {"k": [2, 3]}, runs=2, workers=1),
    lambda: rankone.arena("two-by-two", "uniform", runs=2, quick=True, workers=1, against="uniform"),
    lambda: rankone.UTS().agent(2, 2),
    lambda: rankone.analyse(pl.DataFrame({"page": [HOSTILE, "B"], "shown": [90, 90], "clicked": [9, 5]})),
    lambda: rankone.evaluate(
        pl.DataFrame({"page": [HOSTILE, "B"] * 100, "clicked": [1, 0, 0, 0] * 50, "chance": 0.5}), {"page": HOSTILE}
    ),
    lambda: rankone.evaluate(
        pl.DataFrame({"page": [HOSTILE, "B"] * 100, "clicked": [1, 0, 0, 0] * 50, "chance": 0.5}),
        rankone.UTS(),
        factors=["page"],
    ),
    lambda: rankone.evaluate(moved().with_columns(chance=pl.Series([0.5, 1.0] * 200)), [HOSTILE, "b"]),
    lambda: rankone.clicks.propensities(moved()),
    lambda: rankone.personal(
        pl.DataFrame(
            {"user": ["u", "v"] * 2, "item": [HOSTILE, "b", "b", HOSTILE], "shown": 90, "clicked": [9, 5, 8, 4]}
        ),
        user="user",
        item="item",
        shown="shown",
        clicked="clicked",
    ),
    lambda: rankone.clicks.examination_curve(moved_counts()),
]


@pytest.mark.parametrize("make", MAKERS)
def test_a_result_is_shown_as_words_and_a_table(make: Callable[[], Any]) -> None:
    shown = make()
    text, html, frame = repr(shown), shown._repr_html_(), shown.to_pandas()
    assert " object at 0x" not in text
    assert len(text) < 3_000
    assert "<table>" in html
    assert len(html) < 10_000
    assert HOSTILE not in html
    assert isinstance(frame, pd.DataFrame)
    assert len(frame)


def test_every_kind_of_result_is_tried() -> None:
    for module in pkgutil.walk_packages(rankone.__path__, "rankone."):
        if not module.name.startswith(("rankone.web", "rankone.testing", "rankone.__main__")):
            importlib.import_module(module.name)
    made = [make() for make in MAKERS]
    known = {kind for kind in Shown.__subclasses__() if kind.__module__.startswith("rankone.")}
    missed = {kind.__name__ for kind in known if not any(isinstance(each, kind) for each in made)}
    assert missed <= {"Recommendation"}, "make one above"  # that one is a sentence without a table


def test_tables_go_to_pandas_without_pyarrow() -> None:
    code = """
import sys
sys.modules["pyarrow"] = None
import polars, rankone
table = rankone.simulate("needle:2x2", "uniform", 50, runs=2, workers=1, checkpoints=5).to_pandas("table")
assert table.shape == (10, 5), table
try:
    polars.DataFrame({"a": [1]}).to_pandas()
except ImportError:
    print("as good as not installed")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "as good as not installed\n", done.stderr


def test_a_table_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="a table of Study: summary, table"):
        study().to_pandas("runs")


def test_long_tables_say_that_they_go_on() -> None:
    table = {"place": list(range(100))}
    assert "and 70 more" in html_table(table)
    assert len(to_pandas(table)) == 100


def test_large_problems_and_agents_are_one_sentence() -> None:
    assert "<table>" not in rankone.needle(40, 40)._repr_html_()
    assert "<table>" not in rankone.UTS().agent(40, 40)._repr_html_()


def test_charts_are_shown_without_a_network() -> None:
    picture = study().chart()
    assert " at 0x" not in repr(picture)
    data, about = picture._repr_mimebundle_()
    assert set(data) == {"image/png"}, "nothing that a browser would fetch scripts for"
    assert data["image/png"].startswith(b"\x89PNG")
    assert about["image/png"]["width"] > 100


@pytest.mark.parametrize("db", [None, ":memory:"])
def test_an_experiment_in_memory_leaves_nothing_behind(db: str | None, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with rankone.Experiment("mine", 2, 2, policy="uniform", db=db) as mine:
        mine.tell(mine.ask(), clicked=True)
        assert mine.database.names() == ["mine"]
        with rankone.Experiment("mine", 2, 2, policy="uniform", db=db) as other:
            assert other.report().decisions == 0, "each has its own"
        assert mine.report().outcomes["clicked"] == 1
        assert ":memory:" in repr(mine)
    assert not list(tmp_path.iterdir())


def test_what_is_in_memory_cannot_be_opened_by_others() -> None:
    with pytest.raises(
        StorageError, match=r"Expected a database that can be opened twice, but got :memory:. Name a file"
    ):
        rankone.Database(":memory:", read_only=True)


def test_columns_of_a_frame_name_levels() -> None:
    frame = pd.DataFrame({"headline": ["A", "B", "A"], "image": ["x", "x", "y"]})
    made = rankone.Experiment("mine", frame["headline"].unique(), frame["image"].unique(), policy="uniform", db=None)
    assert made.ask()["row"] in ("A", "B")
