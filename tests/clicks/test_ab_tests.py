"""Past tests that cross two elements: reading them, three ways to combine effects, scatter and sizes of effects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmarks.upworthy import COLUMNS, LINKS, crossed_tests, lack_of_fit, read_upworthy

from rankone.errors import InputError

EVERY_PAIR = np.divmod(np.arange(6), 3)


def archive(path: Path, tests: int = 60, dispersion: float = 1.0, seed: int = 1) -> Path:
    """Write a file with the archive's columns: each test crosses two headlines and two images, one package twice."""
    rng = np.random.default_rng(seed)
    rows = []
    for test in range(tests):
        headlines, images = np.exp(0.2 * rng.standard_normal(2)), np.exp(0.15 * rng.standard_normal(2))
        for headline, image in [(0, 0), (0, 1), (1, 0), (1, 1), (0, 0)]:
            rate = 0.02 * headlines[headline] * images[image]
            noise = rng.gamma(1 / _excess(rate, dispersion)) * _excess(rate, dispersion) if dispersion > 1 else 1.0
            clicks = rng.binomial(4000, min(1.0, rate * noise))
            names = (f"t{test}", f"headline {headline}", f"i{image}", "" if test % 2 else "said", "lede")
            rows.append((*names, 4000, int(clicks), 201330 if test % 3 == 0 else 201446))
    frame = pl.DataFrame(rows, schema=list(COLUMNS), orient="row")
    (frame.write_parquet if path.suffix == ".parquet" else frame.write_csv)(path)
    return path


def _excess(rate: float, dispersion: float) -> float:
    """Return the variance of a factor on the rate that makes counts of 4,000 so much wider than binomial."""
    return (dispersion - 1.0) / (4000 * rate)


@pytest.mark.parametrize("link", ["product", "additive", "logit"])
def test_rates_that_combine_so_fit_exactly(link: str) -> None:
    rows, cols = EVERY_PAIR
    scale = LINKS[link].to_scale(np.array([0.3, 0.2]))[rows] + LINKS[link].to_scale(np.array([0.5, 0.4, 0.35]))[cols]
    rates = LINKS[link].to_rate(scale / (1 if link == "product" else 2))
    shown = np.full(6, 10**9)
    clicked = np.round(shown * rates).astype(np.int64)
    assert lack_of_fit(rows, cols, shown, clicked, LINKS[link]) < 1e-3
    for other in set(LINKS) - {link}:
        assert lack_of_fit(rows, cols, shown, clicked, LINKS[other]) > 1e3


def test_the_product_is_that_of_the_rank1_check() -> None:
    from rankone import check_rank1

    rng = np.random.default_rng(3)
    shown = rng.integers(500, 900, (20, 2, 3))
    clicked = rng.binomial(shown, 0.2 * rng.random((20, 2, 3)))
    expected = [check_rank1(table, simulations=20).checks[0].statistic for table in zip(shown, clicked, strict=True)]
    rows, cols = EVERY_PAIR
    found = [
        lack_of_fit(rows, cols, n.ravel(), k.ravel(), LINKS["product"]) for n, k in zip(shown, clicked, strict=True)
    ]
    np.testing.assert_allclose(found, expected, atol=2e-3)


@pytest.mark.parametrize(
    "clicks", [[0, 0, 0, 0, 0, 0], [50, 50, 50, 50, 50, 50], [0, 0, 0, 9, 8, 7], [0, 5, 9, 0, 4, 8]]
)
def test_levels_that_nobody_clicks_or_everybody(clicks: list[int]) -> None:
    for link in LINKS.values():
        found = lack_of_fit(*EVERY_PAIR, np.full(6, 50), np.array(clicks), link)
        assert 0.0 <= found < 4.0


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_file_of_the_archive(tmp_path: Path, suffix: str) -> None:
    found = crossed_tests(archive(tmp_path / f"packages{suffix}"))
    summary = found.summary()
    assert summary["elements"].to_list() == ["headline x image", "all", "all, outside the weeks of known trouble"]
    assert summary["tests"].to_list() == [60, 60, 40]
    assert summary["dof"].to_list() == [60, 60, 40]
    assert (found.all_tests, found.packages, found.repeats) == (60, 300, 60)
    # With the truth a product, G2 is chi-squared with 60 degrees of freedom, give or take four standard deviations.
    assert abs(summary["product"][1] - 60) < 4 * np.sqrt(120)
    assert found.dispersion is not None
    assert abs(found.dispersion - 1) < 4 * np.sqrt(2 / 60)
    binomial = found.effects.row(0, named=True)
    assert abs(binomial["first"] - 0.2) < 0.06
    assert abs(binomial["second"] - 0.15) < 0.06
    assert binomial["both"] < 0.1


def test_copies_that_scatter_more_than_binomial_are_seen_to(tmp_path: Path) -> None:
    found = crossed_tests(archive(tmp_path / "packages.csv", tests=200, dispersion=2.0))
    assert found.dispersion is not None
    assert 1.5 < found.dispersion < 2.5
    assert "identical packages scatter by" in repr(found)


def test_tests_that_cross_too_little_are_left_out() -> None:
    def package(test: str, headline: str, image: str, excerpt: str = "") -> dict[str, Any]:
        names = {"test": test, "headline": headline, "image": image, "excerpt": excerpt, "lede": ""}
        return names | {"shown": 100, "clicked": 10, "troubled": False}

    lines = [
        *(package("one element", headline, "x") for headline in "abc"),
        *(package("a diagonal", name, name) for name in "abc"),
        *(package("three elements", h, i, e) for h in "ab" for i in "xy" for e in "12"),
        *(package("no square", h, i) for h, i in ("ax", "ay", "bx")),
        *(package("two squares apart", h, i) for h, i in ("ax", "ay", "bx", "by", "cz", "cw", "dz", "dw")),
    ]
    found = crossed_tests(pl.DataFrame(lines))
    assert found.tests.select("test", "pairs", "dof").rows() == [("two squares apart", 8, 2)]
    with pytest.raises(InputError, match="Expected tests that cross two elements, but got none among 1 tests"):
        crossed_tests(pl.DataFrame(lines[:3]))


def test_files_that_are_something_else_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "packages.csv"
    for text, message in [
        ("a,b\n1,2\n", "no clickability_test_id, .* in packages.csv, which has a, b"),
        (",".join(COLUMNS) + "\nt,h,i,e,l,10,11,201446\n", "got 11 of 10 in test t"),
        (",".join(COLUMNS) + "\nt,h,i,e,l,ten,1,201446\n", "got 1 of None in test t"),
        (",".join(COLUMNS) + "\nt,h,i,e,l,0,0,201446\n", "Expected packages that were shown"),
    ]:
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            read_upworthy(path)
    with pytest.raises(InputError, match=r"Expected packages of the archive at .*nothing\.csv"):
        read_upworthy(tmp_path / "nothing.csv")
