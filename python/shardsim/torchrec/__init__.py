"""shardsim in the process of a TorchRec user: a model becomes a scenario, plans go in and out, and TorchRec's planner
can ask for simulated times.

Nothing here imports TorchRec until a plan is made for it. Models, options and plans are taken by the attributes that
TorchRec's classes have (release 1.0 to the commit of August 2026), so that whatever behaves like them will do.

    scenario = shardsim.torchrec.scenario(model, cluster="dgx_h100", batch_per_gpu=4096)
    plan = shardsim.plan(scenario, planner="search")
    sharding_plan = shardsim.torchrec.to_sharding_plan(plan, model)
    model = DistributedModelParallel(model, plan=sharding_plan)
"""

from shardsim.errors import Error
from shardsim.torchrec.bandwidths import CommsBandwidth
from shardsim.torchrec.model import tables_of
from shardsim.torchrec.planner import PerfModel, Stats
from shardsim.torchrec.plans import from_sharding_plan, to_sharding_plan
from shardsim.torchrec.proposals import Partitioner, Proposed, Proposer
from shardsim.torchrec.provider import Provider
from shardsim.torchrec.workload import NotSimulatedWarning, scenario, workload

__all__ = ["CommsBandwidth", "Error", "NotSimulatedWarning", "Partitioner", "PerfModel", "Proposed", "Proposer",
           "Provider", "Stats", "from_sharding_plan", "scenario", "tables_of", "to_sharding_plan", "workload"]
