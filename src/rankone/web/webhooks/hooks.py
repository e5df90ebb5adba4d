"""Who hears of what: webhooks, kept in the database of the experiments."""

import base64
import secrets
import time
from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from rankone.errors import InputError
from rankone.live.database import Database
from rankone.live.names import checked_name
from rankone.live.storage import outbox
from rankone.web.webhooks.addresses import checked_address

EVENTS = {
    "verdict": "a winner is proven",
    "alarm": "clicks of levels changed, or levels interact",
    "traffic": "traffic does not match what was chosen",
    "guardrail": "what leads violates a guardrail",
    "stop": "the experiment was stopped, by hand or by its verdict",
    "no-data": "no decision was asked and no outcome told for an hour",
}
FORMATS = ("json", "slack", "email")
EVERY = "*"  # every experiment
MOST = 100  # webhooks of a database
_PREFIX = "whsec_"


class Webhook(NamedTuple):
    """A webhook, and how its deliveries went."""

    id: str
    experiment: str  # its name, or "*"
    address: str  # https://, or mailto: for e-mail
    format: str
    events: tuple[str, ...]
    secret: str  # that signs; shown when it is made, and never again
    private: bool  # whether its address may be one of a private network
    created: int
    made_by: str | None  # a token, by its id
    arrived: int = 0
    waiting: int = 0
    failed: int = 0  # given up
    error: str | None = None  # of a delivery that waits or was given up

    def hears(self, experiment: str) -> bool:
        """Return whether it is told about an experiment."""
        return self.experiment in (EVERY, experiment)

    @property
    def place(self) -> str:
        """The address as people may see it: what follows the host may be a secret, as in Slack's."""
        parts = urlsplit(self.address)
        return self.address if parts.scheme == "mailto" else f"{parts.scheme}://{parts.netloc}/…"

    def shown(self) -> dict[str, Any]:
        """Return what people may see of it, as plain values."""
        known = {name: value for name, value in self._asdict().items() if name not in ("secret", "private")}
        return known | {"address": self.place, "events": list(self.events), "created": self.created / 1e6}


def add_webhook(
    database: Database,
    address: str,
    events: Iterable[str] = (),
    experiment: str = EVERY,
    format: str | None = None,
    private: bool = False,
    by: str | None = None,
) -> Webhook:
    """Store a new webhook and return it, with the secret that cannot be had again.

    Args:
        database: of the experiments.
        address: https://..., or mailto:ann@shop.example for e-mail.
        events: what it is told about (`EVENTS`); none: everything.
        experiment: the one it is told about; "*": all of them.
        format: "json", "slack" or "email"; None: as the address has it.
        private: whether its address may be http:// and one of a private network.
        by: the id of the token with which it was asked for.
    """
    checked_address(address, private)
    mail = address.startswith("mailto:")
    format = format or ("email" if mail else "json")
    if format not in FORMATS or mail != (format == "email"):
        do = "leave the format out; e-mail goes to mailto:ann@shop.example, all else to https://..."
        raise InputError(f"a format of {', '.join(FORMATS)} that fits the address", format, do)
    given = set(events) or set(EVENTS)
    if given - set(EVENTS):
        raise InputError(f"events of {', '.join(EVENTS)}", ", ".join(sorted(given - set(EVENTS))), "name those only")
    if experiment != EVERY:
        checked_name(experiment, "experiment name")
    if len(list_webhooks(database)) >= MOST:
        raise InputError(f"at most {MOST} webhooks", MOST + 1, "remove some: rankone webhooks remove")
    kept = tuple(event for event in EVENTS if event in given)
    secret = _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
    hook = Webhook(
        secrets.token_hex(6), experiment, address, format, kept, secret, private, time.time_ns() // 1_000, by
    )
    row = (*hook[:4], " ".join(kept), secret, int(private), hook.created, by)
    database.use(lambda storage: outbox.add_webhook(storage, row))
    return hook


def list_webhooks(database: Database) -> list[Webhook]:
    """Return all webhooks, oldest first."""
    rows = database.use(outbox.webhooks)
    return [Webhook._make((*row[:4], tuple(row[4].split()), row[5], bool(row[6]), *row[7:])) for row in rows]


def find_webhook(database: Database, id: str) -> Webhook:
    """Return the webhook of an id, which there must be."""
    known = {hook.id: hook for hook in list_webhooks(database)}
    if id not in known:
        there = ", ".join(known) or "there are none"
        raise InputError(f"the id of a webhook ({there})", id, "see `rankone webhooks list`")
    return known[id]


def remove_webhook(database: Database, id: str) -> None:
    """Take out a webhook, and what it was still to be told."""
    find_webhook(database, id)
    database.use(lambda storage: outbox.remove_webhook(storage, id))
