"""The embedded experiment: ask for a pair, tell whether it was clicked; durable by default, no server."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar, overload

from rankone.deprecation import old_arguments, old_positions
from rankone.errors import InputError
from rankone.policies import Policy
from rankone.serving import changes as drafts
from rankone.serving.audit import changes_of
from rankone.serving.clock import Clock
from rankone.serving.database import Database
from rankone.serving.excluding import Unwanted, exclude_outcomes
from rankone.serving.fold import Fold
from rankone.serving.journal import Draft
from rankone.serving.level_changes import LevelChanges
from rankone.serving.make_report import make_report
from rankone.serving.messages import Ask, Change, Decision, Outcome, Tell, Void, each_answered, id_of, tells
from rankone.serving.names import checked_name, named_levels
from rankone.serving.opening import check_continues, new_settings, past_counts
from rankone.serving.prior import WEIGHT
from rankone.serving.report import Report
from rankone.serving.segment_names import Segment
from rankone.serving.settings import checked_seconds, checked_settings, checked_times, policy_for_segments

T = TypeVar("T")
_VOIDED_AT_ONCE = 10_000  # decisions voided in one commit: others shall not wait long


class Experiment(LevelChanges):
    """A live experiment on pairs (row, column) or on combinations of more factors, kept in a database.

    It is made if it is new, and continued if it is there.

    Args:
        name: name of the experiment in its database.
        rows: names of the rows; needed for a new experiment, if it has no `factors`.
        cols: names of the columns; the same.
        policy: who chooses, such as "uts" (the default) or "rank1elim-kl:horizon=100000".
        goal: "both" earns clicks and finds the winner, "earn" earns, "decide" finds the winner soonest. Unless you say
            otherwise it is "both", and "earn" where you name a policy and no `auto_stop`.
        explore: the share of decisions that explore until there is a verdict. Unless you say otherwise: half for
            "both", 0.02 for "earn" (halved whenever decisions double, from 100 a level on), all for "decide". 0: the
            policy alone, exactly as in studies.
        margin: a verdict is enough that proves the leading pair within this part of the best one, such as 0.05.
        control: the row and the column of a pair that keeps a share of the traffic until the experiment stops; with
            `factors`, a level of each.
        share: that share; a tenth unless you say otherwise.
        prior: past counts to begin with, as `rankone.analyse` takes them: a file, a dataframe, a pair of arrays. The
            policy starts as if it had seen them; a verdict does not rest on them. Its levels are the rows and columns
            where you do not name these; what it has beyond these is left out, and the report says so.
            `exclude(prior=True)` takes it back.
        weight: how much a past outcome counts, up to 1; all those of a pair count for at most 1,000.
        factors: what is shown where that is not a row and a column: the levels of each factor by its name, such as
            ``{"headline": ["A", "B"], "image": ["1", "2"], "button": ["buy", "try"]}``.
        reward_cap: the largest reward there can be. Outcomes may then be rewards from 0 to it (`tell(..., reward=)`);
            each is rounded to a click with probability reward / cap. None: outcomes are clicks.
        on_change: what to do when clicks of levels change against each other, which is tested all the time and rings
            falsely in at most one experiment of 20, however the click rate of the whole site moves: "restart" begins
            anew and keeps the old counts apart, "tell" says so in the report, "ignore" does not look.
        on_misfit: what to do when levels turn out to be no product, so that the best combination may be one that is
            hardly shown: "insure" goes on with a policy that looks at all combinations, "tell" says so in the report
            with what it may cost, "ignore" does not look.
        per_segment: visitors are shown what is best in their segment (`ask(segment=)`): the policy is "segmented-uts",
            which learns from all segments together until they differ. Unless you say otherwise the goal is "earn".
        db: a SQLite file, a ``postgresql://`` address, or a `Database` opened before; None or ``":memory:"`` to try
            things: all is gone when the experiment is closed.
        window: seconds after which silence means "not clicked"; None: you tell both clicks and their absence.
        auto_stop: stop by itself when a winner is known with at most this probability of error; None: never.
        seed: seed of the policy's randomness; None: a fresh one, kept in the journal.
        max_open: how many decisions may wait for their outcomes.
        max_age: seconds after which a decision that still waits is voided where `max_open` leaves no room for a new one
            (an hour unless you say otherwise); without a window only, since a window ends all.
        durability: "full" (survives power cuts), "normal" (survives crashes of the program) or "off".
        clock: a `rankone.serving.clock.Clock` of your own, for tests. None: the machine's.
        by: who makes it, where it is new: the id of a token of a service (`changes` tells it).

    Settings that are left out are as they were when the experiment was made, and those that are given must not
    contradict that; durability and clock belong to the program. An experiment may be shared by threads, opened by many
    processes at once, and continued after a crash as if nothing had happened.

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
        window: float | None = None,
        auto_stop: float | None = None,
        seed: int | None = None,
        max_open: int | None = None,
        max_age: float | None = None,
        goal: str | None = None,
        explore: float | None = None,
        margin: float | None = None,
        control: Sequence[str] | Mapping[str, str] | None = None,
        share: float | None = None,
        prior: Any = None,
        weight: float = WEIGHT,
        reward_cap: float | None = None,
        factors: Mapping[str, Sequence[str] | int] | None = None,
        on_change: str | None = None,
        on_misfit: str | None = None,
        per_segment: bool = False,
        durability: str = "full",
        clock: Clock | None = None,
        by: str | None = None,
    ) -> None:
        self.name = checked_name(name, "experiment name")
        self._by: str | None = None
        self._archives: str | Path | None = None
        if clock is not None and not isinstance(clock, Clock):
            raise InputError("a rankone.serving.clock.Clock", clock, "pass an object of a subclass, or leave it out")
        policy = policy_for_segments(policy) if per_segment else policy
        asked = checked_settings(
            rows, cols, policy, window, auto_stop, seed, max_open, max_age, goal, explore, margin, control, share,
            reward_cap, factors, on_change, on_misfit,
        )  # fmt: skip
        past = past_counts(prior, weight)
        self._owns_database = not isinstance(db, Database)
        self.database = db if isinstance(db, Database) else Database(db, durability=durability)
        self._transactions = self.database.transactions
        try:
            names = self._transactions.storage.names
            make = functools.partial(new_settings, self.name, asked, past, weight, names)
            self._cached = self._transactions.enter(self.name, make, clock, by)
            self.look(functools.partial(check_continues, asked=asked, past=past, weight=weight))
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
    ) -> Decision: ...
    @overload
    def ask(
        self,
        count: int,
        *,
        key: str | None = None,
        source: str | None = None,
        segment: Segment | Mapping[str, Any] | None = None,
    ) -> list[Decision]: ...
    def ask(
        self,
        count: int | None = None,
        *,
        key: str | None = None,
        source: str | None = None,
        segment: Segment | Mapping[str, Any] | None = None,
    ) -> Decision | list[Decision]:
        """Return the next decision, or a list of `count` of them. They are stored before they are returned.

        The same `key` again returns the same decisions, whatever is said of the visitor by then: pass one to make a
        retry safe. `segment` says what is known of the visitor, such as ``{"device": "phone", "country": "DE"}``: the
        same attributes every time, a few levels of each. The report tells whether what is best depends on it.
        """
        (answer,) = self.do([Ask(1 if count is None else count, key, source, segment=segment)])
        if isinstance(answer, Exception):
            raise answer
        return answer[0] if count is None else answer

    @old_arguments(id="decision")
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

    @old_arguments(id="decision")
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

        def plan(some: list[int], fold: Fold, draft: Draft) -> int:
            still = [number for number in drafts.open_for(fold, age, draft.at, some) if number not in fold.held]
            if source is not None or token is not None:
                still = self._transactions.storage.asked_by(self._cached.number, still, source, token)
            drafts.draft_voids(fold, draft, still)
            return len(still)

        old = self.look(lambda fold: drafts.open_for(fold, age, self._cached.time.now()))
        stretches = [old[first : first + _VOIDED_AT_ONCE] for first in range(0, len(old), _VOIDED_AT_ONCE)]
        return sum(self._change(functools.partial(plan, some)) for some in stretches)

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

    def report(self) -> Report:
        """Return what leads, how sure that is, how much traffic each level got and what is still in the race."""
        if self.look(self._window_due) and not self.database.read_only:
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

    def settle(self) -> None:
        """End the windows that are over; every request does, so this is for quiet times."""
        self._transactions.write(self._cached, [])

    def _window_due(self, fold: Fold) -> bool:
        return bool(fold.due) and fold.open[fold.due[0]].at + fold.settings.window <= self._cached.time.now()

    @old_positions("why")
    def stop(
        self,
        row: str | None = None,
        col: str | None = None,
        *,
        levels: Mapping[str, str] | None = None,
        why: str = "by hand",
    ) -> tuple[str, ...]:
        """Stop experimenting: from now on every decision is one combination, what leads unless another is named.

        Return the names of its levels: of a pair, the row and the column. The stop lasts until `resume`, or until one
        of these levels is retired.

        Args:
            row: the row that every visitor sees; None: the leading one.
            col: the column.
            levels: the same by factor, such as ``{"headline": "A"}``; the others are those that lead.
            why: a note for the journal.
        """
        checked_name(why, "why")
        named = named_levels(row, col, levels)
        shown = self._change(lambda fold, draft: drafts.draft_stop(fold, draft, named, why))
        return tuple(shown.values())

    def resume(self) -> None:
        """Experiment again after a stop, on all that is known."""
        self._change(drafts.draft_resume)

    def exclude(
        self,
        *,
        source: str | None = None,
        token: str | None = None,
        row: str | None = None,
        col: str | None = None,
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
            row: of this row.
            col: of this column.
            levels: of these levels, by factor.
            since: asked at this time (seconds since 1970) or later.
            until: asked before this time.
            prior: also forget the past counts that the experiment began with.
            why: a note for the journal.
        """
        if token is not None:
            checked_name(token, "token")
        named, times = named_levels(row, col, levels), checked_times(since=since, until=until)
        unwanted = Unwanted(source, token, named, times, prior, checked_name(why, "why"))
        return exclude_outcomes(self.database, self._cached, unwanted, self._archives, self._by)

    def _change_levels(self, factor: str, name: str, add: bool) -> int:
        checked_name(factor, "factor name")
        checked_name(name, f"{factor} name")
        return self._change(lambda fold, draft: drafts.draft_levels(fold, draft, factor, name, add))

    def _change_forbidden(self, levels: Mapping[str, str], forbid: bool) -> None:
        named = named_levels(None, None, levels)
        self._change(lambda fold, draft: drafts.draft_forbidden(fold, draft, named, forbid))

    def add_factor(self, factor: str, levels: Sequence[str]) -> None:
        """Add a whole factor: all decisions so far had the first of its levels."""
        self._change(lambda fold, draft: drafts.draft_factor(fold, draft, factor, levels))

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
