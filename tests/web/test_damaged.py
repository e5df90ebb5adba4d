"""A page of a database is damaged: what is not on it is served, and nobody hears where the database is."""

import sqlite3

import pytest

from rankone.serving import Ask, Database
from rankone.web.server.tokens import create_token

from ..serving.helpers import start
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
