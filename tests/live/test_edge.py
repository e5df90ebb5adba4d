"""Deciding at the edge: weights, what is told of them in any order, and what does not fit."""

import json
import shutil
import sqlite3
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rankone
from rankone.edge import WHOLE, decide
from rankone.errors import InputError
from rankone.evidence.levels import settle_sums, start_evidence, weigh_click, weigh_sums
from rankone.live.commit.publishing import whole_weights
from rankone.live.evidence.published import CLICKED, SHOWN, Part, Published, Version
from rankone.live.fold import snapshot
from rankone.live.fold.journal_reading import from_snapshot, replay
from rankone.live.operate import visits
from rankone.live.report.edge_report import EdgeReport
from rankone.live.report.make_report import make_edge_report
from rankone.numerics.seeds import generator

from .helpers import Clock, at

FACTORS = {"headline": ["A", "B", "C"], "image": ["1", "2"]}
RATES = {"A": 0.3, "B": 0.2, "C": 0.1, "1": 0.5, "2": 1.0, "3": 0.9}
BEGAN = 1_700_000_000_000_000


class Site:
    """An experiment, and the visitors of a site that decides for itself."""

    def __init__(self, db, **settings):
        self.clock = Clock(BEGAN)
        settings = {"factors": FACTORS, "policy": "edge:every=200", "seed": 3, "durability": "off"} | settings
        self.experiment = at(self.clock)("page", db=db, **settings)
        self.rng, self.visitors = generator(4, "site"), 0

    def traffic(self, count):
        """Let visitors come for a minute: what they are shown by the newest weights, and their clicks."""
        weights, exposures, outcomes = self.experiment.weights(), [], []
        for index in range(count):
            self.visitors += 1
            shown = decide(weights, f"visitor {self.visitors}") | {"time": self.clock.now / 1e6 + 50 * index / count}
            exposures.append(shown)
            if self.rng.random() < np.prod([RATES[level] for level in shown["levels"].values()]):
                outcomes.append({"visitor": shown["visitor"], "time": shown["time"] + 1, "goal": "click", "value": 1})
        self.clock.pass_seconds(61)
        return exposures, outcomes

    def tell(self, *tables):
        for table in tables:
            told = self.experiment.ingest(table)
        return told


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path / "site.db")
    yield made
    made.experiment.close()


def counts(experiment):
    """All that is counted, as bytes."""

    def of(fold):
        return [each.tobytes() for each in fold.published.counts], dict(fold.published.unfit)

    return experiment.look(of)


def test_weights_follow_what_is_told(site):
    first = site.experiment.weights()
    assert first["version"] == 1
    assert [part["factors"] for part in first["parts"]] == [["headline"], ["image"]]
    assert all(sum(part["weights"]) == WHOLE for part in first["parts"])
    assert site.experiment.weights() == first, "nothing was told"
    for _ in range(8):
        site.tell(*site.traffic(1_000))
    last = site.experiment.weights()
    assert last["version"] == 9
    assert last["parts"][1]["weights"][1] > 0.8 * WHOLE
    assert site.experiment.weights(version=1)["parts"] == first["parts"], "a version stays what it was"
    assert site.experiment.weights(version=1)["valid_until"] is None
    report = site.experiment.report()
    assert report.best == {"headline": "A", "image": "2"}
    assert report.decisions == 8_000
    assert report.edge.version == 9
    assert report.edge.unfit == {}
    assert not report.edge.mismatch
    assert "version 9 of the weights" in str(report)
    with pytest.raises(InputError, match="a version of the weights from 1 to 9"):
        site.experiment.weights(version=10)


