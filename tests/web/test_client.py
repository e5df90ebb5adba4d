"""The client does what the embedded experiment does, with the same methods, answers and errors."""

import dataclasses
import inspect
import json
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import rankone
from rankone.client.client import Client, RemoteExperiment
from rankone.errors import Contradiction, InputError, KeyReused, StorageError, UnknownDecision
from rankone.live import Experiment, Outcome

# What makes no sense at a distance: the service settles windows itself, looks are its own business,
# it knows whose token a client has, and archives are files.
NOT_REMOTE = {"do", "look", "settle", "on_behalf_of"}


@pytest.fixture
def client(url):
    with Client(url) as client:
        yield client


def test_it_has_the_methods_of_the_experiment():
    methods = {name for name, _ in inspect.getmembers(Experiment, inspect.isfunction) if not name.startswith("_")}
    for name in methods - NOT_REMOTE:
        embedded = inspect.signature(getattr(Experiment, name))
        remote = inspect.signature(getattr(RemoteExperiment, name))
        assert remote.parameters == embedded.parameters, name
    assert rankone.Client is Client


def test_goals_are_told_at_a_distance(client):
    shop = client.create("shop", 2, 2, "uniform", goals={"order": {"kind": "amount", "cap": 10.0}}, seed=3)
    decision = shop.ask()
    first = shop.tell(decision, value=4.0)
    assert shop.tell(decision, value=4.0) == first._replace(repeated=True)
    told = shop.tell_many([(shop.ask(), 0.0), (shop.ask(), 10.0), (shop.ask(), -1.0)], goal="order")
    assert [answer.value for answer in told[:2]] == [0.0, 10.0]
    assert isinstance(told[2], InputError)
    assert len(shop.to_pandas()) == 4
    assert shop.report().goals[0].levels[0].visitors > 0
    with pytest.raises(InputError, match="Expected a value as a number of at least 0"):
        shop.tell(shop.ask(), value=-1)


def test_visitors_are_tracked_at_a_distance(client):
    goals = {"click": {}, "bought": {"kind": "amount", "cap": 100.0}}
    one, two = (client.create(name, 2, 2, "uniform", goals=goals) for name in ("one", "two"))
    client.create("other", 2, 2, "uniform")
    one.ask(visitor="ann")
    assert one.track("ann", "bought", 20.0, key="o1").value == 20.0
    told = client.track("ann", "bought", 20.0, key="o1")
    assert {name: (each.status, each.repeated) for name, each in told.items()} == {
        "one": ("held", True),
        "two": ("unmatched", False),
    }
    client.track("ann", "bought", 5.0)
    client.track("ann", "bought", 5.0)  # without a key of the caller: another order
    totals = [sum(level.total for level in each.report().goals[0].levels) / 2 for each in (one, two)]
    assert totals == [30.0, 0.0]
    assert two.report().goals[0].unmatched == 3
    assert {"one", "two", "other"} <= set(client.track("ann", "click"))


def test_an_experiment_that_refuses_a_visitors_outcome_keeps_it_from_no_other(client):
    """One has the goal as yes or no, and one has cancelled the visitor's decision; the third one counts."""
    amount = {"click": {}, "paid": {"kind": "amount", "cap": 100.0}}
    odd = client.create("a yes or no", 2, 2, "uniform", goals={"click": {}, "paid": {}})
    with pytest.raises(InputError, match="Expected True or False for the goal 'paid'"):
        client.track("eve", "paid", 20.0)  # where nobody counts it, that is an error
    gone, counts = (client.create(name, 2, 2, "uniform", goals=amount) for name in ("b cancelled", "c counts"))
    for each in (odd, gone, counts):
        decision = each.ask(visitor="eve")
        if each is gone:
            each.void(decision)
    told = client.track("eve", "paid", 20.0)
    assert {name: each.status for name, each in told.items()} == {
        "a yes or no": "refused",
        "b cancelled": "refused",
        "c counts": "held",
    }
    assert "True or False" in told["a yes or no"].note
    assert "cancelled" in told["b cancelled"].note
    assert counts.report().goals[0].levels[0].total + counts.report().goals[0].levels[1].total == 20.0


