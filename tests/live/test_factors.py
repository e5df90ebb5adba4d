"""Experiments with any number of factors: decisions, restarts, changes, reports and bad input, on every database."""

import json

import numpy as np
import pytest

from rankone.clicks.counts.factor_counts import as_factor_counts
from rankone.clicks.counts.table_files import read_table
from rankone.live import Database, Experiment
from rankone.live.names import checked_levels
from rankone.live.operate.doctor import examine
from rankone.live.operate.export import decisions_table, write_decisions
from rankone.numerics.seeds import generator
from tests import dice as dice  # registers the policy
from tests.live.helpers import Clock, at, error_of, saved

FACTORS = {"headline": ["A", "B"], "image": ["1", "2", "3"], "button": ["buy", "try"]}
RATES = {"A": 0.9, "B": 0.4, "1": 0.5, "2": 0.9, "3": 0.3, "buy": 0.5, "try": 0.9}


def open_page(db, clock=None, **settings):
    """Open the experiment; settings that are left out are those it was made with."""
    return at(clock)("page", db=db, durability="off", **settings)


def make_page(db, **settings):
    return open_page(db, factors=FACTORS, policy="test-dice", seed=7, explore=0.5, **settings)


def visit(experiment, count, seed=0, rates=RATES):
    """Let visitors come one after the other, with a few that wait and some that never tell; return what was shown."""
    rng, waiting, shown = generator(seed, "visitors"), [], []
    for decision in experiment.ask(count):
        shown.append(decision.levels)
        waiting.append(decision)
        if len(waiting) > 5:
            told = waiting.pop(int(rng.random() * 5))
            clicked = rng.random() < np.prod([rates.get(name, 0.7) for name in told.levels.values()])
            experiment.void(told) if rng.random() < 0.1 else experiment.tell(told, bool(clicked))
    return shown


def test_three_factors_are_asked_told_and_reported(db):
    with make_page(db, aim="decide") as page:
        decision = page.ask()
        assert list(decision.levels) == list(FACTORS)
        assert decision["image"] == decision.levels["image"]
        shown = visit(page, 400)
        assert {tuple(levels.values()) for levels in shown} == {
            (headline, image, button)
            for headline in FACTORS["headline"]
            for image in FACTORS["image"]
            for button in FACTORS["button"]
        }
        report = page.report()
    assert report.best == {"headline": "A", "image": "2", "button": "try"}
    assert [factor.name for factor in report.factors] == list(FACTORS)
    assert [len(factor.levels) for factor in report.factors] == [2, 3, 2]
    assert report.basis == "any"
    assert report.headline.startswith("'A' with '2' and 'try' ")
    assert report.assumes.startswith("Assumes: effects multiply and stay constant; ")
    found = json.loads(json.dumps(report.to_dict()))
    assert type(report).of_dict(found) == report


def test_a_restart_changes_nothing(db, monkeypatch):
    monkeypatch.setattr("rankone.live.commit.transactions._SNAPSHOT_EVERY", 300)
    monkeypatch.setattr("rankone.live.commit.transactions._BYTES_PER_EVENT", 10**9)  # however large it is
    with make_page(db) as page:
        visit(page, 200)
        before = saved(page)
    with open_page(db) as again:  # from a snapshot and the events behind it
        assert len(again.database.transactions.storage.snapshots(1)) > 0
        assert saved(again) == before
        open_before = again.report().outcomes["open"]
    with Database(db) as database:
        database.transactions.storage.query("DELETE FROM rankone_snapshots")
    with open_page(db) as replayed:
        assert saved(replayed) == before
        assert replayed.report().outcomes["open"] == open_before
    assert all(finding.ok and finding.checked for finding in examine(db) if finding.check != "pages")


def test_levels_and_factors_come_and_go(db):
    with make_page(db, control={"levels": {"button": "buy", "headline": "A", "image": "1"}, "share": 0.2}) as page:
        visit(page, 60)
        assert page.add_level("image", "4") == 3
        page.retire_level("image", "3")
        assert {levels["image"] for levels in visit(page, 80, seed=1)} == {"1", "2", "4"}
        page.add_factor("badge", ["none", "new"])
        shown = visit(page, 80, seed=2)
        assert {levels["badge"] for levels in shown} == {"none", "new"}
        assert error_of(page.retire_level, "badge", "none").expected == "a level of 'badge' that is not the control's"
        report, before = page.report(), saved(page)
        assert report.control == {"headline": "A", "image": "1", "button": "buy", "badge": "none"}
        assert sum(level.decisions for level in report.factors[3].levels) == 220
        assert "Factor 'badge' was added" in report.details
        assert page.exclude(levels={"badge": "new"}) > 0
        page.exclude(levels={"badge": "none", "image": "4"})
        page.resume() if page.stop({"headline": "B"}) else None
        after = saved(page)
    assert before != after
    with Database(db) as database:
        database.transactions.storage.query("DELETE FROM rankone_snapshots")
    with open_page(db) as again:
        assert saved(again) == after
    assert all(finding.ok and finding.checked for finding in examine(db) if finding.check != "pages")
    with Database(db, read_only=True) as database:
        table = decisions_table(database, "page")
    assert table.columns[2:6] == ["headline", "image", "button", "badge"]
    assert set(table["badge"][:140]) == {"none"}


