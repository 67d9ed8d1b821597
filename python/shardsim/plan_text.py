"""Plans as people hand them over: a Plan, its text, or a dict of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Union

from shardsim import arguments
from shardsim.dict_text import DictText
from shardsim.results import Plan

PlanSource = Union[Plan, str, Mapping[str, Any]]

SOURCE = "plan"  # as the libraries call its text in messages


class PlanText:
    """The text of a plan; what is wrong in that of a dict is told with the path to it."""

    def __init__(self, plan: PlanSource) -> None:
        self._dict: DictText | None = None
        if isinstance(plan, Plan):
            self.text = plan.text
        elif isinstance(plan, str):
            self.text = plan
        else:
            example = 'a Plan, its JSON as a text, or {"plan": {...}}'
            self._dict = DictText(arguments.mapping(plan, SOURCE, example), SOURCE)
            self.text = self._dict.text

    @contextlib.contextmanager
    def told_by_path(self) -> Iterator[None]:
        """Inside, failures at a line of a dict's text are told with the path into the dict instead."""
        with self._dict.told_by_path(SOURCE) if self._dict is not None else contextlib.nullcontext():
            yield
