"""shardsim: how long an iteration of a sharded recommendation model takes, for any plan on any cluster.

    import shardsim

    study = shardsim.load("scenarios/toy.yaml")
    shardsim.simulate(study, case="row_wise").iteration_ms
    shardsim.run(study).frame()

Scenarios are files or dicts in the form of docs/formats/scenario.md. All numbers are those of the commands of the same
names, to the last bit; a time ends in its unit, as in result.json (docs/formats/result.md).
"""

from shardsim._core import version as __version__
from shardsim.errors import Error, InfeasibleError, InputError, RunError
from shardsim.results import (
    CaseResult,
    Check,
    Confidence,
    Coverage,
    Drift,
    Imported,
    Interval,
    Plan,
    Point,
    Simulation,
    StatedChance,
    Study,
    Why,
)
from shardsim.scenario import Scenario, data_folder, load
from shardsim.tasks import (
    Evaluator,
    Sweep,
    check,
    compare_planners,
    confidence,
    drift,
    import_model,
    import_trace,
    plan,
    run,
    simulate,
    sweep,
    why,
)

__all__ = [
    "CaseResult",
    "Check",
    "Confidence",
    "Coverage",
    "Drift",
    "Error",
    "Evaluator",
    "Imported",
    "InfeasibleError",
    "InputError",
    "Interval",
    "Plan",
    "Point",
    "RunError",
    "Scenario",
    "Simulation",
    "StatedChance",
    "Study",
    "Sweep",
    "Why",
    "__version__",
    "check",
    "compare_planners",
    "confidence",
    "data_folder",
    "drift",
    "import_model",
    "import_trace",
    "load",
    "plan",
    "run",
    "simulate",
    "sweep",
    "why",
]
