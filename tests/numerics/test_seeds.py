"""The tree of seeds: a path is a stream, the same everywhere, and different paths share nothing."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np

from rankone.numerics.seeds import generator


def test_same_path_same_numbers() -> None:
    assert (generator(3, "needle", 1).random(5) == generator(3, "needle", 1).random(5)).all()


def test_an_integer_is_its_value_of_whatever_type() -> None:
    assert generator(np.int64(3), np.uint8(1)).random() == generator(3, 1).random()  # type: ignore[arg-type]


def test_numbers_do_not_depend_on_the_process() -> None:
    code = "from rankone.numerics.seeds import generator; print(generator(3, 'needle', 1).integers(2**62))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(other.stdout) == generator(3, "needle", 1).integers(2**62)


def test_numbers_are_fixed_for_all_time() -> None:
    """Saved studies are continued: a change here would mix two kinds of randomness in one table."""
    assert generator(0, "needle", "ucb1", 3).bit_generator.random_raw() == 7365697399130111864


def test_different_paths_give_different_streams() -> None:
    paths: list[tuple[int | str, ...]] = [
        *[(0,), (1,), (-1,), (2**70,), ("0",), ("1",), ("a",), ("ab",)],
        *[(0, 1), (1, 0), (0, 0), (0, "a"), ("a", 0), ("a", "b")],
    ]
    firsts = [tuple(generator(*path).integers(2**62, size=2).tolist()) for path in paths]
    assert len(set(firsts)) == len(paths)


def test_streams_of_neighbouring_runs_are_uncorrelated() -> None:
    draws = np.array([generator(0, "needle", "ucb1", run).random(4000) for run in range(6)])
    for one, other in itertools.combinations(draws, 2):
        # The correlation of independent streams has standard error 1 / sqrt(4000); 15 pairs, so five of them.
        assert abs(np.corrcoef(one, other)[0, 1]) < 5 / np.sqrt(4000)
