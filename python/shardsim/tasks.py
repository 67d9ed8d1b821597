"""What people ask of a scenario."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shardsim import _core
from shardsim.results import Plan, Point, Simulation, Study, with_interval
from shardsim.scenario import Scenario, Source

if TYPE_CHECKING:
    import pandas



def _scenario(source: Scenario | Source) -> Scenario:
    return source if isinstance(source, Scenario) else Scenario(source)


def _plan_text(plan: Plan | str | Mapping[str, Any]) -> str:
    if isinstance(plan, Plan):
        return plan.text
    return plan if isinstance(plan, str) else json.dumps(plan)


class Evaluator:
    """A plan that is simulated again and again: what two scenarios have in common is made once.

    plan: in TorchRec's JSON form, as a text, a dict or a Plan; None: the case's own.
    """

    def __init__(
        self,
        scenario: Scenario | Source,
        case: str | None = None,
        plan: Plan | str | Mapping[str, Any] | None = None,
    ) -> None:
        of = _scenario(scenario)
        self._scenario = of
        self._case = case or ""
        with of.told_by_path():
            if plan is None:
                self._of = _core.Evaluator.planned(of.request(), self._case)
            else:
                self._of = _core.Evaluator.given(of.request(), self._case, _plan_text(plan))

    @property
    def plan(self) -> Plan:
        return Plan(self._of.plan_json(), self._of.notes())

    def simulate(self, scenario: Scenario | Source | None = None, case: str | None = None) -> Simulation:
        """The plan in this scenario's case; in the one that it was made for where none is given."""
        of = self._scenario if scenario is None else _scenario(scenario)
        with of.told_by_path():
            figures = self._of.figures(of.request(), self._case if case is None else case)
        return with_interval(Simulation, figures)


def simulate(
    scenario: Scenario | Source,
    case: str | None = None,
    plan: Plan | str | Mapping[str, Any] | None = None,
) -> Simulation:
    """One iteration of one case, in this process; `case` may be left out where there is one alone.

    The numbers are those of `run`. Whoever asks for the same plan many times takes an Evaluator.
    """
    return Evaluator(scenario, case, plan).simulate()


def plan(scenario: Scenario | Source, case: str | None = None, planner: str | None = None) -> Plan:
    """The plan of a case, by its own planner or by the one of this name with its default options."""
    of = _scenario(scenario)
    if planner is not None:
        of = of.with_({"planner": {"name": planner}})
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
    wanted = [cases] if isinstance(cases, str) else list(cases)
    with of.told_by_path():
        return Study(_core.run(of.request(), wanted, jobs, progress))


def compare_planners(
    scenario: Scenario | Source, planners: Sequence[str] = ("all",), cases: Sequence[str] | str = (), *, jobs: int = 0
) -> Study:
    """The same cases with the plans of each of these planners, judged by the same simulation: Study.planner_frame()."""
    return run(_scenario(scenario).with_(planners=planners), cases, jobs=jobs)


class Sweep:
    """The points of a scenario's `sweep`, as they are finished; `len()` says how many there are.

    for point in shardsim.sweep("scenarios/sweep_nics_batch.yaml"): ...
    """

    def __init__(self, scenario: Scenario | Source, case: str | None = None, *, jobs: int = 0) -> None:
        self._scenario = _scenario(scenario)
        with self._scenario.told_by_path():
            self._of = _core.SweepPoints(self._scenario.request(), case or "", jobs)

    def __len__(self) -> int:
        return len(self._of)

    def __iter__(self) -> Iterator[Point]:
        return self

    def __next__(self) -> Point:
        with self._scenario.told_by_path():
            point = self._of.next()
        if point is None:
            raise StopIteration
        return with_interval(Point, point)

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

    def csv(self) -> str:
        """The bytes of sweep.csv; simulates what is left."""
        for _ in self:
            pass
        return self._of.csv()


def sweep(scenario: Scenario | Source, case: str | None = None, *, jobs: int = 0) -> Sweep:
    """The points of the scenario's `sweep`, simulated by `jobs` processes (0: one for each processor)."""
    return Sweep(scenario, case, jobs=jobs)
