"""Who may do what: every operation with every kind of token, cell by cell."""

import json
import time
from urllib.parse import quote

import pytest

from rankone.errors import InputError, StorageError
from rankone.live import Database, Experiment
from rankone.web.server.access.tokens import SCOPES, create_token, list_tokens, revoke_token
from rankone.web.server.app import OPERATIONS

from .helpers import HOMEPAGE, Api, running

BODIES = {
    "ask": {},
    "tell": {"clicked": True},
    "tell_many": {"outcomes": [{"id": "x", "clicked": True}]},
    "visit": {"visitor": "Ann"},
    "beacon": {"id": "x"},
    "track": {"visitor": "Ann", "goal": "click"},
    "track_all": {"visitor": "Ann", "goal": "click"},
    "evaluate_flag": {"context": {"targetingKey": "Ann"}},
    "evaluate_flags": {"context": {"targetingKey": "Ann"}},
    "create_experiment": HOMEPAGE,
    "plan": {"rows": 1, "cols": 1, "rate": 0.2, "lift": 1.0},
    "plan_goal": {"factors": {"price": 1}, "rate": 0.2, "lift": 1.0},
    "plan_lists": {"items": 5, "positions": 1, "rate": 0.2, "lift": 1.0},
    "stop": {},
    "exclude": {"source": "robot"},
    "void_open": {"older_than": 86_400},
    "add_level": {"factor": "row", "name": "newer"},
    "retire_level": {"factor": "row", "name": "newer"},
    "add_factor": {"factor": "third", "levels": ["only"]},
    "forbid": {"levels": {"row": "A", "col": "1"}},
    "allow": {"levels": {"row": "A", "col": "1"}},
    "declare_context": {"context": {"device": ["phone"]}},
    "make_token": {"scopes": ["admin"], "experiment": "homepage"},
}
# Written by hand, not taken from the table of operations: what each operation needs.
NEEDS = {
    "ask": "ask",
    "tell": "tell",
    "void": "tell",
    "tell_many": "tell",
    "visit": "ask",
    "beacon": "tell",
    "track": "tell",
    "weights": "ask",
    "ingest": "tell",
    "track_all": "tell",
    "evaluate_flag": "ask",
    "evaluate_flags": "ask",
    "list_experiments": "read",
    "create_experiment": "admin",
    "show_experiment": "read",
    "report": "read",
    "view": "read",
    "export": "read",
    "winners": "read",
    "plan": "read",
    "plan_goal": "read",
    "plan_lists": "read",
    "changes": "read",
    "whoami": "read",
    "tokens": "admin",
    "webhooks": "admin",
    "make_webhook": "admin",
    "try_webhook": "admin",
    "take_out_webhook": "admin",
    "make_token": "admin",
    "revoke": "admin",
    "stop": "admin",
    "resume": "admin",
    "exclude": "admin",
    "void_open": "admin",
    "add_level": "admin",
    "retire_level": "admin",
    "add_factor": "admin",
    "forbid": "admin",
    "allow": "admin",
    "declare_context": "admin",
    "metrics": "read",
    "health": None,
    "live": None,
    "ready": None,
    "openapi": None,
    "page_index_html": None,
    "page_page_css": None,
    "page_page_js": None,
    "page_panels_js": None,
    "page_combinations_js": None,
    "page_core_js": None,
    "page_goals_js": None,
    "page_segments_js": None,
    "page_ranking_js": None,
    "page_alarms_js": None,
    "page_plan_js": None,
    "page_manage_js": None,
    "page_manage_create_js": None,
    "page_manage_tokens_js": None,
    "page_manage_webhooks_js": None,
    "page_verdict_js": None,
    "page_tables_js": None,
    "page_charts_js": None,
    "page_dom_js": None,
    "page_edge_js": None,
    "page_winners_js": None,
    "chart_library": None,
    "list_settings": None,
    "snippet": None,
}
WHOLE = (
    "list_experiments",
    "winners",
    "metrics",
    "track_all",
    "evaluate_flags",
    "create_experiment",
    "plan",
    "plan_goal",
    "plan_lists",
    "whoami",
    "tokens",
    "revoke",
    "webhooks",
    "make_webhook",
    "try_webhook",
    "take_out_webhook",
)  # their path names no experiment


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    """A service with an experiment and a token of every kind: scope x (this experiment, another, every)."""
    db = tmp_path_factory.mktemp("closed") / "rankone.db"
    with running(db) as url:
        assert Api(url)("POST", "/v1/experiments", HOMEPAGE).status == 201
        database = Database(db)
        tokens = {
            (scope, experiment): create_token(database, [scope], experiment)
            for scope in SCOPES
            for experiment in ("homepage", "elsewhere", "*")
        }
        tokens["expired"] = create_token(database, SCOPES, now=time.time() - 2 * 86_400, days=1)
        tokens["revoked"] = create_token(database, SCOPES)
        revoke_token(database, tokens["revoked"].split("_")[1])
        tokens["forged"] = tokens["admin", "*"][:-4] + "aaaa"
        tokens["unknown"] = "rk_000000000000_" + "a" * 43
        while Api(url)("GET", "/v1/experiments").status != 401:  # the service notices within a second
            time.sleep(0.05)
        yield url, tokens, db
        database.close()


def send(url, operation, token):
    path = operation.path.replace("{name}", quote("homepage")).replace("{id}", "x").replace("{flag}", "homepage")
    return Api(url, token)(operation.method, path, BODIES.get(operation.name))


