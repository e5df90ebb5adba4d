"""What is proven about segments: seldom wrong however allocation and click rates move, and found where it is there."""

import dataclasses
import math

import numpy as np
import pytest

from rankone.evidence.levels import start_evidence
from rankone.evidence.steering import comparisons
from rankone.live import Experiment
from rankone.live.evidence.ratios import likelihood, peak
from rankone.live.report.report import Alarm, Report
from rankone.live.verdict.segment_verdict import part_of, segment_verdict, shrunken_ratios
from tests.levels import col_of, row_of
from tests.oracles.segments import plain_verdict

from .segment_worlds import played, wrong

EQUAL = [([0.9] * 4, [0.9] * 4)] * 8
SAME = [([0.9, 0.6, 0.5, 0.4], [0.9, 0.7, 0.6, 0.5])] * 8
DIFFER = SAME[:2] + [([0.5, 0.9, 0.6, 0.4], [0.9, 0.7, 0.6, 0.5])] * 2
ERROR = 0.05


def shrunken(evidences, level, leader):
    """Ratios drawn towards the one that is most likely for all segments together."""
    points, _ = likelihood(evidences[0], level, leader)
    common = peak(points, sum(likelihood(evidence, level, leader)[1] for evidence in evidences))
    return shrunken_ratios(evidences, level, leader, common)


def test_nothing_is_proven_where_nothing_is():
    """Levels are equal in 8 segments whose click rates move: seldom is anything said, and never that it depends.

    That the test can fail: without sharing the error out, something false is said far more often than the error.
    """
    runs, false, careless = 60, 0, 0
    for seed in range(runs):
        segments, looks = played(EQUAL, seed, batches=12)
        false += any(wrong(EQUAL, look.statements) for look in looks)
        careless += any(evidence.proof.max() >= math.log(1 / ERROR) for evidence in segments.evidence)
    assert false <= ERROR * runs + 3 * math.sqrt(ERROR * (1 - ERROR) * runs)
    assert careless > ERROR * runs + 3 * math.sqrt(ERROR * (1 - ERROR) * runs)


def test_segments_that_only_rescale_never_seem_to_differ():
    for seed in range(12):
        _, looks = played(SAME, seed)
        assert not any(any(look.depends) for look in looks)
        assert not wrong(SAME, looks[-1].statements)


def test_what_depends_is_found_and_what_does_not_is_not():
    found = 0
    for seed in range(3):
        segments, looks = played(DIFFER, seed, batches=60)
        assert not any(look.depends[1] for look in looks)
        assert not wrong(DIFFER, looks[-1].statements)
        found += looks[-1].depends[0]
        assert {best[0] for best in looks[-1].best[:2]} <= {0, None}
        assert {best[0] for best in looks[-1].best[2:]} <= {1, None}
    assert found >= 2
    ratios = shrunken(segments.evidence, level=1, leader=0)
    assert (ratios[:2] < 0.9).all()  # 0.67 in truth
    assert (ratios[2:] > 1.3).all()  # 1.8 in truth
    columns = shrunken(segments.evidence, level=5, leader=4)
    assert np.ptp(columns) < 0.2  # alike in truth, 0.78


def by_clicks(first, second):
    """The evidence of so many clicks on two levels that are shown equally often."""
    found = start_evidence((2,))
    for x, y, own, other in ((0, 1, first, second), (1, 0, second, first)):
        found.logs[x, y] = own * np.log(2 * found.ratios / (1 + found.ratios)) + other * np.log(2 / (1 + found.ratios))
    return found


def test_a_segment_without_a_click_on_a_level_is_not_given_the_others_ratio():
    """It has no ratio of its own, but no doubt that it is small; with few clicks it has the common one."""
    one, other = shrunken([by_clicks(30, 60), by_clicks(40, 0)], level=1, leader=0)
    assert one > 1.5
    assert other < 0.2
    for few in (by_clicks(1, 1), by_clicks(0, 0)):
        assert shrunken([by_clicks(30, 60), few], 1, 0).tolist() == pytest.approx([2, 2], rel=0.05)
    assert shrunken([by_clicks(30, 60), by_clicks(28, 61)], 1, 0).tolist() == pytest.approx([2.1, 2.1], rel=0.05)


def test_the_error_is_shared_out_once():
    assert sum(part_of(number) for number in range(64)) == pytest.approx(1.0)
    assert part_of(64) == 0.0


