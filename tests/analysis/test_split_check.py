"""Splits that look meant to be even and are not: said before any winner, and only then."""

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import rankone
from rankone.analysis.split_check import check_split
from rankone.cli import build_app
from rankone.clicks.counts.factor_counts import as_factor_counts
from rankone.numerics.student import chi_square_tail


def arms(*shown, unit="Visitors", **more):
    names = [f"arm {place}" for place in range(len(shown))]
    return pl.DataFrame({"Variant": names, unit: shown, "Conversions": [count // 20 for count in shown]} | more)


def test_a_mismatch_is_said_before_the_winner():
    table = arms(10_250, 8_110).with_columns(Conversions=pl.Series([512, 487]))
    answer = rankone.analyse(table)
    text = str(answer)
    assert text.startswith("Sample ratio mismatch: Variant 'arm 0' was shown 10,250 times, 'arm 1' 8,110 times: too")
    assert "is ahead, not proven yet: " in answer.headline
    assert text.index(answer.headline) > text.index("Sample ratio mismatch")
    assert "Variant: 'arm 1' is ahead, not proven yet." in text
    assert "Next: find out why" in text
    assert not answer.decided
    assert answer.to_dict()["split"]["p_value"] < 1e-9
    assert "Sample ratio mismatch" in answer._repr_html_()
    assert answer.brief.startswith("Sample ratio mismatch")
    told = rankone.analyse(table, uneven=True)
    assert " wins: " in told.headline
    assert told.to_dict()["split"] is None


def test_the_command_takes_what_was_meant(tmp_path):
    table = tmp_path / "ab.csv"
    arms(10_250, 8_110).write_csv(table)
    said, meant = (
        CliRunner().invoke(build_app(), ["analyse", str(table), *more]).stdout for more in ((), ("--uneven",))
    )
    assert "Sample ratio mismatch" in said
    assert "Sample ratio mismatch" not in meant
    table.write_text("Variant,Users,Clicks\nA,900,90\nB,901,60\n(not set),900,20\n")
    assert "(not set)  " in CliRunner().invoke(build_app(), ["analyse", str(table), "--all-rows"]).stdout


@pytest.mark.parametrize(
    "table",
    [
        arms(5_100, 4_900),  # chance
        arms(90_250, 10_110),  # meant to be uneven
        arms(400, 900, 22_000),  # a policy went by the clicks
        arms(10_250, 8_110, unit="Impressions"),  # an ad platform hands them out as it likes
        arms(10_250, 9_950, unit="Sessions"),  # visitors come again
        arms(10_250, 9_800, Date=["2026-10-01"] * 2).vstack(arms(10_250, 9_800, Date=["2026-10-02"] * 2)),  # the same
    ],
)
def test_what_is_no_mismatch(table):
    assert check_split(as_factor_counts(table)) is None


def test_every_factor_is_looked_at_where_all_were_crossed():
    shown = np.array([[9_000, 1_000], [9_000, 1_000], [7_000, 800]])  # images 9 to 1 on purpose, one headline lost some
    found = check_split(as_factor_counts((shown, shown // 20), factors=["headline", "image"]))
    assert (found.factor, found.most, found.least) == ("headline", ("headline 1", 10_000), ("headline 3", 7_800))
    parts = np.array([[5_000, 5_000], [5_000, 0]])  # three of four combinations: no factor is even, and all is well
    assert check_split(as_factor_counts((parts, parts // 20))) is None


def test_visitors_who_come_again_are_counted_once():
    """40 visitors, 100 rows each: 24 against 16 visitors are 2,400 against 1,600 rows, and nothing strange."""
    rows = [
        {"user_id": who, "headline": "AB"[who >= 24], "clicked": turn % 9 == 0}
        for who in range(40)
        for turn in range(100)
    ]
    assert check_split(as_factor_counts(pl.DataFrame(rows))) is None
    once = pl.DataFrame(rows).with_columns(user_id=pl.int_range(pl.len()))
    assert check_split(as_factor_counts(once)) is not None


@pytest.mark.parametrize(
    ("value", "freedom", "tail"), [(10.828, 1, 0.001), (13.816, 2, 0.001), (59.703, 30, 0.001), (3.0, 3, 0.3916)]
)
def test_tail_of_the_chi_square_distribution(value, freedom, tail):
    assert chi_square_tail(value, freedom) == pytest.approx(tail, rel=1e-3)


def test_one_level_has_nothing_to_be_compared_with():
    answer = rankone.analyse(arms(12_000))
    text = str(answer)
    assert answer.headline == "Nothing to compare: only 'arm 0' was shown, 5% clicked."
    assert "Best" not in text
    assert "Next: show another Variant to some visitors" in text
    assert not answer.decided


def test_rates_are_percentages():
    shown = np.full((2, 2), 4_000_000_000)
    check = rankone.check_rank1((shown, np.array([[38, 40], [42, 40]]) * 1_000_000), simulations=49)
    assert "most of all 'row 1' with 'col 1': 0.95% observed, 0.975% expected" in check.headline


def ramp(*shares, total=10_000):
    rows = [
        (week, name, round(total * part))
        for week, share in enumerate(shares)
        for name, part in (("Old", 1.0 - share), ("New", share))
    ]
    table = pl.DataFrame(rows, ["Week", "Variant", "Visitors"], orient="row")
    return table.with_columns(Conversions=pl.col("Visitors") // 20)


def test_a_ramp_is_no_mismatch():
    """New got 10% of the first week and 80% of the last: 46% of all, and nobody is missing."""
    assert check_split(as_factor_counts(ramp(0.1, 0.3, 0.5, 0.6, 0.8))) is None
    assert check_split(as_factor_counts(ramp(0.0, 0.7, 0.7))) is None, "it began a week later"
    lost = check_split(as_factor_counts(ramp(0.46, 0.46, 0.46, 0.46)))
    assert lost.least == ("New", 18_400)
    small = pl.concat([ramp(0.46, 0.46, 0.46), ramp(0.2, total=20).with_columns(Week=pl.lit(3, pl.Int64))])
    assert check_split(as_factor_counts(small)) is not None, "a holiday with 20 visitors is uneven by chance"


@pytest.mark.parametrize("clicked", [[1_000, 400, 420, 980], [1_000, 400, 420, 410]])
def test_nothing_is_proven_of_a_split_that_lost_visitors(clicked):
    """With one left of four levels, and with two: neither who is out nor what may be lost is known."""
    text = str(rankone.analyse(arms(10_250, 8_110, 8_100, 10_200).with_columns(Conversions=pl.Series(clicked))))
    assert "Variant: 'arm 0' is ahead, not proven yet." in text
    for sure in ("not the best", "  the best", "At worst", "95% confidence"):
        assert sure not in text
