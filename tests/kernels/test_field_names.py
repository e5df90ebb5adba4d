"""Places in the arrays of states have names that cannot be mixed up: none means one place here and another there."""

import ast
from collections import defaultdict
from pathlib import Path

import rankone

ROOMS = ("compiling", "numerics", "kernels", "evidence", "policies")


def places():
    """Every name of a place, with the modules that define it: ``A, B = range(2)`` names places 0 and 1."""
    found = defaultdict(dict)
    for room in ROOMS:
        for file in sorted((Path(rankone.__file__).parent / room).rglob("*.py")):
            for node in ast.parse(file.read_text()).body:
                if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple)):
                    continue
                if "range" not in ast.unparse(node.value):
                    continue
                names = [name.id for name in node.targets[0].elts]
                for name, place in zip(names, eval(ast.unparse(node.value)), strict=True):
                    found[name][file.name] = place
    return found


def test_a_name_means_the_same_place_wherever_it_is_defined():
    found = places()
    assert found["SWEEP_STAGE"] == {"elimination.py": 0}, "the test finds them"
    mixed = {name: homes for name, homes in found.items() if len(set(homes.values())) > 1}
    assert not mixed
