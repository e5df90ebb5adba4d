"""The Upworthy Research Archive: A/B tests of headline, image, excerpt and lede, with impressions and clicks.

The archive (Matias, Munger, Aubin Le Quere, Ebersole, "The Upworthy Research Archive, a time series of 32,487
experiments in U.S. media", Scientific Data 8:195, 2021; CC BY 4.0) has one row per package: what visitors of one arm of
a test saw. Its authors know of trouble with the randomisation of tests from 25 June 2013 to 10 January 2014.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from rankone.errors import InputError

ELEMENTS = ("headline", "image", "excerpt", "lede")
#: Columns of the archive, and what they are called here.
COLUMNS = {
    "clickability_test_id": "test", "headline": "headline", "eyecatcher_id": "image", "excerpt": "excerpt",
    "lede": "lede", "impressions": "shown", "clicks": "clicked", "test_week": "week",
}  # fmt: skip
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
