"""The answer as a whole: best combination, text, JSON, charts, page; from files, exports and experiments."""

import itertools
import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import rankone
from rankone.cli import build_app
from rankone.clicks.counts.factor_counts import as_factor_counts
from rankone.clicks.rank1_test import check
from rankone.errors import InputError


def run(*words):
    done = CliRunner().invoke(build_app(), ["analyse", *map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def table(tmp_path):
    """Headline A and image 2 are the best."""
    path = tmp_path / "ab.csv"
    path.write_text("headline,image,shown,clicked\nA,1,9000,450\nA,2,9000,630\nB,1,9000,300\nB,2,9000,420\n")
    return path


def test_a_file_just_works(table):
    text = run(table, "--control", "headline=B,image=1", "--simulations", 50)
    first, second, *_ = text.splitlines()
    assert first == "'A' with '2' wins: 7.0% clicked, +50% (+37% to +65%) over the next headline. 95% sure."
    assert second == (
        "Assumes: a random split in fixed shares; each visitor counted once; effects that multiply. Add a date column "
        "if click rates or shares moved."
    )
    assert run(table, "--brief").splitlines() == [first, second]
    assert "hold together with 95% confidence" not in text
    assert "hold together with 95% confidence" in run(table, "--details")
    answer = rankone.analyse(table).to_dict()
    assert (answer["headline"], answer["assumes"], len(answer["levels"])) == (first, second, 4)
    assert answer["details"]
    assert "headline: 'A' is the best of 2." in text
    assert "Against the control, headline 'B' with image '1': +110% (+" in text
    assert "No sign of interaction" in answer["details"][1]
    assert "Real traffic is often noisier than this assumes" in answer["details"][-1]


def test_json_and_page_and_pictures(table, tmp_path):
    files = [tmp_path / name for name in ("answer.html", "levels.png", "product.svg")]
    words = ("--out", files[0], "--chart", files[1], "--heatmap", files[2], "--simulations", 50)
    found = json.loads(run(table, "--json", *words))
    assert found["best"]["levels"] == {"headline": "A", "image": "2"}
    assert found["best"]["low"] < 0.07 < found["best"]["high"]
    assert [row["ratio"] for row in found["levels"]] == pytest.approx([1.0, 2 / 3, 5 / 7, 1.0], rel=0.01)
    assert found["dispersion"] == {"value": 1.0, "degrees_of_freedom": None, "origin": "none"}
    assert all(path.stat().st_size > 2000 for path in files)
    assert "is the best of 2." in files[0].read_text()


def test_names_reach_the_page_as_text():
    counts = pl.DataFrame({"headline": ["<b>x</b>", "y"], "shown": [900, 900], "clicked": [90, 30]})
    answer = rankone.analyse(counts)
    assert "<b>x" not in answer._repr_html_()
    assert "&lt;b&gt;x" in answer._repr_html_()


@pytest.mark.parametrize("factors", [1, 2, 3, 9])
def test_headlines_have_at_most_25_words(factors):
    level = "a level that was given a name of a great many words, as people do"
    for clicks in ((300, 900), (3, 4), (0, 1)):
        rows = [
            {f"factor {factor}": f"{level} {on}" for factor in range(factors)} | {"shown": 5000, "clicked": count}
            for on, count in enumerate(clicks)
        ]
        answer = rankone.analyse(pl.DataFrame(rows), factors=[f"factor {factor}" for factor in range(factors)])
        assert len(answer.headline.split()) <= 25, answer.headline


def test_few_and_undecided_data_are_called_so():
    answer = rankone.analyse(([[40, 40], [40, 40]], [[2, 1], [3, 2]]), simulations=20)
    text = str(answer)
    assert not answer.decided
    assert "If these differences are real" not in str(answer), "eight clicks tell nothing of visitors still needed"
    assert answer.headline == "Not enough data yet: 8 clicks in all, no clear winner."
    assert "is ahead" not in text
    assert text.count("not enough data") == 4
    assert "Only 8 clicks in all (row 'row 1' 3" in text
    assert "row: no clear winner yet." in text
    assert "more visitors to settle row and col" in text
    assert answer.winner.shrunken < answer.winner.rate.value


def test_a_table_that_is_no_product_is_not_ranked_level_by_level():
    answer = rankone.analyse(([[900, 900], [900, 900]], [[300, 30], [30, 310]]), simulations=99)
    assert answer.doubtful
    assert answer.headline.startswith("'row 2' with 'col 2' has the highest rate: 34% (")
    assert answer.headline.endswith(" clicked. Factors seem to interact, so no winner yet.")
    assert "is the best of" not in str(answer)
    assert "policy thompson" in str(answer)
    assert "Row and col seem to interact, so only combinations are compared." in str(answer)
    assert "without interaction" in str(answer)
    assert "against the best" not in str(answer)
    assert "effects that multiply" not in answer.brief


def three(boost):
    values = {"headline": {"A": 1, "B": 0.8, "C": 0.5}, "image": {"x": 1, "y": 0.7}, "button": {"red": 1, "blue": 0.9}}
    rows = []
    for levels in itertools.product(*values.values()):
        named = dict(zip(values, levels, strict=True))
        rate = 0.06 * np.prod([values[factor][level] for factor, level in named.items()])
        rate *= boost if levels[0] == "A" and levels[2] == "blue" else 1.0
        rows.append(named | {"shown": 30_000, "clicked": round(30_000 * rate)})
    return pl.DataFrame(rows)


def test_three_factors():
    answer = rankone.analyse(three(1.0), simulations=20)
    assert answer.best == {"headline": "A", "image": "x", "button": "red"}
    assert answer.rate.value == pytest.approx(0.06, rel=0.01)
    assert [check.name for check in answer.check.checks] == [
        "headline and image",
        "headline and button",
        "image and button",
    ]
    assert not answer.doubtful
    other = rankone.analyse(three(1.5), simulations=59)
    assert [check.name for check in other.check.doubts] == ["headline and button"]
    assert "headline and button, most of all 'A' and '" in other.details


def test_one_factor_has_no_product_to_test():
    answer = rankone.analyse(pl.DataFrame({"arm": ["a", "b", "c"], "sent": [999] * 3, "opens": [90, 30, 31]}))
    assert (answer.best, answer.check, answer.decided) == ({"arm": "a"}, None, True)
    with pytest.raises(InputError, match="two factors or more"):
        answer.heatmap()


def test_two_factors_become_a_problem():
    answer = rankone.analyse(([[900, 900], [900, 900]], [[300, 150], [150, 75]]), simulations=20)
    problem = answer.problem()
    assert np.outer(problem.rows, problem.cols) == pytest.approx(np.array([[1, 0.5], [0.5, 0.25]]) / 3, abs=1e-3)


def test_an_experiment_and_its_exports(tmp_path):
    """What `rankone export` writes is read back, names that look like formulas included; open decisions do not count."""
    db = tmp_path / "page.db"
    with rankone.Experiment("page", rows=["=A", "B"], cols=["x", "y"], db=db) as page:
        page.tell_many([(one, one.number % 3 == 0) for one in page.ask(60)])
        page.ask(2)
    whole = rankone.analyse(db, experiment="page", simulations=20)
    assert whole.counts.adaptive
    assert "Warning: a policy chose" in str(whole)
    assert not whole.decided
    assert "95% confidence" not in str(whole)
    for ending in ("csv", "parquet", "jsonl"):
        out = tmp_path / f"decisions.{ending}"
        done = CliRunner().invoke(build_app(), ["export", str(db), "page", "--out", str(out)])
        assert done.exit_code == 0
        again = rankone.analyse(out, simulations=20)
        assert again.to_dict() == whole.to_dict()
    assert whole.counts.shown.sum() == 60
    assert sorted(whole.counts.levels[0]) == ["=A", "B"]
    assert "2 decisions were left out" in str(whole)


def test_what_a_policy_collected_proves_nothing():
    """A is far ahead, but a policy gave it the visitors because of its clicks."""
    shown = {"A": (3_000, 900), "B": (300, 30), "C": (300, 33)}
    rows = [
        {
            "id": number,
            "number": number,
            "row": name,
            "filler": 0,
            "outcome": "",
            "clicked": number < clicks,
            "learned": True,
        }
        for name, (often, clicks) in shown.items()
        for number in range(often)
    ]
    answer = rankone.analyse(pl.DataFrame(rows))
    text = str(answer)
    assert answer.counts.adaptive
    assert not answer.decided
    assert "row: 'A' is ahead, not proven yet." in text
    assert "is the best" not in text
    assert "95% confidence" not in text


def test_a_dispersion_is_reported_and_used(table):
    plain, wide = (json.loads(run(table, "--json", "--simulations", 20, "--dispersion", value)) for value in (1, 4))
    assert wide["best"]["low"] < plain["best"]["low"]
    assert wide["dispersion"] == {"value": 4.0, "degrees_of_freedom": None, "origin": "given"}


@pytest.mark.parametrize(
    "options",
    [
        {"control": "headline=A"}, {"control": {"headline": "Z", "image": "1"}}, {"dispersion": 0.5},
        {"confidence": 2}, {"experiment": "page"}, {"simulations": 1}, {"factors": ["nothing"]},
    ],
)  # fmt: skip
def test_wrong_options_are_sentences(table, options):
    with pytest.raises(InputError):
        rankone.analyse(table, **options)


def test_a_database_needs_the_name_of_an_experiment(tmp_path, table):
    with rankone.Experiment("page", rows=2, cols=2, db=tmp_path / "page.db"):
        pass
    with pytest.raises(InputError, match="the name of an experiment"):
        rankone.analyse(tmp_path / "page.db")
    with pytest.raises(InputError, match="decisions with outcomes"):
        rankone.analyse(tmp_path / "page.db", experiment="page")
    with pytest.raises(InputError, match="one table"):
        run(table, table, table)
    with pytest.raises(InputError, match="html"):
        run(table, "--out", tmp_path / "answer.txt")


def test_what_was_never_shown_is_called_a_prediction():
    """Three corners of a square: the product says what the fourth would be, and nobody has seen it."""
    shown, clicked = [[1000, 1000], [1000, 0]], [[50, 200], [200, 0]]
    answer = rankone.analyse((shown, clicked), simulations=20)
    assert not answer.best_was_shown
    assert "is ahead, not proven yet: " in answer.headline
    assert "expected, never shown together" in answer.headline
    assert "to some visitors first" in str(answer) or not answer.decided
    assert rankone.analyse(([[1000, 1000], [1000, 900]], [[50, 200], [200, 300]]), simulations=20).best_was_shown


def test_days_of_single_impressions_tell_the_dispersion_too():
    """The same clicks, counted by day or one by one, scatter the same."""
    rng = np.random.default_rng(3)
    counts = pl.DataFrame(
        [
            {"headline": h, "image": i, "day": f"2026-11-{day + 1:02}", "shown": 40, "clicked": int(rng.binomial(40, rng.beta(2, 8)))}
            for h in "AB" for i in "12" for day in range(8)
        ]
    )  # fmt: skip
    single = pl.DataFrame(
        [
            {"headline": row["headline"], "image": row["image"], "day": row["day"], "clicked": int(place < row["clicked"])}
            for row in counts.to_dicts() for place in range(row["shown"])
        ]
    )  # fmt: skip
    found = [rankone.analyse(table, slice="day", simulations=20).dispersion for table in (counts, single)]
    assert found[0].value == pytest.approx(found[1].value)
    assert found[1].value > 1.5


def test_a_column_of_percentages_is_no_factor():
    table = pl.DataFrame(
        {"headline": ["A", "A", "B", "B"], "image": ["1", "2", "1", "2"], "ctr": ["5%", "6%", "5%", "9%"],
         "shown": [1000] * 4, "clicked": [50, 60, 50, 90]}
    )  # fmt: skip
    assert rankone.analyse(table, simulations=20).counts.factors == ("headline", "image")


def test_what_was_read_as_what_is_always_said(table):
    read = "Factors: headline, image; shown: shown; clicked: clicked; date: none."
    assert read in run(table, "--simulations", 20)
    assert read in rankone.analyse(table, simulations=20)._repr_html_()
    found = json.loads(run(table, "--json", "--simulations", 20))
    assert found["columns"] == {"factors": ["headline", "image"], "shown": "shown", "clicked": "clicked", "slice": None}


@pytest.mark.parametrize("more", [[("C", "3", 900, 80), ("C", "4", 900, 50)], [("C", "3", 900, 90)]])
def test_blocks_that_share_no_level_have_no_common_winner(more):
    rows = [("A", "1", 900, 60), ("A", "2", 900, 40), ("B", "1", 900, 50), ("B", "2", 900, 30), *more]
    answer = rankone.analyse(
        pl.DataFrame(rows, ["headline", "image", "shown", "clicked"], orient="row"), simulations=20
    )
    text = str(answer)
    assert answer.groups["headline"] == [["A", "B"], ["C"]]
    assert not answer.decided
    assert answer.headline.startswith("'C' with '3' is ahead, not proven yet")
    assert "headline: cannot compare 'A', 'B' with 'C', because no image was shown with both" in text
    assert "is the best of" not in text
    assert "nan" not in text.lower()
    assert "connect the groups: show headline 'A' with what 'C' was shown with" in text
    json.dumps(answer.to_dict(), allow_nan=False)
    with pytest.raises(InputError, match="groups that share no level"):
        answer.problem()


def test_factors_that_were_changed_only_together_are_named():
    table = three(1.0).filter(pl.col("headline") != "C")
    table = table.filter((pl.col("headline") == "A") == (pl.col("button") == "red"))
    answer = rankone.analyse(table, factors=["headline", "image", "button"], simulations=20)
    assert set(answer.groups) == {"headline", "button"}
    assert "button: cannot compare 'red' with 'blue', because headline and button were changed only together" in str(
        answer
    )
    assert "image: 'x' is the best of 2." in str(answer)


def test_a_control_without_clicks_has_no_ratio():
    answer = rankone.analyse(
        ([[900, 900], [900, 900]], [[0, 0], [90, 50]]), control="row=row 1,col=col 1", simulations=20
    )
    text = str(answer)
    assert "Against the control, 'row 1' with 'col 1': at least +" in text
    assert "inf" not in text
    json.dumps(answer.to_dict(), allow_nan=False)


def test_three_factors_of_many_levels_are_not_tested_for_ever(monkeypatch):
    """What would take hours is left out, and said so; with less work allowed, small tables are too large as well."""
    assert check._work(_counts_of((400, 2, 2)), 0, 1) * 99 > check._WORK / 3
    assert check._work(_counts_of((4, 3, 2)), 0, 1) * 999 < check._WORK / 3
    monkeypatch.setattr(check, "_WORK", 1e6)
    answer = rankone.analyse(three(1.0), simulations=999)
    assert (
        "Not tested, because they have too many combinations: headline and image, headline and button" in answer.details
    )


def _counts_of(sizes):
    return as_factor_counts((np.full(sizes, 10), np.full(sizes, 1)))


@pytest.mark.parametrize(("clicked", "said"), [(210, "more, split as before"), (239, "so close that this takes")])
def test_how_many_more_visitors(clicked, said):
    answer = rankone.analyse(pl.DataFrame({"page": ["a", "b"], "shown": [4000] * 2, "clicked": [clicked, 240]}))
    assert said in str(answer)
    twice = rankone.analyse(
        pl.DataFrame({"page": ["a", "b"], "shown": [4000] * 2, "clicked": [clicked, 240]}), dispersion=2.0
    )
    assert (twice.needed + 8000) / (answer.needed + 8000) == pytest.approx(2.0, rel=0.05), "the more they scatter"


def test_many_levels_in_blocks_that_share_none_are_not_called_worse():
    """Above the number of levels that are profiled, too."""
    rows = [
        (f"h{block * 32 + a}", f"i{block * 32 + b}", 500, 40 - 10 * block + (a == 0))
        for block in range(2)
        for a in range(32)
        for b in range(32)
        if b in (0, a)
    ]
    answer = rankone.analyse(
        pl.DataFrame(rows, ["headline", "image", "shown", "clicked"], orient="row"), simulations=20
    )
    other = answer.groups["headline"][1]
    levels = answer.levels.filter((pl.col("factor") == "headline") & pl.col("level").is_in(other))
    assert len(levels) == 32
    assert (levels["high"] == 1.0).all()
