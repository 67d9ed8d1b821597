"""Plans in and out: TorchRec's ShardingPlan by the module paths of a model."""

from __future__ import annotations

import json
import re
import sys
import types
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from shardsim import _core, arguments
from shardsim.plan_text import PlanSource, PlanText
from shardsim.results import Plan
from shardsim.torchrec.model import (
    STORE_SIZES,
    ModelTable,
    load_factor,
    module_path,
    names_of,
    says,
    store_sizes,
    tables_of,
    word,
    wrong,
)
from shardsim.torchrec.workload import NotSimulatedWarning

TAKEN = ("sharding_type", "compute_kernel", "ranks", "sharding_spec")  # of a ParameterSharding, by the text of a plan


def torchrec_types() -> Any:
    """TorchRec's and PyTorch's classes of plans."""
    try:
        from torch.distributed._shard.sharding_spec import EnumerableShardingSpec, ShardMetadata
        from torchrec.distributed.types import (
            CacheParams,
            EmbeddingModuleShardingPlan,
            KeyValueParams,
            ParameterSharding,
            ShardingPlan,
        )
    except ImportError as missing:
        raise wrong(f"TorchRec is not here ({missing})", "Install it, or give its classes as `classes`") from missing
    return types.SimpleNamespace(
        EnumerableShardingSpec=EnumerableShardingSpec, ShardMetadata=ShardMetadata, CacheParams=CacheParams,
        KeyValueParams=KeyValueParams, ParameterSharding=ParameterSharding,
        EmbeddingModuleShardingPlan=EmbeddingModuleShardingPlan, ShardingPlan=ShardingPlan)


def entries_of(text: str, names: Mapping[tuple[str, str], str]) -> dict[str, Mapping[str, Any]]:
    """The entry of each table by its name in the workload, of a plan that has that name or the model's.

    names: those in the workload by path and name in the model; PATH.NAME where several modules have one of that name.
    """
    known = set(names.values())
    entries: dict[str, Mapping[str, Any]] = {}
    for path, tables in json.loads(text)["plan"].items():
        for table, entry in tables.items():
            entries[table if table in known else names.get((path, table), f"{path}.{table}")] = entry
    return entries


