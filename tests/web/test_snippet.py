"""The snippet in a real Chromium, on the page of its documentation: it asks, shows and tells, and a visitor always has
a page, whatever the service does.
"""

import contextlib
import http.server
import json
import re
import subprocess
import threading
import time

import pytest

from rankone.client.client import Client
from rankone.client.signing import sign_visitor
from rankone.live import Database
from rankone.web.server.access.tokens import SCOPES, create_token
from rankone.web.server.routes.routes_snippet import _written

from .browser import needs_chromium
from .helpers import ROOT, Api, free_port, running, until

pytestmark = needs_chromium

DOCS = (ROOT / "docs" / "snippet.md").read_text()
ROWS, COLS = ["headline A", "headline B"], ["image 1", "image 2"]
SERVICE = "https://rankone.example"  # as the documentation calls it
DECISION = {"id": "0-" + "a" * 32, "levels": {"row": "headline B", "col": "image 2"}}


def block(language):
    return re.search(rf"^```{language}\n(.*?)^```", DOCS, re.MULTILINE | re.DOTALL)[1]


PAGE = block("html")
PATIENT = PAGE.replace("async", 'data-wait="60000" async')  # a busy machine is no failure
POLICY = block("text").strip().partition(": ")[2]
PAINTED = "performance.getEntriesByName('first-contentful-paint')"
RESOURCES = "performance.getEntriesByType('resource')"


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers by `answer(method, path, body)`, which returns a media type, headers and content, or None: hang up."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        found = self.server.answer(self.command, self.path, body)
        with contextlib.suppress(OSError):
            if found is None:
                self.close_connection = True
                return
            media_type, headers, content = found
            self.send_response(200)
            for name, value in {"Content-Type": media_type, "Content-Length": len(content), **headers}.items():
                self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(content)

    do_GET = do_POST = answer

    def log_message(self, *words):
        """Be quiet."""


@contextlib.contextmanager
def web_server(answer):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.answer, server.daemon_threads = answer, True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def shop():
    """A site that is allowed nothing but what the documentation says; its page is the documentation's."""
    pages = {"page": PATIENT, "policy": POLICY, "service": ""}

    def answer(method, path, body):
        if path.endswith(".svg"):
            return "image/svg+xml", {}, b"<svg xmlns='http://www.w3.org/2000/svg'/>"
        page = f"<!doctype html><link rel=icon href='data:,'>{pages['page']}".replace(SERVICE, pages["service"])
        text = page if path == "/" else "<!doctype html><link rel=icon href='data:,'>the offer"
        return (
            "text/html",
            {"Content-Security-Policy": pages["policy"].replace(SERVICE, pages["service"])},
            text.encode(),
        )

    with web_server(answer) as origin:
        yield origin, pages


@pytest.fixture
def visit(browser, shop):
    """Open the shop as a new visitor; a page with an error in it fails."""
    contexts = []

    def visit(service, context=None, **pages):
        origin, held = shop
        held.update(pages, service=service)
        context = context or browser.new_context()
        contexts.append(context)
        page = context.new_page()
        page.problems = []
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.goto(origin, wait_until="commit")
        return page

    yield visit
    for context in dict.fromkeys(contexts):
        assert [problem for page in context.pages for problem in page.problems] == []
        context.close()


def seen(page):
    """What a visitor sees: the names of the visible levels."""
    page.wait_for_load_state("domcontentloaded")
    return [part.get_attribute("data-level") for part in page.locator("[data-rankone]").all() if part.is_visible()]


@pytest.fixture
def service(tmp_path, shop):
    with running(tmp_path / "rankone.db", allowed_origins=[shop[0]]) as url, Client(url) as client:
        yield url, client.create("homepage", ROWS, COLS, "ucb1", outcomes={"window": 600}, seed=3)


def test_it_asks_shows_and_tells_and_a_visitor_sees_the_same_again(visit, service, browser):
    url, experiment = service
    found = set()
    for visitor in range(3):
        context = browser.new_context()
        with context.expect_event("response", lambda answer: answer.url.endswith("/visit"), timeout=60_000) as asked:
            page = visit(url, context)
        decision = asked.value.json()["decisions"][0]
        chosen = list(decision["levels"].values())
        until(lambda page=page, chosen=chosen: seen(page) == chosen)
        with context.expect_event("response", lambda answer: answer.url.endswith("/visit"), timeout=60_000) as again:
            other = visit(url, context)
        assert again.value.json()["decisions"][0] == decision | {"id": again.value.json()["decisions"][0]["id"]}
        until(lambda other=other, chosen=chosen: seen(other) == chosen)
        page.click("a")  # leaves the page: the beacon arrives all the same
        until(lambda visitor=visitor: experiment.report().outcomes["held"] == visitor + 1)
        found.add(tuple(chosen))
    assert experiment.report().decisions == 3
    assert len(found) > 1


