"""The limits of the service: one table, which the code obeys, the tests try and the documentation prints."""

import dataclasses
from typing import Any

from rankone.live.messages import MAX_BATCH
from rankone.live.names import MAX_LEVELS, MAX_NAME


def _limit(default: int, what: str, answer: str) -> Any:
    return dataclasses.field(default=default, metadata={"what": what, "answer": answer})


@dataclasses.dataclass(frozen=True)
class Limits:
    """What one client may ask of the service. Above a limit the answer is an error, and nothing is done."""

    connections: int = _limit(1_000, "connections at once; an idle one makes room for a new one", "503")
    header_bytes: int = _limit(32 * 1024, "bytes of a request that are not its body: line and headers", "431")
    headers: int = _limit(100, "headers of a request", "431")
    header_seconds: int = _limit(10, "seconds until a request's headers are complete", "408")
    idle_seconds: int = _limit(75, "seconds that a connection may stay open between requests", "closed")
    answer_seconds: int = _limit(30, "seconds until a whole request is answered, or a client takes its answer", "503")
    unsent_bytes: int = _limit(
        64 * 1024 * 1024, "bytes of answers not taken yet, of all connections; who rests longest is closed", "closed"
    )
    body_bytes: int = _limit(256 * 1024, "bytes of a request's body", "413")
    create_body_bytes: int = _limit(1024 * 1024, "bytes of the body that creates an experiment", "413")
    visit_body_bytes: int = _limit(
        2 * 1024, "bytes of the body of a visit or a beacon, which has the token in it", "413"
    )
    bodies_bytes: int = _limit(32 * 1024 * 1024, "bytes of all bodies that are being read at once", "503")
    body_seconds: int = _limit(30, "seconds that a body may take to arrive", "408")
    batch: int = _limit(MAX_BATCH, "decisions of one ask, outcomes of one tell", "422")
    name_length: int = _limit(MAX_NAME, "characters of a name, a label, a source or an Idempotency-Key", "422")
    levels: int = _limit(MAX_LEVELS, "levels of a factor", "422")
    combinations: int = _limit(250_000, "combinations of levels of an experiment", "422")
    max_open: int = _limit(100_000, "what an experiment's own max_open may be", "422")
    open_decisions: int = _limit(100_000, "open decisions where the experiment's max_open does not say", "429")
    experiments: int = _limit(1_000, "experiments of a database", "422")
    decisions_per_second: int = _limit(
        20_000, "decisions asked, outcomes told and other requests a second of a token without a rate of its own", "429"
    )
    waiting: int = _limit(20_000, "decisions and outcomes that wait for the database at once", "503")
    looks: int = _limit(2, "reports, views, lists and metrics that are made at once, over all experiments", "waits")
    exports: int = _limit(2, "exports at the same time", "429")
    export_mebibytes: int = _limit(1_024, "MiB of memory of an export, which is a process of its own", "503")
    export_seconds: int = _limit(600, "seconds until an export, a plan or an exclusion is made", "503")
    plans: int = _limit(1, "plans at the same time; each is a process of its own", "429")
    plan_levels: int = _limit(64, "levels of all factors of a plan together", "422")

    def markdown(self) -> str:
        """Return the limits as a Markdown table.

        >>> print(Limits().markdown().splitlines()[2])
        | `connections` | 1,000 | connections at once; an idle one makes room for a new one | 503 |
        """
        rows = ["| limit | default | counts | answer above it |", "|---|---|---|---|"]
        for field in dataclasses.fields(self):
            value, notes = getattr(self, field.name), field.metadata
            rows.append(f"| `{field.name}` | {value:,} | {notes['what']} | {notes['answer']} |")
        return "\n".join(rows)
