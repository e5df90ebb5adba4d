"""What is compiled, and what not: kernels are taken in by their callers, and have no machine code of their own."""

import numpy as np

from rankone.compiling.compiled import compiled, function, noalloc


@noalloc
def half(values):
    return values[0] * 0.5


@function
def double(values):
    return values[0] * 2.0


def entry(values):
    return half(values) + double(values)


def test_kernels_have_no_machine_code_of_their_own():
    assert compiled(entry, "__main__")(np.array([3.0])) == 7.5
    assert [address(only) for only in (half, double)] == [0, address(double)]
    assert address(double) != 0
    assert double(np.array([3.0])) == 6.0


def address(compiled_for_one):
    (made,) = compiled_for_one.overloads.values()
    return made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
