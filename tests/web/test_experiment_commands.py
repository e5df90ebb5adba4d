"""``rankone create``, ``stop`` and ``resume``: no program is needed, and a running service takes note."""

import json

from typer.testing import CliRunner

from rankone.cli import build_app
from rankone.live import Ask, Experiment, Tell
from rankone.live.storage import schema
from tests.live.workers import MADE_UP

from .helpers import Api, running

LINES = ["--row", "headline A", "--row", "headline B", "--col", "image 1", "--col", "image 2"]


def command(*words):
    return CliRunner().invoke(build_app(), [str(word) for word in words])


def test_a_running_service_takes_note(db):
    with running(db) as url:
        api = Api(url)
        assert api("GET", "/v1/experiments").json() == {"experiments": [], "damaged": []}
        made = command("create", db, "homepage", *LINES, "--window", 600, "--policy", "ucb1")
        assert made.exit_code == 0, made.output
        (shown,) = api("GET", "/v1/experiments").json()["experiments"]
        assert (shown["factors"]["row"], shown["outcomes"]["window"], shown["policy"]) == (
            ["headline A", "headline B"],
            600,
            "ucb1",
        )
        assert api.on("homepage", "POST", "/ask").status == 200
        stopped = command("stop", db, "homepage", "--level", "row=headline B", "--level", "col=image 2")
        assert "Stopped: everyone sees 'headline B' with 'image 2'" in stopped.output
        (decision,) = api.on("homepage", "POST", "/ask").json()["decisions"]
        assert decision["levels"] == {"row": "headline B", "col": "image 2"}
        listed = json.loads(command("experiments", db, "--json").stdout)
        assert listed[0]["shown"] == {"row": "headline B", "col": "image 2"}
        assert command("resume", db, "homepage").exit_code == 0
        assert api.on("homepage", "GET", "").json()["shown"] is None


def test_what_an_experiment_says_of_too_many_open_can_be_set(tmp_path):
    db = tmp_path / "rankone.db"
    assert command("create", db, "homepage", *LINES, "--max-open", 40, "--max-age", 60).exit_code == 0
    with Experiment("homepage", db=db) as experiment:
        settings = experiment.look(lambda fold: fold.settings)
    assert (settings.outcomes.max_open, settings.outcomes.max_age) == (40, 60)
    both = command("create", db, "shop", *LINES, "--window", 600, "--max-age", 60)
    assert "Leave out --max-age: the window ends what is open" in str(both.exception)


def test_what_an_experiment_is_for_can_be_set(tmp_path):
    db = tmp_path / "rankone.db"
    options = ["--aim", "decide", "--margin", 0.05, "--control", "headline A,image 2", "--control-share", 0.2]
    made = command("create", db, "homepage", *LINES, *options, "--auto-stop", "--error", 0.1)
    assert made.exit_code == 0, made.output
    assert "aim decide, policy" in made.output
    with Experiment("homepage", db=db) as experiment:
        settings = experiment.look(lambda fold: fold.settings)
    assert (settings.aim, settings.explore, settings.stopping.margin) == ("decide", 1.0, 0.05)
    assert (settings.control.levels, settings.control.share) == (("headline A", "image 2"), 0.2)
    assert (settings.stopping.error, settings.stopping.auto) == (0.1, True)
    listed = json.loads(command("experiments", db, "--json").stdout)
    assert (listed[0]["aim"], listed[0]["control"]["row"]) == ("decide", "headline A")
    assert "decide" in command("experiments", db).stdout
    commas = ["--row", "Hello, you", "--row", "Hi", "--col", "a,b", "--col", "c"]
    assert command("create", db, "commas", *commas, "--control", "Hello, you, a,b").exit_code == 0


def test_an_experiment_can_begin_with_past_counts(tmp_path):
    past, db = tmp_path / "ab.csv", tmp_path / "rankone.db"
    cells = ["A,image 1,600,90", "A,image 2,300,9", "B,image 1,200,5", "B,image 2,100,2", "C,image 1,5,1"]
    past.write_text("\n".join(["headline,image,shown,clicked", *(f"headline {cell}" for cell in cells)]))
    for options, expected in (
        (["--prior", past, "--prior-weight", 2], "--prior-weight above 0 and at most 1"),
        (["--prior-weight", 0.5], "the counts of a prior"),
        (["--prior", tmp_path / "none.csv"], "No such file: "),
    ):
        refused = command("create", db, "homepage", *LINES, *options)
        assert refused.exit_code != 0
        assert expected in str(refused.exception)
    assert not db.exists()
    made = command("create", db, "homepage", *LINES, "--prior", past, "--prior-weight", 0.25)
    assert made.exit_code == 0, made.output
    said = " ".join(made.output.split())
    assert "The policy began with 1,200 past impressions, each counted as 0.25 at most" in said
    assert "Past counts of 'headline C' were left out" in said
    assert "Factors: headline, image; shown: shown; clicked: clicked; date: none." in said


