"""Administration from the page, in a real Chromium: nothing without a token of scope admin and a second click."""

import json
import time

import pytest
from typer.testing import CliRunner

from rankone.cli import build_app
from rankone.client.client import Client
from rankone.live import Database, Experiment
from rankone.web.server.access.tokens import SCOPES, create_token, list_tokens

from .browser import HOSTILE, PHONE, needs_chromium, shown
from .helpers import HOMEPAGE, Api, running

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    """A service that needs tokens, with an experiment of hostile names."""
    db = tmp_path_factory.mktemp("manage") / "rankone.db"
    with Database(db) as database:
        admin = create_token(database, SCOPES, note="<b>operator</b>")
        look = create_token(database, ["read"])
        Experiment("homepage", ["A", "B", "C"], ["1", "2"], "ucb1", database, seed=7).close()
        Experiment(HOSTILE[0], HOSTILE[:11], HOSTILE[1:4], "ucb1", database, seed=7).close()
        with running(db, require_token=True) as url:
            yield url, admin, look, database


def manage(open_page, url, token, experiment, **options):
    """The page of an experiment with the part for operators open."""
    page = open_page(url, **options)
    if token is not None:
        page.fill("#token", token)
        page.click("#sign-in button")
    page.wait_for_selector("#experiments:not([hidden])")
    shown(page, experiment)
    page.click("#manage summary")
    page.wait_for_selector("#changes tbody tr")
    return page


def form(page, title):
    return page.locator(".act-form", has=page.get_by_role("heading", name=title, exact=True))


def carry_out(page, title, says, yes=True):
    """Press a form's button, and answer what is asked then; return the question."""
    part = form(page, title)
    part.locator("button").last.click()
    page.wait_for_selector("#confirm[open]")
    asked = page.inner_text("#confirm p >> nth=0")
    page.locator("#confirm button.act" if yes else "#confirm button >> nth=0").click()
    if yes:
        part.get_by_text(says).wait_for()
    return asked


def changes(page):
    """What stands in the table of changes, newest first: (what, who)."""
    cells = page.locator("#changes tbody td").all_inner_texts()
    return list(zip(cells[::2], cells[1::2], strict=True))


def test_what_is_half_typed_stays_when_forms_are_made_again(closed, open_page):
    url, admin, _, database = closed
    with Database(database.where) as other:
        Experiment("typing", ["A", "B"], ["1", "2"], "ucb1", other, seed=7).close()
        page = manage(open_page, url, admin, "typing")
        form(page, "Exclude outcomes").get_by_label("Source").fill("robot")
        form(page, "New token").get_by_label("read").check()
        Experiment("typing", db=other).add_level("row", "late")
        page.locator("#manage-parts option", has_text="late").first.wait_for(state="attached")
        assert form(page, "Exclude outcomes").get_by_label("Source").input_value() == "robot"
        assert form(page, "New token").get_by_label("read").is_checked()


