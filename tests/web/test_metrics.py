"""Figures for Prometheus: their names are what people's dashboards and alerts are made of, so they stay."""

from prometheus_client.parser import text_string_to_metric_families

from rankone.errors import Contradiction, UnknownDecision
from rankone.serving.messages import Outcome
from rankone.web.server.metrics import Figures, Meters

HEADS = """\
# HELP rankone_decisions_total decisions given out
# TYPE rankone_decisions_total counter
# HELP rankone_fillers_total decisions the policy does not learn from
# TYPE rankone_fillers_total counter
# HELP rankone_journal_events_total events in the journal
# TYPE rankone_journal_events_total counter
# HELP rankone_stage stage of an elimination policy, from 0
# TYPE rankone_stage gauge
# HELP rankone_rows_left rows an elimination policy still has
# TYPE rankone_rows_left gauge
# HELP rankone_cols_left columns an elimination policy still has
# TYPE rankone_cols_left gauge
# HELP rankone_doubt probability at most that the leading pair is not the best
# TYPE rankone_doubt gauge
# HELP rankone_decided 1 if there is a verdict at the experiment's error rate
# TYPE rankone_decided gauge
# HELP rankone_exploring share of decisions that explore now
# TYPE rankone_exploring gauge
# HELP rankone_sample_ratio_mismatches rows and columns of which fewer outcomes came back than they were chosen
# TYPE rankone_sample_ratio_mismatches gauge
# HELP rankone_outcomes_total outcomes by kind
# TYPE rankone_outcomes_total counter
# HELP rankone_open_decisions decisions that wait for an outcome
# TYPE rankone_open_decisions gauge
# HELP rankone_held_decisions outcomes that wait for a window's end
# TYPE rankone_held_decisions gauge
# HELP rankone_damaged 1 if the journal cannot be read
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
    outcomes = {"clicked": 3, "not_clicked": 1, "expired": 0, "held": 4, "late": 0, "void": 0, "open": 2}
    found = {SHOP: {"decisions": 1_234_567_890, "fillers": 1, "events": 30, "outcomes": outcomes, "stage": 2}}
    return Figures(meters, found, {"torn"}, [SHOP, "torn"]).text().decode()


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


def test_histograms_add_up():
    found, ask = samples(), ("operation", "ask")
    up_to = {
        bound: found["rankone_http_request_seconds_bucket", ("le", bound), ask] for bound in ("0.001", "0.005", "0.1")
    }
    assert up_to == {"0.001": 1, "0.005": 2, "0.1": 3}
    assert found["rankone_http_request_seconds_bucket", ("le", "+Inf"), ask] == 4
    assert (found["rankone_http_request_seconds_count", ask], found["rankone_commit_requests_sum",]) == (4, 7)
    assert found["rankone_commit_requests_bucket", ("le", "10")] == 1
