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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shardsim import _core, arguments
from shardsim.errors import Error, InfeasibleError, InputError
from shardsim.plan_text import PlanSource, PlanText
from shardsim.results import Plan
from shardsim.scenario import Scenario
from shardsim.tasks import Evaluator

# What of ParameterConstraints a scenario or its tables have, or the tables say themselves.
TAKEN = ("sharding_types", "compute_kernels", "min_partition", "device_group", "pooling_factors", "num_poolings",
         "feature_names", "is_weighted")
CACHED_KERNELS = ("fused_uvm_caching", "quant_uvm_caching")


class NotSimulatedWarning(UserWarning):
    """Something that the constraints of a model say has no part in its simulation."""


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
    """The tables of every EmbeddingBagCollection and EmbeddingCollection of a model, with their modules' paths."""
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


def _check_one_each(values: Sequence[Any], features: Sequence[str], what: str, table: str) -> None:
    if len(values) != len(features):
        raise _wrong(f"{len(values)} {what} for {len(features)} features", "Give one for each feature",
                     f"constraints[{table!r}]")


def _factors(constraint: Any, features: Sequence[str], table: str) -> list[float]:
    factors = list(getattr(constraint, "pooling_factors", None) or [1.0])
    if len(factors) == 1:
        factors *= len(features)
    _check_one_each(factors, features, "pooling factors", table)
    return [float(factor) for factor in factors]


def _table_map(name: str, table: _Table, constraint: Any) -> dict[str, Any]:
    config = table.config
    features = [str(each) for each in config.feature_names]
    factors = _factors(constraint, features, name)
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
        poolings = list(getattr(constraint, "num_poolings", None) or [1.0] * len(features))
        _check_one_each(poolings, features, "numbers of poolings", name)
        made["pooling"] = _word(getattr(config, "pooling", "sum"))
        made["features"] = [
            {"name": feature, "pooling_factor": factor, "num_poolings": float(count), "weighted": table.weighted}
            for feature, factor, count in zip(features, factors, poolings)
        ]
        sizes = [int(each) for each in getattr(constraint, "batch_sizes", None) or []]
        if sizes:
            _check_one_each(sizes, features, "batch sizes", name)
            for feature, size in zip(made["features"], sizes):
                feature["batch"] = size
    else:
        made["features"] = features
        made["average_length"] = sum(factors)
    return made


def _share_features(made: Sequence[dict[str, Any]], stated: Sequence[bool]) -> None:
    """Features of pooled tables without constraints are those that another table's constraints tell of."""
    told = {feature["name"]: feature for each, is_stated in zip(made, stated) if is_stated and each["kind"] == "pooled"
            for feature in each["features"]}
    for each, is_stated in zip(made, stated):
        for feature in each["features"] if each["kind"] == "pooled" and not is_stated else []:
            of = told.get(feature["name"], {})
            feature.update({key: of[key] for key in ("pooling_factor", "num_poolings", "batch") if key in of})


def _complete_batches(made: Sequence[dict[str, Any]], batch_per_gpu: int) -> None:
    """In a module where a feature has a batch of its own, every feature has one."""
    pooled = [each for each in made if each["kind"] == "pooled"]
    modules = {each.get("module") for each in pooled if any("batch" in feature for feature in each["features"])}
    for each in pooled:
        for feature in each["features"] if each.get("module") in modules else []:
            feature.setdefault("batch", batch_per_gpu)


def _constraint_of(known: Mapping[str, Any], name: str, table: _Table) -> Any:
    """By the name in the workload, or as TorchRec has it, by the table's own name in whatever module."""
    return known.get(name, known.get(table.name))


def _load_factor(of: Any) -> float | None:
    """Of constraints, or of the sharding of a table."""
    factor = getattr(getattr(of, "cache_params", None), "load_factor", None)
    return None if factor is None else float(factor)


def _allows_cache(constraint: Any) -> bool:
    return any(_word(each) in CACHED_KERNELS for each in getattr(constraint, "compute_kernels", None) or [])


def _constraint_map(constraint: Any) -> dict[str, Any]:
    """A ParameterConstraints as a scenario has it: the ways of sharding that it allows."""
    made: dict[str, Any] = {}
    for key in ("sharding_types", "compute_kernels"):
        allowed = getattr(constraint, key, None)
        if allowed:
            made[key] = [_word(each) for each in allowed]
    least = getattr(constraint, "min_partition", None)
    if least is not None:
        made["min_partition"] = int(least)
    factor = _load_factor(constraint)
    if factor is not None and _allows_cache(constraint):
        made["cache_load_factor"] = factor
    group = getattr(constraint, "device_group", None)
    if group is not None:
        made["device_group"] = _word(group)
    return made


