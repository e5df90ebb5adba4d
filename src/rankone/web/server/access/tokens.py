"""Tokens: who may do what, to which experiment, until when. Kept in the database of the experiments, as hashes.

A token is ``rk_<id>_<secret>``. The id finds it, the SHA-256 of the secret proves it (the secret has 256 random bits,
so a slow hash would add nothing); the secret itself is shown once and stored nowhere.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Iterable
from typing import NamedTuple

from rankone.client.signing import signature_by
from rankone.errors import InputError
from rankone.live.database import Database
from rankone.live.names import checked_name

SCOPES = ("ask", "tell", "read", "admin", "sign")
EVERY = "*"  # every experiment
MAX_DAYS, MAX_RATE = 36_500, 1_000_000


class Token(NamedTuple):
    """A token as it is stored; times in seconds since 1970."""

    id: str
    digest: bytes
    note: str
    scopes: tuple[str, ...]
    experiment: str  # its name, or "*"
    rate: int | None  # decisions, outcomes and other requests a second; None: the service's limit
    created: int
    expires: int | None
    revoked: int | None
    made_by: str | None = None  # another token, by its id, where a service was asked for this one
    revoked_by: str | None = None

    def valid(self, now: float) -> bool:
        """Return whether it has neither expired nor been revoked."""
        return self.revoked is None and (self.expires is None or now < self.expires)

    def may(self, scope: str, experiment: str | None) -> bool:
        """Return whether it allows something on an experiment; None: on the service as a whole."""
        return scope in self.scopes and (self.experiment == EVERY or experiment in (None, self.experiment))

    def proves(self, secret: str) -> bool:
        """Return whether this is the token's secret, in a time that tells nothing."""
        return hmac.compare_digest(hashlib.sha256(secret.encode()).digest(), self.digest)

    def signed(self, visitor: str, signature: str) -> bool:
        """Return whether this is the token's signature of a visitor, in a time that tells nothing."""
        return hmac.compare_digest(signature_by(self.id, self.digest, visitor).encode(), signature.encode())


THIS_MACHINE = Token("", b"", "", SCOPES, EVERY, None, 0, None, None)  # may do everything, where no tokens are in use


def create_token(
    database: Database,
    scopes: Iterable[str],
    experiment: str = EVERY,
    note: str = "",
    days: float | None = 365.0,
    rate: int | None = None,
    now: float | None = None,
    by: str | None = None,
) -> str:
    """Store a new token and return its text, which cannot be had again.

    Args:
        database: of the experiments.
        scopes: of ask, tell, read, admin and sign.
        experiment: the one it is for; "*": all of them.
        note: what it is for.
        days: until it expires; None: never.
        rate: decisions and outcomes a second.
        now: when it is made.
        by: the id of the token with which it was asked for.
    """
    given = set(scopes)
    wanted = tuple(scope for scope in SCOPES if scope in given)
    if not wanted or len(wanted) != len(given):
        raise InputError(f"some of the scopes {', '.join(SCOPES)}", ", ".join(sorted(given)), "name those only")
    if experiment != EVERY:
        checked_name(experiment, "experiment name")
    if note:
        checked_name(note, "note")
    if days is not None and not 0 < days <= MAX_DAYS:
        raise InputError(f"a lifetime of at most {MAX_DAYS} days", days, "try days=365")
    if rate is not None and not 1 <= rate <= MAX_RATE:
        raise InputError(f"a rate of 1 to {MAX_RATE} decisions per second", rate, "try rate=100")
    created = int(time.time() if now is None else now)
    id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    expires = None if days is None else created + int(days * 86_400)
    digest = hashlib.sha256(secret.encode()).digest()
    row = (id, digest, note, " ".join(wanted), experiment, rate, created, expires, None, by, None)
    database.use(lambda storage: storage.add_token(row))
    return f"rk_{id}_{secret}"


def list_tokens(database: Database) -> list[Token]:
    """Return all tokens, also those that are no longer valid, oldest first."""
    rows = database.use(lambda storage: storage.tokens())
    return [Token(row[0], bytes(row[1]), row[2], tuple(row[3].split()), *row[4:]) for row in rows]


def revoke_token(database: Database, id: str, now: float | None = None, by: str | None = None) -> None:
    """End a token at once; servers notice within a second."""
    known = {token.id: token for token in list_tokens(database)}
    if id not in known:
        raise InputError(f"the id of a token ({', '.join(known) or 'there are none'})", id, "see `rankone token list`")
    at = int(time.time() if now is None else now)
    database.use(lambda storage: storage.revoke_token(id, at, by))


def write_and_forget(database: Database) -> None:
    """Write something durably and leave no trace of it: a token comes and goes in one transaction."""
    nobody = (f"nobody-{secrets.token_hex(6)}", b"", "", "", EVERY, None, 0, 0, 0, None, None)
    database.use(lambda storage: storage.write_and_forget(nobody))
