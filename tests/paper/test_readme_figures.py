"""What the README says the demo finds is what the demo finds."""

import re
from pathlib import Path

import rankone
from rankone.paper import fig1
from rankone.paper.protocol import READINGS, Protocol

ROOT = Path(__file__).parents[2]
NUMBERS = ("no", "one", "two", "three", "four", "five")


def test_as_many_claims_fail_as_the_readme_says():
    claims = fig1.fig1(Protocol(quick=True, workers=1)).claims
    printed = next(iter(READINGS.values()))
    failed = [claim.claim for claim in claims if claim.reading == printed and not claim.holds]
    said = re.search(r"as printed, (\w+) of the paper's claims about its Figure 1 do not hold", _text("README.md"))
    assert said is not None
    assert said[1] == NUMBERS[len(failed)], failed


def test_the_regret_of_today_is_the_one_that_the_command_prints():
    (row,) = rankone.simulate(rankone.needle(32, 32), "uts", 2_000_000, runs=20, seed=1).summary().to_dicts()
    figure = f"{row['regret_mean']:,.0f} ± {row['regret_se']:,.0f}"
    for page in ("README.md", "docs/reproducing-the-paper.md"):
        assert figure in _text(page), f"{page} must say {figure}"


def _text(page: str) -> str:
    return " ".join((ROOT / page).read_text(encoding="utf-8").split())
