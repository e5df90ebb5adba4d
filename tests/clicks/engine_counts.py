"""What one engine counts in one log, and how much of it left the engine.

Run as a script it counts Parquet files in Spark. A session leaves sockets and a Java process behind; here they end with
the process.
"""

import json
import sys
import warnings

from rankone import clicks
from rankone.clicks.counts import frames

COLUMNS = {"query": "q", "item": "doc", "position": "rank", "clicked": "click"}
LOCAL = {
    "spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # for a process of seconds
}  # fmt: skip


def engine_counts(frame):
    """Cells, counts of lists, rows read and set aside, and the heights of the tables that the engine gave away."""
    brought, polars = [], frames.to_polars
    frames.to_polars = lambda table: brought.append(polars(table)) or brought[-1]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # engines warn about one another's versions
            cells, lists = clicks.count(frame, **COLUMNS), clicks.count(frame, **COLUMNS, list="serp")
    finally:
        frames.to_polars = polars
    found = {
        "cells": cells.table.rows(),
        "lists": lists.table.rows(),
        "cells of lists": lists.cells.rows(),
        "rows": [[counts.report.rows, counts.report.rows_quarantined] for counts in (cells, lists)],
        "brought": sorted({table.height for table in brought}),
    }
    return json.loads(json.dumps(found))


def main(files):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for name, value in LOCAL.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    print(json.dumps(engine_counts(session.read.parquet(*files))))
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
