"""The embedded experiment: ask what to show, tell whether it was clicked; durable by default, no server."""

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar, Unpack

from rankone.errors import InputError
from rankone.live.commit import operator_events as drafts
from rankone.live.commit import publishing
from rankone.live.database import Database
from rankone.live.experiment_methods import ExperimentMethods
from rankone.live.fold.fold import Fold
from rankone.live.journal.clock import Clock
from rankone.live.journal.events import Draft
from rankone.live.messages import Change, Outcome, Request, Tell, each_answered
from rankone.live.names import checked_name
from rankone.live.opening import check_continues, checked_settings, new_settings
from rankone.live.operate.change_log import changes_of
from rankone.live.operate.excluding import Unwanted, exclude_outcomes, finish_exclusions, rests_for
from rankone.live.report.make_report import make_report
from rankone.live.report.report import Report
from rankone.live.setting_kinds import checked_seconds, checked_times
from rankone.live.settings import LocalWishes, Settings
from rankone.live.settings_spelled_out import takes_settings
from rankone.policies import Policy

T = TypeVar("T")
_VOIDED_AT_ONCE = 10_000  # decisions in one commit
_DRAFTS: dict[str, Callable[..., Any]] = {
    "stop": drafts.draft_stop,
    "resume": drafts.draft_resume,
    "levels/add": functools.partial(drafts.draft_level, add=True),
    "levels/retire": functools.partial(drafts.draft_level, add=False),
    "forbid": functools.partial(drafts.draft_forbidden, forbid=True),
    "allow": functools.partial(drafts.draft_forbidden, forbid=False),
    "factors/add": drafts.draft_factor,
    "context": drafts.draft_context,
}


@takes_settings(LocalWishes)
class Experiment(ExperimentMethods):
    """A live experiment on combinations of factors, kept in a database: made if it is new, continued if it is there.

    Args:
        name: name of the experiment in its database.
        rows: with `cols`, short for two `factors` called "row" and "col": the names of their levels.
        cols: the same.
        db: a SQLite file, a ``postgresql://`` address, or a `Database` opened before; None or ``":memory:"`` to try
            things: all is gone when the experiment is closed.
        durability: "full" (survives power cuts), "normal" (survives crashes of the program) or "off".
        factors: what is shown: the levels of each factor by its name, such as
            ``{"headline": ["A", "B"], "image": ["1", "2"], "button": ["buy", "try"]}``. A new experiment needs them.
        sync: add and retire levels of an experiment that is there, so that it has those of `factors`. Programs with
            different lists would undo each other's changes; without it a different list is an error.
        **settings

    Settings that are left out are as they were when the experiment was made, and those that are given must not
    contradict that; durability belongs to the program. A group of settings, such as `stopping`, is given as a
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

    _clock: ClassVar[Clock | None] = None  # the machine's; a subclass in tests has its own

    def __init__(
        self,
        name: str,
        rows: Sequence[str] | int | None = None,
        cols: Sequence[str] | int | None = None,
        policy: str | Policy | None = None,
        db: str | Path | Database | None = "rankone.db",
        *,
        durability: str = "full",
        sync: bool = False,
        **settings: Unpack[LocalWishes],
    ) -> None:
        self.name = checked_name(name, "experiment name")
        self._by: str | None = None
        asked = checked_settings({"rows": rows, "cols": cols, "policy": policy, **settings})
        self._owns_database = not isinstance(db, Database)
        self.database = db if isinstance(db, Database) else Database(db, durability=durability)
        self._transactions = self.database.transactions
        try:
            make = functools.partial(new_settings, self.name, asked, self._transactions.storage.names)
            self._cached = self._transactions.enter(self.name, make, self._clock, self.database.by)
            factors = asked.pop("factors") if sync and "factors" in asked else ()
            self.look(functools.partial(check_continues, asked=asked))
            self._sync_levels(dict(factors))
        except BaseException:
            self.close()
            raise

    def _sync_levels(self, wanted: Mapping[str, Sequence[str]]) -> None:
        """Add the levels that an experiment lacks, then retire those that it should not have."""
        for change in ("add", "retire") if wanted else ():
            living = self.look(lambda fold: {name: levels.names_living() for name, levels in fold.factors.items()})
            if set(living) != set(wanted):
                raise InputError(f"the factors {', '.join(living)}", ", ".join(wanted), "add_factor adds one")
            for factor, names in wanted.items():
                more, fewer = (names, living[factor]) if change == "add" else (living[factor], names)
                for name in more:
                    if name not in fewer:
                        self._change_level(change, factor, name)

    def do(self, requests: Sequence[Request]) -> list[Any]:
        """Carry out requests as one durable commit; return for each its answer, or the error it deserves.

        An `Ask` is answered by a list of decisions, a `Tell`, `Track` or `Void` by an outcome.
        """
        return each_answered(requests, lambda sound: self._transactions.write(self._cached, sound))

    def _carry_out(self, request: Request) -> Any:
        (answer,) = self.do([request])
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _carry_out_tells(self, requests: list[Tell], source: str | None) -> list[Outcome | Exception]:
        return self.do(requests)

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
        result = copy.copy(self)
        result._by, result._owns_database = token, False
        return result

    def _weights(self, version: int | None) -> dict[str, Any]:
        now = self._cached.time.now
        if version is None and not self.database.read_only and self.look(lambda fold: publishing.is_due(fold, now())):
            self._transactions.change(self._cached, publishing.draft_version)
        return self.look(lambda fold: publishing.weights_document(fold, version, now()))

    def _ingest(self, source: Any, query: str | None, since: float | None) -> Any:
        from rankone.live.operate.taking_in import Intake, portions

        intake = Intake(self._transactions, self._cached, self._by)
        for portion in portions(source, query, since):
            intake.take(portion)
        return intake.result()

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

    def _change(self, what: str, **details: Any) -> Any:
        if what in ("exclude", "void-open") and self.look(lambda fold: fold.published is not None):
            do = "leave such rows out before you tell them, or begin another experiment"
            raise InputError("outcomes that are kept one by one", "sums, as it decides at the edge", do)
        if what == "exclude":
            times = checked_times(since=details.pop("since"), until=details.pop("until"))
            return exclude_outcomes(self.database, self._cached, Unwanted(**details, times=times), self._by)
        if what == "void-open":
            return self._void_open(**details)
        return self._transactions.change(self._cached, functools.partial(_DRAFTS[what], **details), self._by)

    def _void_open(self, older_than: float, source: str | None, token: str | None) -> int:
        """Close old decisions some at a time: others shall not wait long."""
        age, of = checked_seconds(older_than, "older_than", "older_than=600"), self._cached

        def plan(fold: Fold, draft: Draft, some: list[int]) -> int:
            still = [number for number in drafts.open_for(fold, age, draft.at, some) if number not in fold.held]
            if source is not None or token is not None:
                still = self._transactions.storage.asked_by(of.number, still, source, token)
            drafts.draft_voids(fold, draft, still)
            return len(still)

        old = self.look(lambda fold: drafts.open_for(fold, age, of.time.now()))
        stretches = [old[first : first + _VOIDED_AT_ONCE] for first in range(0, len(old), _VOIDED_AT_ONCE)]
        plans = [functools.partial(plan, some=some) for some in stretches]
        return sum(self._transactions.change(of, each, self._by) for each in plans)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} in {self.database.where}>"

    def close(self) -> None:
        """Close the database if this experiment opened it; what was answered is stored already."""
        if self._owns_database:
            self.database.close()
