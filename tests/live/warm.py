"""Imported by the fork server: with the package and kernels loaded once, every process it forks starts at once.

Polars is imported, and not used: its threads, which would begin then, are not in a child.
"""

import tempfile
from pathlib import Path

import altair  # noqa: F401
import polars  # noqa: F401
import vl_convert  # noqa: F401

import rankone.cli
import rankone.simulation.simulate
from rankone.live import Experiment

rankone.cli.build_app()

with (
    tempfile.TemporaryDirectory() as folder,
    Experiment("warm", 2, 2, "ucb1", Path(folder) / "warm.db", durability="off") as experiment,
):
    experiment.tell(experiment.ask().id, True)
