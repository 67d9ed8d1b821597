#!/usr/bin/env python3
"""The parts of shardsim.torchrec that TorchRec's planner and its dry run take, in stand-ins of them.
Usage: check_torchrec_planner.py SHARDSIM, with the package on PYTHONPATH. Exit: 0, or 1 with what is not right.
"""

import copy
import json
import os
import re
import subprocess
import sys
import types

import shardsim
import shardsim.torchrec as sim
import torchrec_planner_stand_ins as planner
import torchrec_stand_ins as rec

BATCH = 1024
CLASSES = types.SimpleNamespace(**vars(planner), CacheParams=rec.CacheParams)


class Model(rec.Module):
    """Tables of very different sizes, of which the last ones are worth cutting, and a sequence collection."""

    def __init__(self, largest=4_000_000):
        self.sparse = rec.EmbeddingBagCollection(
            [rec.EmbeddingBagConfig(rows, 64, f"t{at}", [f"f{at}"])
             for at, rows in enumerate((1_000, 20_000, 300_000, 2_000_000, largest))])
        self.history = rec.EmbeddingCollection([rec.EmbeddingConfig(50_000, 64, "clicks", ["clicks"])])


MODEL = Model()
CONSTRAINTS = {name: rec.ParameterConstraints(pooling_factors=[factor])
               for name, factor in (("t2", 5.0), ("t3", 20.0), ("t4", 40.0), ("clicks", 30.0))}


def scenario(model=MODEL, nodes=1, **more):
    return sim.scenario(model, cluster={"base": "dgx_a100_80gb", "nodes": nodes}, batch_per_gpu=BATCH,
                        constraints=CONSTRAINTS, **more)


def topology_of(of, **more):
    return planner.Topology(generalized_comms_bandwidths=sim.CommsBandwidth(of),
                            **{**sim.bandwidths.machine_of(of, "model"), **more})


def failure_of(work):
    try:
        work()
    except shardsim.InputError as error:
        return str(error)
    raise AssertionError("no InputError")


def planned(of, model=MODEL, proposer=None, **more):
    chosen = planner.EmbeddingShardingPlanner(topology_of(of), BATCH, constraints=CONSTRAINTS, proposer=proposer,
                                              performance_model=sim.PerfModel(of, model), **more)
    return chosen, chosen.plan(model, [])


def test_rates_are_those_of_the_command():
    """By TorchRec's formulas they give the time that `shardsim collective predict` gives."""
    for nodes in (1, 2):
        of = scenario(nodes=nodes)
        rates, size = sim.CommsBandwidth(of, exchange_bytes=2**22), 2**22
        for kind, local, world, group, count in (
                ("all_to_all", 8, 8, "node", size), ("reduce_scatter", 8, 8, "node", 8 * size),
                ("all_gather", 8, 8, "node", 8 * size), ("all_to_all", 8, 16, "world", size),
                ("reduce_scatter", 8, 16, "world", 16 * size), ("all_to_all", 1, 2, "cross_node", size)):
            if world > 8 * nodes or (group == "cross_node" and nodes == 1):
                continue
            said = subprocess.run([BINARY, "collective", "predict", "--cluster", "dgx_a100_80gb", "--nodes", str(nodes), "--kind", kind,
                                   "--group", group, "--sizes", f"{count}B", "--json"], capture_output=True, text=True)
            us = json.loads(said.stdout)["results"][0]["time_us"]
            kinds = planner.CollectiveType(kind)
            assert abs(count / rates.get_bw(local, world, kinds) - us / 1e3) < 1e-6 * us, (kind, nodes, said.stdout)


