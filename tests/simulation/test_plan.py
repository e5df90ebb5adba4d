"""Plans: what they say is what rehearsals of the very problem say, and bad wishes are answered in words."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from rankone import Product, RankOne
from rankone.cli import build_app
from rankone.errors import InputError
from rankone.numerics.seeds import generator
from rankone.problems.theory.equal_split import equal_split_visitors
from rankone.simulation.plans.plan import Span, plan
from rankone.simulation.plans.rehearsal import simulate_experiment
from rankone.wording.numbers import count_text, days_text

OF_FACTORS = {"rows": None, "cols": None}


def span(found: object, way: str) -> Span:
    return next(each for each in found.spans if each.way == way)  # type: ignore[attr-defined]


def played(there: Product | RankOne) -> tuple[np.ndarray, np.ndarray]:
    """Visitors until the verdict and clicks lost of 40 experiments that decide, rehearsed as they are."""
    found = simulate_experiment(there, aim="decide", visitors=60_000, after="stop", runs=40, seed=100)
    return np.array([each.verdict or 60_000 for each in found], float), np.array([each.lost for each in found])


def test_a_plan_that_was_rehearsed_elsewhere_is_right_where_it_is_meant() -> None:
    """Rare clicks are rehearsed as frequent ones; here they are rehearsed as they are."""
    planned = plan(rows=2, cols=3, rate=0.05, lift=0.6, aim="decide").spans[0]
    side = math.sqrt(0.08)
    verdicts, losses = played(RankOne([side, side / 1.6], [side, side / 1.6, side / 1.6]))
    noise = verdicts.std() * math.sqrt(1.57 * 2 / 40)  # of the difference of two medians
    assert abs(np.median(verdicts) - planned.median) < 3.0 * noise + 0.05 * planned.median  # 5% for rounding
    assert abs(losses.mean() - planned.lost) < 3.0 * losses.std() * math.sqrt(2 / 40) + 0.05 * planned.lost


def test_rare_clicks_take_as_many_clicks_as_frequent_ones() -> None:
    """Evidence is made of clicks alone below 25%: visitors are in proportion to 1 / rate, T* is not."""
    rare, frequent = (plan(2, 2, rate, 0.2, aim="decide").spans[0] for rate in (0.01, 0.16))
    assert rare.median * 0.01 == pytest.approx(frequent.median * 0.16, rel=0.08)  # two figures each


def test_a_plan_of_three_factors_is_right_too() -> None:
    wishes = {"headline": 2, "image": ["a", "b", "c"], "button": 2}
    found = plan(factors=wishes, rate=0.05, lift=0.6, aim="decide")
    planned, classic = found.spans
    side = 0.08 ** (1 / 3)
    levels = [side, side / 1.6, side / 1.6]
    there = Product({"headline": levels[:2], "image": levels, "button": levels[:2]})
    verdicts, losses = played(there)
    noise = verdicts.std() * math.sqrt(1.57 * 2 / 40)
    assert abs(np.median(verdicts) - planned.median) < 3.0 * noise + 0.05 * planned.median
    assert abs(losses.mean() - planned.lost) < 3.0 * losses.std() * math.sqrt(2 / 40) + 0.05 * planned.lost
    assert classic.late == pytest.approx(equal_split_visitors(there, 0.9), rel=0.05)
    assert classic.lost == pytest.approx(equal_split_visitors(there, 0.5) * there.loss_at_random(), rel=0.05)
    assert found.factors == {"headline": 2, "image": 3, "button": 2}
    assert found.meaning.startswith("2 x 3 x 2 = 12 combinations: the best clicked 8%")
    assert found.meaning.endswith("the worst 1.95%.")
    assert "two-proportion tests of each factor's best level against the others" in found.details
    assert "effects that multiply" in repr(found)


def test_two_factors_are_rows_and_columns() -> None:
    named, pair = plan(factors={"a": 2, "b": 2}, rate=0.2, lift=0.5, aim="decide"), plan(2, 2, 0.2, 0.5, aim="decide")
    assert (named.spans, named.meaning) == (pair.spans, pair.meaning)


def test_smaller_lifts_take_longer_and_a_margin_helps() -> None:
    sure, hard, close = (
        plan(rows=2, cols=2, rate=0.2, lift=lift, margin=margin, aim="decide").spans[0]
        for lift, margin in ((0.5, 0.0), (0.1, 0.0), (0.1, 0.2))
    )
    assert 10.0 * sure.median < hard.median
    assert close.median < 0.7 * hard.median


def test_what_cannot_be_is_answered_by_what_can() -> None:
    (advice,) = plan(rows=4, cols=5, rate=0.03, lift=0.01, visitors_a_day=5_000, aim="decide").advice
    assert advice.startswith("Without a margin, a lift below 3% is hardly found.")
    assert "a lift of" in advice
    assert "(margin=" in advice
    (advice,) = plan(rows=2, cols=2, rate=0.001, lift=0.05, visitors_a_day=1, aim="decide").advice
    assert advice.endswith("use the aim 'earn', which needs none.")
    assert plan(rows=2, cols=2, rate=0.2, lift=0.5, visitors_a_day=1_000, aim="decide").advice == ()


def test_an_equal_split_has_the_power_it_says() -> None:
    """Judged by main effects: the best row against the other, the best column against the other two."""
    problem, runs, error = RankOne([0.5, 0.4], [0.5, 0.4, 0.4]), 2_000, 0.05
    each = round(equal_split_visitors(problem, power=0.5, error=error) / 6)
    clicks = generator(0, "equal split").binomial(each, problem.means, (runs, 2, 3))
    named = np.ones(runs, bool)
    for sums, shown in ((clicks.sum(axis=2), 3 * each), (clicks.sum(axis=1), 2 * each)):
        rates = sums / shown
        pooled = (rates[:, :1] + rates[:, 1:]) / 2
        z = (rates[:, :1] - rates[:, 1:]) / np.sqrt(2 * pooled * (1 - pooled) / shown)
        named &= (z > 2.394).all(axis=1)  # two-sided at 0.05 / 3
    assert named.mean() == pytest.approx(0.5, abs=3 * math.sqrt(0.25 / runs) + 0.01)  # 0.01: normal approximation
    assert equal_split_visitors(RankOne([0.5, 0.5], [0.3, 0.2]), power=0.5) == math.inf
    assert equal_split_visitors(RankOne([0.5], [0.3]), power=0.5) == 0.0


def test_an_equal_split_has_the_margin_too() -> None:
    """It has to prove the same: that the best level is not worse than another by more than its part of the margin."""
    problem, runs, spared = RankOne([0.5, 0.45], [0.5, 0.45]), 2_000, math.sqrt(1.1)
    planned = equal_split_visitors(problem, power=0.5, margin=0.1)
    assert planned < 0.6 * equal_split_visitors(problem, power=0.5)
    each = round(planned / 4)
    clicks = generator(0, "margin").binomial(each, problem.means, (runs, 2, 2))
    named = np.ones(runs, bool)
    for axis in (1, 2):
        best, other = (clicks.sum(axis=axis) / (2 * each)).T
        theirs = (spared * best + other) / 2
        own = theirs / spared
        z = (spared * best - other) / np.sqrt((spared**2 * own * (1 - own) + theirs * (1 - theirs)) / (2 * each))
        named &= z > 2.2414  # two-sided at 0.05 / 2
    assert named.mean() == pytest.approx(0.5, abs=3 * math.sqrt(0.25 / runs) + 0.01)
    found = plan(rows=2, cols=2, rate=0.2, lift=0.5, aim="decide", margin=0.1)
    assert found.spans[-1].median < plan(rows=2, cols=2, rate=0.2, lift=0.5, aim="decide").spans[-1].median
    assert "Equal split: judged once (margin 10%)," in found.details


def test_an_equal_split_is_no_straw_man() -> None:
    """On the page's example: judged by main effects it needs a quarter of what tests of all pairs do (2,100,000)."""
    side = math.sqrt(0.033)
    problem = RankOne([side] + [side / 1.1] * 3, [side] + [side / 1.1] * 4)
    assert equal_split_visitors(problem, power=0.5) == pytest.approx(485_000, rel=0.01)
    assert equal_split_visitors(problem, power=0.9) == pytest.approx(776_000, rel=0.01)


