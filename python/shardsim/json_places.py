"""Where a place in a JSON text lies in the values that it holds: people see those, and a text of one line has no lines."""

from __future__ import annotations

import json
import re

from shardsim.dict_text import child

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def _member(path: str, key: str) -> str:
    """As JSON paths have it: $.plan.ebc["a table"]."""
    return f"{path}.{key}" if re.fullmatch(r"[A-Za-z_]\w*", key) else f"{path}[{json.dumps(key)}]"


def _offset(text: bytes, line: int, column: int) -> int:
    before = text.split(b"\n")[: line - 1]
    return sum(len(each) + 1 for each in before) + max(column, 1) - 1


def path_at(text: str, line: int, column: int, root: str = "$") -> str | None:
    """The path to the value or key at this place, in bytes and from 1: `root` is that of the whole text, written in
    Python's way unless it is "$". None where the text is no JSON, whose lines are then all that people have."""
    try:
        json.loads(text)
    except ValueError:
        return None
    join = _member if root == "$" else child
    data = text.encode()
    offset = _offset(data, line, column)
    open_ones: list[tuple[str, int | None]] = []  # the path of each, and of lists the index
    path = found = root
    awaits_key = False
    for token in _TOKEN.finditer(data):
        if token.start() > offset:
            break
        part = token.group()
        if part in (b"{", b"["):
            found = path
            open_ones.append((path, 0 if part == b"[" else None))
            awaits_key = part == b"{"
            path = path if awaits_key else f"{path}[0]"
        elif part in (b"}", b"]"):
            path = found = open_ones.pop()[0]
        elif part == b",":
            around, index = open_ones.pop()
            open_ones.append((around, None if index is None else index + 1))
            awaits_key = index is None
            path = around if index is None else f"{around}[{index + 1}]"
        elif part == b":":
            awaits_key = False
        else:
            if awaits_key:
                path = join(open_ones[-1][0], json.loads(part))
            found = path
    return found
