"""Who comes in: every request passes here before its body is read.

Without tokens the service is open to this machine alone: it answers only requests that name a loopback host, that no
proxy passed on and that no foreign page sent. As soon as the database holds a token, or the service listens on a public
address, every request needs one.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol
from urllib.parse import urlsplit

from rankone.errors import StorageError
from rankone.web.limits import Limits
from rankone.web.problem_json import Problem, database_away
from rankone.web.shared import Shared
from rankone.web.tokens import Token

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_REFRESH = 1.0  # seconds between looks at the table of tokens
_PATIENCE = 1.0  # seconds that a look may take before what is known has to do
_NOBODY = Token("", hashlib.sha256(b"").digest(), "", (), "", None, 0, None, None)
_CHALLENGE = {"WWW-Authenticate": "Bearer"}


@functools.lru_cache(100)
def _is_loopback(host: str) -> bool:
    try:
        return urlsplit(f"//{host}").hostname in LOOPBACK
    except ValueError:  # not a host at all
        return False


class Caller(Protocol):
    """Whoever was let in."""

    @property
    def id(self) -> str:
        """Who it is, as far as its rate goes."""

    @property
    def rate(self) -> int | None:
        """Decisions, outcomes and other requests a second; None: as the service has it."""

    def may(self, scope: str, experiment: str | None) -> bool:
        """Return whether it may do something to an experiment; None: to any."""


class ThisMachine:
    """A caller on this machine, where no tokens are in use: may do everything."""

    id, rate = "", None

    def may(self, scope: str, experiment: str | None) -> bool:
        """Yes."""
        return True


class Bucket:
    """Lets `rate` through at once, and `rate` a second in the long run. A batch may be more: the next waits."""

    def __init__(self, rate: int, now: float) -> None:
        self._rate, self._left, self._at = rate, float(rate), now

    def take(self, now: float) -> bool:
        """Take one; False: there is none left."""
        passed = max(0.0, now - self._at)  # a clock that was set back takes nothing away
        self._left = min(float(self._rate), self._left + passed * self._rate)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True

    def owe(self, count: int) -> bool:
        """Take more than there may be, as long as nothing is owed; False: something is."""
        if self._left < 0.0:
            return False
        self._left -= count
        return True

    @property
    def wait(self) -> int:
        """Whole seconds until there is one again."""
        return max(1, math.ceil((1.0 - self._left) / self._rate))


class Gate:
    """Lets callers in.

    Args:
        load: reads all tokens.
        limits: the rate of tokens without one of their own.
        public: the service listens on a public address.
        allowed_origins: web sites whose pages may call the service.
        clock: seconds since 1970; for tests.
    """

    def __init__(
        self,
        load: Callable[[], Awaitable[Sequence[Token]]],
        limits: Limits,
        public: bool = False,
        allowed_origins: Sequence[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._load, self._limits, self._public, self._clock = Shared(load), limits, public, clock
        self._allowed_origins = allowed_origins
        self._tokens: dict[str, Token] | None = None
        self._looked = float("-inf")
        self._first_look = asyncio.Lock()
        self._buckets: dict[str, Bucket] = {}

    async def admit(self, headers: Mapping[str, str]) -> Caller:
        """Return the caller, or raise why it must stay outside."""
        now = self._clock()
        tokens = await self._known(now)
        if not tokens and not self._public:
            self._check_local(headers)
            caller: Caller = ThisMachine()
        else:
            caller = _proved(tokens, headers.get("authorization", ""), now)
        bucket = self._bucket(caller, now)
        if not bucket.take(now):
            raise self._too_fast(caller, bucket)
        return caller

    def charge(self, caller: Caller, more: int) -> None:
        """Count a batch for what it is: so many decisions or outcomes more than the one that was counted on entry."""
        bucket = self._bucket(caller, self._clock())
        if not bucket.owe(more):
            raise self._too_fast(caller, bucket)

    async def _known(self, now: float) -> dict[str, Token]:
        """Return the tokens. Before the first look all wait for it: without it nobody knows that tokens are needed."""
        if self._tokens is None:
            async with self._first_look:
                return await self._look(now) if self._tokens is None else self._tokens
        if 0.0 <= now - self._looked < _REFRESH:
            return self._tokens
        return await self._look(now)

    async def _look(self, now: float) -> dict[str, Token]:
        """Look at the table. One looks; the others go by what is known, and all do while the database is away."""
        self._looked = now
        try:
            async with asyncio.timeout(self._limits.answer_seconds if self._tokens is None else _PATIENCE):
                self._tokens = {token.id: token for token in await self._load.get()}
        except (StorageError, TimeoutError) as error:
            if self._tokens is None:
                raise database_away() from error
        return self._tokens

    def _rate(self, caller: Caller) -> int:
        return caller.rate or self._limits.decisions_per_second

    def _bucket(self, caller: Caller, now: float) -> Bucket:
        bucket = self._buckets.get(caller.id)
        if bucket is None:
            bucket = self._buckets[caller.id] = Bucket(self._rate(caller), now)
        return bucket

    def _too_fast(self, caller: Caller, bucket: Bucket) -> Problem:
        detail = f"expected at most {self._rate(caller)} decisions and outcomes a second - got more - wait"
        return Problem(429, "too-many-requests", detail, retry_after=bucket.wait)

    def _check_local(self, headers: Mapping[str, str]) -> None:
        """Refuse what comes from elsewhere through a proxy, a foreign page or a name that was bent to this machine."""
        host, origin = headers.get("host", ""), headers.get("origin")
        passed_on = "forwarded" in headers or "x-forwarded-for" in headers
        ours = (None, f"http://{host}", f"https://{host}", *self._allowed_origins)
        if passed_on or origin not in ours or not _is_loopback(host):
            detail = (
                "expected a request from this machine - got one from elsewhere - make a token: `rankone token create`"
            )
            raise Problem(403, "local-only", detail)


def _proved(tokens: Mapping[str, Token], text: str, now: float) -> Token:
    kind, _, credentials = text.partition(" ")
    prefix, _, rest = credentials.strip().partition("_")
    id, _, secret = rest.partition("_")
    token = tokens.get(id, _NOBODY)
    right = token.proves(secret) and token is not _NOBODY
    if kind.lower() != "bearer" or prefix != "rk" or not right or not token.valid(now):
        got = "one that is not known, expired or revoked" if text else "none"
        detail = (
            f"expected a valid token in the header 'Authorization: Bearer rk_...' - got {got} - see `rankone token`"
        )
        raise Problem(401, "no-valid-token", detail, headers=_CHALLENGE)
    return token
