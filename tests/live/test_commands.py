"""The commands: experiments, doctor, export."""

import csv
import dataclasses
import json
import subprocess
import sys

import polars as pl
import pytest
from typer.testing import CliRunner

from rankone.cli import build_app
from rankone.cli.live.experiments import _status
from rankone.errors import JournalError
from rankone.live import Experiment
from rankone.live.operate.export import decisions_table, write_decisions
from rankone.live.report.report import Alarm, Shortfall

from .helpers import Clock, damage, error_of, start

run = CliRunner()


@pytest.fixture
def used(db):
    clock = Clock()
    experiment = start(db, name="[red]shop", outcomes={"window": 60}, clock=clock)
    decisions = experiment.ask(count=6, source="web")
    experiment.tell(decisions[0].id, True)
    experiment.void(decisions[1].id)
    clock.pass_seconds(60)
    experiment.tell(decisions[2].id, True)
    experiment.ask()
    experiment.close()
    return str(db), decisions


def test_experiments_lists_what_there_is(used):
    db, _ = used
    shown = run.invoke(build_app(), ["experiments", db])
    assert shown.exit_code == 0
    assert "[red]shop" in shown.stdout
    assert "runs" in shown.stdout
    (report,) = json.loads(run.invoke(build_app(), ["experiments", db, "--json"]).stdout)
    assert report["name"] == "[red]shop"
    assert report["outcomes"]["clicked"] == 1


def test_experiments_reports_on_one_in_three_depths(used):
    db, _ = used
    with Experiment("[red]shop", db=db) as experiment:
        report = experiment.report()
    for more, printed in (
        ((), str(report)),
        (("--brief",), report.brief),
        (("--details",), f"{report}\n\n{report.details}"),
    ):
        assert run.invoke(build_app(), ["experiments", db, "[red]shop", *more]).stdout == f"{printed}\n"
    assert json.loads(run.invoke(build_app(), ["experiments", db, "[red]shop", "--json"]).stdout)["headline"]
    alone = run.invoke(build_app(), ["experiments", db, "--brief"]).exception
    assert str(alone).startswith("Expected the name of an experiment, but got none. Try ")


def test_experiments_lists_the_others_if_one_is_damaged(sqlite_db):
    for name in ("broken", "sound"):
        start(sqlite_db, name=name).close()
    damage(sqlite_db, 1)
    shown = run.invoke(build_app(), ["experiments", str(sqlite_db)])
    assert "sound" in shown.stdout
    assert "damaged" in shown.stdout
    assert "got damaged ones: broken. Run `rankone doctor`" in str(shown.exception)
    listed = run.invoke(build_app(), ["experiments", str(sqlite_db), "--json"])
    assert [report["name"] for report in json.loads(listed.stdout)] == ["sound"]
    assert isinstance(listed.exception, JournalError)


def test_doctor_says_good_or_wrong(used, tmp_path):
    db, _ = used
    assert run.invoke(build_app(), ["doctor", db]).exit_code == 0
    findings = json.loads(run.invoke(build_app(), ["doctor", db, "--json"]).stdout)
    assert all(finding["ok"] for finding in findings)
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"SQLite format 3\0" + bytes(5000))
    found = run.invoke(build_app(), ["doctor", str(broken)])
    assert found.exit_code == 1
    assert "WRONG" in found.stdout


def test_export_without_a_file_writes_csv_to_standard_output(used):
    db, decisions = used
    found = run.invoke(build_app(), ["export", db, "[red]shop"])
    assert found.exit_code == 0
    table = pl.read_csv(found.stdout.encode())
    assert table["id"].to_list()[:6] == [decision.id for decision in decisions]


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_export_writes_every_decision(used, ending, tmp_path):
    db, decisions = used
    out = tmp_path / f"decisions.{ending}"
    assert run.invoke(build_app(), ["export", db, "[red]shop", "--out", str(out)]).exit_code == 0
    table = {"parquet": pl.read_parquet, "csv": pl.read_csv, "jsonl": pl.read_ndjson}[ending](out)
    assert table["id"].to_list()[:6] == [decision.id for decision in decisions]
    assert table["outcome"].to_list() == ["told", "void", "late", "expired", "expired", "expired", "open"]
    assert table["clicked"].to_list() == [True, None, True, False, False, False, None]
    assert table["row"].to_list()[:6] == [decision["row"] for decision in decisions]
    if ending != "parquet":
        assert "1970-01-01T00:16:40" in out.read_text()
        assert "+00:00" in out.read_text()
        assert "+0000" not in out.read_text()
    assert table["source"].to_list() == ["web"] * 6 + [None]
    assert table["learned"].to_list() == [True, False, False, True, True, True, False]


