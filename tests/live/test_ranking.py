"""Rankings: lists asked for, told, restricted, stopped; the same bits after a restart; each wrong input its sentence."""

import dataclasses
import json

import numpy as np
import pytest

import rankone
from rankone.errors import Contradiction, InputError, KeyReused
from rankone.evidence.lists import MOST_ITEMS
from rankone.live import Ask, Database, Experiment, Ranking, Tell
from rankone.live.fold import snapshot
from rankone.live.fold.journal_reading import from_snapshot, read_tail, replay
from rankone.live.lists import CLICKED, MOST_COMPARED, Told, together, told_in
from rankone.live.operate.doctor import examine
from rankone.live.operate.export import decisions_table, write_decisions
from rankone.live.report.ranking_report import list_notes
from rankone.live.verdict.list_verdict import list_verdict
from rankone.numerics.seeds import generator

from .helpers import Clock, error_of

ITEMS = [*"abcdefgh"]
ATTRACTION = dict(zip(ITEMS, (0.4, 0.35, 0.3, 0.1, 0.1, 0.05, 0.05, 0.05), strict=True))


def said(do):
    """What the error says that it raises."""
    return str(error_of(do))


def start(db, clock=None, **settings):
    """Open a ranking that does not wait for the disk."""
    settings = {"positions": 3, "policy": "cascade-ts", "seed": 7, "durability": "off"} | settings
    return type("Ranking", (Ranking,), {"_clock": clock})("home", settings.pop("items", ITEMS), db=db, **settings)


def visit(ranking, lists, seed=1, read=lambda rng, size: None, **asked):
    """Let visitors of a cascade come; return the decisions."""
    rng, made = generator(seed, "visitors"), []
    for _ in range(lists):
        decision = ranking.ask(**asked)
        first = next((at for at, item in enumerate(decision.items, 1) if rng.random() < ATTRACTION.get(item, 0.2)), 0)
        seen = read(rng, len(decision.items))
        clicked = [first] if first and (seen is None or first <= seen) else []
        ranking.tell(decision, clicked, seen=seen)
        made.append(decision)
    return made


def bits(ranking):
    """All that it knows."""
    return ranking.look(snapshot.save)


def replayed(ranking):
    """All that its journal adds up to."""
    with ranking.database.reader() as storage:
        return snapshot.save(replay(storage, storage.number(ranking.name)))


def test_a_list_is_asked_and_told():
    with start(None) as ranking:
        decision = ranking.ask()
        assert len(set(decision.items)) == 3
        assert set(decision.items) <= set(ITEMS)
        assert decision.levels == {"1": decision.items[0], "2": decision.items[1], "3": decision.items[2]}
        assert all(0.0 < chance <= 1.0 for chance in decision.chances)
        outcome = ranking.tell(decision, [2], seen=3)
        assert (outcome.clicked, outcome.positions, outcome.seen, outcome.learned) == (True, (2,), 3, True)
        assert ranking.tell(decision.id, [decision.items[1]], seen=3).repeated
        assert ranking.tell(ranking.ask(), []).clicked is False
        assert ranking.tell(ranking.ask(), np.array([True, False, True])).positions == (1, 3)
        assert ranking.void(ranking.ask()).status == "void"
        batch = ranking.ask(5)
        answers = ranking.do([Tell(batch[0].id, (1,)), Tell(batch[1].id, False), Ask(), Tell(batch[2].id, [9])])
        assert [answer.positions for answer in answers[:2]] == [(1,), ()]
        assert len(answers[2][0].items) == 3
        assert isinstance(answers[3], InputError)
        assert ranking.tell_many([(batch[3], ["nothing"]), (batch[4], [batch[4].items[2]])])[1].positions == (3,)
        assert ranking.report().outcomes["clicked"] == 4


def test_how_much_was_seen_is_of_lists_alone():
    with Experiment("page", ["A", "B"], ["1", "2"], db=None) as experiment:
        decision = experiment.ask()
        with pytest.raises(InputError, match="to a ranking alone"):
            experiment.tell(decision, True, seen=2)
        assert experiment.tell(decision, True).learned


