"""A journal that cannot be read harms nobody else."""

import contextlib
import sqlite3

import pytest
from typer.testing import CliRunner

import rankone
from rankone.cli import build_app
from rankone.errors import InputError, JournalError
from rankone.live import Ask, Database, Experiment
from rankone.live.commit.group_commit import Look, Write
from rankone.live.commit.warm_up import warm_up
from rankone.live.fold import fold_cache
from rankone.live.operate.backup import backup
from rankone.live.operate.doctor import examine
from rankone.live.operate.export import decisions_table
from rankone.web.server.app import create_app
from rankone.web.server.serve import compile_ahead

from .helpers import damage, error_of, set_note, start


@pytest.fixture
def both(db):
    """A database with one damaged experiment and a sound one."""
    for name in ("broken", "sound"):
        start(db, name=name).close()
    damage(db, 1)
    with Database(db) as database:
        yield database


def test_those_who_wait_together_with_it_go_on(both):
    sound = Experiment("sound", db=both)
    known = sound._cached.fold
    broken = both.transactions.enter("broken", lambda: None)
    error_of(both.transactions.look, broken, len)  # its journal has been read
    warm_up(rankone.as_policy("ucb1"))
    look, ask, refused, count = group = [
        Look(broken, len),
        Write(sound._cached, [Ask(1)]),
        Write(broken, [Ask(1)]),
        Look(sound._cached, lambda fold: fold.decisions),
    ]
    both.transactions._carry_out(group)
    assert isinstance(look.error, JournalError)
    assert refused.error is look.error
    assert (ask.error, count.error) == (None, None)
    assert [decision.number for decision in ask.result[0]] == [0]
    assert count.result == 1
    assert sound._cached.fold is known  # not to be replayed for nothing


def test_it_is_read_again_now_and_then(both, monkeypatch):
    read, whole = [], fold_cache.read_whole
    monkeypatch.setattr(fold_cache, "read_whole", lambda storage, number: read.append(number) or whole(storage, number))
    for _ in range(3):
        assert "a checksum that does not fit" in str(error_of(lambda: Experiment("broken", db=both)))
    assert read == [1]
    both.transactions._folds.of(1).read_again = 0.0
    assert "a checksum that does not fit" in str(error_of(lambda: Experiment("broken", db=both)))
    assert read == [1, 1]
    both.transactions.storage.begin([1])
    both.transactions.storage.query("UPDATE rankone_journal SET at = at - 1 WHERE experiment = 1")
    both.transactions.storage.commit()
    both.transactions._folds.of(1).read_again = 0.0
    assert Experiment("broken", db=both).ask().number == 0  # repaired


@pytest.mark.parametrize("column", ["source", "token"])
def test_a_text_that_is_none_is_damage(sqlite_db, column):
    """Not a database that is away: those who wait together with it go on, and nobody is told to try again."""
    with start(sqlite_db) as experiment:
        experiment.do([Ask(source="page", token="a token")])
    with contextlib.closing(sqlite3.connect(sqlite_db)) as connection:
        connection.execute(f"UPDATE rankone_journal SET {column} = CAST(x'ff80' AS TEXT) WHERE kind = 4")
        connection.commit()
    error = error_of(lambda: Experiment("homepage", db=sqlite_db).report())
    assert isinstance(error, JournalError)
    assert "Could not decode" in error.got


NOTES = ["{", "7", b"\xff\x00", "[" * 100_000, '{"exclude": 5}']  # no JSON, no object, no text, too deep, no exclusion


@pytest.mark.parametrize("note", NOTES)
def test_a_note_of_its_creation_that_cannot_be_read_is_damage_of_that_experiment(sqlite_db, note):
    """Notes are read before their checksums are looked at."""
    for name in ("broken", "sound"):
        start(sqlite_db, name=name).close()
    set_note(sqlite_db, note)
    with Database(sqlite_db, read_only=True) as database:
        for look in (lambda: Experiment("broken", db=database), lambda: decisions_table(database, "broken")):
            error = error_of(look)
            assert isinstance(error, JournalError)
            assert error.expected == "an undamaged journal"
        assert Experiment("sound", db=database).report().decisions == 0
    wrong = [(finding.experiment, finding.check) for finding in examine(sqlite_db) if not finding.ok]
    assert wrong == [("broken", "journal")]
    listed = CliRunner().invoke(build_app(), ["experiments", str(sqlite_db)])
    assert isinstance(listed.exception, JournalError)
    assert "damaged ones: broken" in str(listed.exception)
    assert "sound" in listed.stdout


@pytest.mark.parametrize("version", ["four", 4.5, b"\x04", -1])
def test_a_version_of_the_tables_that_is_no_number_is_said(sqlite_db, version):
    start(sqlite_db).close()
    with contextlib.closing(sqlite3.connect(sqlite_db)) as connection:
        connection.execute("UPDATE rankone_version SET version = ?", (version,))
        connection.commit()
    (finding,) = examine(sqlite_db)
    assert (finding.check, finding.ok) == ("open", False)
    expected = "a number as the version of the schema at"
    assert expected in finding.detail
    uses = (
        lambda: backup(sqlite_db, sqlite_db.with_name("copy")),
        lambda: Database(sqlite_db),
        lambda: create_app(sqlite_db),
        lambda: compile_ahead(sqlite_db, print),
    )
    for use in uses:
        assert expected in str(error_of(use))


@pytest.mark.parametrize("name", ["\udcff", "a\0b", "a\nb"])
def test_a_name_that_no_experiment_can_have_is_no_damage(db, name):
    start(db).close()
    with Database(db, read_only=True) as database:
        error = error_of(database.number, name)
        assert isinstance(error, InputError)
        assert error.expected == "No such experiment:"
        assert error.do == "this database has: homepage"
    assert isinstance(error_of(Experiment, name, 2, 2, db=db), InputError)
