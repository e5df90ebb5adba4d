"""The suites of log formats and click models find what is wrong, and say so."""

import dataclasses

import numpy as np
import pytest

from rankone.clicks import FORMATS, MODELS
from rankone.clicks.formats.table import Table
from rankone.clicks.models.base import ClickModel, per_item, smoothed_share
from rankone.errors import ConformanceError
from tests.suites.click_models import ClickModelSuite
from tests.suites.formats import FormatSuite


@pytest.fixture(autouse=True)
def _forget(monkeypatch):
    """Names that are registered here are unknown elsewhere."""
    for known in (FORMATS, MODELS):
        monkeypatch.setattr(known, "_things", dict(known.known()))
        monkeypatch.setattr(known, "_origins", dict(known._origins))


def failure(suite, test=None, **tested):
    made = suite()
    for attribute, value in tested.items():
        setattr(made, attribute, value)
    with pytest.raises(ConformanceError, match=r"(?s)^Expected .*, but got .*. ") as found:
        suite.check(**tested) if test is None else getattr(made, test)()
    return str(found.value)


def make_format(**members):
    """A format that is right but for what is given."""

    class Shop(Table):
        name = "test-shop"
        title = "a shop"
        example = b"search,item,position,clicked\nred,a,1,0\nred,b,2,1\nred,b,1,0\nred,a,2,1\n"

        def __init__(self):
            super().__init__(query="search", separator=",")

        @classmethod
        def recognises(cls, head):
            return head.removeprefix(b"\xef\xbb\xbf").startswith(b"search,item,position,clicked")

    for name, member in members.items():
        setattr(Shop, name, member)
    return Shop


def test_a_format_that_is_right_passes():
    FormatSuite.check(format=make_format())


def test_an_example_that_is_not_recognised():
    shop = make_format(recognises=classmethod(lambda cls, head: False))
    assert "its example to be recognised as test-shop, but got table. Let `recognises`" in failure(
        FormatSuite, format=shop
    )


def test_an_example_that_is_not_read():
    shop = make_format(example=b"search,item,position,clicked\nred,a,one,0\nred,b,2,1\n")
    said = failure(FormatSuite, format=shop)
    assert "the example of test-shop to be read, but got Expected at most 1% rows" in said


def test_an_example_without_clicks():
    shop = make_format(example=b"search,item,position,clicked\nred,a,1,0\nred,b,2,0\n")
    assert "an example with clicks, and with more impressions, but got 0 and 2" in failure(FormatSuite, format=shop)


def test_rows_that_are_dropped_in_silence():
    def read(self, source, collector):
        set_aside, collector.bad = collector.bad, lambda *_, **__: None
        try:
            return Table.read(self, source, collector)
        finally:
            collector.bad = set_aside

    said = failure(FormatSuite, "test_bad_rows_are_set_aside_with_line_and_reason", format=make_format(read=read))
    assert "4 rows read beside the row b'?\\n', but got 5. Read every row, or hand it to `collector.bad`" in said


def test_a_format_that_takes_everything():
    shop = make_format(recognises=classmethod(lambda cls, head: True))
    said = failure(FormatSuite, "test_other_formats_are_refused", format=shop)
    assert "read as test-shop, to be refused with InputError" in said


def make_model(needs=True, **members):
    """A click model that is right but for what is given."""

    @dataclasses.dataclass(eq=False)
    class Rate(ClickModel):
        name = "test-rate"
        title = "click-through rate"
        needs_lists = needs

        def learn(self, cells, progress):
            self.item_attraction_ = smoothed_share(
                per_item(cells, cells.clicks), per_item(cells, cells.impressions), (1, 2)
            )

        def chances(self, lists, attraction):
            return attraction, np.array(attraction)

    for name, member in members.items():
        setattr(Rate, name, member)
    return Rate


def test_a_model_that_is_right_passes():
    ClickModelSuite.check(model=make_model())


def above_one(self, cells, progress):
    self.item_attraction_ = 1.0 + per_item(cells, cells.clicks)


def one_for_all(self, cells, progress):
    self.item_attraction_ = np.full(1, 0.5)


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"title": ""}, "a text Rate.title, but got none. Say what it is"),
        ({"learn": above_one}, "attraction between 0 and 1, but got array(["),
        ({"learn": one_for_all}, "an attraction for each of 24 items, but got 1. Set self.item_attraction_ in learn()"),
        (
            {"fit": lambda self, counts: ClickModel.fit(self, counts) and None},
            "fit() to return the model itself, but got nothing",
        ),
        (
            {"chances": lambda self, lists, found: (0 * found + 0.01, 0 * found + 0.01)},
            "a perplexity between 1 and 2.5",
        ),
        (
            {"chances": lambda self, lists, found: (found, 0.5 * found)},
            "as P(click | clicks above) says, but got array([",
        ),
        ({"problem": lambda self, query: None}, "a rank-1 problem to be refused with InputError"),
    ],
)
def test_a_model_that_is_wrong(members, said):
    assert said in failure(ClickModelSuite, model=make_model(**members))


def test_chances_that_do_not_add_up():
    def above_the_click(self, lists, attraction):
        conditional = np.where(lists.clicked, attraction, 0.5 * attraction)  # looks at the click it predicts
        return conditional, attraction

    said = failure(
        ClickModelSuite, "test_chances_of_all_click_patterns_add_up", model=make_model(chances=above_the_click)
    )
    assert "chances of all click patterns that add up to 1, but got " in said
