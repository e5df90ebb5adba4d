"""Who comes in: every request passes here before its body is read, but for a visit or a beacon of a page.

Those have the token in their body, so it is read first; it must be small (`Limits.visit_body_bytes`).

Without tokens the service is open to this machine alone: it answers only requests that come from a loopback address,
name a loopback host, carry no sign of a proxy and were sent by no foreign page. A proxy on this machine that leaves no
sign cannot be told from a user on it; so the log warns of a start without tokens. As soon as the database holds one, or
where the service requires them, every request needs one.
"""

import asyncio
import functools
import hashlib
import ipaddress
import math
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

from rankone.errors import StorageError
from rankone.web.server.access.tokens import THIS_MACHINE, Token
from rankone.web.server.http.problem_json import Problem, database_away
from rankone.web.server.limits import Limits
from rankone.web.server.single_flight import SingleFlight

_PASSED_ON = frozenset(  # what proxies add to requests
    ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "cf-connecting-ip")
)
_REFRESH = 1.0  # seconds between looks at the table of tokens
_PATIENCE = 1.0  # seconds that a look may take before what is known has to do
_NOBODY = Token("", hashlib.sha256(b"").digest(), "", (), "", None, 0, None, None)
_HOST = re.compile(r"(?P<name>[\w.-]+|\[[0-9A-Fa-f:.]+\])(:\d*)?", re.ASCII)
_OWN_FETCHES = (None, "same-origin", "none")  # Sec-Fetch-Site of no page, of a page of this service, of the user
_CHALLENGE = {"WWW-Authenticate": "Bearer"}


@functools.lru_cache(100)
def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@functools.lru_cache(100)
def _names_this_machine(host: str) -> bool:
    """Return whether a Host is a name or an address of this machine and nothing else: no user, no path."""
    match = _HOST.fullmatch(host)
    return match is not None and is_loopback(match["name"].strip("[]").lower())


class RateLimiter:
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


class Authenticator:
    """Lets callers in.

    Args:
        load: reads all tokens.
        limits: the rate of tokens without one of their own.
        require_token: without tokens nobody comes in, not even from this machine.
        allowed_origins: web sites whose pages may call the service.
        clock: seconds since 1970; for tests.
    """

    def __init__(
        self,
        load: Callable[[], Awaitable[Sequence[Token]]],
        limits: Limits,
        require_token: bool = False,
        allowed_origins: Sequence[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._load, self._limits, self._require_token, self._clock = SingleFlight(load), limits, require_token, clock
        self._allowed_origins = allowed_origins
        self._tokens: dict[str, Token] | None = None
        self._looked = float("-inf")
        self._limiters: dict[str, RateLimiter] = {}

    async def admit(self, headers: Mapping[str, str], peer: tuple[str, int] | None) -> Token:
        """Return the caller, whose socket has the address `peer`, or raise why it must stay outside."""
        now = self._clock()
        tokens = await self._known(now)
        if not tokens and not self._require_token:
            self._check_local(headers, peer)
            caller = THIS_MACHINE
        else:
            caller = _proved(tokens, headers.get("authorization", ""), now)
        limiter = self._limiter(caller, now)
        if not limiter.take(now):
            raise self._too_fast(caller, limiter)
        return caller

    def charge(self, caller: Token, more: int) -> None:
        """Count a batch for what it is: so many decisions or outcomes more than the one that was counted on entry."""
        limiter = self._limiter(caller, self._clock())
        if not limiter.owe(more):
            raise self._too_fast(caller, limiter)

    async def signer(self, visitor: str, signature: str, experiment: str) -> str:
        """Return the id of the token that vouches for a visitor of an experiment, or raise that none does."""
        now = self._clock()
        token = (await self._known(now)).get(signature.partition(".")[0], _NOBODY)
        if not token.signed(visitor, signature) or not token.valid(now) or not token.may("sign", experiment):
            expected = "the signature of the visitor by a valid token with the scope 'sign'"
            raise Problem(403, "bad-signature", expected, "another", "see docs/snippet.md: your server signs")
        return token.id

    async def signers(self, experiment: str) -> list[Token]:
        """Return the tokens that may vouch for something of an experiment."""
        now = self._clock()
        return [each for each in (await self._known(now)).values() if each.valid(now) and each.may("sign", experiment)]

    async def _known(self, now: float) -> dict[str, Token]:
        """Return the tokens. Before the first look all wait for it: without it nobody knows that tokens are needed."""
        if self._tokens is not None and 0.0 <= now - self._looked < _REFRESH:
            return self._tokens
        return await self._look(now)

    async def _look(self, now: float) -> dict[str, Token]:
        """Look at the table. One looks; the others go by what is known, if anything is, as all do meanwhile."""
        self._looked = now
        try:
            async with asyncio.timeout(self._limits.answer_seconds if self._tokens is None else _PATIENCE):
                self._tokens = {token.id: token for token in await self._load.get()}
        except (StorageError, TimeoutError) as error:
            if self._tokens is None:
                raise database_away() from error
        return self._tokens

    def _rate(self, caller: Token) -> int:
        return caller.rate or self._limits.decisions_per_second

    def _limiter(self, caller: Token, now: float) -> RateLimiter:
        limiter = self._limiters.get(caller.id)
        if limiter is None:
            limiter = self._limiters[caller.id] = RateLimiter(self._rate(caller), now)
        return limiter

    def _too_fast(self, caller: Token, limiter: RateLimiter) -> Problem:
        expected = f"at most {self._rate(caller)} decisions and outcomes per second"
        return Problem(429, "too-many-requests", expected, "more", "wait", retry_after=limiter.wait)

    def _check_local(self, headers: Mapping[str, str], peer: tuple[str, int] | None) -> None:
        """Refuse what comes from elsewhere, by itself, a proxy, a foreign page or a name bent to this machine."""
        host, origin = headers.get("host", ""), headers.get("origin")
        ours = (None, f"http://{host}", f"https://{host}", *self._allowed_origins)
        from_here = peer is not None and is_loopback(peer[0]) and _names_this_machine(host)
        # Browsers leave out the Origin of pictures and links, but say that a foreign page wants them.
        own = headers.get("sec-fetch-site") in _OWN_FETCHES or origin in self._allowed_origins
        if not from_here or not own or origin not in ours or not _PASSED_ON.isdisjoint(headers):
            do = "make a token: `rankone token create`"
            raise Problem(403, "local-only", "a request from this machine", "one from elsewhere", do)


def _proved(tokens: Mapping[str, Token], text: str, now: float) -> Token:
    kind, _, credentials = text.partition(" ")
    prefix, _, rest = credentials.strip().partition("_")
    id, _, secret = rest.partition("_")
    token = tokens.get(id, _NOBODY)
    right = token.proves(secret) and token is not _NOBODY
    if kind.lower() != "bearer" or prefix != "rk" or not right or not token.valid(now):
        wrong = "The token is unknown, expired or revoked." if text else "The request has no token."
        do = "send one as 'Authorization: Bearer rk_...'; `rankone token create` makes one"
        raise Problem(401, "no-valid-token", wrong, "", do, headers=_CHALLENGE)
    return token
