"""Every old spelling still works, gives what the new one gives, and says what to write instead."""

import importlib

import pytest

import rankone.deprecation

OLD_NAMES = [
    ("rankone", "policy", "rankone.as_policy"),
    ("rankone", "problem", "rankone.as_problem"),
    ("rankone.clicks", "model", "rankone.clicks.as_model"),
    ("rankone.policies", "policy", "rankone.policies.as_policy"),
    ("rankone.problems", "problem", "rankone.problems.as_problem"),
]


@pytest.mark.parametrize(("module", "old", "new"), OLD_NAMES)
def test_an_old_name_is_answered_by_the_new_one_and_says_so(module, old, new):
    home, _, name = new.rpartition(".")
    with pytest.warns(DeprecationWarning, match=f"^{module}.{old} is deprecated: use {new}$") as seen:
        assert getattr(importlib.import_module(module), old) is getattr(importlib.import_module(home), name)
    assert seen[0].filename == __file__, "the warning names the line that has to change"
    assert old not in importlib.import_module(module).__all__


def test_other_names_are_as_unknown_as_ever():
    with pytest.raises(AttributeError, match=r"module 'rankone\.clicks' has no attribute 'modle'"):
        _ = rankone.clicks.modle
