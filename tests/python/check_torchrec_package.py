#!/usr/bin/env python3
"""shardsim.torchrec on stand-ins of TorchRec's classes: model to scenario, plan to ShardingPlan and back, and the parts
of a planner. Usage: check_torchrec_package.py, with the package on PYTHONPATH. Exit: 0, or 1 with what is not right.
"""

import copy
import json
import os
import pickle
import re
import sys
import tempfile
import types
import warnings

import shardsim
import shardsim.torchrec
import torchrec_stand_ins as rec


class Model(rec.Module):
    """Two collections with a table of the same name in each, and a sequence collection."""

    def __init__(self):
        bag = rec.EmbeddingBagConfig
        self.sparse = rec.Module()
        self.sparse.users = rec.EmbeddingBagCollection(
            [bag(100_000, 64, "id", ["user"]), bag(5_000, 64, "country", ["country"], rec.DataType.FP16)])
        self.sparse.items = rec.EmbeddingBagCollection([bag(200_000, 128, "id", ["item", "seller"])], is_weighted=True)
        self.history = rec.EmbeddingCollection([rec.EmbeddingConfig(50_000, 64, "clicks", ["clicks"])])


MODEL = Model()
CONSTRAINTS = {
    "country": rec.ParameterConstraints(compute_kernels=["fused", "dense"]),
    "sparse.items.id": rec.ParameterConstraints(pooling_factors=[10.0, 2.5], num_poolings=[1.0, 1.0]),
    "clicks": rec.ParameterConstraints(pooling_factors=[30.0]),
}


def scenario(**more):
    return shardsim.torchrec.scenario(MODEL, cluster={"base": "dgx_a100_80gb", "nodes": 1}, batch_per_gpu=512,
                                      constraints=CONSTRAINTS, **more)


def failure_of(work):
    try:
        work()
    except shardsim.InputError as error:
        return str(error)
    raise AssertionError("no InputError")


def test_workload():
    tables = {table["name"]: table for table in shardsim.torchrec.workload(MODEL, batch_per_gpu=8, constraints=CONSTRAINTS)["tables"]}
    assert list(tables) == ["sparse.users.id", "country", "sparse.items.id", "clicks"]
    assert tables["country"]["dtype"] == "fp16" and tables["sparse.items.id"]["dim"] == 128
    assert [each["pooling_factor"] for each in tables["sparse.items.id"]["features"]] == [10.0, 2.5]
    assert tables["sparse.items.id"]["features"][0]["weighted"] and not tables["country"]["features"][0]["weighted"]
    assert tables["clicks"]["kind"] == "sequence" and tables["clicks"]["average_length"] == 30.0


def test_every_table_comes_back():
    for planner in ("torchrec", "row_wise", "search", "table_wise"):
        plan = shardsim.plan(scenario(planner=planner))
        sharding = shardsim.torchrec.to_sharding_plan(plan, MODEL, classes=rec)
        assert set(sharding.plan) == {"sparse.users", "sparse.items", "history"}, sharding.plan.keys()
        assert set(sharding.plan["sparse.users"]) == {"id", "country"}
        for path, tables in sharding.plan.items():
            for name, table in tables.items():
                if table.sharding_type == "data_parallel":
                    assert table.sharding_spec is None
                    continue
                cells = sum(rows * columns for rows, columns in (shard.shard_sizes for shard in table.sharding_spec.shards))
                config = next(each.config for each in shardsim.torchrec.tables_of(MODEL)
                              if (each.path, each.name) == (path, name))
                assert cells == config.num_embeddings * config.embedding_dim, (path, name)
                ranks = [int(shard.placement.split(":")[1].split("/")[0]) for shard in table.sharding_spec.shards]
                assert ranks == table.ranks, (path, name)
        back = shardsim.torchrec.from_sharding_plan(sharding, MODEL)
        assert shardsim.simulate(scenario(), plan=back) == shardsim.simulate(scenario(), plan=plan), planner


def test_plans_have_the_paths_of_the_model():
    paths = {table.path for table in shardsim.torchrec.tables_of(MODEL)}
    for planner in ("torchrec", "search"):
        plan = shardsim.plan(scenario(planner=planner)).to_dict()["plan"]
        assert set(plan) == paths, plan.keys()
        for path, tables in plan.items():
            assert set(tables) == {table.name for table in shardsim.torchrec.tables_of(MODEL) if table.path == path}


