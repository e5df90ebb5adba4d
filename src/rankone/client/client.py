"""The client: experiments at a service, used like `rankone.Experiment`.

A retry never asks twice (each ask carries a key of its own) and never counts an outcome twice (outcomes are told by
id), so the client tries again by itself while the service is away, busy or restarting. What else changes an experiment
(stop, exclude, add_level, ...) might be done twice: it is tried again only where the service cannot have begun with it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, Unpack
from urllib.parse import quote

from rankone.client.transport import Transport, problem_error
from rankone.errors import InputError
from rankone.live.experiment_methods import ExperimentMethods
from rankone.live.lists import restriction
from rankone.live.messages import (
    Ask,
    Change,
    Decision,
    Outcome,
    Request,
    Tell,
    Track,
    Void,
    checked_request,
    each_answered,
)
from rankone.live.report.report import Report
from rankone.live.settings import RemoteWishes, parsed_settings
from rankone.live.settings_spelled_out import takes_settings

if TYPE_CHECKING:
    from rankone.policies import Policy

_CREATING = 300.0  # seconds: the first experiment of a policy may have to wait for a compiler
_PLANNING = 300.0  # and so may the first plan
_EXCLUDING = 600.0  # a long journal is counted again
_ROWS = 2_000  # of exposures and outcomes in one request
_ANSWERS = {"stop": "shown", "exclude": "excluded", "void-open": "voided"}  # what a change returns
_ANSWERS |= {"levels/add": "number", "levels/retire": "number"}


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

    @takes_settings(RemoteWishes)
    def create(
        self,
        name: str,
        rows: Sequence[str] | int | None = None,
        cols: Sequence[str] | int | None = None,
        policy: str | Policy | None = None,
        *,
        items: Sequence[str] | int | None = None,
        **settings: Unpack[RemoteWishes],
    ) -> RemoteExperiment:
        """Create an experiment, or find that it is there with these settings, which `rankone.Experiment` has too.

        With `items` and `positions` it is a ranking, as `rankone.Ranking`.
        """
        asked = parsed_settings({"rows": rows, "cols": cols, "items": items, "policy": policy, **settings})
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
        aim: str | None = None,
        margin: float = 0.0,
        error: float = 0.05,
    ) -> dict[str, Any]:
        """Return what `rankone.plan` says before an experiment begins, worked out by the service, as plain values.

        ``["sentence"]`` is made for reading, ``["spans"]`` has the visitors until a verdict for each aim.
        """
        sizes = {name: levels if isinstance(levels, int) else len(levels) for name, levels in factors.items()}
        wanted = {"factors": sizes, "rate": rate, "lift": lift}
        wanted |= _given(visitors_a_day=visitors_a_day, aim=aim, margin=margin, error=error)
        return self.transport.send("POST", "/v1/plan", wanted, timeout=_PLANNING)

    def plan_goal(self, factors: Mapping[str, int | Sequence[str]], rate: float, **wanted: Any) -> dict[str, Any]:
        """Return what `rankone.plan_goal` says of revenue or a guardrail, worked out by the service, as plain values.

        `wanted` are further keywords of `rankone.plan_goal`, such as lift=0.2, average=50.0 or worse_by=0.1.
        """
        sizes = {name: levels if isinstance(levels, int) else len(levels) for name, levels in factors.items()}
        body = {"factors": sizes, "rate": rate, **_given(**wanted)}
        return self.transport.send("POST", "/v1/plan/goal", body, timeout=_PLANNING)

    def plan_lists(self, items: int, positions: int, rate: float, lift: float, **wanted: Any) -> dict[str, Any]:
        """Return what `rankone.plan_lists` says of a ranking, worked out by the service, as plain values.

        `wanted` are further keywords of `rankone.plan_lists`, such as model="cascade" or aim="decide".
        """
        body = {"items": items, "positions": positions, "rate": rate, "lift": lift, **_given(**wanted)}
        return self.transport.send("POST", "/v1/plan/lists", body, timeout=_PLANNING)

    def track(
        self, visitor: str, goal: str, value: float | None = None, *, key: str | None = None, source: str | None = None
    ) -> dict[str, Outcome]:
        """Tell an outcome of a visitor to every experiment that has the goal; return what became of it, by name."""
        body = _tracked(Track(visitor, goal, value, key, source))
        found = self.transport.send("POST", "/v1/track", body, again=True)["experiments"]
        return {name: Outcome.of_dict(each) for name, each in found.items()}

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


class RemoteExperiment(ExperimentMethods):
    """An experiment at a service, with the methods of `rankone.Experiment`."""

    def __init__(self, transport: Transport, name: str) -> None:
        self.name = name
        self._transport, self._path = transport, f"/v1/experiments/{quote(name, safe='')}"

    def __repr__(self) -> str:
        return f"<RemoteExperiment {self.name!r}>"

    def _carry_out(self, request: Request) -> Any:
        """Carry out a request. `TooManyOpen` is raised at once: a visitor waits, and waiting rarely makes room."""
        checked = checked_request(request)
        if isinstance(checked, InputError):
            raise checked
        if isinstance(checked, Ask):
            return self._ask(checked)
        if isinstance(checked, Track):
            return Outcome.of_dict(self._post("track", _tracked(checked)))
        path = f"decisions/{quote(str(checked.id), safe='')}"
        if isinstance(checked, Void):
            return Outcome.of_dict(self._put(f"{path}/void", None))
        body = _told(checked) | _given(source=checked.source)
        return Outcome.of_dict(self._put(f"{path}/outcome", body))

    def _ask(self, asked: Ask) -> list[Decision]:
        if asked.key is not None and not asked.key.isascii():
            raise InputError("a key of plain characters, to go into a header", asked.key, "use the characters of ASCII")
        key = asked.key or (None if asked.visitor is not None else secrets.token_hex(16))
        headers = {} if key is None else {"Idempotency-Key": key}
        said = None if asked.context is None else asked.context.to_dict()
        limits = restriction(asked.candidates, asked.pinned, asked.exclude)
        body = _given(count=asked.count, source=asked.source, context=said, visitor=asked.visitor, **limits)
        found = self._transport.send("POST", f"{self._path}/ask", body, headers)["decisions"]
        return [Decision.of_dict(decision) for decision in found]

    def _carry_out_tells(self, requests: list[Tell], source: str | None) -> list[Outcome | Exception]:
        def carry_out(told: list[Any]) -> list[Outcome | Exception]:
            content = [{"id": str(tell.id)} | _told(tell) for tell in told]
            found = self._post("tell", _given(outcomes=content, source=source))["outcomes"]
            return [problem_error(answer) if "code" in answer else Outcome.of_dict(answer) for answer in found]

        return each_answered(requests, carry_out)

    def _change(self, what: str, **details: Any) -> Any:
        left_out = {name for name, value in details.items() if value is None or value is False or value == {}}
        body = {name: value for name, value in details.items() if name not in left_out}
        answer = self._post(what, body or None, _EXCLUDING if what == "exclude" else None)
        return answer.get(_ANSWERS[what]) if what in _ANSWERS else None

    def report(self) -> Report:
        """Return what leads, how sure that is, how much traffic each level got and what is still in the race."""
        return Report.of_dict(self._transport.send("GET", f"{self._path}/report"))

    def changes(self) -> list[Change]:
        """Return who has changed what, and when: creation, levels, stops, exclusions, archives; oldest first."""
        found = self._transport.send("GET", f"{self._path}/changes")
        return [Change(**each) for each in found["changes"]]

    def _weights(self, version: int | None) -> dict[str, Any]:
        which = "" if version is None else f"?version={version}"
        return self._transport.send("GET", f"{self._path}/weights{which}")

    def _ingest(self, source: Any, query: str | None, since: float | None) -> list[dict[str, Any]]:
        """Take rows in some thousands at a time; return what became of each portion."""
        if not isinstance(source, list | tuple) or query is not None or since is not None:
            do = "use `rankone ingest` where the database is, or send a list of dictionaries"
            raise InputError("rows for an experiment at a service", "a file, a frame or a query", do)
        results = []
        for first in range(0, len(source), _ROWS):
            some = [dict(row) for row in source[first : first + _ROWS]]
            body = {"exposures": [row for row in some if "version" in row]}
            body["outcomes"] = [row for row in some if "version" not in row]
            results.append(self._post("ingest", body))
        return results

    def export(self, format: str = "jsonl") -> bytes:
        """Return all decisions, one row each, as csv, jsonl or parquet."""
        return self._transport.send("GET", f"{self._path}/export?format={quote(format)}", raw=True)

    def close(self) -> None:
        """Close the connections to the service that are not in use; another call opens one again."""
        self._transport.close()

    def _post(self, path: str, body: Any, timeout: float | None = None) -> Any:
        return self._transport.send(
            "POST", f"{self._path}/{path}", body, again=path in ("tell", "track", "ingest"), timeout=timeout
        )

    def _put(self, path: str, body: Any) -> Any:
        return self._transport.send("PUT", f"{self._path}/{path}", body)


def _told(tell: Tell) -> dict[str, Any]:
    """Return an outcome as it is sent: a value with a key, so that a retry does not add it up twice."""
    key = tell.key or (None if tell.clicked is not None else secrets.token_hex(16))
    return _given(clicked=tell.clicked, seen=tell.seen, goal=tell.goal, value=tell.value, key=key)


def _tracked(track: Track) -> dict[str, Any]:
    """Return an outcome of a visitor as it is sent, with a key, so that a retry does not add it up twice."""
    body = _given(visitor=track.visitor, goal=track.goal, value=track.value, source=track.source)
    return body | {"key": track.key or secrets.token_hex(16)}


def _given(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
