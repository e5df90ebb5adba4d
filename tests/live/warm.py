"""Imported by the fork server: with the kernels loaded once, every process it forks starts at once."""

import tempfile
from pathlib import Path

from rankone.live import Experiment

with (
    tempfile.TemporaryDirectory() as folder,
    Experiment("warm", 2, 2, "ucb1", Path(folder) / "warm.db", durability="off") as experiment,
):
    experiment.tell(experiment.ask().id, True)
