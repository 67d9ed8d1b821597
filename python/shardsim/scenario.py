"""Scenarios: what is to be simulated."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Union

from shardsim import _core, arguments
from shardsim.dict_text import DictText, flow_text
from shardsim.errors import InputError

Source = Union[str, "os.PathLike[str]", Mapping[str, Any]]


def load(path: str | os.PathLike[str]) -> Scenario:
    """Reads a scenario file, or one of the shipped ones by its name ("toy")."""
    return Scenario(path)


def data_folder() -> str:
    """The folder that holds the shipped `scenarios/`: $SHARDSIM_DATA, or where the package finds it."""
    return _core.data_folder()


def _file_of(path: str) -> str:
    """The file itself, or where there is none, the shipped scenario of this name."""
    if (os.path.exists(path) and not os.path.isdir(path)) or os.path.dirname(path):
        return path
    shipped = os.path.join(data_folder(), "scenarios", path.removesuffix(".yaml") + ".yaml")
    return shipped if os.path.exists(shipped) else path


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""


def _change_text(value: Any, path: str) -> str:
    """As the right side of --set has it: a text is what stands there, and not the quoted one of a file."""
    place = f"changes[{path!r}]"
    return arguments.whole_text(value, place) if isinstance(value, str) else flow_text(value, place)


def _path_of(source: Any) -> str:
    if isinstance(source, Scenario):
        raise arguments.wrong("scenario", "it is a Scenario already", "Take it as it is; with_() gives a changed one")
    if not isinstance(source, (str, os.PathLike)):
        raise arguments.wrong("scenario", f"{arguments.kind_of(source)} is no scenario", "Give the path of a file, or a dict")
    path = arguments.path(source, "scenario")
    if "\n" in path or path.lstrip().startswith("{"):
        raise arguments.wrong("scenario", "this is the text of a scenario, and the path of its file is asked for",
                              "Give the path, or a dict: json.loads(text), yaml.safe_load(text)")
    return path


class Scenario:
    """A scenario file or a dict of the same form, and changes on top of it. It is never changed itself.

    source: the path of a file, or a dict as docs/formats/scenario.md has it.
    folder: where files that a dict names are looked for; the working folder where it is not given.
    """

    def __init__(self, source: Source, *, folder: str | os.PathLike[str] | None = None) -> None:
        if isinstance(source, Mapping):
            self._dict: DictText | None = DictText(source)
            self.path = os.path.join(arguments.path(folder, "folder"), "scenario") if folder is not None else "scenario"
            self._text = self._dict.text
        else:
            if folder is not None:
                raise InputError("folder: a file lies in a folder of its own. Leave 'folder' out.", "folder")
            self._dict = None
            self.path = _file_of(_path_of(source))
            self._text = _core.read_file(self.path)
        # The folder from which the path of a file leads, wherever the process goes later; "" where it leads from none.
        self._read_in = "" if self._dict is not None or os.path.isabs(self.path) else _working_folder()
        self._parsed = _core.ScenarioText(self._text, self.path)
        self.assumed: list[str] = []  # of a model in TorchRec: what it does not say, in sentences
        self._changes: dict[str, str] = {}
        self._seed: int | None = None
        self._torchrec_only = False
        self._planners: list[str] = []
        self._request: _core.Request | None = None  # made when it is first asked for: it keeps what it reads

    def with_(
        self,
        changes: Mapping[str, Any] | None = None,
        *,
        seed: int | None = None,
        planners: Sequence[str] | None = None,
        torchrec_only: bool | None = None,
    ) -> Scenario:
        """A scenario with changes: those of the option --set, as {"cluster.nodes": 8}, a later one over an earlier one.

        planners: compare these planners in place of each case's own plan, as --planners.
        torchrec_only: keep plans to what TorchRec has, as --torchrec-only.
        """
        changed = object.__new__(Scenario)
        changed.__dict__.update(self.__dict__)
        changed._changes = dict(self._changes)
        changed._request = None
        for path, value in arguments.mapping({} if changes is None else changes, "changes", '{"cluster.nodes": 8}').items():
            arguments.text(path, "changes")
            changed._changes.pop(path, None)
            changed._changes[path] = _change_text(value, path)
        if seed is not None:
            changed._seed = arguments.seed(seed)
        if planners is not None:
            changed._planners = arguments.texts(planners, "planners")
            if not changed._planners:
                raise arguments.wrong("planners", "the list is empty", 'Name at least one, or "all"')
        if torchrec_only is not None:
            changed._torchrec_only = arguments.truth(torchrec_only, "torchrec_only")
        return changed

    @property
    def text(self) -> str:
        """The file's text, or that of the dict."""
        return self._text

    @property
    def cases(self) -> list[str]:
        """The names of the cases."""
        with self.told_by_path():
            return self.request().cases()

    def request(self) -> _core.Request:
        """The form in which the libraries take it."""
        if self._read_in and _working_folder() != self._read_in:
            self.path, self._read_in, self._request = os.path.join(self._read_in, self.path), "", None
            self._parsed = _core.ScenarioText(self._text, self.path)
        if self._request is None:
            self._request = _core.Request(self._parsed, list(self._changes.items()), self._seed, self._torchrec_only,
                                          self._planners)
        return self._request

    @contextlib.contextmanager
    def told_by_path(self) -> Iterator[None]:
        """Inside, failures at a line of a dict's text are told with the path into it, and those of changes with theirs."""
        with self._dict.told_by_path(self.path) if self._dict is not None else contextlib.nullcontext():
            try:
                yield
            except InputError as error:
                told = self._told_as(error.source)
                if told is None:
                    raise
                raise InputError(str(error).replace(error.source, told, 1), told) from None

    def _told_as(self, source: str) -> str | None:
        """What a place of the command's options is called here; None for other places."""
        if source in ("argument --seed", "argument --planners"):
            return source.removeprefix("argument --")
        path = source.removeprefix("argument --set ")
        return f"changes[{path!r}]" if path in self._changes else None

    def __getstate__(self) -> dict[str, Any]:
        """Text, path and changes; files that the scenario names are read where it is used."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_parsed", "_request")}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self._parsed = _core.ScenarioText(self._text, self.path)
        self._request = None

    def __repr__(self) -> str:
        changes = f" with {self._changes}" if self._changes else ""
        return f"<shardsim.Scenario {self.path}{changes}>"