def code_of(operation, answer):
    """The code of an error; OpenFeature has a shape of its own."""
    return "a flag" if operation.refused and answer.json()["errorDetails"] else answer.code


def test_the_matrix_knows_every_operation():
    assert {operation.name for operation in OPERATIONS} == set(NEEDS)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_who_may_do_what(closed, operation):
    url, tokens, _ = closed
    needed = NEEDS[operation.name]
    for kind, token in tokens.items():
        answer = send(url, operation, token)
        if needed is None:
            assert answer.status == 200, kind
        elif isinstance(kind, str):
            assert (answer.status, code_of(operation, answer)) in ((401, "no-valid-token"), (401, "a flag")), kind
        else:
            scope, experiment = kind
            there = experiment in ("homepage", "*") or (
                operation.name in WHOLE and operation.name != "create_experiment"
            )
            if scope == needed and there:
                assert answer.status not in (401, 403), (kind, answer.body)
            else:
                assert (answer.status, code_of(operation, answer)) in ((403, "forbidden"), (403, "a flag")), kind
    nobody = send(url, operation, None)
    if needed is not None:
        assert nobody.status == 401
        assert nobody.headers["WWW-Authenticate"] == "Bearer"


def test_lists_show_only_what_the_token_may_read(closed):
    url, tokens, _ = closed
    for experiment, seen in (("homepage", ["homepage"]), ("elsewhere", []), ("*", ["homepage"])):
        api = Api(url, tokens["read", experiment])
        assert [found["name"] for found in api("GET", "/v1/experiments").json()["experiments"]] == seen
        assert ('experiment="homepage"' in api("GET", "/metrics").body.decode()) == bool(seen)


def test_a_revoked_token_ends_within_a_second_or_two(closed):
    url, _, db = closed
    database = Database(db)
    token = create_token(database, ["read"])
    api = Api(url, token)
    while api("GET", "/v1/experiments").status != 200:
        time.sleep(0.05)
    revoke_token(database, token.split("_")[1])
    while api("GET", "/v1/experiments").status == 200:
        time.sleep(0.05)
    database.close()


def test_tokens_are_stored_as_hashes(closed):
    _, tokens, db = closed
    stored = b"".join(file.read_bytes() for file in db.parent.glob("rankone.db*"))
    for token in tokens.values():
        assert token.split("_", 2)[2].encode() not in stored


def test_no_token_in_any_log(tmp_path, caplog, capfd):
    import logging

    db = tmp_path / "rankone.db"
    database = Database(db)
    token = create_token(database, SCOPES)
    with caplog.at_level(logging.DEBUG), running(db, require_token=True) as url:
        api = Api(url, token)
        api("POST", "/v1/experiments", HOMEPAGE)
        api("GET", "/v1/experiments/missing/report")
        api.on("homepage", "POST", "/ask", raw=token.encode())
        Api(url, token[:-1])("GET", "/metrics")
        seen = api("GET", "/metrics").body.decode()
    database.close()
    written = caplog.text + "".join(capfd.readouterr()) + seen
    assert token[:-1] not in written
    assert token.split("_", 2)[2][:-1] not in written


def test_tokens_that_cannot_be(tmp_path):
    database = Database(tmp_path / "rankone.db")
    for wrong in (
        {"scopes": []},
        {"scopes": ["root"]},
        {"scopes": ["ask"], "days": -1},
        {"scopes": ["ask"], "rate": 0},
    ):
        with pytest.raises(InputError):
            create_token(database, **wrong)
    create_token(database, ["ask"])
    with pytest.raises(InputError, match="the id of a token"):
        revoke_token(database, "nothing")
    assert len(list_tokens(database)) == 1
    database.close()


def test_the_command_makes_lists_and_revokes(tmp_path):
    from typer.testing import CliRunner

    from rankone.cli import build_app

    run = lambda *words: CliRunner().invoke(build_app(), ["token", words[0], str(tmp_path / "x.db"), *words[1:]])  # noqa: E731
    for words in (("list",), ("revoke", "x")):  # a wrong name makes no database
        assert isinstance(run(*words).exception, StorageError)
        assert not (tmp_path / "x.db").exists()
    Experiment("homepage", 2, 2, "ucb1", tmp_path / "x.db", durability="off").close()
    assert json.loads(run("list", "--json").stdout) == []
    text = run(
        "create", "--scope", "ask", "--scope", "tell", "--experiment", "homepage", "--note", "shop"
    ).stdout.strip()
    prefix, id, secret = text.split("_", 2)
    assert (prefix, len(secret)) == ("rk", 43)
    (listed,) = json.loads(run("list", "--json").stdout)
    assert (listed["id"], listed["scopes"], listed["experiment"]) == (id, ["ask", "tell"], "homepage")
    assert secret not in run("list").stdout
    assert "valid" in run("list").stdout
    assert run("revoke", id).exit_code == 0
    assert "revoked" in run("list").stdout


def test_a_role_that_may_not_make_tables_serves_tokens(postgres_db):
    """Its owner has made the tables; the role that serves reads and writes them."""
    import psycopg

    with Database(postgres_db) as database:
        create_token(database, ["read"])
    schema = postgres_db.rpartition("%3D")[2]
    with psycopg.connect(postgres_db, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE clerk_{schema} LOGIN")
        owner.execute(f"GRANT USAGE ON SCHEMA {schema} TO clerk_{schema}")
        owner.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO clerk_{schema}")
    with Database(postgres_db.replace("rankone@", f"clerk_{schema}@"), read_only=True) as database:
        assert len(list_tokens(database)) == 1
