"""How results look in a notebook: tables of HTML, and the pages of the commands in a frame of their own."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

_FEW_ROWS = 20
Kind = TypeVar("Kind")


def value_text(value: Any) -> str:
    """A value of a cell: numbers with four digits that count, thousands apart."""
    if value is None:
        return ""
    if isinstance(value, float):
        return "" if value != value else f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def table_html(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; of many rows the first ones, and how many there are."""
    listed = list(rows)
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(value_text(value))}</td>" for value in row) + "</tr>"
        for row in listed[:_FEW_ROWS]
    )
    more = f"<p>{_FEW_ROWS} of {len(listed):,} rows</p>" if len(listed) > _FEW_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def paragraphs_html(texts: Iterable[str]) -> str:
    return "".join(f"<p>{html.escape(text)}</p>" for text in texts)


class OfThisProcess:
    """What holds results of the libraries: it cannot be sent to another process, and says so."""

    def __copy__(self: Kind) -> Kind:
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(f"this {type(self).__name__} holds results of the libraries in this process, and cannot be pickled "
                        "or deeply copied. Send the Scenario, what write() has written, or single values of the result.")


@dataclass(frozen=True)
class Page:
    """A page of a command, with its cards and charts, as the last value of a cell shows it."""

    html: str = field(repr=False)
    height: int = 800  # of the frame, in pixels

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{html.escape(self.html, quote=True)}" style="width: 100%; border: 0" '
                f'height="{self.height}" title="shardsim"></iframe>')
