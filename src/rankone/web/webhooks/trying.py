"""A message that tries whether a webhook works."""

import json
import secrets
import time

from rankone.web.webhooks.hooks import Webhook
from rankone.web.webhooks.sending import NotDelivered, send

_SAID = "This is a test of a webhook of rankone."


async def send_test(hook: Webhook) -> str | None:
    """Send a test message once; return why it did not arrive, or None."""
    id = f"0-{secrets.token_hex(4)}"
    body = {"id": id, "event": "test", "at": int(time.time()), "headline": _SAID}
    if hook.format == "slack":
        body = {"text": _SAID}
    elif hook.format == "email":
        body = {"subject": "rankone: test", "text": _SAID}
    try:
        await send(hook, id, json.dumps(body))
    except NotDelivered as error:
        return str(error)
    return None