def test_the_plain_twin_says_the_same():
    segments, looks = played(DIFFER, 1, batches=40)
    living = [np.arange(4), np.arange(4, 8)]
    bars = [math.log(comparisons((4, 4)) / (ERROR * part_of(number))) for number in range(4)]
    statements, depends, best = plain_verdict([evidence.proof for evidence in segments.evidence], [4, 4], bars)
    found = segment_verdict(segments, living, ERROR)
    assert {tuple(statement) for statement in found.statements} == statements
    assert found.depends == depends
    assert found.best == best
    assert looks[-1] == found


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report on phones and desks that differ in the headline, with a few visitors of whom nothing was said."""
    rng = np.random.default_rng(5)
    with Experiment("home", ["A", "B"], ["1", "2"], aim="decide", seed=1, db=None) as experiment:
        for turn in range(480):
            device, best = (("phone", "A"), ("desk", "B"))[turn % 2]
            asked = experiment.ask(10, context={"device": device})
            rates = [(0.8 if made["row"] == best else 0.3) * (0.9 if col_of(made) == 0 else 0.6) for made in asked]
            clicks = [bool(rng.random() < rate) for rate in rates]
            experiment.tell_many(list(zip(asked, clicks, strict=True)))
        experiment.ask(3)
        yield experiment.report()


def test_the_report_says_that_it_depends(report):
    found = report.segments
    assert found.answer == "depends"
    assert found.depends == ("row",)
    assert [(segment.name, segment.proven["row"], segment.decisions) for segment in found.segments] == [
        ("phone", "A", 2400),
        ("desk", "B", 2400),
    ]
    assert found.segments[0].best == {"row": "A", "col": "1"}
    assert found.unsaid == (3, 0, 0)
    sentence = report.segments_sentence
    assert sentence.startswith("The best row depends on the segment.")
    assert "Segments: all statements hold together with 95% confidence, if within each segment" in report.details
    assert "the click rate of each segment may change" in report.details
    assert "3 visitors came without a segment." in sentence
    assert sentence in str(report)
    assert "looks best (* proven)" in str(report)


def test_the_report_goes_over_the_wire(report):
    again = Report.of_dict(report.to_dict())
    assert again == report
    assert report.to_dict()["segments"]["sentence"] == report.segments_sentence


def test_a_leader_that_loses_in_some_segment_is_not_said_to_hold_for_it(report):
    """Nothing may be proven to depend on the segment, and still what leads overall is proven wrong for some visitors."""
    leader = report.best["row"]
    beaten = [segment for segment in report.segments.segments if any(leader == worse for _, _, worse in segment.beats)]
    segments = dataclasses.replace(report.segments, answer="open", depends=(), segments=tuple(beaten))
    found = dataclasses.replace(report, segments=segments)
    other, device = "AB".replace(leader, ""), beaten[0].name
    said = "The overall leader is not best in every segment. "
    assert found.segments_sentence.startswith(f"{said}In {device}, '{other}' beats the overall leader '{leader}'.")
    assert "Some segments prefer another level; this result is for all visitors together." in found.warnings
    alike = dataclasses.replace(found, segments=dataclasses.replace(segments, segments=()))
    assert not alike.warnings
    assert "Segments: " not in alike.details


def test_a_level_marked_as_proven_has_its_condition_and_its_doubt(report):
    """A star says something proven, too, where nothing is known of whether the best depends on the segment."""
    leader = report.best["row"]
    starred = tuple(segment for segment in report.segments.segments if segment.proven.get("row") == leader)
    segments = dataclasses.replace(report.segments, answer="open", depends=(), segments=starred)
    found = dataclasses.replace(report, segments=segments)
    assert "Segments: all statements hold together with 95% confidence" in found.details
    assert "may be wrong" not in found.segments_sentence
    rang = Alarm("change", "tell", 0.0, 1, 1, "row", "A", "B", None, 2.0, 0.5, {}, False)
    told = dataclasses.replace(found, alarms=(rang,))
    assert "An alarm was raised, so this may be wrong." in told.segments_sentence
    anew = dataclasses.replace(found, alarms=(dataclasses.replace(rang, did="restart"),))
    assert "may be wrong" not in anew.segments_sentence


def test_words_for_what_is_open_the_same_or_not_known():
    with Experiment("home", ["A", "B"], ["1", "2"], aim="decide", seed=1, db=None) as experiment:
        experiment.tell(experiment.ask(context={"device": "phone"}), True)
        said = experiment.report().segments_sentence
        assert said == "No sign so far that the best combination depends on the segment."
    with Experiment("home", ["A", "B"], ["1", "2"], "uniform", explore=0, seed=1, db=None) as experiment:
        rng = np.random.default_rng(1)
        for turn in range(30):
            asked = experiment.ask(200, context={"device": "phone" if turn % 2 else "desk"})
            clicks = [bool(rng.random() < 0.9 * 0.3 ** (row_of(made) + col_of(made))) for made in asked]
            experiment.tell_many(list(zip(asked, clicks, strict=True)))
        found = experiment.report()
        assert found.segments.answer == "same"
        assert found.segments_sentence.startswith("The same combination is best in all 2 segments.")
    with Experiment("home", ["A", "B"], ["1", "2"], "ucb1", explore=0, seed=1, db=None) as experiment:
        for number in range(80):
            experiment.tell(experiment.ask(context={"device": "phone"}), number % 3 == 0)
        assert "Cannot compare segments: traffic was not randomised." in experiment.report().segments_sentence
    with Experiment("home", 100, 100, seed=1, db=None) as experiment:
        experiment.do([])
        for number in range(3):
            experiment.tell(experiment.ask(context={"visitor": number}), True)
        assert "2 visitors in other segments are counted together" in str(experiment.report())
