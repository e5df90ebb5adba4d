"""Looks what there is to tell, and tells it: beside the requests of a service, never in their way.

Several servers may share a database. Each webhook is held by one of them, for a minute at a time; if that one ends,
another takes over. What is to be delivered is stored first, so a restart loses nothing, and a message may arrive twice:
its id is the same.
"""

import asyncio
import contextlib
import functools
import logging
import math
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Any

from rankone.errors import RankoneError
from rankone.live.database import Database
from rankone.live.report.report import Report
from rankone.live.storage import outbox
from rankone.web.webhooks.hooks import Webhook, list_webhooks
from rankone.web.webhooks.occasions import NO_DATA, Notes, Occasion, body_of, id_of, notes_of, occasions
from rankone.web.webhooks.sending import NotDelivered, send

log = logging.getLogger("rankone.web")
LOOK = 5.0  # seconds between looks
HELD = 60.0  # seconds for which a webhook is held
FIRST, GROWS, LONGEST, TRIES = 5.0, 4.0, 6 * 3_600.0, 15  # seconds until the second try, and so on: two days in all
_AGAIN = 60.0  # seconds until an experiment that could not be read is looked at again
_SHARE = 0.05  # of the time, at most, is spent on reports of one experiment


class Notifier:
    """Tells webhooks what happens. `run` goes on until it is cancelled.

    Args:
        database: to write.
        reader: to read.
        off_loop: calls what may wait in another thread.
        report: makes the report of an experiment, by name.
    """

    def __init__(
        self,
        database: Database,
        reader: Database,
        off_loop: Callable[..., Awaitable[Any]],
        report: Callable[[str], Awaitable[Report]],
    ) -> None:
        self._database, self._reader, self._off_loop, self._report = database, reader, off_loop, report
        self._me = secrets.token_hex(8)
        self._held: dict[str, float] = {}  # until when, by webhook
        self._seen: dict[
            str, tuple[int, float]
        ] = {}  # by experiment, the last event then, and when an hour without data is over
        self._rests: dict[str, float] = {}  # by experiment, until when it is not looked at
        self._known: dict[str, set[str]] = {}  # by webhook, what it was told
        self._sending: dict[str, asyncio.Task[None]] = {}
        self._said = ""

    async def run(self) -> None:
        """Look and tell again and again; what goes wrong is said once in the log."""
        try:
            while True:
                try:
                    await self._look()
                    self._said = ""
                except Exception as error:
                    if self._said != str(error):
                        self._said = str(error)
                        log.warning("webhooks: %s", error, exc_info=not isinstance(error, RankoneError))
                await asyncio.sleep(LOOK * secrets.SystemRandom().uniform(0.8, 1.2))  # so that servers take turns
        finally:
            for task in self._sending.values():
                task.cancel()

    def let_go(self) -> None:
        """Let another server look after the webhooks at once."""
        if self._held:
            with contextlib.suppress(RankoneError):
                self._database.use(lambda storage: outbox.let_go(storage, self._me))

    async def _look(self) -> None:
        hooks = await self._off_loop(list_webhooks, self._reader)
        mine = [hook for hook in hooks if await self._hold(hook.id)]
        if {hook.id for hook in mine} - set(self._known):
            self._seen.clear()  # a new one is told what stands
            self._rests.clear()
        self._known = {hook.id: self._known.get(hook.id, set()) for hook in mine}
        ends = await self._off_loop(self._reader.use, lambda storage: storage.last_events()) if mine else {}
        for name, end in ends.items():
            hearing = [hook for hook in mine if hook.hears(name)]
            last, overdue = self._seen.get(name, (-1, 0.0))
            changed = last != end or time.time() >= overdue
            if hearing and changed and time.monotonic() >= self._rests.get(name, 0.0):
                await self._look_at(name, end, hearing)
        for hook in mine:
            if hook.id not in self._sending:
                task = self._sending[hook.id] = asyncio.create_task(self._deliver(hook))
                task.add_done_callback(functools.partial(self._sent, hook.id))

    def _sent(self, id: str, task: asyncio.Task[None]) -> None:
        del self._sending[id]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("webhook %s: %s", id, error)

    async def _hold(self, id: str) -> bool:
        """Hold a webhook for a minute more, unless another server does; that is written down twice a minute."""
        now = time.time()
        if self._held.get(id, 0.0) < now + HELD / 2:
            times = int(now * 1e6), int((now + HELD) * 1e6)
            mine = await self._off_loop(self._database.use, lambda storage: outbox.hold(storage, id, self._me, *times))
            if not mine:
                self._held.pop(id, None)
                return False
            self._held[id] = now + HELD
        return True

    async def _look_at(self, name: str, end: int, hooks: list[Webhook]) -> None:
        """Enter what is new to tell of an experiment. What is wrong with one holds up no other."""
        began, pause = time.monotonic(), _AGAIN
        try:
            notes: Notes = await self._off_loop(self._reader.use, lambda storage: notes_of(storage, name))
            report, now = await self._report(name), time.time()
            new = [
                (hook, f"{name}/{occasion.name}", occasion)
                for occasion in occasions(report, notes, now)
                for hook in hooks
                if occasion.event in hook.events and occasion.at * 1e6 >= hook.created
            ]
            await self._enter([each for each in new if each[1] not in self._known[each[0].id]], report, int(now * 1e6))
            falls = notes.last[1] / 1e6 + NO_DATA
            self._seen[name] = end, math.inf if report.stopped or not notes.last[0] or falls <= now else falls
            pause = max(LOOK, (time.monotonic() - began) / _SHARE)
        except Exception as error:  # it may be damaged, in whatever way; that is told where it is opened
            log.debug("webhooks: %s: %s", name, error)
        self._rests[name] = time.monotonic() + pause

    async def _enter(self, new: list[tuple[Webhook, str, Occasion]], report: Report, now: int) -> None:
        for hook in {hook.id: hook for hook, _, _ in new}.values():
            told = await self._off_loop(
                self._reader.use, lambda storage, id=hook.id: outbox.known_occasions(storage, id)
            )
            rows = []
            for key, occasion in [(key, occasion) for each, key, occasion in new if each is hook and key not in told]:
                id = id_of(report.name, occasion)
                rows.append((hook.id, key, id, body_of(occasion, report, hook.format, id), now, now, 0))
            if rows:
                await self._off_loop(self._database.use, lambda storage, rows=rows: outbox.enter(storage, rows))
            self._known[hook.id] = told | {row[1] for row in rows}

    async def _deliver(self, hook: Webhook) -> None:
        """Send what a webhook should have by now, one after the other; what fails is tried again later."""
        now = int(time.time() * 1e6)
        due = await self._off_loop(self._reader.use, lambda storage: outbox.due_deliveries(storage, hook.id, now))
        for occasion, id, body, tries in due:
            if not await self._hold(hook.id):
                return
            again, error = None, None
            try:
                await send(hook, id, body)
            except NotDelivered as reason:
                error = str(reason)
                if tries + 1 < TRIES:
                    again = int((time.time() + min(FIRST * GROWS**tries, LONGEST)) * 1e6)
                log.warning("webhook %s to %s: %s", hook.id, hook.place, error)
            done = hook.id, occasion, again, error
            await self._off_loop(self._database.use, lambda storage, done=done: outbox.tried(storage, *done))
