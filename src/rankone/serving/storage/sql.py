"""All that is stored and asked for in SQL, written once for all databases."""

from __future__ import annotations

from rankone.serving.storage.counting import Counting
from rankone.serving.storage.driver import UNSURE, Row
from rankone.serving.storage.journal_tables import JournalTables
from rankone.serving.storage.tokens import TokenTable


class Storage(JournalTables, TokenTable, Counting):
    """A database that holds experiments. A subclass in a file of this folder is another kind of database."""


__all__ = ["UNSURE", "Row", "Storage"]