def test_segments_are_said_at_a_distance(client):
    experiment = client.create("segments", 2, 2)
    with pytest.raises(InputError, match="an experiment whose attributes of visitors are declared, but got none"):
        experiment.ask(context={"device": "phone"})
    experiment.declare_context({"device": ["phone", "desktop"], "returning": [True, False]})
    experiment.ask(context={"device": "phone", "returning": True})
    experiment.ask(2, context={"returning": "true", "device": "phone"})
    with pytest.raises(InputError, match="context with device, returning, as this experiment has them"):
        experiment.ask(context={"device": "phone", "hour": 3})
    with pytest.raises(InputError, match="as text, True, False or a number, but got nan"):
        experiment.ask(context={"device": float("nan"), "returning": True})
    assert experiment.report().decisions == 3
    (found,) = [each for each in client.experiments() if each["name"] == "segments"]
    assert found["context"] == {"device": ["phone", "desktop"], "returning": ["true", "false"]}
    again = client.create("declared", 2, 2, context={"device": None})
    assert again.ask(context={"device": "phone"}).number == 0


def test_a_plan_is_that_of_the_library(client):
    wishes = {"factors": {"row": 2, "col": 2}, "rate": 0.2, "lift": 0.5, "visitors_a_day": 1000, "aim": "decide"}
    found = client.plan(**wishes)
    assert found == json.loads(json.dumps(rankone.plan(**wishes).to_dict()))
    assert " for a winner" in found["sentence"]
    of_three = {"factors": {"a": 2, "b": 2, "c": ["x"]}, "rate": 0.2, "lift": 0.5, "aim": "decide"}
    assert client.plan(**of_three) == json.loads(json.dumps(rankone.plan(**of_three).to_dict()))
    signatures = [inspect.signature(each).parameters for each in (Client.plan, rankone.plan)]
    assert set(signatures[0]) - {"self"} == set(signatures[1]) - {"rows", "cols", "seed", "progress"}


def test_a_plan_of_a_goal_is_that_of_the_library(client):
    for wishes in (
        {"factors": {"price": 2}, "rate": 0.1, "lift": 0.5, "average": 50.0, "cap": 200.0, "visitors_a_day": 1000},
        {"factors": {"price": ["low", "high"]}, "rate": 0.2, "worse_by": 0.3, "goals": 3},
    ):
        found = client.plan_goal(**wishes)
        assert found == json.loads(json.dumps(rankone.plan_goal(**wishes).to_dict()))
        assert found["median"] > 0
    for wrong, said in (({"worse_by": 1.0}, "worse_by "), ({}, "lift from 0.01 to 1e+09"), ({"goals": 99}, "goals: ")):
        with pytest.raises(InputError) as refused:
            client.plan_goal({"price": 2}, 0.2, **wrong)
        assert refused.value.expected.startswith(said)


def test_a_plan_of_lists_is_that_of_the_library(client):
    wishes = {"items": 5, "positions": 2, "rate": 0.2, "lift": 1.0, "model": "cascade", "aim": "decide"}
    found = client.plan_lists(**wishes)
    assert found == json.loads(json.dumps(rankone.plan_lists(**wishes).to_dict()))
    assert found["headline"].startswith("Aim 'decide': about ")
    for wrong in ({"positions": 5}, {"items": 65}, {"model": "dbn"}):
        with pytest.raises(InputError) as refused:
            client.plan_lists(**wishes | wrong)
        assert refused.value.expected.startswith(("positions as", "at most 64 levels", "model as"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rate": 0.9}, "rate * (1 + lift), the best pair's click rate, of at most 1"),
        ({"factors": {"a": 1, "b": 1}}, "at least two pairs"),
        ({"margin": 1.5}, "margin from 0 to 1"),
        ({"error": 0.0}, "error from 1e-06 to 0.5"),
        ({"aim": "win"}, "aim as one of earn, both, decide"),
    ],
)
def test_plans_that_cannot_be(client, change, said):
    with pytest.raises(InputError) as refused:
        client.plan(**{"factors": {"a": 2, "b": 2}, "rate": 0.2, "lift": 0.5} | change)
    assert refused.value.expected == said


def test_a_report_comes_back_as_it_was_made(client):
    shop = client.create(
        "verdict",
        ["A", "B"],
        ["x"],
        aim="decide",
        control={"levels": ("A", "x"), "share": 0.4},
        stopping={"margin": 0.1},
        seed=2,
    )
    rng = np.random.default_rng(0)
    for batch in range(50):
        if batch == 10:
            sound = shop.report()
        lost = 0.5 if batch >= 10 else 0.0  # B's pages often fail from here on
        asked = [made for made in shop.ask(50) if made["row"] == "A" or rng.random() >= lost]
        shop.tell_many([(made, bool(rng.random() < (0.9 if made["row"] == "B" else 0.3))) for made in asked])
    report = shop.report()
    assert report.brief in str(report)
    assert report.to_dict()["headline"] == report.headline
    assert (report.best["row"], report.basis, report.decided, report.good_enough) == ("B", "any", True, False)
    assert sound.uplift_low > -0.5  # not what stands there where nothing came back
    assert sound.factors[0].levels[0].ratio_high <= 1.0
    assert report.shortfalls[0].name == "B"
    assert (report.uplift, report.factors[0].levels[0].ratio, report.leader.low) == (None, None, None)
    assert hash(report.shortfalls) == hash(report.shortfalls)  # tuples, as the embedded experiment has them


