"""Webhooks against real receivers on loopback: one that fails, hangs, redirects and returns, and a mail server."""

import asyncio
import base64
import dataclasses
import email
import email.policy
import hashlib
import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from aiosmtpd.controller import Controller

from rankone.errors import InputError
from rankone.live import Database, Experiment, Ranking
from rankone.live.messages import Tell
from rankone.live.operate.doctor import examine
from rankone.web.server.access.tokens import create_token
from rankone.web.webhooks import notifier, sending
from rankone.web.webhooks.addresses import check_public, checked_address
from rankone.web.webhooks.hooks import EVENTS, add_webhook, list_webhooks, remove_webhook
from rankone.web.webhooks.occasions import Notes, body_of, occasions
from rankone.web.webhooks.sending import send_test
from tests.live.helpers import Clock, at
from tests.programs import rankone

from .helpers import Api, free_port, running, until

SETTINGS = {"rows": ["A", "B"], "cols": ["1"], "policy": "ucb1", "seed": 1}


class Receiver:
    """An HTTP server that remembers what it was sent and answers as it is told: a status, "hang" or "cut"."""

    def __init__(self):
        self.got, self.answers, self.after = [], [], threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = receiver.answers.pop(0) if receiver.answers else 204
                receiver.got.append((answer, dict(self.headers), body))
                if answer == "hang":
                    receiver.after.wait(60)
                    return
                if answer == "cut":
                    self.connection.close()
                    return
                self.send_response(answer)
                if answer == 302:
                    self.send_header("Location", f"{receiver.url}/elsewhere")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.after.set()
        self.server.shutdown()
        self.server.server_close()

    @property
    def bodies(self):
        return [json.loads(body) for answer, _, body in self.got if answer == 204]


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Look and try again within a fraction of a second."""
    monkeypatch.setattr(notifier, "LOOK", 0.05)
    monkeypatch.setattr(notifier, "FIRST", 0.05)
    monkeypatch.setattr(notifier, "GROWS", 1.0)
    monkeypatch.setattr(sending, "SECONDS", 0.5)


def hook_of(db, address, *events, **more):
    with Database(db) as database:
        return add_webhook(database, address, events, private=True, **more)


def state(db):
    with Database(db, read_only=True) as database:
        return list_webhooks(database)


def stop(api, name):
    answer = api.on(name, "POST", "/stop", {"levels": {"row": "A", "col": "1"}, "why": "enough"})
    assert answer.status == 200, answer.body


def verified(hook, headers, body):
    """Check a message as the Standard Webhooks specification says; return its id."""
    key = base64.b64decode(hook.secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    right = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == right
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < 300
    return headers["webhook-id"]


def test_a_receiver_that_fails_hangs_and_returns_gets_each_message(db, receiver):
    receiver.answers += [500, "hang", "cut", 302, 204]
    hook = hook_of(db, f"{receiver.url}/rankone?x=1", "stop")
    with running(db) as url:
        api = Api(url)
        assert api("POST", "/v1/experiments", SETTINGS | {"name": "homepage"}).status == 201
        stop(api, "homepage")
        until(lambda: receiver.bodies)
        until(lambda: state(db)[0].arrived == 1)
    assert [answer for answer, _, _ in receiver.got] == [500, "hang", "cut", 302, 204]
    ids = {verified(hook, headers, body) for _, headers, body in receiver.got}
    (body,) = receiver.bodies
    assert ids == {body["id"]}  # the same at every try
    assert body["event"] == "stop"
    assert body["experiment"] == "homepage"
    assert body["number"] == int(body["id"].partition("-")[0]) > 1
    assert body["headline"].startswith("Stopped: everyone sees")
    assert state(db)[0].error is None
    assert [finding for finding in examine(db) if not finding.ok] == []


def test_an_ask_does_not_wait_for_a_receiver_that_hangs(db, receiver):
    receiver.answers += ["hang"] * 100
    hook_of(db, receiver.url, "stop")
    with running(db) as url:
        api = Api(url)
        for name in ("one", "two"):
            api("POST", "/v1/experiments", SETTINGS | {"name": name})
        stop(api, "one")
        until(lambda: receiver.got)
        answered = 0
        while len(receiver.got) < 2:  # a message hangs meanwhile
            assert api.on("two", "POST", "/ask", {}).status == 200
            answered += 1
        assert answered > 1


def test_what_was_not_delivered_survives_a_restart_and_is_told_once(db, receiver):
    receiver.answers += [503] * 3
    hook_of(db, receiver.url, "stop")
    with running(db) as url:
        api = Api(url)
        api("POST", "/v1/experiments", SETTINGS | {"name": "homepage"})
        stop(api, "homepage")
        until(lambda: len(receiver.got) >= 1)
    assert state(db)[0].arrived == 0
    assert state(db)[0].waiting == 1
    assert state(db)[0].error == "status 503"
    for _ in range(2):
        with running(db) as url:
            until(lambda: state(db)[0].arrived == 1)
            Api(url).on("homepage", "POST", "/resume")
            Api(url).on("homepage", "POST", "/ask", {})
    assert len(receiver.bodies) == 1
    with running(db) as url:  # another stop is another message
        stop(Api(url), "homepage")
        until(lambda: state(db)[0].arrived == 2)
    assert len({body["id"] for body in receiver.bodies}) == 2


def test_of_several_servers_one_delivers(db, receiver):
    hook_of(db, receiver.url, "stop")
    with running(db) as first, running(db) as second, running(db):
        for number in range(6):
            api = Api(first if number % 2 else second)
            api("POST", "/v1/experiments", SETTINGS | {"name": f"page {number}"})
            stop(api, f"page {number}")
        until(lambda: state(db)[0].arrived == 6)
        time.sleep(0.5)  # would more come, they came now
    assert sorted(body["experiment"] for body in receiver.bodies) == [f"page {number}" for number in range(6)]


def test_another_server_takes_over_from_one_that_died(db, receiver, monkeypatch):
    monkeypatch.setattr(notifier, "HELD", 1.0)
    hook = hook_of(db, receiver.url, "stop")
    with Database(db) as database:  # as one left it that was killed
        now = time.time_ns() // 1_000
        held = "UPDATE rankone_webhooks SET holder = 'dead', held = {} WHERE id = {}"
        database.use(lambda storage: storage.query(held, (now + 2_000_000, hook.id)))
    with running(db) as url:
        Api(url)("POST", "/v1/experiments", SETTINGS | {"name": "homepage"})
        stop(Api(url), "homepage")
        until(lambda: receiver.bodies)
    assert time.time_ns() // 1_000 >= now + 2_000_000


def worlds(db):
    """Experiments with a winner, with lost outcomes, with a violated guardrail and with clicks that changed."""
    rng = np.random.default_rng(1)
    watch = Clock()
    watch.now = time.time_ns() // 1_000

    def made(name, **settings):
        given = {"policy": "uniform", "seed": 5, "stopping": {"auto": False}} | settings
        return at(watch)(name, factors={"price": ["low", "high"]}, db=db, durability="off", **given)

    def send(experiment, low, high, told=1.0, worse=0.0):
        for _ in range(30):
            requests = []
            for each in experiment.ask(100):
                is_high = each["price"] == "high"
                if is_high and rng.random() < worse:
                    requests.append(Tell(each.id, goal="other", value=1.0))
                if not is_high or rng.random() < told:
                    requests.append(Tell(each.id, bool(rng.random() < (high if is_high else low))))
            experiment.do(requests)
            watch.now += 2_000_000
        return experiment.report()

    with made("winner") as experiment:
        assert send(experiment, 0.2, 0.6).decided
    with made("mismatch") as experiment:
        assert send(experiment, 0.5, 0.5, told=0.5).shortfalls
    goals = {"click": {}, "other": {"better": "less", "worse_by": 0.2, "window": 1}}
    with made("guarded", goals=goals) as experiment:
        assert send(experiment, 0.3, 0.6, worse=0.6).goals[0].guardrail == "violated"
    with made("changed", watch={"change": "restart"}) as experiment:
        send(experiment, 0.6, 0.2)
        assert send(experiment, 0.2, 0.6).alarms


def test_a_verdict_an_alarm_a_mismatch_a_guardrail_and_no_data(tmp_path, receiver, monkeypatch):
    """Each told once, of journals that hold what they are about; a webhook hears only what it named."""
    db = tmp_path / "rankone.db"
    Database(db).close()
    hook_of(db, f"{receiver.url}/all", *[event for event in EVENTS if event != "verdict"])
    hook_of(db, f"{receiver.url}/verdicts", "verdict", experiment="winner")
    worlds(db)
    with running(db):
        until(lambda: len(receiver.bodies) >= 4)
    with monkeypatch.context() as later, running(db):
        later.setattr(time, "time", lambda real=time.time: real() + 4_000)
        until(lambda: len(receiver.bodies) >= 8)
        time.sleep(0.3)  # would more come, they came now
    told = sorted((body["event"], body["experiment"]) for body in receiver.bodies)
    silent = [("no-data", name) for name in ("changed", "guarded", "mismatch", "winner")]
    others = [("guardrail", "guarded"), *silent, ("traffic", "mismatch"), ("verdict", "winner")]
    assert told == [("alarm", "changed"), *others]
    said = {body["event"]: body["headline"] for body in receiver.bodies}
    assert "wins" in said["verdict"]
    assert "check your traffic" in said["traffic"]
    assert said["alarm"].startswith("Alarm, ")
    assert said["guardrail"].startswith("Guardrail 'other' is violated")
    assert said["no-data"].startswith("No data for an hour: the last decision or outcome came at ")


@pytest.mark.parametrize("decide", ["set", "order"])
def test_a_verdict_of_a_ranking_is_told_once_for_each_list_and_stretch(decide):
    def verdict(*present):
        known = dataclasses.replace(report.ranking, present=present, set_proven=True)
        factors = (dataclasses.replace(report.factors[0], best=present[0]),)
        shown = dataclasses.replace(report, ranking=known, decided=True, factors=factors)
        (one,) = [each for each in occasions(shown, Notes([], [], (0, 0)), 0.0) if each.event == "verdict"]
        return one.name, json.loads(body_of(one, shown, "json", "1"))["best"]

    with Ranking("home", [*"abcd"], positions=3, db=None, seed=1, stopping={"decide": decide}) as ranking:
        report = ranking.report()
        name, best = verdict("a", "b", "c")
        assert best == {"1": "a", "2": "b", "3": "c"}
        assert (verdict("b", "a", "c")[0] == name) == (decide == "set"), "places that are swapped are no news of a set"
        assert verdict("a", "b", "d")[0] != name
        ranking.add_item("e")
        report = ranking.report()
        assert verdict("a", "b", "c")[0] != name, "a new statement"


def test_slack_gets_a_text_with_its_signs_escaped(db, receiver):
    hook_of(db, receiver.url, "stop", format="slack")
    with running(db) as url:
        Api(url)("POST", "/v1/experiments", SETTINGS | {"name": "a <b> & c"})
        stop(Api(url), "a <b> & c")
        until(lambda: receiver.bodies)
    (body,) = receiver.bodies
    assert set(body) == {"text"}
    assert body["text"].startswith("a &lt;b&gt; &amp; c: Stopped: everyone sees")


def test_the_report_comes_by_mail(tmp_path, monkeypatch):
    class Box:
        def __init__(self):
            self.mails = []

        async def handle_DATA(self, server, session, envelope):
            self.mails.append(envelope)
            return "250 OK"

    db, box = tmp_path / "rankone.db", Box()
    port = free_port()
    controller = Controller(box, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        hook_of(db, "mailto:ann@shop.example", "stop")
        with running(db) as url:
            Api(url)("POST", "/v1/experiments", SETTINGS | {"name": "homepage"})
            stop(Api(url), "homepage")
            until(lambda: (state(db)[0].error or "").startswith("Expected a mail server in RANKONE_SMTP, but got none"))
            monkeypatch.setenv("RANKONE_SMTP", f"smtp://127.0.0.1:{port}?from=rankone@shop.example")
            until(lambda: state(db)[0].arrived == 1)
    finally:
        controller.stop()
    (mail,) = box.mails
    message = email.message_from_bytes(mail.content, policy=email.policy.default)
    assert (mail.mail_from, mail.rcpt_tos) == ("rankone@shop.example", ["ann@shop.example"])
    assert message["Subject"].startswith("homepage: Stopped: everyone sees")
    html = message.get_body(("html",)).get_content()
    assert "<h1>homepage</h1>" in html
    assert "<table>" in html
    assert "script" not in html
    assert "Stopped" in message.get_body(("plain",)).get_content()


@pytest.mark.parametrize(
    "address",
    [
        "http://shop.example/x",
        "https://127.0.0.1/x",
        "https://[::1]/",
        "https://10.1.2.3/",
        "https://169.254.169.254/latest",
        "https://localhost/",
        "https://[::ffff:127.0.0.1]/",
        "https://[64:ff9b::7f00:1]/",
        "https://user:pw@shop.example/",
        "ftp://shop.example",
        "https://",
        "https://shop.example/a b",
        "https://shop.example/\r\nX: y",
        "mailto:a@b,c@d",
        "mailto:nobody",
        "mailto:a@b?subject=x",
        "https://shop.example:99999/",
        "https://100.64.0.1/",
        "https://224.0.0.1/",
    ],
)
def test_addresses_that_are_refused(address):
    with pytest.raises(InputError):
        checked_address(address, private=False)


def test_addresses_that_are_taken():
    for address in ("https://shop.example/a?b=c", "https://1.1.1.1:8443/", "mailto:ann@shop.example"):
        checked_address(address, private=False)
    checked_address("http://127.0.0.1:9/", private=True)
    check_public("2606:4700:4700::1111", private=False)


def test_a_public_name_that_leads_to_a_private_address_is_not_called(tmp_path, receiver, monkeypatch):
    """Names are looked up when they are used, and what is connected to is what was looked up."""
    with Database(tmp_path / "rankone.db") as database:
        hook = add_webhook(database, "https://shop.example/x", ())

    async def lookup(self, host, port, **more):
        assert host == "shop.example"
        return [(2, 1, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", lookup)
    assert asyncio.run(send_test(hook)).startswith("Expected a public address, but got 127.0.0.1.")
    assert not receiver.got


def test_over_http_secrets_are_shown_once_and_private_addresses_refused(tmp_path, receiver):
    db = tmp_path / "rankone.db"
    with Database(db) as database, running(db) as url:
        admin, one = (Api(url, create_token(database, ["admin"], experiment)) for experiment in ("*", "homepage"))
        answer = admin("POST", "/v1/webhooks", {"address": f"{receiver.url}/secret"})
        assert (answer.status, answer.code) == (422, "invalid")
        made = one("POST", "/v1/webhooks", {"address": "https://shop.example/secret/path", "experiment": "homepage"})
        assert made.status == 201
        secret = made.json()["secret"]
        assert one("POST", "/v1/webhooks", {"address": "https://shop.example/x"}).status == 403
        listed = admin("GET", "/v1/webhooks")
        (hook,) = listed.json()["webhooks"]
        assert hook["address"] == "https://shop.example/…"
        assert hook["events"] == list(EVENTS)
        assert secret[6:].encode() not in listed.body
        assert b"path" not in listed.body
        other = hook_of(db, f"{receiver.url}/x", "stop")  # on the machine of the database
        assert one("POST", f"/v1/webhooks/{other.id}/test").status == 404
        assert admin("POST", f"/v1/webhooks/{other.id}/test").json() == {"delivered": True, "error": None}
        receiver.answers += [500]
        assert admin("POST", f"/v1/webhooks/{other.id}/test").json() == {"delivered": False, "error": "status 500"}
        assert [each["id"] for each in admin("POST", f"/v1/webhooks/{other.id}/remove").json()["webhooks"]] == [
            hook["id"]
        ]
        with pytest.raises(InputError, match="the id of a webhook"):
            remove_webhook(database, other.id)


def test_the_commands(tmp_path, receiver):
    db = tmp_path / "rankone.db"
    Experiment("homepage", ["A", "B"], ["1"], db=db).close()
    refused = rankone("webhooks", "add", str(db), receiver.url)
    assert refused.returncode != 0
    assert "Expected an https:// or mailto: address" in refused.stderr
    added = rankone("webhooks", "add", str(db), f"{receiver.url}/path", "--event", "stop", "--allow-private")
    assert added.returncode == 0, added.stderr
    assert added.stdout.startswith("whsec_")
    (hook,) = state(db)
    listed = rankone("webhooks", "list", str(db))
    assert hook.id in listed.stdout
    assert "path" not in listed.stdout
    assert rankone("webhooks", "test", str(db), hook.id).returncode == 0
    receiver.answers += [418]
    failed = rankone("webhooks", "test", str(db), hook.id)
    assert (failed.returncode, "did not arrive: status 418" in failed.stderr) == (2, True)
    assert rankone("webhooks", "remove", str(db), hook.id).returncode == 0
    assert json.loads(rankone("webhooks", "list", str(db), "--json").stdout) == []
