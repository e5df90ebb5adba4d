"""A policy on more than two factors, explained: what is told is what happened."""

import numpy as np
import pytest
from typer.testing import CliRunner

import rankone
from rankone.cli import build_app
from rankone.errors import InputError

PAGE = rankone.Product(
    {"headline": [0.9, 0.3], "image": [0.8, 0.3, 0.2], "button": [0.9, 0.2]},
    level_names={"button": ["<b>Buy</b>", "Order"]},
    forbidden=[{"headline": "headline 1", "button": "Order"}],
    name="page",
)


def test_a_run_is_told(tmp_path):
    told = rankone.explain("uts", PAGE, horizon=400, seed=2)
    first, last = told.frames[0], told.frames[-1]
    assert "12 combinations, and 4 single changes of any one of them" in first.text
    assert (
        "The best is headline 'headline 1', image 'image 1' and button '<b>Buy</b>' with a click rate of 0.648"
        in first.text
    )
    assert (last.step, last.kind, last.leader) == (400, "end", (0, 0, 0))
    assert [int(last.shown[span].sum()) for span in (slice(0, 2), slice(2, 5), slice(5, 7))] == [400] * 3
    assert (last.clicks <= last.shown).all()
    assert f"cost about {round(last.regret)} clicks" in last.text
    leaders = [frame for frame in told.frames if frame.kind == "leader"]
    assert leaders[-1].leader == (0, 0, 0)
    page = told.html()
    assert "'\\u003cb>Buy\\u003c/b>'" in page
    assert "<b>Buy</b>" not in page
    assert "problem = Product(**" in page, "what makes it again"
    assert {path.name for path in told.save(tmp_path)} == {"explain.html"}


def test_eliminations_are_told():
    told = rankone.explain("rank1elim-kl:c=0", "needle:3x2x2:p=0,gap=1", horizon=3_000)
    gone = [frame.text for frame in told.frames if frame.kind == "eliminates"]
    assert gone[0].startswith(
        "A 'A2', A 'A3' and C 'C2' are eliminated: 1 of 3 of A, 2 of 2 of B and 1 of 2 of C remain."
    )
    assert told.frames[-2].kind == "settled"
    assert told.frames[-1].left.tolist() == [True, False, False, True, False, True, False]
    assert told.again.startswith("rankone explain --policy rank1elim-kl:c=0 --problem needle:3x2x2:p=0,gap=1")


def test_says_when_it_shows_only_some():
    """Many levels: the page has those that were shown most; 10^8 combinations are no hindrance."""
    told = rankone.explain("uts", "needle:100x100x100x100", horizon=60, seed=1)
    page = told.html()
    assert "Of A (100), B (100), C (100), D (100) only the 12 levels are here that were shown most." in page
    assert all(len(factor["levels"]) == 12 for factor in told._data()["factors"])
    assert np.prod(told.problem.shape) == 10**8


def test_the_command(tmp_path):
    words = ["explain", "--policy", "uts", "--problem", "needle:2x2x2", "--horizon", "50", "--out", str(tmp_path)]
    result = CliRunner().invoke(build_app(), words)
    assert result.exit_code == 0
    assert "Learning that cost about" in result.stdout
    with pytest.raises(
        InputError, match="Expected a policy that plays combinations, as the problem needle:2x2x2 asks for"
    ):
        rankone.explain("ucb1-elim", "needle:2x2x2")
