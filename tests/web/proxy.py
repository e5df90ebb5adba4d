"""A proxy before a service, real but small: it may answer by itself, lose answers, close idle connections, speak TLS."""

import contextlib
import itertools
import socket
import ssl
import threading
import time
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

CERTIFICATE = Path(__file__).parent / "loopback.pem"


class Request(BaseHTTPRequestHandler):
    """A request as the proxy sees it: its number, its number on its connection, and `pass_on` to the service."""

    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.on_connection = itertools.count()
        self.server.connections += 1

    def finish(self):
        super().finish()
        with contextlib.suppress(OSError):  # the client was faster
            self.connection.shutdown(socket.SHUT_RDWR)
        self.server.ended += 1

    def answer(self):
        self.content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.number, self.nth = next(self.server.numbers), next(self.on_connection)
        self.server.requests += 1
        answer = self.server.plan(self)
        if answer is None:
            self.close_connection = True
        else:
            status, content = answer
            self.send_response(status)
            self.send_header("Content-Length", len(content))
            self.end_headers()
            self.wfile.write(content)

    do_GET = do_POST = do_PUT = answer

    def pass_on(self):
        """Return the service's answer: status and body."""
        with contextlib.closing(HTTPConnection(self.server.service, timeout=30)) as connection:
            connection.request(self.command, self.path, self.content, dict(self.headers))
            response = connection.getresponse()
            return response.status, response.read()

    def log_message(self, *arguments):
        """Be quiet."""


class Proxy(ThreadingHTTPServer):
    """Answers requests by a plan: a function from a request to status and body, or to None: close without an answer."""

    def __init__(self, service, plan, idle_seconds, secure):
        super().__init__(("127.0.0.1", 0), type("Request", (Request,), {"timeout": idle_seconds}))
        self.service, self.plan = urlsplit(service).netloc, plan
        self.url = f"http{'s' if secure else ''}://127.0.0.1:{self.server_port}"
        self.requests = self.connections = self.ended = 0
        self.start_over()
        if secure:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(CERTIFICATE)
            self.socket = context.wrap_socket(self.socket, server_side=True)

    def start_over(self):
        """The next request has the number 0."""
        self.numbers = itertools.count()

    def wait_until_all_are_closed(self):
        deadline = time.monotonic() + 30
        while self.ended < self.connections:
            assert time.monotonic() < deadline
            time.sleep(0.01)


@contextlib.contextmanager
def proxied(service, plan=Request.pass_on, idle_seconds=None, secure=False):
    """Run a proxy; yield it."""
    with Proxy(service, plan, idle_seconds, secure) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()
