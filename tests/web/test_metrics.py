"""Figures for Prometheus: their names are what people's dashboards and alerts are made of, so they stay."""

import time

from prometheus_client.parser import text_string_to_metric_families

from rankone.errors import Contradiction, UnknownDecision
from rankone.live import Database, Experiment
from rankone.live.messages import Outcome
from rankone.numerics.seeds import generator
from rankone.web.server import service
from rankone.web.server.metrics import Figures, Meters, figures
from rankone.web.server.routes import routes_service
from tests.levels import row_of
from tests.live.visits import live, visit

from .helpers import Api, running

HEADS = """\
# HELP rankone_decisions_total decisions given out
# TYPE rankone_decisions_total counter
# HELP rankone_fillers_total decisions the policy does not learn from
# TYPE rankone_fillers_total counter
# HELP rankone_journal_events_total events in the journal
# TYPE rankone_journal_events_total counter
# HELP rankone_stage stage of an elimination policy, from 0
# TYPE rankone_stage gauge
# HELP rankone_doubt upper bound of the probability that the leader is not the best
# TYPE rankone_doubt gauge
# HELP rankone_decided 1 if there is a verdict at the experiment's error rate
# TYPE rankone_decided gauge
# HELP rankone_exploring share of decisions that explore now
# TYPE rankone_exploring gauge
# HELP rankone_sample_ratio_mismatches levels with too few outcomes for what was chosen, or too many late clicks
# TYPE rankone_sample_ratio_mismatches gauge
# HELP rankone_outcomes_total outcomes by kind
# TYPE rankone_outcomes_total counter
# HELP rankone_levels_left levels an elimination policy still has
# TYPE rankone_levels_left gauge
# HELP rankone_open_decisions decisions that wait for an outcome
# TYPE rankone_open_decisions gauge
# HELP rankone_goal_visitors visitors who brought something, by goal
# TYPE rankone_goal_visitors gauge
# HELP rankone_goal_total what they brought, each at most the cap
# TYPE rankone_goal_total gauge
# HELP rankone_goal_unmatched_total outcomes of visitors without a decision
# TYPE rankone_goal_unmatched_total counter
# HELP rankone_goal_late_total outcomes after the goal's window
# TYPE rankone_goal_late_total counter
# HELP rankone_guardrail_violated 1 if what leads is proven to be worse than allowed
# TYPE rankone_guardrail_violated gauge
# HELP rankone_guardrail_changes_total times that a guardrail was violated, cleared or open again
# TYPE rankone_guardrail_changes_total counter
# HELP rankone_held_decisions outcomes that wait for a window's end
# TYPE rankone_held_decisions gauge
# HELP rankone_damaged 1 if the experiment cannot be read
# TYPE rankone_damaged gauge
# HELP rankone_http_requests_total requests answered by this server
# TYPE rankone_http_requests_total counter
# HELP rankone_http_request_seconds seconds from request to answer
# TYPE rankone_http_request_seconds histogram
# HELP rankone_commit_seconds seconds of one group of requests, commit included
# TYPE rankone_commit_seconds histogram
# HELP rankone_commit_requests requests committed together
# TYPE rankone_commit_requests histogram
# HELP rankone_outcomes_refused_total outcomes told to this server that changed nothing
# TYPE rankone_outcomes_refused_total counter
# HELP rankone_build_info 1; what runs here
# TYPE rankone_build_info gauge
"""
SHOP = 'a "shop" \\ ü'


def text():
    meters = Meters()
    for seconds in (0.0005, 0.004, 20.0):
        meters.answered("ask", 200, seconds)
    meters.answered("ask", 429, 0.1)
    meters.committed(7, 0.02)
    repeated = Outcome("1", True, "learned", True, repeated=True)
    meters.told(SHOP, [Contradiction("a", "b", "c"), UnknownDecision("a", "b", "c"), repeated])
    meters.told("hidden", [repeated])
    outcomes = {"clicked": 3, "not_clicked": 1, "expired": 0, "late": 0, "void": 0}
    found = {SHOP: {"decisions": 1_234_567_890, "fillers": 1, "open_decisions": 2, "outcomes": outcomes, "stage": 2}}
    return Figures(meters, found, {"torn"}).text().decode()


def samples():
    families = text_string_to_metric_families(text())
    return {(s.name, *sorted(s.labels.items())): s.value for family in families for s in family.samples}


def test_names_kinds_and_explanations_stay():
    lines = [line for line in text().splitlines(keepends=True) if line.startswith("#") and " process_" not in line]
    assert "".join(lines) == HEADS  # those of the process are the client library's


