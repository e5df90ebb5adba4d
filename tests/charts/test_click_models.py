"""The picture of click models says what it shows."""

import polars as pl
import pytest

from rankone.charts.click_models import click_model_chart


@pytest.mark.parametrize(("queries", "title"), [(["a", "c"], "2 of 3 queries: a, c"), (["a", "b", "c"], None)])
def test_the_title_names_the_queries_and_every_panel_has_a_letter(queries, title):
    attraction = pl.DataFrame({"query": ["a", "b", "c"], "attraction": [0.5, 0.4, 0.3]})
    examination = attraction.select("query", position=1, examination=1.0, low=0.9, high=1.0)
    drawn = click_model_chart(attraction, examination, queries).altair.to_dict()
    assert drawn.get("title") == title
    assert [panel["title"][:2] for panel in drawn["hconcat"]] == ["a.", "b.", "c."]
