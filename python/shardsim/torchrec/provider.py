"""TorchRec's dry run over machines, on the clusters of shardsim: topologies, planners and simulations of its plans."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Any

from shardsim import arguments
from shardsim.results import Simulation
from shardsim.scenario import Scenario
from shardsim.tasks import simulate
from shardsim.torchrec.bandwidths import CommsBandwidth, check_hosts, machine_of
from shardsim.torchrec.model import wrong
from shardsim.torchrec.planner import PerfModel
from shardsim.torchrec.plans import from_sharding_plan
from shardsim.torchrec.proposals import Partitioner, Proposer
from shardsim.torchrec.workload import scenario

class Provider:
    """TorchRec's PlannerProvider: for each kind of machine a Topology and a planner that asks the simulation.

    executor = DefaultPlannerExecutor(shardsim.torchrec.Provider({"H100": "dgx_h100", "A100": "dgx_a100_80gb"}))

    clusters: by the name that TorchRec has for a kind of machine (its `sku`): a shipped cluster, a file or a dict. Each
        gets as many nodes as a request asks for.
    planners: shardsim's planners whose plans are proposed beside those of TorchRec's GreedyProposer; none leaves the
        proposers to TorchRec.
    tables, more, software: as scenario() takes them.
    otherwise: the PlannerProvider that reserves storage where a request brings no reservation; TorchRec's default one
        where it is not given.
    classes: an object with Topology, EmbeddingShardingPlanner, GreedyProposer and GreedyPerfPartitioner, and what
        Proposer and Partitioner take; those of the installed TorchRec where it is not given.
    """

    def __init__(self, clusters: Mapping[str, Any], *, planners: Sequence[str | Mapping[str, Any]] = (),
                 tables: Mapping[str, Mapping[str, Any]] | None = None, more: Mapping[str, Any] | None = None,
                 software: str | None = "torchrec_eager", otherwise: Any = None, classes: Any = None) -> None:
        self._clusters = dict(arguments.mapping(clusters, "clusters", '{"H100": "dgx_h100"}'))
        if not self._clusters:
            raise wrong("no machine is named", 'Write {"H100": "dgx_h100"}', "clusters")
        self._planners, self._tables, self._more, self._software = planners, tables, more, software
        self._otherwise, self._classes = otherwise, classes
        self._built: list[tuple[Any, str]] = []  # topologies, and whose they are

    def scenario_of(self, sku: str, request: Any) -> Scenario:
        """The request's model on this kind of machine. Errors: InputError where its nodes have other GPUs."""
        if sku not in self._clusters:
            raise wrong(f"unknown machine {sku!r}", f"Known: {', '.join(self._clusters)}", "sku")
        hosts, rest = divmod(int(request.world_size), int(request.local_world_size))
        if rest:
            raise wrong(f"{request.world_size} ranks do not divide by {request.local_world_size} in each host",
                        "Ask for a multiple of local_world_size", "request.world_size")
        made = scenario(_model_of(request), cluster=self._clusters[sku], batch_per_gpu=request.batch_size,
                        constraints=request.constraints, tables=self._tables, more=self._more, software=self._software)
        made = made.with_({"cluster.nodes": hosts})
        check_hosts(machine_of(made, "model"), request.world_size, request.local_world_size)
        return made

    def build_topology(self, sku: str, request: Any, context: Any = None) -> Any:
        """Capacities and rates of the cluster, with simulated collectives; `hbm_gb` and `ddr_gb` of a request win."""
        of = self.scenario_of(sku, request)
        machine = machine_of(of, "model")
        for key, stated in (("hbm_cap", request.hbm_gb), ("ddr_cap", request.ddr_gb)):
            if stated is not None:
                machine[key] = int(stated * 2**30)
        if getattr(request, "pod_size", None) is not None:
            machine["pod_size"] = request.pod_size
        topology = self._use().Topology(generalized_comms_bandwidths=CommsBandwidth(of), **machine)
        self._built.append((topology, sku))
        return topology

    def build_storage_reservation(self, sku: str, request: Any) -> Any:
        """As `otherwise` reserves."""
        if request.storage_reservation is not None:
            return request.storage_reservation
        provider = self._otherwise if self._otherwise is not None else self._use().DefaultPlannerProvider()
        return provider.build_storage_reservation(sku, request)

    def build_planner(self, sku: str | None = None, *, topology: Any, storage_reservation: Any, ctx: Any) -> Any:
        """TorchRec's planner, which rates proposals by the simulation."""
        built = [of for known, of in self._built if known is topology]
        name = sku if sku is not None else built[0] if built else ""
        if not name:
            raise wrong("nobody says which machine the topology is of", "Give `sku`, or the topology of build_topology()",
                        "sku")
        use, request = self._use(), ctx.request
        model, of = _model_of(request), self.scenario_of(name, request)
        parts: dict[str, Any] = {}
        if self._planners:
            proposer = Proposer(of, model, planners=self._planners, classes=self._classes)
            parts["proposer"] = [proposer, use.GreedyProposer()]
            parts["partitioner"] = Partitioner(proposer, use.GreedyPerfPartitioner(), classes=self._classes)
        config = getattr(request, "planner_config", None)
        return use.EmbeddingShardingPlanner(
            topology=topology, batch_size=request.batch_size, storage_reservation=storage_reservation,
            constraints=request.constraints, performance_model=PerfModel(of, model),
            debug=getattr(config, "debug", False), timeout_seconds=getattr(config, "timeout_seconds", None), **parts)

    def simulate(self, sku: str, request: Any, sharding_plan: Any) -> Simulation:
        """The iteration of a plan of this request, such as a result of the dry run holds."""
        return simulate(self.scenario_of(sku, request), plan=from_sharding_plan(sharding_plan, _model_of(request)))

    def _use(self) -> Any:
        return self._classes if self._classes is not None else _planner_classes()


def _model_of(request: Any) -> Any:
    model = request.model
    return model if hasattr(model, "named_modules") or not callable(model) else model()


def _planner_classes() -> Any:
    """The classes of which the installed TorchRec builds a planner."""
    try:
        from torchrec.distributed.planner import EmbeddingShardingPlanner, Topology
        from torchrec.distributed.planner.partitioners import GreedyPerfPartitioner
        from torchrec.distributed.planner.proposers import GreedyProposer
        from torchrec.distributed.planner.provider import DefaultPlannerProvider
    except ImportError as missing:
        raise wrong(f"TorchRec has no dry run here ({missing})", "Install a version of 2026, or give its classes as `classes`",
                    "classes") from missing
    return types.SimpleNamespace(
        DefaultPlannerProvider=DefaultPlannerProvider, EmbeddingShardingPlanner=EmbeddingShardingPlanner,
        GreedyPerfPartitioner=GreedyPerfPartitioner, GreedyProposer=GreedyProposer, Topology=Topology)
