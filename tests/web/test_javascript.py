"""The package for npm, packed and installed: in Node, in a browser, in React, and with pages that arrive decided."""

import json
import re
import subprocess

import pytest

from rankone.client.client import Client
from rankone.live import Database
from rankone.web.server.access.tokens import create_token

from .browser import needs_chromium
from .helpers import ROOT, Api, free_port, running, until
from .node import bundle, needs_node, run

pytestmark = needs_node
FACTORS = {"headline": ["A", "B"], "image": ["1", "2"]}
GOALS = {"click": {}, "order": {"kind": "amount", "cap": 100}}


@pytest.fixture
def database(tmp_path):
    return tmp_path / "rankone.db"


@pytest.fixture
def service(database):
    with running(database) as url, Client(url) as client:
        attributes = {"device": ["phone"], "returning": "bool"}
        yield url, client.create("homepage", factors=FACTORS, goals=GOALS, context=attributes, outcomes={"window": 600})


def test_in_node(service, packages, database):
    url, _ = service
    with Database(database) as opened:
        token, reader = create_token(opened, ["ask", "tell"], "homepage"), create_token(opened, ["read"])
    until(lambda: Api(url)("GET", "/v1/experiments").status == 401)
    nowhere = f"http://127.0.0.1:{free_port()}"
    seen = json.loads(run("node", "node_client.js", url, nowhere, token, cwd=packages))
    assert seen["first"]["levels"] == seen["again"]["levels"]
    assert all(seen["first"]["levels"][factor] in levels for factor, levels in FACTORS.items())
    assert seen["away"] == {"levels": {"headline": "default"}, "code": "unreachable"}
    assert seen["late"] == "timeout"
    assert seen["codes"] == ["forbidden", "unreachable", "invalid", "invalid", "invalid"]
    assert seen["cookie"] == {"visitor": "1-2-3-4"}
    assert seen["fresh"]["setCookie"].startswith(f"rankone={seen['fresh']['visitor']}; Path=/; ")
    assert seen["quiet"]["visitor"] != "1-2-3-4"
    assert "setCookie" not in seen["quiet"]
    assert seen["forged"] != "<script>"
    assert seen["page"].count("<") == 2
    with Client(url, token=reader) as client:
        report = client.experiment("homepage").report
        until(lambda: (report().outcomes["held"], report().outcomes["void"]) == (1, 2))  # bob's, and the one too late
        assert sum(level.total for level in report().goals[0].levels if level.factor == "headline") == 49.9


@needs_chromium
def test_in_react_and_nothing_is_kept_without_consent(service, packages, browser):
    url, experiment = service
    away = f"http://127.0.0.1:{free_port()}"
    context = browser.new_context()
    page = context.new_page()
    empty = "<!doctype html><link rel=icon href='data:,'>"
    page.route(f"{url}/site", lambda route: route.fulfill(content_type="text/html", body=empty))
    page.goto(f"{url}/site")
    page.evaluate(bundle(packages, "react_page.jsx"))
    for consent in (False, True):
        page.evaluate("(consent) => start({ url: location.origin, consent })", consent)
        page.wait_for_selector("h1[data-state=shown]")
        assert page.inner_text("h1") in FACTORS["headline"]
        assert (page.evaluate("localStorage.rankone") is not None) == consent
    assert page.evaluate("localStorage.rankone === client.visitor")
    decisions = experiment.report().decisions
    assert decisions == 2  # React's strict mode asks twice for each visitor, who gets the same
    page.evaluate("start({ url: location.origin })")
    page.wait_for_selector("h1[data-state=shown]")
    page.click("h1")
    page.click("h1")
    until(lambda: experiment.report().outcomes["held"] == 1)
    assert experiment.report().decisions == decisions
    page.evaluate("client.consent(false)")
    assert page.evaluate("localStorage.rankone") is None
    page.evaluate(f"start({{ url: '{away}' }})")
    page.wait_for_selector("h1[data-state=unreachable]")
    assert page.inner_text("h1") == "default"
    context.close()


@needs_chromium
def test_pages_that_arrive_decided(packages, browser, database):
    bundle(packages, "site_page.js")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with running(database, allowed_origins=[address]) as url, Client(url) as client:
        experiment = client.create("homepage", factors=FACTORS, goals=GOALS, outcomes={"window": 600})
        site = subprocess.Popen(
            ["node", "node_site.js", url, str(port)], cwd=packages, stdout=subprocess.PIPE, text=True
        )
        context = browser.new_context()
        try:
            assert site.stdout.readline().strip() == address
            page = context.new_page()
            first = page.goto(address).text()
            shown = page.inner_text("h1"), page.inner_text("p")
            assert f"<h1>{shown[0]}</h1><p>{shown[1]}</p>" in first  # before any script ran
            page.reload()
            assert (page.inner_text("h1"), page.inner_text("p")) == shown
            page.click("a")
            until(lambda: experiment.report().outcomes["held"] == 1)
            until(lambda: max(level.total for level in experiment.report().goals[0].levels) == 20.0)
            assert experiment.report().decisions == 1
        finally:
            context.close()
            site.kill()
            site.communicate()


def test_types(service, packages):
    api = packages / "api.d.ts"
    schema = packages / "openapi.json"
    schema.write_text(json.dumps(Api(service[0])("GET", "/openapi.json").json()))
    run("node_modules/.bin/openapi-typescript", schema, "--output", api, cwd=packages)
    run("node_modules/.bin/tsc", "--project", "tsconfig.json", cwd=packages)


@pytest.mark.parametrize(("page", "count"), [("javascript", 5), ("edge", 1)])
def test_what_the_documentation_shows_can_be_bundled(packages, page, count):
    blocks = re.findall(r"^```jsx?\n(.*?)^```", (ROOT / "docs" / f"{page}.md").read_text(), re.MULTILINE | re.DOTALL)
    for index, block in enumerate(blocks):
        name = packages / f"{page}{index}.jsx"
        name.write_text(block)
        options = ["--bundle", "--format=esm", "--external:node:http", "--jsx=automatic", "--outfile=/dev/null"]
        run("node_modules/.bin/esbuild", name, *options, cwd=packages)
    assert len(blocks) == count
