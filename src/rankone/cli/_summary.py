"""The summary of a study as a table of the command: its columns, and those a narrow terminal does without."""

from __future__ import annotations

from rankone.simulation.study import TITLES

SUMMARY = {name: title for name, title in TITLES.items() if name != "runs"}  # these stand above the table
SPARE = ("steps/s", "s per run", "sync points", "p95", "median")  # the first one first
