"""Results as values: numbers in the units that their names end in."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

from shardsim import arguments
from shardsim.errors import InputError, RunError
from shardsim.show import OfThisProcess, Page, paragraphs_html, table_html

if TYPE_CHECKING:
    import pandas
    import xarray

    from shardsim import _core


@dataclass(frozen=True)
class Interval:
    """Where the real iteration lies with the probability `coverage` (docs/confidence.md)."""

    low_ms: float
    high_ms: float
    coverage: float
    outside: list[str]  # what of the case was never measured, for which the interval is no wider


@dataclass(frozen=True)
class Simulation:
    """One plan in one case, as `simulate` gives it."""

    name: str
    iteration_ms: float
    interval: Interval | None
    samples_per_s: float  # of all ranks
    world_size: int
    batch_per_gpu: int
    memory_bytes: int  # of the fullest rank, by the memory model
    peak_bytes: int  # of the fullest rank, at its simulated peak
    memory_capacity_bytes: int  # of a rank, less what is reserved
    limited_by: str  # the busiest link or rank
    limit_share_pct: float  # of the iteration in which it is busy
    beyond_torchrec: str  # what of the plan TorchRec does not have; "": it has all

    def _repr_html_(self) -> str:
        within = f"{self.interval.low_ms:,.4g} to {self.interval.high_ms:,.4g}" if self.interval else ""
        doubt = "; ".join(self.interval.outside) if self.interval else ""
        gib = 2**30
        return table_html(
            ["case", "iteration ms", "80 % within", "samples/s", "GPUs", "peak GiB", "of", "busiest", "%"],
            [[self.name, self.iteration_ms, within + (f"? ({doubt})" if doubt else ""), self.samples_per_s,
              self.world_size, self.peak_bytes / gib, self.memory_capacity_bytes / gib, self.limited_by,
              self.limit_share_pct]])


@dataclass(frozen=True)
class Point:
    """One point of a sweep. What has no value where the point has no result is None, 0 or ""."""

    point: int  # in the order of the axes
    values: dict[str, str]  # of each axis, by its path
    outcome: str  # "ok", "does not fit", "failed" or "died"
    message: str  # why there is no result
    iteration_ms: float | None
    interval: Interval | None
    samples_per_s: float | None
    world_size: int
    batch_per_gpu: int
    memory_bytes: int
    peak_bytes: int
    memory_capacity_bytes: int
    limited_by: str
    limit_share_pct: float
    beyond_torchrec: str
    cost_per_hour: float | None

    @property
    def ok(self) -> bool:
        """True where the point has a result."""
        return self.outcome == "ok"

    def _repr_html_(self) -> str:
        names = ["point", *self.values, "outcome", "iteration ms", "samples/s", "busiest"]
        row = [self.point, *self.values.values(), self.outcome, self.iteration_ms, self.samples_per_s, self.limited_by]
        return table_html(names, [row]) + paragraphs_html([self.message] if self.message else [])


Value = TypeVar("Value")


def with_interval(kind: type[Value], values: Mapping[str, Any]) -> Value:
    """A Simulation, Point or CaseResult of a dict."""
    known = {each.name for each in fields(kind)}
    kept = {key: value for key, value in values.items() if key in known}
    if kept.get("interval") is not None:
        kept["interval"] = Interval(**{each.name: kept["interval"][each.name] for each in fields(Interval)})
    return kind(**kept)


@dataclass(frozen=True, repr=False)
class Plan:
    """Where every row and column of every table lies, in TorchRec's JSON form (docs/formats/plan.md)."""

    text: str
    notes: list[str] = field(default_factory=list)  # what the planner says of its choice
    # What a plan of TorchRec says that the text does not, by path of the module and table: to_sharding_plan() gives it back.
    kept: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict, repr=False, compare=False)

    def __repr__(self) -> str:
        try:
            tables = [entry for module in self.to_dict()["plan"].values() for entry in module.values()]
            kinds = dict.fromkeys(str(entry.get("sharding_type")) for entry in tables)
        except (AttributeError, KeyError, TypeError, ValueError):
            return "<shardsim.Plan whose text is no plan>"
        return f"<shardsim.Plan of {len(tables)} table{'' if len(tables) == 1 else 's'}: {', '.join(kinds)}>"

    def to_dict(self) -> dict[str, Any]:
        """The same as a dict, which may be changed and given to `simulate`."""
        made: dict[str, Any] = json.loads(self.text)
        return made

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the text into a new file. Errors: RunError where there is one already, or where none can be written."""
        name = arguments.path(path, "path")
        try:
            with open(name, "x", encoding="utf-8") as file:
                file.write(self.text)
        except OSError as error:
            raise RunError(f"{name}: cannot write a new file: {error.strerror}. Choose another name.", name) from None

    def frame(self) -> pandas.DataFrame:
        """A row for each table of each module: how it is sharded, and on which ranks."""
        import pandas

        rows = [
            {"module": module, "table": table, "sharding_type": entry.get("sharding_type"),
             "compute_kernel": entry.get("compute_kernel"), "ranks": entry.get("ranks")}
            for module, tables in self.to_dict()["plan"].items()
            for table, entry in tables.items()
        ]
        return pandas.DataFrame(rows, columns=["module", "table", "sharding_type", "compute_kernel", "ranks"])

    def _repr_html_(self) -> str:
        rows = [[module, table, entry.get("sharding_type"), entry.get("compute_kernel"), entry.get("ranks")]
                for module, tables in self.to_dict()["plan"].items()
                for table, entry in tables.items()]
        return table_html(["module", "table", "sharding type", "kernel", "ranks"], rows) + paragraphs_html(self.notes)


@dataclass(frozen=True)
class CaseResult:
    """One case of a run: the keys of result.json that every case has; `raw` holds all of them."""

    name: str
    iteration_ms: float
    samples_per_s: float
    interval: Interval | None
    limited_by: dict[str, Any]
    memory: dict[str, Any]
    collectives: list[dict[str, Any]]
    compute: list[dict[str, Any]]
    placements: list[dict[str, Any]]
    notes: list[str]
    raw: dict[str, Any]

    def _repr_html_(self) -> str:
        return _cases_html([self])


def _cases_html(cases: Iterable[CaseResult]) -> str:
    """A row for each case, and below them what has to be known beside their numbers."""
    listed = list(cases)
    rows = [[case.name, case.iteration_ms, case.interval.low_ms if case.interval else None,
             case.interval.high_ms if case.interval else None, case.samples_per_s, case.limited_by.get("what"),
             case.memory.get("fits")] for case in listed]
    names = ["case", "iteration ms", "80 %: low ms", "high ms", "samples/s", "busiest", "fits"]
    notes = [f"<p><b>{html.escape(case.name)}</b>: {html.escape(note)}</p>" for case in listed for note in case.notes]
    return "\n".join([table_html(names, rows), *notes])


def _case_result(raw: dict[str, Any]) -> CaseResult:
    return with_interval(CaseResult, {"interval": None, "limited_by": {}, "notes": [], **raw, "raw": raw})


class Answer(OfThisProcess):
    """The answer to a question. `json` is what its command writes as JSON, `raw` the same as a dict."""

    def __init__(self, of: _core.Answer) -> None:
        self._of = of
        self.json: str = of.json
        self.raw: dict[str, Any] = json.loads(of.json)
        self.notes: list[str] = of.notes

    def report(self) -> str:
        """The command's page as a text: HTML that needs no other file."""
        return self._of.html()

    def page(self) -> Page:
        """The same page for a cell of a notebook."""
        return Page(self.report())

    def __str__(self) -> str:
        return self._of.text(100)


