"""What an even test of all combinations would have earned."""

import numpy as np
import pytest

from rankone.live import Experiment
from rankone.live.factors import Allowed
from rankone.live.report.rates import uniform_rate
from rankone.numerics.seeds import generator
from tests import dice as dice  # registers the policy


def test_a_report_says_what_an_even_test_would_have_had(db):
    rng, factors = generator(3, "report"), {name: ["1", "2"] for name in "abc"}
    settings = {"policy": "test-dice", "explore": 0.5, "seed": 1}
    with Experiment("page", db=db, durability="off", factors=factors, **settings) as page:
        decisions = [each for _ in range(3) for each in page.ask(1_000)]
        page.tell_many((each, bool(rng.random() < (0.5 if each.levels["a"] == "1" else 0.25))) for each in decisions)
        report = page.report()
        pulls, clicks = page.look(lambda fold: (fold.pulls.copy(), fold.clicks.copy()))
    assert report.even_clicks == pytest.approx(uniform_rate(pulls, clicks) * pulls.sum())
    assert "An equal split of all combinations would have had about" in report.details
    assert type(report).of_dict(report.to_dict()) == report


def test_an_even_test_shows_nothing_forbidden():
    pulls = np.full((2, 2), 1000)
    clicks = np.array([[400, 200], [200, 100]])
    assert uniform_rate(pulls, clicks, Allowed(np.array([[0, 0]]), (2, 2))) == pytest.approx(0.5 / 3)
    assert uniform_rate(pulls // 50, clicks // 50) is None
