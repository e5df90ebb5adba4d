"""Evidence about levels: what it is, that it is not wrong more often than it says, and what is drawn by it."""

import math
from bisect import bisect
from itertools import accumulate

import numpy as np
import pytest

from rankone.compiling.compiled import compiled
from rankone.evidence.levels import RATIOS, resized, start_evidence, weigh
from rankone.evidence.steering import AIMS, PARTS, Aim, renew, start_steering
from rankone.live.evidence.ratios import ratio_of
from rankone.numerics.seeds import generator
from tests.oracles.evidence import log_martingale, log_silence

ERROR = 0.05


def weighed(evidence, outcomes):
    shown, crosses, clicked = (np.array([outcome[part] for outcome in outcomes]) for part in range(3))
    traffic = start_evidence(tuple(np.diff(evidence.starts).tolist()))
    compiled(weigh, weigh.__module__)(evidence, traffic, shown, clicked, crosses)


def visits(rng, sizes, worths, count, moving):
    """Outcomes on a site whose rate moves, under an allocation that runs after whoever was clicked last."""
    liking = [np.ones(size) for size in sizes]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    outcomes = []
    for visit in range(count):
        mix = [0.1 / len(each) + 0.9 * each / each.sum() for each in liking]
        places = [min(bisect(list(accumulate(each)), rng.random()), len(each) - 1) for each in mix]
        rate = moving(visit / count) * math.prod(worth[place] for worth, place in zip(worths, places, strict=True))
        clicked = rng.random() < rate
        cross = np.concatenate(
            [
                each
                * math.prod(
                    other[place] for at, (other, place) in enumerate(zip(mix, places, strict=True)) if at != factor
                )
                for factor, each in enumerate(mix)
            ]
        )
        outcomes.append((starts[:-1] + places, cross, int(clicked)))
        for each, place in zip(liking, places, strict=True):
            if clicked:
                each *= 0.98
                each[place] += 0.2
    return outcomes


def test_it_is_the_likelihood_ratio_of_its_definition():
    rng = generator(1, "evidence")
    outcomes = visits(rng, (3, 2), ([0.9, 0.5, 0.4], [0.7, 0.6]), 1000, lambda time: 1.0)
    clicks = [each[:2] for each in outcomes if each[2]]
    at = np.flatnonzero([each[2] for each in outcomes])
    spared = 1.05
    evidence = start_evidence((3, 2), margin_ratio=spared)
    weighed(evidence, outcomes)
    grid = sorted({*RATIOS, spared})
    for x, y in ((0, 1), (1, 0), (2, 1), (3, 4), (4, 3)):
        silence = np.array([log_silence(outcomes, x, y, ratio, 5) for ratio in grid])
        assert np.ptp(silence) > 0.1
        last, steps = np.searchsorted(at, np.arange(len(outcomes)), side="right"), np.zeros((len(grid), len(at) + 1))
        steps[:, 1:] = [log_martingale(clicks, x, y, ratio) for ratio in grid]
        assert evidence.logs[x, y] == pytest.approx(steps[:, -1], abs=1e-9)
        assert evidence.silent[x, y] == pytest.approx(silence[:, -1], abs=1e-9)
        path = log_mean(steps[:, last] + silence)
        assert evidence.now[x, y] == pytest.approx(path[-1], abs=1e-9)
        assert evidence.proof[x, y] == pytest.approx(max(0.0, path.max()), abs=1e-9)
        spares = np.concatenate([[0.0], log_martingale(clicks, x, y, 1 / spared)])[last]
        enough = log_mean(np.concatenate([steps[:, last] + silence, np.zeros((1, len(last)))])) - spares
        own = [place for place, (levels, *_) in enumerate(outcomes) if x in levels or y in levels]
        assert evidence.enough[x, y] == pytest.approx(max(0.0, enough[own].max()), abs=1e-9)
    assert not evidence.now[:3, 3:].any()  # levels of two factors are not compared


def log_mean(paths):
    return np.logaddexp.reduce(paths, axis=0) - np.log(len(paths))


