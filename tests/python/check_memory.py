#!/usr/bin/env python3
"""Runs the calls of the package's module under valgrind: reads of what is not there or was never set, and frees of what
is not held, are failures. Usage: check_memory.py, with the package on PYTHONPATH. Exit: 0, or 1 with what valgrind says.
"""

import ctypes
import os
import subprocess
import sys

INSIDE = "SHARDSIM_UNDER_VALGRIND"
FOUND = 9  # the exit code where valgrind has found something


def calls():
    """Each call of the module once, of failures among them, and objects that go before and after what made them."""
    import shardsim
    import shardsim.torchrec as sim
    import torchrec_stand_ins as rec

    small = {
        "schema": "shardsim.scenario/1",
        "title": "small",
        "cluster": {"base": "dgx_a100_80gb", "nodes": 1, "gpu": {"count": 2}},
        "workload": {"schema": "shardsim.workload/1", "name": "small", "batch_per_gpu": 8, "tables": [
            {"name": f"t{at}", "rows": 100, "dim": 16, "kind": "pooled", "pooling_factor": 2} for at in range(2)]},
        "cases": [{"name": "rows", "planner": {"name": "row_wise"}}],
    }
    scenario = shardsim.Scenario(small)
    plan = shardsim.plan(scenario)
    assert plan.to_dict()["plan"]
    evaluator = shardsim.Evaluator(scenario, plan=plan)
    one = evaluator.simulate()
    changed = scenario.with_({"workload.batch_per_gpu": 16})
    del scenario
    assert evaluator.simulate() == one and evaluator.simulate(changed).batch_per_gpu == 16
    assert shardsim.check(changed).ok
    for wrong in ({**small, "cases": []}, {**small, "seed": -1}, {"a": 3}):
        try:
            shardsim.simulate(wrong)
            raise AssertionError("no InputError")
        except shardsim.InputError as error:
            assert str(error)
    model = rec.Module()
    model.sparse = rec.EmbeddingBagCollection([rec.EmbeddingBagConfig(100, 16, "t0", ["f0"])])
    of = sim.scenario(model, cluster=small["cluster"], batch_per_gpu=8)
    option = rec.ShardingOption("t0", "sparse", "table_wise", "fused", [rec.Shard([100, 16], [0, 0], 1)])
    rates = sim.PerfModel(of, model)
    del of
    assert rates.rate([option]) == rates.rate([option]) > 0
    sharding = sim.to_sharding_plan(rates.plan_of([option]), model, world_size=2, classes=rec)
    assert sharding.plan["sparse"]["t0"].ranks == [1]
    bandwidth = sim.CommsBandwidth(sim.scenario(model, cluster=small["cluster"], batch_per_gpu=8))
    assert bandwidth.get_bw(2, 2, "all_to_all") > 0
    print("each call was made")


def fault():
    """What has to be found: a read of memory that was given back."""
    ctypes.pythonapi.PyMem_RawMalloc.restype = ctypes.c_void_p
    given_back = ctypes.c_void_p(ctypes.pythonapi.PyMem_RawMalloc(64))
    ctypes.pythonapi.PyMem_RawFree(given_back)
    ctypes.string_at(given_back, 16)


def under_valgrind(what):
    environment = {**os.environ, INSIDE: what, "PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}
    words = ["valgrind", "--quiet", f"--error-exitcode={FOUND}", sys.executable, os.path.abspath(__file__)]
    return subprocess.run(words, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def main():
    if INSIDE in os.environ:
        {"calls": calls, "fault": fault}[os.environ[INSIDE]]()
        return 0
    known = under_valgrind("fault")
    if known.returncode != FOUND or "Invalid read" not in known.stderr:
        print(f"error: valgrind sees no read of freed memory: {known.stderr[-2000:]}", file=sys.stderr)
        return 1
    done = under_valgrind("calls")
    print(done.stdout, end="")
    if done.returncode != 0 or "each call was made" not in done.stdout:
        print(done.stderr[-20_000:], file=sys.stderr)
        print(f"error: exit code {done.returncode} under valgrind", file=sys.stderr)
        return 1
    return 0


sys.exit(main())
