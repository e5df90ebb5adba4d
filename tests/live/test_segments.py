"""What is said of visitors: kept in the journal and in exports, counted by segment, the same after a restart."""

import numpy as np
import pytest

from rankone.errors import InputError
from rankone.live import Ask, Experiment
from rankone.live.evidence.segments import OTHERS, UNSAID
from rankone.live.fold import snapshot
from rankone.live.fold.journal_reading import begin, from_snapshot, replay
from rankone.live.operate.doctor import examine
from rankone.live.operate.export import decisions_table
from tests.levels import col_of, row_of

from .helpers import Audience, error_of, known, saved, start

PHONE, DESK = {"device": "phone", "country": "DE"}, {"country": "DE", "device": "desk"}


def visit(experiment, visits, seed=0, said=(PHONE, DESK, None)):
    """Let visitors of several segments come; some decisions stay open."""
    rng = np.random.default_rng(seed)
    for number in range(visits):
        decision = experiment.ask(context=said[number % len(said)])
        if rng.random() < 0.9:
            experiment.tell(decision, bool(rng.random() < 0.3))


def test_segments_are_counted_apart_and_add_up_to_the_whole(sqlite_db):
    with start(sqlite_db, "uts") as experiment:
        visit(experiment, 60)
        segments, asked, pulls, clicks = experiment.look(
            lambda fold: (fold.evidence.segments, fold.asked.copy(), fold.pulls.copy(), fold.clicks.copy())
        )
        assert segments.attributes == ("country", "device")
        assert segments.texts == ['{"country":"DE","device":"phone"}', '{"country":"DE","device":"desk"}']
        whole = sum(segments.counts)
        assert next(each.sum() for each in segments.counts[0]) == 20
        unsaid = np.array([asked.sum(), pulls.sum(), clicks.sum()]) - whole.sum(axis=(1, 2))
        assert unsaid.tolist() == segments.unsaid.tolist()
        assert segments.unsaid[0] == 20
        assert segments.others is None
        assert segments.totals(OTHERS) == (0, 0, 0)
        assert segments.others is None  # who looks leaves no trace


def test_exports_have_a_column_for_each_attribute(sqlite_db):
    with start(sqlite_db, "uts") as experiment:
        experiment.ask()
        assert "context_device" not in decisions_table(experiment.database, "homepage").columns
        experiment.ask(2, context=PHONE)
        experiment.ask(context={"device": "=1+1", "country": True})
        table = decisions_table(experiment.database, "homepage")
        assert table["context_device"].to_list() == [None, "phone", "phone", "=1+1"]
        assert table["context_country"].to_list() == [None, "DE", "DE", "true"]


def test_a_restart_a_replay_and_a_snapshot_know_the_same(db, monkeypatch):
    monkeypatch.setattr("rankone.live.commit.transactions._SNAPSHOT_EVERY", 50)
    monkeypatch.setattr("rankone.live.commit.transactions._BYTES_PER_EVENT", 10**6)
    with start(db, "uts", aim="both") as experiment:
        visit(experiment, 120)
        before, number = saved(experiment), experiment._cached.number
        storage = experiment.database.transactions.storage
        assert known(replay(storage, number)) == before
        (seq, body), *_ = storage.snapshots(number)
        fold, again = from_snapshot(storage, number, seq, body), begin(storage, number)
        assert fold.segments.texts
        assert any(opened.segment >= 0 for opened in fold.open.values())
        from rankone.live.journal.events import read_groups

        events, _ = read_groups(storage.tail(number, 0, 10_000), 0, b"")
        again.apply(events[:seq])
        again.chain = fold.chain
        assert known(fold) == known(again)
    with Experiment("homepage", db=db) as experiment:
        assert saved(experiment) == before


def test_who_came_before_the_first_segment_counts_the_same_after_a_restart(db, monkeypatch):
    """However the journal is cut into pieces."""
    monkeypatch.setattr("rankone.live.commit.transactions._SNAPSHOT_EVERY", 10)
    monkeypatch.setattr("rankone.live.commit.transactions._BYTES_PER_EVENT", 10**6)
    with start(db, "ucb1") as experiment:
        experiment.tell_many([(made, True) for made in experiment.ask(12)])
        waiting = experiment.ask()
        experiment.tell(experiment.ask(context=PHONE), True)
        experiment.tell(waiting, False)
        before = experiment.report()
        assert before.segments.unsaid == (13, 13, 12)
        experiment.tell_many([(made, True) for made in experiment.ask(20, context=DESK)])
        before = experiment.report()
    with Experiment("homepage", db=db) as experiment:
        assert experiment.report() == before
        fold = experiment.look(lambda fold: fold)
        texts, attributes = fold.segments.texts, fold.segments.attributes
        assert (len(texts), attributes) == (2, ("country", "device"))
        body = snapshot.save(fold)
        storage, number = experiment.database.transactions.storage, experiment._cached.number
        assert from_snapshot(storage, number, fold.seq, body).segments.unsaid.tolist() == [13, 13, 12]
    assert all(finding.ok for finding in examine(db))