def _says(value: Any) -> bool:
    """False for the values by which a dataclass says nothing."""
    return value is not None and value is not False and not (isinstance(value, (Mapping, Sequence)) and not value)


def _left_out_of_cache(constraint: Any) -> Iterator[str]:
    for key, value in sorted(vars(constraint.cache_params).items()):
        if key == "load_factor":
            if value is not None and not _allows_cache(constraint):
                yield "cache_params.load_factor: compute_kernels allow no kernel with a cache"
        elif key == "prefetch_pipeline" and value:
            yield "cache_params.prefetch_pipeline: say \"pipeline\": \"prefetch_sparse_dist\" in `more`"
        elif _says(value):
            yield f"cache_params.{key}"


def _left_out(table: _Table, constraint: Any) -> Iterator[str]:
    """What is not simulated of a table's constraints."""
    for key, value in sorted(vars(constraint).items()) if constraint is not None else []:
        if key in TAKEN or not _says(value):
            continue
        if key == "batch_sizes":
            if not table.pooled:
                yield "batch_sizes: only features of pooled tables have a batch of their own"
        elif key == "output_dtype":
            yield "output_dtype: say what is exchanged as \"wire_dtype\", in `tables` or in `more`"
        elif key == "cache_params":
            yield from _left_out_of_cache(constraint)
        else:
            yield key


def _warn_of_left_out(constrained: Iterable[tuple[str, _Table, Any]]) -> None:
    tables: dict[str, list[str]] = {}
    for name, table, constraint in constrained:
        for key in _left_out(table, constraint):
            tables.setdefault(key, []).append(name)
    for key, names in tables.items():
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        what, _, why = key.partition(": ")
        warnings.warn(f"{what} of the constraints is not simulated (tables {shown})" + (f": {why}" if why else ""),
                      NotSimulatedWarning, stacklevel=4)  # of who calls workload() or scenario()


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
        feature. Without them it is one, which is seldom true: say it there, or by `tables`. Their batch_sizes are the
        `batch` of features. A NotSimulatedWarning names what else they say that has no part in a simulation.
    tables: further keys of tables, by name, such as {"t1": {"access": {"family": "zipf", "exponent": 1.05}}}.
    more: further keys of the workload, such as `dense`, `optimizer`, `pipeline`, `wire_dtype`.
    """
    return _workload(model, batch_per_gpu, constraints, tables, more)


def _constraints(given: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return arguments.mapping({} if given is None else given, "constraints", '{"TABLE": ParameterConstraints(...)}')


def _workload(
    model: Any,
    batch_per_gpu: int,
    constraints: Mapping[str, Any] | None,
    tables: Mapping[str, Mapping[str, Any]] | None,
    more: Mapping[str, Any] | None,
) -> dict[str, Any]:
    known = _constraints(constraints)
    found = tables_of(model)
    names = _names(found)
    extra = {table: arguments.mapping(keys, f"tables[{table!r}]", '{"access": {...}}')
             for table, keys in arguments.mapping(tables or {}, "tables", '{"TABLE": {...}}').items()}
    here = {*names, *(each.name for each in found)}
    absent = [name for name in [*known, *extra] if name not in here]
    if absent:
        raise _wrong(f"the model has no table {absent[0]!r}", f"Known: {', '.join(names[:12])}", "constraints or tables")
    constrained = [(name, table, _constraint_of(known, name, table)) for name, table in zip(names, found)]
    _warn_of_left_out(constrained)
    made = [_table_map(name, table, constraint) for name, table, constraint in constrained]
    _share_features(made, [constraint is not None for _, _, constraint in constrained])
    _complete_batches(made, batch_per_gpu)
    for each, name, table in zip(made, names, found):
        each.update(extra.get(name, extra.get(table.name, {})))
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
    known = _constraints(constraints)
    found = tables_of(model)
    allowed = {name: _constraint_map(_constraint_of(known, name, table))
               for name, table in zip(_names(found), found)}
    allowed = {name: each for name, each in allowed.items() if each}
    allowed.setdefault("*", {})["torchrec_only"] = True
    for name, each in allowed.items():
        each["torchrec_only"] = True
    source: dict[str, Any] = {
        "schema": "shardsim.scenario/1",
        "title": f"{type(model).__name__} in TorchRec",
        "cluster": cluster if isinstance(cluster, str) else dict(arguments.mapping(cluster, "cluster", '"dgx_h100", or {"base": ...}')),
        "workload": _workload(model, batch_per_gpu, known, tables, more),
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
        from torchrec.distributed.types import (
            CacheParams,
            EmbeddingModuleShardingPlan,
            ParameterSharding,
            ShardingPlan,
        )
    except ImportError as missing:
        raise _wrong(f"TorchRec is not here ({missing})", "Install it, or give its classes as `classes`") from missing
    return types.SimpleNamespace(
        EnumerableShardingSpec=EnumerableShardingSpec, ShardMetadata=ShardMetadata, CacheParams=CacheParams,
        ParameterSharding=ParameterSharding, EmbeddingModuleShardingPlan=EmbeddingModuleShardingPlan,
        ShardingPlan=ShardingPlan)


def _entries(text: str, names: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """The entry of each table by its name in the workload, which is PATH.NAME where several modules have that name."""
    known = set(names)
    entries: dict[str, Mapping[str, Any]] = {}
    for path, tables in json.loads(text)["plan"].items():
        for table, entry in tables.items():
            qualified = f"{path}.{table}"
            entries[table if table in known else qualified] = entry
    return entries


def _world_size() -> int:
    """Ranks of the process group of this process; 0 where there is none."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return 0
    return int(distributed.get_world_size())


