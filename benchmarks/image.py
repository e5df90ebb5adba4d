"""The container: how large its image is, and how long it takes from start to ready, locked in as `compose.yaml` has it.

Needs root, buildah and runc: `buildah bud -f deploy/Containerfile -t rankone .`, then
`python -m benchmarks.image rankone`. Nothing is measured of a registry or of an engine's own start.
"""

import argparse
import json
import os
import resource
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

PORT = 18_765


def of(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def bundle(folder: Path, root: str, data: Path, image: dict[str, Any], words: list[str]) -> None:
    """Write down how to run a command of the image: its user, a read-only root, no capabilities, room at /data, /tmp."""
    (folder / "config.json").unlink(missing_ok=True)
    subprocess.run(["runc", "spec"], cwd=folder, check=True)
    spec = json.loads((folder / "config.json").read_text())
    user, variables = int(image["User"]), [*image["Env"], f"RANKONE_SERVE_PORT={PORT}", "RANKONE_SERVE_HOST=127.0.0.1"]
    spec["process"] |= {"terminal": False, "user": {"uid": user, "gid": user}, "noNewPrivileges": True}
    spec["process"] |= {"args": [*image["Entrypoint"], *words], "env": variables, "cwd": image["WorkingDir"]}
    spec["process"]["capabilities"] = {}
    spec["root"] = {"path": root, "readonly": True}
    spec["mounts"] += [
        {"destination": "/data", "type": "bind", "source": str(data), "options": ["bind", "rw"]},
        {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["mode=1777"]},
    ]
    spec["linux"]["namespaces"] = [kind for kind in spec["linux"]["namespaces"] if kind["type"] != "network"]
    (folder / "config.json").write_text(json.dumps(spec))


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ready() -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health/ready", timeout=1) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("image")
    parser.add_argument("--starts", type=int, default=5)
    given = parser.parse_args()
    image = json.loads(of("buildah", "inspect", "--type", "image", given.image))["OCIv1"]["config"]
    container = of("buildah", "from", "--pull-never", given.image)
    try:
        root = of("buildah", "mount", container)
        print(f"image {of('du', '-sm', '--apparent-size', root).split()[0]} MB unpacked, user {image['User']}")
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as data:
            os.chown(data, int(image["User"]), int(image["User"]))
            for words in (["token", "create", "/data/rankone.db", "--scope", "read"], image["Cmd"]):
                bundle(Path(folder), root, Path(data), image, words)
                if words is not image["Cmd"]:
                    of("runc", "run", "--bundle", folder, "rankone-measured")
            for _ in range(given.starts):
                began, used = time.perf_counter(), processor_seconds()
                words = ["runc", "run", "--bundle", folder, "rankone-measured"]
                with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                    while not ready() and process.poll() is None:
                        time.sleep(0.01)
                    took = time.perf_counter() - began
                    of("runc", "kill", "rankone-measured", "TERM")
                    ended = process.wait()
                used = processor_seconds() - used
                print(f"ready after {took:.1f} s; {used:.1f} s of processor time with its end, code {ended}")
    finally:
        of("buildah", "rm", container)


if __name__ == "__main__":
    main()
