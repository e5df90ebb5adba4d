"""Revenue of a table: sums, intervals, what is not said."""

import math

import numpy as np
import polars as pl
import pytest

import rankone
from rankone.errors import InputError


def orders(rng, visitors=4000, lifts=(1.0, 1.0), rate=0.1):
    level = rng.integers(0, len(lifts), visitors)
    bought = rng.random(visitors) < rate
    values = np.where(bought, rng.lognormal(3.0, 0.8, visitors) * np.array(lifts)[level], 0.0)
    return pl.DataFrame({"page": np.array(["A", "B", "C"])[level], "revenue": values})


def test_figures_are_those_of_the_table():
    table = orders(np.random.default_rng(1))
    found = rankone.analyse_revenue(table, "revenue")
    for level in found.levels:
        own = table.filter(page=level.level)["revenue"]
        assert level.visitors == len(own)
        assert level.orders == (own > 0).sum()
        assert level.revenue == pytest.approx(own.sum())
        assert level.per_visitor == pytest.approx(own.mean())
    best, other = sorted(found.levels, key=lambda level: -level.per_visitor)
    assert found.best == {"page": best.level}
    spread = sum(
        float(np.var(own, ddof=1) / len(own) / np.mean(own) ** 2)
        for own in (table.filter(page=name)["revenue"].to_numpy() for name in ("A", "B"))
    )
    ratio = other.per_visitor / best.per_visitor
    assert math.log(other.high / ratio) == pytest.approx(1.96 * math.sqrt(spread), rel=0.005)


def test_a_clear_difference_wins_and_equal_levels_do_not():
    rng = np.random.default_rng(2)
    found = rankone.analyse_revenue(orders(rng, lifts=(1.0, 2.0)), "revenue")
    assert found.decided
    assert found.headline.startswith("Revenue: page 'B' wins (")
    wrong = sum(rankone.analyse_revenue(orders(rng), "revenue").decided for _ in range(200))
    assert wrong <= 10 + 4 * math.sqrt(200 * 0.05 * 0.95)


def test_an_uneven_split_is_said_before_any_winner():
    table = orders(np.random.default_rng(3), 16_000, (1.0, 2.0))
    uneven = pl.concat([table.filter(page="A").head(6000), table.filter(page="B").head(7400)])
    found = rankone.analyse_revenue(uneven, "revenue")
    assert not found.decided
    assert found.brief.startswith("Sample ratio mismatch")
    assert rankone.analyse_revenue(uneven, "revenue", uneven=True).decided


def test_one_huge_order_is_said_and_a_cap_helps():
    table = pl.concat([orders(np.random.default_rng(4)), pl.DataFrame({"page": ["A"], "revenue": [1e6]})])
    found = rankone.analyse_revenue(table, "revenue")
    assert "Heavy tails" in " ".join(found.warnings)
    assert {level.against for level in found.levels} == {"the best", "not enough data"}
    assert not rankone.analyse_revenue(table, "revenue", cap=100.0).warnings


def test_days_of_each_combination_are_compared_too():
    rng, rows = np.random.default_rng(5), []
    for day in range(20):
        for level, mean in (("A", 1.0), ("B", 2.0)):
            rows.append({"day": f"2026-01-{day + 1:02}", "page": level, "visitors": 500, "orders": 20, "revenue": float(rng.normal(500 * mean, 40))})  # fmt: skip
    table = pl.DataFrame(rows)
    assert rankone.analyse_revenue(table, "revenue").decided
    few = rankone.analyse_revenue(table.head(2), "revenue")
    assert "too few rows" in " ".join(few.warnings)
    with pytest.raises(InputError, match="cap"):
        rankone.analyse_revenue(table, "revenue", cap=3.0)


def test_what_an_export_holds_is_read(tmp_path):
    goals = {"click": {}, "order": {"kind": "amount", "cap": 100}}
    with rankone.Experiment("shop", factors={"page": ["A", "B"]}, db=tmp_path / "s.db", goals=goals, seed=1) as shop:
        for number, decision in enumerate(shop.ask(60)):
            shop.tell(decision, clicked=number % 2 == 0)
            if number % 3 == 0:
                shop.tell(decision, goal="order", value=20.5)
        from rankone.live.operate.export import decisions_table

        table = decisions_table(shop.database, "shop")
    found = rankone.analyse_revenue(table, "goal_order")
    assert sum(level.revenue for level in found.levels) == 20 * 20.5
    assert sum(level.visitors for level in found.levels) == 60
    assert not found.decided  # a policy chose
    assert found.to_dict()["best"] == found.best


def test_amounts_are_named_where_clicks_are_expected():
    with pytest.raises(InputError, match="looks like an amount"):
        rankone.analyse(orders(np.random.default_rng(6)))
    with pytest.raises(InputError, match="no amount from 0"):
        rankone.analyse_revenue(pl.DataFrame({"page": ["A", "B"], "revenue": [1.0, -3.0]}), "revenue")
    with pytest.raises(InputError, match="No column"):
        rankone.analyse_revenue(orders(np.random.default_rng(6)), "revenu")
