"""The command check-rank1, on a log, on a file of counts and on a live experiment."""

import json

import pytest
from typer.testing import CliRunner

import rankone
from rankone.cli import build_app
from rankone.errors import InputError
from tests import dice as dice  # registers the policy


def run(*words):
    done = CliRunner().invoke(build_app(), ["check-rank1", *map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def counts(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("row,col,shown,clicks\nA,x,500,300\nA,y,500,50\nB,x,500,60\nB,y,500,310\n")
    return path


def test_a_file_of_counts(counts, tmp_path):
    text = run(counts, "--chart", tmp_path / "rank1.png", "--simulations", 99)
    assert "seem to interact (p = 0.01)" in text
    assert "Pairs farthest from what no interaction would give" in text
    assert (tmp_path / "rank1.png").stat().st_size > 5_000


def test_the_pairs_stand_below_the_names_of_their_factors(tmp_path):
    path = tmp_path / "ads.csv"
    path.write_text("headline,image,shown,clicked\nA,x,500,300\nA,y,500,50\nB,x,500,60\nB,y,500,310\n")
    heads = next(line for line in run(path, "--simulations", 99).splitlines() if "without interaction" in line)
    assert heads.split()[:2] == ["headline", "image"]


def test_json_is_only_json(counts):
    found = json.loads(run(counts, "--json", "--simulations", 99))
    assert found["doubtful"] is True
    assert found["checks"][0]["largest_deviations"][0]["row"] in ("A", "B")


def test_a_log_query_by_query(tmp_path):
    log = tmp_path / "log.tsv.gz"
    words = ["generate-log", str(log), "--lists", "2000", "--queries", "2", "--items", "12"]
    assert CliRunner().invoke(build_app(), words).exit_code == 0
    found = json.loads(run(log, "--json", "--simulations", 49))
    assert len(found["checks"]) == 2
    assert "queries" in run(log, "--simulations", 49)


def test_a_live_experiment(tmp_path):
    with rankone.Experiment("page", rows=2, cols=2, db=tmp_path / "page.db") as page:
        page.tell_many([(one.id, True) for one in page.ask(40)])
    text = run(tmp_path / "page.db", "page", "--simulations", 20, "--details")
    assert "simulated tables with as many outcomes of each pair" in text


def test_a_live_experiment_of_three_factors(tmp_path):
    factors = {"headline": ["A", "B"], "image": ["1", "2"], "button": ["buy", "try"]}
    with rankone.Experiment("page", factors=factors, policy="test-dice", seed=1, db=tmp_path / "page.db") as page:
        page.tell_many([(one, one.levels["headline"] == "A") for one in page.ask(200)])
    text = run(tmp_path / "page.db", "page", "--simulations", 20, "--details")
    assert "headline and image (p = " in text
    assert "of clicks" in text


def test_wrong_input_is_a_sentence(tmp_path, counts):
    db = tmp_path / "page.db"
    with rankone.Experiment("page", rows=2, cols=2, db=db):
        pass
    for words in ((db,), (tmp_path / "none.csv",), (counts, "--level", 2), (db, "page", "--simulations", 0)):
        with pytest.raises(InputError):
            run(*words)


def test_a_table_of_factors_just_works(tmp_path):
    """As a stranger has it: no item, no position, no row and no col."""
    table = tmp_path / "ab.csv"
    table.write_text("headline,image,shown,clicked\nA,1,500,300\nA,2,500,50\nB,1,500,60\nB,2,500,310\n")
    assert "seem to interact (p = 0.01)" in run(table, "--simulations", 99)
    found = json.loads(run(table, "--simulations", 49, "--json", "--factor", "image", "--factor", "headline"))
    assert found["checks"][0]["name"] == "image and headline"
    impressions = tmp_path / "impressions.csv"
    impressions.write_text("headline,image,converted\n" + "A,1,1\nA,2,0\nB,1,0\nB,2,1\nB,2,0\n" * 9)
    assert json.loads(run(impressions, "--simulations", 20, "--json"))["checks"][0]["outcomes"] == 45


def test_what_was_read_as_what_is_said(tmp_path):
    table = tmp_path / "ab.csv"
    rows = [
        "A,x,DE,500,300",
        "A,y,DE,500,50",
        "B,x,AT,500,60",
        "B,y,AT,500,310",
        "Total,all,DE,2000,720",
        "(not set),x,AT,9,1",
    ]
    table.write_text("\n".join(["row,col,country,shown,clicked", *rows]))
    text = run(table, "--simulations", 20)
    assert "Factors: row, col; shown: shown; clicked: clicked; date: none." in text
    assert "Not used: 'country' (it describes visitors" in text
    assert "row 6 ('(not set)'), 9 of 2,009 shown" in text
    found = json.loads(
        run(table, "--simulations", 20, "--json", "--all-rows", "--factor", "row", "--factor", "country")
    )
    assert found["checks"][0]["n_rows"] == 3, "the total is no level"
    assert found["notes"][0].startswith("Factors: row, country;")


def test_a_dispersion_is_used_and_said(tmp_path, counts):
    plain, wide = (json.loads(run(counts, "--simulations", 20, "--json", *more)) for more in ((), ("--dispersion", 4)))
    assert wide["checks"][0]["statistic"] == pytest.approx(plain["checks"][0]["statistic"] / 4)
    assert wide["checks"][0]["dispersion"]["origin"] == "given"
    assert "Real traffic is often noisier than this assumes" in run(counts, "--simulations", 20, "--details")
    assert "p <=" not in run(counts, "--simulations", 20, "--dispersion", 4), "that one has no remedy"
    repeats = tmp_path / "days.csv"
    days = [f"{row},{col},500,{clicks + 40 * (day % 2)}" for day in range(3) for row, col, clicks in PAIRS]
    repeats.write_text("\n".join(["headline,image,shown,clicked", *days]))
    text = run(repeats, "--simulations", 20, "--details")
    assert "estimated from repeated rows, 8 degrees of freedom" in text


PAIRS = [("A", "x", 200), ("A", "y", 100), ("B", "x", 100), ("B", "y", 50)]


def test_what_a_table_lacks_is_said_in_options(tmp_path):
    table = tmp_path / "ab.csv"
    table.write_text("headline,image,button,shown,clicked\nA,1,r,9,3\nA,2,r,9,3\nB,1,b,9,4\nB,2,r,9,4\nA,1,b,3,1\n")
    assert "No sign of interaction in any of 2 pairs of factors" in run(table, "--simulations", 20), "of three"
    table.write_text("headline,image,comment\nA,1,good\nB,2,bad\n")
    with pytest.raises(InputError, match=r"No column holds clicks: there are headline, image, comment\. .*--clicked"):
        run(table)


def test_days_by_any_name_tell_the_dispersion(tmp_path):
    """A rise of everything from one day to the next is no scatter, once it is said which column tells the days."""
    days = [f"{row},{col},{day},900,{clicks * (1 + day)}" for day in range(3) for row, col, clicks in PAIRS]
    (tmp_path / "days.csv").write_text("\n".join(["headline,image,batch,shown,clicked", *days]))
    words = (tmp_path / "days.csv", "--factor", "headline", "--factor", "image", "--json", "--simulations", 20)
    scatter = [json.loads(run(*words, *more))["checks"][0]["dispersion"] for more in ((), ("--slice", "batch"))]
    assert [each["origin"] for each in scatter] == ["repeats", "slices"]
    assert scatter[0]["value"] > 5.0
    assert scatter[1]["value"] == 1.0
