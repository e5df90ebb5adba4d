"""What can be done with an experiment, the same with one of this process and one at a service.

Plain Python: the client has it too. What is asked for is checked here; how it is carried out is up to the two of them.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, Unpack, overload

from rankone.live.lists import ITEM, checked_items
from rankone.live.messages import Ask, AskDetails, Change, Decision, Outcome, Request, Tell, Track, Void, id_of, tells
from rankone.live.names import checked_combination, checked_name
from rankone.live.visitor_attributes import VisitorContext, checked_declaration

if TYPE_CHECKING:
    from rankone.live.report.report import Report


class ExperimentMethods(abc.ABC):
    """The methods of an experiment."""

    name: str

    @abc.abstractmethod
    def _carry_out(self, request: Request) -> Any:
        """Return the answer to a request, or raise the error that it deserves."""

    @abc.abstractmethod
    def _carry_out_tells(self, requests: list[Tell], source: str | None) -> list[Outcome | Exception]:
        """Return for each request its answer, or the error that it deserves."""

    @abc.abstractmethod
    def _change(self, what: str, **details: Any) -> Any:
        """Change the experiment: `what` is the path of the change by HTTP, and `details` what it takes."""

    @abc.abstractmethod
    def report(self) -> Report:
        """Return what leads, how sure that is, how much traffic each level got and what is still in the race."""

    @abc.abstractmethod
    def changes(self) -> list[Change]:
        """Return who has changed what, and when: creation, levels, stops, exclusions, archives; oldest first."""

    @abc.abstractmethod
    def close(self) -> None:
        """Close what the experiment has opened; what was answered is stored already."""

    @abc.abstractmethod
    def _weights(self, version: int | None) -> dict[str, Any]:
        """Return the weights of a version."""

    @abc.abstractmethod
    def _ingest(self, source: Any, query: str | None, since: float | None) -> Any:
        """Take in what was shown and clicked elsewhere."""

    def weights(self, version: int | None = None) -> dict[str, Any]:
        """Return the weights by which others decide (policy `edge`), the newest unless a version is named.

        They are renewed when enough was told since, and when levels were added, retired or forbidden, or it stopped.
        """
        return self._weights(version)

    def ingest(self, source: Any, *, query: str | None = None, since: float | None = None) -> Any:
        """Take in what was shown and clicked elsewhere: exposures (with a `version`) and outcomes; say what came of it.

        Each visitor counts once a version, and clicks once in it, however often, late and in whatever order they are
        told. `source` is a list of dictionaries or, of an experiment that is not at a service, a frame, a Parquet, CSV
        or JSON lines file; with `query`, a database (a SQLite file or a ``postgresql://`` address) and `query` the SQL.
        `since` leaves out earlier rows.
        """
        return self._ingest(source, query, since)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()

    def to_pandas(self) -> Any:
        """Return the levels of the report for pandas."""
        return self.report().to_pandas()

    @overload
    def ask(self, count: None = None, **details: Unpack[AskDetails]) -> Decision: ...
    @overload
    def ask(self, count: int, **details: Unpack[AskDetails]) -> list[Decision]: ...
    def ask(
        self,
        count: int | None = None,
        *,
        key: str | None = None,
        source: str | None = None,
        context: VisitorContext | Mapping[str, Any] | None = None,
        visitor: str | None = None,
        candidates: Sequence[str] | None = None,
        pinned: Mapping[int, str] | None = None,
        exclude: Sequence[str] | None = None,
    ) -> Decision | list[Decision]:
        """Return the next decision, or a list of `count` of them. They are stored before they are returned.

        The same request with the same `key` again returns the same decisions: pass one to make a retry safe (a client
        sends one of its own). The same `visitor` gets the same decision, whatever else is said, until levels change,
        outcomes are excluded or the experiment stops; asked again, its id can tell the outcome and not `void` it. Where
        the policy chooses for each visitor, such as `mixture-ts`, every ask needs one and gets a new choice.
        `context` says what is known of the visitor, such as ``{"device": "phone", "country": "DE"}``: declared
        attributes or, of an experiment that is not at a service, those of the first ask. What is left out is "unknown".
        The report tells whether what is best depends on it.

        Of a ranking only `candidates` are shown, nothing that `exclude` names, and what is `pinned` at its position
        (from 1): that is shown and not compared. The list is shorter where they do not fill it.
        """
        limits: dict[str, Any] = {"candidates": candidates, "pinned": pinned, "exclude": exclude}
        request = Ask(1 if count is None else count, key, source, context=context, visitor=visitor, **limits)
        decisions = self._carry_out(request)
        return decisions[0] if count is None else decisions

    def tell(
        self,
        decision: str | Decision,
        clicked: bool | Sequence[int | str] | None = None,
        *,
        goal: str | None = None,
        value: float | None = None,
        key: str | None = None,
        source: str | None = None,
        seen: int | None = None,
    ) -> Outcome:
        """Tell the outcome of a decision, given whole or by its id: any order, any time later, once.

        Where the experiment has `goals`, tell the `value` of a `goal` (left out: of the one that steers). Counts and
        amounts add up until the window of the goal ends; one with a `key`, such as an order's number, counts once.

        Of a list, `clicked` are positions from 1 or names of items, `[]` for none, and `seen` is how many positions
        from the top were seen. With a window they may come in parts, until it ends: clicks add up, the largest `seen`
        stands.
        """
        return self._carry_out(Tell(id_of(decision), clicked, source, goal=goal, value=value, key=key, seen=seen))

    def track(
        self, visitor: str, goal: str, value: float | None = None, *, key: str | None = None, source: str | None = None
    ) -> Outcome:
        """Tell an outcome of a visitor, by the name with which decisions were asked: it counts for the latest one.

        A visitor without a decision is counted and no error ("unmatched"). An outcome with a `key` counts once. Left
        out, the value is 1; an amount needs one.
        """
        return self._carry_out(Track(visitor, goal, value, key, source))

    def tell_many(
        self,
        outcomes: Iterable[tuple[str | Decision, bool | float]],
        *,
        goal: str | None = None,
        source: str | None = None,
    ) -> list[Outcome | Exception]:
        """Tell many outcomes at once; each gets an outcome, or the error it would have raised.

        With a `goal` what stands beside a decision is its value.
        """
        return self._carry_out_tells(tells(outcomes, source, goal), source)

    def void(self, decision: str | Decision) -> Outcome:
        """Close a decision that was never shown: nothing is learned from it."""
        return self._carry_out(Void(id_of(decision)))

    def void_open(self, older_than: float, *, source: str | None = None, token: str | None = None) -> int:
        """Close all decisions that have been open for so many seconds or longer; return how many.

        Nothing is learned from them, and outcomes that arrive later are recorded as late. Outcomes that are held until
        their windows end are left alone.

        Args:
            older_than: seconds since they were asked.
            source: only those asked with this `source`.
            token: only those that a service was asked with this token, by its id, whatever source it named.
        """
        for what, text in (("source", source), ("token", token)):
            if text is not None:
                checked_name(text, what)
        return self._change("void-open", older_than=older_than, source=source, token=token)

    def stop(self, levels: Mapping[str, str] | Sequence[str] | None = None, *, why: str = "by hand") -> dict[str, str]:
        """Stop experimenting: from now on every decision is one combination, what leads unless another is named.

        Return its levels by factor. The stop lasts until `resume`, or until one of these levels is retired.

        Args:
            levels: what every visitor sees, such as ``{"headline": "A"}``; of factors left out, the level that leads.
                Of a ranking, the list of its items; left out, the present one.
            why: a note for the journal.
        """
        if isinstance(levels, Sequence):
            levels = {str(position): item for position, item in enumerate(checked_items(levels, "list"), start=1)}
        return self._change("stop", levels=checked_combination(levels), why=checked_name(why, "why"))

    def resume(self) -> None:
        """Experiment again after a stop, on all that is known."""
        self._change("resume")

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
        (`rankone archive`) are not.

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
        fits = {"source": source, "token": token, "levels": checked_combination(levels), "since": since, "until": until}
        return self._change("exclude", **fits, prior=prior, why=checked_name(why, "why"))

    def add_level(self, factor: str, name: str) -> int:
        """Add a level to a factor; return its number. What is known of the other levels stays known."""
        return self._change_level("add", factor, name)

    def retire_level(self, factor: str, name: str) -> int:
        """Withdraw a level of a factor: it is never chosen again; outcomes of earlier decisions are still recorded.

        A stopped experiment that shows it experiments again, on the levels that are left.
        """
        return self._change_level("retire", factor, name)

    def add_item(self, name: str) -> int:
        """Add an item to a ranking; return its number. What clicks say of items is compared anew from here on."""
        return self.add_level(ITEM, name)

    def retire_item(self, name: str) -> int:
        """Withdraw an item of a ranking: it is never shown again. The others are compared anew from here on."""
        return self.retire_level(ITEM, name)

    def _change_level(self, what: str, factor: str, name: str) -> int:
        checked_name(factor, "factor name")
        return self._change(f"levels/{what}", factor=factor, name=checked_name(name, f"name of a level of '{factor}'"))

    def forbid(self, levels: Mapping[str, str]) -> None:
        """Never show levels of two or more factors together, such as ``{"headline": "20% off", "button": "free"}``.

        Where the best levels are forbidden together, what is allowed is compared by two levels at a time, which takes
        more visitors. Every level must keep something to be shown with.
        """
        self._change("forbid", levels=checked_combination(levels))

    def allow(self, levels: Mapping[str, str]) -> None:
        """Show levels together again that `forbid` forbade."""
        self._change("allow", levels=checked_combination(levels))

    def add_factor(self, factor: str, levels: Sequence[str]) -> None:
        """Add a whole factor: all decisions so far had the first of its levels."""
        self._change("factors/add", factor=factor, levels=levels)

    def declare_context(self, context: Mapping[str, Any]) -> None:
        """Say which attributes of visitors are told apart from now on, and with which levels, as at the beginning.

        Segments that do not fit are counted among the others; then all that was proven of segments is proven anew.
        """
        self._change("context", context=dict(checked_declaration(context)))