def test_rates_of_replicated_tables():
    """TorchRec counts the bytes of a table (2 n - 1) / n times, n being its hosts but 2 at most, and twice beyond two."""
    rates = sim.CommsBandwidth(scenario(nodes=4), all_reduce_bytes=2**26)
    for nodes, passes in ((1, 1.0), (2, 1.5), (4, 3.0)):
        machine = shardsim._core.Machine(scenario(nodes=nodes).request(), "model")
        took = machine.collective_ms("all_reduce", 8, 8 * nodes, 2**26)
        assert abs(2**26 * passes / rates.get_bw(8, 8 * nodes, planner.CollectiveType.ALL_REDUCE) - took) < 1e-9 * took


def test_rates_that_the_cluster_states():
    of = scenario(nodes=2)
    stated = sim.CommsBandwidth(of, simulated=False)
    kinds = planner.CollectiveType
    assert stated.get_bw(8, 8, kinds.ALL_TO_ALL) == stated.intra_host_bw > stated.inter_host_bw
    assert stated.get_bw(8, 16, kinds.REDUCE_SCATTER) == stated.inter_host_bw
    assert stated.get_bw(8, 16, kinds.ALL_REDUCE) == 8 * stated.inter_host_bw
    simulated = sim.CommsBandwidth(of)
    assert simulated.intra_host_bw == stated.intra_host_bw and simulated != stated and stated != 3
    assert 0 < simulated.get_bw(8, 16, kinds.ALL_TO_ALL) < stated.inter_host_bw * 16 / 8
    assert sim.CommsBandwidth(of) == simulated and hash(sim.CommsBandwidth(of)) == hash(simulated)
    assert "bytes a rank" in str(simulated) and "states" in str(stated)


def test_rates_refuse_what_the_cluster_is_not():
    rates = sim.CommsBandwidth(scenario(nodes=2))
    kinds = planner.CollectiveType
    assert "do not divide" in failure_of(lambda: rates.get_bw(8, 12, kinds.ALL_TO_ALL))
    assert "hosts have 8 GPUs" in failure_of(lambda: rates.get_bw(16, 16, kinds.ALL_TO_ALL))
    assert "the machine has 2" in failure_of(lambda: rates.get_bw(8, 32, kinds.ALL_TO_ALL))
    assert "unknown collective" in failure_of(lambda: rates.get_bw(8, 16, "all_to_none"))
    assert "local_world_size" in failure_of(lambda: rates.get_bw(0, 16, kinds.ALL_TO_ALL))
    assert "exchange_bytes" in failure_of(lambda: sim.CommsBandwidth(scenario(), exchange_bytes=0))
    assert "all_reduce_bytes" in failure_of(lambda: sim.CommsBandwidth(scenario(), all_reduce_bytes=1.5))


def test_searched_plans_are_proposed_and_kept():
    """With the Partitioner the planner's choice is search's plan, by ranks and time; TorchRec's own proposal is slower."""
    of = scenario()
    wanted = shardsim.plan(of, planner="search")
    proposer = sim.Proposer(of, MODEL)
    chosen, sharding = planned(of, proposer=[proposer, planner.GreedyProposer()],
                               partitioner=sim.Partitioner(proposer, planner.GreedyPerfPartitioner()))
    assert [(each.planner, each.fits) for each in proposer.proposed] == [("search", True)], proposer.proposed
    assert proposer.proposed[0].rating == shardsim.simulate(of, plan=wanted).iteration_ms == chosen.rating
    assert chosen.num_proposals == 2
    assert shardsim.simulate(of, plan=sim.from_sharding_plan(sharding, MODEL)) == shardsim.simulate(of, plan=wanted)
    _, alone = planned(of)
    assert shardsim.simulate(of, plan=sim.from_sharding_plan(alone, MODEL)).iteration_ms > chosen.rating
    greedy, _ = planned(of, proposer=sim.Proposer(of, MODEL))  # by TorchRec's own partitioner
    assert greedy.rating >= chosen.rating


