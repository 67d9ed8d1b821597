"""A model with its constraints as a workload, and as a scenario of one case."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from shardsim import _core, arguments
from shardsim.scenario import Scenario
from shardsim.torchrec.model import (
    ModelTable,
    load_factor,
    names_of,
    number,
    says,
    store_sizes,
    tables_of,
    word,
    wrong,
)

# What of ParameterConstraints a scenario or its tables have, or the tables say themselves.
TAKEN = ("sharding_types", "compute_kernels", "min_partition", "device_group", "pooling_factors", "num_poolings",
         "feature_names")
STORE_KERNELS = ("key_value", "dram_virtual_table", "ssd_virtual_table", "dram_ssd_virtual_table")
WIRE_TYPES = ("fp16", "bf16")  # that lookups can return in place of fp32
CACHED_KERNELS = ("fused_uvm_caching", "quant_uvm_caching", *STORE_KERNELS)
STORE_UNITS = {"max_l1_cache_size": "MiB", "l2_cache_size": "GiB"}  # in which TorchRec's KeyValueParams are


class NotSimulatedWarning(UserWarning):
    """Something that the constraints of a model say has no part in its simulation."""


def _check_one_each(values: Sequence[Any], features: Sequence[str], what: str, table: str) -> None:
    if len(values) != len(features):
        raise wrong(f"{len(values)} {what} for {len(features)} features", "Give one for each feature",
                     f"constraints[{table!r}]")


def _numbers(constraint: Any, key: str, table: str) -> list[float]:
    """Those of a list of the constraints, which numpy may have made; none where nothing is stated."""
    value: Any = getattr(constraint, key, None)
    if value is not None and hasattr(value, "tolist"):
        value = value.tolist()
    where = f"constraints[{table!r}].{key}"
    if value is None:
        return []
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise wrong(f"{value!r} is no list", "Give a number above 0 for each feature", where)
    made = [number(each, where, "Give numbers above 0") for each in value]
    for each in made:
        if each <= 0:
            raise wrong(f"{each} is not above 0", "Give numbers above 0", where)
    return made


def _factors(constraint: Any, features: Sequence[str], table: str) -> list[float]:
    factors = _numbers(constraint, "pooling_factors", table) or [1.0]
    if factors == [1.0]:  # the default of ParameterConstraints
        factors *= len(features)
    _check_one_each(factors, features, "pooling factors", table)
    return factors


def _table_map(name: str, table: ModelTable, constraint: Any) -> dict[str, Any]:
    config = table.config
    features = [str(each) for each in config.feature_names]
    factors = _factors(constraint, features, name)
    made: dict[str, Any] = {
        "name": name,
        "rows": int(config.num_embeddings),
        "dim": int(config.embedding_dim),
        "dtype": word(getattr(config, "data_type", "fp32")),
        "kind": "pooled" if table.pooled else "sequence",
    }
    if table.path:
        made["module"] = table.path
    returned = getattr(constraint, "output_dtype", None)
    if returned is not None and word(returned) in WIRE_TYPES:
        made["wire_dtype"] = {"forward": word(returned), "backward": word(returned)}
    poolings = _numbers(constraint, "num_poolings", name) or [1.0] * len(features)
    _check_one_each(poolings, features, "numbers of poolings", name)
    if table.pooled:
        made["pooling"] = word(getattr(config, "pooling", "sum"))
        made["features"] = [
            {"name": feature, "pooling_factor": factor, "num_poolings": count, "weighted": table.weighted}
            for feature, factor, count in zip(features, factors, poolings)
        ]
        sizes = [int(each) for each in _numbers(constraint, "batch_sizes", name)]
        if sizes:
            _check_one_each(sizes, features, "batch sizes", name)
            for feature, size in zip(made["features"], sizes):
                feature["batch"] = size
    else:
        made["features"] = features
        made["average_length"] = sum(factor * count for factor, count in zip(factors, poolings))
    return made


def _check_rows(tables: Sequence[ModelTable], names: Sequence[str]) -> None:
    """Refuses tables whose rows nobody can count, and tells of those that would not stay where they are simulated."""
    for name, table in zip(names, tables):
        if getattr(table.config, "use_virtual_table", False):
            raise wrong(f"table {name!r} is virtual: its num_embeddings are ids that may come, not rows that are stored",
                        "Give a model with the number of rows that it really holds, and use_virtual_table False", "model")
    stashed = [name for name, table in zip(names, tables) if getattr(table.config, "stash_weights", False)]
    if stashed:
        warnings.warn(f"stash_weights of the model is not simulated (tables {_shown(stashed)}): say \"stash\" in `more`",
                      NotSimulatedWarning, stacklevel=4)  # of who calls workload() or scenario()


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _states_lookups(constraint: Any) -> bool:
    """False where the constraints of a table say of its lookups only what TorchRec's defaults say, one id of a feature."""
    return constraint is not None and any(
        values not in ([], default) for default, values in (
            ([1.0], _numbers(constraint, "pooling_factors", "")), ([], _numbers(constraint, "num_poolings", "")),
            ([], _numbers(constraint, "batch_sizes", ""))))


def _assumed(found: Sequence[ModelTable], known: Mapping[str, Any], extra: Mapping[str, Mapping[str, Any]],
             source: Mapping[str, Any]) -> list[str]:
    """What neither the model says, nor anybody of it, in the sentences of `import`."""
    names = names_of(found)
    constraints = [_constraint_of(known, name, table) for name, table in zip(names, found)]
    told = {feature for table, constraint in zip(found, constraints) if table.pooled and _states_lookups(constraint)
            for feature in table.config.feature_names}
    tables: list[tuple[str, list[str]]] = []
    for name, table, constraint in zip(names, found, constraints):
        keys = extra.get(name, extra.get(table.name, {}))
        assumed = [] if "access" in keys else ["access"]
        shared = table.pooled and told.issuperset(table.config.feature_names)
        if constraint is None and not shared and not {"features", "pooling_factor", "average_length"}.intersection(keys):
            assumed.append("pooling_factor")
        tables.append((name, assumed))
    stated = source["workload"]
    return _core.model_assumptions(tables, "dense" in stated, "optimizer" in stated, "pipeline" in stated, "software" in source)