def test_csv_is_the_same_text_on_standard_output_and_in_a_file(used, tmp_path):
    db, _ = used
    out = tmp_path / "decisions.csv"
    run.invoke(build_app(), ["export", db, "[red]shop", "--out", str(out)])
    assert run.invoke(build_app(), ["export", db, "[red]shop"]).stdout_bytes == out.read_bytes()


def test_csv_holds_no_formulas(sqlite_db, tmp_path):
    """Names and sources that a spreadsheet would calculate are plain text there; other formats keep them as they are."""
    rows, cols = ["=1+2", "+1", "plain=1"], ["-1", "@SUM(A1)"]
    sources = ['=HYPERLINK("http://x.example","y")', "-2", "a-b", "p;=HYPERLINK(1)", 'p;"=1+2";-3;+4; =5']
    with Experiment("homepage", rows, cols, "uniform", sqlite_db, seed=1, durability="off") as experiment:
        for source in sources:
            experiment.ask(20, source=source)
        for ending in ("csv", "jsonl", "parquet"):
            write_decisions(experiment.database, "homepage", tmp_path / f"x.{ending}")
    with (tmp_path / "x.csv").open(newline="") as file:
        cells = {cell for line in csv.reader(file) for cell in line}
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@")]
    text = (tmp_path / "x.csv").read_text()  # split at semicolons, as spreadsheets of many countries do
    split = {cell.lstrip() for line in csv.reader(text.splitlines(), delimiter=";") for cell in line}
    assert not [cell for cell in split if cell[:1] in ("=", "+", "-", "@")]
    assert {"'=1+2", "'+1", "plain=1", "'-1", "'@SUM(A1)", f"'{sources[0]}", "'-2", "a-b"} <= cells
    for table in (pl.read_ndjson(tmp_path / "x.jsonl"), pl.read_parquet(tmp_path / "x.parquet")):
        assert set(table["row"]) == set(rows)
        assert set(table["source"]) == set(sources)


def test_export_says_which_outcomes_are_excluded(sqlite_db):
    experiment = start(sqlite_db)
    for number in range(4):
        experiment.tell(experiment.ask().id, True, source="bot" if number % 2 else None)
    experiment.exclude(source="bot")
    table = decisions_table(experiment.database, "homepage")
    assert table["learned"].to_list() == [True, False, True, False]
    assert table.filter("learned")["clicked"].sum() == experiment.report().outcomes["clicked"]


def test_export_reads_groups_of_any_size_and_stops_where_the_journal_is_torn(sqlite_db, monkeypatch):
    monkeypatch.setattr("rankone.live.fold.journal_reading._CHUNK", 4)
    experiment = start(sqlite_db)
    experiment.ask(count=30)  # one group, longer than a chunk
    assert len(decisions_table(experiment.database, "homepage")) == 30
    experiment.database.transactions.storage.query("DELETE FROM rankone_journal WHERE seq = 31")
    assert isinstance(error_of(decisions_table, experiment.database, "homepage"), JournalError)


def test_export_refuses_what_it_does_not_know(used, tmp_path):
    db, _ = used
    assert "No such experiment: nobody." in str(
        run.invoke(build_app(), ["export", db, "nobody", "--out", "x.csv"]).exception
    )
    missing = str(tmp_path / "no" / "x.csv")
    assert "Expected a folder" in str(run.invoke(build_app(), ["export", db, "[red]shop", "--out", missing]).exception)
    out = str(tmp_path / "x.docx")
    assert "Expected a file that ends" in str(
        run.invoke(build_app(), ["export", db, "[red]shop", "--out", out]).exception
    )


def test_experiments_calls_a_file_damaged_whose_journals_can_be_read(sqlite_db, monkeypatch):
    start(sqlite_db).close()
    monkeypatch.setattr("rankone.live.storage.sqlite.SQLiteStorage.damage", lambda storage: ["page 5 is wrong"])
    shown = run.invoke(build_app(), ["experiments", str(sqlite_db)])
    assert "homepage" in shown.stdout
    assert isinstance(shown.exception, JournalError)
    assert "damaged pages" in shown.exception.got


