"""What every log format must do; its own example is what it has to read."""

import contextlib
import functools
import gzip
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from rankone.clicks.counts.counts import Counts
from rankone.clicks.formats.base import FORMATS, Format
from rankone.clicks.logs.reading import read
from rankone.clicks.logs.source import Source
from rankone.clicks.logs.zstandard import zstd
from rankone.errors import ConformanceError, InputError
from rankone.testing.suite import Suite, expect, expect_refusal
from rankone.writing import write_file

COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": zstd.compress,
}
JUNK = (b"?\n", b"\xff\xfe\xe9\n", b"a\0b\n", b"1\t2\n", b"x" * 10_000_000 + b"\n")
_ACCOUNT = "read every row, or hand it to `collector.bad` with its line and a reason"


def write(path: Path, data: bytes) -> Path:
    """Write a log, compressed as its name says."""
    write_file(path, COMPRESSIONS[path.suffix if path.suffix in COMPRESSIONS else ""](data))
    return path


class FormatSuite(Suite):
    """Tests of a log format: set `format` to its class."""

    format: type[Format]

    def test_the_example_is_recognised_and_read(self) -> None:
        """Plain and compressed, with and without the name of the format."""
        for suffix in COMPRESSIONS:
            with self._log(self.format.example, f"log{suffix}") as path:
                counts = self._read(path)
                got = counts.report.format
                do = "let `recognises` look for what no other format has"
                expect(got == self.format.name, f"its example to be recognised as {self.format.name}", got, do)
                some, got = counts.impressions > counts.clicks > 0, f"{counts.clicks} and {counts.impressions}"
                do = "give it a few rows more, or read them all"
                expect(some, "an example with clicks, and with more impressions", got, do)
                bad = counts.report.reasons
                expect(counts.report.rows_quarantined == 0, "an example without bad rows", dict(bad), "read all rows")
                named = read(path, self.format.name).table
                expect(counts.table.equals(named), "the same counts when the format is named", named, "see `read`")

    def test_line_ends_and_byte_order_mark_change_nothing(self) -> None:
        """Files come from Windows too, and the last line may have no end."""
        example = self.format.example
        with self._log(example, "all") as path:
            plain = self._read(path).table
            for what, data in {
                "a byte order mark and \\r\\n": b"\xef\xbb\xbf" + example.replace(b"\n", b"\r\n"),
                "no end of the last line": example.removesuffix(b"\n"),
            }.items():
                got = self._read(write(path, data)).table
                expect(got.equals(plain), f"the same counts with {what}", got, "strip line ends from fields")

    def test_two_files_add_up(self) -> None:
        """A log may be many files."""
        with self._log(self.format.example, "all.a") as path:
            other = write(path.with_name("all.b"), self.format.example)
            one = self._read(path)
            for paths in ([path, other], str(path.with_name("all.*"))):
                two = read(paths)
                rows = two.report.rows
                expect(rows == 2 * one.report.rows, f"{2 * one.report.rows} rows in two files", rows, _ACCOUNT)
                twice = (2 * one.cells["impressions"]).to_list()
                got = two.cells["impressions"].to_list()
                expect(got == twice, f"impressions of {twice} in two files", got, "count over files, in `finish`")

    def test_other_formats_are_refused(self) -> None:
        """The examples of the other formats are not read as this one."""
        for other in FORMATS.known().values():
            if not issubclass(other, self.format):
                with self._log(other.example) as path:
                    of = f"the example of {other.name}, read as {self.format.name},"
                    expect_refusal(functools.partial(read, path, self.format.name), of, self.format.name)

    def test_bad_rows_are_set_aside_with_line_and_reason(self) -> None:
        """Nothing is dropped in silence."""
        head, end, rest = self.format.example.partition(b"\n")
        with self._log(self.format.example) as path:
            good = self._read(path).report.rows_read
            quarantine = path.with_name("quarantine.tsv")
            for junk in JUNK:
                write(path, head + end + junk + rest)
                row = f"the row {junk[:20]!r}"
                report = read(path, max_bad=0.5, quarantine=quarantine).report
                expect(report.rows_read == good, f"{good} rows read beside {row}", report.rows_read, _ACCOUNT)
                expect(report.rows_quarantined == 1, f"{row} set aside", f"{report.rows_quarantined} rows", _ACCOUNT)
                kept = quarantine.read_text().splitlines()[1].split("\t")
                expect(kept[1] == "2", f"{row} set aside as line 2", f"line {kept[1]}", _ACCOUNT)
                expect(list(report.reasons) == kept[2:3], "one reason, in the report too", report.reasons, _ACCOUNT)
                expect_refusal(lambda: read(path, strict=True), f"{row}, in strict reading,", "line 2 of log")
                expect_refusal(lambda: read(path), f"{row} among so few", "at most 1% rows")

    def test_cut_and_damaged_files_are_counted(self) -> None:
        """What can be read of a compressed file is read, and the report says that it was cut."""
        example = self.format.example
        first_row = example[example.index(b"\n") + 1 :]
        for suffix in (".gz", ".zst"):
            whole = COMPRESSIONS[suffix](example)  # compressed files may be several, one after the other
            cut, damaged = COMPRESSIONS[suffix](first_row * 1_000)[:-5], whole[:10] + b"damage" * 10
            with self._log(example, f"log{suffix}") as path:
                rows = self._read(path).report.rows
                for tail in (cut, damaged):
                    write_file(path, whole + tail)
                    report = read(path, max_bad=0.3).report
                    expect(report["files cut short"] == 1, "one file cut short", report["files cut short"], _ACCOUNT)
                    expect(report.rows >= rows, f"the {rows} rows before the cut", report.rows, _ACCOUNT)
                expect_refusal(lambda: read(path, strict=True), "a damaged file, in strict reading,")

    def test_empty_files_are_counted(self) -> None:
        """They are no error beside others."""
        with self._log(self.format.example) as path:
            empty = write(path.with_name("empty"), b"")
            expect_refusal(lambda: read(empty), "an empty file", "nothing but empty files")
            report = read([empty, path]).report
            expect(report["empty files"] == 1, "one empty file in the report", report["empty files"], _ACCOUNT)

    def test_unknown_options_are_refused(self) -> None:
        """Options are the keyword arguments of the constructor, and there are no others."""
        with self._log(self.format.example) as path:
            of = "the option colour='blue'"
            expect_refusal(lambda: read(path, self.format.name, colour="blue"), of, "options of")

    def test_progress_ends_at_the_end(self) -> None:
        """Whoever watches sees the last byte read."""
        calls: list[tuple[int, ...]] = []
        with self._log(self.format.example, "log.gz") as path:
            read(path, progress=lambda *call: calls.append(call))
            total = Source(path).total_bytes
            end = calls[-1][:2]
            expect(end == (total, total), f"progress to end at {total} of {total} bytes", end, "read through `source`")

    @contextlib.contextmanager
    def _log(self, data: bytes, name: str = "log") -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="rankone-testing-") as folder:
            yield write(Path(folder) / name, data)

    def _read(self, path: Path) -> Counts:
        """Read what must be readable."""
        try:
            return read(path)
        except InputError as error:
            expected = f"the example of {self.format.name} to be read"
            raise ConformanceError(expected, str(error), "see `recognises`, `read` and `example`") from error