def test_a_pair_becomes_a_combination(sqlite_db):
    with Experiment(
        "page", ["A", "B"], ["1", "2"], "test-dice", db=sqlite_db, durability="off", seed=3, explore=0.5
    ) as page:
        first = page.ask()
        visit(page, 50)
        page.add_factor("button", ["buy", "try"])
        assert page.tell(first, True).learned  # asked when there were two factors
        assert {levels["button"] for levels in visit(page, 50)} == {"buy", "try"}
        assert list(page.report().best) == ["row", "col", "button"]
        after = saved(page)
    with open_page(sqlite_db) as again:
        assert saved(again) == after


def test_a_stop_shows_one_combination(db):
    with make_page(db, outcomes={"window": 60}, clock=Clock()) as page:
        assert "name a level of each factor" in error_of(page.stop, levels={"image": "2"}).do
        assert page.stop({"headline": "B", "image": "3", "button": "buy"}) == {
            "headline": "B",
            "image": "3",
            "button": "buy",
        }
        assert {tuple(each.levels.values()) for each in page.ask(5)} == {("B", "3", "buy")}
        assert "everyone sees 'B' with '3' and 'buy'" in page.report().headline
        page.add_factor("badge", ["none", "new"])
        assert page.ask().levels["badge"] == "none"
        page.retire_level("headline", "B")
        assert "until headline 'B' was retired" in page.report().warnings[0]
        assert not page.ask().filler


def test_an_outcome_of_a_retired_level_counts_and_says_so(sqlite_db):
    with make_page(sqlite_db) as page:
        made = page.ask(40)
        first, second, other = (
            next(each for each in made if (each.levels["image"] == "1") == gone and each.levels["button"] == button)
            for gone, button in ((True, "buy"), (True, "try"), (False, "buy"))
        )
        page.retire_level("image", "1")
        told = page.tell(first, clicked=True)
        assert (told.status, told.learned) == ("learned", True)
        assert told.note == (
            "image '1' was retired after this was shown: nobody is shown it any more, and this outcome counts "
            "all the same"
        )
        page.retire_level("button", "try")
        assert page.tell(second, clicked=False).note.startswith("image '1' and button 'try' were")
        assert page.tell(other, clicked=True).note is None
        again = page.tell(first, clicked=True)
        assert (again.repeated, again.note) == (True, None)
        image = page.report().factors[1].levels[0]
        assert (image.live, image.outcomes, image.clicks) == (False, 2, 1)
        assert error_of(page.tell, first, clicked=False).expected == "'clicked' again, or nothing"


@pytest.mark.parametrize("names", [["solo"], ["solo", "one"]])
def test_factors_with_one_level_and_one_factor_alone(sqlite_db, names):
    factors = {"solo": ["x", "y"], "one": ["only"]}
    with open_page(sqlite_db, factors={name: factors[name] for name in names}, policy="test-dice", seed=1) as page:
        visit(page, 30, rates={"x": 0.9, "y": 0.1, "only": 1.0})
        assert page.report().best["solo"] == "x"
        said = "'one' has one level: nothing to compare." in page.report().notes
        assert said == ("one" in names)
        assert "of 1 level of 'one'" not in page.report().details
        before = saved(page)
    with open_page(sqlite_db) as again:
        assert saved(again) == before


def test_a_single_combination_wins_nothing(sqlite_db):
    with open_page(sqlite_db, factors={"one": ["only"], "other": ["too"]}, policy="test-dice", seed=1) as page:
        visit(page, 30, rates={"only": 0.9, "too": 1.0})
        sentence = page.report().headline
    assert sentence.startswith("'only' with 'too' is the only combination: ")
    assert "won" not in sentence


