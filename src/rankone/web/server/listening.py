"""Where the service listens: an address and a port, or a socket in the file system for a proxy on the same machine."""

import contextlib
import errno
import socket
import stat
from pathlib import Path

from rankone.errors import InputError

_MODE = 0o660  # its user and its group, which the proxy should be in


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address, or say why that cannot be."""
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a service that has just ended leaves no wait
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        do = "try --host 127.0.0.1"
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            do = f"try --port {port + 1 if 1024 <= port < 65535 else 8000}"
        raise InputError(f"to listen on {host} port {port}", error.strerror or str(error), do) from None
    return listening


def listen_at(path: Path) -> socket.socket:
    """Return a socket in the file system. One that a service left behind is replaced, one in use is not."""
    if path.exists() or path.is_symlink():
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise InputError(f"a place for a socket at {path}", "another file there", "name another with --uds")
        with socket.socket(socket.AF_UNIX) as other, contextlib.suppress(ConnectionRefusedError):
            other.connect(str(path))
            raise InputError(f"to listen at {path}", "a service that listens there", "end it, or name another place")
        path.unlink()
    listening = socket.socket(socket.AF_UNIX)
    try:
        listening.bind(str(path))
        path.chmod(_MODE)
    except OSError as error:
        listening.close()
        do = "name a place of at most 100 characters in a folder that there is and that may be written"
        raise InputError(f"to listen at {path}", error.strerror or str(error), do) from None
    return listening
