"""Put compiled code into a wheel: ``python deploy/prebuild.py dist/rankone-*.whl``, as ``make package`` does.

The programs below are what most people run first. They run on the sources in the wheel, and what they compile, for no
processor in particular, becomes part of it (`rankone.compiling.cache` says who uses it). So whoever installs the wheel
with the same Python and Numba on the same kind of machine does not wait for the compiler.
"""

import base64
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

_TABLE = "{'headline': [*'AABB'], 'image': [*'xyxy'], 'shown': [1000] * 4, 'clicked': [50, 40, 30, 20]}"
_POLICIES = ("uts", "ucb1", "kl-ucb", "thompson", "rank1elim-kl")
PROGRAMS = {
    **{policy: f"rankone.simulate('needle:4x4', '{policy}', 100, runs=1, workers=1)" for policy in _POLICIES},
    "live": """
for factors in ({"a": [*"12"], "b": [*"12"]}, {"a": [*"12"], "b": [*"12"], "c": [*"12"]}):
    with rankone.Experiment("shop", factors=factors, db=None) as shop:
        for number in range(100):
            shop.tell(shop.ask(), number % 3 == 0)
        shop.report()
""",
    "warm": "from rankone.live.commit.warm_up import warm_up\n[warm_up(rankone.UTS().live(), n) for n in (2, 3)]",
    "analyse": f"import polars\nrankone.analyse(polars.DataFrame({_TABLE}))",
    "plan": "rankone.plan(rows=2, cols=2, rate=0.3, lift=0.5)",
}


def compiled(wheel: Path, folder: Path, programs: list[str]) -> dict[str, bytes]:
    """Run programs on what is in a wheel; return the files that hold what they compiled, by their names in a wheel."""
    with zipfile.ZipFile(wheel) as source:
        source.extractall(folder / "site")
    own = {"RANKONE_CACHE_DIR": str(folder / "cache"), "RANKONE_COMPILE": "first", "PYTHONPATH": str(folder / "site")}
    for name in programs:
        print(f"compiling {name} ...", file=sys.stderr)
        code = f"import rankone\nassert rankone.__file__.startswith({str(folder)!r})\n{PROGRAMS[name]}"
        generic = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
        subprocess.run([sys.executable, "-c", code], check=True, cwd=folder, env=os.environ | own | generic)
    files = sorted((folder / "cache" / "kernels").glob("*/*.nbc"))
    return {f"rankone/_prebuilt/kernels/{file.parent.name}/{file.name}": file.read_bytes() for file in files}


def put_in(wheel: Path, files: dict[str, bytes]) -> None:
    """Add files to a wheel, and to its list of files."""
    whole = wheel.with_suffix(".new")
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as target:
        for item in source.infolist():
            content = source.read(item)
            if item.filename.endswith(".dist-info/RECORD"):
                content += b"".join(_line(name, added) for name, added in files.items())
            target.writestr(item, content)
        for name, added in files.items():
            target.writestr(name, added)
    whole.replace(wheel)


def _line(name: str, content: bytes) -> bytes:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n".encode()


def main(wheel: str, *programs: str) -> None:
    """Compile, and put it into the wheel."""
    with tempfile.TemporaryDirectory() as folder:
        files = compiled(Path(wheel).resolve(), Path(folder), list(programs or PROGRAMS))
    put_in(Path(wheel), files)
    print(f"{len(files)} functions, {sum(map(len, files.values())) / 1e6:.1f} MB, are in {wheel}", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