@pytest.mark.parametrize(
    ("factors", "expected"),
    [
        ({}, "1 to 20 factors"),
        ({f"f{number}": ["a", "b"] for number in range(21)}, "1 to 20 factors"),
        ({"image": []}, "1 to 10,000 levels of 'image'"),
        ({"image": ["1", "1"]}, "levels of 'image' with different names"),
        ({"image": "12"}, "levels of 'image' as a list of names"),
        ({"": ["1"]}, "factor name as printable text of 1 to 256 characters"),
        ({"a": 1000, "b": 1000, "c": 1000, "d": 1000}, "at most 10,000,000 combinations"),
        ([("image", ["1", "2"])], "factors as a dictionary of names and their levels"),
    ],
)
def test_factors_that_make_no_sense(factors, expected):
    assert error_of(Experiment, "page", factors=factors, db=None).expected == expected


def test_names_are_compared_with_few_others():
    """Each with each would take seconds for as many levels as there may be, and hold up all asks of a service."""
    compared = []

    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            compared.append(other)
            return str.__eq__(self, other)

    names = [Name(number) for number in range(2_000)]
    error = error_of(checked_levels, [*names, Name(1_999)], "image")
    assert "'1999' twice" in str(error)
    assert len(compared) < 100


def test_what_is_asked_of_factors_that_are_not_there(sqlite_db):
    with make_page(sqlite_db) as page:
        for call, expected in (
            (lambda: page.add_level("picture", "4"), "one of the factors headline, image, button"),
            (lambda: page.add_level("row", "C"), "one of the factors headline, image, button"),
            (lambda: page.retire_level("image", "9"), "No such level of 'image':"),
            (lambda: page.stop({"picture": "4"}), "one of the factors headline, image, button"),
            (lambda: page.exclude(levels={"image": "9"}), "No such level of 'image':"),
            (lambda: page.exclude(levels="image"), "levels as a dictionary of factors and names"),
            (lambda: page.add_factor("image", ["x"]), "the name of a factor that is not there yet"),
            (lambda: page.add_factor("badge", []), "1 to 10,000 levels of 'badge'"),
            (lambda: Experiment("page", ["A"], ["1"], db=sqlite_db), None),
            (lambda: Experiment("new", ["A"], ["1"], factors=FACTORS, db=sqlite_db), "rows and cols, or factors"),
            (lambda: make_page(sqlite_db, control={"levels": ("A", "1")}), None),
        ):
            error = error_of(call)
            assert expected is None or error.expected == expected
        retired = page.ask()
        page.retire_level("headline", retired.levels["headline"])
        assert page.tell(retired, True).learned  # recorded, though its level is gone


def test_what_is_forbidden_is_never_shown(db):
    rule = {"headline": "A", "button": "try"}
    with open_page(db, factors=FACTORS, policy="uts", seed=7, explore=0.5) as page:
        visit(page, 40)
        page.forbid(rule)
        shown = visit(page, 300, seed=1)
        assert not any(rule.items() <= levels.items() for levels in shown)
        assert {levels["headline"] for levels in shown} == {"A", "B"}
        report, after = page.report(), saved(page)
        assert report.forbidden == (rule,)
        assert not report.decided  # the best levels are forbidden together
        assert not rule.items() <= report.best.items()
        assert "compared two levels at a time" in report.details
        for levels, expected in (
            ({"headline": "A"}, "levels of two factors or more to forbid together"),
            (rule, "what is not forbidden yet"),
            ({"headline": "A", "button": "buy"}, "to leave every level something to be shown with"),
            ({"headline": "A", "picture": "1"}, "one of the factors headline, image, button"),
        ):
            assert error_of(page.forbid, levels).expected == expected
        assert error_of(page.allow, {"headline": "B", "button": "buy"}).do == "allow one of these"
    with Database(db) as database:
        database.transactions.storage.query("DELETE FROM rankone_snapshots")
    with open_page(db) as again:
        assert saved(again) == after
        again.allow(rule)
        assert any(rule.items() <= levels.items() for levels in visit(again, 100, seed=2))