@pytest.mark.parametrize(
    ("clicked", "more", "sentence"),
    [
        ([3], {"seen": 2}, "at least 3 positions seen, as position 3 was clicked"),
        ([4], {}, "a position from 1 to"),
        ([0], {}, "a position from 1 to"),
        (["nobody"], {}, "a click on an item of the list"),
        ([True, False, False, True], {}, "a truth for each position of a list of 3"),
        (True, {}, "which positions of the list were clicked"),
        (2, {}, "clicked as True or False"),
        ("a", {}, "clicked as True or False"),
        ("a", {"seen": 2}, "clicked as positions or names"),
        ([1.5], {}, "clicked as positions or names"),
        ([], {"seen": 4}, "seen as a whole number of at least 0 and at most 3"),
        (None, {"value": 1.0}, "the clicked positions of a list"),
    ],
)
def test_a_wrong_outcome_has_its_sentence(clicked, more, sentence):
    with start(None) as ranking:
        decision = ranking.ask()
        with pytest.raises(InputError, match=sentence):
            ranking.tell(decision, clicked, **more)
        assert ranking.tell(decision, [1]).learned


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"candidates": ["a", "z"]}, "items of the ranking to choose from"),
        ({"exclude": ["z"]}, "items of the ranking to exclude"),
        ({"exclude": ITEMS}, "at least one item that may be shown"),
        ({"candidates": "abc"}, "candidates as a list"),
        ({"pinned": {4: "a"}}, "a pinned position from 1 to 3"),
        ({"pinned": {0: "a"}}, "a pinned position"),
        ({"pinned": {1: "a", 2: "a"}}, "different items at pinned positions"),
        ({"pinned": ["a"]}, "pinned as positions and names"),
    ],
)
def test_a_wrong_request_has_its_sentence(asked, sentence):
    with start(None) as ranking, pytest.raises(InputError, match=sentence):
        ranking.ask(**asked)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"positions": 9}, "from 9 to 1,000 items for a list of 9"),
        ({"positions": 0}, "positions as a whole number of at least 1"),
        ({"positions": None}, "how many positions a list has"),
        ({"items": None, "positions": None}, "factors for the new experiment .* of a ranking its items and positions"),
        ({"policy": "uts"}, "a policy that plays lists"),
        ({"policy": "cascade-kl-ucb"}, "a policy that says how likely its lists are"),
        ({"control": {"levels": ["a", "b"]}}, "a list of 3 items of the ranking"),
        ({"control": {"levels": ["a", "b", "z"]}}, "a list of 3 items of the ranking"),
        ({"positions": 1, "stopping": {"decide": "order"}}, "a list of at least 2 positions, or decide='set'"),
        ({"goals": {"order": {}}}, "a ranking without goals"),
        ({"prior": {"counts": [[1]]}}, "a ranking without past counts"),
    ],
)
def test_a_wrong_setting_has_its_sentence(settings, sentence):
    with pytest.raises(InputError, match=sentence):
        start(None, **settings)


def test_an_experiment_takes_no_list(sqlite_db):
    with rankone.Experiment("pair", ["A", "B"], ["x", "y"], db=sqlite_db) as experiment:
        assert "of a ranking" in said(lambda: experiment.ask(candidates=["A"]))
        assert "clicked as True or False" in said(lambda: experiment.tell(experiment.ask(), [1]))
    assert "an experiment" in said(lambda: Ranking("pair", db=sqlite_db))


def test_candidates_pins_and_exclusions_are_obeyed():
    with start(None) as ranking:
        visit(ranking, 100)
        for decision in ranking.ask(50, candidates=["a", "b", "f"], exclude=["a"], pinned={2: "ad"}):
            assert decision.items[1] == "ad"
            assert {*decision.items} == {"ad", "b", "f"}
            assert decision.chances[1] == 1.0
        assert ranking.ask(candidates=["c"]).items == ("c",)
        assert ranking.ask(candidates=["c"], pinned={3: "ad"}).items == ("c", "ad")
        pinned = ranking.ask(pinned={1: "h"})
        assert pinned.items.count("h") == 1
        before = ranking.look(lambda fold: (fold.clicks.copy(), fold.evidence.in_time.now.copy()))
        assert ranking.tell(pinned, [1]).learned
        after = ranking.look(lambda fold: (fold.clicks, fold.evidence.in_time.now))
        assert all((one == other).all() for one, other in zip(before, after, strict=True))
        assert "53 pinned positions shown" not in ranking.report().details
        assert "52 pinned positions shown" in ranking.report().details


