"""A page of a database is damaged: what is not on it is served, and nobody hears where the database is."""

import sqlite3

import pytest

from rankone.live import Ask, Database
from rankone.live.verdict.verdict import verdict_of
from rankone.web.server import metrics
from rankone.web.server.access.tokens import create_token

from ..live.helpers import set_note, start
from .helpers import Api, running


@pytest.fixture
def damaged(sqlite_db):
    """A database with an experiment in the middle of whose journal a page is gone, and a sound one; and two tokens."""
    with Database(sqlite_db) as database:
        asked = {name: start(database, name=name).do([Ask(1000)] * 5) for name in ("broken", "sound")}
        tokens = [create_token(database, scopes) for scopes in (["ask"], ["read"])]
    with sqlite3.connect(sqlite_db) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    content = bytearray(sqlite_db.read_bytes())
    secret = bytes.fromhex(asked["broken"][2][500].id.partition("-")[2])
    page = content.index(secret) // size * size
    content[page : page + size] = b"\xff" * size
    sqlite_db.write_bytes(content)
    return sqlite_db, *tokens


def test_the_others_are_served_and_the_path_is_not_told(damaged):
    db, ask, read = damaged
    with running(db) as url:
        asking, reading = Api(url, ask), Api(url, read)
        assert asking("POST", "/v1/experiments/sound/ask", {}).status == 200
        listed = reading("GET", "/v1/experiments")
        found = listed.json()
        assert [each["name"] for each in found["experiments"]] == ["sound"]
        assert [each["got"] for each in found["damaged"]] == ["a damaged one"]
        refused = asking("POST", "/v1/experiments/broken/ask", {})
        exported = reading("GET", "/v1/experiments/broken/export")
        for answer in (refused, exported):
            assert (answer.status, answer.code) == (500, "damaged")
        for answer in (listed, refused, exported):
            assert db.parent.name.encode() not in answer.body


def test_a_bad_note_of_one_experiment_hides_no_other(sqlite_db):
    with Database(sqlite_db) as database:
        for name in ("broken", "sound"):
            start(database, name=name)
    set_note(sqlite_db, "{")
    with running(sqlite_db) as url:
        listed, figures = Api(url)("GET", "/v1/experiments"), Api(url)("GET", "/metrics")
        assert [each["name"] for each in listed.json()["experiments"]] == ["sound"]
        assert [each["name"] for each in listed.json()["damaged"]] == ["broken"]
        assert b'rankone_damaged{experiment="broken"} 1.0' in figures.body
        assert b'rankone_damaged{experiment="sound"} 0.0' in figures.body
        assert b'rankone_decisions_total{experiment="sound"} 0.0' in figures.body
        assert Api(url)("POST", "/v1/experiments/sound/ask", {}).status == 200
        assert Api(url)("POST", "/v1/experiments/broken/ask", {}).code == "damaged"
        told = Api(url)("POST", "/v1/track", {"visitor": "ann", "goal": "click"}).json()["experiments"]
        assert {name: each["status"] for name, each in told.items()} == {"broken": "refused", "sound": "unmatched"}


def test_a_fault_in_the_figures_of_one_experiment_hides_no_other(sqlite_db, monkeypatch):
    def odd(fold):
        if fold.settings.name == "odd":
            raise ZeroDivisionError("an odd fold")
        return verdict_of(fold)

    with Database(sqlite_db) as database:
        for name in ("odd", "sound"):
            start(database, name=name)
    monkeypatch.setattr(metrics, "verdict_of", odd)
    with running(sqlite_db) as url:
        figures = Api(url)("GET", "/metrics")
        assert figures.status == 200
        assert b'rankone_damaged{experiment="odd"} 1.0' in figures.body
        assert b'rankone_decisions_total{experiment="sound"} 0.0' in figures.body