def _share_features(made: Sequence[dict[str, Any]], stated: Sequence[bool]) -> None:
    """Features of pooled tables whose constraints say nothing of them are those that another table's constraints tell of."""
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


def _constraint_of(known: Mapping[str, Any], name: str, table: ModelTable) -> Any:
    """By the name in the workload, or as TorchRec has it, by the table's own name in whatever module."""
    return known.get(name, known.get(table.name))


def _allows_one_of(constraint: Any, kernels: Sequence[str]) -> bool:
    return any(word(each) in kernels for each in getattr(constraint, "compute_kernels", None) or [])


def _constraint_map(constraint: Any, table: str) -> dict[str, Any]:
    """A ParameterConstraints as a scenario has it: the ways of sharding that it allows."""
    where = f"constraints[{table!r}]"
    made: dict[str, Any] = {}
    for key in ("sharding_types", "compute_kernels"):
        allowed = getattr(constraint, key, None)
        if allowed:
            made[key] = [word(each) for each in allowed]
    least = getattr(constraint, "min_partition", None)
    if least is not None:
        made["min_partition"] = arguments.whole(least, f"{where}.min_partition", 1, 1_000_000)
    factor = load_factor(constraint, where)
    if factor is not None and _allows_one_of(constraint, CACHED_KERNELS):
        made["cache_load_factor"] = factor
    for key, size in store_sizes(constraint, where).items():
        if size > 0 and _allows_one_of(constraint, STORE_KERNELS):
            made[key] = f"{size} {STORE_UNITS[key]}"
    group = getattr(constraint, "device_group", None)
    if group is not None:
        made["device_group"] = word(group)
    return made


def _left_out_of_cache(constraint: Any) -> Iterator[str]:
    for key, value in sorted(vars(constraint.cache_params).items()):
        if key == "load_factor":
            if value is not None and not _allows_one_of(constraint, CACHED_KERNELS):
                yield "cache_params.load_factor: compute_kernels allow no kernel with a cache"
        elif key == "prefetch_pipeline" and value:
            yield "cache_params.prefetch_pipeline: say \"pipeline\": \"prefetch_sparse_dist\" in `more`"
        elif says(value):
            yield f"cache_params.{key}"


def _left_out_of_store(constraint: Any) -> Iterator[str]:
    for key, value in sorted(getattr(constraint.key_value_params, "__dict__", {}).items()):
        if key in STORE_UNITS:
            if value and not _allows_one_of(constraint, STORE_KERNELS):
                yield f"key_value_params.{key}: compute_kernels allow no kernel of a key-value store"
        elif key != "use_passed_in_path" and says(value):
            yield f"key_value_params.{key}"


def _left_out(table: ModelTable, constraint: Any) -> Iterator[str]:
    """Names the parts of a table's constraints that are not simulated."""
    for key, value in sorted(vars(constraint).items()) if constraint is not None else []:
        if key in TAKEN or not says(value):
            continue
        if key == "batch_sizes":
            if not table.pooled:
                yield "batch_sizes: only features of pooled tables have a batch of their own"
        elif key == "output_dtype":
            if word(value) not in (*WIRE_TYPES, "fp32"):
                yield "output_dtype: vectors are exchanged as fp32, fp16 or bf16"
        elif key == "is_weighted":
            if not table.weighted:
                yield "is_weighted: the collection says otherwise"
        elif key == "cache_params":
            yield from _left_out_of_cache(constraint)
        elif key == "key_value_params":
            yield from _left_out_of_store(constraint)
        else:
            yield key


def _warn_of_left_out(constrained: Iterable[tuple[str, ModelTable, Any]]) -> None:
    tables: dict[str, list[str]] = {}
    for name, table, constraint in constrained:
        for key in _left_out(table, constraint):
            tables.setdefault(key, []).append(name)
    for key, names in tables.items():
        what, _, why = key.partition(": ")
        warnings.warn(f"{what} of the constraints is not simulated (tables {_shown(names)})" + (f": {why}" if why else ""),
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
    names = names_of(found)
    extra = {table: arguments.mapping(keys, f"tables[{table!r}]", '{"access": {...}}')
             for table, keys in arguments.mapping(tables or {}, "tables", '{"TABLE": {...}}').items()}
    here = {*names, *(each.name for each in found)}
    absent = [name for name in [*known, *extra] if name not in here]
    if absent:
        raise wrong(f"the model has no table {absent[0]!r}", f"Known: {', '.join(names[:12])}", "constraints or tables")
    constrained = [(name, table, _constraint_of(known, name, table)) for name, table in zip(names, found)]
    _check_rows(found, names)
    _warn_of_left_out(constrained)
    made = [_table_map(name, table, constraint) for name, table, constraint in constrained]
    _share_features(made, [_states_lookups(constraint) for _, _, constraint in constrained])
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

    Plans keep to what TorchRec executes: load them by to_sharding_plan(). `assumed` of the scenario is what neither the
    model nor an argument says, such as how many ids a sample has.
    """
    known = _constraints(constraints)
    found = tables_of(model)
    allowed = {name: _constraint_map(_constraint_of(known, name, table), name)
               for name, table in zip(names_of(found), found)}
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
    made = Scenario(source)
    made.assumed = _assumed(found, known, tables or {}, source)
    return made
