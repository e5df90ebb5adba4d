"""Signed visitors: the server of a site vouches for who a visitor is, so that nobody else's page can claim to be it.

The signature is an HMAC-SHA256 of the visitor's id. Its key is the SHA-256 of the secret of a token with the scope
`sign`: the service has it, as it keeps the hash of every secret, and whoever has the token can work it out.
"""

import hashlib
import hmac

from rankone.errors import InputError


def sign_visitor(token: str, visitor: str) -> str:
    """Return the signature of a visitor's id, for the `data-signature` of the snippet.

    Args:
        token: a token with the scope `sign`, as `rankone token create` printed it. It stays on your server.
        visitor: the id, as in `data-visitor`.

    >>> sign_visitor("rk_0123456789ab_secret", "ann")[:24]
    '0123456789ab.9364041b2ac'
    """
    prefix, _, rest = token.partition("_")
    id, _, secret = rest.partition("_")
    if prefix != "rk" or not id or not secret:
        raise InputError("a token rk_ID_SECRET with the scope 'sign'", "something else", "see `rankone token create`")
    return signature_by(id, hashlib.sha256(secret.encode()).digest(), visitor)


def signature_by(id: str, digest: bytes, visitor: str) -> str:
    """Return the signature of a visitor by a token, of which this is the id and the hash of the secret."""
    return f"{id}.{hmac.new(digest, visitor.encode(), hashlib.sha256).hexdigest()}"
