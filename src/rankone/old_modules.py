"""Modules that were called otherwise in 0.1: imported by their old names they go on working, and each name taken from
one says what to write.

Policies, click models and formats of other people import from them, as CONTRIBUTING.md and the docs of 0.1 said, and
pickles name the module of a class. There are no files of the old names: what is not found otherwise is looked up here.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from rankone.deprecation import old_names

_PAIRS = (
    "best", "challengers", "imed_ub", "kl_ucb", "klucb_ub", "osub", "rank1elim", "rank1elim_kl", "rank1elim_kl_anytime",
    "thompson", "top_two", "ucb1", "ucb1_elim", "uniform", "uts",
)  # fmt: skip
_ROOMS = {
    "counts": ("counter", "frames", "pair_counts"),
    "logs": ("collector", "columns", "delimited", "reading", "session_rows", "sessions", "source"),
    "models": ("components", "em", "evaluation", "uncertainty"),
    "synthetic": ("generate", "log_writer"),
}
#: Where what was in a module is now; in more than one place if it was divided.
MOVED: dict[str, tuple[str, ...]] = {
    "rankone.numerics.cache": ("rankone.compiling.cache",),
    "rankone.numerics.calendar": ("rankone.numerics.heap",),
    "rankone.numerics.chains": ("rankone.numerics.rekeyable_table",),
    "rankone.numerics.compiled": ("rankone.compiling.compiled",),
    "rankone.numerics.dispatch": ("rankone.compiling.dispatch",),
    "rankone.numerics.index_groups": ("rankone.policies.engines.index_groups",),
    "rankone.numerics.index_race": ("rankone.policies.engines.index_race",),
    "rankone.policies.kernels": ("rankone.kernels.policy",),
    "rankone.policies.leaders": ("rankone.policies.engines.unimodal",),
    "rankone.policies.live": ("rankone.kernels.policy", "rankone.kernels.advance"),
    "rankone.policies.optimism": ("rankone.policies.engines.index_policies",),
    "rankone.policies.race": ("rankone.kernels.policy",),
    "rankone.policies.rehearsal": ("rankone.policies.scheduled_play",),
    "rankone.policies.sweeps": ("rankone.policies.engines.elimination",),
    "rankone.policies.view": ("rankone.kernels.policy", "rankone.policies.beliefs"),
    **{f"rankone.policies.{name}": (f"rankone.policies.pairs.{name}",) for name in _PAIRS},
    **{f"rankone.clicks.{name}": (f"rankone.clicks.{room}.{name}",) for room in _ROOMS for name in _ROOMS[room]},
    "rankone.clicks.cells": ("rankone.clicks.counts.count_arrays",),
    "rankone.clicks.lists": ("rankone.clicks.logs.held_out_lists",),
    "rankone.clicks.rank_one_check": ("rankone.clicks.rank1_test.check",),
    "rankone.clicks.rank_one_fit": ("rankone.clicks.rank1_test.fit",),
    "rankone.clicks.rank_one_report": ("rankone.clicks.rank1_test.report",),
    "rankone.clicks.report": ("rankone.clicks.logs.read_report",),
    "rankone.clicks.values": ("rankone.clicks.logs.row_errors",),
    "rankone.web.client": ("rankone.client.client",),
}  # fmt: skip
_RENAMED = {"rankone.numerics.compiled": {"lean": "rankone.compiling.compiled.noalloc"}}


class _OldModules(MetaPathFinder, Loader):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in MOVED else None

    def create_module(self, spec: ModuleSpec) -> None:
        return None  # an empty one

    def exec_module(self, module: ModuleType) -> None:
        old, names = module.__name__, dict[str, str]()
        for home in reversed(MOVED[old]):  # what two of them have is taken from the first
            names |= {name: f"{home}.{name}" for name in vars(importlib.import_module(home)) if name[:2] != "__"}
        found: Any = module
        found.__all__ = [name for name in names if name[0] != "_"]
        found.__getattr__ = old_names(old, names | _RENAMED.get(old, {}))


def find_old_modules() -> None:
    """Let modules be imported by the names that they had in 0.1."""
    if not any(isinstance(finder, _OldModules) for finder in sys.meta_path):
        sys.meta_path.append(_OldModules())  # last: what is there comes first