@pytest.mark.parametrize(("margin", "place", "spared"), [(0.3, 1, 1.07), (0.05, -1, None)])
def test_a_new_factor_keeps_what_is_proven_also_with_a_margin(sqlite_db, margin, place, spared):
    rng = generator(0, "visitors")
    with open_page(
        sqlite_db, factors={"a": 2, "b": 2}, policy="uts", seed=7, aim="decide", stopping={"margin": margin}
    ) as page:
        rates = {"a 1": 0.8, "a 2": 0.2}
        page.tell_many([(each, rng.random() < rates[each.levels["a"]]) for each in page.ask(200)])
        before = page._cached.fold.evidence.frozen_copy()
        page.add_factor("c", ["x", "y"])
        evidence = page._cached.fold.evidence
        assert before.in_time.enough.any()
        assert before.in_time.proof[0, 1] > before.claims.bar
        for name in ("proof", "now", "logs"):
            np.testing.assert_array_equal(
                getattr(evidence.in_time, name)[:4, :4], getattr(before.in_time, name)[:4, :4]
            )
        np.testing.assert_array_equal(evidence.traffic.proof[:4, :4], before.traffic.proof[:4, :4])
        assert not evidence.in_time.enough.any()
        assert evidence.in_time.margin_ratio[0] == place
        assert spared is None or evidence.in_time.ratios[place] == spared
        page.tell_many([(each, rng.random() < rates[each.levels["a"]]) for each in page.ask(200)])
        assert not page.report().factors[0].levels[1].in_race
        assert (evidence.in_time.enough[0, 1] > 0.0) == (place >= 0)


def test_what_is_forbidden_binds_stops_and_levels(sqlite_db):
    with open_page(sqlite_db, factors={"a": ["A", "B"], "b": ["x", "y", "z"]}, policy="uts", seed=7) as page:
        page.forbid({"a": "B", "b": "z"})
        page.forbid({"a": "B", "b": "y"})
        stop = error_of(page.stop, levels={"a": "B", "b": "z"})
        assert (stop.expected, stop.got) == ("a combination that may be shown", "a 'B' with b 'z', which is forbidden")
        for each in page.ask(4):
            page.tell(each, False)
        assert not page.report().leads  # nobody does without a click
        assert error_of(page.stop, levels={"b": "z"}).expected == "outcomes that tell which combination leads"
        gone = error_of(page.retire_level, "b", "x")
        assert gone.got == "'x' gone, which leaves a 'B' nothing"
        page.retire_level("a", "B")
        page.retire_level("b", "x")
        assert error_of(page.add_level, "a", "B").got == "'B' back, which leaves a 'B' nothing"
        page.add_level("b", "x")
        page.add_level("a", "B")


def test_chances_of_exploration_without_what_is_forbidden(sqlite_db):
    """Each decision is as probable as the journal says: weighted by that, all that is allowed counts for 1."""
    with open_page(sqlite_db, factors=FACTORS, policy="uniform", seed=3, explore=0.9) as page:
        page.forbid({"headline": "A", "image": "2"})
        page.ask(1000)
    with Database(sqlite_db, read_only=True) as database:
        chances = decisions_table(database, "page")["chance"]
    assert chances.min() == pytest.approx(1 / 10)  # of 12 combinations 10 are left, all alike
    assert chances.max() == pytest.approx(1 / 10)


def test_a_policy_that_cannot_be_told_what_is_forbidden(sqlite_db):
    with make_page(sqlite_db) as page:
        error = error_of(page.forbid, {"headline": "A", "image": "2"})
        assert (error.expected, error.got) == (
            "a policy that can be told what is forbidden",
            "test-dice, which does not",
        )


def test_nobody_wins_wrongly_among_three_factors_while_rates_move():
    """Equal levels on a site whose click rate moves by half while the policy shifts its traffic: few false winners."""
    wrong = 0
    for run in range(20):
        rng = generator(run, "moving")
        with Experiment("page", factors={"a": 2, "b": 2, "c": 2}, policy="uts", aim="both", seed=run, db=None) as page:
            for step in range(12):
                rate = 0.3 + 0.2 * np.sin(step)
                page.tell_many([(each, bool(rng.random() < rate)) for each in page.ask(60)])
            report = page.report()
            wrong += report.decided or not all(level.in_race for factor in report.factors for level in factor.levels)
    assert wrong <= 4  # 20 runs of at most 0.1: winners and levels that are out have an error of 0.05 each


def test_an_export_of_three_factors_is_analysed_as_what_it_is(sqlite_db, tmp_path):
    with make_page(sqlite_db) as page:
        visit(page, 120)
    write_decisions(Database(sqlite_db, read_only=True), "page", tmp_path / "page.csv")
    for counts in (
        as_factor_counts(read_table(tmp_path / "page.csv")),
        as_factor_counts(decisions_table(Database(sqlite_db, read_only=True), "page")),
    ):
        assert (counts.factors, counts.adaptive) == (tuple(FACTORS), True)
        assert counts.shown.sum() < 120  # open and void decisions say nothing
