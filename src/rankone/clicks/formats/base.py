"""What a log format is: it recognises a file by its head, and reads a file into a collector."""

from __future__ import annotations

from typing import Any, ClassVar

from rankone.clicks.logs.collector import Collector
from rankone.clicks.logs.source import Source
from rankone.registry import Registry

FORMATS: Registry[type[Format]] = Registry("log format", "log formats", __package__)


class Format:
    """A log format. Its options are the keyword arguments of its constructor.

    A subclass states `name`, `title` and `example` (a few rows, which its tests read) and implements `recognises` and
    `read`. `read` must account for every row: a row is read, or handed to `Collector.bad` with its line and a reason.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    example: ClassVar[bytes]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "name" in cls.__dict__:
            FORMATS.add(cls.name, cls)

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        """Say whether a file that begins like this is of the format."""
        raise TypeError(f"{cls.__name__} must define recognises(head)")

    def read(self, source: Source, collector: Collector) -> None:
        """Read one file; count its rows in the collector's report."""
        raise TypeError(f"{type(self).__name__} must define read(source, collector)")

    def finish(self, collector: Collector) -> None:
        """Deliver what was counted over all files."""


def first_rows(head: bytes, separator: bytes, number: int = 200) -> list[list[bytes]]:
    """Split the first rows of a file's head into fields; the last row may be cut and is left out."""
    lines = head.split(b"\n")
    lines = lines[:-1] if len(lines) > 1 else lines
    return [line.rstrip(b"\r").split(separator) for line in lines[:number] if line.strip()]
