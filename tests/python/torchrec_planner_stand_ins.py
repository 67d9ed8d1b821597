"""Stand-ins of TorchRec's planner, for tests where it is not installed: topology, enumerator, partitioner, the planner's
loop over proposers, and the executor of a dry run.

They have the calls and the order of calls of torchrec/distributed/planner/ (planners.py, types.py, executor.py at
376cac6a); options are few, estimates are those of docs/torchrec.md without penalties, and nothing here is a reference.
"""

import copy
import enum
from dataclasses import dataclass, field
from typing import Any, Optional

from torchrec_stand_ins import (EmbeddingModuleShardingPlan, EnumerableShardingSpec, ParameterSharding,
                                Perf, Shard, ShardingOption, ShardingPlan, ShardMetadata)


class CollectiveType(enum.Enum):
    ALL_TO_ALL = "all_to_all"
    REDUCE_SCATTER = "reduce_scatter"
    ALL_GATHER = "all_gather"
    ALL_REDUCE = "all_reduce"


class PlannerErrorType(enum.Enum):
    PARTITION = "partition"


class PlannerError(Exception):
    def __init__(self, message, error_type=None):
        super().__init__(message)
        self.error_type = error_type


@dataclass
class Storage:
    hbm: int
    ddr: int = 0

    def __add__(self, other):
        return Storage(self.hbm + other.hbm, self.ddr + other.ddr)

    def fits_in(self, other):
        return self.hbm <= other.hbm and self.ddr <= other.ddr


@dataclass
class DeviceHardware:
    rank: int
    storage: Storage


class Topology:
    def __init__(self, world_size, compute_device, hbm_cap=None, ddr_cap=None, local_world_size=None, hbm_mem_bw=0.0,
                 ddr_mem_bw=0.0, hbm_to_ddr_mem_bw=0.0, intra_host_bw=0.0, inter_host_bw=0.0,
                 generalized_comms_bandwidths=None, pod_size=None):
        self.world_size, self.local_world_size = world_size, local_world_size or world_size
        self.compute_device, self.hbm_mem_bw, self.pod_size = compute_device, hbm_mem_bw, pod_size
        self.comms_bandwidths = generalized_comms_bandwidths
        self.devices = [DeviceHardware(rank, Storage(hbm_cap, ddr_cap)) for rank in range(world_size)]