def test_plans_of_several_planners():
    of = scenario()
    proposer = sim.Proposer(of, MODEL, planners=["row_wise", {"name": "torchrec"}, "table_wise", "row_wise"])
    chosen, _ = planned(of, proposer=[proposer], partitioner=sim.Partitioner(proposer, classes=CLASSES))
    assert [each.planner for each in proposer.proposed] == ["row_wise", "torchrec", "table_wise", "row_wise"]
    assert chosen.num_proposals == 3 and proposer.proposed[0].rating == proposer.proposed[3].rating
    assert chosen.rating == min(each.rating for each in proposer.proposed)
    for each in proposer.proposed[:3]:
        of_planner = of.with_({"planner": {"name": each.planner}})
        assert each.rating == shardsim.simulate(of_planner).iteration_ms, each


def test_other_shards_are_estimated_by_the_enumerator():
    """A plan may cut columns where the search space does not: the enumerator of the planner estimates the shards."""
    of = scenario().with_({"constraints.t4": {"sharding_types": ["column_wise"], "min_partition": 16, "torchrec_only": True}})
    proposer = sim.Proposer(of, MODEL, planners=["torchrec"])
    chosen, sharding = planned(of, proposer=[proposer], partitioner=sim.Partitioner(proposer, classes=CLASSES))
    assert len(sharding.plan["sparse"]["t4"].ranks) == 4, sharding.plan["sparse"]["t4"]
    assert chosen._enumerator.estimated[1:] == [1], chosen._enumerator.estimated
    assert chosen.rating == shardsim.simulate(of).iteration_ms
    space = chosen._enumerator.enumerate(MODEL, [])
    proposer.load(space)
    assert "nobody can estimate" in failure_of(proposer.propose)
    cached = scenario().with_({"constraints.t4": {"compute_kernels": ["fused_uvm_caching"], "cache_load_factor": 0.5,
                                                  "sharding_types": ["table_wise"], "torchrec_only": True}})
    other = sim.Proposer(cached, MODEL, planners=["torchrec"], classes=CLASSES)
    for option in space:
        if option.name == "t4" and option.sharding_type == "table_wise":
            option.compute_kernel = "fused_uvm_caching"
    for given in (None, rec.CacheParams(load_factor=0.1, reserved_memory=1.0)):
        for option in space:
            option.cache_params = given
        other.load(space, chosen._enumerator)
        made = next(option for option in other.propose() if option.name == "t4")
        assert made.cache_params.load_factor == 0.5
        assert made.cache_params.reserved_memory == (given.reserved_memory if given else None)


def test_no_room():
    """What has none on its ranks goes to the other partitioner, or is refused as TorchRec's error."""
    of = scenario()
    plan = shardsim.plan(of, planner="table_wise")
    proposer = sim.Proposer(of, MODEL, planners=["table_wise"])
    full = 2**20 * 700  # less than the largest table
    space = planner.EmbeddingEnumerator(topology_of(of), BATCH).enumerate(MODEL, [])
    proposer.load(space)
    proposal = proposer.propose()
    alone = sim.Partitioner(proposer, classes=CLASSES)
    try:
        alone.partition(proposal, topology_of(of, hbm_cap=full))
        raise AssertionError("no PlannerError")
    except planner.PlannerError as error:
        assert "no room" in str(error) and error.error_type == planner.PlannerErrorType.PARTITION, error
    placed = alone.partition(proposal, topology_of(of))
    assert all(shard.rank is not None for option in placed for shard in option.shards)
    on = {option.name: [shard.rank for shard in option.shards] for option in placed}
    for module in plan.to_dict()["plan"].values():
        for name, entry in module.items():
            assert entry["sharding_type"] == "data_parallel" or on[name] == entry["ranks"], (name, on[name], entry)
    strange = [copy.copy(option) for option in proposal[:-1]]
    try:
        alone.partition(strange, topology_of(of))
        raise AssertionError("no PlannerError")
    except planner.PlannerError as error:
        assert "no plan of shardsim" in str(error), error
    both = sim.Partitioner(proposer, planner.GreedyPerfPartitioner())
    assert both.partition(strange, topology_of(of)) is strange
    half = topology_of(of, world_size=1, local_world_size=1)
    assert "the Topology has 1 ranks" in failure_of(lambda: alone.partition(proposal, half))
    if "torchrec" not in sys.modules:
        assert "TorchRec is not here" in failure_of(lambda: sim.Partitioner(proposer).partition(strange, topology_of(of)))


