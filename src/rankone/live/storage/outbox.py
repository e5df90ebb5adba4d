"""Webhooks and what is to be delivered to them: who hears of what, and how far each delivery has got.

A delivery is entered once for each occasion, however often it is noticed. It is `due` at a time until it has arrived or
was given up; then `due` is null, and `error` says why. Of several servers the one that holds a webhook looks after it.
Times are in microseconds since 1970.
"""
# ruff: noqa: S608 - statements are put together of constants; values are parameters

from collections.abc import Sequence

from rankone.live.storage.driver import Row, placeholders
from rankone.live.storage.sql import Storage

_HOOK = "id, experiment, address, format, events, secret, private, created, made_by"
_DELIVERY = "webhook, occasion, id, body, made, due, tries"
_ONE = "WHERE webhook = {} AND occasion = {}"


def webhooks(storage: Storage) -> list[Row]:
    """Return all webhooks, oldest first; behind each how many deliveries arrived, wait and were given up, and the last
    error.
    """
    counts = """SELECT webhook, sum(CASE WHEN due IS NULL AND error IS NULL THEN 1 ELSE 0 END),
        sum(CASE WHEN due IS NOT NULL THEN 1 ELSE 0 END),
        sum(CASE WHEN due IS NULL AND error IS NOT NULL THEN 1 ELSE 0 END), max(error)
        FROM rankone_deliveries GROUP BY webhook"""
    of = {webhook: tuple(numbers) for webhook, *numbers in storage.query(counts)}
    rows = storage.query(f"SELECT {_HOOK} FROM rankone_webhooks ORDER BY created, id")
    return [(*row, *of.get(row[0], (0, 0, 0, None))) for row in rows]


def add_webhook(storage: Storage, row: Row) -> None:
    """Enter a webhook."""
    statement = f"INSERT INTO rankone_webhooks ({_HOOK}, held) VALUES ({placeholders(len(row))}, 0)"
    storage.query(statement, row)


def remove_webhook(storage: Storage, id: str) -> None:
    """Take out a webhook, with all that was to be delivered."""
    with storage.transaction():
        storage.query("DELETE FROM rankone_deliveries WHERE webhook = {}", (id,))
        storage.query("DELETE FROM rankone_webhooks WHERE id = {}", (id,))


def hold(storage: Storage, id: str, holder: str, now: int, until: int) -> bool:
    """Let this holder look after a webhook until some time, unless another one does; return whether it does."""
    statement = "UPDATE rankone_webhooks SET holder = {}, held = {} WHERE id = {} AND (holder = {} OR held < {})"
    return bool(storage.query(f"{statement} RETURNING id", (holder, until, id, holder, now)))


def let_go(storage: Storage, holder: str) -> None:
    """Let others look after what a holder held."""
    storage.query("UPDATE rankone_webhooks SET held = 0 WHERE holder = {}", (holder,))


def enter(storage: Storage, rows: Sequence[Row]) -> None:
    """Enter deliveries (webhook, occasion, id, body, made, due, tries), but no occasion twice."""
    statement = f"INSERT INTO rankone_deliveries ({_DELIVERY}) VALUES ({placeholders(7)}) ON CONFLICT DO NOTHING"
    with storage.transaction():
        for row in rows:
            storage.query(statement, row)


def known_occasions(storage: Storage, webhook: str) -> set[str]:
    """Return the occasions of which a webhook was told, or will be."""
    return {row[0] for row in storage.query("SELECT occasion FROM rankone_deliveries WHERE webhook = {}", (webhook,))}


def due_deliveries(storage: Storage, webhook: str, now: int) -> list[Row]:
    """Return (occasion, id, body, tries) of what a webhook should have by now, oldest first."""
    statement = "SELECT occasion, id, body, tries FROM rankone_deliveries WHERE webhook = {} AND due <= {}"
    return storage.query(f"{statement} ORDER BY made, occasion LIMIT 10", (webhook, now))


def tried(storage: Storage, webhook: str, occasion: str, due: int | None, error: str | None) -> None:
    """Write down how a try went: when it is due again, and what went wrong."""
    statement = f"UPDATE rankone_deliveries SET due = {{}}, error = {{}}, tries = tries + 1 {_ONE}"
    storage.query(statement, (due, error, webhook, occasion))