def test_nothing_is_kept_before_the_visitor_agrees(visit, service):
    page = visit(service[0], page=PATIENT.replace("async", 'data-consent="wait" async'))
    until(lambda: service[1].report().decisions == 1)
    assert page.evaluate("localStorage.length") == 0
    page.evaluate("rankone.consent()")
    assert page.evaluate("Object.keys(localStorage)") == ["rankone"]


def test_a_token_in_the_page_is_enough(visit, service, tmp_path):
    url, _ = service
    with Database(tmp_path / "rankone.db") as database:
        token, other = create_token(database, ["ask", "tell"], "homepage"), create_token(database, ["read"])
    until(lambda: Api(url)("GET", "/v1/experiments").status == 401)
    page = visit(url, page=PATIENT.replace("rk_...", token))
    with Client(url, token=other) as client:
        experiment = client.experiment("homepage")
        until(lambda: experiment.report().decisions == 1)
        page.wait_for_load_state("networkidle")
        page.click("a")
        until(lambda: experiment.report().outcomes["held"] == 1)
    assert Api(url).on("homepage", "POST", "/visit", {"token": "rk_no_no"}).code == "no-valid-token"
    assert Api(url).on("homepage", "POST", "/visit", {"token": other}).code == "forbidden"


def test_orders_and_marked_clicks_are_tracked_on_any_page(visit, service, browser, tmp_path):
    """Without an experiment in the page, for all that have the goal; what was sent before with its key counts once."""
    url, _ = service
    goals = {"click": {}, "order": {"kind": "amount", "cap": 100}, "signup": {"kind": "count", "cap": 9}}
    with Client(url) as client:
        client.create("one", ROWS, COLS, "uniform", goals=goals)
    with Database(tmp_path / "rankone.db") as database:
        token, other = create_token(database, ["ask", "tell"]), create_token(database, ["read"])
        reader = create_token(database, ["tell"], "homepage")
    until(lambda: Api(url)("GET", "/v1/experiments").status == 401)
    context = browser.new_context()
    with context.expect_event("response", lambda answer: answer.url.endswith("/visit"), timeout=60_000):
        visit(url, context, page=PATIENT.replace("homepage", "one").replace("rk_...", token))
    shop = f"<script src='{SERVICE}/snippet.js' data-token='{token}' async></script>"
    shop += "<p data-goal=signup data-value=2><b>Sign up</b></p><p data-goal=signup>Once</p>"
    page = visit(url, context, page=shop)
    page.wait_for_function("window.rankone")
    for _ in range(2):
        page.evaluate("rankone.track('order', 49.9, 'order 17')")
    page.click("b")
    page.click("text=Once")
    with Client(url, token=other) as client:
        experiment = client.experiment("one")

        def totals():
            return [goal.levels[0].total + goal.levels[1].total for goal in experiment.report().goals]

        until(lambda: totals() == [49.9, 3.0])
        again = visit(url, context, page=shop)
        again.wait_for_function("window.rankone")
        again.evaluate("rankone.track('order', 49.9, 'order 17'); rankone.track('signup')")
        until(lambda: totals() == [49.9, 4.0])
        assert experiment.report().goals[0].unmatched == 0
    order = {"visitor": "ann", "goal": "order", "value": 1, "token": reader}  # may tell another experiment only
    assert Api(url)("POST", "/v1/track", order).json() == {"experiments": {}}
    assert Api(url).on("one", "POST", "/track", order).code == "forbidden"
    assert Api(url).on("homepage", "POST", "/visit", {"token": reader}).code == "forbidden"


def test_a_signed_visitor_is_met_by_nobody_else_and_what_a_page_invents_is_ignored(visit, service, tmp_path):
    url, _ = service
    with Database(tmp_path / "rankone.db") as database:
        admin, page_token = create_token(database, SCOPES), create_token(database, ["ask", "tell"], "homepage")
        signing = create_token(database, ["sign"], "homepage")
    until(lambda: Api(url)("GET", "/v1/experiments").status == 401)
    said = 'data-visitor="ann@shop.example" data-context="device=phone,evil=1" data-wait'
    anybody = PATIENT.replace("rk_...", page_token).replace("data-wait", said)
    signature = sign_visitor(signing, "ann@shop.example")
    signed = anybody.replace("data-context", f'data-signature="{signature}" data-context')
    without_levels = anybody.replace('data-level="', 'data-level="other ')  # so it voids what it alone was given
    with Client(url, token=admin) as client:
        experiment = client.experiment("homepage")
        experiment.declare_context({"device": ["phone", "desktop"]})
        page = visit(url, page=signed)
        until(lambda: experiment.report().decisions == 1)
        visit(url, page=without_levels)  # an imposter, in another browser
        until(lambda: experiment.report().outcomes["void"] == 1)
        other = visit(url, page=signed)  # the visitor herself, in another browser
        page.wait_for_load_state("networkidle")
        other.wait_for_load_state("networkidle")
        assert seen(other) == seen(page)
        assert experiment.report().decisions == 2
        other.click("a")
        until(lambda: experiment.report().outcomes["held"] == 1)
        segments = experiment.report().segments
        assert [(each.name, each.decisions) for each in segments.segments] == [("phone", 2)]
        assert segments.ignored == {"": 2}


