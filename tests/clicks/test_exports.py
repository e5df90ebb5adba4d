"""Tables as the programs that people use write them: what each column and each row is, and what is said of it."""

import datetime as dt

import polars as pl
import pytest

import rankone
from rankone.clicks.counts.factor_columns import find_factor_columns
from rankone.clicks.counts.factor_counts import as_factor_counts, holds_factors
from rankone.clicks.counts.table_files import read_table
from rankone.errors import InputError

SHOWN, CLICKED = [4041, 4114, 3907, 3877, 3964, 3997], [204, 252, 182, 221, 187, 235]  # A, B, A, B, A, B


def read(tmp_path, text, encoding="utf-8", **named):
    (tmp_path / "export.csv").write_bytes(text.encode(encoding))
    return as_factor_counts(read_table(tmp_path / "export.csv"), **named)


def weekly(name, days, total, separator=",", counts="Visitors,Conversions"):
    """Three weeks of a test of two variants, and the row of totals at the end."""
    names = [name, "Variant", *counts.split(",")]
    weeks = [day for day in days for _ in "AB"]
    rows = zip(weeks, "ABABAB", map(str, SHOWN), map(str, CLICKED), strict=True)
    last = [total, "", str(sum(SHOWN)), str(sum(CLICKED))]
    return "\n".join(separator.join(row) for row in [names, *rows, last]) + "\n"


WEEKS = [dt.date(2026, 9, 28) + dt.timedelta(7 * number) for number in range(3)]


@pytest.mark.parametrize(
    ("name", "written", "total"),
    [
        ("Week starting", "%Y-%m-%d", "Total"), ("Week starting", "%m/%d/%Y", "Grand total"),
        ("Datum", "%d.%m.%Y", "Gesamtergebnis"), ("Reporting starts", "%Y-%m-%d", ""),
        ("Fecha", "%d/%m/%Y", "Total general"), ("Mois", "%d %B %Y", "Total général"), ("Date", "%Y%m%d", "Totals:"),
        ("Woche", "KW %V", "Summe"), ("Week", "%GW%V", "Total"), ("Created", "%a, %b %d", "合計"), ("Month", "%b %Y", "Totale"),
        ("x", "%Y-%m-%dT00:00:00Z", "--"), ("Seen", "%d-%b-%y", "Subtotal"), ("Tag", "%d.%m.", "Gesamt"),
    ],
)  # fmt: skip
def test_a_date_is_no_level_though_a_total_stands_below(tmp_path, name, written, total):
    counts = read(tmp_path, weekly(name, [day.strftime(written) for day in WEEKS], total, separator=";"))
    assert (counts.factors, counts.columns.slice) == (("Variant",), name)
    assert (counts.levels, counts.shown.tolist()) == ((("A", "B"),), [sum(SHOWN[::2]), sum(SHOWN[1::2])])
    assert "Left out because it is the sum of other rows: row 7" in counts.notes[0]


def test_a_total_of_visitors_who_came_twice_is_left_out_too(tmp_path):
    """Those who came on two days are counted once in the total, so that it is less than the sum."""
    text = weekly("Date", [str(day) for day in WEEKS], "Total").replace(str(sum(SHOWN)), "22031")
    counts = read(tmp_path, text)
    assert counts.shown.sum() == sum(SHOWN)
    assert "Left out as a total, though it is not the sum of other rows: row 7 ('Total')" in counts.notes[0]
    assert "all_rows=True" in " ".join(counts.notes)
    plain = read(tmp_path, "Variant,Users,Conversions\nA,1000,50\nB,1000,60\nTotal,1900,101\n")
    assert plain.levels == (("A", "B"),)
    kept = read(tmp_path, "Variant,Users,Conversions\nA,1000,50\nB,1000,60\nTotal,1900,101\n", all_rows=True)
    assert kept.levels == (("A", "B", "Total"),)


