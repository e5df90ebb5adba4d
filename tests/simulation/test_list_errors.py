"""Bad input about lists: one clear sentence each, before anything is played."""

import pytest

import rankone
from rankone.errors import InputError
from rankone.lists import DCM, PBM, Cascade

WRONG = {
    "more positions than items": (
        lambda: Cascade([0.3, 0.2], positions=3),
        "Expected at most as many positions as items, but got 3 positions for 2 items. Show each item once",
    ),
    "more examinations than items": (lambda: PBM([0.3], [1.0, 0.5]), "got 2 positions for 1 item. "),
    "more terminations than items": (lambda: DCM([0.3], [1.0, 0.5]), "got 2 positions for 1 item. "),
    "a family of more positions": (lambda: rankone.as_problem("cascade:4x5"), "got 5 positions for 4 items. "),
    "a policy of more positions": (lambda: rankone.as_policy("cascade-ts").agent(2, 3), "got 3 positions for 2 items"),
    "examination 0": (
        lambda: PBM([0.3, 0.2], [1.0, 0.0]),
        r"Expected probabilities in \(0, 1\] in examination, but got 0.0 at index 1. Leave out what nobody ever sees",
    ),
    "examination above 1": (lambda: PBM([0.3, 0.2], [1.0, 1.5]), r"in \(0, 1\] in examination, but got 1.5 at index 1"),
    "examination that a policy is told": (
        lambda: rankone.as_policy("bc-ts:examination=1x1.5"),
        "Expected examination above 0 and at most 1, but got 1.5. ",
    ),
    "examination that nobody says": (
        lambda: rankone.as_policy("bc-ts").agent(4, 2),
        "Expected the examination of each position for bc-ts, but got none.*"
        "take a policy that does not need it: gibbs-ts, grab, unirank, toprank",
    ),
    "examination in a world without": (
        lambda: rankone.simulate("cascade:4x2", "pbm-ts", 10, runs=1, workers=1),
        "Expected the examination of each position for pbm-ts, but got none.*does not need it: gibbs-ts",
    ),
    "examination of other positions": (
        lambda: rankone.as_policy("pbm-ucb:examination=1x0.5").agent(4, 3),
        "Expected examination of 3 positions, but got 2 numbers. ",
    ),
    "an item twice": (
        lambda: Cascade([0.3, 0.2], 1, item_names=["a", "a"]),
        "Expected distinct names of item, but got 'a' more than once. ",
    ),
    "a pair policy on lists": (
        lambda: rankone.simulate("cascade:4x2", "ucb1-elim", 10, runs=1, workers=1),
        "Expected a policy that plays lists, .* got ucb1-elim.*, which plays pairs. ",
    ),
    "a list policy on pairs": (
        lambda: rankone.simulate("needle:4x2", "cascade-ts", 10, runs=1, workers=1),
        "Expected a policy that plays pairs, .* got cascade-ts, which plays lists. ",
    ),
    "answers of other positions": (
        lambda: _told([True]),
        "Expected clicked as 2 answers, one per position, but got",
    ),
}


def _told(clicked):
    agent = rankone.as_policy("cascade-ts").agent(4, 2)
    agent.tell(agent.ask(), clicked)


@pytest.mark.parametrize("what", WRONG)
def test_bad_input_about_lists_is_one_clear_sentence(what):
    make, says = WRONG[what]
    with pytest.raises(InputError, match=says):
        make()
