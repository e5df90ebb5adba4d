"""Build `rankone-client`, the client alone, from the same source: ``python deploy/client.py dist``.

What it needs is found by importing it in a new Python; the package is called `rankone_client`, so that both can be
installed. It has no dependencies.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "rankone"
PACKAGE = "rankone_client"
PUBLIC = {"async_client": "AsyncClient", "client": "Client", "signing": "sign_visitor"}
_IMPORTED = """
import sys
from importlib import import_module
for name in {modules}:
    import_module(name)
from rankone.client.client import RemoteExperiment
others = {{name.partition(".")[0] for name in sys.modules}} - sys.stdlib_module_names - {{"rankone", "__main__"}}
assert all(name.startswith(("_", "sitecustomize")) for name in others), others
print(*sorted(name for name in sys.modules if name.partition(".")[0] == "rankone"))
"""
_PROJECT = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "rankone-client"
version = "{version}"
description = "The client of rankone's service: live experiments on headlines, images and buttons. No dependencies."
requires-python = ">=3.11"
license = "MIT"
license-files = ["LICENSE"]

[tool.hatch.build.targets.wheel]
packages = ["{package}"]
"""


def modules() -> list[str]:
    """Return the modules that the client imports, now or when it is used."""
    wanted = [f"rankone.client.{name}" for name in PUBLIC]
    known: set[str] = set()
    while wanted:
        code = _IMPORTED.format(modules=wanted)
        done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
        found = set(done.stdout.split()) - {"rankone"}
        known |= found
        wanted = sorted(set(_later(found)) - known)
    return sorted(known)


def _later(names: set[str]) -> list[str]:
    """Return what functions of modules import when they are called, of modules that need no other package."""
    found = []
    for name in names:
        for node in ast.walk(ast.parse(_file(name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found += [each.module for each in ast.walk(node) if isinstance(each, ast.ImportFrom) and each.module]
    return [name for name in found if name.startswith("rankone.client")]


def _file(module: str) -> Path:
    path = SOURCE.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def lay_out(folder: Path) -> None:
    """Write the project into a folder."""
    version = re.search(r'__version__ = "(.+)"', (SOURCE / "_version.py").read_text())[1]
    (folder / "pyproject.toml").write_text(_PROJECT.format(version=version, package=PACKAGE))
    (folder / "LICENSE").write_bytes((ROOT / "LICENSE").read_bytes())
    for name in modules():
        source = _file(name)
        target = folder / PACKAGE / source.relative_to(SOURCE)
        target.parent.mkdir(parents=True, exist_ok=True)
        # Names of modules are what imports and texts for importlib have; sentences keep theirs.
        text = re.sub(r"\b(from|import) rankone\b", rf"\1 {PACKAGE}", source.read_text(encoding="utf-8"))
        text = re.sub(r'"rankone\.(?=(client|live)\.)', f'"{PACKAGE}.', text)
        target.write_text(text, encoding="utf-8")
    lines = [f"from {PACKAGE}.client.{module} import {name}" for module, name in PUBLIC.items()]
    lines += [f"from {PACKAGE} import errors", "", f"__version__ = {version!r}"]
    lines += [f"__all__ = {sorted([*PUBLIC.values(), 'errors'])!r}"]
    (folder / PACKAGE / "__init__.py").write_text(
        '"""The client of rankone\'s service."""\n\n' + "\n".join(lines) + "\n", encoding="utf-8"
    )
    (folder / PACKAGE / "py.typed").touch()
    for directory in {file.parent for file in (folder / PACKAGE).rglob("*.py")}:
        (directory / "__init__.py").touch()


def main() -> None:
    """Build the wheel into the folder that is named."""
    with tempfile.TemporaryDirectory() as name:
        lay_out(Path(name))
        words = ["-m", "build", "--no-isolation", "--wheel", "--outdir", str(Path(sys.argv[1]).resolve()), name]
        subprocess.run([sys.executable, *words], check=True)


if __name__ == "__main__":
    main()