def test_names_that_look_like_totals_or_dates_and_are_none(tmp_path):
    brands = read(tmp_path, "Brand,Visitors,Clicks\nTotal,5000,250\nShell,5100,300\nAral,4900,280\n")
    assert brands.levels == (("Total", "Shell", "Aral"),), "a total is not less than a part"
    assert "Counted as a level, because it is not the sum of the other rows: row 1 ('Total')" in brands.notes[0]
    text = 'Subject line,Sent,Opens\n"Total clearance",5000,900\nAll you need,5010,950\nSet 1,5100,930\nMarket 2,5000,900\n'
    assert read(tmp_path, text).sizes == (4,)
    assert read(tmp_path, text).notes == ()


def test_subtotals_of_a_pivot_table_and_a_footer(tmp_path):
    rows = [
        "Variant,Page,Sessions,Conversions",
        "A,home,1000,50",
        "A,shop,900,60",
        "A Total,,1900,110",
        "B,home,1010,60",
    ]
    rows += ["B,shop,890,70", "B Total,,1900,130", "Grand Total,,3800,240", "", "Report made on 2026-11-01"]
    assert read(tmp_path, "\n".join(rows)).shown.tolist() == [1000, 900, 1010, 890]
    french = [f"Total {row[0]}{row[7:]}" if "Total" in row and row[0] in "AB" else row for row in rows]
    assert read(tmp_path, "\n".join(french)).shown.tolist() == [1000, 900, 1010, 890]
    rows += ["Day,Users,Sessions,Conversions", "Monday,50,,"]
    with pytest.raises(InputError, match="Row 9: 'Sessions' is no whole number from 0: Sessions"):
        read(tmp_path, "\n".join(rows))


def test_google_ads(tmp_path):
    lines = [
        "Ad report", '"October 1, 2026 - October 31, 2026"', "Ad status,Ad ID,Headline,Description,Impr.,Clicks,CTR,Cost",
        'Enabled,7101,Free shipping,By 5 pm,"11,200",350,3.13%,143.50', 'Enabled,7102,Free shipping,All sizes,"11,900",310,2.61%,127.10',
        'Enabled,7103,10% off today,By 5 pm,"12,050",460,3.82%,188.60', 'Enabled,7104,10% off today,All sizes,980,33,3.37%,13.53',
        'Total: Ads,--,--,--,"36,130","1,153",3.19%,472.73', 'Total: Account,--,--,--,"51,130","1,653",3.23%,677.73',
    ]  # fmt: skip
    counts = read(tmp_path, "\r\n".join(lines))
    assert (counts.factors, counts.shown.sum(), counts.clicked.sum()) == (("Headline", "Description"), 36130, 1153)
    tabs = "\r\n".join(line.replace('"', "") if "%" not in line else line for line in lines)
    tabs = tabs.replace('"11,200"', "11200").replace('"11,900"', "11900").replace('"12,050"', "12050")
    tabs = tabs.replace('"36,130","1,153"', "36130,1153").replace('"51,130","1,653"', "51130,1653")
    again = read(tmp_path, tabs.replace(", ", " ").replace(",", "\t"), "utf-16")
    assert again.shown.tolist() == counts.shown.tolist()


GA4 = """# ----------------------------------------
# Free-form 1
# Property: shop, Inc
# 20261001-20261031
# ----------------------------------------

Experience variant,Device category,Sessions,Key events,Session key event rate
,,50716,2213,0.0436
control,desktop,9331,512,0.0549
control,mobile,16000,500,0.0313
variant_1,desktop,9370,601,0.0641
variant_1,mobile,16000,600,0.0375
(not set),mobile,15,0,0
"""


