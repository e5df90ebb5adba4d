"""The language of names: settings, values and whole numbers, there and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankone.errors import InputError
from rankone.specs import Pair, parse_settings, parse_value, parse_whole_number, value_text, whole_number

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.one_of(
        finite.map(lambda x: (x, float)), st.integers().map(lambda x: (x, int)), st.booleans().map(lambda x: (x, bool))
    )
)
def test_a_value_is_read_as_it_was_written(pair: tuple[Any, type]) -> None:
    value, kind = pair
    again = parse_value(value_text(value), kind, "x")
    assert again == value
    assert type(again) is kind


@given(finite, finite)
def test_a_pair_is_read_as_it_was_written(rows: float, cols: float) -> None:
    assert parse_value(value_text((rows, cols)), float | Pair, "x") == (rows, cols)


def test_optional_types_and_texts() -> None:
    assert parse_value("1e5", int | None, "x") == 100_000
    assert parse_value("0.5", float | None, "x") == 0.5
    assert parse_value("fast", str, "x") == "fast"


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("2.5", int, "Expected a whole number for it, but got 2.5. "),
        ("inf", int, "Expected a whole number for it, but got inf. "),
        ("maybe", bool, "Expected true or false for it, but got maybe. "),
        ("", float, "Expected a number for it, but got nothing. "),
        ("0.1x0.2", float, "Expected a number for it, but got 0.1x0.2. "),
    ],
)
def test_bad_values_are_refused(text: str, kind: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_value(text, kind, "it")


def test_settings() -> None:
    assert parse_settings("a", "", {}) == {}
    assert parse_settings("a", "c=3,fast=true", {"c": float, "fast": bool}) == {"c": 3.0, "fast": True}
    with pytest.raises(InputError, match=r"Expected no parameters as parameters of 'a', but got c=3. "):
        parse_settings("a", "c=3", {})


@pytest.mark.parametrize(
    ("hints", "text", "do"),
    [
        ({"c": float}, "d=0", "try 'a:c=1'"),
        ({"c": float}, "c", "try 'a:c=1'"),
        ({"gap": float | Pair, "p": float}, "gpa=0.2", "did you mean gap?"),
        ({"speed": str}, "d=0", "try 'a:speed=...'"),
        ({}, "c=3", "write 'a'"),
    ],
)
def test_a_wrong_parameter_is_told_the_right_one(hints: dict[str, Any], text: str, do: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_settings("a", text, hints)
    assert refused.value.do == do


@pytest.mark.parametrize(
    ("what", "example"), [("a horizon", 100_000), ("runs", 20), ("workers", 2), ("n_rows", 8), ("horizon", 100_000)]
)
def test_what_is_proposed_fits(what: str, example: int) -> None:
    with pytest.raises(InputError) as refused:
        whole_number(what, 0)
    assert refused.value.do == f"try {example}"


@pytest.mark.parametrize(
    ("text", "number"), [("7", 7), ("2e6", 2_000_000), ("2_000", 2000), (" 8 ", 8), (str(2**63 + 1), 2**63 + 1)]
)
def test_whole_numbers_as_people_write_them(text: str, number: int) -> None:
    assert parse_whole_number("n", text) == number


@pytest.mark.parametrize("text", ["0", "-3", "2.5", "1e-3", "nan", "inf", "many", "", "1e3x"])
def test_texts_that_are_no_positive_whole_number(text: str) -> None:
    with pytest.raises(InputError, match="Expected n as a whole number of at least 1, but got "):
        parse_whole_number("n", text)


def test_integers_of_any_type_are_whole_numbers() -> None:
    number = whole_number("n", np.int32(5))
    assert type(number) is int
    assert number == 5
    for wrong in (5.0, "5", None, True, np.float64(5)):
        with pytest.raises(InputError, match="Expected n as a whole number of at least 1"):
            whole_number("n", wrong)