def test_an_operator_does_everything_from_the_page(closed, open_page):
    url, admin, _, database = closed
    me = admin.split("_")[1]
    page = manage(open_page, url, admin, "homepage")
    experiment = Experiment("homepage", db=database)

    form(page, "Stop").get_by_label("row").select_option("B")
    form(page, "Stop").get_by_label("col").select_option("2")
    asked = carry_out(page, "Stop", "stopped", yes=False)
    assert asked == "Stop 'homepage', and show every visitor 'B' with '2'?"
    assert experiment.report().stopped is None  # nothing is done without the second click
    form(page, "Stop").get_by_label("Why").fill("<i>enough</i>")
    form(page, "Stop").locator("button").last.click()
    page.click("#confirm button.act")
    form(page, "Resume").wait_for()
    assert experiment.report().shown["row"] == "B"
    assert experiment.ask()["col"] == "2"
    page.get_by_text("stopped on 'B' with '2': <i>enough</i>").first.wait_for()

    form(page, "Resume").locator("button").last.click()
    page.click("#confirm button.act")
    form(page, "Stop").wait_for()
    assert experiment.report().stopped is None

    form(page, "Add a level").get_by_label("Name").fill("D")
    form(page, "Add a level").locator("button").last.click()
    page.click("#confirm button.act")
    page.locator("#factor-0 tbody th", has_text="D").wait_for()
    form(page, "Retire a level").get_by_label("Level").select_option(label="row: D")
    form(page, "Retire a level").locator("button").last.click()
    page.click("#confirm button.act")
    page.locator("#changes td", has_text="row 'D' retired").wait_for()
    assert [row.name for row in experiment.report().factors[0].levels if not row.live] == ["D"]

    together = form(page, "Never show together")
    together.get_by_label("row").select_option("A")
    together.locator("button").last.click()
    together.get_by_text("Choose levels of two factors or more.").wait_for()
    together.get_by_label("col").select_option("2")
    together.locator("button").last.click()
    page.wait_for_selector("#confirm[open]")
    assert page.inner_text("#confirm p >> nth=0") == "Never show 'A' with '2' together in 'homepage'?"
    page.click("#confirm button.act")
    form(page, "Show together again").wait_for()
    assert experiment.report().forbidden == ({"row": "A", "col": "2"},)
    form(page, "Show together again").locator("button").last.click()
    page.click("#confirm button.act")
    page.locator("#changes td", has_text="allowed again").wait_for()
    assert not experiment.report().forbidden

    experiment.tell(experiment.ask().id, True, source="robot")
    form(page, "Exclude outcomes").locator("button").last.click()  # nothing is named
    form(page, "Exclude outcomes").get_by_text("Name a source").wait_for()
    form(page, "Exclude outcomes").get_by_label("Source").fill("robot")
    assert "with source robot?" in carry_out(page, "Exclude outcomes", "1 excluded")
    assert experiment.report().outcomes["clicked"] == 0

    page.locator("#changes td", has_text="outcomes excluded").wait_for()
    what, by = zip(*changes(page), strict=True)
    assert what[0] == "outcomes excluded"
    assert what[-1] == "created"
    assert set(by[:-1]) == {me}  # who: the token; what was done where the database is has none
    assert by[-1] == "–"
    assert [change.by for change in experiment.changes()][1:] == [me] * (len(by) - 1)
    with Client(url, admin) as client:
        assert client.experiment("homepage").changes() == experiment.changes()
    told = CliRunner().invoke(build_app(), ["changes", database.where, "homepage", "--json"])
    assert [change["by"] for change in json.loads(told.stdout)] == [None] + [me] * (len(by) - 1)


def test_experiments_and_tokens_are_made_and_ended(closed, open_page):
    url, admin, _, database = closed
    page = manage(open_page, url, admin, "homepage")
    new = form(page, "New experiment")
    new.get_by_label("Name", exact=True).fill("<u>fresh</u>")
    new.locator("textarea").nth(0).fill("one\n two \n\n<script>window.hacked=1</script>")
    new.locator("textarea").nth(1).fill("x\ny")
    new.get_by_text("More settings").click()
    new.get_by_label("Goals").fill("order: kind=amount, cap=500\nrefund: better=less, worse_by=0.1")
    assert "with 6 combinations (3 times 2)" in carry_out(page, "New experiment", "created")
    assert "<u>fresh</u>" in database.names()
    with Experiment("<u>fresh</u>", db=database) as fresh:
        assert [row.name for row in fresh.report().factors[0].levels][:2] == ["one", "two"]
        assert fresh.changes()[0].by == admin.split("_")[1]
        assert fresh.settings.goals == {
            "order": {"kind": "amount", "cap": 500.0},
            "refund": {"better": "less", "worse_by": 0.1},
        }

    make = form(page, "New token")
    make.get_by_label("read").check()
    make.get_by_label("Note").fill("<img src=x onerror=window.hacked=1>")
    assert "may read on all experiments" in carry_out(page, "New token", "Copy it now, it is not shown again")
    secret = make.locator(".secret").inner_text()
    (made,) = [token for token in list_tokens(database) if token.id == secret.split("_")[1]]
    assert (made.scopes, made.made_by) == (("read",), admin.split("_")[1])
    while Api(url, secret)("GET", "/v1/experiments").status != 200:
        time.sleep(0.05)
    assert Api(url, secret)("GET", "/v1/tokens").status == 403
    row = page.locator(".act-form tr", has_text=made.id)
    row.get_by_role("button").click()
    assert made.id in page.inner_text("#confirm")
    page.click("#confirm button.act")
    page.locator(".act-form tr", has_text=made.id).get_by_text("revoked by").wait_for()
    while Api(url, secret)("GET", "/v1/experiments").status == 200:
        time.sleep(0.05)
    assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize("options", [{}, {"size": PHONE}], ids=["desktop", "phone"])