def test_ga4_preamble_device_and_not_set(tmp_path):
    counts = read(tmp_path, GA4)
    assert (counts.factors, counts.levels) == (("Experience variant",), (("control", "variant_1"),))
    assert (counts.shown.tolist(), counts.columns.clicked) == ([25331, 25370], "Key events")
    told = " ".join(counts.notes)
    assert "Left out because it is the sum of other rows: row 1." in told
    assert "Left out, as it names no Experience variant: row 6 ('(not set)'), 15 of 50,716 shown (0.03%)." in told
    assert "Not used: 'Device category' (it describes visitors, not what was shown" in told
    assert counts.repeats is None, "phones and desktops are no repeats of each other"
    answer = rankone.analyse(tmp_path / "export.csv")
    assert answer.decided
    assert answer.headline.startswith("'variant_1' wins: ")
    every = read(tmp_path, GA4, factors=["Experience variant", "Device category"])
    assert every.sizes == (2, 2)


def test_what_names_no_level_is_a_level_only_where_it_is_asked_for(tmp_path):
    text = "image,shown,clicked\nnone,1000,40\ncat,1000,50\n(not set),900,33\n"
    assert read(tmp_path, text).levels == (("none", "cat"),), "an image may well be none"
    assert read(tmp_path, text, all_rows=True).levels == (("none", "cat", "(not set)"),)
    with pytest.raises(
        InputError, match=r"Row 3: .* is empty"
    ):  # a cell of a pivot table that stands for the one above
        read(tmp_path, text.replace("(not set)", ""))
    few = read(tmp_path, text.replace("(not set),900", ",90"))
    assert few.levels == (("none", "cat"),)
    assert "row 3, 90 of 2,090 shown (4.3%)" in few.notes[0]


@pytest.mark.parametrize(
    ("header", "row", "shown", "clicked"),
    [
        ("Reporting starts,Reporting ends,Ad name,Age,Impressions,Reach,Link clicks,Amount spent (EUR),Results", "2026-10-0{day},2026-10-0{day},{arm},All,{n},{m},{k},12.5{day},{c}", "Impressions", "Link clicks"),
        ("Variation Name,Variation ID,Metric Name,Visitors,Unique Conversions,Improvement,Start Time", "{arm},99{day},Buy,{n},{k},{day}.5%,2026-10-01T00:00:00Z", "Visitors", "Unique Conversions"),
        ("label,nb_visits,nb_uniq_visitors,nb_conversions,conversion_rate", "{arm},{n},{m},{k},5.{day}", "nb_visits", "nb_conversions"),
        ("Label,Visits,Unique visitors,Conversions,Conversion Rate,Revenue", "{arm},{n},{m},{k},7.79%,€1.812{day}", "Visits", "Conversions"),
        ("Campaign Name,Variation,Send Time,Total Recipients,Unique Opens,Unique Clicks", "Spring,{arm},2026-10-0{day} 10:00,{n},{m},{k}", "Total Recipients", "Unique Clicks"),
        ("Variante;Überschrift;Sitzungen;Bestellungen;Conversion-Rate;Umsatz", "{arm};lang;1.{n};{k};5,1{day} %;1.095,5{day} €", "Sitzungen", "Bestellungen"),
        ("Überschrift;Angezeigt;Geklickt;Klickrate", "{arm};{n};{k};4,1{day}%", "Angezeigt", "Geklickt"),
        ("Variante;Klicks %;Klicks;Besucher", "{arm};4.{day};{k};12’{n}", "Besucher", "Klicks"),
        ("Title,Emails sent,Unique clicks", "{arm},{n},{k}", "Emails sent", "Unique clicks"),
        ("Variante;Impressions;Clics;Taux", "{arm};{n};{k};0,0{day}", "Impressions", "Clics"),
        ("Date,Variation,Visitors,Conversions,Conversion Rate (%)", "0{day}-Oct-2026,{arm},{n},{k},4.4{day}", "Visitors", "Conversions"),
        ("Page,Clicks,Impressions,CTR,Position", "{arm},{k},{n},2.9{day}%,3.{day}", "Impressions", "Clicks"),
    ],
)  # fmt: skip
def test_columns_of_well_known_programs(tmp_path, header, row, shown, clicked):
    numbers = [{"day": day, "n": 400 + 7 * day, "m": 300 + day, "k": 20 + day, "c": day} for day in range(1, 9)]
    rows = [row.format(arm="AB"[place % 2], **each) for place, each in enumerate(numbers)]
    counts = read(tmp_path, "\n".join([header, *rows]) + "\n")
    assert len(counts.factors) == 1
    assert (counts.levels, counts.columns.shown, counts.columns.clicked) == ((("A", "B"),), shown, clicked)


