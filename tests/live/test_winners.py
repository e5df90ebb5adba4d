"""Winners of many experiments together: the procedure against its definition, and a database of experiments."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from rankone.cli import build_app
from rankone.errors import InputError
from rankone.live import Database, Experiment
from rankone.live.winners import listed_from, winners


def e_bh(e_values, experiments, share):
    """The procedure as its paper has it."""
    ranked = sorted(e_values, reverse=True)
    fits = [k for k in range(1, len(ranked) + 1) if k * ranked[k - 1] / experiments >= 1 / share]
    return {index for index, value in enumerate(e_values) if fits and value >= ranked[max(fits) - 1]}


@given(
    st.lists(st.floats(0.01, 1e6), min_size=1, max_size=12),
    st.integers(0, 5),
    st.floats(0.01, 0.9),
)
def test_it_is_the_procedure(e_values, more, share):
    experiments = len(e_values) + more
    froms = listed_from([math.log(value) for value in e_values], experiments)
    for factor in (1 - 1e-9, 1 + 1e-9):  # not exactly where rounding decides
        want = e_bh(e_values, experiments, share * factor)
        got = {index for index, least in enumerate(froms) if least <= share * factor}
        near = any(abs(least / share - 1) < 1e-6 for least in froms)
        assert got == want or near


def play(experiment, rates, visitors, seed):
    rng = np.random.default_rng(seed)
    for first in range(0, visitors, 50):
        decisions = experiment.ask(count=min(50, visitors - first))
        experiment.tell_many([(each.id, bool(rng.random() < rates[each["row"]][each["col"]])) for each in decisions])


CLEAR = {"A": {"1": 0.6, "2": 0.2}, "B": {"1": 0.2, "2": 0.07}}
EVEN = {"A": {"1": 0.2, "2": 0.2}, "B": {"1": 0.2, "2": 0.2}}


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Six experiments, one of them with a clear winner, and one that was never asked."""
    path = tmp_path_factory.mktemp("many") / "rankone.db"
    with Database(path, durability="off") as database:
        for index in range(5):
            experiment = Experiment(
                f"page {index}",
                ["A", "B"],
                ["1", "2"],
                db=database,
                seed=index,
                aim="decide",
                stopping={"error": 0.0005},
            )
            play(experiment, EVEN if index else CLEAR, 600, index)
        Experiment("new", ["A", "B"], ["1", "2"], db=database)
    return path


def test_the_clear_winner_is_listed_and_no_other(many):
    with Database(many, read_only=True) as database:
        found = winners(database)
    assert [each.name for each in found.winners] == ["page 0"]
    assert found.winners[0].best == {"row": "A", "col": "1"}
    assert found.experiments == 6
    assert found.headline.startswith("1 of 6 experiments have a winner")
    assert "new" not in [each.name for each in found.candidates]
    froms = [each.listed_from for each in found.candidates]
    assert froms == sorted(froms)


def test_a_larger_share_lists_as_many_or_more(many):
    with Database(many, read_only=True) as database:
        sizes = [len(winners(database, share).winners) for share in (1e-300, 0.05, 0.999)]
    assert sizes == sorted(sizes)
    assert sizes[0] == 0


@pytest.mark.parametrize("share", [0, 1, -0.1, math.nan, "much"])
def test_a_share_that_is_none_is_refused(many, share):
    with Database(many, read_only=True) as database, pytest.raises(InputError, match="share of false winners"):
        winners(database, share)


def test_what_is_forbidden_or_doubted_is_no_winner(tmp_path):
    with Database(tmp_path / "rankone.db", durability="off") as database:
        experiment = Experiment("page", ["A", "B"], ["1", "2"], db=database, seed=1)
        play(experiment, CLEAR, 600, 1)
        assert winners(database).winners
        experiment.forbid({"row": "B", "col": "2"})
        assert not winners(database).winners


def test_the_command(many):
    told = CliRunner().invoke(build_app(), ["winners", str(many)])
    assert told.exit_code == 0
    assert told.stdout.splitlines()[2].startswith("  page 0  'A' with '1' (")
    assert told.stdout.splitlines()[2].endswith("wins")
    found = json.loads(CliRunner().invoke(build_app(), ["winners", str(many), "--json"]).stdout)
    assert [each["name"] for each in found["candidates"] if each["winner"]] == ["page 0"]