def _world_size() -> int:
    """Ranks of the process group of this process; 0 where there is none."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return 0
    return int(distributed.get_world_size())


def _model_tables(tables: Sequence[ModelTable], names: Sequence[str]) -> list[tuple[str, str, str, int, int, bool]]:
    """As the libraries take them."""
    return [(table.path, table.name, name,
             int(table.config.num_embeddings), int(table.config.embedding_dim), table.pooled)
            for name, table in zip(names, tables)]


def rank_of(placement: str) -> int:
    """The rank of a placement like "rank:3/cuda:3"."""
    return int(re.split("[:/]", placement)[1])


def _sharding(entry: Mapping[str, Any], ranks: int, classes: Any) -> Any:
    """The ParameterSharding of an entry that was checked; a table that is data_parallel is on all ranks."""
    shards = [
        classes.ShardMetadata(shard_offsets=[int(each) for each in shard["shard_offsets"]],
                              shard_sizes=[int(each) for each in shard["shard_sizes"]], placement=shard["placement"])
        for shard in entry.get("shards") or []
    ]
    on = [rank_of(shard.placement) for shard in shards]
    factor = (entry.get("cache_params") or {}).get("load_factor")
    cache = {} if factor is None else {"cache_params": classes.CacheParams(load_factor=float(factor))}
    stores = {key: value for key, value in (entry.get("key_value_params") or {}).items() if key in STORE_SIZES}
    if stores:
        cache["key_value_params"] = classes.KeyValueParams(**stores)
    return classes.ParameterSharding(
        sharding_type=entry["sharding_type"],
        compute_kernel=entry.get("compute_kernel", "fused" if shards else "dense"), ranks=on or list(range(ranks)),
        sharding_spec=classes.EnumerableShardingSpec(shards) if shards else None, **cache)


def to_sharding_plan(plan: PlanSource, model: Any, *, world_size: int | None = None, classes: Any = None) -> Any:
    """A plan as TorchRec's ShardingPlan, by the module paths of the model: what DistributedModelParallel takes.

    plan: a Plan, its JSON as a text, the path of a file, or a dict. One of from_sharding_plan() gives back what else its
        ParameterShardings say, too.
    world_size: ranks of the job; those of the process group where one is there, else as many as the plan names.
    classes: an object with ShardingPlan, EmbeddingModuleShardingPlan, ParameterSharding, CacheParams,
        EnumerableShardingSpec and ShardMetadata, and KeyValueParams where the plan states caches of key-value stores;
        those of the installed TorchRec where it is not given.
    Errors: InputError for a table or a module that the plan or the model lacks, for a table of another size, for shards
        that leave something out or hold it twice, for ranks outside the world, and for what TorchRec cannot execute.
    """
    tables = tables_of(model)
    names = names_of(tables)
    given = PlanText(plan)
    with given.told_by_path():
        stated = arguments.maybe_whole(world_size, "world_size", 1, 1_000_000)
        ranks = _core.check_loaded_plan(given.text, _model_tables(tables, names), stated or _world_size())
    use = classes if classes is not None else torchrec_types()
    modules: dict[str, Any] = {}
    entries = entries_of(given.text, {(table.path, table.name): name for name, table in zip(names, tables)})
    for name, table in zip(names, tables):
        module = modules.setdefault(table.path, use.EmbeddingModuleShardingPlan())
        module[table.name] = _sharding(entries[name], ranks, use)
        for key, value in given.kept.get((table.path, table.name), {}).items():
            setattr(module[table.name], key, value)
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


def cache_map(of: Any, where: str = "cache_params") -> dict[str, Any]:
    factor = load_factor(of, where)
    return {} if factor is None else {"cache_params": {"load_factor": factor}}


def store_map(of: Any, where: str = "key_value_params") -> dict[str, Any]:
    sizes = store_sizes(of, where)
    return {"key_value_params": sizes} if sizes else {}


def _attributes(of: Any) -> Mapping[str, Any]:
    return getattr(of, "__dict__", {})


def _left_out(sharding: Any) -> Iterator[str]:
    """Names the parts of a ParameterSharding that are not simulated, with the key that says them here, if there is one."""
    for key, value in sorted(_attributes(sharding).items()):
        if key in TAKEN or not says(value):
            continue
        if key == "key_value_params" and _attributes(value):
            yield from (f"{key}.{part}" for part, stated in sorted(_attributes(value).items())
                        if part not in (*STORE_SIZES, "use_passed_in_path") and says(stated))
            continue
        if key != "cache_params":
            yield key + (": 'wire_dtype' says what is exchanged" if key == "output_dtype" else "")
            continue
        elsewhere = {"prefetch_pipeline": ": the pipeline \"prefetch_sparse_dist\" of the scenario says it",
                     "algorithm": ": 'cache_policy' of the workload says it"}
        for part, stated in sorted(_attributes(value).items()):
            if part != "load_factor" and says(stated):
                yield f"cache_params.{part}" + elsewhere.get(part, "")


def _kept(sharding: Any) -> dict[str, Any]:
    """The parts of a ParameterSharding that the text of a plan does not say."""
    return {key: value for key, value in _attributes(sharding).items() if key not in TAKEN and value is not None}


def _warn_of_left_out(left_out: Mapping[str, Sequence[str]]) -> None:
    for key, names in left_out.items():
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        what, _, elsewhere = key.partition(": ")
        warnings.warn(f"{what} of the plan is not simulated (tables {shown}); to_sharding_plan() gives it back"
                      + (f". {elsewhere[0].upper()}{elsewhere[1:]}" if elsewhere else ""),
                      NotSimulatedWarning, stacklevel=3)  # of who calls from_sharding_plan()


def _entry_of(sharding: Any, where: str) -> dict[str, Any]:
    """The entry of a ParameterSharding. Errors: InputError for what is none."""
    if not hasattr(sharding, "sharding_type") or not hasattr(sharding, "compute_kernel"):
        raise wrong(f"{arguments.kind_of(sharding)} is no ParameterSharding", "Give one for each table", where)
    try:
        shards = _shard_maps(sharding)
        entry: dict[str, Any] = {"sharding_type": word(sharding.sharding_type),
                                 "compute_kernel": word(sharding.compute_kernel),
                                 "ranks": [int(rank) for rank in sharding.ranks or []]}
    except (AttributeError, TypeError, ValueError) as error:
        raise wrong(f"ranks or shards are not those of a ParameterSharding ({error})",
                    "Give whole numbers, and a ShardMetadata for each shard", where) from None
    entry.update(cache_map(sharding, where))
    entry.update(store_map(sharding, where))
    if shards:
        entry["shards"] = shards
    return entry


def _by_module(given: Any, paths: Collection[str]) -> Mapping[str, Any]:
    """The plan by modules, also of one module alone, as construct_module_sharding_plan() makes it, where the model has one."""
    if hasattr(given, "plan"):
        example = 'ShardingPlan({"MODULE": {"TABLE": ParameterSharding(...)}})'
        return arguments.mapping(given.plan, "sharding_plan", example)
    of_module = isinstance(given, Mapping) and bool(given) and all(hasattr(each, "sharding_type") for each in given.values())
    if of_module and len(paths) == 1:
        return {next(iter(paths)): given}
    if of_module:
        raise wrong(f"this is the plan of one module, and the model has {len(paths)}: {', '.join(sorted(paths)[:6])}",
                    'Give ShardingPlan({"MODULE": plan, ...}), or that module as the model', "sharding_plan")
    raise wrong(f"{arguments.kind_of(given)} has no attribute plan", "Give a ShardingPlan", "sharding_plan")


def from_sharding_plan(sharding_plan: Any, model: Any) -> Plan:
    """TorchRec's ShardingPlan for this model, or its only module's EmbeddingModuleShardingPlan, as `simulate(..., plan=...)` and an Evaluator take it.

    A NotSimulatedWarning names what its ParameterShardings say that is not simulated; the Plan keeps it for
    to_sharding_plan(), its text does not.
    """
    plan, left_out = plan_of_shardings(sharding_plan, model)
    _warn_of_left_out(left_out)
    return plan


def plan_of_shardings(sharding_plan: Any, model: Any) -> tuple[Plan, dict[str, list[str]]]:
    """The plan, and what is not simulated of it with its tables."""
    tables = tables_of(model)
    names = {(table.path, table.name): name for name, table in zip(names_of(tables), tables)}
    pooled = {(table.path, table.name): table.pooled for table in tables}
    modules: dict[str, dict[str, Any]] = {}
    kept: dict[tuple[str, str], dict[str, Any]] = {}
    left_out: dict[str, list[str]] = {}
    example = '{"TABLE": ParameterSharding(...)}'
    by_module = _by_module(sharding_plan, {table.path for table in tables})
    for path, shardings in by_module.items():
        for table, sharding in arguments.mapping(shardings, f"sharding_plan[{path!r}]", example).items():
            if (path, table) not in names:
                raise wrong(f"the model has no table {table!r} in a module {path!r}",
                             "Give the model that the plan was made for", "sharding_plan")
            entry = _entry_of(sharding, f"sharding_plan[{path!r}][{table!r}]")
            modules.setdefault(module_path(path, pooled[path, table]), {})[names[path, table]] = entry
            for key in _left_out(sharding):
                left_out.setdefault(key, []).append(names[path, table])
            if more := _kept(sharding):
                kept[path, table] = more
    for path, table in names:
        if table not in by_module.get(path, {}):
            raise wrong(f"the plan has no table {table!r} in a module {path!r}",
                        "Give the plan of the whole model, or a model without what TorchRec does not shard", "sharding_plan")
    return Plan(json.dumps({"plan": modules}), kept=kept), left_out
