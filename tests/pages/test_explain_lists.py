"""A policy on lists, explained: what is told is what happened."""

import numpy as np
import pytest

import rankone
from rankone.errors import InputError
from rankone.pages.explain_lists import ListExplanation


@pytest.mark.parametrize(("name", "problem"), [("cascade-kl-ucb", "cascade:6x2"), ("gibbs-ts", "pbm-list:5x2")])
def test_a_run_is_told(name, problem, tmp_path):
    told = rankone.explain(name, problem, horizon=300, seed=2)
    assert isinstance(told, ListExplanation)
    last = told.frames[-1]
    assert [moment.step for moment in told.frames][-1] == 300
    assert last.shown.sum() == 300 * 2, "every position of every list"
    assert (last.clicks <= last.shown).all()
    assert (np.diff([moment.shown.sum() for moment in told.frames]) > 0).all()
    score = last.belief.high if name == "cascade-kl-ucb" else last.belief.score
    assert len(score) == told.problem.n_items
    assert (last.examination is not None) == (name == "gibbs-ts")
    page = told.html()
    assert told.again in page.replace("&#39;", "'")
    assert "item 1" in page
    assert "<script" not in page.split("</head>")[1] or "data" in page
    assert {path.name for path in told.save(tmp_path)} == {"explain.html", "explain.png", "explain.svg"}


def test_without_a_problem_a_cascade_is_played():
    assert rankone.explain("random-list", horizon=20).problem.name == "cascade:8x3"


def test_what_cannot_be_told():
    with pytest.raises(InputError, match="Expected at most 16 items to explain, but got 40 items"):
        rankone.explain("cascade-ts", "cascade:40x3", horizon=10)
    with pytest.raises(InputError, match="Expected a policy that plays pairs, as an explanation of lists asks for"):
        rankone.explain("cascade-ts", "needle:3x3", horizon=10)
    with pytest.raises(InputError, match="Expected a rank-1 problem"):
        rankone.explain("uts", "cascade:8x3", horizon=10)
