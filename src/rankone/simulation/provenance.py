"""Where results come from: versions and machine, written beside them so that a report can tell."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

from rankone.errors import InputError
from rankone.simulation.work_unit import versions
from rankone.writing import write_file


def made_with() -> dict[str, dict[str, str]]:
    """Return the versions behind a result and the machine it is made on; nothing that names a person or a host.

    >>> sorted(made_with())
    ['machine', 'versions']
    """
    machine = {
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": str(os.cpu_count() or 1),
    }
    return {"versions": dict(versions()), "machine": machine}


def write_about(directory: Path, kind: str, content: dict[str, Any]) -> None:
    """Write ``KIND.json`` into a directory of results: what they are and where they come from."""
    about = {"format": f"rankone-{kind}-1", **content, **made_with()}
    write_file(directory / f"{kind}.json", json.dumps(about, indent=1, default=lambda number: number.item()))


def read_about(directory: Path, kind: str) -> dict[str, Any]:
    """Return what ``KIND.json`` of a directory says."""
    path = directory / f"{kind}.json"
    try:
        about = dict(json.loads(path.read_text()))
    except FileNotFoundError:
        wanted = f"{'an' if kind == 'arena' else 'a'} {kind} in {directory}"
        raise InputError(wanted, f"no {path.name} there", "name the directory that was given as out=") from None
    except (OSError, ValueError, TypeError):
        raise InputError(f"JSON in {path}", "a damaged text", f"make the {kind} again") from None
    if about.get("format") != f"rankone-{kind}-1":
        got = f"format {about.get('format')!r}"
        raise InputError(f"format 'rankone-{kind}-1' in {path}", got, "use the version that wrote it")
    return about


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
