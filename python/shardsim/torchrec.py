"""shardsim in the process of a TorchRec user: a model becomes a scenario, plans go in and out, and TorchRec's planner
can ask for simulated times.

Nothing here imports TorchRec until a plan is made for it. Models, options and plans are taken by the attributes that
TorchRec's classes have (release 1.0 to the commit of August 2026), so that whatever behaves like them will do.

    scenario = shardsim.torchrec.scenario(model, cluster="dgx_h100", batch_per_gpu=4096)
    plan = shardsim.plan(scenario, planner="search")
    sharding_plan = shardsim.torchrec.to_sharding_plan(plan, model)
    model = DistributedModelParallel(model, plan=sharding_plan)
"""

from __future__ import annotations

import json
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shardsim import _core, arguments
from shardsim.errors import Error, InfeasibleError, InputError
from shardsim.results import Plan
from shardsim.scenario import Scenario
from shardsim.tasks import Evaluator

# The sharding types that TorchRec's modules execute; of an EmbeddingCollection the first four.
POOLED_TYPES = ("data_parallel", "table_wise", "column_wise", "row_wise", "table_row_wise", "table_column_wise",
                "grid_shard")
SEQUENCE_TYPES = POOLED_TYPES[:4]
# TorchRec's EmbeddingComputeKernel (distributed/embedding_types.py, August 2026).
COMPUTE_KERNELS = ("dense", "fused", "fused_uvm", "fused_uvm_caching", "key_value", "ssd_virtual_table",
                   "dram_virtual_table", "dram_ssd_virtual_table", "fused_triton", "unfused_tpu", "quant", "quant_uvm",
                   "quant_uvm_caching", "customized_kernel")


@dataclass(frozen=True)
class _Table:
    path: str  # of its module
    pooled: bool
    weighted: bool
    config: Any

    @property
    def name(self) -> str:
        return str(self.config.name)


def _wrong(what: str, remedy: str, source: str = "") -> InputError:
    start = f"{source}: " if source else ""
    return InputError(f"{start}{what}. {remedy}.", source)


def tables_of(model: Any) -> list[_Table]:
    """The tables of every EmbeddingBagCollection and EmbeddingCollection of a model, with the paths of their modules."""
    if not hasattr(model, "named_modules"):
        raise _wrong(f"{arguments.kind_of(model)} has no named_modules()", "Give the model before it is sharded", "model")
    found: list[_Table] = []
    for path, module in model.named_modules():
        if hasattr(module, "embedding_bag_configs"):
            weighted = bool(module.is_weighted()) if hasattr(module, "is_weighted") else False
            found += [_Table(path, True, weighted, config) for config in module.embedding_bag_configs()]
        elif hasattr(module, "embedding_configs"):
            found += [_Table(path, False, False, config) for config in module.embedding_configs()]
    if not found:
        raise _wrong("the model holds no EmbeddingBagCollection and no EmbeddingCollection",
                     "Give the model before it is sharded", "model")
    seen: set[tuple[str, str]] = set()
    for table in found:
        if (table.path, table.name) in seen:
            raise _wrong(f"two tables are {table.name!r} of the module {table.path!r}, and a plan could not tell them apart",
                         "Give the tables names of their own", "model")
        seen.add((table.path, table.name))
    return found


def _word(value: Any) -> str:
    """Of an enumeration of TorchRec, or of the text that it stands for: "fp16", "sum"."""
    return str(getattr(value, "value", value)).lower()


def _is_label(path: str) -> bool:
    """True for what a workload takes as the path of a module."""
    return re.fullmatch(r"[A-Za-z0-9_.-]{1,256}", path) is not None


def _module(path: str, pooled: bool) -> str:
    """The path of a module in plans of this workload."""
    return path if _is_label(path) else "ebc" if pooled else "ec"


def _names(tables: Sequence[_Table]) -> list[str]:
    """The name of each table in the workload: its own, or PATH.NAME where several modules have one of that name."""
    count: dict[str, int] = {}
    for table in tables:
        count[table.name] = count.get(table.name, 0) + 1
    return [table.name if count[table.name] == 1 else f"{table.path}.{table.name}" for table in tables]


def _factors(constraint: Any, features: Sequence[str], source: str) -> list[float]:
    factors = list(getattr(constraint, "pooling_factors", None) or [1.0])
    if len(factors) == 1:
        factors *= len(features)
    if len(factors) != len(features):
        raise _wrong(f"{len(factors)} pooling factors for {len(features)} features", "Give one for each feature", source)
    return [float(factor) for factor in factors]