def test_a_key_gets_the_same_list_and_no_other_request():
    with start(None) as ranking:
        first = ranking.ask(key="k", exclude=["a"])
        assert ranking.ask(key="k", exclude=["a"]) == first
        with pytest.raises(KeyReused, match="a list with exclude"):
            ranking.ask(key="k")
        assert ranking.ask(visitor="ann").items == ranking.ask(visitor="ann").items


def test_a_window_takes_a_list_in_parts_and_silence_is_what_the_settings_say(sqlite_db):
    clock = Clock()
    with start(sqlite_db, clock, outcomes={"window": 60}) as ranking:
        told, silent, late = ranking.ask(3)
        assert ranking.tell(told, [1], seen=1).status == "held"
        merged = ranking.tell(told, [3], seen=3)
        assert (merged.status, merged.positions, merged.seen, merged.repeated) == ("held", (1, 3), 3, False)
        assert ranking.tell(told, seen=2).repeated
        clock.pass_seconds(61)
        ranking.settle()
        counts = ranking.report().outcomes
        assert (counts["clicked"], counts["expired"], counts["open"]) == (1, 2, 0)
        assert ranking.tell(late, [2]).status == "late"
        with pytest.raises(Contradiction, match="'clicks at 1, 3, 3 seen' again"):
            ranking.tell(told, [2])
        assert "1 click came after their windows" in "\n".join(ranking.report().warnings)
        assert replayed(ranking) == bits(ranking)
        assert silent.items
    with start(None, clock, outcomes={"window": 60, "silence": "void"}) as ranking:
        ranking.ask(3)
        clock.pass_seconds(61)
        ranking.settle()
        assert ranking.report().outcomes["void"] == 3
        assert ranking.report().outcomes["expired"] == 0


def test_what_was_not_seen_is_missing_and_not_refused():
    with start(None, policy="cascade-ts:until=all") as ranking:
        decision = ranking.ask()
        ranking.tell(decision, [], seen=1)
        pulls, taught, state = ranking.look(
            lambda fold: (fold.pulls.sum(), fold.taught[0].sum(), fold.state.pulls.sum())
        )
        assert (pulls, taught, state) == (1, 1, 1)


def test_items_come_and_go_and_the_report_says_what_began_anew(sqlite_db):
    with start(sqlite_db) as ranking:
        visit(ranking, 200)
        assert ranking.add_item("new") == len(ITEMS)
        assert ranking.retire_item("h") == 7
        for _ in range(3):
            assert all("h" not in decision.items for decision in visit(ranking, 30))
        report = ranking.report()
        assert report.ranking.lists == 90
        assert report.ranking.since == "item 'h' retired"
        assert "began again (item 'h' retired)" in report.details
        assert "The verdict since then is a new statement, with its own chance of error." in report.details
        assert set(report.ranking.standing) == {*ITEMS[:-1], "new"}
        for item in "defg":
            ranking.retire_item(item)
        assert "from 3 to 1,000 items" in said(lambda: [ranking.retire_item(item) for item in ("new", "c")])
        assert ranking.ask(candidates=["h", "a"]).items == ("a",)
        assert replayed(ranking) == bits(ranking)
        asked = ranking.look(lambda fold: int(fold.asked.sum()))
    with Ranking("home", db=sqlite_db) as ranking:
        assert ranking.look(lambda fold: int(fold.asked.sum())) == asked
    wanted = [*"abc", "new", "z"]
    with Ranking("home", wanted, positions=3, db=sqlite_db, sync=True) as ranking:
        assert set(ranking.report().ranking.standing) == set(wanted)


