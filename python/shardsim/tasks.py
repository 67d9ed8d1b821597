"""The questions that people ask of a scenario."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shardsim import _core, arguments
from shardsim.errors import InputError
from shardsim.plan_text import PlanSource, PlanText
from shardsim.results import (
    Check,
    Confidence,
    Coverage,
    Drift,
    Imported,
    Plan,
    Point,
    Simulation,
    StatedChance,
    Study,
    Why,
    with_interval,
)
from shardsim.scenario import Scenario, Source
from shardsim.show import OfThisProcess, paragraphs_html, table_html

if TYPE_CHECKING:
    import pandas
    import xarray


def _scenario(source: Scenario | Source) -> Scenario:
    return source if isinstance(source, Scenario) else Scenario(source)


class Evaluator(OfThisProcess):
    """A plan that is simulated again and again: what two scenarios have in common is made once.

    plan: in TorchRec's JSON form, as a text, the path of a file, a dict or a Plan; None: the case's own.
    """

    def __init__(
        self,
        scenario: Scenario | Source,
        case: str | None = None,
        plan: PlanSource | None = None,
    ) -> None:
        of = _scenario(scenario)
        self._scenario = of
        self._case = arguments.case(case)
        if plan is None:
            with of.told_by_path():
                self._of = _core.Evaluator.planned(of.request(), self._case)
        else:
            text = PlanText(plan)
            with of.told_by_path(), text.told_by_path():
                self._of = _core.Evaluator.given(of.request(), self._case, text.text)

    def __repr__(self) -> str:
        return f"<shardsim.Evaluator of {self.plan!r}>"

    @property
    def plan(self) -> Plan:
        """The plan that is simulated, with what its planner says of it."""
        return Plan(self._of.plan_json(), self._of.notes())

    def simulate(self, scenario: Scenario | Source | None = None, case: str | None = None) -> Simulation:
        """The plan in this scenario's case; in the one that it was made for, as it was read then, where none is given."""
        if scenario is None and case is None:
            with self._scenario.told_by_path():
                return with_interval(Simulation, self._of.own_figures())
        of = self._scenario if scenario is None else _scenario(scenario)
        with of.told_by_path():
            figures = self._of.figures(of.request(), self._case if case is None else arguments.case(case))
        return with_interval(Simulation, figures)


def simulate(
    scenario: Scenario | Source,
    case: str | None = None,
    plan: PlanSource | None = None,
) -> Simulation:
    """One iteration of one case, in this process; `case` may be left out where there is one alone.

    The numbers are those of `run`. Whoever asks for the same plan many times takes an Evaluator.
    """
    return Evaluator(scenario, case, plan).simulate()


def plan(scenario: Scenario | Source, case: str | None = None, planner: str | None = None) -> Plan:
    """The plan of a case, by its own planner or by the one of this name with its default options."""
    of = _scenario(scenario)
    if planner is not None:
        of = of.with_({"planner": {"name": arguments.text(planner, "planner")}})
    return Evaluator(of, case).plan


