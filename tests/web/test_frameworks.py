"""The recipes of docs/web-frameworks.md run as they stand there, against a service."""

import asyncio
import http.client
import json
import re
import sys
import threading
import time
import types

import pytest
import uvicorn

import rankone
from rankone.client.client import Client

from .helpers import ROOT, free_port, running

BLOCKS = dict(
    re.findall(r"```python no-run\n# (\w+)\.py\n(.*?)```", (ROOT / "docs/web-frameworks.md").read_text(), re.S)
)
SETTINGS = {"factors": {"headline": ["A", "B"], "image": ["1", "2"]}, "outcomes": {"window": 1_800}, "seed": 1}


@pytest.fixture
def homepage(tmp_path, monkeypatch):
    with running(tmp_path / "rankone.db") as url, Client(url) as client:
        monkeypatch.setenv("SERVICE_URL", url)
        yield client.create("homepage", **SETTINGS)


@pytest.fixture
def app(homepage, monkeypatch):
    loaded = []

    def load(name):
        module = types.ModuleType(name)
        loaded.append(module)
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(BLOCKS[name], name, "exec"), module.__dict__)
        return module

    yield load
    for module in loaded:
        if hasattr(module, "homepage"):
            module.homepage.close()


def visited(get, post, homepage):
    """Two visits of one visitor and a click: the same decision, one outcome."""
    first, again = get(), get()
    assert first == again
    assert set(first) == {"headline", "image"}
    assert post() == {}
    report = homepage.report()
    assert report.decisions == 1
    assert report.outcomes["held"] + report.outcomes["clicked"] == 1


def test_flask(app, homepage):
    client = app("flask_app").app.test_client()
    client.set_cookie("visitor", "ann")
    visited(lambda: client.get("/").json, lambda: client.post("/clicked").json, homepage)


def test_django(app, homepage):
    import django
    from django.conf import settings
    from django.test import Client as Browser

    settings.configure(ROOT_URLCONF="django_views", ALLOWED_HOSTS=["*"], SECRET_KEY="test")
    django.setup()
    app("django_views")
    browser = Browser()
    browser.cookies["visitor"] = "ann"
    visited(lambda: browser.get("/").json(), lambda: browser.post("/clicked").json(), homepage)


def test_fastapi(app, homepage):
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app("fastapi_app").app, port=port, log_config=None))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)

    def send(method, path):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request(method, path, headers={"Cookie": "visitor=ann"})
        content = connection.getresponse().read()
        connection.close()
        return json.loads(content)

    try:
        visited(lambda: send("GET", "/"), lambda: send("POST", "/clicked"), homepage)
    finally:
        server.should_exit = True
        thread.join()


def test_the_async_client_does_not_hold_up_the_loop(homepage):
    """A request that waits for a service that is away lets everything else go on."""

    async def wait():
        async with rankone.AsyncClient(f"http://127.0.0.1:{free_port()}", patience=0.5) as client:
            asking = asyncio.create_task(client.experiment("homepage").ask())
            turns = 0
            while not asking.done():
                await asyncio.sleep(0)
                turns += 1
            with pytest.raises(rankone.errors.StorageError):
                await asking
            return turns

    assert asyncio.run(wait()) > 10


def test_the_async_client_does_what_the_client_does(homepage):
    async def use(url):
        async with rankone.AsyncClient(url) as client:
            assert repr(client) == f"<AsyncClient {url}>"
            page = await client.create("homepage", **SETTINGS)
            decisions = await asyncio.gather(*(page.ask(visitor=f"v{number}") for number in range(20)))
            assert len({decision.id for decision in decisions}) == 20
            assert (await page.tell(decisions[0], True)).status == "held"
            assert (await page.track("v1", "click")).status == "held"
            assert [each.status for each in await page.tell_many([(decisions[2], True)])] == ["held"]
            assert (await page.void(decisions[3])).status == "void"
            shown = {"headline": "A", "image": "1"}
            assert await page.stop(shown) == await client.call(page.remote.stop, shown) == shown
            return await page.report()

    report = asyncio.run(use(homepage._transport.address))
    assert report.stopped == "by hand"
    assert report.decisions == 20
