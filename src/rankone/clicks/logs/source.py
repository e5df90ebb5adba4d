"""Log files as blocks of whole lines: plain, gzip or zstd, in constant memory, whatever the lines hold.

A block ends at the end of a line. A line longer than the limit never enters memory whole: it is handed out as an
`Oversized` record, so that the reader can set it aside like any other row it cannot read.
"""

import glob
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

from rankone.errors import InputError

_BLOCK, _COMPRESSED_BLOCK = 4 << 20, 1 << 18
LONGEST_LINE = 1 << 20
PARQUET = b"PAR1"
_GZIP, _ZSTD, _BOM = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xef\xbb\xbf"

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class Block(NamedTuple):
    """Whole lines and the number of the first one."""

    data: bytes
    first_line: int


class Oversized(NamedTuple):
    """A line that is longer than the limit: its number and how it begins."""

    line: int
    start: bytes


def find_files(paths: Paths) -> list[Path]:
    """Turn a path, a glob or several of them into files, in a fixed order.

    >>> find_files("/no/such/*.tsv")
    Traceback (most recent call last):
    ...
    rankone.errors.InputError: No such file: /no/such/*.tsv.
    """
    result: list[Path] = []
    for path in [paths] if isinstance(paths, str | os.PathLike) else paths:
        text = os.fspath(path)
        matches = [text] if Path(text).exists() else sorted(glob.glob(text, recursive=True))  # noqa: PTH207 (absolute patterns)
        files = [Path(match) for match in matches if Path(match).is_file()]
        if not files:
            _refuse(Path(text))
        result += files
    if not result:
        raise InputError("No file was named.", "", "name the log")
    return result


def _refuse(path: Path) -> NoReturn:
    if path.is_dir():
        raise InputError("This is a directory:", str(path), f"name the files in it: '{path}/*'")
    if path.exists():
        raise InputError("This is a pipe or a device:", str(path), "a log is read twice: write it to a file first")
    raise InputError("No such file:", str(path), "")


class Source:
    """One file of a log, decompressed: its `head`, the whole of it, or its lines in `blocks`.

    `bytes_read` says how far the reading is, `broken` why the file could not be read to its end.

    >>> import pathlib, tempfile
    >>> log = pathlib.Path(tempfile.mkdtemp(), "log.csv")
    >>> _ = log.write_text("item,clicked\\na,1\\n")
    >>> [(block.first_line, block.data) for block in Source(log).blocks()]
    [(1, b'item,clicked\\na,1\\n')]
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.total_bytes = path.stat().st_size
        self.had_bom = False
        self.broken = ""  # why the compressed data could not be read to its end
        self._raw: BinaryIO | None = None

    @property
    def bytes_read(self) -> int:
        """Bytes of the file (compressed, if it is) read so far."""
        return self._raw.tell() if self._raw is not None and not self._raw.closed else self.total_bytes

    def head(self, size: int = 1 << 16) -> bytes:
        """Return the first bytes, decompressed, for recognising the format."""
        head = b""
        for piece in Source(self.path)._pieces():
            head += piece
            if len(head) >= size:
                break
        return head[:size].removeprefix(_BOM)

    def whole(self) -> bytes:
        """Return all bytes, decompressed; `broken` says whether some could not be read."""
        return b"".join(self._pieces())

    def blocks(self, longest_line: int = LONGEST_LINE) -> Iterator[Block | Oversized]:
        """Yield the lines of the file in blocks of whole lines; an oversized line comes by itself."""
        line, rest, skipping = 1, b"", False
        for number, piece in enumerate(self._pieces()):
            data = piece
            if number == 0:
                self.had_bom = data.startswith(_BOM)
                data = data.removeprefix(_BOM)
            if skipping:  # inside an oversized line: drop everything up to its end
                end = data.find(b"\n")
                if end < 0:
                    continue
                data, skipping, line = data[end + 1 :], False, line + 1
            data = rest + data
            end = data.rfind(b"\n") + 1
            whole, rest = data[:end], data[end:]
            if whole:
                yield from _without_oversized(whole, line, longest_line)
                line += whole.count(b"\n")
            if len(rest) > longest_line:
                yield Oversized(line, rest[:200])
                rest, skipping = b"", True
        if rest and not self.broken:  # the last line of a file that broke off may be half of one
            yield Block(rest + b"\n", line)

    def _pieces(self) -> Iterator[bytes]:
        """Decompressed pieces; data that is damaged or cut ends them, and `broken` says why."""
        try:
            opened = self.path.open("rb")
        except OSError as error:
            raise InputError(f"a file {self.path} that can be read", str(error.strerror), "check its rights") from None
        with opened as raw:
            self._raw = raw
            magic = raw.read(4)
            raw.seek(0)
            if magic[:2] == _GZIP:
                yield from self._decompressed(raw, lambda: zlib.decompressobj(wbits=31))
            elif magic == _ZSTD:
                from rankone.clicks.logs.zstandard import zstd

                yield from self._decompressed(raw, zstd.ZstdDecompressor)
            else:
                while data := raw.read(_BLOCK):
                    yield data

    def _decompressed(self, raw: BinaryIO, new_member: Callable[[], Any]) -> Iterator[bytes]:
        member = None
        try:
            while data := raw.read(_COMPRESSED_BLOCK):
                while data:
                    member = member or new_member()
                    yield member.decompress(data)
                    data, member = (member.unused_data, None) if member.eof else (b"", member)
        except Exception as error:  # zlib and zstd have errors of their own, without a common base
            self.broken = f"the compressed data is damaged ({error})"
        else:
            if member is not None:
                self.broken = "the compressed data ends early"


def _without_oversized(data: bytes, line: int, longest_line: int) -> Iterator[Block | Oversized]:
    """Cut the oversized lines out of whole lines (a block is a few lines long only if they are huge)."""
    start = begin = 0
    while begin + longest_line < len(data):
        # A line longer than the limit has no line end in the window that follows its start.
        end = data.rfind(b"\n", begin, begin + longest_line + 1) + 1
        if end:
            begin = end
            continue
        if begin > start:
            yield Block(data[start:begin], line)
            line += data.count(b"\n", start, begin)
        yield Oversized(line, data[begin : begin + 200])
        line += 1
        start = begin = data.find(b"\n", begin) + 1
    if start < len(data):
        yield Block(data[start:], line)
