"""What every log format must do; a new format is tested by itself through its example."""

import pytest

from rankone import clicks
from rankone.clicks.logs.source import Source
from rankone.errors import InputError
from tests.clicks.logs import COMPRESSIONS, write

FORMATS = sorted(clicks.FORMATS.known())


@pytest.fixture(params=FORMATS)
def kind(request):
    return clicks.FORMATS.get(request.param)


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_example_is_recognised_and_read(kind, suffix, tmp_path):
    path = write(tmp_path / f"log{suffix}", kind.example)
    counts = clicks.read(path)
    assert counts.report.format == kind.name
    assert counts.clicks > 0
    assert counts.impressions > counts.clicks
    assert counts.report.rows_quarantined == 0
    assert counts.table.equals(clicks.read(path, kind.name).table)


def test_line_ends_and_byte_order_mark_change_nothing(kind, tmp_path):
    plain = clicks.read(write(tmp_path / "all", kind.example))
    other = clicks.read(write(tmp_path / "all", b"\xef\xbb\xbf" + kind.example.replace(b"\n", b"\r\n")))
    assert other.table.equals(plain.table)
    assert other.report["byte order marks"] == 1
    no_end = clicks.read(write(tmp_path / "all", kind.example.removesuffix(b"\n")))
    assert no_end.table.equals(plain.table)


def test_two_files_add_up(kind, tmp_path):
    for name in ("all.a", "all.b"):
        write(tmp_path / name, kind.example)
    one = clicks.read(tmp_path / "all.a")
    for paths in ([tmp_path / "all.a", tmp_path / "all.b"], str(tmp_path / "all.*")):
        two = clicks.read(paths)
        assert two.report.files == 2
        assert two.report.rows == 2 * one.report.rows
        assert two.cells["impressions"].to_list() == (2 * one.cells["impressions"]).to_list()


def test_other_formats_are_refused(kind, tmp_path):
    for other in clicks.FORMATS.known().values():
        path = write(tmp_path / "log", other.example)
        if kind is other or issubclass(other, kind):
            continue
        with pytest.raises(InputError, match=f"format {kind.name} - got log"):
            clicks.read(path, kind.name)


@pytest.mark.parametrize("junk", [b"?\n", b"\xff\xfe\xe9\n", b"a\0b\n", b"1\t2\n", b"x" * 10_000_000 + b"\n"])
def test_bad_rows_are_set_aside_with_line_and_reason(kind, junk, tmp_path):
    head, end, rest = kind.example.partition(b"\n")
    path = write(tmp_path / "log", head + end + junk + rest)
    good = clicks.read(write(tmp_path / "good", kind.example)).report
    quarantine = tmp_path / "quarantine.tsv"
    report = clicks.read(path, max_bad=0.5, quarantine=quarantine).report
    assert report.rows_read == good.rows_read
    assert report.rows_quarantined == 1
    header, row = quarantine.read_text().splitlines()
    assert header.split("\t") == ["file", "line", "reason", "text"]
    assert row.split("\t")[:2] == [str(path), "2"]
    assert list(report.reasons) == [row.split("\t")[2]]
    with pytest.raises(InputError, match="line 2 of log"):
        clicks.read(path, strict=True)
    with pytest.raises(InputError, match=r"at most 1\.0% rows"):
        clicks.read(path)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_cut_compressed_file_is_read_as_far_as_it_goes_and_counted(kind, suffix, tmp_path):
    whole = COMPRESSIONS[suffix](kind.example)  # compressed files may be several, one after the other
    first_row = kind.example[kind.example.index(b"\n") + 1 :]
    path = tmp_path / f"log{suffix}"
    path.write_bytes(whole + COMPRESSIONS[suffix](first_row * 1_000)[:-5])
    report = clicks.read(path, max_bad=0.3).report
    assert report["files cut short"] == 1
    assert report.rows >= clicks.read(write(tmp_path / "whole", kind.example)).report.rows
    with pytest.raises(InputError):
        clicks.read(path, strict=True)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_damaged_compressed_file_is_counted(kind, suffix, tmp_path):
    path = tmp_path / f"log{suffix}"
    path.write_bytes(COMPRESSIONS[suffix](kind.example) + COMPRESSIONS[suffix](kind.example)[:10] + b"damage" * 10)
    assert clicks.read(path, max_bad=0.3).report["files cut short"] == 1


def test_empty_files(kind, tmp_path):
    write(tmp_path / "empty", b"")
    write(tmp_path / "full", kind.example)
    with pytest.raises(InputError, match="nothing but empty files"):
        clicks.read(tmp_path / "empty")
    report = clicks.read([tmp_path / "empty", tmp_path / "full"]).report
    assert report["empty files"] == 1
    assert report.files == 2


def test_unknown_options_and_formats_are_refused(kind, tmp_path):
    path = write(tmp_path / "log", kind.example)
    with pytest.raises(InputError, match="options of"):
        clicks.read(path, kind.name, colour="blue")
    with pytest.raises(InputError, match="one of the log formats"):
        clicks.read(path, "excel")


def test_progress_ends_at_the_end(kind, tmp_path):
    path = write(tmp_path / "log.gz", kind.example)
    calls = []
    clicks.read(path, progress=lambda *call: calls.append(call))
    assert calls[-1][0] == calls[-1][1] == Source(path).total_bytes