def _model_tables(tables: Sequence[_Table], names: Sequence[str]) -> list[tuple[str, str, str, int, int, bool]]:
    """As the libraries take them. A module whose path is no label has another one in plans of ours."""
    return [(table.path if _is_label(table.path) else "", table.name, name,
             int(table.config.num_embeddings), int(table.config.embedding_dim), table.pooled)
            for name, table in zip(names, tables)]


def _sharding(entry: Mapping[str, Any], ranks: int, classes: Any) -> Any:
    """The ParameterSharding of an entry that was checked; a table that is data_parallel is on all ranks."""
    shards = [
        classes.ShardMetadata(shard_offsets=[int(each) for each in shard["shard_offsets"]],
                              shard_sizes=[int(each) for each in shard["shard_sizes"]], placement=shard["placement"])
        for shard in entry.get("shards") or []
    ]
    on = [int(re.split("[:/]", shard.placement)[1]) for shard in shards]
    factor = (entry.get("cache_params") or {}).get("load_factor")
    cache = {} if factor is None else {"cache_params": classes.CacheParams(load_factor=float(factor))}
    return classes.ParameterSharding(
        sharding_type=entry["sharding_type"],
        compute_kernel=entry.get("compute_kernel", "fused" if shards else "dense"), ranks=on or list(range(ranks)),
        sharding_spec=classes.EnumerableShardingSpec(shards) if shards else None, **cache)


def to_sharding_plan(plan: PlanSource, model: Any, *, world_size: int | None = None, classes: Any = None) -> Any:
    """A plan as TorchRec's ShardingPlan, by the module paths of the model: what DistributedModelParallel takes.

    world_size: ranks of the job; those of the process group where one is there, else as many as the plan names.
    classes: an object with ShardingPlan, EmbeddingModuleShardingPlan, ParameterSharding, CacheParams,
        EnumerableShardingSpec and ShardMetadata; those of the installed TorchRec where it is not given.
    Errors: InputError for a table or a module that the plan or the model lacks, for a table of another size, for shards
        that leave something out or hold it twice, for ranks outside the world, and for what TorchRec cannot execute.
    """
    tables = tables_of(model)
    names = _names(tables)
    given = PlanText(plan)
    with given.told_by_path():
        ranks = _core.check_loaded_plan(given.text, _model_tables(tables, names),
                                        _world_size() if world_size is None else world_size)
    use = classes if classes is not None else _torchrec_types()
    modules: dict[str, Any] = {}
    entries = _entries(given.text, names)
    for name, table in zip(names, tables):
        module = modules.setdefault(table.path, use.EmbeddingModuleShardingPlan())
        module[table.name] = _sharding(entries[name], ranks, use)
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


def _cache_map(of: Any) -> dict[str, Any]:
    factor = _load_factor(of)
    return {} if factor is None else {"cache_params": {"load_factor": factor}}


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
                                     "ranks": [int(rank) for rank in sharding.ranks or []], **_cache_map(sharding)}
            shards = _shard_maps(sharding)
            if shards:
                entry["shards"] = shards
            modules.setdefault(_module(path, pooled[path, table]), {})[names[path, table]] = entry
    return Plan(json.dumps({"plan": modules}))


def _option_entry(option: Any, placement: Callable[[int], str]) -> dict[str, Any]:
    ranks = [int(shard.rank) for shard in option.shards]
    entry: dict[str, Any] = {"sharding_type": _word(option.sharding_type),
                             "compute_kernel": _word(option.compute_kernel), "ranks": ranks, **_cache_map(option)}
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


__all__ = ["Error", "NotSimulatedWarning", "PerfModel", "Stats", "from_sharding_plan", "scenario", "tables_of",
           "to_sharding_plan", "workload"]
