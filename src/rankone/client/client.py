"""The client: experiments at a service, used like `rankone.Experiment`.

A retry never asks twice (each ask carries a key of its own) and never counts an outcome twice (outcomes are told by
id), so the client tries again by itself while the service is away, busy or restarting. What else changes an experiment
(stop, exclude, add_row, ...) might be done twice: it is tried again only where the service cannot have begun with it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, overload
from urllib.parse import quote

from rankone.client.transport import Transport, problem_error
from rankone.deprecation import old_arguments, old_positions
from rankone.errors import InputError
from rankone.serving.level_changes import LevelChanges
from rankone.serving.messages import (
    Ask,
    Change,
    Decision,
    Outcome,
    Tell,
    Void,
    checked_request,
    each_answered,
    id_of,
    tells,
)
from rankone.serving.names import PAIR, checked_factors, checked_levels
from rankone.serving.report import Report
from rankone.serving.segment_names import Segment

if TYPE_CHECKING:
    from rankone.policies import Policy

_CREATING = 300.0  # seconds: the first experiment of a policy may have to wait for a compiler
_PLANNING = 300.0  # and so may the first plan


class Client:
    """A service that runs experiments. Threads and forked processes may share one client.

    Args:
        url: address of the service, such as ``http://127.0.0.1:8000``.
        token: what `rankone token create` printed; None: the service serves its own machine.
        patience: seconds to go on trying while the service is away, busy or restarting.
        timeout: seconds to wait for one answer.

    >>> homepage = Client("http://127.0.0.1:8000").experiment("homepage")
    >>> homepage
    <RemoteExperiment 'homepage'>
    """

    def __init__(self, url: str, token: str | None = None, *, patience: float = 10.0, timeout: float = 30.0) -> None:
        self.transport = Transport(url, token, patience, timeout)

    def __repr__(self) -> str:
        return f"<Client {self.transport.address}>"

    def experiments(self) -> list[dict[str, Any]]:
        """Return the experiments that the token may read, with their settings; not those whose journal is damaged."""
        return self.transport.send("GET", "/v1/experiments")["experiments"]

    def experiment(self, name: str) -> RemoteExperiment:
        """Return an experiment that is there; nothing is sent yet."""
        return RemoteExperiment(self.transport, name)

    def create(
        self,
        name: str,
        rows: Sequence[str] | int | None = None,
        cols: Sequence[str] | int | None = None,
        policy: str | Policy | None = None,
        *,
        window: float | None = None,
        auto_stop: float | None = None,
        seed: int | None = None,
        max_open: int | None = None,
        max_age: float | None = None,
        reward_cap: float | None = None,
        goal: str | None = None,
        explore: float | None = None,
        margin: float | None = None,
        control: Sequence[str] | Mapping[str, str] | None = None,
        share: float | None = None,
        factors: Mapping[str, Sequence[str] | int] | None = None,
        on_change: str | None = None,
        on_misfit: str | None = None,
        per_segment: bool = False,
    ) -> RemoteExperiment:
        """Create an experiment, or find that it is there with these settings, which `rankone.Experiment` has too."""
        label = policy if policy is None or isinstance(policy, str) else policy.label
        settings: dict[str, Any] = {"name": name, **_levels(rows, cols, factors), "policy": label}
        settings |= {"window": window, "auto_stop": auto_stop, "seed": seed, "max_open": max_open, "max_age": max_age}
        settings |= {"goal": goal, "explore": explore, "margin": margin, "share": share, "reward_cap": reward_cap}
        settings |= {"on_change": on_change, "on_misfit": on_misfit, "per_segment": per_segment or None}
        held: Any = dict(control) if isinstance(control, Mapping) else control
        given = _given(**settings, control=list(held) if isinstance(held, tuple) else held)
        self.transport.send("POST", "/v1/experiments", given, timeout=_CREATING)
        return self.experiment(name)

    def plan(
        self,
        rows: int | None = None,
        cols: int | None = None,
        rate: float | None = None,
        lift: float | None = None,
        *,
        factors: Mapping[str, int | Sequence[str]] | None = None,
        visitors_a_day: float | None = None,
        goal: str | None = None,
        margin: float = 0.0,
        error: float = 0.05,
    ) -> dict[str, Any]:
        """Return what `rankone.plan` says before an experiment begins, worked out by the service, as plain values.

        ``["sentence"]`` is made for reading, ``["spans"]`` has the visitors until a verdict for each goal.
        """
        sizes = None if factors is None else {name: _size(levels) for name, levels in factors.items()}
        wishes = _given(rows=rows, cols=cols, factors=sizes, rate=rate, lift=lift)
        wishes |= _given(visitors_a_day=visitors_a_day, goal=goal, margin=margin, error=error)
        return self.transport.send("POST", "/v1/plan", wishes, timeout=_PLANNING)

    def health(self) -> dict[str, Any]:
        """Return the service's word that it is well."""
        return self.transport.send("GET", "/health")

    def close(self) -> None:
        """Close the connections to the service that are not in use; another call opens one again."""
        self.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class RemoteExperiment(LevelChanges):
    """An experiment at a service, with the methods of `rankone.Experiment`."""

    def __init__(self, transport: Transport, name: str) -> None:
        self.name = name
        self._transport, self._path = transport, f"/v1/experiments/{quote(name, safe='')}"

    def __repr__(self) -> str:
        return f"<RemoteExperiment {self.name!r}>"

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()

    def to_pandas(self) -> Any:
        """Return the levels of the report for pandas."""
        return self.report().to_pandas()

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
        """Return the next decision, or a list of `count` of them.

        `segment` says what is known of the visitor, as in `rankone.Experiment.ask`.
        `TooManyOpen` is raised at once: a visitor waits for this answer, and waiting rarely makes room.
        """
        asked = _checked(Ask(1 if count is None else count, key, source, segment=segment))
        if key is not None and not key.isascii():
            raise InputError("a key of plain characters, to go into a header", key, "use the characters of ASCII")
        headers = {"Idempotency-Key": secrets.token_hex(16) if key is None else key}
        said = None if asked.segment is None else dict(zip(asked.segment.attributes, asked.segment.levels, strict=True))
        body = _given(count=asked.count, source=source, segment=said)
        found = self._transport.send("POST", f"{self._path}/ask", body, headers)["decisions"]
        decisions = [Decision.of_dict(decision) for decision in found]
        return decisions[0] if count is None else decisions

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
        told = _checked(Tell(id_of(decision), clicked, source, reward=reward))
        body = _given(clicked=told.clicked, reward=told.reward, source=source)
        return Outcome.of_dict(self._put(f"{_decision(told.id)}/outcome", body))

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

        def carry_out(told: list[Any]) -> list[Outcome | Exception]:
            content = [_given(id=str(tell.id), clicked=tell.clicked, reward=tell.reward) for tell in told]
            found = self._post("tell", _given(outcomes=content, source=source))["outcomes"]
            return [problem_error(answer) if "code" in answer else Outcome.of_dict(answer) for answer in found]

        return each_answered(tells(outcomes, source, rewards), carry_out)

    @old_arguments(id="decision")
    def void(self, decision: str | Decision) -> Outcome:
        """Close a decision that was never shown: nothing is learned from it."""
        closed = _checked(Void(id_of(decision)))
        return Outcome.of_dict(self._put(f"{_decision(closed.id)}/void", None))

    def report(self) -> Report:
        """Return what leads, how sure that is, how much traffic each level got and what is still in the race."""
        return Report.of_dict(self._transport.send("GET", f"{self._path}/report"))

    def changes(self) -> list[Change]:
        """Return who has changed what, and when: creation, levels, stops, exclusions, archives; oldest first."""
        found = self._transport.send("GET", f"{self._path}/changes")
        return [Change(**each) for each in found["changes"]]

    def export(self, format: str = "jsonl") -> bytes:
        """Return all decisions, one row each, as csv, jsonl or parquet."""
        return self._transport.send("GET", f"{self._path}/export?format={quote(format)}", raw=True)

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

        Return the names of its levels: of a pair, the row and the column. `levels` names them by factor.
        """
        stopped = self._post("stop", _given(row=row, col=col, levels=levels and dict(levels), why=why))
        if stopped.get("shown_levels") is not None:
            return tuple(stopped["shown_levels"].values())
        return stopped["shown_row"], stopped["shown_col"]

    def resume(self) -> None:
        """Experiment again after a stop, on all that is known."""
        self._post("resume", None)

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

        `token` is the id of a token, as `rankone token list` shows it: what it asked and told is undone. `prior`
        also forgets the past counts that the experiment began with.
        """
        fits = _given(source=source, token=token, row=row, col=col, since=since, until=until, why=why)
        fits |= {"levels": dict(levels)} if levels else {}
        fits |= {"prior": True} if prior else {}
        return self._post("exclude", fits)["excluded"]

    def void_open(self, older_than: float, *, source: str | None = None, token: str | None = None) -> int:
        """Close all decisions that have been open for so many seconds or longer; return how many."""
        return self._post("void-open", _given(older_than=older_than, source=source, token=token))["voided"]

    def _change_levels(self, factor: str, name: str, add: bool) -> int:
        do = "add" if add else "retire"
        if factor in PAIR:
            return self._post(f"{factor}s/{do}", {"name": name})["number"]
        return self._post(f"levels/{do}", {"factor": factor, "name": name})["number"]

    def _change_forbidden(self, levels: Mapping[str, str], forbid: bool) -> None:
        self._post("forbid" if forbid else "allow", {"levels": dict(levels)})

    def add_factor(self, factor: str, levels: Sequence[str]) -> None:
        """Add a whole factor: all decisions so far had the first of its levels."""
        self._post("factors/add", {"name": factor, "levels": list(levels)})

    def close(self) -> None:
        """Close the connections to the service that are not in use; another call opens one again."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _post(self, path: str, body: Any) -> Any:
        return self._transport.send("POST", f"{self._path}/{path}", body, again=path == "tell")

    def _put(self, path: str, body: Any) -> Any:
        return self._transport.send("PUT", f"{self._path}/{path}", body)


def _decision(id: str) -> str:
    return f"decisions/{quote(str(id), safe='')}"


def _checked(request: Any) -> Any:
    """Return a request that makes sense, or raise the error that the embedded experiment would have raised."""
    checked = checked_request(request)
    if isinstance(checked, InputError):
        raise checked
    return checked


def _given(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _levels(rows: Any, cols: Any, factors: Any) -> dict[str, Any]:
    """Return the levels of a new experiment as the service takes them."""
    if factors is None:
        return {"rows": list(checked_levels(rows, "row")), "cols": list(checked_levels(cols, "col"))}
    rows, cols, named = checked_factors(rows, cols, factors)
    if named is None:
        return {"rows": list(rows), "cols": list(cols)}
    return {"factors": {factor: list(levels) for factor, levels in named}}


def _size(levels: int | Sequence[str]) -> int:
    """Return how many levels a factor has, of which there are the names or the number."""
    return levels if isinstance(levels, int) else len(levels)