def test_a_reader_who_has_had_enough_is_no_error(sqlite_db):
    """As in `rankone export ... | head`."""
    experiment = start(sqlite_db, "uniform")
    for _ in range(5):
        experiment.ask(count=1_000)
    command = [sys.executable, "-m", "rankone", "export", str(sqlite_db), "homepage"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as export:
        assert export.stdout.readline().startswith("id,number")
        export.stdout.close()
        assert export.stderr.read() == ""


@pytest.mark.parametrize("factor", ["row", "col"])
def test_stop_says_which_name_is_not_there(sqlite_db, factor):
    with start(sqlite_db) as experiment:
        experiment.tell(experiment.ask().id, True)
    error = run.invoke(build_app(), ["stop", str(sqlite_db), "homepage", "--level", f"{factor}=nope"]).exception
    assert f"No such level of '{factor}': 'nope'. Choose one of {factor} 1" in str(error)


@pytest.mark.parametrize("name", ["empty.csv", "new.parquet"])
def test_a_file_of_data_does_not_become_a_database(tmp_path, name):
    (tmp_path / "empty.csv").touch()
    words = ["create", str(tmp_path / name), "homepage", "--row", "A", "--row", "B", "--col", "x"]
    error = run.invoke(build_app(), words).exception
    assert f"got one that ends in .{name.partition('.')[2]}" in str(error)
    assert (tmp_path / "empty.csv").read_bytes() == b""
    assert not (tmp_path / "new.parquet").exists()


def test_counts_of_one_are_singular(sqlite_db):
    with start(sqlite_db) as experiment:
        experiment.ask()
        assert "homepage (ucb1): 1 decision, " in str(experiment.report())


def test_factors_on_the_command_line(sqlite_db):
    db, wish = str(sqlite_db), ("--rate", "0.1", "--lift", "0.3")
    for arguments, said in (
        (
            ("create", db, "page", "--factor", "headline=A,B", "--factor", "image=1,2,3", "--factor", "only=x"),
            "2 x 3 x 1",
        ),
        (
            ("forbid", db, "page", "--level", "headline=A", "--level", "image=1"),
            "Never shown together: headline 'A' with image",
        ),
        (
            ("stop", db, "page", "--level", "headline=B", "--level", "image=2", "--level", "only=x"),
            "Stopped: everyone sees 'B' with '2' and 'x'.",
        ),
        (
            ("create", db, "one", "--factor", "a=x", "--factor", "b=1,2"),
            "'a' has one level: nothing to compare.",
        ),
        (("create", db, "new", "--factor", "headline"), "with an equals sign between, but got headline"),
        (("create", db, "new", "--row", "A"), "Expected --row and --col, or --factor"),
        (
            ("plan", "--factor", "a=2", "--factor", "a=3", *wish),
            "Expected one number of levels of 'a', but got a=2 and a=3",
        ),
        (("plan", "--factor", "a=x,x", *wish), "Expected levels of 'a' with different names, but got 'x' twice"),
        (("plan", "--factor", "a=1", *wish), "Expected at least two levels, but got 1 level"),
        (("create", db, "new", "--factor", "image=1,1"), "levels of 'image' with different names, but got '1' twice"),
        (("stop", db, "page", "--level", "image=1", "--level", "image=2"), "one level of each factor"),
        (("exclude", db, "page", "--level", "picture=1"), "one of the factors headline, image, only"),
    ):
        found = run.invoke(build_app(), list(arguments))
        assert said in " ".join(f"{found.output} {found.exception}".split())


def test_a_verdict_that_is_in_doubt_is_not_listed_as_decided():
    with Experiment("shop", 2, 2, "ucb1", db=None, seed=1) as experiment:
        won = dataclasses.replace(experiment.report(), decided=True)
    rang = Alarm("misfit", "tell", 0.0, 1, 1, "row", "A", "B", {"col": "x"}, 2.0, 0.5, {}, False)
    assert _status(won) == "runs, decided"
    assert _status(dataclasses.replace(won, alarms=(rang,))) == "runs, in doubt"
    short = Shortfall("row", "A", 0.5, "B", 0.9)
    assert _status(dataclasses.replace(won, shortfalls=(short,))) == "runs, in doubt, check traffic"
