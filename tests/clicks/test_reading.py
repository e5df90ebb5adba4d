"""Which files are read, and what becomes of the quarantine file."""

import os

import pytest

from rankone import clicks
from rankone.clicks.logs.source import Source
from rankone.errors import InputError, StorageError
from tests.suites.formats import write

GOOD = clicks.FORMATS.get("yandex-rpc").example


def test_what_is_no_file_is_refused_by_name(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, got in (
        (tmp_path, f"This is a directory: {tmp_path}. Name the files"),
        (tmp_path / "pipe", "a pipe or a device"),
        (tmp_path / "nope", "No such file: "),
        (tmp_path / "*.tsv", "No such file: "),
        ([], "No file was named"),
    ):
        with pytest.raises(InputError, match=got.replace("*", r"\*")):
            clicks.read(path)


def test_a_file_that_cannot_be_opened_is_refused(tmp_path):
    source = Source(write(tmp_path / "log", GOOD))
    source.path.unlink()
    with pytest.raises(InputError, match="that can be read, but got No such file"):
        next(source.blocks())


def test_quarantine_is_of_this_reading_and_never_the_log(tmp_path):
    bad, good = write(tmp_path / "bad", GOOD + b"?\n"), write(tmp_path / "good", GOOD)
    quarantine = tmp_path / "new" / "quarantine.tsv"
    clicks.read(bad, max_bad=1.0, quarantine=quarantine)
    assert quarantine.read_text().count("\n") == 2
    clicks.read(good, quarantine=quarantine)
    assert not quarantine.exists()
    with pytest.raises(InputError, match="the log itself"):
        clicks.read(bad, quarantine=bad)
    assert bad.read_bytes() == GOOD + b"?\n"
    with pytest.raises(StorageError, match="Expected to write"):
        clicks.read(bad, max_bad=1.0, quarantine=good / "quarantine.tsv")


@pytest.mark.parametrize("wrong", [{"max_bad": 7}, {"max_bad": -0.1}, {"positions": 0}, {"positions": 256}])
@pytest.mark.parametrize("format", sorted(clicks.FORMATS.known()))
def test_limits_out_of_range_are_refused(wrong, format, tmp_path):
    with pytest.raises(InputError, match=next(iter(wrong))):
        clicks.read(write(tmp_path / "log", clicks.FORMATS.get(format).example), format, **wrong)


def test_a_near_name_is_suggested(tmp_path):
    with pytest.raises(InputError, match=r"Did you mean yandex-rpc\?"):
        clicks.read(write(tmp_path / "log", GOOD), "yandex_rpc")