def test_proposers_refuse_other_models_and_constraints():
    of = scenario()
    proposer = sim.Proposer(of, MODEL, planners=["row_wise"])
    topology = topology_of(of)
    space = planner.EmbeddingEnumerator(topology, BATCH).enumerate(MODEL, [])
    proposer.load([option for option in space if option.name != "t3"])
    assert "no table 't3' in a module 'sparse'" in failure_of(proposer.propose)
    proposer.load(planner.EmbeddingEnumerator(topology, BATCH, ("table_wise",)).enumerate(MODEL, []))
    assert "does not shard table" in failure_of(proposer.propose)
    for planners in ([3], [{}], [{"name": 3}]):
        assert "planners" in failure_of(lambda planners=planners: sim.Proposer(of, MODEL, planners=planners))
    unknown = sim.Proposer(of, MODEL, planners=["serach"])
    unknown.load(space)
    assert "search" in failure_of(unknown.propose)
    huge = Model(10_000_000_000)
    nothing = sim.Proposer(scenario(huge), huge, planners=["table_wise"])
    nothing.load(space)
    assert nothing.propose() is None and nothing.proposed == []


def test_ratings_of_proposal_after_proposal():
    """An entry that came before is not read again: ratings are those of the plan all the same, and faults are told."""
    of = scenario()
    model, space = sim.PerfModel(of, MODEL), planner.EmbeddingEnumerator(topology_of(of), BATCH).enumerate(MODEL, [])
    whole = [option for option in space if option.sharding_type == "table_wise"]

    def placed(first):
        for at, option in enumerate(whole):
            option.shards[0].rank = (first + at) % 8
        return whole

    ratings = [model.rate(placed(first)) for first in (0, 3, 0, 5, 3)]
    assert ratings[0] == ratings[2] and ratings[1] == ratings[4], ratings
    for first, rating in zip((0, 3, 0, 5), ratings):
        assert rating == shardsim.simulate(of, plan=model.plan_of(placed(first))).iteration_ms, first
    half = whole[:-1]
    assert whole[-1].name in failure_of(lambda: model.rate(half))
    assert "t0" in failure_of(lambda: model.rate([*whole, whole[0]]))
    whole[1].shards[0].rank = 8
    assert "rank 8" in failure_of(lambda: model.rate(whole))
    placed(0)
    whole[2].compute_kernel = 'no "kernel"'
    assert "unknown compute kernel" in failure_of(lambda: model.rate(whole))
    stranger = rec.ShardingOption("t0", "elsewhere", "table_wise", "fused", whole[0].shards)
    assert "no table 't0' in a module 'elsewhere'" in failure_of(lambda: model.rate([stranger]))


def requested(**more):
    return planner.ShardingPlanRequest(**{"model": MODEL, "sharders": [], "world_size": 16, "local_world_size": 8,
                                          "batch_size": BATCH, "constraints": CONSTRAINTS, **more})


