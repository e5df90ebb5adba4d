"""What is installed, for those who must know: ``make sbom`` and ``make lock``.

sbom: the bill of materials of this environment in CycloneDX 1.6, as JSON.
lock: what pip would install on Linux with Python 3.11, as the image has it: exact versions with the hashes of their
files for both kinds of processor, and no address. ``pip install --require-hashes`` takes it.
"""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
import tempfile
import tomllib
import uuid
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PYTHON, MACHINES = "3.11", ("x86_64", "aarch64")
TAGS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_26", "manylinux_2_24", "manylinux_2_17", "manylinux2014")


def bill() -> dict[str, Any]:
    """Return the bill of materials of the packages that this Python has."""
    components = []
    for found in sorted(importlib.metadata.distributions(), key=lambda each: each.name.lower()):
        about: dict[str, Any] = {"type": "library", "name": found.name, "version": found.version}
        about["purl"] = about["bom-ref"] = f"pkg:pypi/{found.name.lower().replace('_', '-')}@{found.version}"
        licence = found.metadata.get("License-Expression")
        known = [
            line.rpartition(" :: ")[2] for line in found.metadata.get_all("Classifier", []) if "License ::" in line
        ]
        if licence:
            about["licenses"] = [{"expression": licence}]
        elif known:
            about["licenses"] = [{"license": {"name": name}} for name in known]
        components.append(about)
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(components, sort_keys=True))  # the same for the same packages
    whole = {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{serial}", "version": 1}
    return whole | {"components": components}


def lock(extras: list[str]) -> list[str]:
    """Return a line for each package that pip would install to run rankone with extras, and to build it."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = ["pip", *about["build-system"]["requires"], *about["project"]["dependencies"]]
    wanted += [each for extra in extras for each in about["project"]["optional-dependencies"][extra]]
    lines: dict[str, set[str]] = {}
    for machine in MACHINES:
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "report.json")
            words = ["--quiet", "--dry-run", "--ignore-installed", "--report", str(report), "--target", folder]
            words += ["--only-binary", ":all:", "--python-version", PYTHON, "--implementation", "cp"]
            words += [word for tag in TAGS for word in ("--platform", f"{tag}_{machine}")]
            subprocess.run(
                [sys.executable, "-m", "pip", "install", *words, "-c", str(ROOT / "constraints.txt"), *wanted],
                check=True,
            )
            for each in json.loads(report.read_text())["install"]:
                about, found = each["metadata"], each["download_info"].get("archive_info", {}).get("hashes", {})
                lines.setdefault(f"{about['name']}=={about['version']}", set()).add(found["sha256"])
    return [
        " ".join([name, *(f"--hash=sha256:{one}" for one in sorted(lines[name]))])
        for name in sorted(lines, key=str.lower)
    ]


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    print(json.dumps(bill(), indent=1) if what == "sbom" else "\n".join(["# Made by `make lock`.", *lock(rest)]))
