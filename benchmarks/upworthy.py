"""Does a click need both? What past tests say that crossed two elements, such as headlines and images.

A test is used where exactly two of its recorded elements vary and packages cross them far enough to leave degrees of
freedom for interactions: pairs less free effects. G2 is then the lack of fit of a product, of a sum and of a logit.
Under a model that is true and clicks that are binomial G2 is about the degrees of freedom. Real clicks scatter more:
packages recorded as identical within a test tell by how much.

The archive: Matias, Munger, Aubin Le Quere, Ebersole, "The Upworthy Research Archive, a time series of 32,487
experiments in U.S. media", Scientific Data 8:195, 2021; CC BY 4.0. It has one row per package: what visitors of one arm
of a test saw. Its authors know of trouble with the randomisation of tests from 25 June 2013 to 10 January 2014.

``python -m benchmarks.upworthy packages.parquet --out out/upworthy`` prints the tables, and writes them as CSV. Your own
tests will do, in the archive's columns.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from rankone.errors import InputError
from rankone.notebook import Shown
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.product_fit import deviances
from rankone.writing import write_table

ELEMENTS = ("headline", "image", "excerpt", "lede")
#: Columns of the archive, and what they are called here.
COLUMNS = {"clickability_test_id": "test", "headline": "headline", "eyecatcher_id": "image", "excerpt": "excerpt"}
COLUMNS |= {"lede": "lede", "impressions": "shown", "clicks": "clicked", "test_week": "week"}
_TROUBLE = (201325, 201401)  # weeks, year and number, in which tests were not randomised as they should have been
_GET_IT = "name a .csv or .parquet file of the archive, from https://upworthy.natematias.com"


def read_upworthy(path: str | Path) -> pl.DataFrame:
    """Read packages of the archive: test, headline, image, excerpt, lede, shown, clicked and troubled.

    An element that a package lacks is an empty text; `troubled` marks the weeks of known trouble.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "packages.csv")
    >>> _ = file.write_text(",".join(COLUMNS) + "\\nt1,Ten facts,i1,,It is so,3000,40,201446\\n")
    >>> read_upworthy(file).row(0)
    ('t1', 'Ten facts', 'i1', '', 'It is so', 3000, 40, False)
    """
    path = Path(path)
    try:
        found = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path, infer_schema=False)
    except (OSError, UnicodeDecodeError, pl.exceptions.PolarsError) as error:
        raise InputError(f"packages of the archive at {path}", str(error).partition("\n")[0], _GET_IT) from None
    lacking = [name for name in COLUMNS if name not in found.columns]
    if lacking:
        got = f"no {', '.join(lacking)} in {path.name}, which has {', '.join(found.columns[:12])}"
        raise InputError("the columns of the Upworthy Research Archive", got, _GET_IT)
    table = found.select(pl.col(name).alias(ours) for name, ours in COLUMNS.items()).with_columns(
        pl.col("test", *ELEMENTS).cast(pl.String).fill_null(""),
        pl.col("shown", "clicked", "week").cast(pl.Float64, strict=False).cast(pl.Int64, strict=False),
    )
    wrong = table.filter(~((pl.col("clicked") >= 0) & (pl.col("clicked") <= pl.col("shown"))).fill_null(False))
    if wrong.height:
        got = f"{wrong['clicked'][0]} of {wrong['shown'][0]} in test {wrong['test'][0]}"
        raise InputError("whole numbers with 0 <= clicks <= impressions", got, "correct or leave out such rows")
    table = table.filter(pl.col("shown") > 0)
    if table.is_empty():
        raise InputError("packages that were shown", f"none in {path.name}", _GET_IT)
    troubled = pl.col("week").is_between(*_TROUBLE).fill_null(False)
    return table.with_columns(troubled=troubled).drop("week")


_ITERATIONS, _TOLERANCE, _SMALLEST_STEP = 200, 1e-8, 1e-9


class Link(NamedTuple):
    """From a click rate to the scale on which effects add up, and back; `slope` is that of the way back."""

    to_scale: Callable[[Floats], Floats]
    to_rate: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]  # of the rate, at a rate


LINKS: dict[str, Link] = {
    "product": Link(np.log, np.exp, lambda rate: rate),
    "additive": Link(lambda rate: rate, lambda scale: scale, np.ones_like),
    "logit": Link(
        lambda rate: np.log(rate / (1.0 - rate)),
        lambda scale: 1.0 / (1.0 + np.exp(-scale)),
        lambda rate: rate * (1.0 - rate),
    ),
}


def lack_of_fit(rows: Ints, cols: Ints, shown: Ints, clicked: Ints, link: Link) -> float:
    """Return G2, twice the log-likelihood that pairs gain by rates of their own over rates that two effects make.

    Fitted by Fisher scoring (McCullagh, Nelder, "Generalized linear models", 2nd edition, section 2.5), each step
    halved until the fit gets better. The pairs are given one by one: numbers of their row and column, how often they
    were shown and clicked.

    >>> pairs = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> shown, clicked = np.full(4, 1000), np.array([400, 100, 200, 50])
    >>> round(lack_of_fit(*pairs, shown, clicked, LINKS["product"]), 3)
    0.0
    >>> round(lack_of_fit(*pairs, shown, clicked, LINKS["additive"]), 1)
    40.6
    """
    if not clicked.any() or (clicked == shown).all():
        return 0.0
    design = _design(rows, cols)
    average = np.full(len(rows), clicked.sum() / shown.sum())
    effects = np.linalg.lstsq(design, link.to_scale(average), rcond=None)[0]
    result = _lack(shown, clicked, average)
    for _ in range(_ITERATIONS):
        rates = link.to_rate(design @ effects)
        slope = link.slope(rates)
        weight = np.sqrt(shown / (rates * (1.0 - rates))) * slope
        wanted = weight * (clicked / shown - rates) / slope
        step = np.linalg.lstsq(design * weight[:, None], wanted, rcond=None)[0]
        size, better = 1.0, result
        while size > _SMALLEST_STEP:
            better = _lack(shown, clicked, link.to_rate(design @ (effects + size * step)))
            if better < result:
                break
            size /= 2.0
        if not result - better > _TOLERANCE:
            break
        effects, result = effects + size * step, better
    return result


def _design(rows: Ints, cols: Ints) -> Floats:
    """Which row and which column each pair has, as ones among zeros."""
    return np.hstack([np.eye(int(rows.max()) + 1)[rows], np.eye(int(cols.max()) + 1)[cols]])


def _lack(shown: Ints, clicked: Ints, rates: Floats) -> float:
    if not ((rates > 0.0) & (rates < 1.0)).all():
        return float("inf")
    return float(deviances(shown, clicked, rates).sum())


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
        figures = [pl.len().alias("tests"), pl.col("dof", *LINKS).sum()]
        rows = [part.select(pl.lit(name).alias("elements"), *figures) for name, part in parts if part.height]
        return pl.concat(rows).with_columns(product_per_dof=pl.col("product") / pl.col("dof"))

    def _tables(self) -> dict[str, pl.DataFrame]:
        return {"summary": self.summary(), "effects": self.effects, "tests": self.tests}

    def _sentence(self) -> str:
        found = self.summary().filter(pl.col("elements") == "all").row(0, named=True)
        used = f"{found['tests']} of {self.all_tests:,} tests cross two elements"
        g2 = ", ".join(f"{name} {found[name]:.1f}" for name in LINKS)
        sentences = [f"{used} and leave {found['dof']} degrees of freedom. Lack of fit G2: {g2}."]
        if self.dispersion is not None:
            scatter = f"identical packages scatter by {self.dispersion:.2f} ({self.repeats:,})"
            sentences.append(f"The product is off by {found['product_per_dof']:.2f} a degree of freedom; {scatter}.")
        return "\n".join(sentences)


def crossed_tests(data: str | Path | pl.DataFrame, elements: Sequence[str] = ELEMENTS) -> CrossedTests:
    """Judge past tests of packages by how two elements combine.

    Args:
        data: a file of the Upworthy Research Archive, or what `read_upworthy` returns.
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
        rows, cols = ((counts[name].rank("dense").to_numpy() - 1).astype(np.int64) for name in varied)
        dof = len(counts) - int(np.linalg.matrix_rank(_design(rows, cols)))
        if dof <= 0:
            continue
        shown, clicked = (counts[name].to_numpy() for name in ("shown", "clicked"))
        fits = {name: lack_of_fit(rows, cols, shown, clicked, link) for name, link in LINKS.items()}
        about = {"test": test, "elements": " x ".join(varied), "pairs": len(counts), "dof": dof}
        found.append({**about, **fits, "troubled": bool(part["troubled"].any())})
        sizes.append(np.array(list(_contrasts(rows, cols, shown, clicked))).reshape(-1, 4))
    if not found:
        got = f"none among {packages['test'].n_unique():,} tests"
        raise InputError("tests that cross two elements", got, "take a file with more tests")
    repeats, pearson = _identical(packages, elements)
    scatter = pearson / repeats if repeats else None
    effects, all_tests = _effects(sizes, scatter), packages["test"].n_unique()
    return CrossedTests(pl.DataFrame(found), scatter, repeats, effects, packages.height, all_tests)


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


def _effects(sizes: Sequence[np.ndarray], scatter: float | None) -> pl.DataFrame:
    """Return standard deviations of effects, every test with the same weight, noise as large as binomial or as seen.

    With independent effects of variance r, c and e (of an interaction) and noise of variance v in all four corners,
    the squared contrasts have means 2 r + e + v / 4, 2 c + e + v / 4 and 4 e + v.
    """
    means = [test.mean(axis=0) for test in sizes if len(test)]
    if not means:
        return pl.DataFrame(schema={"noise": pl.String, "first": pl.Float64, "second": pl.Float64, "both": pl.Float64})
    by_row, by_col, both, noise = np.mean(means, axis=0)
    scales = {"binomial": 1.0, "as identical packages scatter": scatter}
    rows = []
    for name, scale in scales.items():
        if scale is None:
            continue
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="a .csv or .parquet file of the archive")
    parser.add_argument("--out", type=Path, help="directory for the tables")
    chosen = parser.parse_args()
    tests = crossed_tests(chosen.data)
    print(tests, tests.effects, sep="\n")
    if chosen.out is not None:
        for name, table in tests._tables().items():
            write_table(chosen.out / f"{name}.csv", table)


if __name__ == "__main__":
    main()
