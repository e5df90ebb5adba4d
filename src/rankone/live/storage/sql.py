"""All that is stored and asked for in SQL, written once for all databases."""

from __future__ import annotations

from typing import Any

from rankone.live.storage.counting import Counting
from rankone.live.storage.driver import UNSURE, Row
from rankone.live.storage.journal_tables import JournalTables
from rankone.live.storage.tokens import TokenTable
from rankone.registry import Registry

STORAGES: Registry[type[Storage]] = Registry("kind of database", "kinds of databases", __package__)


class Storage(JournalTables, TokenTable, Counting):
    """A database that holds experiments. A subclass in a file of this folder is another kind of database."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "name" in cls.__dict__:
            STORAGES.add(cls.name, cls)


__all__ = ["STORAGES", "UNSURE", "Row", "Storage"]
