"""Plans: what they say is what rehearsals of the very problem say, and bad wishes are answered in words."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rankone import Product, RankOne
from rankone.errors import InputError
from rankone.numerics.seeds import generator
from rankone.problems.equal_split import equal_split_visitors
from rankone.simulation.plan import Span, count_text, days_text, plan
from rankone.simulation.rehearsal import rehearse

OF_FACTORS = {"rows": None, "cols": None}


def span(found: object, way: str) -> Span:
    return next(each for each in found.spans if each.way == way)  # type: ignore[attr-defined]


def test_a_plan_that_was_rehearsed_elsewhere_is_right_where_it_is_meant() -> None:
    """Rare clicks are rehearsed as frequent ones; here they are rehearsed as they are."""
    planned = plan(rows=2, cols=3, rate=0.05, lift=0.6, goal="decide").spans[0]
    side = math.sqrt(0.08)
    there = RankOne([side, side / 1.6], [side, side / 1.6, side / 1.6])
    found = rehearse(there, goal="decide", visitors=60_000, after="stop", runs=40, seed=100)
    verdicts = np.array([each.verdict or 60_000 for each in found], float)
    noise = verdicts.std() * math.sqrt(1.57 * (1 / 40 + 1 / 20))  # of medians; that of the plan has 20 runs
    assert abs(np.median(verdicts) - planned.median) < 3.0 * noise + 0.1 * planned.median  # 10 % for the rate
    losses = np.array([each.lost for each in found])
    assert abs(losses.mean() - planned.lost) < 3.0 * losses.std() * math.sqrt(1 / 40 + 1 / 20) + 0.1 * planned.lost


def test_a_plan_of_three_factors_is_right_too() -> None:
    wishes = {"headline": 2, "image": ["a", "b", "c"], "button": 2}
    found = plan(factors=wishes, rate=0.05, lift=0.6, goal="decide")
    planned, classic = found.spans
    side = 0.08 ** (1 / 3)
    levels = [side, side / 1.6, side / 1.6]
    there = Product({"headline": levels[:2], "image": levels, "button": levels[:2]})
    rehearsed = rehearse(there, goal="decide", visitors=60_000, after="stop", runs=40, seed=100)
    verdicts = np.array([each.verdict or 60_000 for each in rehearsed], float)
    noise = verdicts.std() * math.sqrt(1.57 * (1 / 40 + 1 / 20))
    assert abs(np.median(verdicts) - planned.median) < 3.0 * noise + 0.1 * planned.median
    losses = np.array([each.lost for each in rehearsed])
    assert abs(losses.mean() - planned.lost) < 3.0 * losses.std() * math.sqrt(1 / 40 + 1 / 20) + 0.1 * planned.lost
    assert classic.late == pytest.approx(equal_split_visitors(there, 0.9))
    assert classic.lost == pytest.approx(classic.median * there.loss_at_random())
    assert found.factors == {"headline": 2, "image": 3, "button": 2}
    assert found.meaning.startswith("2 x 3 x 2 = 12 combinations: the best is clicked 8%")
    assert found.meaning.endswith("and so on down to 1.95%.")
    assert "against the other 11" in repr(found)
    assert "a product of one number per level" in repr(found)


def test_two_factors_are_rows_and_columns() -> None:
    named, pair = plan(factors={"a": 2, "b": 2}, rate=0.2, lift=0.5, goal="decide"), plan(2, 2, 0.2, 0.5, goal="decide")
    assert (named.spans, named.meaning) == (pair.spans, pair.meaning)


def test_smaller_lifts_take_longer_and_a_margin_helps() -> None:
    sure, hard, close = (
        plan(rows=2, cols=2, rate=0.2, lift=lift, margin=margin, goal="decide").spans[0]
        for lift, margin in ((0.5, 0.0), (0.1, 0.0), (0.1, 0.2))
    )
    assert 10.0 * sure.median < hard.median
    assert close.median < 0.7 * hard.median


def test_what_cannot_be_is_answered_by_what_can() -> None:
    (advice,) = plan(rows=4, cols=5, rate=0.03, lift=0.01, visitors_a_day=5_000, goal="decide").advice
    assert advice.startswith(
        "A verdict would never come: without a margin, differences below 3% are hardly looked for."
    )
    assert "a lift of" in advice
    assert "with margin=" in advice
    (advice,) = plan(rows=2, cols=2, rate=0.001, lift=0.05, visitors_a_day=1, goal="decide").advice
    assert advice.endswith("use the goal 'earn', which needs none.")
    assert plan(rows=2, cols=2, rate=0.2, lift=0.5, visitors_a_day=1_000, goal="decide").advice == ()


def test_an_equal_split_has_the_power_it_says() -> None:
    problem, runs, error = RankOne([0.5, 0.4], [0.5, 0.4]), 2_000, 0.05
    each = round(equal_split_visitors(problem, power=0.5, error=error) / 4)
    rates = generator(0, "equal split").binomial(each, problem.means.ravel(), (runs, 4)) / each
    pooled = (rates[:, :1] + rates[:, 1:]) / 2
    z = (rates[:, :1] - rates[:, 1:]) / np.sqrt(2 * pooled * (1 - pooled) / each)
    named = (z > 2.394).all(axis=1).mean()  # two-sided at 0.05 / 3
    assert named == pytest.approx(0.5, abs=3 * math.sqrt(0.25 / runs) + 0.01)  # 0.01 for the normal approximation
    assert equal_split_visitors(RankOne([0.5, 0.5], [0.3, 0.2]), power=0.5) == math.inf
    assert equal_split_visitors(RankOne([0.5], [0.3]), power=0.5) == 0.0


def test_a_plan_shows_itself() -> None:
    found = plan(rows=2, cols=2, rate=0.2, lift=0.5, visitors_a_day=1_000, goal="both")
    assert "half of such experiments have a verdict within" in repr(found)
    assert "equal split" in repr(found)
    assert found.to_dict()["spans"][0]["way"] == "both"
    assert found.chart().altair.to_dict()["hconcat"]
    assert list(found.to_pandas()["goal"]) == ["both", "equal split"]
    assert (count_text(0.0), count_text(99_960.0), days_text(1.0)) == ("0.0", "100,000", "about a day")


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"rate": 0.6, "lift": 0.9}, "of at most 1 - got 0.6 \\* \\(1 \\+ 0.9\\) = 1.14"),
        ({"rate": 0.0}, "rate above 0 and at most 1"),
        ({"rate": float("nan")}, "rate above 0"),
        ({"lift": -0.1}, "lift above 0"),
        ({"lift": math.inf}, "lift above 0"),
        ({"rows": 1, "cols": 1}, "at least two pairs"),
        ({"rows": 2.5}, "rows as a whole number"),
        ({"rows": 300}, "at most 256 rows and columns together"),
        ({"rows": None}, "rows and cols, or factors - got cols only"),
        ({"factors": {"a": 2}}, "rows and cols, or factors - got both"),
        (OF_FACTORS | {"factors": {}}, "factors by name, each with the number of its levels"),
        (OF_FACTORS | {"factors": {"a": 0}}, "levels of 'a' as a whole number of at least 1"),
        (OF_FACTORS | {"factors": {"a": 1, "b": 1, "c": 1}}, "at least two combinations"),
        (OF_FACTORS | {"factors": {"a": 200, "b": 100, "c": 2}}, "at most 256 levels together"),
        (OF_FACTORS | {"factors": {f"f{place}": 2 for place in range(21)}}, "from 1 to 20 factors"),
        ({"rate": None}, "rate above 0"),
        ({"visitors_a_day": 0}, "visitors_a_day above 0"),
        ({"goal": "win"}, "a goal: earn, both, decide"),
        ({"margin": 2}, "margin from 0 to 1"),
        ({"error": 0.7}, "error above 0 and at most 0.5"),
    ],
)
def test_bad_wishes(wish: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        plan(**{"rows": 2, "cols": 2, "rate": 0.1, "lift": 0.2} | wish)  # type: ignore[arg-type]
