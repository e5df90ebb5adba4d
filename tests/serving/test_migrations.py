"""Databases of older releases: opened, brought up to date and continued as if nothing had happened."""

import json
import sqlite3

import pytest

from rankone.serving import Database
from rankone.serving.doctor import examine
from rankone.web.server.tokens import list_tokens

from .journals import record

RELEASES = sorted(path.stem.removeprefix("release-") for path in record.FOLDER.glob("release-*.json"))


@pytest.fixture(params=RELEASES)
def release(request):
    """A release whose database was recorded."""
    return request.param


@pytest.fixture
def old(db, release):
    """The database as that release wrote it, in each kind of database."""
    if str(db).startswith("postgres"):
        import psycopg

        with psycopg.connect(db, autocommit=True) as connection:
            connection.execute((record.FOLDER / f"release-{release}.postgres.sql").read_text())
    elif "://" in str(db):
        pytest.skip("no older release kept experiments in this kind of database")
    else:
        with sqlite3.connect(db) as connection:
            connection.executescript((record.FOLDER / f"release-{release}.sqlite.sql").read_text())
    return db


def test_an_older_database_goes_on_bit_for_bit(old, release):
    """What is known, what is decided next and the checksums written then are those of the release itself."""
    assert record.go_on(old) == json.loads((record.FOLDER / f"release-{release}.json").read_text())
    assert [finding for finding in examine(old) if not finding.ok] == []
    with Database(old) as database:
        assert [token.note for token in list_tokens(database)] == ["", "the shop's page"]
