"""Plans of rankings, against rankings that are played otherwise, and live ones; wrong wishes are answered in words."""

from __future__ import annotations

import dataclasses
import json
import math
import re

import numpy as np
import pytest
from benchmarks import bench_lists_live
from typer.testing import CliRunner

import rankone
from rankone.cli import build_app
from rankone.errors import InputError
from rankone.evidence.list_lottery import LIST_EXPLORE, list_shares
from rankone.evidence.lists import MOST_ITEMS
from rankone.lists import PBM, Cascade
from rankone.live.lists import MAX_POSITIONS
from rankone.live.settings import DEFAULT_LIST_POLICY
from rankone.live.verdict.list_verdict import list_verdict
from rankone.numerics.seeds import generator
from rankone.problems.lists.pbm import examined
from rankone.simulation.plans import plan_lists as module
from rankone.simulation.plans.plan import Span

WISHES = {"items": 5, "positions": 2, "rate": 0.2, "lift": 1.5}


def world(model, items, positions, rate, lift):
    """The same visitors, the best items first."""
    attraction = [rate * (1.0 + lift)] * positions + [rate] * (items - positions)
    return Cascade(attraction, positions) if model == "cascade" else PBM(attraction, examined(positions))


def agree(planned, lists):
    """Whether the median is that of lists that were played, within three standard errors and 5% for rounding."""
    noise = np.std(lists) * math.sqrt(1.57 * 2 / len(lists))  # of the difference of two medians
    return abs(np.median(lists) - planned) < 3.0 * noise + 0.05 * planned


@pytest.mark.parametrize(
    ("model", "aim", "size"),
    [
        ("pbm", "decide", (6, 2, 0.06, 1.0)),
        ("cascade", "decide", (6, 3, 0.06, 1.0)),
        ("pbm", "both", (5, 2, 0.1, 1.5)),
    ],
)
def test_a_plan_that_was_rehearsed_elsewhere_is_right_where_it_is_meant(model, aim, size):
    """Rare clicks are rehearsed as frequent ones; here a benchmark plays them as they are, looked at otherwise."""
    shares = list_shares(aim, LIST_EXPLORE[aim], 0.0, proven=False, lists=0, n_items=size[0])
    lists = [
        bench_lists_live.run(world(model, *size), "steady", shares, 80_000, seed, "gibbs-ts", True)[0]
        for seed in range(24)
    ]
    assert min(lists) > 0
    found = rankone.plan_lists(*size, model=model, aim=aim, seed=100)
    assert agree(found.spans[0].median, lists)
    assert found.spans[0].late > found.spans[0].median


def test_a_plan_is_that_of_live_rankings():
    """They ask and tell, and are looked at every 20 lists."""
    rng, lists, lost = generator(1, "live rankings"), [], []
    here = world("cascade", **WISHES)
    for seed in range(10):
        ranking = rankone.Ranking("home", [*"abcde"], positions=2, db=None, aim="decide", seed=seed)
        lost.append(0.0)
        for shown in range(1, 20_000):
            decision = ranking.ask()
            items = ["abcde".index(name) for name in decision.items]
            lost[-1] += here.best_value - here.value(items)
            first = next((at for at, item in enumerate(items, 1) if rng.random() < here.attraction[item]), None)
            ranking.tell(decision, [first] if first else [])
            if shown % 20 == 0 and ranking.look(list_verdict).decided:
                break
        lists.append(shown)
        ranking.close()
    span = rankone.plan_lists(**WISHES, model="cascade", aim="decide").spans[0]
    assert agree(span.median, lists)
    assert abs(np.mean(lost) - span.lost) < 3.0 * np.std(lost) * math.sqrt(2 / 10) + 0.05 * span.lost


def test_small_lifts_take_longer_and_a_margin_helps():
    sure, hard, close = (
        rankone.plan_lists(4, 2, 0.1, lift, margin=margin, aim="decide").spans[0].median
        for lift, margin in ((1.5, 0.0), (0.4, 0.0), (0.4, 0.2))
    )
    assert 5.0 * sure < hard
    assert close < 0.7 * hard
    assert rankone.plan_lists(5, 2, 0.1, 0.005, aim="decide").headline.endswith("best of 5 items at all.")


