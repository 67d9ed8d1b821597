"""Checks what callers give before the libraries see it. Each fault is one sentence with the argument's name."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional

from shardsim.errors import InputError

_MOST_SEED = 2**53 - 1  # counts of a scenario stay below 2^53


def wrong(name: str, what: str, remedy: str) -> InputError:
    return InputError(f"{name}: {what}. {remedy}.", name)


def kind_of(value: Any) -> str:
    return "nothing (None)" if value is None else f"a value of the type {type(value).__name__}"


def mapping(value: Any, name: str, example: str) -> Mapping[Any, Any]:
    if isinstance(value, Mapping):
        return value
    raise wrong(name, f"{kind_of(value)} is no dict", f"Write {example}")


def whole(value: Any, name: str, least: int, most: int) -> int:
    if isinstance(value, numbers.Integral) and not isinstance(value, bool) and least <= int(value) <= most:
        return int(value)
    shown = repr(value) if isinstance(value, (numbers.Number, str)) else kind_of(value)
    raise wrong(name, f"{shown} is no whole number from {least:,} to {most:,}", "Give such a number")


def wholes(values: Any, name: str, least: int, most: int) -> list[int]:
    """Several of them, in a list or whatever else can be gone through once."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise wrong(name, f"{kind_of(values)} is no list of whole numbers", "Give a list")
    return [whole(each, name, least, most) for each in values]


def maybe_whole(value: Any, name: str, least: int, most: int) -> Optional[int]:
    return None if value is None else whole(value, name, least, most)


def seed(value: Any) -> int:
    return whole(value, "seed", 0, _MOST_SEED)


def jobs(value: Any) -> int:
    return whole(value, "jobs", 0, 10_000)


def text(value: Any, name: str) -> str:
    if isinstance(value, str):
        return whole_text(value, name)
    raise wrong(name, f"{kind_of(value)} is no text", "Give a text")


def whole_text(value: str, name: str) -> str:
    """The text, where every character of it is one: half of a surrogate pair stands for a byte that is none."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise wrong(name, f"the text {value[:60]!r} has no character at {error.start}", "Give a text of whole characters") from None
    return value


def path(value: Any, name: str) -> str:
    if isinstance(value, (str, os.PathLike)):
        found = os.fspath(value)
        if isinstance(found, str):
            return whole_text(found, name)
    raise wrong(name, f"{kind_of(value)} is no path", "Give a text, or a path of pathlib")


def truth(value: Any, name: str) -> bool:
    """A truth value, also one of numpy: a text such as "no" is none."""
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    raise wrong(name, f"{kind_of(value)} is no truth value", "Give True or False")


def case(value: Any) -> str:
    """The name of a case; "" where none is given."""
    return "" if value is None else text(value, "case")


def texts(value: Any, name: str) -> list[str]:
    """One text, or several."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Sequence) and not hasattr(value, "tolist"):
        raise wrong(name, f"{kind_of(value)} is no list of texts", "Give a text, or a list of texts")
    return [text(each, name) for each in value]


def callable_or_none(value: Any, name: str) -> Any:
    if value is None or callable(value):
        return value
    raise wrong(name, f"{kind_of(value)} cannot be called", "Give a function, or leave it out")