def test_goals_are_tables_of_their_own(tmp_path):
    text = "Variation,Metric Name,Visitors,Conversions\nA,Click,900,80\nA,Buy,900,8\nB,Click,910,90\nB,Buy,910,9\n"
    for named in ({}, {"factors": ["Variation"]}):  # summed, 1,800 visitors of A where 900 came
        with pytest.raises(
            InputError, match=r"This table holds 2 goals: column 'Metric Name' \(Click, Buy\)\. Keep the rows of one"
        ):
            read(tmp_path, text, **named)
    one = read(tmp_path, "\n".join(row for row in text.split("\n") if "Click" not in row), factors=["Variation"])
    assert one.notes == ("Not used: 'Metric Name'.",)


def test_columns_that_are_added_up_are_named_in_every_mode(tmp_path):
    text = (
        "Variation,Page,Note,Visitors,Conversions\nA,home,x,900,80\nA,shop,x,800,8\nB,home,x,910,90\nB,shop,x,810,9\n"
    )
    told = read(tmp_path, text, factors=["Variation"]).notes
    assert told == ("'Page' was not named as a factor: its rows were added up.", "Not used: 'Note'.")


@pytest.mark.parametrize("name", ["Ad set name", "Ad group", "Campaign", "adset_id"])
def test_audiences_are_no_factors_beside_another_one(name):
    rows = [("s1", "A", 900, 80), ("s2", "A", 800, 50), ("s1", "B", 910, 90), ("s2", "B", 810, 60)]
    table = pl.DataFrame(rows, [name, "Ad name", "Impressions", "Clicks"], orient="row")
    counts = as_factor_counts(table)
    assert (counts.factors, counts.repeats) == (("Ad name",), None)
    assert f"Not used: '{name}' (it says to whom something was shown" in counts.notes[0]
    assert as_factor_counts(table, factors=["Ad name", name]).sizes == (2, 2)
    alone = table.filter(pl.col("Ad name") == "A")
    assert as_factor_counts(alone).factors == (name,), "there is nothing else to compare"
    together = table.filter((pl.col(name) == "s1") == (pl.col("Ad name") == "A"))
    found = as_factor_counts(together)
    assert found.factors == ("Ad name",)
    assert "the effect of 'Ad name' may be due to either" in found.notes[0]


def test_sums_stay_out_where_every_row_is_asked_for(tmp_path):
    both = GA4.replace("Device category", "Headline variant")
    counts = read(tmp_path, both, all_rows=True)
    assert counts.levels == (("control", "variant_1", "(not set)"), ("desktop", "mobile"))
    assert counts.shown.sum() == 50716
    named = read(tmp_path, both.replace(",,50716,2213", "Total,,50716,2213"), all_rows=True)
    assert named.shown.sum() == 50716
    visitors = read(tmp_path, both.replace(",,50716,2213", "Total,,49000,2190"), all_rows=True)  # who came twice is one
    assert visitors.shown.sum() == 50716
    assert "Left out as a total" in visitors.notes[0]
    items = {"query": ["q"] * 2, "item": ["all", "x"], "position": [1, 1], "impressions": [100, 100], "clicks": [5, 5]}
    of_log = rankone.clicks.Counts(pl.DataFrame(items))
    assert as_factor_counts(of_log).sizes == (2, 1), "an item of a log is no total, whatever it is called"


