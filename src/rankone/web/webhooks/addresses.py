"""Where messages may go: a public address, by HTTPS. Who may administer experiments must not reach into our network."""

import asyncio
import ipaddress
import re
import socket
from urllib.parse import urlsplit

from rankone.errors import InputError

_PLAIN = re.compile(r"[\x21-\x7e]{1,2000}")
_MAIL = re.compile(r"mailto:[^\s@,;:<>?\"]+@[^\s@,;:<>?\"]+")
_PRIVATE = "on the machine of the database: rankone webhooks add --allow-private"
_DO = f"use an address that everybody can reach; {_PRIVATE}"
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")  # IPv4 addresses as IPv6 networks write them (RFC 6052)


def checked_address(address: str, private: bool) -> None:
    """Refuse an address that is none, holds a password or is plainly private; its name is looked up when it is used."""
    if address.startswith("mailto:"):
        if not _MAIL.fullmatch(address) or not address.isascii():
            raise InputError("one e-mail address", address[:100], "try mailto:ann@shop.example")
        return
    try:
        parts = urlsplit(address)
        host, port, secret = parts.hostname or "", parts.port, parts.password or parts.username
    except ValueError:
        host, port, secret = "", None, None
    if not _PLAIN.fullmatch(address) or not host or port == 0:
        raise InputError("an address as a browser has it", repr(address[:100]), "try https://shop.example/rankone")
    if secret is not None or parts.fragment:
        raise InputError("an address without a user, a password or a #", f"one at {host}", "leave these out")
    if parts.scheme != "https" and not (private and parts.scheme == "http"):
        do = f"others could read and change messages; {_PRIVATE}"
        raise InputError("an https:// or mailto: address", f"{parts.scheme}://{parts.netloc}", do)
    if not private and (host == "localhost" or host.endswith(".localhost")):
        raise InputError("a public address", host, _DO)
    check_public(host, private)


def check_public(text: str, private: bool) -> None:
    """Refuse an IP address of a private network, this machine or nobody; names are none."""
    try:
        ip = ipaddress.ip_address(text)
    except ValueError:
        return
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo or (None, None))[1]
        if ip in _TRANSLATED:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        ip = inner or ip
    if not private and (not ip.is_global or ip.is_multicast):
        raise InputError("a public address", text, _DO)


async def resolved(host: str, port: int, private: bool) -> list[str]:
    """Return the IP addresses of a host, each of which may be used; what is connected to is one of these."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    for each in addresses:
        check_public(each.partition("%")[0], private)
    return addresses
