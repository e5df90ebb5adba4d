"""The picture of deviations: natural order of names, and of too many lines those that deviate most."""

import polars as pl

from rankone.charts.heatmap import MOST_LINES, residual_chart


def cells(n_rows):
    numbers = {"outcomes": 10, "clicks": 5, "rate": 0.5, "rank_one_rate": 0.4}
    rows = [
        {"row": f"row {row}", "col": f"position {col}", **numbers, "deviation": row * (-1) ** col}
        for row in range(1, n_rows + 1)
        for col in (10, 9)
    ]
    return pl.DataFrame(rows)


def axes(chart):
    layer = chart.altair.to_dict()["layer"][0]["encoding"]
    return layer["y"]["sort"], layer["x"]["sort"]


def test_names_stand_in_natural_order():
    rows, cols = axes(residual_chart(cells(11), "t"))
    assert rows == [f"row {number}" for number in range(1, 12)]
    assert cols == ["position 9", "position 10"]


def test_of_many_lines_the_farthest_are_shown():
    chart = residual_chart(cells(100), "t")
    rows, _ = axes(chart)
    assert rows == [f"row {number}" for number in range(101 - MOST_LINES, 101)]
    assert "of 100" in str(chart.altair.to_dict()["title"])


def test_nothing_is_not_written_as_less_than_nothing():
    drawn = residual_chart(cells(1).with_columns(deviation=pl.Series([-0.04, 0.04])), "t").altair.to_dict()
    text = drawn["layer"][1]["encoding"]["text"]["field"]
    (rows,) = drawn["datasets"].values()
    values = [row[text] for row in rows]
    assert [f"{value:+.1f}" for value in values] == ["+0.0", "+0.0"]