def _each_feature(constraint: Any, field: str, features: Sequence[str]) -> list[Any]:
    """A list of a ParameterConstraints that has a value for each feature; [] where it has none."""
    values = list(getattr(constraint, field, None) or [])
    if values and len(values) != len(features):
        raise _wrong(f"{len(values)} {field} for {len(features)} features", "Give one for each feature", "constraints")
    return values


def _table_map(name: str, table: _Table, constraint: Any, more: Mapping[str, Any]) -> dict[str, Any]:
    config = table.config
    features = [str(each) for each in config.feature_names]
    factors = _factors(constraint, features, f"constraints[{table.name!r}]")
    made: dict[str, Any] = {
        "name": name,
        "rows": int(config.num_embeddings),
        "dim": int(config.embedding_dim),
        "dtype": _word(getattr(config, "data_type", "fp32")),
        "kind": "pooled" if table.pooled else "sequence",
    }
    if _is_label(table.path):
        made["module"] = table.path
    if table.pooled:
        poolings = _each_feature(constraint, "num_poolings", features) or [1.0] * len(features)
        made["pooling"] = _word(getattr(config, "pooling", "sum"))
        made["features"] = [
            {"name": feature, "pooling_factor": factor, "num_poolings": float(count), "weighted": table.weighted}
            for feature, factor, count in zip(features, factors, poolings)
        ]
        for feature, batch in zip(made["features"], _each_feature(constraint, "batch_sizes", features)):
            feature["batch"] = int(batch)
    else:
        made["features"] = features
        made["average_length"] = sum(factors)
    made.update(more)
    return made


def _constraint_map(constraint: Any) -> dict[str, Any]:
    """A ParameterConstraints as a scenario has it: the ways of sharding that it allows."""
    made: dict[str, Any] = {}
    for key in ("sharding_types", "compute_kernels"):
        allowed = getattr(constraint, key, None)
        if allowed:
            made[key] = [_word(each) for each in allowed]
    if getattr(constraint, "min_partition", None) is not None:
        made["min_partition"] = int(constraint.min_partition)
    load_factor = getattr(getattr(constraint, "cache_params", None), "load_factor", None)
    if load_factor is not None:
        made["cache_load_factor"] = float(load_factor)
    return made


# Fields of a ParameterConstraints that change what TorchRec does, and nothing here.
_LEFT_OUT = ("enforce_hbm", "stochastic_rounding", "output_dtype", "device_group", "key_value_params")


def _warn_of_left_out(constraints: Mapping[str, Any]) -> None:
    for name, constraint in constraints.items():
        fields = [field for field in _LEFT_OUT if getattr(constraint, field, None) is not None]
        if fields:
            warnings.warn(f"constraints[{name!r}]: {', '.join(fields)} change nothing here", stacklevel=3)