def test_subtotals_below_their_rows(tmp_path):
    rows = ["Week,Variant,Visitors,Conversions", "W1,A,1000,50", "W1,B,1010,60", "Subtotal,,2010,110", "W2,A,900,40"]
    rows += ["W2,B,890,45", "Subtotal,,1790,85", "Total,,3800,195"]
    counts = read(tmp_path, "\n".join(rows))
    assert counts.shown.tolist() == [1900, 1900]
    assert counts.notes[0].startswith("Left out because they are sums of other rows: row 3 ('Subtotal'), row 6 (")
    wrong = read(tmp_path, "\n".join(rows).replace("1790,85", "1791,85"))
    assert "Left out as a total, though it is not the sum of other rows: row 6 ('Subtotal')" in " ".join(wrong.notes)


def test_one_row_keeps_its_factors(tmp_path):
    (tmp_path / "one.csv").write_text("headline,image,shown,clicked\nSave,dog,1000,50\n")
    answer = rankone.analyse(tmp_path / "one.csv", control="headline=Save,image=dog")
    assert answer.headline.startswith("Nothing to compare: only 'Save' with 'dog'")
    assert "95% confidence" not in str(answer)
    assert "best so far" not in str(answer)


def visitors(**more):
    """400 visitors, one row each."""
    places = range(400)
    rows = {"headline": ["AB"[place % 2] for place in places], "clicked": [place % 7 == 0 for place in places]}
    return pl.DataFrame(rows | {name: [values[place % 3] for place in places] for name, values in more.items()})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("device", ["phone", "desktop", "tablet"]), ("country", ["DE", "AT", "CH"]), ("Browser name", ["a", "b", "c"]),
        ("operating_system", ["iOS", "Android", "Linux"]), ("Age group", ["18-24", "25-34", "35+"]),
        ("Gerät", ["Handy", "Rechner", "Tablet"]), ("userType", ["new", "returning", "new"]),
        ("Session source / medium", ["google / cpc", "direct", "mail"]), ("Default channel group", ["a", "b", "c"]),
        ("Top queries", ["red shoes", "shoes", "shoe shop"]),
    ],
)  # fmt: skip
def test_attributes_of_visitors_are_no_factors(name, values):
    table = visitors(**{name: values})
    found = find_factor_columns(table)
    assert found.factors == ("headline",)
    assert found.notes[0].startswith(f"Not used: '{name}' (it describes visitors, not what was shown")
    assert find_factor_columns(table, factors=["headline", name]).factors == ("headline", name)


def test_a_table_of_attributes_alone_says_so():
    with pytest.raises(InputError, match="'device': it describes visitors, not what was shown") as error:
        find_factor_columns(visitors(device=["phone", "desktop"] * 2).drop("headline"))
    assert "factors=['device']" in str(error.value)
    with pytest.raises(InputError, match="'Date': it says when"):
        find_factor_columns(pl.DataFrame({"Date": ["2026-10-01", "2026-10-02"], "Clicks": [5, 6], "Views": [50, 60]}))


@pytest.mark.parametrize(
    "preamble",
    [
        "# made by hand\n",
        "Results of the test\n\n",
        "Report;;;\nFrom;2026-10-01;;\n",
        "# a;b;c;d\n#\n",
        "Account,My shop\n\n\n",
    ],
)
def test_lines_above_the_header(tmp_path, preamble):
    table = "headline;image;shown;clicked\nA;x;100;5\nB;x;100;6\n"
    assert read(tmp_path, preamble + table).levels == (("A", "B"),)
    (tmp_path / "number.csv").write_text("#;headline;shown;clicked\n1;A;100;5\n2;B;100;6\n")
    assert read_table(tmp_path / "number.csv").columns == ["#", "headline", "shown", "clicked"]


def test_a_search_report_is_no_click_log(tmp_path):
    (tmp_path / "queries.csv").write_text("Page,Device,Clicks,Impressions,Position\n/a,phone,5,90,3.1\n")
    assert holds_factors(str(tmp_path / "queries.csv"))
    (tmp_path / "log.csv").write_text("item,position,clicks,impressions\na,1,5,90\n")
    assert not holds_factors(str(tmp_path / "log.csv"))


