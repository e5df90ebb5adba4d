"""Rows in a database are counted there; an experiment becomes tables; orders in a table become outcomes."""

import contextlib
import json
import shutil
import subprocess
import sys

import duckdb
import polars as pl
import psycopg
import pytest
from polars.testing import assert_frame_equal

import rankone
from rankone.clicks.counts.engine_counts import FIRST
from rankone.clicks.counts.sql_tables import query_table, write_rows
from rankone.errors import InputError
from rankone.live import Experiment
from rankone.live.operate.warehouse import import_outcomes
from tests.live.conftest import postgres, postgres_db  # noqa: F401 - fixtures
from tests.programs import rankone as command

ROWS = 60_000
SLOW = "timestamp '2026-01-01' + to_seconds(10 * visitor)"  # of the first thousands of rows all are of one day


@pytest.fixture(scope="module")
def rows():
    """One row per impression, in order of time: the first thousands are of one day."""
    number = pl.int_range(ROWS, eager=True)
    step = (number * 7919) % 4
    return pl.DataFrame(
        {
            "headline": "A" + step.cast(pl.String),
            "image": "img" + ((number * 104_729) % 3).cast(pl.String),
            "clicked": (number * 31 + number // 97) % 100 < 5 + 3 * step,
            "visitor": number // 2,
        }
    ).with_columns(seen=pl.datetime(2026, 1, 1) + pl.duration(seconds=pl.int_range(pl.len()) * 10))


@pytest.fixture(scope="module")
def file(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("warehouse") / "shop.duckdb"
    with duckdb.connect(path) as connection:
        connection.register("rows", rows.to_arrow())
        connection.execute("create table visits as select * from rows")
    return path


LAZY = {
    "polars": lambda rows, file: contextlib.nullcontext(rows.lazy()),
    "duckdb": lambda rows, file: query_table(f"duckdb:///{file}", "visits"),
}


@pytest.mark.parametrize("engine", LAZY)
@pytest.mark.parametrize("named", [{}, {"factors": ["headline"], "clicked": "clicked", "slice": "seen"}])
def test_counts_of_an_engine_are_those_of_its_rows(engine, named, rows, file):
    expected = rankone.analyse(rows.sort("headline", "image", "seen"), simulations=20, **named)
    with LAZY[engine](rows, file) as lazy:
        answer = rankone.analyse(lazy, simulations=20, **named)
    assert answer.counts.columns.slice == "seen"
    assert (
        answer.counts.per_visitor
        == expected.counts.per_visitor
        == pytest.approx(2.0 if not named else answer.counts.per_visitor)
    )
    assert (answer.headline, answer.dispersion) == (expected.headline, expected.dispersion)
    for table in ("levels", "combinations"):
        assert_frame_equal(getattr(answer, table), getattr(expected, table))
    assert any(f"the first {FIRST:,} rows" in note for note in answer.counts.notes) == (not named)


@pytest.mark.parametrize(
    ("columns", "heights", "slice"),
    [
        ("headline, image, clicked", [FIRST, 12], None),
        (f"headline, image, clicked, {SLOW} as seen", [FIRST, 48], "seen"),
        (
            "headline, image, clicked, timestamp '2026-01-01 10:00' + to_microseconds(visitor) as seen",
            [FIRST, 12],
            None,
        ),
        (f"headline, image, clicked, {SLOW} as seen, date '2026-01-01' as loaded", [FIRST, 1, 48], "seen"),
    ],
)
def test_rows_of_an_engine_are_not_collected_and_read_once(columns, heights, slice, file, monkeypatch):
    from rankone.clicks.counts import engine_counts, frames

    seen = []
    real = frames.to_polars
    monkeypatch.setattr(engine_counts, "to_polars", lambda table: seen.append(real(table)) or seen[-1])
    with query_table(f"duckdb:///{file}", f"select {columns} from visits") as lazy:
        counts = rankone.analyse(lazy, simulations=20).counts
    assert [table.height for table in seen] == heights, "only of several columns of times it is asked which moved"
    assert (counts.columns.slice, int(counts.shown.sum())) == (slice, ROWS)
    assert (counts.slices is None) == (slice is None)


def test_outcomes_that_are_none_are_refused(file):
    bad = "select headline, case when visitor = 29000 then null else clicked end as clicked from visits"
    said = "Column 'clicked': 2 rows are neither 0 nor 1"
    with query_table(f"duckdb:///{file}", bad) as lazy, pytest.raises(InputError, match=said):
        rankone.analyse(lazy, factors="headline", clicked="clicked")


def test_a_table_of_counts_is_read_whole(rows):
    counts = pl.concat(
        [rows.group_by("headline", "image").agg(shown=pl.len(), clicked=pl.col("clicked").sum())] * 1_000
    )
    answer, expected = (rankone.analyse(each, simulations=20) for each in (counts.lazy(), counts))
    assert answer.headline == expected.headline


def test_the_command_takes_a_query(file, tmp_path):
    query = "select headline, image, clicked from visits"
    done = command("analyse", "--sql", query, "--connect", f"duckdb:///{file}", "--simulations", "20", "--json")
    assert done.returncode == 0, done.stderr
    assert "A3" in json.loads(done.stdout)["headline"]
    for words in (["--sql", query], ["ab.csv", "--sql", query, "--connect", "duckdb:///x"], []):
        assert "Expected one table" in command("analyse", *words).stderr
    wrong = command("analyse", "--sql", "select nothing from visits", "--connect", f"duckdb:///{file}")
    assert "The database refused: Binder Error" in wrong.stderr
    assert not list(tmp_path.iterdir())


def test_postgresql_counts_too(rows, postgres_db):  # noqa: F811 - a fixture
    pytest.importorskip("ibis")
    write_rows(rows.with_columns(pl.col("clicked").cast(pl.Int64)), postgres_db, "visits")
    with query_table(postgres_db, "visits") as lazy:
        answer = rankone.analyse(lazy, simulations=20)
    expected = rankone.analyse(rows.sort("headline", "image", "seen"), simulations=20)
    assert answer.headline == expected.headline
    assert_frame_equal(answer.levels, expected.levels)


def test_postgresql_counts_click_logs_too(postgres_db):  # noqa: F811 - a fixture
    log = pl.DataFrame({"q": ["x"] * 60 + [None], "doc": ["a", "b", "c"] * 20 + ["a"], "rank": [1, 2, 3] * 20 + [1]})
    log = log.with_columns(click=pl.int_range(pl.len()) % 4 == 0)
    write_rows(log, postgres_db, "log")
    columns = {"query": "q", "item": "doc", "position": "rank", "clicked": "click", "max_bad": 0.1}
    with query_table(postgres_db, "log") as lazy:
        found = rankone.clicks.count(lazy, **columns)
    expected = rankone.clicks.count(log, **columns)
    assert_frame_equal(found.cells, expected.cells, check_dtypes=False)
    assert found.report.reasons == expected.report.reasons == {"the query is missing": 1}


GOALS = {"click": {}, "revenue": {"kind": "amount", "cap": 100, "window": 3_600}}


def test_an_experiment_goes_to_a_warehouse_and_orders_come_back(tmp_path, postgres_db):  # noqa: F811
    path, house = tmp_path / "rankone.db", tmp_path / "shop.duckdb"
    with Experiment("my shop", factors={"price": ["low", "high"]}, db=path, seed=1, goals=GOALS) as experiment:
        for number in range(40):
            decision = experiment.ask(visitor=f"v{number}")
            experiment.tell(decision, number % 3 == 0)
    with duckdb.connect(house) as connection:
        orders = "select 'v' || i as who, 'order ' || i as number, 10.5 as net from range(35, 45) t(i)"
        connection.execute(f"create table orders as {orders}")
    words = ["import-outcomes", str(path), "my shop", "--goal", "revenue", "--visitor", "who", "--key", "number"]
    words += ["--value", "net", "--sql", "orders", "--connect", f"duckdb:///{house}"]
    for _ in range(2):  # the second changes nothing
        done = command(*words)
        assert (done.returncode, done.stdout) == (0, "10 rows: 5 held, 5 unmatched.\n"), done.stderr
    for to in (f"duckdb:///{house}", postgres_db, str(tmp_path)):
        done = command("export", str(path), "my shop", "--to", to)
        assert done.returncode == 0, done.stderr
    with duckdb.connect(house, read_only=True) as connection:
        decisions = connection.sql("select * from my_shop_decisions order by number").pl()
        verdict = connection.sql("select * from my_shop_verdict").pl()
    times = pl.col("asked_at", "outcome_at").dt.replace_time_zone(None)
    parquet = pl.read_parquet(tmp_path / "my_shop_decisions.parquet")
    assert_frame_equal(decisions.with_columns(times), parquet.with_columns(times), check_dtypes=False)
    with psycopg.connect(postgres_db) as connection:
        found = connection.execute(
            "SELECT id, price, asked_at, clicked, goal_revenue FROM my_shop_decisions ORDER BY number"
        )
        assert found.fetchall() == parquet.select("id", "price", "asked_at", "clicked", "goal_revenue").rows()
    assert decisions["goal_revenue"].sum() == 5 * 10.5
    assert decisions["clicked"].sum() == 14
    assert verdict["name"].to_list() == ["low", "high"]
    assert set(verdict["experiment"]) == {"my shop"}
    assert verdict["decisions"].sum() == 40


def test_rows_that_cannot_be_imported_are_named_and_the_others_count(tmp_path):
    path, orders = tmp_path / "rankone.db", tmp_path / "orders.csv"
    with Experiment("shop", factors={"price": ["low", "high"]}, db=path, seed=1, goals=GOALS) as experiment:
        experiment.ask(visitor="ann")
    orders.write_text("who,number,net\nann,1,5\nann,2,-3\n")
    words = ["import-outcomes", str(path), "shop", str(orders), "--goal", "revenue", "--visitor", "who"]
    done = command(*words, "--key", "number", "--value", "net")
    assert done.returncode == 2
    assert done.stdout == "2 rows: 1 held, 1 refused.\n"
    assert "Row 2: " in done.stderr
    assert "No column 'order'" in command(*words, "--key", "order").stderr
    assert (
        "Expected a file, or --sql and --connect"
        in command(*[word for word in words if word != str(orders)], "--key", "number").stderr
    )


def test_rows_without_a_visitor_a_key_or_a_number_are_refused_and_share_nothing(tmp_path):
    rows = [
        ("ann", "1", "5"),
        ("ann", None, "6"),
        ("bob", "", "7"),
        (None, "2", "8"),
        ("bob", "3", "yes"),
        ("bob", "4", "9"),
    ]
    table = pl.DataFrame(rows, schema=["who", "number", "net"], orient="row")
    with Experiment(
        "shop", factors={"price": ["low", "high"]}, db=tmp_path / "r.db", seed=1, goals=GOALS
    ) as experiment:
        for visitor in ("ann", "bob", "None"):
            experiment.ask(visitor=visitor)
        columns = {"visitor": "who", "key": "number", "value": "net"}
        statuses, wrong = import_outcomes(experiment.do, table, "revenue", **columns)
    assert statuses == {"held": 2, "refused": 4}
    assert [line.partition(":")[0] for line in wrong] == [f"Row {number}" for number in range(2, 6)]
    for line, named in zip(wrong, ["'number'", "'number'", "'who'", "'net'"], strict=False):
        assert named in line


_IN_SPARK = """
import json, sys
from pyspark.sql import SparkSession
import rankone
from tests.clicks.engine_counts import LOCAL
builder = SparkSession.builder.master("local[1]")
for name, value in LOCAL.items():
    builder = builder.config(name, value)
session = builder.getOrCreate()
answer = rankone.analyse(session.read.parquet(sys.argv[1]), simulations=20)
print(json.dumps([answer.headline, answer.levels.to_dicts()]))
session.stop()
"""


@pytest.mark.skipif(not shutil.which("java"), reason="Java is not installed")
def test_spark_counts_too(rows, tmp_path):
    pytest.importorskip("pyspark")
    file = tmp_path / "visits.parquet"
    rows.write_parquet(file)
    done = subprocess.run([sys.executable, "-c", _IN_SPARK, str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    headline, levels = json.loads(done.stdout.splitlines()[-1])
    expected = rankone.analyse(rows.sort("headline", "image", "seen"), simulations=20)
    assert headline == expected.headline
    assert [level["clicked"] for level in levels] == expected.levels["clicked"].to_list()