def test_saying_it_changes_no_decision(sqlite_db):
    with start(sqlite_db, "uts", name="said") as said, start(sqlite_db, "uts", name="unsaid") as unsaid:
        for audience, experiment in ((Audience(), said), (Audience(), unsaid)):
            if experiment is said:
                experiment.ask = lambda ask=experiment.ask: ask(context=PHONE)
            for _ in range(100):
                audience.step(experiment)
        counts = [each.look(lambda fold: fold.asked.tolist()) for each in (said, unsaid)]
        assert counts[0] == counts[1]


def test_excluded_outcomes_and_new_levels_reach_the_segments(sqlite_db):
    with start(sqlite_db, "uts") as experiment:
        decisions = [experiment.ask(context=PHONE) for _ in range(20)]
        for decision in decisions:
            experiment.tell(decision, True, source="robot" if decision.number % 2 else "page")
        assert experiment.exclude(source="robot") == 10
        assert experiment.look(lambda fold: fold.segments.totals(0)) == (20, 10, 10)
        experiment.add_level("row", "new")
        waiting = experiment.ask(context=DESK)
        experiment.tell(waiting, False)
        segments = experiment.look(lambda fold: fold.evidence.segments)
        assert segments.counts[0].shape == (3, 4, 2)
        assert segments.totals(0) == (20, 10, 10)
        assert len(segments.evidence[0].now) == 6
        assert segments.totals(1) == (1, 1, 0)


def test_there_is_room_for_some_segments_and_the_others_are_counted_together(sqlite_db):
    with start(sqlite_db, "uts", n_rows=60, n_cols=60, outcomes={"max_open": 1000}) as experiment:
        experiment.do([Ask(context={"visitor": number}) for number in range(10)])
        experiment.tell(experiment.ask(context={"visitor": 9}), True)
        segments = experiment.look(lambda fold: fold.evidence.segments)
        assert len(segments.texts) == segments.most == 65_536 // 120**2 == 4
        assert segments.totals(OTHERS) == (7, 1, 1)
        # A policy that tells segments apart has them behind all others, in a new era, too.
        assert segments.told_to_policy(np.array([UNSAID, 0, 3, OTHERS]), 4).tolist() == [[0], [1], [4], [5]]
        pulls, clicks = experiment.look(lambda fold: (fold.pulls, fold.clicks))
        each, clicked = segments.parts(pulls, clicks, np.ix_(*experiment.look(lambda fold: fold.live)))
        assert each.sum(axis=(1, 2)).tolist() == clicked.sum(axis=(1, 2)).tolist() == [0, 0, 0, 0, 0, 1]
        assert segments.number('{"visitor":"9"}') == OTHERS
        assert segments.number(None) == UNSAID
        assert (
            decisions_table(experiment.database, "homepage")["context_visitor"].to_list()[-1] == "9"
        )  # nothing is lost