def test_silence_counts_only_where_many_click():
    for rate, counts in ((0.1, False), (0.8, True)):
        evidence = start_evidence((2, 2))
        weighed(
            evidence, visits(generator(6, "silence"), (2, 2), ([1.0, 0.7], [1.0, 0.7]), 300, lambda _, rate=rate: rate)
        )
        assert evidence.silent.any() == counts


def test_silence_brings_the_verdict_nearer_where_many_click():
    """At 80% clicks, clicks alone have a fifth of what there is to know of a near tie."""
    gain = []
    for run in range(20):
        evidence = start_evidence((2, 1))
        weighed(evidence, visits(generator(7, "silence", run), (2, 1), ([0.8, 0.7], [1.0]), 1500, lambda time: 1.0))
        alone = log_mean(evidence.logs[0, 1])
        gain.append(evidence.now[0, 1] - alone)
    assert np.mean(gain) > 3.0 * np.std(gain) / math.sqrt(len(gain)) + 2.0


def test_levels_that_are_new_change_nothing_of_the_others():
    evidence = start_evidence((2, 2), margin_ratio=1.1)
    weighed(evidence, visits(generator(2, "evidence"), (2, 2), ([0.9, 0.5], [0.7, 0.6]), 100, lambda time: 1.0))
    wider = resized(evidence, (3, 4))
    old = np.array([0, 1, 3, 4])
    assert np.array_equal(wider.proof[np.ix_(old, old)], evidence.proof)
    assert np.array_equal(wider.logs[np.ix_(old, old)], evidence.logs)
    assert not wider.proof[2].any()
    assert wider.margin_ratio == evidence.margin_ratio


MOVES = {
    "steady": lambda time: 0.5,
    "high": lambda time: 1.3,
    "jumps": lambda time: 1.3 if int(8 * time) % 2 else 0.2,
    "doubled": lambda time: 0.4 if time < 0.25 else 0.8,
    "cycle": lambda time: 0.5 * (1 + 0.6 * math.sin(20 * time)),
    "trend": lambda time: 0.2 + 0.7 * time,
}


@pytest.mark.parametrize("move", MOVES)
def test_equal_levels_are_hardly_ever_called_better(move):
    """However the rate moves, and whatever runs after the clicks: at most 5% of the runs, up to three standard errors."""
    runs, sizes = 120, (2, 3)
    wrong = 0
    bar = math.log(sum(size * (size - 1) for size in sizes) / ERROR)
    for run in range(runs):
        rng, evidence = generator(3, move, run), start_evidence(sizes)
        weighed(evidence, visits(rng, sizes, ([0.8, 0.8], [0.9, 0.9, 0.9]), 400, MOVES[move]))
        wrong += bool((evidence.proof >= bar).any())
    assert wrong / runs <= ERROR + 3 * math.sqrt(ERROR * (1 - ERROR) / runs)


@pytest.mark.parametrize("ratio", [0.8, 0.3, 1.0])
def test_intervals_hold_the_true_ratio(ratio):
    runs, missed, found = 60, 0, []
    for run in range(runs):
        evidence = start_evidence((2, 1))
        weighed(
            evidence,
            visits(generator(4, str(ratio), run), (2, 1), ([0.9 * ratio, 0.9], [0.9]), 800, MOVES["doubled"]),
        )
        interval = ratio_of(evidence, 0, 1, ERROR)
        missed += not interval.low <= ratio <= interval.high
        found.append(interval.estimate)
        assert interval.low <= interval.estimate <= interval.high
    assert missed / runs <= ERROR + 3 * math.sqrt(ERROR * (1 - ERROR) / runs)
    assert np.mean(found) == pytest.approx(ratio, abs=0.04 + 4 * np.std(found) / math.sqrt(runs))


def test_a_worse_level_is_hardly_ever_called_better():
    """The other end of what is denied, with a site that jumps between 14% and 94% clicks."""
    runs, wrong = 120, 0
    for run in range(runs):
        evidence = start_evidence((2, 1))
        weighed(evidence, visits(generator(8, "worse", run), (2, 1), ([0.7, 0.72], [1.0]), 400, MOVES["jumps"]))
        wrong += bool(evidence.proof[0, 1] >= math.log(1 / ERROR))
    assert wrong / runs <= ERROR + 3 * math.sqrt(ERROR * (1 - ERROR) / runs)