def test_a_server_in_another_language_signs_as_the_documentation_says():
    from playwright._impl._driver import compute_driver_executable

    (example,) = re.findall(r"^```js\n(const crypto.*?)^```", DOCS, re.MULTILINE | re.DOTALL)
    token, visitor = "rk_0123456789ab_se-cr_et", "Zoë, customer 17"
    names = f"const token = {json.dumps(token)}, visitor = {json.dumps(visitor)};"
    node, _ = compute_driver_executable()
    script = f"{names}\n{example}\nprocess.stdout.write(signature)"
    signed = subprocess.run([node, "-e", script], capture_output=True, text=True, check=True)
    assert signed.stdout == sign_visitor(token, visitor)


def test_levels_that_the_page_does_not_have_leave_it_as_it_is_and_are_voided(visit, service):
    url, experiment = service
    page = visit(url, page=PATIENT.replace("headline A", "x").replace("headline B", "y"))
    until(lambda: experiment.report().outcomes["void"] == 1)
    assert seen(page) == ["x", "image 1"]


def fake(answer):
    """A service that delivers the snippet and answers as a test wants."""

    def reply(method, path, body):
        if path == "/snippet.js":
            return answer("snippet", b"") or ("text/javascript", {}, _written()[0])
        return answer(path.rpartition("/")[2], body)

    return web_server(reply)


def of_json(content, **headers):
    return "application/json", {"Access-Control-Allow-Origin": "*", **headers}, json.dumps(content).encode()


def test_factors_by_name(visit):
    named = {"id": DECISION["id"], "levels": {"headline": "headline B", "picture": "image 2", "colour": "red"}}
    parts = PATIENT.replace('"row"', '"headline"').replace('"col"', '"picture"')
    parts = parts.replace("</a>", '<p data-rankone="colour" data-level="red" hidden>red</p></a>')
    with fake(lambda what, body: of_json({"decisions": [named]}) if what == "visit" else None) as url:
        page = visit(url, page=parts)
        until(lambda: seen(page) == ["headline B", "image 2", "red"])


def test_a_page_may_show_by_itself(visit):
    own = f"<h1></h1><script nonce=n>{block('js')}</script><button data-rankone-click>buy</button>"
    told = []

    def answer(what, body):
        if what == "beacon":
            told.append(json.loads(body))
        return None if what == "snippet" else of_json({"decisions": [DECISION]})

    with fake(answer) as url:
        script = PATIENT.splitlines()[-1]
        page = visit(url, page=own + script, policy=POLICY.replace("script-src", "script-src 'nonce-n'"))
        page.get_by_text("headline B").wait_for()
        page.wait_for_load_state("networkidle")
        for _ in range(2):
            page.click("button")
        until(lambda: told)
    assert told == [{"token": "rk_...", "id": DECISION["id"]}]


def test_a_slow_answer_is_not_shown_but_voided_and_holds_up_nothing(visit):
    """Every answer takes two seconds, that with the snippet too."""
    told = []

    def answer(what, body):
        if what == "beacon":
            told.append(json.loads(body))
            return of_json({})
        time.sleep(2)
        return of_json({"decisions": [DECISION]}) if what == "visit" else None

    with fake(answer) as url:
        page = visit(url, page=PAGE)
        until(lambda: page.evaluate(f"{PAINTED}.length"))
        painted = page.evaluate(f"{PAINTED}[0].startTime")
        assert seen(page) == ["headline A", "image 1"]
        until(lambda: told)
        assert seen(page) == ["headline A", "image 1"]
        asked = page.evaluate(f"{RESOURCES}.find((each) => each.name.endsWith('/visit')).startTime")
    assert painted < asked  # before the snippet was even there
    assert told == [{"token": "rk_...", "id": DECISION["id"], "void": True}]