def test_dry_run_over_machines():
    provider = sim.Provider({"A100": "dgx_a100_80gb", "H100": "dgx_h100"}, planners=["search"],
                            otherwise=planner.DefaultPlannerProvider(), classes=CLASSES)
    executor = planner.DefaultPlannerExecutor(provider)
    request = requested()
    times = {}
    for sku, cluster in (("A100", "dgx_a100_80gb"), ("H100", "dgx_h100")):
        result = executor.run(sku, planner.PlannerSessionContext(request))
        assert result.success, result
        mine = sim.scenario(MODEL, cluster={"base": cluster, "nodes": 2}, batch_per_gpu=BATCH, constraints=CONSTRAINTS)
        times[sku] = provider.simulate(sku, request, result.sharding_plan).iteration_ms
        assert times[sku] == shardsim.simulate(mine, plan=sim.from_sharding_plan(result.sharding_plan, MODEL)).iteration_ms
        topology = provider.build_topology(sku, request)
        assert topology.world_size == 16 and topology.local_world_size == 8 and topology.comms_bandwidths.name == "shardsim"
        searched = shardsim.simulate(mine, plan=shardsim.plan(mine, planner="search")).iteration_ms
        assert times[sku] <= searched, (sku, times[sku], searched)
    assert times["H100"] < times["A100"], times
    assert provider.build_topology("A100", requested(hbm_gb=40)).devices[0].storage.hbm == 40 * 2**30
    assert provider.build_topology("A100", requested(pod_size=2)).pod_size == 2
    own = planner.HeuristicalStorageReservation(0.3)
    assert provider.build_storage_reservation("A100", requested(storage_reservation=own)) is own
    context = planner.PlannerSessionContext(requested(model=lambda: MODEL))
    topology = provider.build_topology("A100", context.request)
    assert provider.build_planner(topology=topology, storage_reservation=own, ctx=context).plan(MODEL, [])
    plain = sim.Provider({"A100": "dgx_a100_80gb"}, otherwise=planner.DefaultPlannerProvider(), classes=CLASSES)
    assert planner.DefaultPlannerExecutor(plain).run("A100", planner.PlannerSessionContext(request)).success
    full = planner.DefaultPlannerExecutor(plain).run("A100", planner.PlannerSessionContext(requested(hbm_gb=0.001)))
    assert not full.success and full.planner_failure_reason, full


def test_dry_runs_refuse_other_machines():
    provider = sim.Provider({"A100": "dgx_a100_80gb"}, classes=CLASSES)
    assert "Known: A100" in failure_of(lambda: provider.build_topology("B200", requested()))
    assert "do not divide by 8" in failure_of(lambda: provider.build_topology("A100", requested(world_size=12)))
    said = failure_of(lambda: provider.build_topology("A100", requested(local_world_size=4)))
    assert said.startswith("request.world_size: 16 ranks") and "has 32" in said, said
    assert "no machine is named" in failure_of(lambda: sim.Provider({}))
    assert "clusters" in failure_of(lambda: sim.Provider(3))
    context = planner.PlannerSessionContext(requested())
    assert "which machine" in failure_of(lambda: provider.build_planner(topology=None, storage_reservation=None, ctx=context))
    assert "no table" in failure_of(lambda: provider.simulate("A100", requested(), rec.ShardingPlan({"a": {"b": None}})))


def test_documents():
    """The second example of docs/python.md for TorchRec runs as it stands, where its planner is a stand-in."""
    page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "python.md")
    with open(page, encoding="utf-8") as file:
        block = re.findall(r"```python\n(.*?)```", file.read(), re.DOTALL)[3]
    here = {"shardsim": shardsim, "sim": sim, "model": MODEL, "constraints": CONSTRAINTS, "sharders": [],
            "scenario": scenario(nodes=2), "request": requested(), **vars(planner)}
    here["Topology"] = lambda **given: planner.Topology(**{**sim.bandwidths.machine_of(here["scenario"], "model"), **given})
    kept = sim.provider._planner_classes
    sim.provider._planner_classes = lambda: CLASSES
    try:
        exec(block, here)
    finally:
        sim.provider._planner_classes = kept
    assert here["proposer"].proposed[0].planner == "search" and here["sharding_plan"].plan.keys() == {"sparse", "history"}
    assert all(result.success for result in here["results"]), here["results"]


BINARY = sys.argv[1]
for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
        print(f"{name}: ok", flush=True)
