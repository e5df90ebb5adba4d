"""Tables for people: whatever the window's width, no figure and no name is cut."""

import re

import polars as pl
import pytest

from rankone.cli._tables import SPARE, show_table, summary_columns

STUDY = pl.DataFrame(
    {
        "problem": ["needle:128x128", "needle:128x128"],
        "policy": ["rank1elim", "rank1elim-kl:c=0"],
        "regret_mean": [192_580.0, 1_234_567.0],
        "regret_se": [1_021.0, 3_456.5],
        "regret_median": [192_001.0, 1_234_001.0],
        "regret_p95": [199_999.0, 1_299_999.0],
        "sync_points": [10_000_000.0, 23.0],
        "seconds": [0.026789, 1.5],
        "steps_per_second": [3_839_123.0, 66_666.0],
    }
)
MODELS = pl.DataFrame(
    {"model": ["pbm", "ctr-global"], "log-likelihood": [-0.30612, -0.32745]}
    | {str(rank): [1.0 + rank / 1000, 2.0 + rank / 1000] for rank in range(1, 11)}
)
WORDS = pl.DataFrame(
    {"policy": ["rank1elim-kl", "見出し"], "what it does": ["It eliminates. " * 9, "It samples. " * 9]}
)


@pytest.fixture(params=[40, 80, 100, 200])
def window(request, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(request.param))
    return request.param


def printed(capsys):
    return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)


@pytest.mark.parametrize("table", [STUDY, MODELS, WORDS], ids=["study", "models", "words"])
def test_nothing_is_cut_at_any_width(window, capsys, table):
    from rankone.notebook import cell_text

    show_table(table, "A title")
    text = printed(capsys)
    assert "…" not in text
    for column in table.columns:
        for value in table[column]:
            for word in cell_text(value).split():
                assert word in text.split()
    if window >= 80:
        assert max(map(len, text.splitlines())) <= window


def test_a_narrow_window_does_without_what_matters_least(window, capsys):
    show_table(STUDY, None, summary_columns(), SPARE)
    text = printed(capsys)
    for figure in ("rank1elim-kl:c=0", "1,234,567", "3,456"):
        assert figure in text
    assert ("3,839,123" in text) == (window == 200)
    assert ("Not shown, the window is too narrow: steps/s" in " ".join(text.split())) == (window < 200)
    if window == 80:
        assert "1,299,999" in text  # no more is left out than has to be


def test_a_table_too_wide_goes_on_below_under_the_same_names(window, capsys):
    show_table(MODELS)
    assert printed(capsys).count("ctr-global") == {40: 4, 80: 2, 100: 2, 200: 1}[window]
