"""What a report says of an experiment that decides at the edge: versions, what does not fit, and the traffic check."""

import dataclasses

from rankone.specs import amount

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

    @property
    def warnings(self) -> list[str]:
        """Where what was shown does not match what was published."""
        if not self.mismatch:
            return []
        where = f"(p = {self.traffic_p:.1g}, most clearly in version {self.traffic_version})"
        return [f"Check your edge: what was shown does not match the published weights {where}."]

    @property
    def notes(self) -> list[str]:
        """Which version holds, and what was told and is not learned."""
        texts = {why: text.replace("clicks", "click", self.unfit.get(why) == 1) for why, text in UNFIT_TEXTS.items()}
        unfit = "; ".join(f"{count:,} {texts[why]}" for why, count in self.unfit.items())
        version = f"Decides at the edge: version {self.version:,} of the weights."
        return [version, f"Ignored: {unfit}."] if unfit else [version]

    @property
    def details(self) -> str:
        """What statements rest on."""
        fits = self.traffic_p is not None and not self.mismatch
        checked = f" Traffic matches the weights (p = {self.traffic_p:.2g})." if fits else ""
        return (
            f"Statements rest on {amount(self.shown, 'visitor')}, each counted once a version with at most one click, "
            f"and on the published weights. They hold now; more outcomes can take them back.{checked}"
        )
