"""Sends one message: signed, by HTTPS, or as e-mail. Whatever the other side does, it ends within seconds.

Messages are signed as the Standard Webhooks specification has it, for which there are libraries in many languages:
HMAC-SHA256 over "id.timestamp.body", in the headers webhook-id, webhook-timestamp and webhook-signature. No redirect is
followed, so that none leads into a private network.
"""

import asyncio
import base64
import contextlib
import functools
import hashlib
import hmac
import json
import os
import secrets
import smtplib
import ssl
import time
from email.message import EmailMessage
from urllib.parse import unquote, urlsplit

from rankone.errors import InputError, RankoneError
from rankone.web.webhooks.addresses import resolved
from rankone.web.webhooks.hooks import Webhook

SECONDS = 15.0  # for one message, from the name's look-up to the answer
SMTP = "RANKONE_SMTP"  # the variable with the mail server: smtp://user:password@host:587?from=rankone@shop.example
_LINE = 8_192  # bytes, at most, of the answer's first line


class NotDelivered(RankoneError):
    """A message did not arrive, or nobody knows whether it did."""


async def send(hook: Webhook, id: str, body: str) -> None:
    """Send a message; raise NotDelivered, with a reason, unless it was accepted."""
    try:
        async with asyncio.timeout(SECONDS):
            if hook.format == "email":
                await asyncio.to_thread(_mail, hook.address.removeprefix("mailto:"), id, json.loads(body))
            else:
                await _post(hook, id, body.encode())
    except TimeoutError:
        raise NotDelivered(f"no answer within {SECONDS:g} seconds") from None
    except InputError as error:
        raise NotDelivered(str(error)) from None
    except (OSError, EOFError, ValueError, smtplib.SMTPException) as error:
        raise NotDelivered(f"{type(error).__name__}: {error}"[:300]) from None


async def send_test(hook: Webhook) -> str | None:
    """Send a test message once; return why it did not arrive, or None."""
    said, id = "This is a test of a webhook of rankone.", f"0-{secrets.token_hex(4)}"
    body = {"id": id, "event": "test", "at": int(time.time()), "headline": said}
    if hook.format == "slack":
        body = {"text": said}
    elif hook.format == "email":
        body = {"subject": "rankone: test", "text": said}
    try:
        await send(hook, id, json.dumps(body))
    except NotDelivered as error:
        return str(error)
    return None


def signature(secret: str, id: str, at: int, body: bytes) -> str:
    """Return the signature of a message.

    >>> signature("whsec_c2VjcmV0", "7-ab", 1700000000, b"{}")
    'v1,72QN6qEUuf8Rqfi/8tXQhYxrv3mjPJe6QF03wHW+c0Q='
    """
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return (
        "v1," + base64.b64encode(hmac.new(key, b"%s.%d.%s" % (id.encode(), at, body), hashlib.sha256).digest()).decode()
    )


async def _post(hook: Webhook, id: str, body: bytes) -> None:
    parts, at = urlsplit(hook.address), int(time.time())
    secure, host = parts.scheme == "https", parts.hostname or ""
    port = parts.port or (443 if secure else 80)
    head = {
        "Host": parts.netloc,
        "User-Agent": "rankone",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Connection": "close",
        "webhook-id": id,
        "webhook-timestamp": str(at),
        "webhook-signature": signature(hook.secret, id, at, body),
    }
    target = f"{parts.path or '/'}{'?' * bool(parts.query)}{parts.query}"
    lines = [f"POST {target} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items()), "", ""]
    context = ssl.create_default_context() if secure else None
    (ip, *_) = await resolved(host, port, hook.private)
    reader, writer = await asyncio.open_connection(
        ip, port, ssl=context, server_hostname=host if secure else None, limit=_LINE
    )
    try:
        writer.write("\r\n".join(lines).encode() + body)
        await writer.drain()
        words = (await reader.readline()).decode("latin-1").split()
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            writer.transport.abort()
    if len(words) < 2 or not words[0].startswith("HTTP/") or not words[1].isdecimal():
        raise NotDelivered("an answer that is not HTTP" if words else "the connection was closed without an answer")
    if 300 <= int(words[1]) < 400:
        raise NotDelivered(f"status {words[1]}: redirects are not followed, so name the final address")
    if not 200 <= int(words[1]) < 300:
        raise NotDelivered(f"status {words[1]}")


def _mail(to: str, id: str, parts: dict[str, str]) -> None:
    """Hand a message over to the mail server of this service."""
    server = urlsplit(os.environ.get(SMTP, ""))
    if server.scheme not in ("smtp", "smtps") or not server.hostname:
        do = f"set {SMTP}=smtp://user:password@mail.shop.example:587?from=rankone@shop.example where the service runs"
        raise InputError(f"a mail server in {SMTP}", "none", do)
    message = EmailMessage()
    sender = server.query.removeprefix("from=") or f"rankone@{server.hostname}"
    message["Subject"], message["From"], message["To"] = parts["subject"], sender, to
    message["Message-ID"] = f"<{id}@{server.hostname}>"
    message.set_content(parts["text"])
    if parts.get("html"):
        message.add_alternative(parts["html"], subtype="html")
    secure, context = server.scheme == "smtps", ssl.create_default_context()
    open_it = functools.partial(smtplib.SMTP_SSL, context=context) if secure else smtplib.SMTP
    with open_it(server.hostname, server.port or (465 if secure else 587), timeout=SECONDS) as connection:
        connection.ehlo()
        if not secure and connection.has_extn("starttls"):
            connection.starttls(context=context)
        elif not secure and server.username:
            raise InputError(
                "a mail server with TLS, as it asks for a password", "one without", f"try {SMTP}=smtps://..."
            )
        if server.username:
            connection.login(unquote(server.username), unquote(server.password or ""))
        connection.send_message(message)
