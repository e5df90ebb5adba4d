"""How a service is to be run: the options of ``rankone serve``, each declared once. Light: ``--help`` reads it."""

from __future__ import annotations

import dataclasses
import ipaddress
from collections.abc import Sequence
from typing import Any

from rankone.errors import InputError

_MOST_WORKERS = 64
_FORMATS = ("text", "json")  # of the log


def _option(default: Any, help: str, **more: Any) -> Any:
    return dataclasses.field(default=default, metadata={"help": help} | more)


@dataclasses.dataclass(frozen=True)
class ServerOptions:
    """How a service is to be run."""

    db: str = _option("rankone.db", "SQLite file or postgresql:// address; created if it is missing.")
    host: str = _option("127.0.0.1", "Address to listen on; a public one needs a token first.")
    port: int = _option(8000, "Port to listen on; 0 picks a free one.", min=0, max=65535)
    uds: str | None = _option(None, "Listen at this socket in the file system instead, for a proxy.")
    workers: int | None = _option(
        None, "Number of processes; SIGHUP replaces them one by one. Default: one, without a parent process."
    )
    durability: str = _option("full", "full: survives power cuts; normal: crashes; off.")
    allow_origin: Sequence[str] = _option(
        (), "A web site whose pages may call the service, such as https://shop.example; repeatable."
    )
    require_token: bool = _option(False, "Require a token for every request, even while there are no tokens.")
    root_path: str = _option("", "Path under which a proxy offers the service, such as /rankone.")
    proxy_headers: bool = _option(False, "Take the visitor's address from a trusted proxy (X-Forwarded-For).")
    trusted_proxy: Sequence[str] = _option(("127.0.0.1", "::1"), "Address or network of a trusted proxy; repeatable.")
    tls_cert: str | None = _option(None, "Certificate, with its chain, in PEM: serve HTTPS.")
    tls_key: str | None = _option(None, "Key of the certificate, if it is in another file.")
    access_log: bool = _option(False, "Log every request.")
    log_format: str = _option("text", "text, or json: each line an object.")

    def checked(self) -> ServerOptions:
        """Return them, or say which of them make no sense."""
        if self.log_format not in _FORMATS:
            raise InputError(f"a --log-format of {' or '.join(_FORMATS)}", self.log_format, "leave it out for text")
        if self.tls_key is not None and self.tls_cert is None:
            raise InputError("--tls-cert with --tls-key", "a key alone", "name the certificate too")
        if self.workers is not None and not 1 <= self.workers <= _MOST_WORKERS:
            raise InputError(f"1 to {_MOST_WORKERS} workers", self.workers, "try one per core")
        for text in self.trusted_proxy:
            _check_proxy(text)
        return dataclasses.replace(self, root_path=_checked_root(self.root_path))

    @property
    def for_uvicorn(self) -> dict[str, Any]:
        """What uvicorn is told."""
        from rankone.web.server.logs import log_config

        return {
            "log_level": "info",
            "log_config": log_config(self.log_format),
            "access_log": self.access_log and self.log_format == "text",
            "timeout_graceful_shutdown": 30,
            "proxy_headers": self.proxy_headers,
            "forwarded_allow_ips": list(self.trusted_proxy),
            "ssl_certfile": self.tls_cert,
            "ssl_keyfile": self.tls_key,
        }


def _check_proxy(text: str) -> None:
    """Refuse what is no address or network of a proxy that is trusted to say whose request it passes on."""
    try:
        ipaddress.ip_network(text)
    except ValueError:
        do = "name each, such as 127.0.0.1 or 10.0.0.0/8; there is no sign for all of them"
        raise InputError("an address or a network for --trusted-proxy", text, do) from None


def _checked_root(text: str) -> str:
    """Return the path under which a proxy offers the service, or refuse what is none."""
    root = text.rstrip("/")
    if root and (not root.startswith("/") or root.startswith("//") or set(root) & set("?#%") or not root.isascii()):
        raise InputError("a path for --root-path", text, "try --root-path /rankone")
    return root
