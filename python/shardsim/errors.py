"""The failures of shardsim. Each is one message with the place and a remedy, as the commands print it."""

from __future__ import annotations


class Error(Exception):
    """A failure. `str()` of it reads "PLACE: what is wrong. What to do."

    source: the file, or the path into the dict that the scenario was made of; "" where there is none.
    line, column: in that file, from 1; 0 where they are not known.
    """

    def __init__(self, message: str, source: str = "", line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.source = source
        self.line = line
        self.column = column


class InputError(Error, ValueError):
    """Something that the caller gave is wrong (exit code 2 of the commands)."""


class InfeasibleError(Error):
    """The plan does not fit in memory, or none does (exit code 3)."""


class RunError(Error, RuntimeError):
    """The run itself failed: a file could not be written, a process died (exit code 1)."""