def test_names_that_are_no_labels():
    """TorchRec takes any text as the name of a table, and so does a workload: what is printed has the model's names."""
    class Named(rec.Module):
        def __init__(self):
            self.sparse = rec.EmbeddingBagCollection([rec.EmbeddingBagConfig(1000, 64, name, [name + " ids"]) for name in (
                "\u0442\u0430\u0431\u043b\u0438\u0446\u0430", "a b", "a/b", "a_b", "a-b", 'say "so"')])
            self.other = rec.EmbeddingBagCollection([rec.EmbeddingBagConfig(500, 64, "a b", ["other"])])

    model = Named()
    of = shardsim.torchrec.scenario(model, cluster="dgx_a100_80gb", batch_per_gpu=64, planner="row_wise",
                                    constraints={"a/b": rec.ParameterConstraints(pooling_factors=[7.0]),
                                                 "a-b": rec.ParameterConstraints(sharding_types=["row_wise"]),
                                                 "a_b": rec.ParameterConstraints(sharding_types=["row_wise"], min_partition=32)})
    plan = shardsim.plan(of)
    assert {each["table"] for each in shardsim.run(of).cases[0].raw["placements"]} == {
        "\u0442\u0430\u0431\u043b\u0438\u0446\u0430", "sparse.a b", "a/b", "a_b", "a-b", 'say "so"', "other.a b"}
    sharding = shardsim.torchrec.to_sharding_plan(plan, model, classes=rec)
    assert [list(sharding.plan[path]) for path in ("sparse", "other")] == [
        [each.name for each in getattr(model, path).embedding_bag_configs()] for path in ("sparse", "other")]
    back = shardsim.torchrec.from_sharding_plan(sharding, model)
    assert shardsim.simulate(of, plan=back) == shardsim.simulate(of, plan=plan)
    own = {"plan": {path: {name: {"sharding_type": each.sharding_type, "compute_kernel": each.compute_kernel,
                                  "ranks": each.ranks, "shards": [vars(shard) for shard in each.sharding_spec.shards]}
                           for name, each in tables.items()} for path, tables in sharding.plan.items()}}
    assert shardsim.torchrec.to_sharding_plan(own, model, classes=rec) == sharding


def test_constraints_are_kept():
    wanted = {"country": rec.ParameterConstraints(sharding_types=["column_wise"])}
    made = shardsim.torchrec.scenario(MODEL, cluster={"base": "dgx_a100_80gb", "nodes": 1}, batch_per_gpu=512,
                                      constraints=wanted)
    sharding = shardsim.torchrec.to_sharding_plan(shardsim.plan(made), MODEL, classes=rec)
    assert sharding.plan["sparse.users"]["country"].sharding_type == "column_wise"


def test_constraints_beyond_types_are_kept_or_told():
    wanted = {
        "country": rec.ParameterConstraints(min_partition=32, cache_params=rec.CacheParams(load_factor=0.5), compute_kernels=["fused_uvm_caching"]),
        "sparse.items.id": rec.ParameterConstraints(pooling_factors=[10.0, 2.5], num_poolings=[1.5, 1.0], batch_sizes=[8, 4]),
    }
    made = shardsim.torchrec.scenario(MODEL, cluster={"base": "dgx_a100_80gb", "nodes": 1}, batch_per_gpu=8, constraints=wanted)
    said = json.loads(made.text)
    assert said["constraints"]["country"] == {"compute_kernels": ["fused_uvm_caching"], "min_partition": 32,
                                              "cache_load_factor": 0.5, "torchrec_only": True}
    features = said["workload"]["tables"][2]["features"]
    assert [(each["num_poolings"], each["batch"]) for each in features] == [(1.5, 8), (1.0, 4)]
    assert shardsim.simulate(made).iteration_ms > 0
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        shardsim.torchrec.scenario(MODEL, cluster="dgx_h100", batch_per_gpu=8, constraints={"clicks": rec.ParameterConstraints(enforce_hbm=True)})
    assert len(told) == 1 and told[0].category is shardsim.torchrec.NotSimulatedWarning, told
    assert "enforce_hbm" in str(told[0].message) and "clicks" in str(told[0].message), told


def test_constraints_of_key_value_stores():
    """Their caches are the scenario's: their load factor and their sizes, in TorchRec's units."""
    stores = rec.ParameterConstraints(
        sharding_types=["row_wise"], compute_kernels=["key_value"], pooling_factors=[10.0, 2.5], num_poolings=[1.0, 1.0],
        cache_params=rec.CacheParams(load_factor=0.1), key_value_params=rec.KeyValueParams(max_l1_cache_size=4, l2_cache_size=1))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = shardsim.torchrec.scenario(MODEL, cluster={"base": "dgx_a100_80gb", "nodes": 1}, batch_per_gpu=512,
                                          constraints={"sparse.items.id": stores})
    assert not told, [str(each.message) for each in told]
    assert json.loads(made.text)["constraints"]["sparse.items.id"] == {
        "sharding_types": ["row_wise"], "compute_kernels": ["key_value"], "cache_load_factor": 0.1,
        "max_l1_cache_size": "4 MiB", "l2_cache_size": "1 GiB", "torchrec_only": True}
    plan = shardsim.plan(made)
    planned = shardsim.torchrec.to_sharding_plan(plan, MODEL, classes=rec).plan["sparse.items"]["id"]
    assert (planned.key_value_params.max_l1_cache_size, planned.cache_params.load_factor) == (4, 0.1), planned

    def options():
        of = json.loads(plan.text)["plan"]
        for path, tables in of.items():
            for name, entry in tables.items():
                cuts = entry.get("shards") or [{"shard_sizes": [1, 1], "shard_offsets": [0, 0], "placement": "rank:0"}] * 8
                shards = [rec.Shard(each["shard_sizes"], each["shard_offsets"], int(re.split("[:/]", each["placement"])[1]))
                          for each in cuts]
                option = rec.ShardingOption(name, path, entry["sharding_type"], entry["compute_kernel"], shards)
                if entry["compute_kernel"] == "key_value":
                    option.cache_params, option.key_value_params = stores.cache_params, stores.key_value_params
                yield option

    rated = shardsim.torchrec.PerfModel(made, MODEL).rate(list(options()))
    assert rated == shardsim.simulate(made, plan=plan).iteration_ms, rated
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        shardsim.torchrec.scenario(MODEL, cluster="dgx_h100", batch_per_gpu=8, constraints={
            "clicks": rec.ParameterConstraints(compute_kernels=["fused"], key_value_params=rec.KeyValueParams(l2_cache_size=1))})
    assert len(told) == 1 and "key_value_params.l2_cache_size" in str(told[0].message), told
    wrong = rec.ParameterConstraints(min_partition=float("nan"))
    assert "constraints['clicks'].min_partition" in failure_of(lambda: shardsim.torchrec.scenario(
        MODEL, cluster="dgx_h100", batch_per_gpu=8, constraints={"clicks": wrong}))



