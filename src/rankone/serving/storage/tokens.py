"""The statements on the table of tokens (`rankone.web.server.tokens` says what one is)."""

from __future__ import annotations

from rankone.serving.storage.dialect import places
from rankone.serving.storage.driver import Driver, Row

_COLUMNS = ("id", "digest", "note", "scopes", "experiment", "rate", "created", "expires", "revoked")
_SINCE_4 = ("made_by", "revoked_by")  # other tokens, by their ids
_ALL = (*_COLUMNS, *_SINCE_4)
_INSERT = f"INSERT INTO rankone_tokens ({', '.join(_ALL)}) VALUES ({places(len(_ALL))})"  # noqa: S608 - constants


class TokenTable(Driver):
    """Tokens; a row is (id, digest, note, scopes, experiment, rate, created, expires, revoked, made by, revoked by)."""

    schema: int

    def has_tokens(self) -> bool:
        """Return whether there is a table of tokens: a database of schema 1 has one since its first token."""
        return self.has("rankone_tokens")

    def tokens(self) -> list[Row]:
        """Return all tokens, oldest first."""
        newer = _SINCE_4 if self.schema >= 4 else ("NULL",) * len(_SINCE_4)
        columns = ", ".join((*_COLUMNS, *newer))
        return self.query(f"SELECT {columns} FROM rankone_tokens ORDER BY created, id")  # noqa: S608 - constants

    def add_token(self, row: Row) -> None:
        """Enter a token."""
        self.query(_INSERT, row)

    def revoke_token(self, id: str, at: int, by: str | None = None) -> None:
        """Say that a token was revoked, and by which other one, unless that was said before."""
        statement = "UPDATE rankone_tokens SET revoked = {}, revoked_by = {} WHERE id = {} AND revoked IS NULL"
        self.query(statement, (at, by, id))

    def write_and_forget(self, row: Row) -> None:
        """Enter a token and take it out again, in one durable transaction: to see whether that can be done."""
        with self.transaction():
            self.add_token(row)
            self.query("DELETE FROM rankone_tokens WHERE id = {}", (row[0],))
