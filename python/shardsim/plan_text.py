"""Plans as people hand them over: a Plan, its text, a file of it, or a dict of it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any, Union

from shardsim import _core, arguments, json_places
from shardsim.dict_text import DictText
from shardsim.errors import InputError
from shardsim.results import Plan

PlanSource = Union[Plan, str, "os.PathLike[str]", Mapping[str, Any]]

SOURCE = "plan"  # as the libraries call its text in messages


class PlanText:
    """The text of a plan; what is wrong in it is told with the path to it, and in that of a file with its name."""

    def __init__(self, plan: PlanSource) -> None:
        self._dict: DictText | None = None
        self._file = ""
        self._root = SOURCE  # of paths into a text
        self.kept: Mapping[tuple[str, str], Mapping[str, Any]] = {}
        if isinstance(plan, Plan):
            self.text, self.kept = arguments.text(plan.text, SOURCE), plan.kept
        elif isinstance(plan, str) and plan.lstrip("\ufeff \t\r\n").startswith("{"):
            self.text, self._root = arguments.text(plan, SOURCE), "$"
        elif isinstance(plan, (str, os.PathLike)):
            self._file = arguments.path(plan, SOURCE)
            self.text = _core.read_file(self._file)
        else:
            example = 'a Plan, its JSON as a text, the path of a file, or {"plan": {...}}'
            self._dict = DictText(arguments.mapping(plan, SOURCE, example), SOURCE)
            self.text = self._dict.text

    @contextlib.contextmanager
    def told_by_path(self) -> Iterator[None]:
        """Inside, failures at a line of the text are told with the path to the value there, or with the file."""
        with self._dict.told_by_path(SOURCE) if self._dict is not None else contextlib.nullcontext():
            try:
                yield
            except InputError as error:
                if error.source != SOURCE or self._dict is not None:
                    raise
                raise self._told(error) from None

    def _told(self, error: InputError) -> InputError:
        if self._file:
            return InputError(str(error).replace(SOURCE, self._file, 1), self._file, error.line, error.column)
        path = json_places.path_at(self.text, error.line, error.column, self._root) if error.line > 0 else None
        if path is None:
            return error
        where = f"{SOURCE}:{error.line}" + (f":{error.column}" if error.column > 0 else "")
        return InputError(str(error).replace(where, path, 1), path)