def options_of(plan):
    """What TorchRec's planner would hand to rate() for this plan."""
    sharding = shardsim.torchrec.to_sharding_plan(plan, MODEL, classes=rec)
    options = []
    for path, tables in sharding.plan.items():
        for name, table in tables.items():
            parts = table.sharding_spec.shards if table.sharding_spec else [
                rec.ShardMetadata([0, 0], [0, 0]) for _ in table.ranks]
            shards = [rec.Shard(part.shard_sizes, part.shard_offsets, rank, rec.Perf(0.25))
                      for part, rank in zip(parts, table.ranks)]
            options.append(rec.ShardingOption(name, path, table.sharding_type, table.compute_kernel, shards,
                                              table.cache_params))
    return options


def test_ratings_are_simulations():
    model = shardsim.torchrec.PerfModel(scenario(), MODEL)
    for planner in ("torchrec", "row_wise", "table_wise"):
        plan = shardsim.plan(scenario(planner=planner))
        assert model.rate(options_of(plan)) == shardsim.simulate(scenario(), plan=plan).iteration_ms, planner
    huge = Model()
    huge.sparse.items.embedding_bag_configs()[0].num_embeddings = 10_000_000_000
    small = shardsim.torchrec.scenario(huge, cluster={"base": "dgx_a100_80gb", "nodes": 1}, batch_per_gpu=8)
    whole = rec.ShardingOption("id", "sparse.items", "table_wise", "fused", [rec.Shard([10_000_000_000, 128], [0, 0], 0)])
    others = [option for option in options_of(shardsim.plan(scenario(planner="table_wise")))
              if (option.path, option.name) != ("sparse.items", "id")]
    assert shardsim.torchrec.PerfModel(small, huge).rate([whole, *others]) == float("inf")


def test_plans_of_sharding_groups():
    """Under 2D parallelism a plan is that of one group of ranks, on its part of each node."""
    for groups in ({"size": 4}, {"size": 4, "members": "consecutive"}, {"size": 8, "members": "consecutive"}):
        for planner in ("torchrec", "row_wise"):
            grouped = scenario(planner=planner).with_({"cluster.nodes": 2, "workload.sharding_groups": groups})
            plan = shardsim.plan(grouped)
            wanted = shardsim.simulate(grouped)
            sharding = shardsim.torchrec.to_sharding_plan(plan, MODEL, world_size=groups["size"], classes=rec)
            back = shardsim.torchrec.from_sharding_plan(sharding, MODEL)
            assert shardsim.simulate(grouped, plan=back) == wanted, (groups, planner)
            rated = shardsim.torchrec.PerfModel(grouped, MODEL).rate(options_of(plan))
            assert rated == wanted.iteration_ms, (groups, planner)
            said = []
            shardsim.torchrec.Stats(grouped, MODEL, out=said.append).log(sharding)
            assert f"{wanted.iteration_ms:.3f} ms" in said[-1], said


def test_caches_come_along():
    cached = {"sparse.items.id": rec.ParameterConstraints(
        compute_kernels=["fused_uvm_caching"], pooling_factors=[10.0, 2.5], cache_params=rec.CacheParams(load_factor=0.3))}
    made = shardsim.torchrec.scenario(MODEL, cluster={"base": "dgx_a100_80gb", "nodes": 1}, batch_per_gpu=512,
                                      constraints=cached)
    plan = shardsim.plan(made)
    sharding = shardsim.torchrec.to_sharding_plan(plan, MODEL, classes=rec)
    assert sharding.plan["sparse.items"]["id"].cache_params.load_factor == 0.3
    assert sharding.plan["sparse.users"]["id"].cache_params is None
    wanted = shardsim.simulate(made, plan=plan)
    assert shardsim.simulate(made, plan=shardsim.torchrec.from_sharding_plan(sharding, MODEL)) == wanted
    assert shardsim.torchrec.PerfModel(made, MODEL).rate(options_of(plan)) == wanted.iteration_ms
    sharding.plan["sparse.items"]["id"].cache_params = None
    assert "has a cache for 0.2 of its rows" in failure_of(
        lambda: shardsim.simulate(made, plan=shardsim.torchrec.from_sharding_plan(sharding, MODEL)))


