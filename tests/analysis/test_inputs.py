"""What people have: workbooks, standard input, headers in other languages, click rates, logs of events."""

import builtins
import io
import sys

import polars as pl
import pytest
from typer.testing import CliRunner

import rankone
from rankone.cli import build_app
from rankone.clicks.counts.table_files import read_table
from rankone.clicks.counts.table_shapes import with_clicks
from rankone.errors import InputError, MissingExtra

SHOWN, CLICKED = [9000, 9000, 9000, 9000], [450, 630, 300, 420]
LEVELS = {"headline": ["A", "A", "B", "B"], "image": ["1", "2", "1", "2"]}
TABLE = pl.DataFrame(LEVELS | {"shown": SHOWN, "clicked": CLICKED})


def counted(data):
    answer = rankone.analyse(data, simulations=20)
    return sorted(zip(answer.counts.cells.tolist(), answer.counts.shown, answer.counts.clicked, strict=True))


def test_a_workbook_is_read_like_the_text_it_would_be_exported_as(tmp_path):
    path = tmp_path / "ab.xlsx"
    TABLE.write_excel(path, position="B4")  # below blank rows, as people have them
    assert counted(path) == counted(TABLE)
    (tmp_path / "no.xlsx").write_bytes(b"PK\x03\x04 and nothing that is a workbook")
    with pytest.raises(InputError, match=r"^This is no workbook that can be read: no\.xlsx\."):
        read_table(tmp_path / "no.xlsx")


def test_without_the_reader_of_workbooks_the_error_says_what_to_install(tmp_path, monkeypatch):
    TABLE.write_excel(tmp_path / "ab.xlsx")
    plain = builtins.__import__

    def without(name, *rest, **more):
        if name == "fastexcel":
            raise ImportError(name)
        return plain(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"rankone\[excel\]"):
        read_table(tmp_path / "ab.xlsx")


def test_standard_input(monkeypatch):
    text = TABLE.write_csv()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert counted("-") == counted(TABLE)
    for spelling in ("analyse", "analyze"):
        done = CliRunner().invoke(build_app(), [spelling, "-", "--brief", "--simulations", "20"], input=text)
        assert done.stdout.startswith("'A' with '2' wins: "), done.output


def test_the_american_spelling():
    assert rankone.analyze is rankone.analyse
    shown = CliRunner().invoke(build_app(), ["--help"]).stdout
    assert "analyse" in shown
    assert "analyze" not in shown, "one name in the list of commands"


@pytest.mark.parametrize(
    ("shown", "clicked"),
    [
        ("Impressionen", "Klicks"), ("Einblendungen", "Klicks"), ("Besucher", "Käufe"), ("Seitenaufrufe", "Anmeldungen"),
        ("Affichages", "Clics"), ("Pages vues", "Ventes"), ("Impresiones", "Clics"), ("Visualizaciones", "Ventas"),
        ("Impressões", "Cliques"), ("Impressioni", "Clic"), ("Vertoningen", "Klikken"),
    ],
)  # fmt: skip
def test_headers_in_other_languages(shown, clicked):
    assert counted(TABLE.rename({"shown": shown, "clicked": clicked})) == counted(TABLE)


@pytest.mark.parametrize(
    ("name", "rates"),
    [
        ("ctr", ["5%", "7.00 %", "3,33%", "4.67%"]), ("CTR (%)", [5.0, 7.0, 3.33, 4.67]), ("click rate", [5.0, 7.0, 3.33, 4.67]),
        ("Klickrate", [0.05, 0.07, 0.0333, 0.0467]), ("Taux de clics", ["5,00 %", "7,00 %", "3,33 %", "4,67 %"]),
    ],
)  # fmt: skip
def test_a_click_rate_beside_impressions(name, rates):
    table = pl.DataFrame(LEVELS | {"impressions": SHOWN, name: pl.Series(rates, strict=False)})
    answer = rankone.analyse(table, simulations=20)
    assert answer.counts.clicked.tolist() == CLICKED
    assert f"Clicks were computed from 'impressions' and '{name}'" in str(answer)
    assert (f"({rates[0]} is read as 5%)" in str(answer)) == (name in ("click rate", "Klickrate"))


def test_a_click_rate_is_not_needed_where_clicks_are_counted():
    table = TABLE.with_columns(ctr=pl.Series(["1%", "2%", "3%", "4%"]))
    assert with_clicks(table) == (table, ())
    bought = TABLE.rename({"clicked": "bought"}).with_columns(ctr=pl.Series(["1%", "2%", "3%", "4%"]))
    assert counted(bought) == counted(TABLE)
    with pytest.raises(InputError, match="A rate above 100% in column 'ctr': 250"):
        with_clicks(pl.DataFrame({"ad": ["A", "B"], "views": [10, 10], "ctr": ["250%", "3%"]}))


def events(who):
    """Views and clicks as rows, in the order in which they happen; some visitors click twice."""
    rows = []
    for number in range(400):
        ad = "AB"[number % 2]
        own = {"ad": ad, "time": f"2026-11-{1 + number % 3:02} 10:00:{number % 60:02}"} | (
            {"user_id": number} if who else {}
        )
        rows += [own | {"event": "view"}, own | {"event": "scroll"}]
        if number % (8 if ad == "A" else 5) == 0:
            rows += [own | {"event": "click"}] * 2
    return pl.DataFrame(rows)


def test_a_log_of_views_and_clicks():
    answer = rankone.analyse(events(who=True))
    assert answer.counts.factors == ("ad",)
    assert answer.counts.shown.tolist() == [200, 200]
    assert answer.counts.clicked.tolist() == [50, 40]  # once for each visitor
    assert "counted from the events in 'event', each once for each 'user_id' and variant." in str(answer)
    assert "Ignored: 400 other events." in str(answer)
    plain = rankone.analyse(events(who=False))
    assert plain.counts.shown.tolist() == [200, 200]
    assert plain.counts.clicked.tolist() == [100, 80]
    assert "several clicks on one view count several times" in str(plain)
    lost = pl.concat(
        [events(who=True), events(who=True).filter(event="click").with_columns(user_id=pl.lit(-1, pl.Int64))]
    )
    assert "Ignored: 2 clicks without a view of the same 'user_id'." in str(rankone.analyse(lost))