def test_a_new_experiment_may_have_any_number_of_factors(closed, open_page, options):
    url, admin, _, database = closed
    page = manage(open_page, url, admin, "homepage", **options)
    new = form(page, "New experiment")
    name = f"four factors, {len(options)}"
    new.get_by_label("Name", exact=True).fill(name)
    wanted = {"headline": ["A", "B"], "<i>image</i>": ["1", "2", "3"], "__proto__": ["x", "y"], "button": ["buy"]}
    for _ in range(3):
        new.get_by_role("button", name="Add a factor").click()
    new.get_by_role("button", name="Remove").nth(2).click()
    assert new.locator("legend").all_inner_texts() == [f"Factor {place}" for place in (1, 2, 3, 4)]
    for place, (factor, levels) in enumerate(wanted.items()):
        new.get_by_label("Name of the factor").nth(place).fill(factor)
        new.get_by_label("Levels of the factor").nth(place).fill("\n".join(levels))
    new.get_by_label("Name of the factor").nth(3).fill("headline")
    new.locator("button").last.click()
    new.get_by_text("two are called 'headline'").wait_for()
    new.get_by_label("Name of the factor").nth(3).fill("button")
    new.get_by_label("Good enough within").fill("0.05")
    new.get_by_label("Stop automatically").check()
    control = {factor: levels[0] for factor, levels in wanted.items()}
    new.get_by_label("Control", exact=True).fill("\n".join(f"{factor} = {level}" for factor, level in control.items()))
    new.get_by_text("More settings").click()
    new.get_by_label("What is known of visitors").fill("device = phone, desktop\n\ncountry")
    width = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1]
    assert "with 12 combinations (2 times 3 times 2 times 1)" in carry_out(page, "New experiment", "created")
    with Experiment(name, db=database) as made:
        report, stopping = made.report(), made.look(lambda fold: fold.settings.stopping)
        assert (report.control, stopping.margin, stopping.auto) == (control, 0.05, True)
        found = report.factors
        assert {factor.name: [level.name for level in factor.levels] for factor in found} == wanted
        declared = made.look(lambda fold: fold.segments.declared)
        assert declared == (("country", None), ("device", ("phone", "desktop")))
    assert new.locator("fieldset").count() == 2  # ready for the next one

    for _ in range(18):
        new.get_by_role("button", name="Add a factor").click()
    new.get_by_role("button", name="Add a factor").wait_for(state="hidden")  # no experiment has more than 20
    for _ in range(19):
        new.get_by_role("button", name="Remove").first.click()
    assert new.get_by_role("button", name="Remove").is_hidden()
    new.get_by_label("Name", exact=True).fill(f"{name}: one")
    new.get_by_label("Name of the factor").fill("headline")
    new.get_by_label("Levels of the factor").fill("A\nB")
    assert "with 2 combinations?" in carry_out(page, "New experiment", "created")
    assert page.evaluate("window.hacked") is None


def test_who_may_only_look_is_offered_nothing(closed, open_page):
    url, _, look, _ = closed
    page = manage(open_page, url, look, "homepage")
    assert "This token may look only" in page.inner_text("#manage-parts")
    assert page.locator(".act-form").count() == 0
    assert changes(page)[-1] == ("created", "–")


@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark"}, {"size": PHONE}], ids=["light", "dark", "phone"])
def test_hostile_names_are_text_and_fit(closed, open_page, options):
    url, admin, _, database = closed
    page = manage(open_page, url, admin, HOSTILE[0], **options)
    assert page.evaluate("window.hacked") is None
    width = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1]
    form(page, "Retire a level").get_by_label("Level").select_option(index=0)
    form(page, "Retire a level").locator("button").last.click()
    page.wait_for_selector("#confirm[open]")
    assert HOSTILE[0] in page.inner_text("#confirm")
    box = page.locator("#confirm").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width[1]
    page.click("#confirm button >> nth=0")
    assert len(Experiment(HOSTILE[0], db=database).changes()) == 1