def test_nothing_of_constraints_is_dropped_in_silence():
    """What ParameterConstraints say is in the scenario, or a warning names it with its tables."""
    def made(**said):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            of = shardsim.torchrec.scenario(MODEL, cluster={"base": "dgx_a100_80gb", "nodes": 1}, batch_per_gpu=512,
                                            constraints={"country": rec.ParameterConstraints(**said),
                                                         "clicks": rec.ParameterConstraints(pooling_factors=[30.0])})
        assert all(issubclass(each.category, shardsim.torchrec.NotSimulatedWarning) for each in caught), caught
        assert all(each.filename == __file__ for each in caught), caught
        assert shardsim.check(of).ok, said
        return of, [str(each.message) for each in caught]

    cached = {"compute_kernels": ["fused_uvm_caching"], "cache_params": rec.CacheParams(load_factor=0.3)}
    assert made()[1] == [] and made(device_group="cuda")[1] == [] and made(is_weighted=False)[1] == []
    for said, text in (({"min_partition": 64}, '"min_partition": 64'), (cached, '"cache_load_factor": 0.3'),
                       ({"batch_sizes": [256]}, '"batch": 256'), ({"num_poolings": [1.5]}, '"num_poolings": 1.5')):
        of, warned = made(**said)
        assert warned == [] and text in of.text, (said, warned)
    of, _ = made(sharding_types=["column_wise"], min_partition=32)
    assert len(shardsim.plan(of).to_dict()["plan"]["sparse.users"]["country"]["shards"]) == 2  # of 64 columns
    whole, smaller = (shardsim.simulate(made(**said)[0]).iteration_ms for said in ({}, {"batch_sizes": [8]}))
    assert smaller < whole, (smaller, whole)
    for type_of, text in ((rec.DataType.FP16, '"forward": "fp16"'), (rec.DataType.FP32, '"dtype": "fp32"')):
        of, warned = made(output_dtype=type_of)
        assert warned == [] and text in of.text, (type_of, warned)
    for said, words in (({"output_dtype": "INT8"}, ("output_dtype", "fp16 or bf16")),
                        ({"enforce_hbm": True}, ("enforce_hbm",)), ({"bounds_check_mode": "WARNING"}, ("bounds_check",)),
                        ({"cache_params": rec.CacheParams(load_factor=0.3)}, ("load_factor", "compute_kernels")),
                        ({**cached, "cache_params": rec.CacheParams(reserved_memory=1.0)}, ("reserved_memory",)),
                        ({**cached, "cache_params": rec.CacheParams(prefetch_pipeline=True)}, ("prefetch_sparse_dist",)),
                        ({"use_virtual_table": True}, ("use_virtual_table",))):
        _, warned = made(**said)
        assert len(warned) == 1 and all(word in warned[0] for word in (*words, "country")), (said, warned)
    both = {"id": rec.ParameterConstraints(sharding_types=["column_wise"], pooling_factors=[2.0])}
    two = Model()
    two.sparse.items.embedding_bag_configs()[0].feature_names = ["item"]
    of = shardsim.torchrec.scenario(two, cluster="dgx_a100_80gb", batch_per_gpu=512, constraints=both)
    plan = shardsim.plan(of).to_dict()["plan"]
    assert {plan[path]["id"]["sharding_type"] for path in ("sparse.users", "sparse.items")} == {"column_wise"}


