"""The certificate of the service: it fits its key and is valid now, or the service does not start."""

import ssl
import time
from pathlib import Path

from rankone.errors import InputError

_SOON = 14 * 86_400.0  # seconds before its end from when on the log warns


def check_certificate(certificate: Path, key: Path | None, now: float | None = None) -> str | None:
    """Refuse a certificate that browsers would refuse for its date, or that has another key; return a warning, if any.

    A client is let to talk to a server, both in memory: so the checks are those that every client makes.
    """
    for file, option in ((certificate, "--tls-cert"), (key, "--tls-key")):
        if file is not None and not file.is_file():
            raise InputError(f"a file for {option}", f"no file {file}", "see that its name is right")
    ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        ours.load_cert_chain(certificate, key, password=_no_password)
    except (ssl.SSLError, OSError) as error:
        do = "name the certificate with --tls-cert and its own key, in PEM, with --tls-key"
        raise InputError("a certificate in PEM and its key", _reason(error), do) from None
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    theirs.check_hostname = False
    theirs.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # whoever signed it: clients judge that
    theirs.load_verify_locations(certificate)
    try:
        ends = ssl.cert_time_to_seconds(str(_shake_hands(ours, theirs)["notAfter"]))
    except ssl.SSLCertVerificationError as error:
        do = "renew it, then start again"
        raise InputError(f"a certificate that is valid now at {certificate}", error.verify_message, do) from None
    left = ends - (time.time() if now is None else now)
    return f"the certificate {certificate} expires in {left / 86_400.0:.0f} days: renew it" if left < _SOON else None


def _shake_hands(ours: ssl.SSLContext, theirs: ssl.SSLContext) -> dict[str, object]:
    """Return the certificate as a client of the server sees it, who trusts nobody but itself."""
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    server, client = ours.wrap_bio(up, down, server_side=True), theirs.wrap_bio(down, up)
    for _ in range(10):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
        if client.version() is not None and (certificate := client.getpeercert()):
            return dict(certificate)
    raise InputError("a certificate that TLS can use", "one without an end", "renew it")


def _no_password() -> str:
    do = "take the password off it: openssl pkey -in KEY -out NEW"
    raise InputError("a key without a password", "one with a password", do)


def _reason(error: OSError) -> str:
    return getattr(error, "reason", None) or error.strerror or str(error)
