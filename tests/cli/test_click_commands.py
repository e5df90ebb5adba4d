"""The commands of click logs, as a user runs them."""

import json
import re

import pytest
from typer.testing import CliRunner

import rankone
from rankone import clicks
from rankone.cli import build_app, main
from rankone.errors import ExplainedError, InputError


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("cli")
    run("generate-log", place / "log.tsv.gz", "--lists", "3e3", "--queries", 3, "--items", 30, "--edges",
        "--truth", place / "truth.json")  # fmt: skip
    return place


def run(*words):
    done = CliRunner().invoke(build_app(), [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_fit_writes_problems_picture_and_quarantine(place):
    text = run("fit", place / "log.tsv.gz", "--top", 2, "--out", place / "models.json")
    for word in ("rows set aside", "perplexity", "item", "position", "click rate", "may be as good", "scale exam1"):
        assert word in text
    for word in ("gamma", "components"):  # gamma is mu on this scale, and all queries are in one piece
        assert word not in text
    assert text.endswith(f"Next: rankone simulate --problem '{place / 'models.json'}#1_0'\n")  # the default policies
    assert (place / "models.png").stat().st_size > 10_000
    assert (place / "models.quarantine.tsv").read_text().startswith("file\tline\treason\ttext\n")
    saved = json.loads((place / "models.json").read_text())
    assert saved["fit"]["model"] == "pbm"
    assert saved["fit"]["scale"] == "exam1"
    assert saved["log"]["rows"] == saved["log"]["rows_read"] + saved["log"]["rows_quarantined"]
    problem = rankone.as_problem(f"{place / 'models.json'}#2_0")
    assert problem.name == "2_0"
    assert problem.col_names[0] == "position 1"
    low, high = saved["problems"][1]["row_intervals"][0]
    assert low <= problem.rows[0] <= high


def test_fit_names_another_scale(place):
    assert "scale as-is" in run("fit", place / "log.tsv.gz", "--model", "pbm:scale=as-is")


def test_fit_names_the_best_pair(place):
    rows = "q,a,1,1\nq,a,1,0\nq,a,2,0\nq,b,1,0\nq,b,2,0\n" * 20 + "q,b,2,1\nq,a,2,1\nq,b,1,1\n"
    (place / "best.csv").write_text("query,item,position,clicked\n" + rows)
    (query,) = json.loads(run("fit", place / "best.csv", "--json"))["queries"]
    assert (query["best_item"], query["best_position"]) == ("a", 1)
    assert query["best_click_rate"] == pytest.approx(0.5, abs=0.01)


def test_fit_names_what_the_data_support_and_says_what_it_does_not_name(place):
    """Ten clicks of 23 impressions at a bad position fit a click rate of 1: nobody should take that for known."""
    known = "q,a,1,1\nq,a,1,0\nq,a,2,1\nq,a,2,0\nq,a,2,0\nq,a,2,0\nq,a,2,0\n" * 60
    bad = "q,bad,1,0\n" * 99 + "q,bad,1,1\n"
    rare = "q,rare,2,1\n" * 10 + "q,rare,2,0\n" * 13
    (place / "few.csv").write_text("query,item,position,clicked\n" + known + bad + rare)
    text = run("fit", place / "few.csv")
    (query,) = json.loads(run("fit", place / "few.csv", "--json"))["queries"]
    assert query["best_click_rate"] > 0.99
    assert query["best_low"] < 0.7
    assert (query["best_item"], query["pair_impressions"]) == ("rare", 0)
    assert (query["best_impressions"], query["best_clicks"]) == (23, 10)
    assert (query["supported_item"], query["supported_position"], query["supported_impressions"]) == ("a", 1, 120)
    assert query["supported_low"] < 0.5 < query["supported_high"]
    assert (query["not_told_apart"], query["too_little_data"]) == (1, False), "rare may be as good, bad is not"
    assert "another pair's in query q: in q item rare at position 1" in text
    assert re.search(r"1 \(0\.\d+ to 1; clicked 0 of 0 impressions\), against 0\.\d+ \(0\.\d+ to 0\.\d+\)", text)
    assert "1 of 2 others" in text
    headline = text.splitlines()[0]
    assert headline.startswith("Query 'q': 'a' is ahead, not proven yet: ")
    assert headline.endswith(" clicked at position 1; 1 other item may be as good.")
    assert len(headline.split()) <= 25


def test_fit_says_too_little_data(place):
    (place / "little.csv").write_text(
        "query,item,position,clicked\n" + ("q,a,1,0\n" * 8 + "q,b,1,0\n" * 9 + "q,b,1,1\n" + "q,a,1,1\n") * 3
    )
    text = run("fit", place / "little.csv")
    assert text.startswith("Query 'q': not enough data yet to say which item is best.")
    assert "too little data" in text
    assert "Beware: too little data in query q: every other item may be as good" in text


def test_fit_warns_of_what_cannot_be_learned(place):
    apart = "apart,a,1,1\napart,a,1,0\napart,b,2,1\napart,b,2,0\n" * 20
    (place / "odd.csv").write_text("query,item,position,clicked\n" + apart + "silent,a,1,0\nsilent,a,2,0\n" * 20)
    text = run("fit", place / "odd.csv")
    assert "Beware: not a single click in query silent" in text
    assert "Beware: positions that no item connects in query apart" in text
    assert "components" in text
    warnings = json.loads(run("fit", place / "odd.csv", "--json"))["warnings"]
    assert len(warnings) == 3  # and too little data
    assert rankone.clicks.PBM().fit(rankone.clicks.read(place / "odd.csv")).warnings() == warnings


def test_fit_json_is_only_json(place):
    out = json.loads(run("fit", place / "log.tsv.gz", "--json", "--model", "ubm", "--min-impressions", 0))
    assert out["model"]["model"] == "ubm"
    assert out["model"]["min_impressions"] == 0
    assert len(out["queries"]) == 3


def test_compare_models_ranks_them(place):
    out = json.loads(run("compare-models", place / "log.tsv.gz", "--json", "-m", "pbm", "-m", "ctr-global"))
    assert [row["model"] for row in out["models"]] == ["pbm", "ctr-global"]
    assert "perplexity" in run("compare-models", place / "log.tsv.gz", "-m", "pbm")


def test_a_table_with_columns_of_its_own(place):
    (place / "log.csv").write_text("q,doc,rank,click\n" + "x,a,1,1\nx,b,2,0\nx,b,1,1\nx,a,2,0\n" * 20)
    options = [word for pair in ("query=q", "item=doc", "position=rank", "clicked=click") for word in ("-o", pair)]
    out = json.loads(run("fit", place / "log.csv", "--json", *options))
    assert out["log"]["format"] == "table"
    assert out["queries"][0]["items"] == 2


def test_a_forgotten_query_column_is_told(place):
    (place / "pooled.csv").write_text("keyword,item,position,clicked\n" + "x,a,1,1\nx,b,2,0\ny,b,1,1\ny,a,2,0\n" * 20)
    text = run("fit", place / "pooled.csv")
    assert "all rows are taken as one query, 'all'. Other columns: keyword" in text


@pytest.mark.parametrize(
    ("header", "words", "said"),
    [
        ("query,doc,position,clicked", (), "Name the column: -o item=doc"),
        ("query,item,position,clicked", ("--min-impressions", 1000), "Lower --min-impressions"),
        ("query,item,clicked,position", (), "or raise --max-bad"),
    ],
)
def test_errors_name_the_options_of_the_command(header, words, said, place, monkeypatch, capsys):
    (place / "named.csv").write_text(header + "\n" + "x,a,2,1\nx,b,2,0\n" * 20)
    monkeypatch.setattr("sys.argv", ["rankone", "fit", str(place / "named.csv"), *map(str, words)])
    with pytest.raises(SystemExit):
        main()
    assert said in capsys.readouterr().err


def test_queries_whose_items_are_all_rare_are_left_out(place):
    rows = b"".join(b"%d\t0\tQ\t1\t0\t5\t6\n%d\t1\tC\t5\n" % (number, number) for number in range(30))
    (place / "rare.tsv").write_bytes(rows + b"99\t0\tQ\t2\t0\t7\t8\n")
    text = run("fit", place / "rare.tsv", "--out", place / "new" / "rare.json")
    assert "and 1 queries that have no others" in text
    assert "positions" in text
    saved = json.loads((place / "new" / "rare.json").read_text())
    assert [problem["name"] for problem in saved["problems"]] == ["1_0"]
    assert saved["fit"]["queries_left_out"] == 1


@pytest.mark.parametrize("words", [("--out", "models.txt"), ("--chart", "models.bmp"), ("--model", "pmb")])
def test_what_cannot_be_written_or_fitted_is_refused_before_reading(words, place, monkeypatch):
    monkeypatch.setattr("rankone.clicks.read", None)
    with pytest.raises(InputError):
        run("fit", place / "log.tsv.gz", *words)


@pytest.mark.parametrize("command", ["fit", "compare-models"])
def test_ctrl_c_is_a_sentence(command, place, monkeypatch):
    def stop(*words, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr("rankone.clicks.logs.reading._read", stop)
    done = CliRunner().invoke(build_app(), [command, str(place / "log.tsv.gz")])
    assert done.exit_code == 130
    assert "rankone: stopped; no result was written" in done.stderr


@pytest.mark.parametrize("model", ["dcm", "pbm:min_impressions=1"])
def test_any_model_is_drawn_and_saved(place, model):
    text = run("fit", place / "log.tsv.gz", "--model", model, "--chart", place / "x.svg", "--save", place / "x.json")
    assert "x.json" in text.replace("\n", "")
    assert (place / "x.svg").stat().st_size > 1_000
    assert clicks.load_model(place / "x.json").name == model.partition(":")[0]


def test_wrong_input_is_a_sentence(place):
    for words in (
        ("fit", place / "nope.tsv"),
        ("fit", place / "log.tsv.gz", "--format", "open-bandit"),
        ("fit", place / "log.tsv.gz", "--save", place / "x.txt"),
        ("fit", place / "log.tsv.gz", "-o", "regions"),
        ("compare-models", place / "log.tsv.gz", "--holdout", 2),
        ("compare-models", place / "log.tsv.gz", "-m", "pbm:speed=1"),
        ("generate-log", place, "--lists", 10),
        ("reproduce", "fig3", "--log", place / "log.tsv.gz", "--truth", "--out", place / "fig3"),
    ):
        with pytest.raises(ExplainedError, match=r"Expected .*, but got .*. |^No such file: "):
            run(*words)
