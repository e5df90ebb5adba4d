"""The embedded experiment: ask what to show, tell whether it was clicked; durable by default, no server."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self, TypeVar, Unpack, overload

from rankone.errors import InputError
from rankone.live.commit import operator_events as drafts
from rankone.live.database import Database
from rankone.live.fold.fold import Fold
from rankone.live.journal.clock import Clock
from rankone.live.journal.events import Draft
from rankone.live.level_changes import LevelChanges
from rankone.live.messages import Ask, Change, Decision, Outcome, Tell, Void, each_answered, id_of, tells
from rankone.live.names import checked_combination, checked_name
from rankone.live.opening import check_continues, checked_settings, new_settings
from rankone.live.operate.change_log import changes_of
from rankone.live.operate.excluding import Unwanted, exclude_outcomes, finish_exclusions, rests_for
from rankone.live.operate.voiding import void_old
from rankone.live.report.make_report import make_report
from rankone.live.report.report import Report
from rankone.live.settings import LocalWishes, Settings, checked_seconds, checked_times, takes_settings
from rankone.live.visitor_attributes import Segment, checked_declaration
from rankone.policies import Policy

T = TypeVar("T")


@takes_settings(LocalWishes)
class Experiment(LevelChanges, AbstractContextManager["Experiment"]):
    """A live experiment on combinations of factors, kept in a database: made if it is new, continued if it is there.

    Args:
        name: name of the experiment in its database.
        rows: with `cols`, short for two `factors` called "row" and "col": the names of their levels.
        cols: the same.
        db: a SQLite file, a ``postgresql://`` address, or a `Database` opened before; None or ``":memory:"`` to try
            things: all is gone when the experiment is closed.
        durability: "full" (survives power cuts), "normal" (survives crashes of the program) or "off".
        clock: a `rankone.live.journal.clock.Clock` of your own, for tests. None: the machine's.
        factors: what is shown: the levels of each factor by its name, such as
            ``{"headline": ["A", "B"], "image": ["1", "2"], "button": ["buy", "try"]}``. A new experiment needs them.
        **settings

    Settings that are left out are as they were when the experiment was made, and those that are given must not
    contradict that; durability and clock belong to the program. A group of settings, such as `stopping`, is given as a
    value (`rankone.Stopping`) or as a dictionary of some of its settings. An experiment may be shared by threads,
    opened by many processes at once, and continued after a crash as if nothing had happened.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     homepage = Experiment("homepage", ["A", "B"], ["1", "2"], policy="ucb1", db=f"{folder}/demo.db")
    ...     decision = homepage.ask()
    ...     outcome = homepage.tell(decision.id, clicked=True)
    ...     homepage.close()
    >>> outcome.learned
    True
    """

    def __init__(
        self,
        name: str,
        rows: Sequence[str] | int | None = None,
        cols: Sequence[str] | int | None = None,
        policy: str | Policy | None = None,
        db: str | Path | Database | None = "rankone.db",
        *,
        durability: str = "full",
        clock: Clock | None = None,
        **settings: Unpack[LocalWishes],
    ) -> None:
        self.name = checked_name(name, "experiment name")
        self._by: str | None = None
        self._archives: str | Path | None = None
        if clock is not None and not isinstance(clock, Clock):
            raise InputError(
                "a rankone.live.journal.clock.Clock", clock, "pass an object of a subclass, or leave it out"
            )
        asked = checked_settings({"rows": rows, "cols": cols, "policy": policy, **settings})
        self._owns_database = not isinstance(db, Database)
        self.database = db if isinstance(db, Database) else Database(db, durability=durability)
        self._transactions = self.database.transactions
        try:
            make = functools.partial(new_settings, self.name, asked, self._transactions.storage.names)
            self._cached = self._transactions.enter(self.name, make, clock, self.database.by)
            self.look(functools.partial(check_continues, asked=asked))
        except BaseException:
            self.close()
            raise

    @overload
    def ask(
        self,
        count: None = None,
        *,
        key: str | None = None,
        source: str | None = None,
        segment: Segment | Mapping[str, Any] | None = None,
        visitor: str | None = None,
    ) -> Decision: ...
    @overload
    def ask(
        self,
        count: int,
        *,
        key: str | None = None,
        source: str | None = None,
        segment: Segment | Mapping[str, Any] | None = None,
        visitor: str | None = None,
    ) -> list[Decision]: ...
    def ask(
        self,
        count: int | None = None,
        *,
        key: str | None = None,
        source: str | None = None,
        segment: Segment | Mapping[str, Any] | None = None,
        visitor: str | None = None,
    ) -> Decision | list[Decision]:
        """Return the next decision, or a list of `count` of them. They are stored before they are returned.

        The same request with the same `key` again returns the same decisions: pass one to make a retry safe. The same
        `visitor` gets the same decision, whatever else is said, until levels change, outcomes are excluded or the
        experiment stops; asked again, its id can tell the outcome and not `void` it. `segment` says what is known of
        the visitor, such as ``{"device": "phone", "country": "DE"}``: declared attributes, or those of the first ask.
        What is left out is "unknown". The report tells whether what is best depends on it.
        """
        (answer,) = self.do([Ask(1 if count is None else count, key, source, segment=segment, visitor=visitor)])
        if isinstance(answer, Exception):
            raise answer
        return answer[0] if count is None else answer

    def tell(
        self,
        decision: str | Decision,
        clicked: bool | None = None,
        *,
        reward: float | None = None,
        source: str | None = None,
    ) -> Outcome:
        """Tell the outcome of a decision, given whole or by its id: any order, any time later, once.

        Where the experiment has a `reward_cap`, a `reward` from 0 to it may be told instead of `clicked`.
        """
        return self._one(Tell(id_of(decision), clicked, source, reward=reward))

    def tell_many(
        self,
        outcomes: Iterable[tuple[str | Decision, bool | float]],
        *,
        rewards: bool = False,
        source: str | None = None,
    ) -> list[Outcome | Exception]:
        """Tell many outcomes at once; each gets an outcome, or the error it would have raised.

        With `rewards` what stands beside a decision is its reward.
        """
        return self.do(tells(outcomes, source, rewards))

    def void(self, decision: str | Decision) -> Outcome:
        """Close a decision that was never shown: nothing is learned from it."""
        return self._one(Void(id_of(decision)))

    def void_open(self, older_than: float, *, source: str | None = None, token: str | None = None) -> int:
        """Close all decisions that have been open for so many seconds or longer; return how many.

        Nothing is learned from them, and outcomes that arrive later are recorded as late. Outcomes that are held until
        their windows end are left alone.

        Args:
            older_than: seconds since they were asked.
            source: only those asked with this `source`.
            token: only those that a service was asked with this token, by its id, whatever source it named.
        """
        age = checked_seconds(older_than, "older_than", "older_than=600")
        for what, text in (("source", source), ("token", token)):
            if text is not None:
                checked_name(text, what)
        return void_old(self._transactions, self._cached, self._by, age, source, token)

    def do(self, requests: Sequence[Ask | Tell | Void]) -> list[Any]:
        """Carry out requests as one durable commit; return for each its answer, or the error it deserves.

        An `Ask` is answered by a list of decisions, a `Tell` or a `Void` by an outcome.
        """
        return each_answered(requests, lambda sound: self._transactions.write(self._cached, sound))

    def _one(self, request: Tell | Void) -> Outcome:
        (answer,) = self.do([request])
        if isinstance(answer, Exception):
            raise answer
        return answer

    def look(self, at: Callable[[Fold], T]) -> T:
        """Return `at(fold)` of the newest state. Copy what you need; no writer is locked out meanwhile."""
        return self._transactions.look(self._cached, at)

    @property
    def settings(self) -> Settings:
        """What it is, as it was made."""
        return self.look(lambda fold: fold.settings)

    def report(self) -> Report:
        """Return what leads, how sure that is, how much traffic each level got and what is still in the race."""
        if not self.database.read_only:
            self.settle()
        return self.look(make_report)

    def changes(self) -> list[Change]:
        """Return who has changed what, and when: creation, levels, stops, exclusions, archives; oldest first."""
        with self.database.reader() as storage:
            return changes_of(storage, self._cached.number)

    def on_behalf_of(self, token: str | None) -> Self:
        """Return this experiment for somebody, by the id of a token, whose changes are noted as theirs."""
        found = copy.copy(self)
        found._by, found._owns_database = token, False
        return found

    def with_archives(self, folder: str | Path) -> Self:
        """Return this experiment with the folder of its archives: what it excludes no longer counts there either."""
        found = copy.copy(self)
        found._archives, found._owns_database = folder, False
        return found

    def _change(self, plan: Callable[[Fold, Draft], T]) -> T:
        return self._transactions.change(self._cached, plan, self._by)

    def settle(self) -> float:
        """End the windows that are over, as every request does, and finish exclusions that were interrupted.

        Return for how many seconds there is nothing to settle, if nothing else happens.
        """
        rest = self.look(functools.partial(rests_for, self._cached))
        if rest > 0.0:
            return rest
        self._transactions.write(self._cached, [])
        finish_exclusions(self.database, self._cached)
        return self.look(functools.partial(rests_for, self._cached))

    def stop(self, levels: Mapping[str, str] | None = None, *, why: str = "by hand") -> dict[str, str]:
        """Stop experimenting: from now on every decision is one combination, what leads unless another is named.

        Return its levels by factor. The stop lasts until `resume`, or until one of these levels is retired.

        Args:
            levels: what every visitor sees, such as ``{"headline": "A"}``; of factors left out, the level that leads.
            why: a note for the journal.
        """
        checked_name(why, "why")
        named = checked_combination(levels)
        return self._change(lambda fold, draft: drafts.draft_stop(fold, draft, named, why))

    def resume(self) -> None:
        """Experiment again after a stop, on all that is known."""
        self._change(drafts.draft_resume)

    def exclude(
        self,
        *,
        source: str | None = None,
        token: str | None = None,
        levels: Mapping[str, str] | None = None,
        since: float | None = None,
        until: float | None = None,
        prior: bool = False,
        why: str = "outcomes excluded",
    ) -> int:
        """Undo false clicks: outcomes so far that fit everything given no longer count. Return how many.

        Outcomes held until their windows end are among them; their decisions are closed as void. Those in archives
        (`rankone archive`) are not, but for an experiment `with_archives`.

        Args:
            source: told with this `source`.
            token: told to a service with this token, by its id, or of decisions that it was asked with this token,
                whatever source they named.
            levels: of these levels, by factor.
            since: asked at this time (seconds since 1970) or later.
            until: asked before this time.
            prior: also forget the past counts that the experiment began with.
            why: a note for the journal.
        """
        if token is not None:
            checked_name(token, "token")
        named, times = checked_combination(levels), checked_times(since=since, until=until)
        unwanted = Unwanted(source, token, named, times, prior, checked_name(why, "why"))
        return exclude_outcomes(self.database, self._cached, unwanted, self._archives, self._by)

    def _change_levels(self, factor: str, name: str, add: bool) -> int:
        checked_name(factor, "factor name")
        checked_name(name, f"name of a level of '{factor}'")
        return self._change(lambda fold, draft: drafts.draft_levels(fold, draft, factor, name, add))

    def _change_forbidden(self, levels: Mapping[str, str], forbid: bool) -> None:
        named = checked_combination(levels)
        self._change(lambda fold, draft: drafts.draft_forbidden(fold, draft, named, forbid))

    def add_factor(self, factor: str, levels: Sequence[str]) -> None:
        """Add a whole factor: all decisions so far had the first of its levels."""
        self._change(lambda fold, draft: drafts.draft_factor(fold, draft, factor, levels))

    def declare_segments(self, segments: Mapping[str, Sequence[Any] | None]) -> None:
        """Say which attributes of visitors are told apart from now on, and with which levels, as at the beginning.

        Segments that do not fit are counted among the others; then all that was proven of segments is proven anew.
        """
        declared = checked_declaration(segments)
        self._change(lambda fold, draft: drafts.draft_segments(fold, draft, declared))

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()

    def to_pandas(self) -> Any:
        """Return the levels of the report for pandas."""
        return self.report().to_pandas()

    def __repr__(self) -> str:
        return f"<Experiment {self.name!r} in {self.database.where}>"

    def close(self) -> None:
        """Close the database if this experiment opened it; what was answered is stored already."""
        if self._owns_database:
            self.database.close()

    def __exit__(self, *error: object) -> None:
        self.close()
