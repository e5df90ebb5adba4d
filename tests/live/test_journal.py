"""Rows and checksums of the journal."""

import contextlib
import random
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankone
from rankone.errors import InputError, JournalError
from rankone.live.journal.events import COLUMNS, NO_TEXTS, NUMBERS, TEXTS, Events, Texts, of_rows, read_groups
from rankone.live.journal.packing import MAX_CHOICE, pack_shown, unpack_shown
from rankone.live.storage import open_storage

from .helpers import error_of

WORDS = st.none() | st.text(st.characters(codec="utf-8"), max_size=6)
BYTES = st.none() | st.binary(max_size=6)
TEXTS_OF_EVENTS = st.tuples(BYTES, WORDS, WORDS, WORDS, BYTES, WORDS, st.none() | st.floats(0, 1), WORDS, BYTES).map(
    Texts._make
)


def group(texts, first=1):
    numbers = np.arange(len(NUMBERS) * len(texts)).reshape(-1, len(NUMBERS))
    numbers[:, 0] = np.arange(first, first + len(texts))
    return Events(numbers.tolist(), list(texts))


def test_checksums_stay_what_they_are():
    """Journals hold them: whoever changes how they are made makes another version."""
    texts = Texts(b"s" * 16, "key", "source", "note", b"\1\0", "{}", 0.25, "token")
    events = Events(np.arange(12).reshape(2, 6).tolist(), [texts, NO_TEXTS])
    assert events.checksum(b"c" * 16).hex() == "7b4029290754992625ac0f3629f6f6b8"


@given(st.lists(TEXTS_OF_EVENTS, min_size=1, max_size=4), st.data())
def test_a_value_that_goes_or_moves_changes_the_checksum(texts, data):
    """To another column, to another event or to nothing."""
    texts[0] = texts[0]._replace(token=texts[0].token or "t")  # so that there is one
    whole = group(texts).checksum(b"")
    cells = [(place, name) for place in range(len(texts)) for name in TEXTS]
    place, name = data.draw(st.sampled_from([cell for cell in cells if _at(texts, cell) is not None]))
    value = _at(texts, (place, name))
    texts[place] = texts[place]._replace(**{name: None})
    assert group(texts).checksum(b"") != whole
    free = [
        cell for cell in cells if cell != (place, name) and _at(texts, cell) is None and _KIND[cell[1]] is _KIND[name]
    ]
    if free:
        other, into = data.draw(st.sampled_from(free))
        texts[other] = texts[other]._replace(**{into: value})
        assert group(texts).checksum(b"") != whole


_KIND = dict.fromkeys(TEXTS, str) | {"secret": bytes, "shown": bytes, "chance": float, "cross_chances": bytes}


def _at(texts, cell):
    return getattr(texts[cell[0]], cell[1])


@given(st.lists(st.lists(TEXTS_OF_EVENTS, min_size=1, max_size=3), min_size=1, max_size=4))
def test_groups_are_read_back(groups):
    rows, chain, seq = [], b"", 0
    for texts in groups:
        events = group(texts, seq + 1)
        chain, seq = events.checksum(chain), seq + len(texts)
        rows += events.rows(chain)
    events, found = read_groups(rows, 0, b"")
    assert events.texts == [each for texts in groups for each in texts]
    assert found == chain
    place = random.Random(len(rows)).randrange(len(rows))
    row = rows[place]
    where = COLUMNS.index("token")
    rows[place] = (*row[:where], "another token", *row[where + 1 :])
    if row[where] != "another token":
        with pytest.raises(JournalError):
            read_groups(rows, 0, b"")


@pytest.mark.parametrize("column", TEXTS[4:])
@pytest.mark.parametrize("wrong", [5, "x", b"x", [1]])
def test_values_of_a_wrong_kind_are_damage(column, wrong):
    """As a flipped byte can make them in SQLite, where any column holds any kind."""
    events = group([NO_TEXTS._replace(token="t")])
    (row,) = events.rows(events.checksum(b""))
    where = COLUMNS.index(column)
    with pytest.raises(JournalError):
        read_groups([(*row[:where], wrong, *row[where + 1 :])], 0, b"")


@pytest.mark.parametrize("chance", [0.0, -0.0, 5e-324, 1 / 3, 1.0, 0, 1])
def test_probabilities_are_read_back_from_a_database(sqlite_db, chance):
    """SQLite keeps whole ones as whole numbers: the sign of zero is lost."""
    events = group([NO_TEXTS._replace(chance=chance)])
    with contextlib.closing(open_storage(sqlite_db)) as storage:
        number = storage.add("homepage")
        storage.append(number, events.rows(events.checksum(b"")))
        found, _ = read_groups(storage.tail(number, 0, 10), 0, b"")
    assert found.texts[0].chance == chance


@pytest.mark.parametrize("chance", [float("nan"), float("inf"), -0.1, 1.1])
def test_what_is_no_probability_is_never_written(chance):
    """SQLite would keep NaN as null, and the journal could not be read any more."""
    with pytest.raises(ValueError, match="Expected a probability, but got"):
        group([NO_TEXTS._replace(chance=chance)]).checksum(b"")


def test_rows_become_events_whatever_they_hold():
    rows = [
        tuple(range(6)) + texts + (None,) for texts in ((None,) * 9, (b"s", *(None,) * 8), (*(None,) * 7, "t", None))
    ]
    assert of_rows(rows[:2]).texts == [NO_TEXTS, Texts(b"s")]
    assert of_rows(rows).texts == [NO_TEXTS, Texts(b"s"), Texts(token="t")]
    assert of_rows([]).numbers.shape == (0, len(NUMBERS))


@given(st.lists(st.integers(0, MAX_CHOICE), max_size=70))
def test_what_was_shown_is_read_back(choices):
    assert unpack_shown(pack_shown(choices)) == tuple(choices)
    assert len(pack_shown(choices)) == 2 * len(choices)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: pack_shown([-1]),
        lambda: pack_shown([MAX_CHOICE + 1]),
    ],
)
def test_what_does_not_fit_is_refused(wrong):
    assert isinstance(error_of(wrong), InputError)


def test_sql_is_written_in_one_place():
    """Whoever looks for a statement looks into live/storage."""
    source = Path(rankone.__file__).parent
    sql = re.compile(
        r"\b(SELECT .* FROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM|(CREATE|ALTER|DROP) (TABLE|INDEX)|PRAGMA)\b"
    )
    storage = source / "live" / "storage"
    others = source / "clicks" / "counts" / "sql_tables.py"  # tables of warehouses, which are not ours
    found = [file for file in sorted(source.rglob("*.py")) if sql.search(file.read_text()) and file != others]
    assert {file.relative_to(storage).name for file in found if file.is_relative_to(storage)} >= {
        "schema.py",
        "sqlite.py",
    }
    assert [str(file) for file in found if not file.is_relative_to(storage)] == []
