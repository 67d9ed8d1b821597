"""Plans in and out: TorchRec's ShardingPlan by the module paths of a model."""

from __future__ import annotations

import json
import re
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any

from shardsim import _core, arguments
from shardsim.plan_text import PlanSource, PlanText
from shardsim.results import Plan
from shardsim.torchrec.model import ModelTable, is_label, load_factor, module_path, names_of, tables_of, word, wrong


def torchrec_types() -> Any:
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
        raise wrong(f"TorchRec is not here ({missing})", "Install it, or give its classes as `classes`") from missing
    return types.SimpleNamespace(
        EnumerableShardingSpec=EnumerableShardingSpec, ShardMetadata=ShardMetadata, CacheParams=CacheParams,
        ParameterSharding=ParameterSharding, EmbeddingModuleShardingPlan=EmbeddingModuleShardingPlan,
        ShardingPlan=ShardingPlan)


def entries_of(text: str, names: Sequence[str]) -> dict[str, Mapping[str, Any]]:
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


def _model_tables(tables: Sequence[ModelTable], names: Sequence[str]) -> list[tuple[str, str, str, int, int, bool]]:
    """As the libraries take them. A module whose path is no label has another one in plans of ours."""
    return [(table.path if is_label(table.path) else "", table.name, name,
             int(table.config.num_embeddings), int(table.config.embedding_dim), table.pooled)
            for name, table in zip(names, tables)]


def rank_of(placement: str) -> int:
    """Of "rank:3/cuda:3"."""
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
    names = names_of(tables)
    given = PlanText(plan)
    with given.told_by_path():
        ranks = _core.check_loaded_plan(given.text, _model_tables(tables, names),
                                        _world_size() if world_size is None else world_size)
    use = classes if classes is not None else torchrec_types()
    modules: dict[str, Any] = {}
    entries = entries_of(given.text, names)
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


def cache_map(of: Any) -> dict[str, Any]:
    factor = load_factor(of)
    return {} if factor is None else {"cache_params": {"load_factor": factor}}


def from_sharding_plan(sharding_plan: Any, model: Any) -> Plan:
    """TorchRec's ShardingPlan for this model, as `simulate(..., plan=...)` and an Evaluator take it."""
    tables = tables_of(model)
    names = {(table.path, table.name): name for name, table in zip(names_of(tables), tables)}
    pooled = {(table.path, table.name): table.pooled for table in tables}
    modules: dict[str, dict[str, Any]] = {}
    if not hasattr(sharding_plan, "plan"):
        raise wrong(f"{arguments.kind_of(sharding_plan)} has no attribute plan", "Give a ShardingPlan", "sharding_plan")
    for path, shardings in sharding_plan.plan.items():
        for table, sharding in shardings.items():
            if (path, table) not in names:
                raise wrong(f"the model has no table {table!r} in a module {path!r}",
                             "Give the model that the plan was made for", "sharding_plan")
            entry: dict[str, Any] = {"sharding_type": word(sharding.sharding_type),
                                     "compute_kernel": word(sharding.compute_kernel),
                                     "ranks": [int(rank) for rank in sharding.ranks or []], **cache_map(sharding)}
            shards = _shard_maps(sharding)
            if shards:
                entry["shards"] = shards
            modules.setdefault(module_path(path, pooled[path, table]), {})[names[path, table]] = entry
    return Plan(json.dumps({"plan": modules}))