class Why(Answer):
    """Where the time of an iteration goes (docs/why.md)."""

    def __repr__(self) -> str:
        return f"<shardsim.Why: {self.sentence}>"

    @property
    def iteration_ms(self) -> float:
        """The time of the iteration whose path is shown."""
        return float(self.raw["iteration_ms"])

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        return str(self.raw["sentence"])

    def frame(self) -> pandas.DataFrame:
        """A row for each operation on the critical path; `ms` adds up to the iteration."""
        import pandas

        return pandas.DataFrame(self.raw["path"])

    def table_frame(self) -> pandas.DataFrame:
        """A row for each table, the most expensive one first: its part of the path."""
        import pandas

        return pandas.DataFrame(self.raw["tables"])

    def help_frame(self) -> pandas.DataFrame:
        """A row for each change that was tried, the most helpful one first; none with path_only."""
        import pandas

        return pandas.DataFrame(self.raw.get("help", {}).get("elasticities", []))

    def _repr_html_(self) -> str:
        largest = sorted(self.raw["path"], key=lambda step: -float(step["ms"]))
        names = ["operation", "kind", "rank", "over", "ms"]
        rows = [[step.get(name) for name in names] for step in largest]
        return paragraphs_html([self.sentence]) + table_html(names, rows) + self.page()._repr_html_()