def test_prometheus_reads_what_was_counted():
    found, shop = samples(), ("experiment", SHOP)
    assert found["rankone_decisions_total", shop] == 1_234_567_890
    assert found["rankone_outcomes_total", shop, ("kind", "clicked")] == 3
    assert found["rankone_open_decisions", shop] == 2
    assert found["rankone_stage", shop] == 2
    assert ("rankone_rows_left", shop) not in found
    assert (found["rankone_damaged", shop], found["rankone_damaged", ("experiment", "torn")]) == (0, 1)
    assert found["rankone_http_requests_total", ("operation", "ask"), ("status", "200")] == 3
    for why in ("conflict", "unknown", "duplicate"):
        assert found["rankone_outcomes_refused_total", shop, ("why", why)] == 1
    assert not any(("experiment", "hidden") in key for key in found), "not for those who may not see it"


def test_where_outcomes_do_not_come_back_alike_there_is_no_verdict():
    rng = generator(4, "broken pages")
    with live(["A", "B"], ["x"]) as experiment:
        visit(experiment, [0.8, 0.8], [0.9], 1500, lost=lambda made: row_of(made) == 1 and rng.random() < 0.5)
        found, report = experiment.look(figures), experiment.report()
    assert (found["doubt"], found["decided"]) == (1.0, 0)
    assert found["sample_ratio_mismatches"] == len(report.shortfalls) > 0
    assert report.decided  # by the outcomes there are


def test_histograms_add_up():
    found, ask = samples(), ("operation", "ask")
    up_to = {
        bound: found["rankone_http_request_seconds_bucket", ("le", bound), ask] for bound in ("0.001", "0.005", "0.1")
    }
    assert up_to == {"0.001": 1, "0.005": 2, "0.1": 3}
    assert found["rankone_http_request_seconds_bucket", ("le", "+Inf"), ask] == 4
    assert (found["rankone_http_request_seconds_count", ask], found["rankone_commit_requests_sum",]) == (4, 7)
    assert found["rankone_commit_requests_bucket", ("le", "10.0")] == 1


def test_of_experiments_that_rest_nothing_is_looked_at(tmp_path, monkeypatch):
    """A thousand that nobody uses took a third of a core, and seconds for each look of Prometheus."""
    made, settled, ticks = [], [], []
    figures, settle, last_events = routes_service.figures, Experiment.settle, service.Service.last_events
    monkeypatch.setattr(routes_service, "figures", lambda fold: made.append(fold.settings.name) or figures(fold))
    monkeypatch.setattr(Experiment, "settle", lambda self: settled.append(self) or settle(self))
    monkeypatch.setattr(service, "_TICK", 0.05)

    async def ticked(self):
        ticks.append(1)
        return await last_events(self)

    monkeypatch.setattr(service.Service, "last_events", ticked)
    db, names = tmp_path / "rankone.db", [f"page {number}" for number in range(5)]
    with Database(db, durability="off") as database:
        for name in names:
            Experiment(name, 2, 2, "ucb1", db=database, outcomes={"window": 0.3 if name == "page 1" else None}).ask()
    with running(db) as url:
        api = Api(url)
        for _ in range(3):
            assert api("GET", "/metrics").body.decode().count("rankone_decisions_total{") == 5
        changed = len(made)
        assert 5 <= changed <= 7  # the one whose window ends may be seen before, and after
        while 'rankone_open_decisions{experiment="page 1"} 0.0' not in api("GET", "/metrics").body.decode():
            time.sleep(0.02)  # a window ends although nobody asks
        made.clear()
        api.on("page 3", "POST", "/ask")
        for _ in range(2):
            shown = api("GET", "/metrics").body.decode()
        assert made == ["page 3"]
        assert 'rankone_decisions_total{experiment="page 3"} 2.0' in shown
        settled.clear()
        before = len(ticks)
        while len(ticks) < before + 10:
            time.sleep(0.02)
        assert len(settled) <= 2  # what has just been asked for


def test_goals_have_figures():
    goals = {"click": {}, "order": {"kind": "amount", "cap": 10}, "refund": {"better": "less", "worse_by": 0.1}}
    with Experiment("shop", 2, 2, db=None, seed=1, goals=goals) as shop:
        one, _ = shop.ask(2)
        shop.tell(one, goal="order", value=7.0)
        shop.tell(one, goal="order", value=7.0)
        shop.track("nobody", "order", 3.0)
        found = shop.look(figures)
    assert found["goal_visitors"] == {"order": 1.0, "refund": 0.0}
    assert found["goal_total"] == {"order": 10.0, "refund": 0.0}
    assert found["goal_unmatched"] == {"order": 1.0, "refund": 0.0}
    assert found["guardrail_violated"] == {"refund": 0}