def test_a_stopped_ranking_shows_its_list_as_far_as_requests_allow():
    with start(None, control={"levels": ["f", "g", "h"], "share": 0.3}) as ranking:
        visit(ranking, 60)
        assert ranking.report().control == {"1": "f", "2": "g", "3": "h"}
        assert ranking.stop(["c", "b", "a"]) == {"1": "c", "2": "b", "3": "a"}
        assert ranking.ask().items == ("c", "b", "a")
        assert ranking.ask().filler
        assert ranking.ask(exclude=["b"], pinned={1: "ad"}).items == ("ad", "c", "a")
        assert ranking.tell(ranking.ask(), [1]).learned
        assert ranking.report().headline == "Stopped: everyone sees 'c', 'b' and 'a', not proven best."
        assert "stopped on c, b, a" in ranking.changes()[-1].what
        assert "an item of the ranking" not in said(lambda: ranking.stop(["z"]))
        assert "different items" in said(lambda: ranking.stop(["a", "b", "c", "d"]))
        assert "not the control's" in said(lambda: ranking.retire_item("f"))
        ranking.retire_item("b")
        assert ranking.report().stopped is None
        assert len(ranking.stop()) == 3


def test_the_policys_lists_are_compared_with_the_control():
    with start(None, control={"levels": ["f", "g", "h"], "share": 0.4}, explore=0.1) as ranking:
        visit(ranking, 600)
        assert ranking.report().ranking.over_control == "more"
        assert "own lists get more clicks than the control list" in "\n".join(ranking.report().notes)
        assert rankone.winners(ranking.database).candidates == ()


def test_the_best_items_are_proven_and_it_stops_by_itself(sqlite_db):
    stopping = {"auto": True}
    with start(sqlite_db, stopping=stopping, aim="decide", control={"levels": ["f", "g", "h"]}) as ranking:
        visit(ranking, 6_000, read=lambda rng, size: int(rng.integers(1, size + 1)))
        report = ranking.report()
        assert set(report.ranking.present) == {"a", "b", "c"}
        assert report.decided
        assert report.ranking.set_proven
        assert report.ranking.progress == 1.0
        assert report.stopped == "the best items are known, 95% sure"
        assert {name for name, standing in report.ranking.standing.items() if standing == "out"} <= set("defgh")
        assert len(report.headline.split()) <= 25
        assert report.headline.endswith(", proven best. 95% sure.")
        assert ranking.ask().items == report.ranking.present
        assert replayed(ranking) == bits(ranking)
    assert all(finding.ok for finding in examine(sqlite_db))


def test_a_stop_says_whether_its_list_is_proven_good_enough():
    with start(None, items=[*"ah"], positions=1, stopping={"margin": 0.5}, aim="decide") as ranking:
        visit(ranking, 20)
        ranking.stop(["h"])
        assert ranking.report().headline == "Stopped: everyone sees 'h', not proven best."
        report = dataclasses.replace(ranking.report(), good_enough=True, shown={"1": "a"})
        report = dataclasses.replace(report, ranking=dataclasses.replace(report.ranking, present=("a",)))
        assert report.headline == "Stopped: everyone sees 'a', within 50% of the best. 95% sure."


def test_where_all_items_fit_the_order_is_what_is_proven(sqlite_db):
    stopping = {"decide": "order", "auto": True}
    with start(sqlite_db, items=[*"fda"], stopping=stopping, aim="decide") as ranking:
        visit(ranking, 40)
        young = ranking.report()
        assert (young.decided, young.ranking.order_proven, young.confidence < 0.95) == (False, False, True)
        assert young.headline == "All 3 items fit into the list; their order is not proven yet."
        assert young.ranking.progress < 1.0
        assert "Verdict on the order: 0% of its comparisons are proven." in young.notes
        visit(ranking, 4_000, seed=2)
        report = ranking.report()
        assert report.stopped == "the order is known, 95% sure"
        assert report.ranking.present == ranking.ask().items == (*"adf",)
        assert report.headline == "Stopped: everyone sees 'a', 'd' and 'f', proven in this order. 95% sure."
        assert (report.decided, report.ranking.progress) == (True, 1.0)
        ranking.resume()
        assert ranking.report().ranking.progress == 0.0
        assert replayed(ranking) == bits(ranking)
    with start(None, items=[*"abc"]) as ranking:
        visit(ranking, 40)
        report = ranking.report()
        assert (report.decided, report.confidence) == (False, 0.0)
        assert report.headline == "All 3 items fit into the list; their order is not compared."
        assert not any("Verdict on" in note for note in report.notes)