def example(page, number):
    """One of the blocks of Python in a page."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", page)
    with open(path, encoding="utf-8") as file:
        return re.findall(r"```python\n(.*?)```", file.read(), re.DOTALL)[number]


def test_documents():
    """The Python of docs/python.md and of README.md for TorchRec runs as it stands, where TorchRec is a stand-in."""
    names = ("torch", "torch.distributed", "torch.distributed._shard", "torch.distributed._shard.sharding_spec",
             "torchrec", "torchrec.distributed", "torchrec.distributed.types")
    before = {name: sys.modules.get(name) for name in names}
    loaded = []
    here = {"shardsim": shardsim, "model": MODEL, "constraints": CONSTRAINTS, "sharders": [],
            "DistributedModelParallel": lambda model, plan, sharders: loaded.append(plan)}
    try:
        sys.modules.update({name: types.ModuleType(name) for name in names})
        for name in names[3:]:
            vars(sys.modules[name]).update({key: value for key, value in vars(rec).items() if not key.startswith("_")})
        for page, number in (("docs/python.md", 2), ("README.md", 0)):
            here["model"] = MODEL
            exec(example(page, number), here)
        group = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True, get_world_size=lambda: 4)
        sys.modules["torch"].distributed = group  # of a job with half as many ranks
        plan = shardsim.plan(here["scenario"], planner="row_wise")
        assert "outside the world" in failure_of(lambda: shardsim.torchrec.to_sharding_plan(plan, MODEL))
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    assert len(loaded) == 2
    for plan in loaded:
        assert set(plan.plan) == {"sparse.users", "sparse.items", "history"}, loaded


def test_stats_print_and_never_fail():
    said = []
    stats = shardsim.torchrec.Stats(scenario(), MODEL, out=said.append)
    plan = shardsim.plan(scenario())
    sharding = shardsim.torchrec.to_sharding_plan(plan, MODEL, classes=rec)
    stats.log(sharding, None, 512, None, 3, 2, 0.1, options_of(plan), None, None, None, False, None)
    assert f"{shardsim.simulate(scenario(), plan=plan).iteration_ms:.3f} ms" in said[-1] and "TorchRec" in said[-1], said
    stats.log(rec.ShardingPlan({"elsewhere": {"id": None}}))
    assert "no simulation" in said[-1] and "elsewhere" in said[-1], said


def test_refusals():
    assert "no EmbeddingBagCollection" in failure_of(lambda: shardsim.torchrec.workload(rec.Module(), batch_per_gpu=1))
    for value, kind in ((None, "nothing (None)"), (3, "a value of the type int")):
        said = failure_of(lambda value=value: shardsim.torchrec.scenario(value, cluster="dgx_h100", batch_per_gpu=1))
        assert said.startswith(f"model: {kind}"), said
    wrong = {"absent": rec.ParameterConstraints()}
    assert "absent" in failure_of(lambda: shardsim.torchrec.workload(MODEL, batch_per_gpu=1, constraints=wrong))
    wrong = {"sparse.items.id": rec.ParameterConstraints(pooling_factors=[1.0, 2.0, 3.0])}
    assert "3 pooling factors" in failure_of(lambda: shardsim.torchrec.workload(MODEL, batch_per_gpu=1, constraints=wrong))
    plan = shardsim.plan(scenario()).to_dict()
    module = next(iter(plan["plan"].values()))
    first = next(iter(module))
    kept = dict(module)
    del module[first]
    assert first in failure_of(lambda: shardsim.torchrec.to_sharding_plan(plan, MODEL, classes=rec))
    module.update(kept)
    module["stranger"] = module[first]
    assert "stranger" in failure_of(lambda: shardsim.torchrec.to_sharding_plan(plan, MODEL, classes=rec))
    del module["stranger"]
    assert "no table" in failure_of(lambda: shardsim.torchrec.to_sharding_plan(
        {"plan": {**{path: tables for path, tables in plan["plan"].items() if path != "history"},
                  "elsewhere": plan["plan"]["history"]}}, MODEL, classes=rec))
    clicks = next(module for module in plan["plan"].values() if "clicks" in module)["clicks"]
    clicks["sharding_type"] = "grid_shard"
    assert "grid_shard" in failure_of(lambda: shardsim.torchrec.to_sharding_plan(plan, MODEL, classes=rec))
    clicks.update(sharding_type="row_wise", compute_kernel="fussed")
    assert 'unknown compute kernel "fussed"' in failure_of(lambda: shardsim.torchrec.to_sharding_plan(plan, MODEL, classes=rec))
    del clicks["ranks"]
    assert "the key 'ranks' is missing" in failure_of(lambda: shardsim.torchrec.to_sharding_plan(plan, MODEL, classes=rec))
    for wrong in ("{", 3, {}, {"plan": []}, {"plan": {"history": 3}}):
        assert failure_of(lambda wrong=wrong: shardsim.torchrec.to_sharding_plan(wrong, MODEL, classes=rec)).startswith("plan")
    assert "named_modules" in failure_of(lambda: shardsim.torchrec.tables_of(3))
    assert "no attribute plan" in failure_of(lambda: shardsim.torchrec.from_sharding_plan(None, MODEL))
    twice = rec.Module()
    twice.named_modules = lambda: [("e", MODEL.sparse.users), ("e", MODEL.sparse.users)]
    assert "two tables are 'id'" in failure_of(lambda: shardsim.torchrec.tables_of(twice))
    twice.named_modules = lambda: [("e", MODEL.sparse.users), ("e", MODEL.history)]
    assert "two modules have the path 'e'" in failure_of(lambda: shardsim.torchrec.tables_of(twice))
    empty = rec.Module()
    empty.sparse = rec.EmbeddingBagCollection([])
    assert "no table" in failure_of(lambda: shardsim.torchrec.tables_of(empty))
    for words, wrong in (("constraints", {"constraints": [1]}), ("tables['id']", {"tables": {"id": 3}}), ("more", {"more": 3})):
        assert failure_of(lambda wrong=wrong: shardsim.torchrec.workload(MODEL, batch_per_gpu=1, **wrong)).startswith(words)
    uneven = {"sparse.items.id": rec.ParameterConstraints(pooling_factors=[1.0, 2.0], num_poolings=[1.0])}
    assert "1 numbers of poolings for 2 features" in failure_of(lambda: shardsim.torchrec.workload(MODEL, batch_per_gpu=1, constraints=uneven))
    for key, value in (("wire_dtype", {"forward": "fp4"}), ("sharding_groups", {"size": -4}), ("sharding_groups", {"size": 3})):
        assert key.split("_")[0] in failure_of(lambda key=key, value=value: shardsim.simulate(scenario(more={key: value})))
    if "torchrec" not in sys.modules:
        assert "TorchRec is not here" in failure_of(lambda: shardsim.torchrec.to_sharding_plan(shardsim.plan(scenario()), MODEL))


def placed(type_, kernel, ranks, rows, columns, **more):
    shards = [rec.ShardMetadata([0, 0], [rows, columns], f"rank:{ranks[0]}/cuda:{ranks[0]}")]
    made = rec.ParameterSharding(type_, kernel, ranks, rec.EnumerableShardingSpec(shards), more.pop("cache_params", None))
    for key, value in more.items():
        setattr(made, key, value)
    return made


def test_plans_have_every_table_of_the_model():
    sharding = shardsim.torchrec.to_sharding_plan(shardsim.plan(scenario()), MODEL, classes=rec)
    del sharding.plan["history"]
    told = failure_of(lambda: shardsim.torchrec.from_sharding_plan(sharding, MODEL))
    assert told == ("sharding_plan: the plan has no table 'clicks' in a module 'history'. Give the plan of the whole model, or a "
                    "model without what TorchRec does not shard."), told


def test_the_plan_of_one_module_is_that_of_a_model_with_one():
    def of(model):
        made = shardsim.torchrec.scenario(model, cluster={"base": "dgx_a100_80gb", "nodes": 1}, batch_per_gpu=512)
        return shardsim.torchrec.to_sharding_plan(shardsim.plan(made), model, classes=rec)
    users = MODEL.sparse.users  # a module by itself, whose path is ""
    whole = of(users)
    assert list(whole.plan) == [""]
    alone = shardsim.torchrec.from_sharding_plan(whole.plan[""], users)
    assert alone.text == shardsim.torchrec.from_sharding_plan(whole, users).text
    told = failure_of(lambda: shardsim.torchrec.from_sharding_plan(of(MODEL).plan["sparse.users"], MODEL))
    assert told.startswith("sharding_plan: this is the plan of one module, and the model has 3: history, sparse.items, "), told


def test_default_pooling_factors_say_nothing_of_a_feature_that_others_tell_of():
    model = rec.Module()
    bag = rec.EmbeddingBagConfig
    model.ebc = rec.EmbeddingBagCollection([bag(1000, 64, "a", ["user"]), bag(1000, 64, "b", ["user", "item"])])
    constraints = {"a": rec.ParameterConstraints(sharding_types=["table_wise"]),
                   "b": rec.ParameterConstraints(pooling_factors=[20.0, 5.0])}
    tables = shardsim.torchrec.workload(model, batch_per_gpu=8, constraints=constraints)["tables"]
    assert [each["pooling_factor"] for each in tables[0]["features"]] == [20.0]
    constraints["a"] = rec.ParameterConstraints(num_poolings=[2.0])
    tables = shardsim.torchrec.workload(model, batch_per_gpu=8, constraints=constraints)["tables"]
    assert [each["pooling_factor"] for each in tables[0]["features"]] == [1.0]


def test_lookups_are_those_of_import():
    """What constraints say of lookups means the same in a model and in the file that `import` reads."""
    model = rec.Module()
    model.ec = rec.EmbeddingCollection([rec.EmbeddingConfig(1000, 64, "clicks", ["clicks", "views"])])
    bags = {"clicks": rec.ParameterConstraints(pooling_factors=[10.0, 4.0], num_poolings=[2.0, 1.0])}
    made = shardsim.torchrec.workload(model, batch_per_gpu=8, constraints=bags)["tables"][0]
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "model.json")
        with open(file, "w", encoding="utf-8") as out:
            json.dump({"tables": {"ec": [vars(each) | {"data_type": "FP32"} for each in model.ec.embedding_configs()]},
                       "constraints": {"clicks": {"pooling_factors": [10.0, 4.0], "num_poolings": [2.0, 1.0]}}}, out)
        imported = shardsim.import_model(file)
    assert made["average_length"] == 24, made
    assert "average_length: 24," in imported.workload_text, imported.workload_text
    one = {"sparse.items.id": rec.ParameterConstraints(pooling_factors=[10.0])}
    assert failure_of(lambda: shardsim.torchrec.workload(MODEL, batch_per_gpu=8, constraints=one)).startswith(
        "constraints['sparse.items.id']: 1 pooling factors for 2 features")


def test_what_a_model_does_not_say_is_told():
    made = scenario()
    assert made.assumed[:2] == [
        "Every row is as popular as any other; state 'access' where rows are hot (every table).",
        "One id a sample and feature; pooling factors decide most of the time (1 table: sparse.users.id)."], made.assumed
    assert [each[:24] for each in made.assumed[2:]] == ["There is no dense part, ", "The optimizer is rowwise"], made.assumed
    assert made.with_({"workload.batch_per_gpu": 64}).assumed == made.assumed == pickle.loads(pickle.dumps(made)).assumed
    tables = {"id": {"access": {"family": "zipf", "s": 1}}, "country": {"access": {"family": "zipf", "s": 1}},
              "clicks": {"access": {"family": "zipf", "s": 1}}, "sparse.users.id": {"access": {"family": "zipf", "s": 1}, "pooling_factor": 3, "features": ["user"]}}
    more = {"dense": {"layers": [{"name": "top_0", "in": 64, "out": 64}]}, "optimizer": {"name": "sgd"}}
    said = scenario(tables=tables, more=more, software=None).assumed
    assert [each[:24] for each in said] == ["There is no pipeline.", "No host is simulated, wh"], said
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "model.json"), "w", encoding="utf-8") as out:
            json.dump([{"name": "id", "num_embeddings": 10, "embedding_dim": 8, "pooling": "SUM", "data_type": "FP32"}], out)
        imported = shardsim.import_model(os.path.join(folder, "model.json")).assumed
    model = rec.Module()
    model.ebc = rec.EmbeddingBagCollection([rec.EmbeddingBagConfig(10, 8, "id", ["id"])])
    told = shardsim.torchrec.scenario(model, cluster="dgx_h100", batch_per_gpu=4096, software=None).assumed
    assert told == [each for each in imported if not each.startswith(("The batch is", "The cluster is"))], (told, imported)


def test_rows_that_nobody_counts_and_rows_that_leave():
    model = rec.Module()
    model.ebc = rec.EmbeddingBagCollection([rec.EmbeddingBagConfig(1 << 50, 64, "ids", ["ids"])])
    config = model.ebc.embedding_bag_configs()[0]
    config.use_virtual_table = True
    assert failure_of(lambda: shardsim.torchrec.workload(model, batch_per_gpu=8)).startswith("model: table 'ids' is virtual")
    config.use_virtual_table, config.stash_weights = False, True
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        shardsim.torchrec.workload(model, batch_per_gpu=8, constraints={"ids": rec.ParameterConstraints(is_weighted=True)})
    assert [str(each.message) for each in told] == [
        'stash_weights of the model is not simulated (tables ids): say "stash" in `more`',
        "is_weighted of the constraints is not simulated (tables ids): the collection says otherwise"], told
    assert {each.filename for each in told} == {__file__}, told


def test_plans_come_back_with_what_is_not_simulated():
    sharding = shardsim.torchrec.to_sharding_plan(shardsim.plan(scenario(planner="table_wise")), MODEL, classes=rec)
    cache = rec.CacheParams(load_factor=0.33, prefetch_pipeline=True, algorithm="LFU")
    users = sharding.plan["sparse.users"]
    config = next(each.config for each in shardsim.torchrec.tables_of(MODEL) if (each.path, each.name) == ("sparse.users", "id"))
    users["id"] = placed("table_wise", "fused_uvm_caching", [0], config.num_embeddings, config.embedding_dim, cache_params=cache,
                         output_dtype="FP16", enforce_hbm=True, bounds_check_mode=3, key_value_params={"a": 1})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        plan = shardsim.torchrec.from_sharding_plan(sharding, MODEL)
    said = [str(each.message) for each in told if each.category is shardsim.torchrec.NotSimulatedWarning]
    for key in ("cache_params.prefetch_pipeline", "cache_params.algorithm", "output_dtype", "enforce_hbm", "bounds_check_mode",
                "key_value_params"):
        assert any(each.startswith(f"{key} of the plan is not simulated (tables sparse.users.id)") for each in said), (key, said)
    assert len(said) == 6, said
    back = shardsim.torchrec.to_sharding_plan(plan, MODEL, classes=rec)
    assert vars(back.plan["sparse.users"]["id"]) == vars(users["id"])
    assert back == sharding


def test_sizes_of_key_value_caches_are_simulated_and_come_back():
    sharding = shardsim.torchrec.to_sharding_plan(shardsim.plan(scenario(planner="table_wise")), MODEL, classes=rec)
    config = next(each.config for each in shardsim.torchrec.tables_of(MODEL) if (each.path, each.name) == ("sparse.users", "id"))
    sizes = rec.KeyValueParams(ssd_storage_directory="/data", l2_cache_size=2, max_l1_cache_size=64)
    sharding.plan["sparse.users"]["id"] = placed("table_wise", "key_value", [0], config.num_embeddings, config.embedding_dim,
                                                 key_value_params=sizes)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        plan = shardsim.torchrec.from_sharding_plan(sharding, MODEL)
    said = [str(each.message) for each in told if each.category is shardsim.torchrec.NotSimulatedWarning]
    assert len(said) == 1 and said[0].startswith("key_value_params.ssd_storage_directory of the plan is not simulated"), said
    back = shardsim.torchrec.to_sharding_plan(plan, MODEL, classes=rec)
    assert back.plan["sparse.users"]["id"].key_value_params == sizes
    read = shardsim.torchrec.to_sharding_plan(plan.text, MODEL, classes=rec).plan["sparse.users"]["id"].key_value_params
    assert read == rec.KeyValueParams(l2_cache_size=2, max_l1_cache_size=64)


def test_faults_of_live_values_have_places():
    sharding = shardsim.torchrec.to_sharding_plan(shardsim.plan(scenario(planner="table_wise")), MODEL, classes=rec)
    users = sharding.plan["sparse.users"]
    users["id"].cache_params = rec.CacheParams(load_factor=float("nan"))
    where = "sharding_plan['sparse.users']['id']: "
    assert failure_of(lambda: shardsim.torchrec.from_sharding_plan(sharding, MODEL)).startswith(where + "load_factor: nan")
    users["id"] = None
    assert failure_of(lambda: shardsim.torchrec.from_sharding_plan(sharding, MODEL)).startswith(where)
    for size in ("8", -1, 0, 1.5):
        assert failure_of(lambda size=size: shardsim.torchrec.to_sharding_plan(
            shardsim.plan(scenario()), MODEL, classes=rec, world_size=size)).startswith("world_size: ")
    for factors in (True, "1", [True, 1.0], [0.0, 1.0], [float("nan"), 1.0]):
        said = failure_of(lambda factors=factors: shardsim.torchrec.workload(
            MODEL, batch_per_gpu=1, constraints={"sparse.items.id": rec.ParameterConstraints(pooling_factors=factors)}))
        assert said.startswith("constraints['sparse.items.id'].pooling_factors: "), said
    class Array(list):  # as numpy's, whose truth nobody knows
        __bool__ = None
        tolist = list.copy
    made = shardsim.torchrec.workload(
        MODEL, batch_per_gpu=1, constraints={"sparse.items.id": rec.ParameterConstraints(pooling_factors=Array([3, 2]))})
    table = next(each for each in made["tables"] if each["name"] == "sparse.items.id")
    assert [feature["pooling_factor"] for feature in table["features"]] == [3.0, 2.0]
    assert "is no scenario" in failure_of(lambda: shardsim.torchrec.PerfModel(3, MODEL))
    assert "is no scenario" in failure_of(lambda: shardsim.torchrec.Proposer(3, MODEL))
    options = options_of(shardsim.plan(scenario(planner="table_wise")))
    options[0].shards[0].rank = None
    assert "has no rank" in failure_of(lambda: shardsim.torchrec.PerfModel(scenario(), MODEL).rate(options))


def test_plans_that_torchrec_cannot_execute_are_refused():
    """With the table, and the path to what is wrong."""
    good = shardsim.plan(scenario(planner="row_wise")).to_dict()
    where = ("plan", "sparse.users", "country")

    def refused(change, *words, model=MODEL, **more):
        bad = copy.deepcopy(good)
        change(bad["plan"]["sparse.users"]["country"])
        said = failure_of(lambda: shardsim.torchrec.to_sharding_plan(bad, model, classes=rec, **more))
        assert all(word in said for word in ("country", *words)), said
        return said

    def shorter(entry):
        entry["shards"][-1]["shard_sizes"][0] -= 1

    path = "".join(f"[{each!r}]" for each in where)
    said = refused(lambda entry: entry.update(compute_kernel="bogus"), "bogus")
    assert said.startswith("plan" + path), said
    refused(shorter, "4999 rows", "the model has 5000")
    refused(lambda entry: entry["shards"].append(entry["shards"][0]), "9 shards for 8 ranks")
    refused(lambda entry: (entry["shards"].append(entry["shards"][0]), entry["ranks"].append(0)), "")
    refused(lambda entry: entry["shards"][2].update(shard_offsets=[0, 0]), "even blocks")
    refused(lambda entry: entry["shards"][0].update(shard_sizes=[5000, 64]), "")
    refused(lambda entry: entry.update(ranks=[99] * 8), "")
    said = failure_of(lambda: shardsim.torchrec.to_sharding_plan(good, MODEL, world_size=4, classes=rec))
    assert said.startswith("plan['plan']['sparse.users']['id']['ranks'][4]: rank 4 is outside the world"), said
    said = failure_of(lambda: shardsim.torchrec.to_sharding_plan(good, MODEL, world_size=16, classes=rec))
    assert "is row_wise on 8 of 16 ranks, and TorchRec needs a shard of it on each" in said, said
    refused(lambda entry: entry.update(sharding_type="table_wise"), "no slice of it")
    refused(lambda entry: entry.update(sharding_type="bogus"), "bogus")
    refused(lambda entry: entry.pop("shards"), "shards")
    other = Model()
    other.sparse.users.embedding_bag_configs()[1].embedding_dim = 128
    refused(lambda entry: None, "64 columns", "128", model=other)
    for value in (None, 3, "no plan", "{", {}, {"plan": 3}, {"plan": {"sparse.users": 3}}):
        failure_of(lambda value=value: shardsim.torchrec.to_sharding_plan(value, MODEL, classes=rec))
    text = shardsim.plan(scenario(planner="row_wise")).text
    sharding = shardsim.torchrec.to_sharding_plan(text, MODEL, world_size=8, classes=rec)
    assert sharding.plan["sparse.users"]["country"].ranks == list(range(8))
    good["plan"]["sparse.users"]["country"]["ranks"] = "0-7"  # a set, as plans of ours may have
    sharding = shardsim.torchrec.to_sharding_plan(good, MODEL, classes=rec)
    assert sharding.plan["sparse.users"]["country"].ranks == list(range(8))


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
        print(f"{name}: ok", flush=True)
