"""Experiments with more than two factors over HTTP: the service, its answers, and the client."""

import pytest

from rankone import Product
from rankone.client.client import Client
from rankone.errors import InputError
from rankone.web.traffic import simulate_traffic
from tests import dice as dice  # registers the policy

from .helpers import Api, running

PAGE = {"headline": ["A", "B"], "image": ["1", "2", "3"], "button": ["buy", "try"]}


@pytest.fixture
def url(tmp_path):
    with running(tmp_path / "rankone.db") as found:
        yield found


def test_the_service_takes_factors_and_answers_with_levels(url):
    api = Api(url)
    created = api("POST", "/v1/experiments", {"name": "page", "factors": PAGE, "policy": "test-dice", "seed": 1})
    assert (created.status, created.json()["factors"]) == (201, PAGE)
    (decision,) = api.on("page", "POST", "/ask", {}).json()["decisions"]
    assert set(decision) == {"id", "number", "filler", "levels"}
    assert list(decision["levels"]) == list(PAGE)
    told = api.on("page", "PUT", f"/decisions/{decision['id']}/outcome", {"clicked": True}).json()
    assert (told["learned"], "note" in told) == (True, False)
    assert api.on("page", "POST", "/levels/add", {"factor": "image", "name": "4"}).json() == {"number": 3}
    assert api.on("page", "POST", "/levels/retire", {"factor": "image", "name": "1"}).json() == {"number": 0}
    added = api.on("page", "POST", "/factors/add", {"factor": "badge", "levels": ["none", "new"]}).json()
    assert added["factors"] == PAGE | {"image": ["2", "3", "4"], "badge": ["none", "new"]}
    report = api.on("page", "GET", "/report").json()
    assert [factor["name"] for factor in report["factors"]] == [*PAGE, "badge"]
    assert report["even_clicks"] is None
    view = api.on("page", "GET", "/view").json()
    assert (view["heat"], view["combinations"]["total"], view["combinations"]["n_shown"]) == (None, 24, 1)
    few = api.on("page", "POST", "/stop", {"levels": {"headline": "B"}})
    assert (few.status, "too few" in few.json()["detail"]) == (422, True)
    levels = {factor: names[-1] for factor, names in added["factors"].items()} | {"headline": "B"}
    stopped = api.on("page", "POST", "/stop", {"levels": levels}).json()
    assert stopped["shown"]["headline"] == "B"
    assert api.on("page", "POST", "/exclude", {"levels": {"headline": decision["levels"]["headline"]}}).json() == {
        "excluded": 1
    }


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "factors for the new experiment 'page'"),
        ({"factors": PAGE, "rows": 2}, "rows and cols, or factors"),
        ({"factors": {}}, "factors"),
        ({"factors": {"image": []}}, "factors.image: List should have at least 1 item, not 0"),
        ({"factor": PAGE}, "fields of this request"),
        ({"factors": PAGE, "control": {"levels": {}}}, "control.levels: "),
        ({"factors": {"image": ["1", "1"]}}, "levels of 'image' with different names"),
        ({"factors": {"a": 2000, "b": 2000, "c": 2000}}, "at most"),
        ({"factors": {f"f{number}": 2 for number in range(21)}}, "factors"),
        ({"factors": PAGE, "control": {"levels": {"image": "1"}}}, "a control with a level of each factor"),
    ],
)
def test_bad_factors_are_refused_with_a_sentence(url, settings, expected):
    refused = Api(url)("POST", "/v1/experiments", {"name": "page", "policy": "test-dice"} | settings)
    assert (refused.status, refused.code) == (422, "invalid")
    assert refused.json()["expected"].startswith(expected)


def test_the_client_has_what_the_experiment_has(url):
    with Client(url) as client:
        page = client.create(
            "page",
            factors=PAGE,
            policy="test-dice",
            control={"levels": {"image": "2", "headline": "A", "button": "buy"}},
        )
        client.create("page", factors=PAGE)  # it is there with these levels
        assert list(page.ask().levels) == list(PAGE)
        for decision in page.ask(60):
            page.tell(decision, decision.levels["image"] == "2")
        report = page.report()
        assert report.best["image"] == "2"
        assert report.control == {"headline": "A", "image": "2", "button": "buy"}
        assert page.add_level("image", "4") == 3
        assert page.retire_level("image", "3") == 2
        shown = next(each for each in page.ask(60) if each.levels["image"] == "1")
        page.retire_level("image", "1")
        assert page.tell(shown, True).note.startswith("image '1' was retired after this was shown")
        page.add_factor("badge", ["none", "new"])
        assert page.stop({"badge": "new", "headline": "B", "image": "4", "button": "try"}) == {
            "headline": "B",
            "image": "4",
            "button": "try",
            "badge": "new",
        }
        page.resume()
        assert page.exclude(levels={"image": "2"}) > 0
        with pytest.raises(InputError, match="one of the factors headline, image, button, badge"):
            page.add_level("picture", "9")


def test_a_simulated_audience_of_three_factors(url):
    problem = Product({"a": [0.9, 0.5], "b": [0.8, 0.4], "c": [0.9, 0.8]}, forbidden=[{"a": "a 1", "b": "b 2"}])
    with Client(url) as client:
        visits, clicks = simulate_traffic(client, "demo", problem, visits=60, rate=1e6)
        report = client.experiment("demo").report()
    assert (visits, report.decisions, report.outcomes["clicked"]) == (60, 60, clicks)
    assert report.forbidden == tuple(problem.to_dict()["forbidden"])