def test_a_plan_shows_itself() -> None:
    found = plan(rows=2, cols=2, rate=0.2, lift=0.5, visitors_a_day=1_000, aim="both")
    assert re.fullmatch(
        r"Aim '[a-z]+': about [\d,]+ visitors \(.*\) for a winner; nine in ten finish by .*\.", found.headline
    )
    assert len(found.headline.split()) <= 25
    assert found.brief.splitlines() == [found.headline, found.assumes]
    assert found.assumes.startswith("Assumes: 2 x 2 pairs: the best clicked 30%")
    assert "equal split" in repr(found)
    assert found.to_dict()["spans"][0]["way"] == "both"
    assert found.chart().altair.to_dict()["hconcat"]
    assert list(found.to_pandas()["aim"]) == ["both", "equal split"]
    assert (count_text(0.0), count_text(99_960.0), days_text(1.0)) == ("0.0", "100,000", "about a day")


def test_figures_have_the_digits_that_some_dozens_of_rehearsals_can_tell() -> None:
    found = plan(rows=2, cols=2, rate=0.2, lift=0.5, visitors_a_day=1_000, aim="decide")
    for each in found.to_dict()["spans"]:
        for name in ("median", "late", "lost"):
            assert each[name] == float(f"{each[name]:.2g}"), name