class Drift(Answer):
    """When to make a new plan (docs/drift.md)."""

    def __repr__(self) -> str:
        return f"<shardsim.Drift: {self.answer}>"

    @property
    def answer(self) -> str:
        """The advice in a few sentences."""
        return str(self.raw["answer"])

    @property
    def reshard_every_days(self) -> int | None:
        """None: within the days that were looked at it does not pay."""
        days: int | None = self.raw["reshard_every_days"]
        return days

    @property
    def out_of_memory_day(self) -> int | None:
        """The first day on which the plan of day 0 does not fit; None: it fits on all."""
        day: int | None = self.raw["out_of_memory_day"]
        return day

    def frame(self) -> pandas.DataFrame:
        """A row for each day."""
        import pandas

        return pandas.DataFrame(self.raw["days"]).set_index("day")

    def _repr_html_(self) -> str:
        return paragraphs_html([self.answer]) + self.page()._repr_html_()


@dataclass(frozen=True)
class Check:
    """The answer of `shardsim check` to a scenario."""

    summary: str  # "3 cases"
    findings: list[str]  # faults, each with its place and a remedy
    notes: list[tuple[str, list[str]]]  # on cases without faults: a note, and the cases that it holds for
    fits: bool  # False: the fault is that a plan does not fit in memory

    @property
    def ok(self) -> bool:
        """True where nothing is wrong."""
        return not self.findings

    def _repr_html_(self) -> str:
        said = [f"{note} ({', '.join(cases)})" for note, cases in self.notes]
        return paragraphs_html([self.summary, *self.findings, *said])


@dataclass(frozen=True)
class Coverage:
    """How often the stated intervals of one kind of predictions held what was observed."""

    kind: str  # "iterations", "collectives", or a class of them
    rows: int
    systems: int
    held: float  # share of the rows
    held_by_system: float  # the same, each system weighing the same
    width: float  # median of the upper over the lower end


@dataclass(frozen=True)
class StatedChance:
    """How often the plan that was called the faster one with a probability in a range was the faster one."""

    least: float
    most: float
    stated: float  # the mean of the probabilities that were stated
    pairs: int
    hits: int


@dataclass(frozen=True)
class Confidence:
    """How often stated intervals and probabilities came true for published times (docs/confidence.md)."""

    kinds: list[Coverage]
    chances: list[StatedChance]

    def frame(self) -> pandas.DataFrame:
        """A row for each kind."""
        import pandas

        return pandas.DataFrame([vars(each) for each in self.kinds]).set_index("kind")

    def _repr_html_(self) -> str:
        rows = [[each.kind, each.rows, each.systems, each.held, each.held_by_system, each.width] for each in self.kinds]
        return table_html(["kind", "rows", "systems", "held", "held, by system", "upper over lower end"], rows)


class Imported(OfThisProcess):
    """Somebody else's model as files of ours. `assumed`: what the given files do not say, in sentences."""

    def __init__(self, of: _core.ImportAnswer) -> None:
        self._of = of
        self.scenario_text: str = of.scenario
        self.workload_text: str = of.workload
        self.plan: Plan | None = Plan(of.plan) if of.plan else None
        self.assumed: list[str] = of.assumed

    def write(self, folder: str | os.PathLike[str], *, force: bool = False) -> str:
        """Writes scenario.yaml, workload.yaml and the plan as `shardsim import -o` does; returns the scenario's path.

        force: replace files of others, and those that somebody has changed.
        """
        return self._of.write(arguments.path(folder, "folder"), force)

    def __repr__(self) -> str:
        return f"<shardsim.Imported with {'a' if self.plan else 'no'} plan; {len(self.assumed)} assumptions>"

    def _repr_html_(self) -> str:
        """The assumptions, and the plan where there is one."""
        return paragraphs_html(self.assumed) + (self.plan._repr_html_() if self.plan else "")


