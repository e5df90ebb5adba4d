"""The statements on the table of tokens (`rankone.web.server.access.tokens` says what one is)."""

from __future__ import annotations

from rankone.live.storage.dialect import places
from rankone.live.storage.driver import Driver, Row

_COLUMNS = "id, digest, note, scopes, experiment, rate, created, expires, revoked, made_by, revoked_by"
_INSERT = f"INSERT INTO rankone_tokens ({_COLUMNS}) VALUES ({places(11)})"  # noqa: S608 - constants


class TokenTable(Driver):
    """Tokens; a row is (id, digest, note, scopes, experiment, rate, created, expires, revoked, made by, revoked by)."""

    def tokens(self) -> list[Row]:
        """Return all tokens, oldest first."""
        return self.query(f"SELECT {_COLUMNS} FROM rankone_tokens ORDER BY created, id")  # noqa: S608 - constants

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