WITHOUT_PACKAGES = """
import sys

class OnlyTheStandardLibrary:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in {"rankone", *sys.stdlib_module_names}:
            raise ImportError(f"{name} is not installed here")

sys.meta_path.insert(0, OnlyTheStandardLibrary())
import rankone

for name in ("numba", "numpy", "polars", "starlette", "pydantic", "uvicorn"):
    try:
        __import__(name)
    except ImportError:
        continue
    raise SystemExit(f"{name} can be imported, so this shows nothing")
with rankone.Client(sys.argv[1]) as client:
    experiment = client.create("alone", ["A", "B"], 2, "ucb1")
    decision = experiment.ask()
    assert experiment.tell(decision, True).learned
    assert [answer.learned for answer in experiment.tell_many([(experiment.ask().id, False)])] == [True]
    try:
        experiment.tell(decision, False)
    except rankone.errors.Contradiction as error:
        print(error.expected)
    print(experiment.report().headline)
"""


def test_it_needs_nothing_but_the_standard_library(url):
    """A web site that only asks and tells must not have to install Numba, nor what the service is made of."""
    command = [sys.executable, "-c", WITHOUT_PACKAGES, url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "'clicked' again, or nothing"
    assert "Not enough data yet: 1 of 2 visitors clicked." in done.stdout


def drive(experiment):
    """A little of everything; return all answers, without the secrets that differ."""
    said = []
    decisions = [experiment.ask(), *experiment.ask(6, source="shop")]
    for place, decision in enumerate(decisions):
        said.append(dataclasses.replace(decision, id=""))
        if place < 3:
            said.append(experiment.tell(decision if place else decision.id, place == 0, source="shop")._replace(id=""))
    said += [
        answer._replace(id="") for answer in experiment.tell_many([(decisions[3].id, True), (decisions[4].id, False)])
    ]
    said.append(experiment.void(decisions[5])._replace(id=""))
    said.append(experiment.add_level("row", "Z"))
    said.append(experiment.retire_level("col", "2"))
    said.append(experiment.stop({"row": "Z", "col": "1"}, why="enough"))
    said.append(experiment.report())
    said.append(dataclasses.replace(experiment.ask(), id=""))
    experiment.resume()
    said.append(experiment.exclude(source="shop"))
    said.append(experiment.void_open(0.001, source="shop"))
    said.append(experiment.report())
    said.append(str(experiment.report()))
    return said


def test_it_answers_as_the_embedded_experiment_does(client, tmp_path):
    settings = {
        "rows": ["A", "B", "C"],
        "cols": ["1", "2"],
        "policy": "ucb1",
        "seed": 3,
        "outcomes": {"max_open": 40, "max_age": 60},
    }
    with Experiment("twin", db=tmp_path / "twin.db", durability="off", **settings) as embedded:
        assert drive(client.create("twin", **settings)) == drive(embedded)


def test_it_raises_the_same_errors(client):
    experiment = client.create("errors", 2, 2, "ucb1", outcomes={"max_open": 3})
    decision = experiment.ask(key="one")
    assert experiment.ask(key="one") == decision
    experiment.tell(decision.id, True)
    with pytest.raises(Contradiction, match=r"'clicked' again, or nothing, but got not clicked. Tell each decision"):
        experiment.tell(decision.id, False)
    with pytest.raises(UnknownDecision):
        experiment.tell("nonsense", False)
    with pytest.raises(KeyReused):
        experiment.ask(2, key="one")
    with pytest.raises(InputError, match="at most 1,000"):
        experiment.ask(1001)
    with pytest.raises(InputError, match="No such experiment: "):
        client.experiment("missing").ask()
    with pytest.raises(InputError, match="policy"):
        client.create("errors", 2, 2, "kl-ucb")
    with pytest.raises(InputError) as refused:  # the parts come as they are, whatever they hold
        client.experiment("a, but got b - c").ask()
    parts = refused.value.expected, refused.value.got, refused.value.do
    assert parts == ("No such experiment:", "'a, but got b - c'", "create it, or list them: rankone experiments")
    assert experiment.tell_many([]) == []
    good, bad = experiment.tell_many([(decision.id, True), (decision.id, False)])
    assert isinstance(good, Outcome)
    assert isinstance(bad, Contradiction)


def test_no_service_at_all():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    with pytest.raises(StorageError, match="See that `rankone serve` runs there"):
        Client(f"http://127.0.0.1:{port}", patience=0.1).experiments()
    for wrong in (
        "rankone.db",
        "ftp://x",
        "http://",
        "http://host/?x=1",
        "http://h:99999",
        "http://h:x",
        "http://[::1",
        5,
    ):
        with pytest.raises(InputError, match="the address of a service"):
            Client(wrong)
    for wrong in ("rk_x\n", "rk_é"):
        with pytest.raises(InputError, match="a token of one line") as refused:
            Client("http://127.0.0.1", wrong)
        assert wrong not in str(refused.value)  # a token is a secret


def test_what_makes_no_sense_is_refused_as_the_embedded_experiment_does(client, tmp_path):
    remote = client.create("nonsense", np.int64(2), 2, "ucb1", seed=7)
    with Experiment("nonsense", 2, 2, "ucb1", tmp_path / "twin.db", durability="off", seed=7) as embedded:
        for experiment in (remote, embedded):
            decisions = experiment.ask(np.int64(4))
            for wrong in ("0-nonsense", 7, None):
                with pytest.raises(UnknownDecision):
                    experiment.tell(wrong, True)
            for clicked in ("yes", 2, None):
                with pytest.raises(InputError, match="clicked as True or False"):
                    experiment.tell(decisions[0].id, clicked)
            assert experiment.tell(decisions[0].id, np.bool_(True)).clicked is True
            assert experiment.tell(decisions[1].id, 0).clicked is False
            with pytest.raises(InputError, match="key"):
                experiment.ask(key="")
            with pytest.raises(InputError, match="pairs of a decision's id"):
                experiment.tell_many([decisions[2].id])
            refused, told = experiment.tell_many([(("not", "one"), True), (decisions[3], np.False_)])
            assert isinstance(refused, UnknownDecision)
            assert told.clicked is False
    with pytest.raises(InputError, match="ASCII"):
        remote.ask(key="ключ")
    with pytest.raises(InputError, match="list of names"):
        client.create("other", 2.5, 2)
    with pytest.raises(InputError, match="window in seconds above 0"):
        client.create("other", 2, 2, outcomes={"window": object()})


def test_answers_of_something_else():
    """Whatever listens there, the error is one of ours."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer(text):
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(text)

        for text, kind in (
            (b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nno!\n", InputError),
            (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", StorageError),
            (b"SSH-2.0-OpenSSH\r\n", StorageError),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", InputError),
            (b'HTTP/1.1 422 No\r\nContent-Length: 14\r\n\r\n{"detail": []}', InputError),
            (
                b"HTTP/1.1 503 Busy\r\nRetry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\nContent-Length: 0\r\n\r\n",
                StorageError,
            ),
        ):
            thread = threading.Thread(target=answer, args=(text,))
            thread.start()
            with Client(f"http://127.0.0.1:{server.getsockname()[1]}", patience=0) as client, pytest.raises(kind):
                client.experiments()
            thread.join()


def test_an_experiment_may_take_its_time_to_be_made():
    """The service may have to compile a policy: what is patience with any other request is not enough."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer_late():
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                time.sleep(0.3)
                connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}")
                connection.recv(65536)
                time.sleep(0.3)

        thread = threading.Thread(target=answer_late)
        thread.start()
        with Client(f"http://127.0.0.1:{server.getsockname()[1]}", patience=0, timeout=0.1) as client:
            assert client.create("homepage", 2, 2).name == "homepage"
            with pytest.raises(StorageError, match="timed out"):
                client.experiments()
        thread.join()


def test_what_it_is_can_be_read():
    assert repr(Client("http://me:secret@127.0.0.1:8000/rankone")) == "<Client http://127.0.0.1:8000/rankone>"


def test_no_password_is_shown_in_errors():
    with pytest.raises(StorageError, match=r"the service http://127.0.0.1:1 to answer") as away:
        Client("http://me:secret@127.0.0.1:1", patience=0).health()
    with pytest.raises(InputError, match=r"http://127.0.0.1:x") as wrong:
        Client("http://me:sec/ret@127.0.0.1:x")
    assert "ret" not in f"{away.value}{wrong.value}"
