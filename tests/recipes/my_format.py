"""Logs of a shop: CSV with the columns of our shop system."""

from __future__ import annotations

from rankone.clicks.formats.table import Table


class MyFormat(Table):
    """The shop's CSV: search, product, slot, bought."""

    name = "my-format"
    title = "logs of a shop (CSV)"
    example = b"search,product,slot,bought\nred,a,1,0\nred,b,2,1\nred,b,1,0\nred,a,2,1\n"

    def __init__(self) -> None:
        super().__init__(query="search", item="product", position="slot", clicked="bought", separator=",")

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        """Look for the columns that no other log has."""
        return head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].rstrip(b"\r") == b"search,product,slot,bought"