def test_nobody_gives_more_than_they_have(tmp_path):
    db = tmp_path / "rankone.db"
    with Database(db) as database, running(db, require_token=True) as url:
        every, one = create_token(database, ["admin", "read"]), create_token(database, ["admin"], "homepage")
        assert Api(url, every)("POST", "/v1/experiments", HOMEPAGE).status == 201
        for token, wanted, status in (
            (every, {"scopes": ["read"]}, 201),
            (every, {"scopes": ["ask"]}, 403),
            (one, {"scopes": ["admin"], "experiment": "homepage"}, 201),
            (one, {"scopes": ["admin"]}, 403),
            (one, {"scopes": ["admin"], "experiment": "elsewhere"}, 403),
            (one, {"scopes": ["root"], "experiment": "homepage"}, 422),
        ):
            assert Api(url, token)("POST", "/v1/tokens", wanted).status == status, wanted
        seen = Api(url, one)("GET", "/v1/tokens").json()["tokens"]
        assert {token["experiment"] for token in seen} == {"homepage"}
        assert not any("digest" in token for token in seen)
        answer = Api(url, one)("POST", f"/v1/tokens/{every.split('_')[1]}/revoke")
        assert (answer.status, answer.code) == (404, "unknown-token")
        assert Api(url, every)("GET", "/v1/whoami").json() == {
            "id": every.split("_")[1], "scopes": ["read", "admin"], "experiment": "*",
        }  # fmt: skip
        short = create_token(database, ["admin", "read"], days=1, rate=7)
        while Api(url, short)("GET", "/v1/whoami").status != 200:
            time.sleep(0.05)  # the service looks for new tokens now and then
        made = Api(url, short)("POST", "/v1/tokens", {"scopes": ["read"], "days": None}).json()["id"]
        mine, its = (
            next(each for each in list_tokens(database) if each.id == id) for id in (short.split("_")[1], made)
        )
        assert (its.expires <= mine.expires, its.rate) == (True, 7), "it ends no later, and is no quicker"
        assert Api(url, one)("POST", f"/v1/tokens/{one.split('_')[1]}/revoke").status == 200


def test_a_token_whose_row_is_gone_is_no_more_than_it_was(tmp_path):
    """It is let in until the service looks again, and may do until then what it might before."""
    db = tmp_path / "rankone.db"
    with Database(db) as database, running(db, require_token=True) as url:
        token, _ = create_token(database, ["read"], "homepage"), create_token(database, SCOPES)
        api = Api(url, token)
        while api("GET", "/v1/whoami").status != 200:
            time.sleep(0.05)
        database.use(lambda storage: storage.query("DELETE FROM rankone_tokens WHERE note = ''"))
        while (answer := api("GET", "/v1/whoami")).status == 200:
            assert (answer.json()["scopes"], answer.json()["experiment"]) == (["read"], "homepage")


def test_the_first_token_from_the_page_shuts_nobody_out(tmp_path, open_page):
    """Without tokens this machine may do everything; the page goes on with the first one that it makes."""
    db = tmp_path / "rankone.db"
    with Database(db) as database, running(db) as url:
        Experiment("homepage", ["A", "B"], ["1", "2"], "ucb1", database).close()
        page = manage(open_page, url, None, "homepage")
        for scope in SCOPES:
            form(page, "New token").get_by_label(scope, exact=True).check()
        assert "From then on everybody needs a token" in carry_out(
            page, "New token", "Copy it now, it is not shown again"
        )
        while Api(url)("GET", "/v1/experiments").status != 401:
            time.sleep(0.05)
        page.locator("td", has_text="ask tell read admin").wait_for()
        assert (
            Api(url, page.locator(".secret").inner_text())("GET", "/v1/whoami").status == 200
        )  # it is still to be seen
        assert page.is_hidden("#sign-in")
