"""Does a click need both? What past tests say that crossed two elements, such as headlines and images.

A test is used where exactly two of its recorded elements vary and packages cross them far enough to leave degrees of
freedom for interactions: pairs less free effects. G2 is then the lack of fit of a product, of a sum and of a logit
(`rankone.clicks.ab_tests.links`). Under a model that is true and clicks that are binomial G2 is about the degrees of
freedom. Real clicks scatter more: packages recorded as identical within a test tell by how much.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from rankone.clicks.ab_tests.links import LINKS, lack_of_fit
from rankone.clicks.ab_tests.upworthy import ELEMENTS, read_upworthy
from rankone.clicks.counts.count_arrays import Ints
from rankone.errors import InputError
from rankone.notebook import Shown

_FITS = list(LINKS)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class CrossedTests(Shown):
    """What tests that cross two elements say together.

    Attributes:
        tests: one row per test: elements, pairs, degrees of freedom, G2 of each way to combine two effects.
        dispersion: Pearson's statistic of identical packages a degree of freedom; None: there are none.
        effects: sizes on the scale of log rates, as standard deviations, by the method of moments.
    """

    tests: pl.DataFrame
    dispersion: float | None
    repeats: int  # degrees of freedom behind the dispersion
    effects: pl.DataFrame
    packages: int
    all_tests: int

    def summary(self) -> pl.DataFrame:
        """Return a row for each pair of elements, for all, and for all outside the weeks of known trouble."""
        parts = [(name, part) for (name,), part in self.tests.group_by("elements", maintain_order=True)]
        sound = self.tests.filter(~pl.col("troubled"))
        parts = sorted(parts, key=lambda named: -named[1].height)
        parts += [("all", self.tests), ("all, outside the weeks of known trouble", sound)]
        figures = [pl.len().alias("tests"), pl.col("dof", *_FITS).sum()]
        rows = [part.select(pl.lit(name).alias("elements"), *figures) for name, part in parts if part.height]
        return pl.concat(rows).with_columns(product_per_dof=pl.col("product") / pl.col("dof"))

    def _tables(self) -> dict[str, pl.DataFrame]:
        return {"summary": self.summary(), "effects": self.effects, "tests": self.tests}

    def _sentence(self) -> str:
        found = self.summary().filter(pl.col("elements") == "all").row(0, named=True)
        used = f"{found['tests']} of {self.all_tests:,} tests cross two elements"
        g2 = ", ".join(f"{name} {found[name]:.1f}" for name in _FITS)
        told = [f"{used} and leave {found['dof']} degrees of freedom. Lack of fit G2: {g2}."]
        if self.dispersion is not None:
            scatter = f"identical packages scatter by {self.dispersion:.2f} ({self.repeats:,})"
            told.append(f"The product is off by {found['product_per_dof']:.2f} a degree of freedom; {scatter}.")
        return "\n".join(told)


def crossed_tests(data: str | Path | pl.DataFrame, elements: Sequence[str] = ELEMENTS) -> CrossedTests:
    """Judge past tests of packages by how two elements combine.

    Args:
        data: a file of the Upworthy Research Archive, or what `rankone.clicks.read_upworthy` returns.
        elements: the elements that are recorded; a test is used where exactly two of them vary.

    >>> rates = {("a", "x"): 0.4, ("a", "y"): 0.1, ("b", "x"): 0.2, ("b", "y"): 0.05}
    >>> rows = [("t", *pair, "", "", 1000, round(1000 * rate), False) for pair, rate in rates.items()]
    >>> packages = pl.DataFrame(rows, schema=["test", *ELEMENTS, "shown", "clicked", "troubled"], orient="row")
    >>> crossed_tests(packages).tests.select("elements", "pairs", "dof").row(0)
    ('headline x image', 4, 1)
    """
    packages = data if isinstance(data, pl.DataFrame) else read_upworthy(data)
    found, sizes = [], []
    for (test,), part in packages.group_by("test", maintain_order=True):
        varied = [name for name in elements if part[name].n_unique() > 1]
        if len(varied) != 2:
            continue
        counts = part.group_by(varied, maintain_order=True).agg(pl.col("shown", "clicked").sum())
        rows, cols = (_numbered(counts[name]) for name in varied)
        dof = len(counts) - (rows.max() + cols.max() + 2 - _pieces(rows, cols))
        if dof <= 0:
            continue
        shown, clicked = (counts[name].to_numpy() for name in ("shown", "clicked"))
        fits = {name: lack_of_fit(rows, cols, shown, clicked, link) for name, link in LINKS.items()}
        about = {"test": test, "elements": " x ".join(varied), "pairs": len(counts), "dof": int(dof)}
        found.append({**about, **fits, "troubled": bool(part["troubled"].any())})
        sizes.append(np.array(list(_contrasts(rows, cols, shown, clicked))).reshape(-1, 4))
    if not found:
        got = f"none among {packages['test'].n_unique():,} tests"
        raise InputError("tests that cross two elements", got, "take a file with more tests")
    repeats, pearson = _identical(packages, elements)
    return CrossedTests(
        pl.DataFrame(found), pearson / repeats if repeats else None, repeats, _effects(sizes, pearson, repeats),
        packages.height, packages["test"].n_unique(),
    )  # fmt: skip


def _numbered(names: pl.Series) -> Ints:
    return (names.rank("dense").to_numpy() - 1).astype(np.int64)


def _pieces(rows: Ints, cols: Ints) -> int:
    """Return into how many parts the pairs fall that share no row and no column: each has a free level of its own."""
    piece = np.arange(int(rows.max()) + 1)
    while True:
        of_cols = [piece[rows[cols == col]].min() for col in range(int(cols.max()) + 1)]
        joined = np.array([min(of_cols[col] for col in cols[rows == row]) for row in range(len(piece))])
        if (joined == piece).all():
            return len(np.unique(piece))
        piece = joined


def _contrasts(rows: Ints, cols: Ints, shown: Ints, clicked: Ints) -> Iterator[tuple[float, float, float, float]]:
    """Yield row, column and interaction contrasts of log rates, squared, and their noise, of each complete 2 x 2."""
    known = {
        (row, col): (np.log(clicks / pulls), 1.0 / clicks - 1.0 / pulls)
        for row, col, pulls, clicks in zip(rows, cols, shown, clicked, strict=True)
        if clicks
    }
    for first, second in itertools.combinations(range(int(rows.max()) + 1), 2):
        for left, right in itertools.combinations(range(int(cols.max()) + 1), 2):
            corners = [known.get(pair) for pair in itertools.product((first, second), (left, right))]
            if all(corner is not None for corner in corners):
                (a, va), (b, vb), (c, vc), (d, vd) = (corner for corner in corners if corner is not None)
                yield ((a + b - c - d) / 2) ** 2, ((a - b + c - d) / 2) ** 2, (a - b - c + d) ** 2, va + vb + vc + vd


def _effects(sizes: Sequence[np.ndarray], pearson: float, repeats: int) -> pl.DataFrame:
    """Return standard deviations of effects, every test with the same weight, noise as large as binomial or as seen.

    With independent effects of variance r, c and e (of an interaction) and noise of variance v in all four corners,
    the squared contrasts have means 2 r + e + v / 4, 2 c + e + v / 4 and 4 e + v.
    """
    means = [test.mean(axis=0) for test in sizes if len(test)]
    if not means:
        return pl.DataFrame(schema={"noise": pl.String, "first": pl.Float64, "second": pl.Float64, "both": pl.Float64})
    by_row, by_col, both, noise = np.mean(means, axis=0)
    scales = {"binomial": 1.0} | ({"as identical packages scatter": pearson / repeats} if repeats else {})
    rows = []
    for name, scale in scales.items():
        between = (both - scale * noise) / 4
        parts = ((by_row - scale * noise / 4 - between) / 2, (by_col - scale * noise / 4 - between) / 2, between)
        rows.append([name, *(float(np.sqrt(max(0.0, part))) for part in parts)])
    return pl.DataFrame(rows, schema=["noise", "first", "second", "both"], orient="row")


def _identical(packages: pl.DataFrame, elements: Sequence[str]) -> tuple[int, float]:
    """Return degrees of freedom and Pearson's statistic of packages that their test shows more than once."""
    group = ["test", *elements]
    rate = pl.col("clicked").sum().over(group) / pl.col("shown").sum().over(group)
    repeated = packages.with_columns(rate=rate, copies=pl.len().over(group)).filter(
        (pl.col("copies") > 1) & (pl.col("rate") > 0.0) & (pl.col("rate") < 1.0)
    )
    expected = pl.col("shown") * pl.col("rate")
    pearson = repeated.select(((pl.col("clicked") - expected) ** 2 / (expected * (1 - pl.col("rate")))).sum()).item()
    return repeated.height - repeated.select(group).n_unique(), float(pearson)
