"""Weights and what is told of them by HTTP: signed, cached, many rows at once; and from the command line."""

import json

import pytest

import rankone
from rankone.client.client import Client
from rankone.edge import decide
from rankone.live import Database, Experiment
from rankone.web.server.access.tokens import create_token
from tests import programs

from .helpers import Api, running

FACTORS = {"headline": ["A", "B"], "image": ["1", "2"]}


@pytest.fixture
def service(tmp_path):
    db = tmp_path / "rankone.db"
    with Database(db) as database:
        token = create_token(database, ["ask", "tell", "read", "admin"])
        signs = create_token(database, ["sign"], experiment="page")
    with running(db) as url, Client(url, token=token) as client:
        client.create("page", factors=FACTORS, policy="edge:every=50", seed=3)
        yield Api(url, token), client.experiment("page"), signs


def test_weights_are_signed_and_can_be_kept(service):
    api, experiment, signs = service
    got = api("GET", "/v1/experiments/page/weights")
    text, headers = got.body.decode(), got.headers
    assert headers["rankone-signature"] == rankone.sign_visitor(signs, "weights\n" + text)
    assert headers["rankone-signature"] != rankone.sign_visitor(signs, text), "or a visitor could be called so"
    weights = json.loads(text)
    assert weights == experiment.weights()
    assert headers["cache-control"].startswith("private, max-age="), "it took a token"
    assert headers["etag"].startswith('"1-')
    assert api("GET", "/v1/experiments/page/weights", headers={"If-None-Match": headers["etag"]}).status == 304
    assert api("GET", "/v1/experiments/page/weights?version=1").json()["parts"] == weights["parts"]
    assert api("GET", "/v1/experiments/page/weights?version=2").status == 422
    assert api("POST", "/v1/experiments/page/ask", {}).status == 422


def test_shared_caches_keep_what_takes_no_token(tmp_path):
    db = tmp_path / "rankone.db"
    with running(db) as url:
        with Client(url) as client:
            client.create("page", factors=FACTORS, policy="edge", seed=3)
        got = Api(url)("GET", "/v1/experiments/page/weights")
    assert got.headers["cache-control"].startswith("public, max-age=")


def test_rows_by_the_thousand(service):
    api, experiment, _ = service
    weights = experiment.weights()
    shown = [decide(weights, f"visitor {number}") for number in range(4_500)]
    clicks = [{"visitor": row["visitor"], "time": row["time"] + 1e-3} for row in shown[:300]]
    taken = experiment.ingest(shown)
    assert [each["shown"] for each in taken] == [2_000, 2_000, 500]
    assert experiment.ingest(clicks)[0]["clicked"] == 300
    again = api("POST", "/v1/experiments/page/ingest", {"exposures": shown[:50], "outcomes": clicks[:50]}).json()
    assert (again["exposures"], again["outcomes"], again["shown"], again["clicked"]) == (50, 50, 0, 0)
    report = experiment.report()
    assert report.decisions == 4_500
    assert report.outcomes["clicked"] == 300
    assert report.edge.version == 1
    wrong = [dict(shown[0], visitor="other", levels={"headline": "A", "image": "9"})]
    assert api("POST", "/v1/experiments/page/ingest", {"exposures": wrong}).json()["unfit"] == {"wrong_levels": 1}
    more = [dict(shown[0], visitor="another", levels=shown[0]["levels"] | {"visitor": "q"})]
    assert api("POST", "/v1/experiments/page/ingest", {"exposures": more}).status == 200


def test_from_the_command_line(tmp_path):
    db = tmp_path / "site.db"
    Experiment("page", factors=FACTORS, policy="edge", db=db).close()
    weights = json.loads(programs.rankone("weights", str(db), "page").stdout)
    rows = [decide(weights, f"visitor {number}") for number in range(40)]
    (tmp_path / "shown.jsonl").write_text("\n".join(map(json.dumps, rows)))
    options = ["--from", str(tmp_path / "shown.jsonl"), "--since", "2020-01-01"]
    said = programs.rankone("ingest", str(db), "page", *options)
    assert "40 exposures and 0 outcomes told: 40 more shown" in said.stdout, said.stderr
