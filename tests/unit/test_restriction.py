from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hippo_lit.errors import ConfigError
from hippo_lit.restriction import KEYS, parse_filters, parse_years
from hippo_lit.types import Filters


def test_everything_that_a_mapping_may_hold() -> None:
    given = {
        "years": "2018-", "authors": "Smith", "venues": ["A", "B"], "sources": ("json",), "open_access": True,
        "has_abstract": False, "retracted": None, "only": ["x"], "exclude": ["y", "y"],
    }  # fmt: skip
    assert set(given) == set(KEYS)
    filters = parse_filters(given)
    assert filters == Filters(
        2018, None, ("Smith",), ("A", "B"), ("json",), True, False, None, ("x",), ("y",)
    )
    assert parse_filters(filters) == filters


def test_numbers_of_numpy_are_numbers() -> None:
    assert parse_filters(years=(np.int64(2018), None)) == Filters(2018, None)
    assert parse_filters({"years": np.int32(2018)}) == Filters(2018, 2018)


def test_the_two_by_themselves() -> None:
    both = parse_filters({"years": (2000, 2001), "exclude": ["a"]}, years=(None, 2005), exclude=["b", "a"])
    assert both == Filters(None, 2005, exclude=("a", "b"))
    assert parse_filters({"years": 2003}, years=(None, None)) == Filters(2003, 2003)
    assert parse_filters() == parse_filters({}) == parse_filters(Filters()) == Filters()
    assert parse_filters({"only": []}).only == ()


@pytest.mark.parametrize(
    ("given", "key", "says"),
    [
        ({"author": "x"}, "author", "there are years, authors"),
        ({"years": "soon"}, "years", "write 2018-2024"),
        ({"years": [2018]}, "years", "a pair"),
        ({"years": (2024, 2018)}, "years", "did you mean 2018-2024"),
        (Filters(2024, 2018), "years", "did you mean 2018-2024"),
        ({"years": (False, None)}, "years", "a pair"),
        ({"years": (True, None)}, "years", "a pair"),
        ({"years": 3.5}, "years", "a pair"),
        ({"years": "2020-2018"}, "years", "did you mean 2018-2020"),
        ({"authors": [3]}, "authors", "3 is none"),
        ({"authors": " "}, "authors", "empty text"),
        ({"venues": 3}, "venues", "not int"),
        ({"exclude": "p1"}, "exclude", r"write exclude=\['p1'\]"),
        ({"only": "p1"}, "only", r"write only=\['p1'\]"),
        ({"open_access": "yes"}, "open_access", "true, false or None"),
        (["years"], "filters", "not list"),
        (Filters(authors=(None,)), "authors", "None is none"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_filter(given: Any, key: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        parse_filters(given)
    assert caught.value.key == key


def test_ranges_of_years() -> None:
    ranges = {"2018-2024": (2018, 2024), "2020": (2020, 2020), "2018–": (2018, None), " -2020 ": (None, 2020)}
    assert {text: parse_years(text) for text in ranges} == ranges