def test_the_present_list_is_what_is_proven_and_not_what_the_policy_prefers():
    def prove(fold):
        usual, evidence = fold.policys_order().tolist(), fold.evidence.in_time
        for at, item in enumerate(usual):  # the other way round
            for better in usual[at + 1 :]:
                evidence.proof[better, item] = evidence.now[better, item] = 20.0
                evidence.now[item, better] = -20.0
        return usual, list_verdict(fold)

    with start(None, items=[*"abc"], stopping={"decide": "order"}) as ranking:
        visit(ranking, 200)
        usual, verdict = ranking.look(prove)
        assert (verdict.order_proven, verdict.decided) == (True, True)
        assert verdict.present == usual[::-1]
        assert ranking.report().headline.startswith("The order of all 3 items is proven: ")


def test_all_comparisons_are_proven_only_where_the_order_is():
    def prove(fold):
        evidence = fold.evidence.in_time
        evidence.proof[:], evidence.now[:] = 0.0, 0.0
        evidence.proof[:3, 3:] = evidence.now[:3, 3:] = 20.0
        half = list_verdict(fold)
        evidence.proof[[0, 1], [1, 2]] = evidence.now[[0, 1], [1, 2]] = 20.0
        return half, list_verdict(fold)

    with start(None, stopping={"decide": "order"}) as ranking:
        visit(ranking, 200)
        half, whole = ranking.look(prove)
        assert (half.set_proven, half.order_proven, half.decided) == (True, False, False)
        assert half.progress == pytest.approx(15 / 17)
        nearly = dataclasses.replace(ranking.report().ranking, progress=0.9999)
        assert list_notes(nearly)[-1].endswith("in which order: 99% of its comparisons are proven.")
        assert half.doubt > 0.05
        assert (whole.order_proven, whole.decided, whole.progress) == (True, True, 1.0)
        assert whole.doubt <= 0.05
        report = ranking.report()
        assert report.headline == "'a', 'b' and 'c' are the best 3 of 8 items, in this order. 95% sure."


@pytest.mark.parametrize("policy", ["cascade-ts", "gibbs-ts", "dcm-ts"])
@pytest.mark.parametrize("visitors", [{}, {"pinned": {2: "ad"}, "exclude": ["b"]}])
def test_a_journal_read_again_gives_the_same_bits(sqlite_db, policy, visitors):
    with start(sqlite_db, policy=policy, control={"levels": ["f", "g", "h"]}) as ranking:
        visit(ranking, 150, read=lambda rng, size: int(rng.integers(0, size + 1)), **visitors)
        open_now = ranking.ask(40, **visitors)
        visit(ranking, 50, seed=2)
        before = bits(ranking)
        assert replayed(ranking) == before
    with Ranking("home", policy=policy, db=sqlite_db, durability="off") as ranking:
        assert bits(ranking) == before
        for decision in open_now:  # drawn from lotteries of long ago
            ranking.tell(decision, [1])
        assert replayed(ranking) == bits(ranking)
        body = bits(ranking)
        seq = ranking.look(lambda fold: fold.seq)
        known = ranking.database.use(lambda storage: from_snapshot(storage, 1, seq, body))
        assert snapshot.save(known) == body


def test_excluded_lists_count_no_more(sqlite_db):
    with start(sqlite_db) as ranking:
        visit(ranking, 100)
        bots = ranking.ask(30)
        for decision in bots:
            ranking.tell(decision, [1, 2, 3], source="bot")
        assert ranking.exclude(source="bot") == 30
        assert ranking.look(lambda fold: fold.learned) == 100
        assert "by source, token or time" in said(lambda: ranking.exclude(levels={"item": "a"}))
        visit(ranking, 20, seed=3)
        assert replayed(ranking) == bits(ranking)


