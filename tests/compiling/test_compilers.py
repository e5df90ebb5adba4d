"""What is compiled, and what not: kernels are taken in by their callers, and have no machine code of their own."""

import threading

import numba
import numpy as np
import pytest
from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler import Flags

from rankone.compiling import compilers
from rankone.compiling.compiled import compiled, kernel, noalloc
from rankone.compiling.compilers import REFUSE


@noalloc
def half(values):
    return values[0] * 0.5


@noalloc
def third(values):
    return values[0] / 3.0


@noalloc
def double(values):
    return values[0] * 2.0


@noalloc
def quarter(values):
    return half(values) * 0.5


@numba.njit
def of_a_user(values):
    return quarter(values) + half(values)


def entry(values):
    return half(values) + double(values)


def test_kernels_have_no_machine_code_of_their_own():
    assert compiled(entry, "__main__")(np.array([3.0])) == 7.5
    assert [address(only) for only in (half, double)] == [REFUSE, REFUSE]


def test_python_runs_a_kernel_as_it_is_written():
    assert third(np.array([3.0])) == 1.0
    assert not third.overloads  # nothing was compiled for it


def address(compiled_for_one):
    (made,) = compiled_for_one.overloads.values()
    return made.library.get_pointer_to_function(made.fndesc.llvm_func_name)


def test_what_takes_long_to_compile_is_said_once(monkeypatch, capsys):
    monkeypatch.setattr(compilers, "_unsaid", ["compiling ..."])
    monkeypatch.setattr(compilers, "_SAID_AFTER", 1e9)
    assert compiled(lambda values: half(values), "__main__")(np.array([3.0])) == 1.5
    assert capsys.readouterr().err == ""

    class Now(threading.Thread):  # a second is over at once
        def __init__(self, seconds, function):
            super().__init__(target=function)
            self.cancel = self.join

    monkeypatch.setattr(compilers.threading, "Timer", Now)
    assert compiled(lambda values: half(values) + 1.0, "__main__")(np.array([3.0])) == 2.5
    assert capsys.readouterr().err == "compiling ..."
    monkeypatch.setattr(compilers.threading, "Timer", None)
    assert compiled(lambda values: half(values) + 2.0, "__main__")(np.array([3.0])) == 3.5


def test_what_numba_compiles_by_itself_may_call_kernels_too():
    values = np.array([4.0])
    assert of_a_user(values) == 3.0
    assert compiled(lambda values: of_a_user(values) + quarter(values), "__main__")(values) == 4.0


def test_kernels_are_optimised_with_the_function_that_python_calls(monkeypatch):
    optimised, usual = [], CPUCodeLibrary._optimize_final_module
    monkeypatch.setattr(CPUCodeLibrary, "_optimize_final_module", lambda self: optimised.append(self) or usual(self))
    outer = compiled(outermost, "__main__")
    assert outer(np.array([4.0], np.float32)) == 1.0  # for which nothing is compiled yet
    (made,) = outer.overloads.values()
    assert optimised == [made.library]
    assert "_pass_builder" not in vars(made.library._codegen), "others compile as they did"
    assert not [each.name for each in made.library.get_defined_functions() if "quarter" in each.name], "all inlined"


def outermost(values):
    return quarter(values)


@kernel
def checked(values):
    if values[0] > 4.0:
        raise ValueError("too much", values[0])
    print("enough:", values[0])
    return values[0]


def asks(values):
    return checked(values)


def test_kernels_print_and_raise_what_they_found(capfd, tmp_path, monkeypatch):
    monkeypatch.setenv("RANKONE_CACHE_DIR", str(tmp_path))
    for found_again in (False, True):
        compiled.cache_clear()
        asked = compiled(asks, __name__)
        assert asked(np.array([4.0])) == 4.0
        assert sum(asked.stats.cache_hits.values()) == found_again
        assert capfd.readouterr().out == "enough: 4.0\n"
        with pytest.raises(ValueError, match=r"too much.*5\.0"):
            asked(np.array([5.0]))


def test_options_are_compared_as_numba_compares_them():
    """One by one, as Numba's own functions do."""
    options, other = Flags(), Flags()
    for change in (lambda flags: None, lambda flags: setattr(flags, "nrt", True), lambda flags: flags.discard("nrt")):
        change(options)
        assert list(options.values().items()) == [(name, getattr(options, name)) for name in options.options]
        assert (options == other) == (not options.nrt)
        assert hash(options) == hash(other)
    options.error_model = "numpy"
    assert len({options, options.copy(), other}) == 2