def workload(
    model: Any,
    *,
    batch_per_gpu: int,
    constraints: Mapping[str, Any] | None = None,
    tables: Mapping[str, Mapping[str, Any]] | None = None,
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The workload of a model, as docs/formats/workload.md has it.

    batch_per_gpu: samples of each rank in an iteration.
    constraints: TorchRec's ParameterConstraints by table; their pooling factors say how many ids a sample has of each
        feature. Without them it is one, which is seldom true: say it there, or by `tables`.
    tables: further keys of tables, by name, such as {"t1": {"access": {"family": "zipf", "exponent": 1.05}}}.
    more: further keys of the workload, such as `dense`, `optimizer`, `pipeline`, `wire_dtype`.
    """
    known = arguments.mapping(constraints or {}, "constraints", '{"TABLE": ParameterConstraints(...)}')
    found = tables_of(model)
    names = _names(found)
    extra = {table: arguments.mapping(keys, f"tables[{table!r}]", '{"access": {...}}')
             for table, keys in arguments.mapping(tables or {}, "tables", '{"TABLE": {...}}').items()}
    absent = [name for name in [*known, *extra] if name not in names and name not in {each.name for each in found}]
    if absent:
        raise _wrong(f"the model has no table {absent[0]!r}", f"Known: {', '.join(names[:12])}", "constraints or tables")
    made = [
        _table_map(name, table, known.get(name, known.get(table.name)), extra.get(name, extra.get(table.name, {})))
        for name, table in zip(names, found)
    ]
    name = re.sub(r"[^a-z0-9_]", "_", type(model).__name__.lower())[:64]
    return {"schema": "shardsim.workload/1", "name": name, "batch_per_gpu": batch_per_gpu,
            "tables": made, **arguments.mapping(more or {}, "more", '{"optimizer": {...}}')}


def scenario(
    model: Any,
    *,
    cluster: str | Mapping[str, Any],
    batch_per_gpu: int,
    planner: str | Mapping[str, Any] = "torchrec",
    constraints: Mapping[str, Any] | None = None,
    tables: Mapping[str, Mapping[str, Any]] | None = None,
    more: Mapping[str, Any] | None = None,
    software: str | None = "torchrec_eager",
) -> Scenario:
    """One case, "model", of a model on a cluster: a shipped one by its name, a file, or a dict. The rest: workload().

    Plans keep to what TorchRec executes: load them by to_sharding_plan().
    """
    limits = arguments.mapping(constraints or {}, "constraints", '{"TABLE": ParameterConstraints(...)}')
    _warn_of_left_out(limits)
    allowed = {name: _constraint_map(each) for name, each in limits.items()}
    allowed = {name: each for name, each in allowed.items() if each}
    allowed.setdefault("*", {})["torchrec_only"] = True
    for name, each in allowed.items():
        each["torchrec_only"] = True
    source: dict[str, Any] = {
        "schema": "shardsim.scenario/1",
        "title": f"{type(model).__name__} in TorchRec",
        "cluster": cluster if isinstance(cluster, str) else dict(arguments.mapping(cluster, "cluster", '"dgx_h100", or {"base": ...}')),
        "workload": workload(model, batch_per_gpu=batch_per_gpu, constraints=constraints, tables=tables, more=more),
        "constraints": allowed,
        "cases": [{"name": "model", "planner": {"name": planner} if isinstance(planner, str) else dict(planner)}],
    }
    if software is not None:
        source["software"] = software
    return Scenario(source)


def _torchrec_types() -> Any:
    """TorchRec's and PyTorch's classes of plans."""
    try:
        from torch.distributed._shard.sharding_spec import EnumerableShardingSpec, ShardMetadata
        from torchrec.distributed.types import EmbeddingModuleShardingPlan, ParameterSharding, ShardingPlan
    except ImportError as missing:
        raise _wrong(f"TorchRec is not here ({missing})", "Install it, or give its classes as `classes`") from missing
    return types.SimpleNamespace(
        EnumerableShardingSpec=EnumerableShardingSpec, ShardMetadata=ShardMetadata, ParameterSharding=ParameterSharding,
        EmbeddingModuleShardingPlan=EmbeddingModuleShardingPlan, ShardingPlan=ShardingPlan)


def _plan_dict(plan: Plan | str | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(plan, Plan):
        return plan.to_dict()
    if not isinstance(plan, str):
        return arguments.mapping(plan, "plan", 'a Plan, its JSON as a text, or {"plan": {...}}')
    try:
        made = json.loads(plan)
    except json.JSONDecodeError as error:
        raise _wrong(f"no JSON ({error})", "Give a plan as Plan.text has it", "plan") from None
    return arguments.mapping(made, "plan", '{"plan": {...}}')


def _entries(plan: Plan | str | Mapping[str, Any], names: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """The entry of each table by its name in the workload, which is PATH.NAME where several modules have that name."""
    known = set(names)
    entries: dict[str, Mapping[str, Any]] = {}
    modules = _plan_dict(plan).get("plan")
    for path, tables in arguments.mapping(modules, "plan['plan']", '{"plan": {"MODULE": {"TABLE": {...}}}}').items():
        for table, entry in arguments.mapping(tables, f"plan['plan'][{path!r}]", '{"TABLE": {...}}').items():
            _require_keys(entry, f"plan['plan'][{path!r}][{table!r}]")
            qualified = f"{path}.{table}"
            entries[qualified if table not in known and qualified in known else table] = entry
    return entries


def _require_keys(entry: Any, place: str) -> None:
    arguments.mapping(entry, place, '{"sharding_type": ..., "compute_kernel": ..., "ranks": [...]}')
    absent = [key for key in ("sharding_type", "compute_kernel", "ranks") if entry.get(key) is None]
    if absent:
        raise _wrong(f"the key {absent[0]!r} is missing", "Give a plan as Plan.to_dict() has it", place)


def _refuse_unexecutable(table: _Table, name: str, entry: Mapping[str, Any]) -> None:
    kind = entry["sharding_type"]
    allowed = POOLED_TYPES if table.pooled else SEQUENCE_TYPES
    if kind not in allowed:
        module = "EmbeddingBagCollection" if table.pooled else "EmbeddingCollection"
        raise _wrong(f"TorchRec cannot execute {kind} in an {module}",
                     "Plan with torchrec_only (the scenarios of this module do)", f"table {name!r}")
    kernel = entry["compute_kernel"]
    if kernel not in COMPUTE_KERNELS:
        raise _wrong(f"TorchRec has no compute kernel {kernel!r}", f"Known: {', '.join(COMPUTE_KERNELS)}", f"table {name!r}")


def _spec(entry: Mapping[str, Any], classes: Any) -> Any:
    shards = entry.get("shards")
    if not shards:
        return None
    return classes.EnumerableShardingSpec([
        classes.ShardMetadata(shard_offsets=list(each["shard_offsets"]), shard_sizes=list(each["shard_sizes"]),
                              placement=each["placement"])
        for each in shards
    ])


def to_sharding_plan(plan: Plan | str | Mapping[str, Any], model: Any, *, classes: Any = None) -> Any:
    """A plan as TorchRec's ShardingPlan, by the module paths of the model: what DistributedModelParallel takes.

    classes: an object with ShardingPlan, EmbeddingModuleShardingPlan, ParameterSharding, EnumerableShardingSpec and
        ShardMetadata; those of the installed TorchRec where it is not given.
    Errors: InputError for a table that the plan or the model lacks, and for what TorchRec cannot execute.
    """
    use = classes if classes is not None else _torchrec_types()
    tables = tables_of(model)
    modules: dict[str, Any] = {}
    names = _names(tables)
    entries = _entries(plan, names)
    for name in entries:
        if name not in names:
            raise _wrong(f"the model has no table {name!r}", f"Known: {', '.join(names[:12])}", "plan")
    for name, table in zip(names, tables):
        if name not in entries:
            raise _wrong("the plan does not place it", "Make the plan for this model", f"table {name!r}")
        entry = entries[name]
        _refuse_unexecutable(table, name, entry)
        module = modules.setdefault(table.path, use.EmbeddingModuleShardingPlan())
        module[table.name] = use.ParameterSharding(
            sharding_type=entry["sharding_type"], compute_kernel=entry["compute_kernel"], ranks=list(entry["ranks"]),
            sharding_spec=_spec(entry, use))
    return use.ShardingPlan(plan=modules)


def _placement_text(placement: Any) -> str:
    return placement if isinstance(placement, str) else str(placement)


def _shard_maps(sharding: Any) -> list[dict[str, Any]]:
    spec = getattr(sharding, "sharding_spec", None)
    return [
        {"shard_offsets": [int(each) for each in shard.shard_offsets],
         "shard_sizes": [int(each) for each in shard.shard_sizes], "placement": _placement_text(shard.placement)}
        for shard in (spec.shards if spec is not None else [])
    ]


def from_sharding_plan(sharding_plan: Any, model: Any) -> Plan:
    """TorchRec's ShardingPlan for this model, as `simulate(..., plan=...)` and an Evaluator take it."""
    tables = tables_of(model)
    names = {(table.path, table.name): name for name, table in zip(_names(tables), tables)}
    pooled = {(table.path, table.name): table.pooled for table in tables}
    modules: dict[str, dict[str, Any]] = {}
    if not hasattr(sharding_plan, "plan"):
        raise _wrong(f"{arguments.kind_of(sharding_plan)} has no attribute plan", "Give a ShardingPlan", "sharding_plan")
    for path, shardings in sharding_plan.plan.items():
        for table, sharding in shardings.items():
            if (path, table) not in names:
                raise _wrong(f"the model has no table {table!r} in a module {path!r}",
                             "Give the model that the plan was made for", "sharding_plan")
            entry: dict[str, Any] = {"sharding_type": _word(sharding.sharding_type),
                                     "compute_kernel": _word(sharding.compute_kernel),
                                     "ranks": [int(rank) for rank in sharding.ranks or []]}
            shards = _shard_maps(sharding)
            if shards:
                entry["shards"] = shards
            modules.setdefault(_module(path, pooled[path, table]), {})[names[path, table]] = entry
    return Plan(json.dumps({"plan": modules}))


def _option_entry(option: Any, placement: Callable[[int], str]) -> dict[str, Any]:
    ranks = [int(shard.rank) for shard in option.shards]
    entry: dict[str, Any] = {"sharding_type": _word(option.sharding_type),
                             "compute_kernel": _word(option.compute_kernel), "ranks": ranks}
    if entry["sharding_type"] != "data_parallel":
        entry["shards"] = [
            {"shard_offsets": list(shard.offset), "shard_sizes": list(shard.size), "placement": placement(rank)}
            for shard, rank in zip(option.shards, ranks)
        ]
    return entry


class PerfModel:
    """TorchRec's PerfModel: rates a placed proposal by the milliseconds of its simulated iteration.

    EmbeddingShardingPlanner(..., performance_model=shardsim.torchrec.PerfModel(scenario, model))

    Its planner keeps the proposal with the lowest rating; one that does not fit in memory here is rated infinite.
    """

    def __init__(self, scenario: Scenario, model: Any, case: str = "model") -> None:
        tables = tables_of(model)
        self._names = {(table.path, table.name): name for name, table in zip(_names(tables), tables)}
        self._pooled = {(table.path, table.name): table.pooled for table in tables}
        with scenario.told_by_path():
            self._rater = _core.Rater(scenario.request(), case)
            self._ranks_per_node = self._rater.ranks_per_node()

    def _placement(self, rank: int) -> str:
        return f"rank:{rank}/cuda:{rank % self._ranks_per_node}"

    def plan_of(self, options: Iterable[Any]) -> dict[str, Any]:
        """The plan that these ShardingOptions, with a rank in each shard, stand for."""
        modules: dict[str, dict[str, Any]] = {}
        for option in options:
            key = (option.path, option.name)
            if key not in self._names:
                raise _wrong(f"the model has no table {option.name!r} in a module {option.path!r}",
                             "Give the model that the planner plans for", "proposal")
            modules.setdefault(_module(option.path, self._pooled[key]), {})[self._names[key]] = _option_entry(
                option, self._placement)
        return {"plan": modules}

    def rate(self, plan: list[Any]) -> float:
        """Milliseconds of the iteration; infinite where the plan does not fit in memory."""
        try:
            return self._rater.iteration_ms(json.dumps(self.plan_of(plan)))
        except InfeasibleError:
            return float("inf")


class Stats:
    """TorchRec's Stats: prints what shardsim says of the plan that TorchRec's planner has chosen, beside its estimate.

    EmbeddingShardingPlanner(..., stats=[EmbeddingStats(), shardsim.torchrec.Stats(scenario, model)])

    It never makes a planner fail: what goes wrong here is printed in place of the times.
    """

    def __init__(self, scenario: Scenario, model: Any, case: str = "model",
                 out: Callable[[str], object] | None = None) -> None:
        self._scenario, self._model, self._case = scenario, model, case
        self._out = out if out is not None else lambda text: print(text, file=sys.stderr)

    def log(self, sharding_plan: Any, topology: Any = None, batch_size: int = 0, storage_reservation: Any = None,
            num_proposals: int = 0, num_plans: int = 0, run_time: float = 0, best_plan: Any = None,
            constraints: Any = None, sharders: Any = None, enumerator: Any = None, debug: bool = False,
            debug_stats: Any = None) -> None:
        """As TorchRec's planner calls it, once at its end."""
        try:
            self._out(self._text(sharding_plan, best_plan))
        except Exception as error:  # a job never ends because of a table about it
            self._out(f"shardsim: no simulation of this plan: {error}")

    def _text(self, sharding_plan: Any, best_plan: Any) -> str:
        evaluator = Evaluator(self._scenario, self._case, from_sharding_plan(sharding_plan, self._model))
        ours = evaluator.simulate()
        lines = [f"shardsim: {ours.iteration_ms:.3f} ms an iteration, {ours.samples_per_s:,.0f} samples/s"]
        if ours.interval is not None:
            lines.append(f"shardsim: {100 * ours.interval.coverage:.0f} % lie between {ours.interval.low_ms:.3f} and "
                         f"{ours.interval.high_ms:.3f} ms")
        estimate = _critical_path_ms(best_plan)
        if estimate is not None:
            lines.append(f"TorchRec:  {estimate:.3f} ms on its slowest rank, embeddings alone")
        lines.append(f"shardsim: {ours.limited_by} limits it, {ours.limit_share_pct:.0f} % of the time; memory "
                     f"{ours.peak_bytes / 2**30:.2f} of {ours.memory_capacity_bytes / 2**30:.2f} GiB")
        return "\n".join(lines)


def _critical_path_ms(best_plan: Any) -> float | None:
    """The largest sum of TorchRec's own estimates over the shards of a rank."""
    ranks: dict[int, float] = {}
    for option in best_plan or []:
        for shard in option.shards:
            total = getattr(getattr(shard, "perf", None), "total", None)
            if total is None or shard.rank is None:
                return None
            ranks[shard.rank] = ranks.get(shard.rank, 0.0) + float(total)
    return max(ranks.values(), default=None)


__all__ = ["Error", "PerfModel", "Stats", "from_sharding_plan", "scenario", "tables_of", "to_sharding_plan", "workload"]