def test_the_same_in_any_portions_and_any_order(tmp_path):
    results = []
    for number, portion in enumerate((10_000, 700, 97)):
        site = Site(tmp_path / f"{number}.db", outcomes={"window": 30})
        made = [site.traffic(600), site.traffic(500)]
        rows = [row for tables in made for table in tables for row in table]
        late = [{"visitor": "visitor 5", "time": site.clock.now / 1e6}, {"visitor": "nobody", "time": BEGAN / 1e6}]
        again = [dict(row, time=row["time"] + 20) for row in made[0][0][:40]]
        taken_back = dict(made[0][0][2], levels={"headline": "A", "image": "no"})  # the right ones are told, too
        wrong = [taken_back, dict(taken_back, visitor="x"), dict(made[0][0][1], version=9)]
        rows = rows + late + again + wrong + rows[:300]
        order = generator(number, "order").permutation(len(rows)) if number else range(len(rows))
        rows = [rows[index] for index in order]
        for first in range(0, len(rows), portion):
            some = rows[first : first + portion]
            site.tell([row for row in some if "version" not in row])
            site.tell([row for row in some if "version" in row])
        facts = site.experiment.look(lambda fold: json.dumps(fold.published.facts()["unfit"]))
        results.append((counts(site.experiment), facts, str(site.experiment.report())))
        before = counts(site.experiment)
        site.tell(made[0][0], made[0][1])
        assert counts(site.experiment) == before, "told again"
        site.experiment.close()
    assert results[0] == results[1] == results[2]
    assert results[0][0][1].keys() >= {"unknown_version", "wrong_levels", "unmatched", "late"}