def test_a_plan_shows_itself():
    found = rankone.plan_lists(**WISHES, visitors_a_day=100, aim="both")
    assert re.fullmatch(
        r"Aim 'both': about [\d,]+ visitors \(.*\) prove the 2 best of 5 items; nine in ten by .*\.", found.headline
    )
    assert found.assumes == (
        "Assumes: 2 of 5 items clicked 50% of the times they are looked at, all others 20%; "
        "position 2 is looked at 96% as often as the top, whatever is listed above."
    )
    assert "stop at their first click" in dataclasses.replace(found, model="cascade").assumes
    assert list(found.to_pandas()["aim"]) == ["both"]
    assert found.to_dict()["positions"] == 2
    assert "with the policy gibbs-ts" in found.details
    assert "equal split" not in f"{found}{found.details}"
    assert found.chart().altair.to_dict()["hconcat"]


def test_headlines_are_short():
    span, far = Span("decide", 1e6, 1.2e6, 500.0, 2e6), Span("decide", None, None, None, 2e6)
    wished = {"rate": 0.03, "lift": 0.1, "error": 0.05, "bound": 0.0, "advice": (), "factors": {"item": 200}}
    for spans in ((span,), (far,)):
        for margin in (0.0, 0.05):
            for visitors_a_day in (None, 5_000.0, 1e9):
                more = {"spans": spans, "margin": margin, "visitors_a_day": visitors_a_day, "model": "pbm"}
                found = module.ListPlan(**wished, **more, positions=40)
                assert len(found.headline.split()) <= 25, found.headline


def test_what_is_planned_is_what_runs():
    assert (module._POLICY, module._MOST_POSITIONS) == (DEFAULT_LIST_POLICY, MAX_POSITIONS)


def test_progress_reaches_the_end():
    calls = []
    rankone.plan_lists(**WISHES, aim="decide", progress=lambda done, total: calls.append((done, total)))
    assert calls[0][0] == 0
    assert calls[-1] == (calls[0][1],) * 2


def test_the_command():
    words = ["plan", "--items", "5", "--positions", "2", "--rate", "0.2", "--lift", "1.5", "--aim", "decide"]
    done = CliRunner().invoke(build_app(), [*words, "--model", "cascade", "--json"], catch_exceptions=False)
    planned = rankone.plan_lists(**WISHES, model="cascade", aim="decide")
    assert json.loads(done.stdout) == json.loads(json.dumps(planned.to_dict()))
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--items", "5"], "positions as a whole number of at least 2 and at most 4"),
        (["--positions", "5"], "items as a whole number of at least 3"),
        (["--items", "5", "--positions", "2", "--rows", "2"], "--items and --positions of a ranking alone"),
    ],
)
def test_the_command_names_its_options(words, said):
    error = CliRunner().invoke(build_app(), ["plan", *words, "--rate", "0.1", "--lift", "0.5"]).exception
    assert isinstance(error, InputError)
    assert error.expected.startswith(said)


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"items": MOST_ITEMS + 1}, "items as a whole number of at least 3 and at most 200"),
        ({"positions": 5}, "positions as a whole number of at least 2 and at most 4"),
        ({"positions": 1}, "positions as a whole number of at least 2"),
        ({"items": 100, "positions": 41}, "positions as a whole number of at least 2 and at most 40"),
        ({"model": "dbn"}, "model as one of pbm, cascade"),
        ({"rate": 0.6}, "the best level's click rate, of at most 1"),
        ({"aim": "win"}, "aim as one of earn, both, decide"),
        ({"margin": 2}, "margin from 0 to 1"),
    ],
)
def test_bad_wishes(wish, said):
    with pytest.raises(InputError, match=re.escape(said)):
        rankone.plan_lists(**WISHES | wish)