@pytest.mark.parametrize(
    ("start", "encoding", "do"), [("# made by hand\n", "utf-8", "above its header"), ("", "utf-16", "UTF-8")]
)
def test_a_click_log_that_cannot_be_read_as_it_is_says_why(tmp_path, start, encoding, do):
    path = tmp_path / "log.csv"
    path.write_bytes(f"{start}query,item,position,clicked\nq,a,1,0\n".encode(encoding))
    with pytest.raises(InputError, match=do):
        rankone.clicks.read(path)


def test_thousands_of_unknown_columns_are_no_fractions(tmp_path):
    text = "Betreff;Zustellversuche;Reaktionen\nHallo;12.000;3.000\nGuten Tag;12.100;2.500\n"
    counts = read(tmp_path, text, shown="Zustellversuche", clicked="Reaktionen")
    assert (counts.shown.tolist(), counts.clicked.tolist()) == ([12000, 12100], [3000, 2500])
    found = find_factor_columns(
        pl.DataFrame({"ad": ["A", "B"], "Karten": ["12.100", "12.200"], "Klicks": ["90", "80"]})
    )
    assert found.shown == "Karten"


@pytest.mark.parametrize("header", ["Row Labels,Sum of Sessions,Sum of Transactions", "Betreff,Versendet,Öffnungen"])
def test_columns_of_pivot_tables_and_newsletters(tmp_path, header):
    counts = read(tmp_path, f"{header}\nControl,20500,400\nB,20310,470\nGrand Total,40810,870\n")
    assert (counts.levels, counts.shown.tolist()) == ((("Control", "B"),), [20500, 20310])


@pytest.mark.parametrize("rate", ["conversion rate", "conversion (%)", "Expected conversion rate"])
def test_rates_alone_are_no_amounts(tmp_path, rate):
    text = f"variant,exposures,{rate}\nA,10000,5.1%\nB,10000,5.8%\n"
    if "Expected" not in rate:
        assert read(tmp_path, text.replace("%\n", "\n")).clicked.tolist() == [510, 580]
    with pytest.raises(InputError, match="Rates alone cannot be compared: column"):
        read(tmp_path, text.replace("exposures", "note"))


def test_an_amount_is_named_as_a_command_takes_it(tmp_path):
    with pytest.raises(InputError, match="Use --revenue 'net value'"):
        read(tmp_path, "variant,net value\nA,5.10\nB,5.80\n")


def test_what_a_nameless_sum_says_of_no_column(tmp_path):
    """The last row of an export of Meta has numbers only: what is the same in all others has only one value."""
    rows = ["Ad name,Ad set name,Placement,Impressions,Link clicks", "A,Women,feed,4500,80", "B,Women,feed,4400,69"]
    told = read(tmp_path, "\n".join([*rows, ",,,8900,149"])).notes
    assert "Left out because it is the sum of other rows: row 3." in told
    assert "Not used: 'Ad set name' (it has only one value)." in told
    assert "Not used: 'Placement' (it has only one value)." in told


def test_a_count_of_few_rows_is_no_variant(tmp_path):
    told = read(tmp_path, "Ad,Recipients,Clicks,Bounced\nA,4500,80,12\nB,4400,69,17\n").notes
    assert "Not used: 'Bounced' (this looks like a metric, not a variant)." in told


def test_who_came_is_used_where_events_count_once_for_each(tmp_path):
    rows = [
        f"{event},v{place},{'AB'[place % 2]}" for place in range(30) for event in ("view", "click")[: 1 + place % 3]
    ]
    told = read(tmp_path, "\n".join(["event,visitor,variant", *rows])).notes
    assert "each once for each 'visitor'" in told[0]
    assert "Not a factor: 'visitor' (it says who came, not what was shown)." in told
