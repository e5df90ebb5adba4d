"""The service itself: health, metrics, the OpenAPI document and the page."""

import functools
import hashlib
from pathlib import Path
from typing import Literal

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as PROMETHEUS
from starlette.responses import Response

from rankone import __version__
from rankone.charts.bundle import LOOK, bundle_path, make_bundle
from rankone.errors import RankoneError
from rankone.live.settings import SETTINGS
from rankone.web.server.http.problem_json import database_away
from rankone.web.server.http.responses import Answer
from rankone.web.server.metrics import Figures, figures
from rankone.web.server.routes.operations import Call, answer, operation, tagged
from rankone.web.server.single_flight import SingleFlight

_OK = {"status": "ok", "version": __version__}
_HEALTH = {200: {"status": Literal["ok"], "version": str}}
_PAGE = Path(__file__).parents[2] / "page"
_MEDIA = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
# The page runs its own scripts only, talks to its own server only, and can be put into nobody's frame. Charts need
# styles in elements; they run without eval.
_POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",  # ask every time: the ETag makes that cheap
}


@operation("GET", "/health", None, answers=_HEALTH)
async def health(call: Call) -> Response:
    """Answer if the service and its database do."""
    return await _healthy(call.service.reads)


@operation("GET", "/health/live", None, answers=_HEALTH)
async def live(call: Call) -> Response:
    """Answer if the service does, whatever its database does."""
    return answer(_OK)


@operation("GET", "/health/ready", None, answers=_HEALTH)
async def ready(call: Call) -> Response:
    """Answer if the database takes a durable write, which leaves no trace; the answer may be a second old."""
    return await _healthy(call.service.writes)


async def _healthy(check: SingleFlight[None]) -> Response:
    """Answer if a check succeeds. Anybody may ask, so all who wait share one, and none hears which database it is."""
    try:
        await check.get()
    except RankoneError as error:
        raise database_away() from error
    return answer(_OK)


@operation("GET", "/metrics", "read", answers={200: (PROMETHEUS,)})
async def metrics(call: Call) -> Response:
    """Return the figures of this server and of the experiments that the token may read, for Prometheus."""
    seen, damaged = await call.service.look_at_all(call.caller, figures)
    return Answer(Figures(call.service.meters, seen, damaged).text(), media_type=PROMETHEUS.encode())


@operation("GET", "/openapi.json", None, answers={200: ("application/json",)})
async def openapi(call: Call) -> Response:
    """Return the description of this service."""
    return answer(call.service.description)


@operation("GET", "/v1/settings", None, answers={200: ("application/json",)})
async def list_settings(call: Call) -> Response:
    """List the settings that a new experiment may have: what each means, its range or choices, its default."""
    return answer({"settings": [each.to_dict() for each in SETTINGS if each.remote]})


@operation("GET", "/vega.js", None, answers={200: ("text/javascript",)})
async def chart_library(call: Call) -> Response:
    """Return the chart library, as it comes with vl-convert."""
    if bundle_path() is None:
        await call.service.bundle.get()
    return tagged(call, *_content((make_bundle(),)), "text/javascript", _HEADERS)


@functools.cache
def _content(paths: tuple[Path, ...]) -> tuple[bytes, str]:
    """Return what files hold, and its ETag. They are small, few and part of the program: once is enough."""
    content = b"".join(path.read_bytes() for path in paths)
    return content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def _page_file(path: Path) -> None:
    """Make the operation of a file of the page: its stylesheet begins with what all charts share."""
    media_type, files = _MEDIA[path.suffix], (LOOK, path) if path.suffix == ".css" else (path,)

    async def handler(call: Call) -> Response:
        return tagged(call, *_content(files), media_type, _HEADERS)

    handler.__name__ = f"page_{path.name.replace('.', '_')}"
    handler.__doc__ = f"Return the page's {path.name}."
    address = "/" if path.name == "index.html" else f"/{path.name}"
    operation("GET", address, None, answers={200: (media_type,)})(handler)


for _path in sorted(_PAGE.iterdir()):
    if _path.suffix in _MEDIA and _path.name != "snippet.js":  # which is for other pages
        _page_file(_path)