def test_sums_are_those_of_a_plain_count(site):
    """The slow twin: visitor after visitor, in the order of time."""
    tables = [site.traffic(400), site.traffic(300)]
    tables[1][1].extend({"visitor": f"visitor {number}", "time": site.clock.now / 1e6} for number in range(1, 60))
    site.tell(*tables[1], *tables[0])
    shown, clicked, seen = {}, {}, set()
    first = {}
    for row in sorted((row for table in tables for row in table[0]), key=lambda row: row["time"]):
        first.setdefault(row["visitor"], []).append(row)
        key = row["version"], *row["levels"].values()
        shown[key] = shown.get(key, 0) + 1
    for row in sorted((row for table in tables for row in table[1]), key=lambda row: row["time"]):
        before = [each for each in first.get(row["visitor"], ()) if each["time"] <= row["time"]]
        if before and (row["visitor"], before[-1]["version"]) not in seen:
            seen.add((row["visitor"], before[-1]["version"]))
            key = before[-1]["version"], *before[-1]["levels"].values()
            clicked[key] = clicked.get(key, 0) + 1

    def counted(fold, what):
        return {
            (version.number, FACTORS["headline"][cell // 2], FACTORS["image"][cell % 2]): int(sums[what, cell])
            for version, sums in fold.published.each()
            for cell in np.flatnonzero(sums[what])
        }

    assert site.experiment.look(lambda fold: counted(fold, SHOWN)) == shown
    assert site.experiment.look(lambda fold: counted(fold, CLICKED)) == clicked


def test_many_are_drawn_as_one_is():
    parts = tuple(Part([factor], [[0], [1], [2]], whole_weights(np.array([0.5, 0.3, 0.2]))) for factor in range(8))
    version = Version(3, 0, 1, 1, "salt", (3,) * 8, parts, (WHOLE // 5, [1] * 8))
    names = [f"factor {factor}" for factor in range(8)]
    weights = {
        "version": 3,
        "oldest": 1,
        "salt": "salt",
        "control": {"share": WHOLE // 5, "levels": dict.fromkeys(names, 1)},
    }
    weights["parts"] = [
        {"factors": [name], "levels": part.levels, "weights": part.weights}
        for name, part in zip(names, parts, strict=True)
    ]
    visitors = [f"é{number}" for number in range(2_000)]
    cells, held = visits.drawn_cells(version, visitors), 0
    for visitor, cell in zip(visitors, cells.tolist(), strict=True):
        levels = list(decide(weights, visitor)["levels"].values())
        if cell == version.cells:
            assert levels == [1] * 8
            held += 1
        else:
            assert levels == list(np.unravel_index(cell, version.sizes))
    assert abs(held / 2_000 - 0.2) < 4 * np.sqrt(0.2 * 0.8 / 2_000)
    shares = np.bincount(cells[cells < version.cells] // 3**7, minlength=3) / (2_000 - held)
    assert np.abs(shares - [0.5, 0.3, 0.2]).max() < 4 * np.sqrt(0.25 / 1_600)
    assert version.chances().sum() == pytest.approx(1.0)


def test_who_comes_back_sees_the_same_until_it_may_not_be_shown(site):
    first = decide(site.experiment.weights(), "ann")
    site.tell(*site.traffic(500))
    weights = site.experiment.weights()
    assert weights["version"] == 2
    assert decide(weights, "ann", kept=first)["version"] == 1
    assert decide(weights, "ann", kept=first)["levels"] == first["levels"]
    site.experiment.add_level("image", "3")
    assert decide(site.experiment.weights(), "ann", kept=first)["version"] == 1
    site.experiment.retire_level("headline", "C")
    weights = site.experiment.weights()
    assert weights["oldest"] == weights["version"] == decide(weights, "ann", kept=first)["version"]
    site.tell(*site.traffic(300))
    assert site.experiment.report().decisions == 800


def test_what_is_forbidden_is_never_drawn_and_still_learned(site):
    site.experiment.forbid({"headline": "A", "image": "2"})
    weights = site.experiment.weights()
    (part,) = weights["parts"]
    assert part["factors"] == ["headline", "image"]
    assert ["A", "2"] not in part["levels"]
    for _ in range(6):
        exposures, outcomes = site.traffic(1_500)
        assert all(row["levels"] != {"headline": "A", "image": "2"} for row in exposures)
        site.tell(exposures, outcomes)
    best = max(zip(*(site.experiment.weights()["parts"][0][name] for name in ("weights", "levels")), strict=True))
    assert best[1] == ["B", "2"]
    with pytest.raises(InputError, match="something to be shown with"):
        site.experiment.forbid({"headline": "A", "image": "1"})


def test_a_control_keeps_its_share_and_no_statement_rests_on_it(tmp_path):
    site = Site(tmp_path / "site.db", control={"levels": ["C", "1"], "share": 0.2})
    exposures, outcomes = site.traffic(2_000)
    site.tell(exposures, outcomes)
    version, sums = site.experiment.look(lambda fold: next(iter(fold.published.each())))
    assert abs(sums[SHOWN, -1] / 2_000 - 0.2) < 4 * np.sqrt(0.16 / 2_000)
    assert version.rows(0, sums[SHOWN])[1].sum() == sums[SHOWN, :-1].sum()
    assert site.experiment.report().decisions == 2_000
    assert not site.experiment.report().edge.mismatch
    site.experiment.stop({"headline": "A", "image": "2"})
    assert site.experiment.weights()["control"] is None
    assert decide(site.experiment.weights(), "x")["levels"] == {"headline": "A", "image": "2"}
    site.experiment.close()


def test_it_stops_on_a_winner(tmp_path):
    site = Site(tmp_path / "site.db", stopping={"auto": True}, aim="decide")
    for _ in range(20):
        site.tell(*site.traffic(1_500))
        if site.experiment.report().stopped:
            break
    assert site.experiment.report().shown == {"headline": "A", "image": "2"}
    assert [part["weights"] for part in site.experiment.weights()["parts"]] == [[WHOLE], [WHOLE]]
    site.experiment.close()


def test_resumes_exactly(site):
    for _ in range(3):
        site.tell(*site.traffic(700))
    number = site.experiment._cached.number
    fold = site.experiment.look(lambda fold: fold)
    again = site.experiment.database.use(lambda storage: replay(storage, number))
    whole, read = snapshot.contents(fold), snapshot.contents(again)
    assert whole.keys() == read.keys()
    for name in whole:
        assert whole[name].tobytes() == read[name].tobytes(), name
    kept = snapshot.save(fold)
    database = site.experiment.database

    loaded = database.use(lambda storage: from_snapshot(storage, number, fold.seq, kept))
    assert loaded is not None
    assert loaded.evidence.stated.now.tobytes() == fold.evidence.stated.now.tobytes()
    assert loaded.published.counts[1].tobytes() == fold.published.counts[1].tobytes()


def test_few_events_and_no_event_for_a_visitor(site):
    before = site.experiment.look(lambda fold: fold.seq)
    site.tell(*site.traffic(5_000))
    assert site.experiment.look(lambda fold: fold.seq) - before <= 3


def test_what_cannot_be_asked_for_is_refused(site, tmp_path):
    with pytest.raises(InputError, match=r"Decide by weights\(\)"):
        site.experiment.ask()
    with pytest.raises(InputError, match="Leave out goals"):
        rankone.Experiment("other", factors=FACTORS, policy="edge", goals={"click": {}}, db=tmp_path / "other.db")
    with rankone.Experiment("plain", factors=FACTORS, db=tmp_path / "other.db") as plain:
        for ask in (plain.weights, lambda: plain.ingest([{"visitor": "a", "time": 1.0}])):
            with pytest.raises(InputError, match="decides away from the server"):
                ask()
    with pytest.raises(InputError, match="a column 'time'"):
        site.experiment.ingest([{"visitor": "a"}])
    with pytest.raises(InputError, match="a column 'headline'"):
        site.experiment.ingest([{"visitor": "a", "version": 1, "time": 1.0}])


def test_what_does_not_fit_is_counted_in_words():
    unfit = {"wrong_levels": 1, "unmatched": 1, "late": 1_200}
    assert EdgeReport(3, 10, unfit, None, None).notes == [
        "Decides at the edge: version 3 of the weights.",
        "Ignored: 1 shown other levels than the weights give; 1 click of visitors who were shown nothing before; "
        "1,200 clicks after the window.",
    ]


def test_a_draw_that_is_served_to_many_is_noticed():
    """The bot of the sheet: one draw, 1,250 exposures counted as if each were a draw of its own."""
    parts = tuple(Part([factor], [[0], [1], [2]], whole_weights(np.full(3, 1 / 3))) for factor in range(2))
    rng, published = generator(5, "bot"), Published()
    for number in range(1, 101):
        published.publish(json.loads(Version(number, 0, 1, 1, "s", (3, 3), parts, None).note()), 0)
        published.counts[-1][SHOWN, :9] = rng.multinomial(1_000, np.full(9, 1 / 9))
    assert not make_edge_report(published).mismatch
    for number in range(40, 45):
        published.counts[number][SHOWN, 4] += 250
    report = make_edge_report(published)
    assert report.mismatch
    assert 41 <= report.traffic_version <= 45


def test_false_traffic_warnings_are_as_rare_as_said():
    parts = (Part([0], [[0], [1], [2]], whole_weights(np.array([0.9, 0.09, 0.01]))),)
    rng, low = generator(6, "traffic"), 0
    for _ in range(400):
        published = Published()
        for number in range(1, 11):
            published.publish(json.loads(Version(number, 0, 1, 1, "s", (3,), parts, None).note()), 0)
            published.counts[-1][SHOWN, :3] = rng.multinomial(500, np.array(parts[0].weights) / WHOLE)
        low += make_edge_report(published).traffic_p < 0.05
    assert low <= 400 * 0.05 + 4 * np.sqrt(400 * 0.05 * 0.95)


def test_a_row_of_clicks_weighs_what_they_weigh_one_by_one():
    rng = generator(7, "sums")
    one, sums = start_evidence((3, 2), margin_ratio=1.15), start_evidence((3, 2), margin_ratio=1.15)
    chances = rng.dirichlet(np.ones(3), 4)
    clicks = rng.integers(0, 5, (4, 3))
    weigh_sums(sums, 0, chances, clicks)
    for row, of in zip(chances, clicks, strict=True):
        cross = np.append(row, [0.5, 0.0])
        for level, count in enumerate(of):
            for _ in range(count):
                weigh_click(one, np.array([level, 3]), cross)
    assert sums.logs == pytest.approx(one.logs)


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl", "sql", "frame"])
def test_files_and_sql(site, tmp_path, kind):
    exposures, outcomes = site.traffic(400)
    flat = pl.DataFrame([{**row, **row["levels"]} for row in exposures]).drop("levels")
    told = site.experiment.ingest(_written(flat, tmp_path, kind, "exposures"), **_query(kind, "exposures"))
    assert (told.exposures, told.shown, told.unreadable) == (400, 400, 0)
    table = pl.DataFrame(outcomes)
    told = site.experiment.ingest(_written(table, tmp_path, kind, "outcomes"), **_query(kind, "outcomes"))
    assert told.clicked == len(outcomes)
    assert told.headline.endswith("ignored: none.")
    late = site.experiment.ingest(outcomes, since=site.clock.now / 1e6)
    assert late.outcomes == 0


def _query(kind, name):
    return {"query": f"SELECT * FROM {name}"} if kind == "sql" else {}


def _written(table, folder, kind, name):
    if kind == "frame":
        return table
    file = folder / f"{name}.{kind}"
    if kind == "sql":
        with sqlite3.connect(folder / "log.db") as connection:
            connection.execute(f"CREATE TABLE {name} ({', '.join(table.columns)})")
            connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * table.width)})", table.rows())
        return folder / "log.db"
    {"parquet": table.write_parquet, "csv": table.write_csv, "jsonl": table.write_ndjson}[kind](file)
    return file


def test_times_of_every_kind(site):
    exposures, _ = site.traffic(3)
    told = pl.DataFrame(exposures)
    moments = told.with_columns(time=pl.from_epoch((pl.col("time") * 1e6).cast(pl.Int64), time_unit="us"))
    for table in (told, moments, moments.with_columns(pl.col("time").dt.to_string("iso"))):
        assert site.experiment.ingest(table).unreadable == 0
    mixed = told.with_columns(time=pl.Series([str(told["time"][0]), "2023-11-14 22:13:20", "2023-11-14T22:13:20"]))
    assert site.experiment.ingest(mixed).unreadable == 0
    assert site.experiment.report().decisions == 3
    ahead = site.experiment.ingest(told.with_columns(pl.col("time") + 1e6, visitor=pl.lit("new")))
    assert ahead.unreadable == 3
    assert ahead.shown == 0


@pytest.mark.parametrize("kind", ["csv", "rows"])
def test_values_are_read_or_counted_as_unreadable(site, tmp_path, kind):
    exposures, _ = site.traffic(11)
    site.tell(exposures)
    values = ["false", "0", " False", "0.0", "no", "-", "0,0", "", "true", "1", "2.5"]
    rows = [
        {"visitor": row["visitor"], "time": row["time"] + 1, "value": value}
        for row, value in zip(exposures, values, strict=True)
    ]
    if kind == "csv":
        pl.DataFrame(rows).write_csv(tmp_path / "clicks.csv")
    told = site.experiment.ingest(tmp_path / "clicks.csv" if kind == "csv" else rows)
    assert (told.outcomes, told.clicked, told.unreadable) == (11, 4, 3)
    truths = [dict(row, value=value) for row, value in zip(rows, [False, True] * 6, strict=False)]
    assert site.experiment.ingest(truths[:4]).clicked == 2


def test_a_row_of_broken_levels_spoils_no_other(site, tmp_path):
    rows, _ = site.traffic(8)
    rows[0]["levels"] = rows[0]["levels"] | {"visitor": "q", "at": "r"}
    rows[1]["levels"] = None
    told = site.experiment.ingest(rows[:3])
    assert (told.shown, told.unreadable, told.unfit) == (2, 1, {})
    assert site.experiment.ingest(rows[1:2]).unreadable == 1
    texts = [json.dumps(row["levels"]) for row in rows[3:5]] + ['{"headline": ', "7", "null"]
    pl.DataFrame(rows[3:]).with_columns(levels=pl.Series(texts)).write_csv(tmp_path / "shown.csv")
    told = site.experiment.ingest(tmp_path / "shown.csv")
    assert (told.exposures, told.shown, told.unreadable, told.unfit) == (5, 2, 3, {})
    assert site.experiment.report().decisions == 4
    for levels in (["A"], {"headline": ["A"], "image": "1"}, 7):
        with pytest.raises(InputError):
            site.experiment.ingest([dict(rows[0], levels=levels)])
    with pytest.raises(InputError, match="columns each have one kind"):
        site.experiment.ingest([dict(rows[0]), dict(rows[1], levels="A")])


def test_factors_may_be_called_as_columns_are(tmp_path):
    names = ["version", "at", "visitor", "time", "levels"]
    site = Site(tmp_path / "site.db", factors={name: ["A", "B"] for name in names})
    exposures, _ = site.traffic(50)
    told = site.experiment.ingest(exposures)
    assert (told.shown, told.unfit, told.unreadable) == (50, {}, 0)
    with pytest.raises(InputError, match="a column 'levels' with all of them"):
        site.experiment.ingest(pl.DataFrame(exposures).drop("levels"))
    site.experiment.close()


def test_what_a_worker_keeps_for_a_day_is_learned(tmp_path):
    day = 86_400
    site = Site(tmp_path / "site.db", policy=f"edge:every=10,seconds={day}", factors={"headline": ["A", "B"]})
    site.tell(*site.traffic(300))
    site.clock.pass_seconds(day)
    kept = site.experiment.weights()
    assert (kept["version"], kept["valid_until"] - site.clock.now // 10**6) == (2, day)
    site.experiment.add_level("headline", "C")
    assert site.experiment.weights()["version"] == 3, "at once"
    for number, (hours, fits) in enumerate([(2, True), (23.9, True), (24.9, True), (25.1, False)]):
        row = decide(kept, f"late {number}") | {"time": site.clock.now / 1e6 + 3_600 * hours}
        kept_until = site.clock.now
        site.clock.pass_seconds(3_600 * hours + 60)
        told = site.experiment.ingest([row])
        assert told.unfit == ({} if fits else {"shown_outside": 1}), hours
        site.clock.now = kept_until
    site.experiment.close()


def test_what_was_told_last_is_known_to_be_the_last(site):
    assert site.experiment.database.use(lambda storage: storage.last_action(1)) == (0, 0)
    exposures, _ = site.traffic(20)
    site.tell(exposures)
    told = site.clock.now
    site.clock.pass_seconds(600)
    site.experiment.weights()
    assert site.experiment.database.use(lambda storage: storage.last_action(1))[1] == told


def test_published_vectors_in_python_and_in_node(tmp_path):
    vectors = json.loads((_page() / "edge_vectors.json").read_text())
    for vector in vectors["cases"]:
        assert decide(vectors["weights"], vector["visitor"])["levels"] == vector["levels"], vector
    assert shutil.which("node"), "Node runs this test"
    program = tmp_path / "edge.mjs"
    program.write_text(
        f"import {{ decide }} from {json.dumps((_page() / 'edge.js').as_uri())};\n"
        f"import fs from 'node:fs';\n"
        f"const {{ weights, cases }} = JSON.parse(fs.readFileSync({json.dumps(str(_page() / 'edge_vectors.json'))}));\n"
        "const kept = decide({ ...weights, version: 2 }, 'x');\n"
        "const later = decide({ ...weights, version: 7 }, 'x', kept).version;\n"
        "console.log(JSON.stringify([later, ...cases.map((each) => decide(weights, each.visitor).levels)]));\n"
    )
    later, *levels = json.loads(subprocess.run(["node", program], capture_output=True, check=True, text=True).stdout)
    assert later == 2
    assert levels == [vector["levels"] for vector in vectors["cases"]]


def _page():
    return Path(rankone.__file__).parent / "web" / "page"


def test_counts_once_in_every_kind_of_database(db):
    site = Site(db)
    exposures, outcomes = site.traffic(300)
    site.tell(exposures[:200], outcomes, exposures)
    told = site.tell([*exposures, *outcomes])
    assert (told.exposures, told.shown, told.clicked) == (300, 0, 0)
    report = site.experiment.report()
    assert (report.decisions, report.outcomes["clicked"]) == (300, len(outcomes))
    site.experiment.close()


def test_what_is_forbidden_makes_no_false_statement():
    """A makes no difference, A0 with B0 is forbidden: compared within the same company, not in sum over all of them."""
    rng, false, in_sum = generator(8, "forbidden"), 0, 0
    for _ in range(200):
        rows, margins = [], []
        for _ in range(30):
            weights = whole_weights(rng.dirichlet([4.0, 1.0, 4.0]))
            version = Version(1, 0, 1, 1, "s", (2, 2), (Part([0, 1], [[0, 1], [1, 0], [1, 1]], weights),), None)
            shown = rng.multinomial(1_000, version.chances()[:4])
            rate = rng.uniform(0.02, 0.2)  # of the site, whatever it is just then
            clicks = np.append(rng.binomial(shown, rate * np.array([0.3, 1.0, 0.3, 1.0])), 0)
            rows.append(version.rows(0, clicks))
            table = version.parts[0].table((2, 2))
            margins.append((table.sum(axis=1)[None], clicks[:4].reshape(2, 2).sum(axis=1)[None]))
        for each, count in ((rows, True), (margins, False)):
            evidence = start_evidence((2,))
            weigh_sums(evidence, 0, *(np.concatenate(part) for part in zip(*each, strict=True)))
            settle_sums(evidence)
            proven = evidence.now.max() >= np.log(2 / 0.05)
            false, in_sum = false + (proven and count), in_sum + (proven and not count)
    assert false <= 200 * 0.05, false
    assert in_sum > 100, "the world would fool a comparison of sums"