def test_what_was_shown_once_is_not_voided_by_a_later_view(visit, browser):
    told, asked, ids = [], [], ["0-" + letter * 32 for letter in "aaab"]

    def answer(what, body):
        if what == "beacon":
            told.append(json.loads(body))
        if what == "visit":
            asked.append(body)
            id = ids[len(asked) - 1]
            return of_json({"decisions": [DECISION | {"id": id}], "repeated": id in ids[: len(asked) - 1]})
        return None if what == "snippet" else of_json({})

    other = PATIENT.replace("data-level", "data-other")
    context = browser.new_context()
    with fake(answer) as url:
        first = visit(url, context)
        until(lambda: seen(first) == ["headline B", "image 2"])
        for count, page in enumerate((other, PATIENT.replace("60000", "0"), other), start=2):
            view = visit(url, context, page=page)
            until(lambda count=count: len(asked) == count)
            view.wait_for_load_state("networkidle")
        until(lambda: told)  # another decision, which no view has shown
        first.click("a")
        until(lambda: len(told) > 1)
    assert [(each["id"], each.get("void")) for each in told] == [(ids[-1], True), (ids[0], None)]


def test_a_visitor_in_two_browsers_keeps_what_one_of_them_showed(visit, service, browser):
    """Where the second has no time, or not these levels, what the first showed still counts, clicked or not."""
    url, experiment = service
    mine = PATIENT.replace("async", 'data-visitor="Ann" async')
    first = visit(url, browser.new_context(), page=mine)
    until(lambda: experiment.report().decisions == 1)
    first.wait_for_load_state("networkidle")
    for page in (mine.replace("60000", "0"), mine.replace("data-level", "data-other")):
        context = browser.new_context()
        with context.expect_event("response", lambda answer: answer.url.endswith("/visit"), timeout=60_000) as asked:
            view = visit(url, context, page=page)
        assert asked.value.json()["repeated"]
        view.wait_for_load_state("networkidle")
    first.click("a")
    until(lambda: experiment.report().outcomes["held"] == 1)
    assert (experiment.report().decisions, experiment.report().outcomes["void"]) == (1, 0)
    visit(url, browser.new_context(), page=mine.replace("60000", "0").replace("Ann", "Bob"))
    until(lambda: experiment.report().outcomes["void"] == 1)  # nobody has shown this one


NONSENSE = [
    b"", b"<html>502 Bad Gateway</html>", b"null", b"[]", b'{"decisions": []}', b'{"decisions": [null]}',
    b'{"decisions": [{"id": 7}]}', b'{"decisions": [{"id": "x", "levels": "headline B"}]}',
    b'{"decisions": [{"id": "x", "levels": {}}]}', b'{"decisions": [{"id": "x", "levels": {"__proto__": "x", "row": 1}}]}',
    b'{"status": 429, "code": "too-many-requests"}',
]  # fmt: skip


def test_nonsense_leaves_the_page_as_it_is(visit):
    left = list(NONSENSE)
    asked = []

    def answer(what, body):
        if what == "visit":
            asked.append(body)
            return "application/json", {"Access-Control-Allow-Origin": "*"}, left[len(asked) - 1]
        return None if what == "snippet" else of_json({})

    with fake(answer) as url:
        page = visit(url)
        for count in range(1, len(NONSENSE) + 1):
            until(lambda count=count: len(asked) == count)
            page.wait_for_load_state("networkidle")
            assert seen(page) == ["headline A", "image 1"]
            if count < len(NONSENSE):
                page.reload(wait_until="commit")


def test_a_service_that_is_away_or_blocked_leaves_the_page_as_it_is(visit, browser, service):
    page = visit(f"http://127.0.0.1:{free_port()}")
    page.wait_for_load_state("load")
    assert seen(page) == ["headline A", "image 1"]
    context = browser.new_context()
    context.route(re.compile("/(visit|beacon)$"), lambda route: route.abort("blockedbyclient"))
    page = visit(service[0], context)
    page.wait_for_load_state("load")
    page.click("a")
    page.get_by_text("the offer").wait_for()
    assert service[1].report().decisions == 0


def test_a_service_killed_in_the_middle_leaves_what_was_shown(visit, tmp_path, shop, start_server):
    server = start_server(tmp_path / "rankone.db", "--allow-origin", shop[0])
    with Client(server.url) as client:
        experiment = client.create("homepage", ROWS, COLS, "ucb1", outcomes={"window": 600}, seed=3)
        page = visit(server.url)
        until(lambda: experiment.report().decisions == 1)
    page.wait_for_load_state("networkidle")
    shown = seen(page)
    server.process.kill()
    server.process.wait()
    page.click("a")  # the beacon reaches nobody
    page.get_by_text("the offer").wait_for()
    page.go_back()
    assert len(seen(page)) == 2
    again = visit(server.url)
    again.wait_for_load_state("load")
    assert seen(again) == ["headline A", "image 1"]
    assert len(shown) == 2