def test_what_is_worse_than_the_margin_is_hardly_ever_good_enough():
    runs, margin, wrong = 150, 0.1, 0
    for run in range(runs):
        evidence = start_evidence((2, 1), margin_ratio=1 + margin)
        weighed(evidence, visits(generator(5, "margin", run), (2, 1), ([0.9 / 1.1, 0.9], [0.9]), 600, MOVES["cycle"]))
        wrong += evidence.enough[0, 1] >= math.log(1 / ERROR)
    assert wrong / runs <= ERROR + 3 * math.sqrt(ERROR * (1 - ERROR) / runs)


def planned(evidence, sizes, bar):
    mix, leaders = np.empty(sum(sizes)), np.zeros(len(sizes), np.int64)
    shown = np.arange(sum(sizes), dtype=float)
    _, share, decided = compiled(renew, renew.__module__)(
        evidence, np.arange(sum(sizes)), start_steering(sizes), shown, bar, bar + 1.0, AIMS["decide"], mix, leaders
    )
    assert (share == 0.0) == decided
    mix /= PARTS
    return decided, mix, leaders


def test_exploration_follows_the_evidence():
    evidence = start_evidence((3, 2))
    decided, mix, _ = planned(evidence, (3, 2), 3.0)
    assert not decided
    assert mix[:3].sum() == pytest.approx(1.0)
    assert mix[3:].sum() == pytest.approx(1.0)
    assert (mix > 0).all()
    evidence.now[1, 0] = evidence.now[1, 2] = evidence.proof[1, 0] = 2.0
    evidence.proof[1, 2] = 1.0
    decided, mix, leaders = planned(evidence, (3, 2), 3.0)
    assert not decided
    assert leaders[0] == 1
    assert mix[1] == pytest.approx(AIMS["decide"].lead, abs=2 / PARTS)
    assert mix[2] > mix[0]  # there is less evidence against it
    evidence.proof[1] = 3.5
    decided, mix, _ = planned(evidence, (3, 2), 3.0)
    assert not decided  # the columns are not
    assert mix[:3] == pytest.approx([0.01, 0.98, 0.01], abs=2 / PARTS)  # enough to win, not to be called beaten
    evidence.proof[1] = 4.0
    decided, mix, _ = planned(evidence, (3, 2), 3.0)
    assert not decided
    assert mix[:3].tolist() == [0.0, 1.0, 0.0]
    evidence.proof[4, 3] = 4.0
    decided, mix, leaders = planned(evidence, (3, 2), 3.0)
    assert decided
    assert leaders.tolist() == [1, 4]


def test_with_a_margin_all_factors_have_to_be_decided_the_same_way():
    evidence = start_evidence((2, 2), margin_ratio=1.1)
    evidence.now[0, 1] = evidence.now[2, 3] = evidence.proof[0, 1] = evidence.enough[2, 3] = 3.5
    assert not planned(evidence, (2, 2), 3.0)[0]  # rows have a winner, columns one that is good enough
    evidence.proof[2, 3] = 3.5
    assert planned(evidence, (2, 2), 3.0)[0]  # a winner, though its row is not proven good enough
    evidence.proof[:], evidence.enough[0, 1] = 0.0, 3.5
    assert planned(evidence, (2, 2), 3.0)[0]


def test_a_share_is_halved_whenever_the_decisions_have_doubled_and_a_beaten_level_is_not_explored():
    evidence = start_evidence((3, 2))
    evidence.now[1] = evidence.proof[1, 0] = 4.0
    steering, mix, leaders = start_steering((3, 2), 0.5), np.empty(5), np.zeros(2, np.int64)
    found = []
    for decisions in (499.0, 500.0, 999.0, 1000.0, 4000.0):
        shown = np.array([decisions, 0.0, 0.0, decisions, 0.0])
        aim = Aim(explore=0.5, lead=0.5, patience=100.0)
        found.append(
            compiled(renew, renew.__module__)(evidence, np.arange(5), steering, shown, 3.0, 4.0, aim, mix, leaders)[1]
        )
        assert mix.tolist() == [0.0, PARTS / 2, PARTS / 2, PARTS / 2, PARTS / 2]
    assert found == [0.5, 0.25, 0.25, 0.125, 0.03125]