def test_an_export_is_evaluated_as_it_is(sqlite_db, tmp_path):
    with start(sqlite_db, items=ITEMS[:4], positions=2, explore=0.5) as ranking:
        made = visit(ranking, 1_500)
        visit(ranking, 5, pinned={1: "ad"})
        ranking.ask()
        table = decisions_table(ranking.database, "home")
        assert write_decisions(ranking.database, "home", tmp_path / "lists.csv") == 1_506
        first = table.filter(table["list"] == 0)
        assert tuple(first["item"]) == made[0].items
        assert np.allclose(first["chance"], made[0].chances)
        assert set(table.filter(table["pinned"])["item"]) == {"ad"}
        assert table.filter(table["list"] == 1_505)["clicked"].null_count() == 2
    result = rankone.evaluate_lists(tmp_path / "lists.csv", ["a", "b"], of="any")
    true = 1.0 - 0.6 * 0.65
    (row,) = result.table.filter(result.table["estimator"] == "snrips").to_dicts()
    assert row["low"] <= true <= row["high"]


def test_what_was_told_is_packed_whole():
    for told in (Told((), None), Told((1, 40), 40), Told((), 0)):
        assert told_in(told.packed) == told
    merged = together(Told((1,), 3).packed, Told((2,), None).packed)
    assert told_in(merged) == Told((1, 2), 3)
    assert Told((), 5).packed & CLICKED == 0


def test_many_lotteries_do_not_pile_up():
    with start(None) as ranking:
        kept = ranking.ask(3)
        visit(ranking, 300)
        assert ranking.look(lambda fold: len(fold.lotteries.of)) == 2
        for decision in kept:
            ranking.tell(decision, [])
        visit(ranking, 10)
        assert ranking.look(lambda fold: len(fold.lotteries.of)) == 1


def test_lists_of_an_earlier_era_keep_no_lottery_after_a_restart(sqlite_db):
    with start(sqlite_db) as ranking:
        before = ranking.ask(5)
        ranking.add_item("new")
        after = ranking.ask(5)
        seq, body = ranking.look(lambda fold: fold.seq), bits(ranking)
        visit(ranking, 300)
        for decision in [*before, *after]:
            ranking.tell(decision, [1])
        visit(ranking, 100, seed=2)
        assert ranking.look(lambda fold: len(fold.lotteries.of)) == 1
        with ranking.database.reader() as storage:
            number = storage.number("home")
            restored = read_tail(storage, number, from_snapshot(storage, number, seq, body))
        assert snapshot.save(restored) == bits(ranking)


def test_what_is_asked_is_in_the_journal_as_it_was_said(sqlite_db):
    with start(sqlite_db, context={"device": ["phone", "desktop"]}) as ranking:
        ranking.ask(pinned={1: "ad"}, candidates=["a", "b", "c"], context={"device": "phone"})
        rows = ranking.database.use(lambda storage: storage.tail(1, 0, 10))
        assert json.loads(rows[-1][9])["list"] == {"candidates": [0, 1, 2], "pinned": {"1": "ad"}}
        assert decisions_table(ranking.database, "home")["context_device"].to_list() == ["phone"] * 3


def test_a_database_has_rankings_beside_experiments(sqlite_db):
    with Database(sqlite_db) as database:
        start(database)
        rankone.Experiment("pair", ["A", "B"], ["x"], db=database)
        assert [each.best for each in rankone.winners(database).candidates] == []
        assert database.names() == ["home", "pair"]


def test_of_very_many_items_lists_are_shown_and_nothing_is_stated(sqlite_db):
    assert MOST_COMPARED == MOST_ITEMS
    with start(sqlite_db, items=MOST_ITEMS + 1) as ranking:
        visit(ranking, 12)
        report = ranking.report()
        assert not report.decided
        assert f"more than {MOST_ITEMS} items" in "\n".join(report.warnings)
        assert replayed(ranking) == bits(ranking)
