"""A scenario as a dict becomes a text that the reader of files takes, and places in that text become paths again."""

from __future__ import annotations

import contextlib
import decimal
import json
import math
import numbers
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from shardsim import arguments
from shardsim.errors import InputError

ROOT = "scenario"


def _wrong(path: str, what: str, remedy: str) -> InputError:
    return InputError(f"{path}: {what}. {remedy}.", path)


def scalar_text(value: Any, path: str) -> str | None:
    """JSON of a number, a text, a truth value or nothing; None where the value is none of these."""
    if isinstance(value, str):
        return json.dumps(arguments.whole_text(str(value), path))
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, (numbers.Real, decimal.Decimal)):
        number = float(value)
        if not math.isfinite(number):
            raise _wrong(path, f"{number} is no number that a scenario can hold", "Give a finite one")
        return repr(number)
    if hasattr(value, "item") and getattr(value, "shape", None) == ():  # an array of numpy without dimensions, or a truth value
        inner = value.item()
        return scalar_text(inner, path) if isinstance(inner, (bool, str, numbers.Number, decimal.Decimal)) else None
    return None


def is_list(value: Any) -> bool:
    if isinstance(value, (str, bytes, bytearray, memoryview, Mapping, Set)):
        return False
    return isinstance(value, Sequence) or (hasattr(value, "tolist") and getattr(value, "shape", None) != ())


def flow_text(value: Any, path: str) -> str:
    """JSON of a value on one line, as the right side of --set has it."""
    scalar = scalar_text(value, path)
    if scalar is not None:
        return scalar
    if isinstance(value, Mapping):
        inner = [f"{json.dumps(_key(key, path))}: {flow_text(each, child(path, key))}" for key, each in value.items()]
        return "{" + ", ".join(inner) + "}"
    if is_list(value):
        items = value.tolist() if hasattr(value, "tolist") else value
        return "[" + ", ".join(flow_text(each, f"{path}[{at}]") for at, each in enumerate(items)) + "]"
    raise _wrong(path, f"a value of the type {type(value).__name__}", "Give numbers, texts, lists and dicts of them")


def child(path: str, key: Any) -> str:
    return f"{path}[{key!r}]"


def _key(key: Any, path: str) -> str:
    if isinstance(key, str):
        return arguments.whole_text(str(key), path)
    raise _wrong(path, f"the key {key!r} is no text", "Write keys as texts")


class DictText:
    """The text of a dict, with one value on each line, and the path of what each line holds, beginning with `root`."""

    def __init__(self, source: Mapping[str, Any], root: str = ROOT) -> None:
        self.root = root
        self._lines: list[str] = []
        self._paths: list[str] = []
        self._open: set[int] = set()
        self._write("", source, root, "")
        self.text = "\n".join(self._lines) + "\n"

    def path_of(self, line: int) -> str:
        """The path of the key on a line, counted from 1; that of the whole dict where there is no such line."""
        return self._paths[line - 1] if 0 < line <= len(self._paths) else self.root

    @contextlib.contextmanager
    def told_by_path(self, source: str) -> Iterator[None]:
        """Inside, failures at a line of this text, which they call `source`, are told with the path into the dict."""
        try:
            yield
        except InputError as error:
            if error.source != source or error.line < 1:
                raise
            path = self.path_of(error.line)
            where = f"{error.source}:{error.line}" + (f":{error.column}" if error.column > 0 else "")
            raise InputError(str(error).replace(where, path, 1), path) from None

    def _add(self, text: str, path: str) -> None:
        self._lines.append(text)
        self._paths.append(path)

    def _write(self, start: str, value: Any, path: str, end: str) -> None:
        scalar = scalar_text(value, path)
        if scalar is not None:
            self._add(start + scalar + end, path)
            return
        if id(value) in self._open:
            raise _wrong(path, "a value that holds itself", "Give a tree of values")
        self._open.add(id(value))
        if isinstance(value, Mapping):
            keyed = [(json.dumps(_key(key, path)) + ": ", each, child(path, key)) for key, each in value.items()]
            self._write_parts(start, "{", keyed, "}" + end, path)
        elif is_list(value):
            items = value.tolist() if hasattr(value, "tolist") else value
            listed = [("", each, f"{path}[{at}]") for at, each in enumerate(items)]
            self._write_parts(start, "[", listed, "]" + end, path)
        else:
            raise _wrong(path, f"a value of the type {type(value).__name__}",
                         "Give numbers, texts, lists and dicts of them")
        self._open.discard(id(value))

    def _write_parts(self, start: str, begin: str, parts: list[tuple[str, Any, str]], end: str, path: str) -> None:
        self._add(start + begin, path)
        for at, (head, value, inner) in enumerate(parts):
            self._write(" " + head, value, inner, "," if at + 1 < len(parts) else "")
        self._add(end, path)
