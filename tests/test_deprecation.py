"""Every old spelling still works, gives what the new one gives, and says what to write instead."""

import pytest

import rankone.deprecation


def test_an_old_name_is_answered_by_the_new_one_and_says_so():
    find = rankone.deprecation.old_names("rankone", {"load": "rankone.problems.load_problem"})
    with pytest.warns(DeprecationWarning, match=r"^rankone\.load is deprecated: use rankone\.problems\.load_problem$"):
        assert find("load") is rankone.load_problem
    with pytest.raises(AttributeError, match="module 'rankone' has no attribute 'lod'"):
        find("lod")