def run(
    scenario: Scenario | Source,
    cases: Sequence[str] | str = (),
    *,
    jobs: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> Study:
    """All that `shardsim run` says of the cases that one of these names or patterns fits; of all where there is none.

    jobs: processes at a time; 0: as many as there are processors. progress(done, total) is called for each case.
    """
    of = _scenario(scenario)
    wanted = arguments.texts(cases, "cases")
    called = arguments.callable_or_none(progress, "progress")
    with of.told_by_path():
        return Study(_core.run(of.request(), wanted, arguments.jobs(jobs), called))


def compare_planners(
    scenario: Scenario | Source, planners: Sequence[str] = ("all",), cases: Sequence[str] | str = (), *, jobs: int = 0
) -> Study:
    """The same cases with the plans of each of these planners, judged by the same simulation: Study.planner_frame()."""
    return run(_scenario(scenario).with_(planners=planners), cases, jobs=jobs)


def _mean_rate(point: Point) -> float:
    """Samples per second on average over where hot rows may lie, of which one placement is told: an interval has its
    middle there. To seven digits, as the order of sweep.csv's points has it."""
    rate = point.samples_per_s or 0.0
    if point.interval is not None and point.iteration_ms:
        rate *= point.iteration_ms / math.sqrt(point.interval.low_ms * point.interval.high_ms)
    return float(f"{rate:.7g}")


class Sweep(OfThisProcess):
    """The points of a scenario's `sweep`, as they are finished; `len()` says how many there are.

    for point in shardsim.sweep("scenarios/sweep_nics_batch.yaml"): ...
    """

    def __init__(self, scenario: Scenario | Source, case: str | None = None, *, jobs: int = 0) -> None:
        self._scenario = _scenario(scenario)
        with self._scenario.told_by_path():
            self._of = _core.SweepPoints(self._scenario.request(), arguments.case(case), arguments.jobs(jobs))
        self._done: list[Point] = []

    def __repr__(self) -> str:
        return f"<shardsim.Sweep: {self._finished()}>"

    def _finished(self) -> str:
        return f"{len(self._done):,} of {len(self):,} points are finished"

    def __len__(self) -> int:
        return len(self._of)

    def __iter__(self) -> Iterator[Point]:
        return self

    def __next__(self) -> Point:
        with self._scenario.told_by_path():
            point = self._of.next()
        if point is None:
            raise StopIteration
        self._done.append(with_interval(Point, point))
        return self._done[-1]

    def frame(self) -> pandas.DataFrame:
        """A row for each point, in the order of the axes, with the columns of sweep.csv; simulates what is left."""
        import pandas

        for _ in self:
            pass
        columns = self._of.columns()
        frame = pandas.DataFrame({name: values for name, _, _, values in columns})
        frame.index.name = "point"
        frame.attrs["units"] = {name: unit for name, unit, _, _ in columns}
        frame.attrs["meanings"] = {name: meaning for name, _, meaning, _ in columns}
        return frame

    def dataset(self) -> xarray.Dataset:
        """The columns of `frame` over the axes, each a dimension by its path; simulates what is left.

        Points that are no grid (`random`, `zip`, `points`) are over `point`, with their axes as coordinates.
        """
        import numpy
        import xarray

        for _ in self:
            pass
        columns = self._of.columns()
        axes = {name: list(values) for name, _, meaning, values in columns if meaning == "axis"}
        steps = {name: list(dict.fromkeys(values)) for name, values in axes.items()}
        shape = tuple(len(values) for values in steps.values())
        places = [tuple(steps[name].index(value) for name, value in zip(axes, row)) for row in zip(*axes.values())]
        grid = len(set(places)) == len(places) == int(numpy.prod(shape))
        dimensions = tuple(steps) if grid else ("point",)
        flat = [int(numpy.ravel_multi_index(place, shape)) for place in places] if grid else list(range(len(self)))
        coordinates: dict[str, Any] = {**steps} if grid else {name: ("point", values) for name, values in axes.items()}
        data = xarray.Dataset(coords=coordinates)
        for name, unit, meaning, values in columns:
            if name not in axes:
                kept = numpy.asarray(values, dtype=None if isinstance(values, numpy.ndarray) else object)
                placed = numpy.empty_like(kept)
                placed[flat] = kept
                data[name] = (dimensions, placed.reshape(shape) if grid else placed)
                data[name].attrs["long_name"] = meaning
            data[name].attrs["units"] = unit
        return data

    def _repr_html_(self) -> str:
        """A row for each point that is finished, the fastest first: in the order that the command prints."""
        done = sorted(self._done, key=lambda point: (-_mean_rate(point), point.point))
        names = list(done[0].values) if done else []
        rows = [[*point.values.values(), point.outcome, point.iteration_ms, point.samples_per_s, point.limited_by]
                for point in done]
        return paragraphs_html([self._finished()]) + table_html([*names, "outcome", "iteration ms", "samples/s", "busiest"], rows)

    def csv(self) -> str:
        """The bytes of sweep.csv; simulates what is left."""
        for _ in self:
            pass
        return self._of.csv()


def sweep(scenario: Scenario | Source, case: str | None = None, *, jobs: int = 0) -> Sweep:
    """The points of the scenario's `sweep`, simulated by `jobs` processes (0: one for each processor)."""
    return Sweep(scenario, case, jobs=jobs)


def why(scenario: Scenario | Source, case: str | None = None, *, path_only: bool = False) -> Why:
    """Where the time of an iteration goes, and which changes would make it shorter.

    path_only: the critical path alone; what would help takes about thirty simulations.
    """
    of = _scenario(scenario)
    alone = arguments.truth(path_only, "path_only")
    with of.told_by_path():
        return Why(_core.why(of.request(), arguments.case(case), alone))


def drift(scenario: Scenario | Source, case: str | None = None, *, jobs: int = 0) -> Drift:
    """When to make a new plan while the data changes as the scenario's `drift` says."""
    of = _scenario(scenario)
    with of.told_by_path():
        return Drift(_core.drift(of.request(), arguments.case(case), arguments.jobs(jobs)))


def check(scenario: Scenario | Source) -> Check:
    """The faults of all cases and of a sweep's axes, without simulating. What cannot be read at all is raised."""
    of = _scenario(scenario)
    with of.told_by_path():
        said = _core.check(of.request())
    return Check(said["summary"], said["findings"], [(note, cases) for note, cases in said["notes"]], said["fits"])


def confidence() -> Confidence:
    """How often the intervals and probabilities that are stated came true for published times."""
    said = _core.confidence()
    return Confidence([Coverage(**each) for each in said["kinds"]], [StatedChance(**each) for each in said["chances"]])


def _request(files: Sequence[str | os.PathLike[str]], options: Mapping[str, Any]) -> _core.ImportRequest:
    """options: those of the command by name, in its order, None where one is not given."""
    request = _core.ImportRequest()
    request.files = [arguments.path(each, "file") for each in files]
    if not request.files:
        raise InputError("files: no file is named. Name at least one.", "files")
    words = ["shardsim import", *request.files]
    for name, value in options.items():
        for each in value if isinstance(value, list) else [value]:
            if each is not None:
                words.append(f"--{name} {os.fspath(each) if isinstance(each, os.PathLike) else each}")
    request.made_by = " ".join(words)
    request.nodes = arguments.maybe_whole(options.get("nodes"), "nodes", 1, 100_000)
    request.batch = arguments.maybe_whole(options.get("batch"), "batch", 1, 1_000_000_000)
    for name in ("tables", "plan", "cluster", "planner"):
        value = options.get(name)
        value = os.fspath(value) if isinstance(value, os.PathLike) else value
        setattr(request, name, None if value is None else arguments.text(value, name))
    return request


def import_model(
    file: str | os.PathLike[str],
    *,
    plan: str | os.PathLike[str] | None = None,
    cluster: str | None = None,
    nodes: int | None = None,
    batch: int | None = None,
    planner: str | None = None,
) -> Imported:
    """A workload and a scenario from a CSV of tables, or from TorchRec's table configurations and its plan.

    batch: samples per GPU; cluster: a shipped one or a file. docs/import.md says what is assumed where nothing is given.
    """
    options = {"plan": plan, "cluster": cluster, "nodes": nodes, "batch": batch, "planner": planner}
    return Imported(_core.imported(_request([file], options)))


def import_trace(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    tables: str | os.PathLike[str] | None = None,
    plan: str | os.PathLike[str] | None = None,
    tables_of_trace: str | None = None,
    traced_batches: Sequence[int] = (),
    scale_dense: str | None = None,
    cluster: str | None = None,
    nodes: int | None = None,
    batch: int | None = None,
    planner: str | None = None,
) -> Imported:
    """A workload and a scenario from profiler traces of training steps (Kineto), or folders of them.

    tables: their tables as a CSV or JSON; without them everything stays as it was measured.
    tables_of_trace: "rank" or "world": take the tables that the trace's shapes tell.
    traced_batches: samples per GPU of each trace, where the shapes do not say them.
    scale_dense: "kernels" or "nothing": how another batch changes the dense part.
    """
    if not isinstance(files, (str, os.PathLike, Sequence)) or isinstance(files, bytes):
        raise arguments.wrong("files", f"{arguments.kind_of(files)} is no path and no list of paths",
                              "Give a trace, a folder of them, or a list")
    named = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    batches = arguments.wholes(traced_batches, "traced_batches", 0, 1_000_000_000)
    options = {"tables": tables, "tables-of-trace": tables_of_trace, "traced-batch": batches,
               "scale-dense": scale_dense, "plan": plan, "cluster": cluster, "nodes": nodes, "batch": batch,
               "planner": planner}
    request = _request(named, options)
    request.of_traces = True
    request.traced_batches = batches
    if _word(tables_of_trace, "tables_of_trace", ("rank", "world")):
        request.take_tables_of_trace(tables_of_trace == "world")
    if _word(scale_dense, "scale_dense", ("kernels", "nothing")):
        request.scale_dense(scale_dense == "kernels")
    return Imported(_core.imported(request))


def _word(value: str | None, name: str, known: tuple[str, str]) -> bool:
    """Whether one is given; another one than the known is refused."""
    if value is not None and value not in known:
        raise InputError(f'{name}: "{value}" is unknown. Take "{known[0]}" or "{known[1]}".', name)
    return value is not None
