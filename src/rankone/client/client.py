"""The client: experiments at a service, used like `rankone.Experiment`.

A retry never asks twice (each ask carries a key of its own) and never counts an outcome twice (outcomes are told by
id), so the client tries again by itself while the service is away, busy or restarting. What else changes an experiment
(stop, exclude, add_level, ...) might be done twice: it is tried again only where the service cannot have begun with it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, Unpack, overload
from urllib.parse import quote

from rankone.client.transport import Transport, problem_error
from rankone.errors import InputError
from rankone.live.level_changes import LevelChanges
from rankone.live.messages import (
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
from rankone.live.names import checked_combination
from rankone.live.report.report import Report
from rankone.live.settings import Wishes, checked_wishes, takes_settings
from rankone.live.visitor_attributes import Segment, checked_declaration

if TYPE_CHECKING:
    from rankone.policies import Policy

_CREATING = 300.0  # seconds: the first experiment of a policy may have to wait for a compiler
_PLANNING = 300.0  # and so may the first plan
_EXCLUDING = 600.0  # a long journal is counted again


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

    @takes_settings(Wishes)
    def create(
        self,
        name: str,
        rows: Sequence[str] | int | None = None,
        cols: Sequence[str] | int | None = None,
        policy: str | Policy | None = None,
        **settings: Unpack[Wishes],
    ) -> RemoteExperiment:
        """Create an experiment, or find that it is there with these settings, which `rankone.Experiment` has too."""
        asked = checked_wishes({"rows": rows, "cols": cols, "policy": policy, **settings})
        if "prior" in asked:
            do = "begin with them where its database is: rankone create --prior"
            raise InputError("settings that can be sent to a service", "past counts", do)
        body = {"name": name, **asked, "factors": dict(asked.get("factors", ()))}
        self.transport.send("POST", "/v1/experiments", body, timeout=_CREATING)
        return self.experiment(name)

    def plan(
        self,
        factors: Mapping[str, int | Sequence[str]],
        rate: float,
        lift: float,
        *,
        visitors_a_day: float | None = None,
        goal: str | None = None,
        margin: float = 0.0,
        error: float = 0.05,
    ) -> dict[str, Any]:
        """Return what `rankone.plan` says before an experiment begins, worked out by the service, as plain values.

        ``["sentence"]`` is made for reading, ``["spans"]`` has the visitors until a verdict for each goal.
        """
        sizes = {name: levels if isinstance(levels, int) else len(levels) for name, levels in factors.items()}
        wishes = {"factors": sizes, "rate": rate, "lift": lift}
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
        """Return the next decision, or a list of `count` of them.

        `segment` says what is known of the visitor and `visitor` who it is, as in `rankone.Experiment.ask`; a service
        takes attributes only that are declared.
        `TooManyOpen` is raised at once: a visitor waits for this answer, and waiting rarely makes room.
        """
        asked = _checked(Ask(1 if count is None else count, key, source, segment=segment, visitor=visitor))
        if key is not None and not key.isascii():
            raise InputError("a key of plain characters, to go into a header", key, "use the characters of ASCII")
        headers = {} if visitor is not None else {"Idempotency-Key": secrets.token_hex(16) if key is None else key}
        said = None if asked.segment is None else dict(zip(asked.segment.attributes, asked.segment.levels, strict=True))
        body = _given(count=asked.count, source=source, segment=said, visitor=visitor)
        found = self._transport.send("POST", f"{self._path}/ask", body, headers)["decisions"]
        decisions = [Decision(**decision) for decision in found]
        return decisions[0] if count is None else decisions

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

    def stop(self, levels: Mapping[str, str] | None = None, *, why: str = "by hand") -> dict[str, str]:
        """Stop experimenting: from now on every decision is one combination, what leads unless another is named.

        Return its levels by factor.
        """
        return self._post("stop", _given(levels=checked_combination(levels) or None, why=why))["shown"]

    def resume(self) -> None:
        """Experiment again after a stop, on all that is known."""
        self._post("resume", None)

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

        `token` is the id of a token, as `rankone token list` shows it: what it asked and told is undone. `prior`
        also forgets the past counts that the experiment began with.
        """
        fits = _given(source=source, token=token, levels=checked_combination(levels) or None)
        fits |= _given(since=since, until=until, prior=prior or None, why=why)
        return self._post("exclude", fits, _EXCLUDING)["excluded"]

    def void_open(self, older_than: float, *, source: str | None = None, token: str | None = None) -> int:
        """Close all decisions that have been open for so many seconds or longer; return how many."""
        return self._post("void-open", _given(older_than=older_than, source=source, token=token))["voided"]

    def _change_levels(self, factor: str, name: str, add: bool) -> int:
        return self._post(f"levels/{'add' if add else 'retire'}", {"factor": factor, "name": name})["number"]

    def _change_forbidden(self, levels: Mapping[str, str], forbid: bool) -> None:
        self._post("forbid" if forbid else "allow", {"levels": checked_combination(levels)})

    def add_factor(self, factor: str, levels: Sequence[str]) -> None:
        """Add a whole factor: all decisions so far had the first of its levels."""
        self._post("factors/add", {"factor": factor, "levels": list(levels)})

    def declare_segments(self, segments: Mapping[str, Sequence[Any] | None]) -> None:
        """Say which attributes of visitors are told apart from now on, as in `rankone.Experiment`."""
        self._post("segments", {"segments": dict(checked_declaration(segments))})

    def close(self) -> None:
        """Close the connections to the service that are not in use; another call opens one again."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _post(self, path: str, body: Any, timeout: float | None = None) -> Any:
        return self._transport.send("POST", f"{self._path}/{path}", body, again=path == "tell", timeout=timeout)

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
