"""What a report says of an experiment that decides at the edge: versions, what does not fit, and the traffic check."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from rankone.specs import amount

if TYPE_CHECKING:
    from rankone.live.report.report import Report

MISMATCH = 0.001  # false warnings at one look
UNFIT_TEXTS = {
    "unknown_version": "shown by a version that was never published",
    "wrong_levels": "shown other levels than the weights give",
    "shown_outside": "shown before the version was published, or long after its end",
    "unmatched": "clicks of visitors who were shown nothing before",
    "late": "clicks after the window",
    "repeated": "clicks of visitors who had clicked before",
}


@dataclasses.dataclass(frozen=True)
class EdgeReport:
    """The published weights of an experiment, and what was told of them."""

    version: int  # the newest; 0: none was published
    shown: int  # visitors, each once a version
    unfit: dict[str, int]  # what was told and is not learned, by why
    traffic_p: float | None  # of the traffic check; None: not enough was shown
    traffic_version: int | None  # where it is most striking

    @property
    def mismatch(self) -> bool:
        """Whether what was shown does not match the published chances."""
        return self.traffic_p is not None and self.traffic_p < MISMATCH


def edge_warnings(report: Report) -> list[str]:
    """Warn where what was shown does not match what was published."""
    edge = report.edge
    if edge is None or not edge.mismatch:
        return []
    return [
        f"Check your edge: what was shown does not match the published weights (p = {edge.traffic_p:.1g}, most clearly "
        f"in version {edge.traffic_version})."
    ]


def edge_notes(report: Report) -> list[str]:
    """Say which version holds, and what was told and is not learned."""
    edge = report.edge
    if edge is None:
        return []
    said = [f"Decides at the edge: version {edge.version:,} of the weights."]
    if edge.unfit:
        said.append("Ignored: " + "; ".join(f"{count:,} {UNFIT_TEXTS[why]}" for why, count in edge.unfit.items()) + ".")
    return said


def edge_details(report: Report) -> list[str]:
    """Say what statements rest on."""
    edge = report.edge
    if edge is None:
        return []
    checked = (
        "" if edge.traffic_p is None or edge.mismatch else f" Traffic matches the weights (p = {edge.traffic_p:.2g})."
    )
    return [
        f"Statements rest on {amount(edge.shown, 'visitor')}, each counted once a version with at most one click, and "
        f"on the published weights. They hold now; more outcomes can take them back.{checked}"
    ]