class EmbeddingEnumerator:
    """Every type that the tests need, with the kernel fused: of column_wise halves of the columns alone."""

    def __init__(self, topology, batch_size, types=("data_parallel", "table_wise", "column_wise", "row_wise")):
        self._topology, self._batch, self._types = topology, batch_size, types
        self.estimated = []

    def enumerate(self, module, sharders):
        options = []
        for path, child in module.named_modules():
            for read in ("embedding_bag_configs", "embedding_configs"):
                for config in getattr(child, read, list)():
                    options += [self._option(path, config, kind) for kind in self._types]
        self.populate_estimates(options)
        return options

    def populate_estimates(self, sharding_options):
        self.estimated.append(len(sharding_options))
        world, local = self._topology.world_size, self._topology.local_world_size
        for option in sharding_options:
            kind = CollectiveType.REDUCE_SCATTER if option.sharding_type == "row_wise" else CollectiveType.ALL_TO_ALL
            rate = self._topology.comms_bandwidths.get_bw(local, world, kind)
            for shard in option.shards:
                rows, columns = shard.size
                shard.storage = Storage(4 * rows * columns)
                shard.perf = Perf(self._batch * world * columns * 4 * (1 / rate + 2 / self._topology.hbm_mem_bw))

    def _option(self, path, config, kind):
        rows, columns, world = config.num_embeddings, config.embedding_dim, self._topology.world_size
        block = -(-rows // world)
        shards = {
            "data_parallel": lambda: [Shard([rows, columns], [0, 0]) for _ in range(world)],
            "table_wise": lambda: [Shard([rows, columns], [0, 0])],
            "column_wise": lambda: [Shard([rows, columns // 2], [0, part * columns // 2]) for part in range(2)],
            "row_wise": lambda: [Shard([max(0, min(block, rows - block * rank)), columns], [min(rows, block * rank), 0])
                                 for rank in range(world)],
        }[kind]()
        return ShardingOption(config.name, path, kind, "dense" if kind == "data_parallel" else "fused", shards)


class GreedyPerfPartitioner:
    """Shards in rank order, or each on the rank with most room."""

    def partition(self, proposal, storage_constraint):
        room = [device.storage.hbm for device in storage_constraint.devices]
        for option in proposal:
            even = option.sharding_type in ("data_parallel", "row_wise")
            for at, shard in enumerate(option.shards):
                rank = at if even else room.index(max(room))
                room[rank] -= shard.storage.hbm
                shard.rank = rank
        if min(room) < 0:
            raise PlannerError(message="no room", error_type=PlannerErrorType.PARTITION)
        return proposal


class GreedyProposer:
    """The first option of each table, once."""

    def load(self, search_space, enumerator=None):
        first = {}
        for option in search_space:
            first.setdefault((option.path, option.name), option)
        self._proposals = [list(first.values())]

    def propose(self):
        return self._proposals.pop() if self._proposals else None

    def feedback(self, partitionable, plan=None, perf_rating=None, storage_constraint=None):
        pass


class HeuristicalStorageReservation:
    def __init__(self, percentage):
        self.percentage = percentage

    def reserve(self, topology, **_):
        reserved = copy.deepcopy(topology)
        for device in reserved.devices:
            device.storage.hbm = int((1 - self.percentage) * device.storage.hbm)
        return reserved


class EmbeddingShardingPlanner:
    def __init__(self, topology, batch_size=512, storage_reservation=None, constraints=None, proposer=None,
                 partitioner=None, performance_model=None, debug=False, timeout_seconds=None):
        self._topology, self._reservation = topology, storage_reservation or HeuristicalStorageReservation(0.15)
        self._enumerator = EmbeddingEnumerator(topology, batch_size)
        self._proposers = proposer if isinstance(proposer, list) else [proposer or GreedyProposer()]
        self._partitioner = partitioner or GreedyPerfPartitioner()
        self._perf_model = performance_model
        self._best, self.num_proposals = [], 0

    def plan(self, module, sharders):
        constraint = self._reservation.reserve(topology=self._topology, module=module, sharders=sharders)
        space = self._enumerator.enumerate(module=module, sharders=sharders)
        for proposer in self._proposers:
            proposer.load(search_space=space, enumerator=self._enumerator)
        best, lowest, seen = None, float("inf"), {}
        for proposer in self._proposers:
            proposal = proposer.propose()
            while proposal:
                key = tuple(sorted((each.path, each.name, each.sharding_type, str([shard.size for shard in each.shards]))
                                   for each in proposal))
                if key in seen:
                    proposer.feedback(partitionable=seen[key][0], plan=seen[key][1], perf_rating=seen[key][2],
                                      storage_constraint=constraint)
                    proposal = proposer.propose()
                    continue
                self.num_proposals += 1
                try:
                    plan = self._partitioner.partition(proposal=proposal, storage_constraint=constraint)
                    rating = self._perf_model.rate(plan=plan)
                    if rating < lowest:
                        best, lowest = copy.deepcopy(plan), rating
                    seen[key] = (True, plan, rating)
                    proposer.feedback(partitionable=True, plan=plan, perf_rating=rating, storage_constraint=constraint)
                except PlannerError:
                    seen[key] = (False, proposal, None)
                    proposer.feedback(partitionable=False, plan=proposal, storage_constraint=constraint)
                for option in proposal:
                    for shard in option.shards:
                        shard.rank = None
                proposal = proposer.propose()
        if best is None:
            raise PlannerError(message="no plan found")
        self._best, self.rating = best, lowest
        return self._to_sharding_plan(best)

    def get_selected_options(self):
        return self._best

    def _to_sharding_plan(self, options):
        modules = {}
        for option in options:
            ranks = [shard.rank for shard in option.shards]
            spec = EnumerableShardingSpec([
                ShardMetadata(shard.offset, shard.size, f"rank:{rank}/cuda:{rank % self._topology.local_world_size}")
                for shard, rank in zip(option.shards, ranks)])
            made = ParameterSharding(option.sharding_type, option.compute_kernel, ranks,
                                     None if option.sharding_type == "data_parallel" else spec)
            modules.setdefault(option.path, EmbeddingModuleShardingPlan())[option.name] = made
        return ShardingPlan(modules)


@dataclass
class PlannerConfig:
    debug: bool = False
    timeout_seconds: Optional[int] = None


@dataclass
class ShardingPlanRequest:
    model: Any
    sharders: list
    world_size: int
    local_world_size: int
    batch_size: int
    pod_size: Optional[int] = None
    storage_reservation: Any = None
    constraints: Optional[dict] = None
    hbm_gb: Optional[float] = None
    ddr_gb: Optional[float] = None
    planner_config: PlannerConfig = field(default_factory=PlannerConfig)


@dataclass
class PlannerSessionContext:
    request: ShardingPlanRequest


class DefaultPlannerProvider:
    def build_storage_reservation(self, sku, request):
        return HeuristicalStorageReservation(0.15)


@dataclass
class ShardingPlanResult:
    sku: str
    success: bool
    sharding_plan: Optional[ShardingPlan] = None
    planner_failure_reason: Optional[str] = None


class DefaultPlannerExecutor:
    def __init__(self, provider):
        self._provider = provider

    def run(self, sku, ctx, pg=None):
        topology = self._provider.build_topology(sku, ctx.request)
        reservation = self._provider.build_storage_reservation(sku, ctx.request)
        planner = self._provider.build_planner(sku, topology=topology, storage_reservation=reservation, ctx=ctx)
        try:
            return ShardingPlanResult(sku, True, planner.plan(ctx.request.model, ctx.request.sharders))
        except PlannerError as error:
            return ShardingPlanResult(sku, False, planner_failure_reason=str(error))


