"""A kernel of Jupyter for tests: `python -m tests.notebooks COMMAND ...`, in a process of its own with its own warnings.

``run NOTEBOOK`` executes a notebook and prints it with its outputs; ``interrupt CODE`` runs code until it says "ready",
presses the interrupt button, and prints what the cell had written by its end.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

_PATIENCE = 600  # seconds; nobody waits for ever for a kernel that hangs


def kernel() -> KernelManager:
    """Return a manager of a kernel of this very Python, whatever kernels are installed elsewhere."""
    manager = KernelManager()
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager._kernel_spec = KernelSpec(argv=command, display_name="this one", language="python")
    return manager


def run(path: str) -> str:
    notebook = nbformat.read(Path(path), as_version=4)
    NotebookClient(notebook, timeout=_PATIENCE, km=kernel()).execute()
    return nbformat.writes(notebook)


def interrupt(code: str) -> str:
    manager = kernel()
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    written: list[str] = []
    try:
        client.wait_for_ready(timeout=_PATIENCE)

        def hear(message: dict) -> None:
            content = message["content"]
            text = (
                content.get("text")
                or content.get("data", {}).get("text/plain")
                or "".join(content.get("traceback", []))
            )
            written.append(text)
            if text.startswith("ready"):
                manager.interrupt_kernel()

        client.execute_interactive(code, timeout=_PATIENCE, output_hook=hear)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return "".join(written)


if __name__ == "__main__":
    print({"run": run, "interrupt": interrupt}[sys.argv[1]](sys.argv[2]))
