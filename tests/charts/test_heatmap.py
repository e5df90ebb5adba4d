"""The heat map writes every number in its cell, in the order asked for."""

import json

import polars as pl

from rankone.charts.heatmap import heatmap, short_number


def test_cells_order_and_numbers():
    table = pl.DataFrame({"who": ["a", "b", "a"], "what": ["x", "x", "y"], "much": [0.5, 20.0, None]})
    spec = json.loads(heatmap(table, x="who", y="what", value="much", order=["b", "a"], title="t").altair.to_json())
    cells, numbers = spec["layer"]
    assert cells["encoding"]["x"]["sort"] == ["b", "a"]
    assert cells["encoding"]["y"]["sort"] == ["x", "y"]
    assert cells["encoding"]["color"]["scale"]["domain"] == [0.5, 20.0]
    data = spec.get("data") or cells["data"]
    values = data["values"] if "values" in data else spec["datasets"][data["name"]]
    assert [cell["text"] for cell in values] == ["0.50", "20"], "a missing number leaves its cell empty"
    assert numbers["mark"]["type"] == "text"


def test_numbers_are_short():
    assert [short_number(value) for value in (0.994, 0.996, 9.94, 9.96, 999.4, 999.6, 123_456.0)] == [
        "0.99", "1.0", "9.9", "10", "999", "1.0k", "123k",
    ]  # fmt: skip