_FEW_CASES = 5


class Study(OfThisProcess):
    """The answer of `shardsim run` to a scenario. `json` is the content of result.json.

    study["NAME"] is the case of that name; len() counts the cases, and a loop over the study goes over them.
    """

    def __init__(self, of: _core.Study) -> None:
        self._of = of
        self.json: str = of.json()
        self.raw: dict[str, Any] = json.loads(self.json)
        self.cases: list[CaseResult] = [_case_result(each) for each in self.raw["cases"]]

    def __getitem__(self, name: str) -> CaseResult:
        for case in self.cases:
            if case.name == name:
                return case
        raise self._no_case(name)

    def __len__(self) -> int:
        return len(self.cases)

    def __iter__(self) -> Iterator[CaseResult]:
        return iter(self.cases)

    def __repr__(self) -> str:
        times = ", ".join(f"{case.name} {case.iteration_ms:.4g} ms" for case in self.cases[:_FEW_CASES])
        more = f" and {len(self.cases) - _FEW_CASES} more" if len(self.cases) > _FEW_CASES else ""
        return f"<shardsim.Study: {times}{more}>"

    def _no_case(self, name: Any) -> InputError:
        return InputError(f"case: there is no case {name!r}. Known: {', '.join(each.name for each in self.cases)}.", "case")

    def frame(self) -> pandas.DataFrame:
        """A row for each case, in the scenario's order."""
        import pandas

        rows = [
            {
                "case": case.name,
                "iteration_ms": case.iteration_ms,
                "low_ms": case.interval.low_ms if case.interval else None,
                "high_ms": case.interval.high_ms if case.interval else None,
                "outside": "; ".join(case.interval.outside) if case.interval else "",
                "samples_per_s": case.samples_per_s,
                "limited_by": case.limited_by.get("what"),
                "fits": case.memory.get("fits"),
            }
            for case in self.cases
        ]
        return pandas.DataFrame(rows).set_index("case")

    def planner_frame(self) -> pandas.DataFrame:
        """A row for each planner of each comparison (`compare_planners`)."""
        import pandas

        rows = [
            {"comparison": comparison["case"], **planner}
            for comparison in self.raw.get("planner_comparisons", [])
            for planner in comparison["planners"]
        ]
        return pandas.DataFrame(rows)

    def timeline(self, case: str) -> xarray.Dataset:
        """The spans of a case: each has a rank, a stream, a start and an end. One variable for each property, over `span`."""
        import xarray

        if all(each.name != case for each in self.cases):
            raise self._no_case(case)
        of = self._of.timeline(case)
        spans = of.pop("spans")
        names = of.pop("op_names")
        classes = of.pop("op_classes")
        variables = {key: ("span", values) for key, values in spans.items()}
        for key in ("hbm_bytes", "bytes_out", "bytes_in"):
            variables[key] = ("rank_of_world", of.pop(key))
        variables["op_name"] = ("op_of_program", names)
        variables["op_class"] = ("op_of_program", classes)
        return xarray.Dataset(variables, attrs=of)

    def report(self) -> str:
        """report.html as a text: one page that needs no other file."""
        return self._of.html()

    def page(self) -> Page:
        """report.html for a cell of a notebook: its cards and charts."""
        return Page(self.report())

    def write(self, folder: str | os.PathLike[str], *, force: bool = False) -> str:
        """Writes report.html, result.json and timeline.h5 as `shardsim run -o` does; returns the path of the report.

        force: replace files of others, and those that somebody has changed.
        """
        return self._of.write(arguments.path(folder, "folder"), force)

    def __str__(self) -> str:
        return self._of.text(100)

    def _repr_html_(self) -> str:
        """The report with its cards and charts; where frames are not shown, as on pages of code, the table above it."""
        return _cases_html(self.cases) + self.page()._repr_html_()