def test_progress_begins_before_the_first_rehearsal_and_reaches_the_end() -> None:
    calls: list[tuple[int, int]] = []
    plan(rows=2, cols=2, rate=0.2, lift=0.5, aim="decide", progress=lambda done, total: calls.append((done, total)))
    done, totals = zip(*calls, strict=True)
    assert (done[0], done[-1], set(totals)) == (0, totals[0], {totals[0]})
    assert list(done) == sorted(done)
    assert len(set(done)) > 10


def test_the_command_writes_nothing_beside_its_answer_in_a_pipe() -> None:
    words = ["plan", "--rows", "2", "--cols", "2", "--rate", "0.2", "--lift", "0.5", "--aim", "decide", "--json"]
    done = CliRunner().invoke(build_app(), words, catch_exceptions=False)
    assert [each["way"] for each in json.loads(done.stdout)["spans"]] == ["decide", "equal split"]
    assert done.stderr == ""  # a bar is for a terminal


@pytest.mark.parametrize(
    ("words", "do"),
    [
        (["--rows", "2", "--cols", "2", "--rate", "0", "--lift", "0.5"], "try --rate 0.03"),
        (["--rate", "0.1", "--lift", "0.5"], "try --factor headline=4 --factor image=5 --factor button=3"),
    ],
)
def test_the_command_names_its_options(words: list[str], do: str) -> None:
    error = CliRunner().invoke(build_app(), ["plan", *words]).exception
    assert isinstance(error, InputError)
    assert error.do == do


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"rate": 0.6, "lift": 0.9}, "of at most 1, but got 0.6 \\* \\(1 \\+ 0.9\\) = 1.14"),
        ({"rate": 0.0}, "rate from 1e-09 to 1"),
        ({"rate": float("nan")}, "rate from 1e-09 to 1"),
        ({"lift": -0.1}, "lift from 1e-06 to 1"),
        ({"lift": math.inf}, "lift from 1e-06 to 1"),
        ({"rows": 1, "cols": 1}, "at least two pairs"),
        ({"rows": 2.5}, "rows as a whole number"),
        ({"rows": 300}, "at most 256 rows and columns together"),
        ({"rows": None}, "rows and cols, or factors, but got cols only"),
        ({"factors": {"a": 2}}, "rows and cols, or factors, but got both"),
        (OF_FACTORS | {"factors": {}}, "factors by name, each with the number of its levels"),
        (OF_FACTORS | {"factors": {"a": 0}}, "levels of 'a' as a whole number of at least 1"),
        (OF_FACTORS | {"factors": {"a": 1, "b": 1, "c": 1}}, "at least two combinations"),
        (OF_FACTORS | {"factors": {"a": 200, "b": 100, "c": 2}}, "at most 256 levels together"),
        (OF_FACTORS | {"factors": {f"f{place}": 2 for place in range(21)}}, "from 1 to 20 factors"),
        ({"rate": None}, "rate from 1e-09 to 1"),
        ({"visitors_a_day": 0}, "visitors_a_day from 0.001"),
        ({"aim": "win"}, "aim as one of earn, both, decide"),
        ({"margin": 2}, "margin from 0 to 1"),
        ({"error": 0.7}, "error from 1e-06 to 0.5"),
    ],
)
def test_bad_wishes(wish: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        plan(**{"rows": 2, "cols": 2, "rate": 0.1, "lift": 0.2} | wish)  # type: ignore[arg-type]