@pytest.mark.parametrize(
    ("context", "sentence"),
    [
        ("phone", "context as a dictionary of attributes and their levels"),
        ({}, "context of 1 to 16 attributes, but got 0"),
        ({str(number): "x" for number in range(17)}, "context of 1 to 16 attributes, but got 17"),
        ({"age": float("nan")}, "the level of 'age' as text, True, False or a number, but got nan. Leave it out"),
        ({"age": None}, "got nothing. Leave it out where it is not known"),
        ({"age": 33.5}, "got 33.5. Declare it as a number, context={'age': (0, 100)}, or say"),
        ({"where": {"country": "DE"}}, "got several levels in one. Give each its own attribute"),
        ({"where": ["DE", "AT"]}, "got several levels in one"),
        ({"agent": "x" * 65}, "the level of 'agent' as printable text of 1 to 64 characters, but got 65 characters"),
        ({"agent": "\ud800"}, r"printable text of 1 to 64 characters, but got '\ud800'. Give"),  # itself printable
        ({"agent": ""}, "printable text of 1 to 64 characters, but got ''. Give a short name"),
        ({"\ud800": None}, "the level of an attribute as text, True, False or a number, but got nothing"),
        ({3: "x"}, "attributes with names, but got 3"),
        (
            {"device": "phone", "hour": 3},
            "context with country, device, as this experiment has them, but got device, hour",
        ),
        ({"device": "phone", "country": "DE", "hour": 3}, "Leave out hour"),
        ({"Device": "phone", "country": "DE"}, "Did you mean device?"),
    ],
)
def test_what_is_no_context_is_refused_in_a_sentence(context, sentence, sqlite_db):
    with start(sqlite_db, "uts") as experiment:
        experiment.ask(context=PHONE)
        error = error_of(experiment.ask, context=context)
        assert isinstance(error, InputError)
        assert sentence in str(error)
        assert experiment.look(lambda fold: fold.decisions) == 1
        answers = experiment.do([Ask(context=context), Ask(context=DESK)])  # nothing to those who wait together with it
        assert isinstance(answers[0], InputError)
        assert len(answers[1]) == 1


def test_attributes_are_settled_within_one_commit_and_a_visitor_counts_more(sqlite_db):
    with start(sqlite_db, "uts") as experiment:
        first, second, third = experiment.do(
            [
                Ask(context={"device": "phone"}, visitor="anna"),
                Ask(context={"os": "x"}),
                Ask(context={"device": "desk"}),
            ]
        )
        assert isinstance(second, InputError)
        assert "with device" in str(second)
        assert len(third) == 1
        again = experiment.ask(visitor="anna", context={"device": "desk"})  # the visitor travels, the decision stays
        assert again.number == first[0].number


def serve(experiment, visits, seed=0):
    """Visitors of two segments who like different rows; half of the outcomes come late, some never."""
    rng, waiting = np.random.default_rng(seed), []
    for number in range(visits):
        said = (PHONE, DESK, None)[number % 3]
        waiting.append((experiment.ask(context=said), said))
        if len(waiting) > 5:
            made, whose = waiting.pop(int(rng.random() * len(waiting)))
            liked = row_of(made) == (2 if whose is DESK else 0)
            experiment.tell(made, bool(rng.random() < (0.8 if liked else 0.2) * (0.9 if col_of(made) else 0.6)))


def test_a_policy_may_tell_segments_apart_and_does_so_after_a_restart_bit_for_bit(db, monkeypatch):
    monkeypatch.setattr("rankone.live.commit.transactions._SNAPSHOT_EVERY", 150)
    monkeypatch.setattr("rankone.live.commit.transactions._BYTES_PER_EVENT", 10**6)
    with start(db, "segmented-uts") as experiment:
        assert experiment.look(lambda fold: fold.settings.policy) == "segmented-uts:coin=true"
        assert experiment.look(lambda fold: fold.settings.aim) == "earn"
        serve(experiment, 700, seed=2)
        before, number = saved(experiment), experiment._cached.number
        storage = experiment.database.transactions.storage
        assert known(replay(storage, number)) == before
        liked = experiment.look(lambda fold: [counts[0].sum(axis=1).argmax() for counts in fold.segments.counts])
        assert liked == [0, 2]
        apart = experiment.look(lambda fold: fold.state.grouping[0, 1:3].tolist())
        assert apart[0] != apart[1]
        assert experiment.report().segments.segments[1].best["row"] == "row 3"
    with Experiment("homepage", db=db, policy="segmented-uts") as experiment:
        assert saved(experiment) == before
        asked = experiment.look(lambda fold: [counts[1].copy() for counts in fold.segments.counts])
        experiment.add_level("row", "new")  # the policy starts afresh, on what it knows of each segment
        own = experiment.look(lambda fold: fold.state.pulls[1:3].reshape(2, 4, 2)[:, :3].copy())
        assert (own == np.stack(asked)).all()
        serve(experiment, 60, seed=1)
        after = saved(experiment)
    with Experiment("homepage", db=db) as experiment:
        assert saved(experiment) == after


def test_a_policy_for_segments_has_no_one_winner_to_stop_on(sqlite_db):
    assert "to stop automatically, or a policy" in str(
        error_of(start, sqlite_db, "segmented-uts", stopping={"auto": True})
    )
    insured = error_of(start, sqlite_db, "segmented-uts", watch={"interaction": "test-all"})
    assert "interaction='test-all', or a policy that tells visitors apart, but got both" in str(insured)
