"""Files that appear whole or not at all."""

import os
import re
import threading
from pathlib import Path

import pytest

import rankone
from rankone.errors import StorageError
from rankone.writing import whole_file


def write(path, text):
    with whole_file(path) as part:
        part.write_text(text)


def test_it_appears_at_the_end_and_leaves_nothing_behind_if_it_fails(tmp_path):
    path = tmp_path / "deep" / "file.txt"
    with whole_file(path) as part:
        part.write_text("all of it")
        assert not path.exists()
    assert path.read_text() == "all of it"
    with pytest.raises(ZeroDivisionError), whole_file(path) as part:
        part.write_text("half of it") / 0
    assert path.read_text() == "all of it"
    assert [found.name for found in path.parent.iterdir()] == ["file.txt"]


def test_what_cannot_be_written_is_told_in_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path, tmp_path / "file" / "below"):
        with pytest.raises(StorageError, match=r"Expected to write .*, but got .*. Make room, or write elsewhere"):
            write(place, "text")


def test_threads_that_write_the_same_file_do_not_tear_it(tmp_path):
    path, texts = tmp_path / "file", {"a" * 5_000, "b" * 9_000}
    write(path, "a" * 5_000)
    threads = [threading.Thread(target=lambda text=text: [write(path, text) for _ in range(50)]) for text in texts]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert path.read_text() in texts
    assert [found.name for found in tmp_path.iterdir()] == ["file"]


def test_permissions_stay_and_a_new_file_has_the_usual_ones(tmp_path):
    secret = tmp_path / "secret"
    secret.touch(0o600)
    with whole_file(secret) as part:
        assert part.stat().st_mode & 0o777 == 0o600  # from the first byte on
        part.write_text("new")
    assert secret.stat().st_mode & 0o777 == 0o600
    (tmp_path / "plain").touch()
    write(tmp_path / "new", "text")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_link_stays_a_link_and_a_pipe_a_pipe(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    write(tmp_path / "pipe", "through")
    reader.join()
    assert read == ["through"]
    assert (tmp_path / "pipe").is_fifo()


# Files that grow for as long as a program runs, the place that `whole_file` names, compressed or synced to the disk, and
# a file that only holds locks, and a copy of standard input in a temporary folder.
OPENED = {
    "compiling/background.py",
    "compiling/cache.py",
    "simulation/store.py",
    "clicks/counts/table_files.py",
    "clicks/logs/collector.py",
    "clicks/synthetic/generate.py",
    "live/operate/archive_files.py",
}


def test_there_is_one_way_to_write_a_file():
    package = Path(rankone.__file__).parent
    writes = re.compile(
        r"\.write_(text|bytes)\(|open\([^)\n]*[\"'][wax]b?[\"']|\.write_(csv|parquet)\((directory|path|out)"
    )
    found = {
        str(file.relative_to(package))
        for file in package.glob("**/*.py")
        for line in file.read_text().splitlines()
        if writes.search(line) and ">>>" not in line
    }
    assert found == {"writing.py"} | OPENED