def test_what_an_experiment_cannot_be_for_is_one_sentence_and_leaves_nothing(tmp_path):
    for options, expected in (
        (["--aim", "win"], "--aim as one of earn, both, decide"),
        (["--margin", 2], "--margin from 0 to 1"),
        (["--explore", -1], "--explore from 0 to 1"),
        (["--control", "headline A"], "a control as the names of a row and a column"),
        (["--control", "headline A,image 9"], "a control whose level of 'col' is one of image 1, image 2"),
        (["--control-share", 0.2], "the levels of a control"),
    ):
        refused = command("create", tmp_path / "rankone.db", "homepage", *LINES, *options)
        assert refused.exit_code != 0
        assert refused.exception.expected == expected
    assert list(tmp_path.iterdir()) == []


def test_open_decisions_are_voided_in_bulk(tmp_path):
    db = tmp_path / "rankone.db"
    with Experiment("homepage", 2, 2, "ucb1", db=db) as experiment:
        experiment.ask(3, source="page")
        experiment.ask(2)
    assert command("void-open", db, "homepage", "--older-than", 600).output == "0 decisions of 'homepage' cancelled.\n"
    found = command("void-open", db, "homepage", "--older-than", 0.001, "--source", "page")
    assert found.output == "3 decisions of 'homepage' cancelled.\n"


def test_one_tokens_traffic_is_undone(tmp_path):
    db = tmp_path / "rankone.db"
    with Experiment("homepage", 2, 2, "ucb1", db=db) as experiment:
        ((told, _),) = experiment.do([Ask(2, source="page", token="4f1c09ab77d2")])
        experiment.do([Tell(told.id, True, token="4f1c09ab77d2"), Ask(3)])
    voided = command("void-open", db, "homepage", "--older-than", 0.000001, "--token", "4f1c09ab77d2")
    assert voided.output == "1 decision of 'homepage' cancelled.\n"
    excluded = command("exclude", db, "homepage", "--token", "4f1c09ab77d2", "--why", "robots")
    assert excluded.output == "1 outcome of 'homepage' excluded.\n"
    assert "Name a source, a token, levels" in str(command("exclude", db, "homepage").exception)
    later = command("exclude", db, "homepage", "--since", "2099-01-01T08:30Z")
    assert later.output == "0 outcomes of 'homepage' excluded.\n"
    assert "'tomorrow' is not a time" in command("exclude", db, "homepage", "--since", "tomorrow").output


def test_tables_are_brought_up_to_date_on_request(tmp_path, monkeypatch):
    db, before = tmp_path / "rankone.db", len(schema.MIGRATIONS)
    assert command("create", db, "homepage", *LINES).exit_code == 0
    assert "is up to date" in "".join(command("migrate", db).output.splitlines())
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, MADE_UP))
    assert f"schema {before}, now {before + 1}" in "".join(command("migrate", db).output.splitlines())
    assert "is up to date" in "".join(command("migrate", db).output.splitlines())
    assert command("migrate", tmp_path / "no.db").exit_code != 0
    assert not (tmp_path / "no.db").exists()


def test_slips_of_the_pen_are_refused_and_make_nothing(tmp_path):
    db = tmp_path / "rankone.db"
    assert command("stop", db, "homepage").exit_code != 0
    assert not db.exists()
    assert command("create", db, "homepage", *LINES).exit_code == 0
    assert "the name of a new experiment" in str(command("create", db, "homepage", *LINES).exception)
    assert "No such experiment: hompage. This database has: homepage." in str(command("stop", db, "hompage").exception)
    assert "Name a level of each factor" in str(command("stop", db, "homepage").exception)
    assert "one that runs" in str(command("resume", db, "homepage").exception)


def test_what_is_known_of_visitors_is_declared(tmp_path):
    db = tmp_path / "rankone.db"
    options = ["--attribute", "device=phone, desktop", "--attribute", "country", "-P", "segmented-uts"]
    made = command("create", db, "homepage", *LINES, *options)
    assert made.exit_code == 0, made.output
    assert "declare" not in made.output
    declared = (("country", None), ("device", ("phone", "desktop")))
    with Experiment("homepage", db=db) as experiment:
        assert experiment.look(lambda fold: fold.segments.declared) == declared
    changed = command("context", db, "homepage", "--attribute", "device=phone,desktop,tablet")
    assert changed.output == "Context declared: device (phone, desktop, tablet).\n"
    assert "levels of 'device' with different names" in str(
        command("context", db, "homepage", "--attribute", "device=phone,phone").exception
    )
