#!/usr/bin/env python3
"""The package shardsim gives the numbers of the commands, and its failures are exceptions with place and remedy.

Usage: check_package.py SHARDSIM SCENARIOS, with the package on PYTHONPATH. Exit: 0 all as promised; 1 with the first
thing that is not.
"""

import contextlib
import copy
import dataclasses
import decimal
import io
import json
import os
import pickle
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy
import shardsim
import shardsim.torchrec
from shardsim.show import table_html

PROGRAM, SCENARIOS = (os.path.abspath(each) for each in sys.argv[1:3])


def shipped(name):
    return os.path.join(SCENARIOS, name)


def command(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


def without_clock(text):
    """result.json without the one object that depends on a clock."""
    result = json.loads(text)
    result.pop("planning_cpu_s", None)
    return result


def failure_of(work, kind=shardsim.InputError):
    try:
        work()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


TOY = {
    "schema": "shardsim.scenario/1",
    "title": "of a dict",
    "cluster": {"base": "dgx_a100_80gb", "nodes": 1},
    "workload": {
        "schema": "shardsim.workload/1",
        "name": "small",
        "batch_per_gpu": numpy.int64(64),
        "optimizer": {"name": "rowwise_adagrad"},
        "tables": [
            {"name": f"t{n}", "rows": 1000 * (n + 1), "dim": 64, "kind": "pooled", "pooling_factor": numpy.float64(3)} for n in range(4)
        ],
    },
    "cases": [{"name": "rows", "planner": {"name": "row_wise"}}, {"name": "tables", "planner": {"name": "torchrec"}}],
}


def test_run_is_the_command():
    for name in ("toy.yaml", "two_jobs.yaml", "drawn_batches.yaml"):
        with tempfile.TemporaryDirectory() as folder:
            command("run", shipped(name), "-q", "-o", folder)
            study = shardsim.run(shipped(name))
            with open(os.path.join(folder, "result.json"), encoding="utf-8") as file:
                assert without_clock(file.read()) == without_clock(study.json), name
            mine = os.path.join(folder, "mine")
            study.write(mine)
            for file in ("timeline.h5", "report.html"):
                with open(os.path.join(folder, file), "rb") as one, open(os.path.join(mine, file), "rb") as other:
                    assert one.read() == other.read(), f"{name}: {file}"


def test_simulate_is_run():
    study = shardsim.run(shipped("toy.yaml"))
    for case in study.cases:
        alone = shardsim.simulate(shipped("toy.yaml"), case.name)
        assert alone.iteration_ms == case.iteration_ms, case.name
        assert alone.samples_per_s == case.samples_per_s, case.name
        assert alone.interval == case.interval, case.name
        assert alone.limited_by == case.limited_by["what"], case.name


def test_changes_are_set():
    slower = shardsim.load(shipped("toy.yaml")).with_({"workload.batch_per_gpu": 2048}, seed=7)
    text = command("run", shipped("toy.yaml"), "--set", "workload.batch_per_gpu=2048", "--seed", "7", "-q", "--json",
                   "-o", tempfile.mkdtemp())
    assert without_clock(text) == without_clock(shardsim.run(slower).json)
    assert slower.with_({"workload.batch_per_gpu": 1024}).request().cases() == slower.cases


def test_plan_is_the_command():
    for case in shardsim.load(shipped("toy.yaml")).cases:
        plan = shardsim.plan(shipped("toy.yaml"), case)
        assert plan.text == command("plan", shipped("toy.yaml"), "--case", case), case
        given = shardsim.simulate(shipped("toy.yaml"), case, plan=plan)
        assert given == shardsim.simulate(shipped("toy.yaml"), case, plan=plan.to_dict())
        assert given.iteration_ms == shardsim.simulate(shipped("toy.yaml"), case).iteration_ms, case
    frame = plan.frame()
    assert list(frame.columns) == ["module", "table", "sharding_type", "compute_kernel", "ranks"] and len(frame) > 0


def test_plans_of_sharding_groups():
    """The plan of a group, as `plan` and the command write it, is taken for the scenario that it was made for."""
    for groups in ({"size": 4}, {"size": 2}, {"size": 4, "members": "consecutive"}, {"size": 8, "members": "consecutive"}):
        scenario = shardsim.Scenario(TOY).with_({"cluster.nodes": 2, "workload.sharding_groups": groups})
        for case in scenario.cases:
            plan = shardsim.plan(scenario, case)
            for given in (plan, plan.text, plan.to_dict()):
                assert shardsim.simulate(scenario, case, plan=given) == shardsim.simulate(scenario, case), (groups, case)
            evaluator = shardsim.Evaluator(scenario, case, plan)
            assert evaluator.plan.text == plan.text, groups
            larger = scenario.with_({"workload.batch_per_gpu": 128})
            assert evaluator.simulate(larger).iteration_ms == shardsim.simulate(larger, case, plan=plan).iteration_ms
    other = scenario.with_({"workload.sharding_groups": {"size": 4}})
    error = failure_of(lambda: evaluator.simulate(other))
    assert "4 sharding groups of 4 ranks" in str(error) and "that it was made for" in str(error), error
    error = failure_of(lambda: evaluator.simulate(scenario.with_({"workload.sharding_groups": {"size": 16}})))
    assert "plan of sharding groups" in str(error), error


def test_faults_of_plans_have_paths():
    plan = shardsim.plan(TOY, "rows").to_dict()
    module = next(iter(plan["plan"]))
    plan["plan"][module]["t2"]["shards"][1]["shard_sizes"][0] = numpy.int64(7)
    error = failure_of(lambda: shardsim.simulate(TOY, "rows", plan=plan))
    assert str(error).startswith(f"plan['plan']['{module}']['t2']['shards'][1]: table 't2'"), error
    assert error.source == f"plan['plan']['{module}']['t2']['shards'][1]", error.source
    for value, kind in ((3, "int"), ([], "list"), (object(), "object")):
        assert f"plan: a value of the type {kind} is no dict. Write a Plan" in str(
            failure_of(lambda value=value: shardsim.simulate(TOY, "rows", plan=value)))
    assert str(failure_of(lambda: shardsim.simulate(TOY, "rows", plan="no plan"))).startswith("no plan: ")


def test_sweep_is_the_command():
    name = shipped("sweep_nics_batch.yaml")
    folder = tempfile.mkdtemp()
    command("sweep", name, "-q", "-o", folder)
    sweep = shardsim.sweep(name)
    points = list(sweep)
    assert sorted(point.point for point in points) == list(range(len(sweep)))
    with open(os.path.join(folder, "sweep.csv"), encoding="utf-8") as file:
        assert file.read() == sweep.csv()
    frame = sweep.frame()
    assert len(frame) == len(sweep) and frame.attrs["units"]["iteration_ms"] == "ms"
    point = next(each for each in points if each.ok)
    assert frame.loc[point.point, "iteration_ms"] == point.iteration_ms


def swept(sweep):
    """TOY with one case and this sweep."""
    return {**edited(["cases"], TOY["cases"][:1]), "sweep": sweep}


def test_sweep_hands_out_points_by_what_they_share():
    """Points of one batch share their Programs, so a process gets them one after the other, whatever their numbers."""
    sweep = shardsim.sweep(swept({"axes": {"cluster.nics.rate": ["100 Gbit/s", "200 Gbit/s"],
                                           "workload.batch_per_gpu": [64, 128, 256]}}), jobs=1)
    batches = [point.values["workload.batch_per_gpu"] for point in sweep]
    assert batches == sorted(batches, key=int), batches


def test_sweep_is_a_dataset():
    """A grid has its axes as dimensions; what is no grid is over its points. The values are those of the frame."""
    axes = {"workload.batch_per_gpu": [64, 128], "planner": ["row_wise", "table_wise"],
            "workload.tables.0.rows": [1000, 4_000_000_000_000]}
    for kind, sizes in (({"axes": axes}, (2, 2, 2)), ({"zip": axes}, None)):
        sweep = shardsim.sweep(swept(kind))
        data, frame = sweep.dataset(), sweep.frame()
        assert set(frame["outcome"]) == {"ok", "does_not_fit"}, frame
        assert tuple(data["iteration_ms"].dims) == (tuple(axes) if sizes else ("point",)), data
        assert data["iteration_ms"].shape == (sizes or (len(frame),))
        for point, row in frame.iterrows():
            at = data.sel({name: row[name] for name in axes}) if sizes else data.isel(point=point)
            for name in frame.columns:
                mine, other = at[name].item(), row[name]
                assert mine == other or (mine != mine and other != other), (name, mine, other)
        assert data["iteration_ms"].attrs == {"long_name": frame.attrs["meanings"]["iteration_ms"], "units": "ms"}


def test_results_in_a_notebook():
    """What a cell shows as its last value has the figures in it, and takes names as text."""
    assert table_html(["<i>"], [["<b>", 1234567, 0.00012345, None]]).count("&lt;") == 2
    named = edited(["cases", 0, "name"], "rows")
    study = shardsim.run(named)
    assert f"{study['rows'].iteration_ms:,.4g}" in study._repr_html_() and "<iframe" in study._repr_html_()
    assert f"{study['rows'].iteration_ms:,.4g}" in study["rows"]._repr_html_()
    frame = study.page()._repr_html_()
    assert frame.startswith("<iframe srcdoc=") and frame.count('"') == 8 and "vega" in frame, frame[:200]
    plan = shardsim.plan(named, "rows")
    assert "<td>t3</td><td>row_wise</td>" in plan._repr_html_(), plan._repr_html_()
    one = shardsim.simulate(named, "rows")
    assert f"{one.iteration_ms:,.4g}" in one._repr_html_()
    why = shardsim.why(shipped("toy.yaml"), "row_wise", path_only=True)
    assert "all_to_all" in why._repr_html_() and why.page()._repr_html_() in why._repr_html_()
    sweep = shardsim.sweep(swept({"axes": {"workload.batch_per_gpu": list(range(64, 64 * 31, 64))}}))
    assert "0 of 30 points" in sweep._repr_html_()
    first = min(sweep, key=lambda point: point.point)
    assert f"{first.iteration_ms:,.4g}" in first._repr_html_()
    model = shardsim.import_model(shipped(os.path.join("imports", "torchrec.json")))
    assert model.assumed[0].split("'")[0] in model._repr_html_() and "<table>" in model._repr_html_()
    assert "30 of 30 points" in sweep._repr_html_() and "20 of 30 rows" in sweep._repr_html_()
    assert "iteration" in shardsim.confidence()._repr_html_() and "2 cases" in shardsim.check(TOY)._repr_html_()


def test_a_sweep_is_shown_in_the_order_of_means():
    """The point that is told with more samples per second lies in a lucky placement of its hot rows: it comes second."""
    sweep = shardsim.sweep(swept({"axes": {"workload.batch_per_gpu": [64, 128]}}))
    lucky, other = sorted(sweep, key=lambda point: point.point)
    sweep._done = [
        dataclasses.replace(lucky, iteration_ms=10.0, samples_per_s=1000.0,
                            interval=dataclasses.replace(lucky.interval, low_ms=10.0, high_ms=14.4)),
        dataclasses.replace(other, iteration_ms=11.0, samples_per_s=950.0,
                            interval=dataclasses.replace(other.interval, low_ms=10.0, high_ms=12.1)),
    ]
    shown = sweep._repr_html_()
    assert 0 < shown.index("<td>128</td>") < shown.index("<td>64</td>"), shown


def test_why_is_the_command():
    text = command("why", shipped("toy.yaml"), "--case", "row_wise", "--json")
    why = shardsim.why(shipped("toy.yaml"), "row_wise")
    assert why.json == text
    assert abs(why.frame()["ms"].sum() - why.iteration_ms) < 1e-9 * why.iteration_ms
    assert len(why.help_frame()) > 0 and why.sentence in str(why).replace("\n", " ") and "<html" in why.report()
    alone = shardsim.why(shipped("toy.yaml"), "row_wise", path_only=True)
    assert alone.iteration_ms == why.iteration_ms and len(alone.help_frame()) == 0
    assert set(why.table_frame()["table"]) == {"history"}


def test_drift_is_the_command():
    with tempfile.TemporaryDirectory() as folder:
        command("drift", shipped("sixty_tables.yaml"), "--case", "chosen", "-o", folder, "-q")
        drift = shardsim.drift(shipped("sixty_tables.yaml"), "chosen")
        with open(os.path.join(folder, "drift.json"), encoding="utf-8") as file:
            assert file.read() == drift.json
    frame = drift.frame()
    assert len(frame) == 31 and frame.loc[0, "saved_s"] == 0 and drift.reshard_every_days and drift.out_of_memory_day is None
    assert "drift" in str(failure_of(lambda: shardsim.drift(shipped("toy.yaml"), "row_wise")))
    days = shardsim.load(shipped("sixty_tables.yaml")).with_({"drift.days": 3})
    assert len(shardsim.drift(days, "chosen").frame()) == 4


def test_check_is_the_command():
    sound = shardsim.check(shipped("toy.yaml"))
    assert sound.ok and sound.fits and sound.summary in command("check", shipped("toy.yaml")), sound
    faulty = shardsim.check(edited(["workload", "tables", 0, "rows"], 4_000_000_000))
    assert not faulty.ok and not faulty.fits and "over" in " ".join(faulty.findings), faulty
    failure_of(lambda: shardsim.check(edited(["cases", 1, "planner", "name"], "torchrek")))
    failure_of(lambda: shardsim.check("absent.yaml"))


def test_confidence_is_the_command():
    stated = shardsim.confidence()
    table = command("confidence", "--markdown", "--details")
    frame = stated.frame()
    assert "iteration" in frame.index and f"{100 * frame.loc['iteration', 'held']:.1f}" in table, frame
    assert all(0 <= each.hits <= each.pairs for each in stated.chances) and len(stated.chances) == 3


def test_imports_are_the_command():
    tables, configurations = (shipped(os.path.join("imports", name)) for name in ("tables.csv", "torchrec.json"))
    trace = shipped(os.path.join("measurements", "pytorch", "h100", "traces", "dot128_tf32_b4096.json.gz"))
    for words, work in (
        ([tables, "--nodes", "2", "--batch", "1024"], lambda: shardsim.import_model(tables, nodes=2, batch=1024)),
        ([configurations], lambda: shardsim.import_model(configurations)),
        ([trace, "--tables-of-trace", "rank"], lambda: shardsim.import_trace(trace, tables_of_trace="rank")),
    ):
        with tempfile.TemporaryDirectory() as folder:
            command("import", *words, "-o", os.path.join(folder, "theirs"))
            model = work()
            scenario = model.write(os.path.join(folder, "mine"))
            for name in sorted(os.listdir(os.path.join(folder, "theirs"))):
                if name.startswith("."):
                    continue
                with open(os.path.join(folder, "theirs", name), "rb") as one, open(os.path.join(folder, "mine", name), "rb") as other:
                    assert one.read() == other.read(), f"{words}: {name}"
            assert shardsim.check(scenario).ok and model.scenario_text and model.assumed
    once = shardsim.import_trace(trace, traced_batches=(each for each in [4096]))
    assert once.workload_text == shardsim.import_trace(trace, traced_batches=[4096]).workload_text
    assert "traced_batches" in said_of(lambda: shardsim.import_trace(trace, traced_batches=4096))
    failure_of(lambda: shardsim.import_model(tables, batch=0))
    failure_of(lambda: shardsim.import_model(tables, planner="torchrek"))
    failure_of(lambda: shardsim.import_model("absent.csv"))
    failure_of(lambda: shardsim.import_trace([]))
    failure_of(lambda: shardsim.import_trace(trace, scale_dense="half"))


def test_planners_are_compared():
    study = shardsim.compare_planners(shipped("toy.yaml"), ["torchrec", "row_wise"])
    frame = study.planner_frame()
    assert {"torchrec", "row_wise"} <= set(frame["planner"]), frame


def test_dict_is_a_file():
    scenario = shardsim.Scenario(TOY)
    assert scenario.cases == ["rows", "tables"]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "toy.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(scenario.text)
        of_file = shardsim.run(path)
    of_dict = shardsim.run(scenario)
    assert [case.iteration_ms for case in of_file.cases] == [case.iteration_ms for case in of_dict.cases]
    assert "rows" in of_dict._repr_html_() and len(of_dict.timeline("rows").span) > 0
    assert of_dict["rows"].name == "rows"


def edited(path, value):
    """A copy of TOY with one value at the path of keys."""
    changed = json.loads(json.dumps(TOY, default=lambda number: number.item()))
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


def test_all_is_documented():
    """Each class, function, method and property has a text of its own, and the version begins with that of the package."""
    for module in (shardsim, shardsim.torchrec):
        for name in module.__all__:
            value = getattr(module, name)
            if not callable(value):
                continue
            members = [(f"{name}.{each}", member) for each, member in vars(value).items() if not each.startswith("_")
                       and (callable(member) or isinstance(member, property))] if isinstance(value, type) else []
            for path, each in [(name, value), *members]:
                assert each.__doc__ and not each.__doc__.startswith(f"{name}("), f"{path} is not documented"
    assert re.fullmatch(r"\d+\.\d+\.\d+(\+[a-z0-9]+([._-][a-z0-9]+)*)?", shardsim.__version__), shardsim.__version__


def test_documents():
    """The Python of docs/python.md that needs no TorchRec runs as it stands."""
    with open(os.path.join(SCENARIOS, "..", "docs", "python.md"), encoding="utf-8") as file:
        blocks = re.findall(r"```python\n(.*?)```", file.read(), re.DOTALL)
    assert len(blocks) == 4, len(blocks)
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(SCENARIOS, os.path.join(folder, "scenarios"))
        os.chdir(folder)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            names = {}
            exec(blocks[0], names)
            exec(blocks[1], names)
            exec(blocks[1].replace('"rows": -5', '"rows": 5'), names)  # the fault that it shows is its only one
        os.chdir(here)
    assert said.getvalue().count("scenario['") == 1, said.getvalue()
    assert "scenario['workload']['tables'][1]['rows']" in said.getvalue(), said.getvalue()


def test_failures_have_places():
    table = ["workload", "tables", 2]
    error = failure_of(lambda: shardsim.Scenario(edited([*table, "rows"], -5)).cases)
    assert error.source == "scenario['workload']['tables'][2]['rows']", error.source
    assert str(error).startswith(error.source), error
    error = failure_of(lambda: shardsim.run(edited(["cases", 1, "planner", "name"], "torchrek")))
    assert "['cases'][1]['planner']" in str(error) and "torchrec" in str(error), error
    for value, word in ((float("nan"), "nan"), (float("inf"), "inf"), (object(), "object"), ({1, 2}, "set"), (b"x", "bytes")):
        error = failure_of(lambda value=value: shardsim.Scenario(edited([*table, "dim"], value)))
        assert error.source == "scenario['workload']['tables'][2]['dim']" and word in str(error), error
    assert "no text" in str(failure_of(lambda: shardsim.Scenario({1: 2})))
    loop = {}
    loop["self"] = loop
    assert "holds itself" in str(failure_of(lambda: shardsim.Scenario(loop)))
    failure_of(lambda: shardsim.simulate(TOY))  # two cases, none named
    failure_of(lambda: shardsim.simulate(TOY, "absent"))
    for name, work in (("case", lambda: shardsim.simulate(TOY, 3)), ("case", lambda: shardsim.why(TOY, 3)),
                       ("cases", lambda: shardsim.run(TOY, [3])),
                       ("case", lambda: shardsim.sweep(shipped("sweep_nics_batch.yaml"), 3))):
        assert str(failure_of(work)).startswith(f"{name}: a value of the type int is no text")
    assert "changes: a value of the type int is no text" in str(failure_of(lambda: shardsim.Scenario(TOY).with_({3: 1})))
    failure_of(lambda: shardsim.run(TOY, ["absent*"]))
    failure_of(lambda: shardsim.load("absent.yaml"))
    failure_of(lambda: shardsim.sweep(TOY))
    failure_of(lambda: shardsim.load(shipped("toy.yaml")).with_({"workload.batch": 3}).cases)
    failure_of(lambda: shardsim.simulate(TOY, "rows", plan={"plan": {}}))
    failure_of(lambda: shardsim.simulate(TOY, "rows", plan="{"))
    huge = edited(["workload", "tables", 0, "rows"], 4_000_000_000)
    failure_of(lambda: shardsim.plan(huge, "rows"), shardsim.InfeasibleError)
    before = TOY["workload"]["tables"][0]["rows"]
    scenario = shardsim.Scenario(TOY)
    TOY["workload"]["tables"][0]["rows"] = -1  # a scenario keeps what it was made of
    assert scenario.cases == ["rows", "tables"]
    TOY["workload"]["tables"][0]["rows"] = before


def test_wrong_types():
    """What is no value of the kind that a call takes is refused before anything runs, with the argument's name."""
    toy, nics = shardsim.load(shipped("toy.yaml")), shipped("sweep_nics_batch.yaml")
    ranks = {"plan": {"ec": {"history": {"sharding_type": "row_wise", "ranks": numpy.array([[0, 1], [2, 3]])}}}}
    for name, work in (
        ("scenario", lambda: shardsim.simulate(3)),
        ("scenario", lambda: shardsim.load(None)),
        ("scenario", lambda: shardsim.load(b"toy")),
        ("scenario", lambda: shardsim.Scenario([TOY])),
        ("changes", lambda: toy.with_(3)),
        ("changes", lambda: toy.with_({3: 4})),
        ("seed", lambda: toy.with_(seed="a")),
        ("seed", lambda: toy.with_(seed=-1)),
        ("seed", lambda: toy.with_(seed=1.5)),
        ("planners", lambda: toy.with_(planners=[3])),
        ("case", lambda: shardsim.simulate(toy, 3)),
        ("planner", lambda: shardsim.plan(toy, "row_wise", planner=3)),
        ("plan", lambda: shardsim.simulate(toy, "row_wise", plan=3)),
        ("plan", lambda: shardsim.simulate(toy, "row_wise", plan=[3])),
        ("plan['plan']['ec']['history']['ranks'][0]", lambda: shardsim.simulate(toy, "row_wise", plan=ranks)),
        ("jobs", lambda: shardsim.run(toy, jobs=-1)),
        ("jobs", lambda: shardsim.run(toy, jobs=1.5)),
        ("jobs", lambda: shardsim.sweep(nics, jobs=True)),
        ("cases", lambda: shardsim.run(toy, 3)),
        ("progress", lambda: shardsim.run(toy, progress=3)),
        ("case", lambda: shardsim.run(toy, "row_wise").timeline("absent")),
        ("nodes", lambda: shardsim.import_model("x.csv", nodes="a")),
        ("batch", lambda: shardsim.import_model("x.csv", batch=float("nan"))),
    ):
        error = failure_of(work)
        assert error.source == name and str(error).startswith(f"{name}: ") and str(error).endswith("."), (name, error)


def said_of(work):
    return str(failure_of(work))


def test_faults_of_plans_name_the_value():
    """A Plan and a text of one line have no lines that people see: the path to the value stands for them."""
    plan = shardsim.plan(TOY, "rows")
    wrong = re.sub(r'("ranks": \[\s*)0', r"\1-1", plan.text, count=1)
    made = shardsim.Plan(wrong)
    assert wrong != plan.text
    place = "['plan']['ebc']['t0']['ranks'][0]"
    assert said_of(lambda: shardsim.simulate(TOY, "rows", plan=made)).startswith(f"plan{place}: ")
    flat = json.dumps({"plan": {"ec": {"a b": 3}}})
    assert said_of(lambda: shardsim.simulate(TOY, "rows", plan=flat)).startswith('$.plan.ec["a b"]: '), flat
    assert failure_of(lambda: shardsim.simulate(TOY, "rows", plan=flat)).source == '$.plan.ec["a b"]'
    assert said_of(lambda: shardsim.simulate(TOY, "rows", plan="{")).startswith("plan:1")


def test_paths_and_lists_have_places():
    for call in (lambda: shardsim.import_model(3), lambda: shardsim.run(TOY, "rows").write(None),
                 lambda: shardsim.plan(TOY, "rows").save(None), lambda: shardsim.import_trace(3)):
        assert "is no path" in said_of(call)
    assert said_of(lambda: shardsim.simulate(TOY, "rows", plan="nope.json")).startswith("nope.json: ")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "plan.json")
        plan = shardsim.plan(TOY, "rows")
        plan.save(path)
        assert shardsim.simulate(TOY, "rows", plan=path) == shardsim.simulate(TOY, "rows", plan=plan)
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"plan": 3}')
        assert said_of(lambda: shardsim.simulate(TOY, "rows", plan=path)).startswith(path)
        assert "is no profiler's trace" in said_of(lambda: shardsim.import_trace(path))
        error = failure_of(lambda: plan.save(path), shardsim.RunError)
        assert error.source == path and str(error) == f"{path}: cannot write a new file: File exists. Choose another name.", error
    for broken in (3, '{"\udc80": 1}', "{"):
        assert said_of(lambda broken=broken: shardsim.simulate(TOY, "rows", plan=shardsim.Plan(broken))).startswith("plan:")
        assert repr(shardsim.Plan(broken)) == "<shardsim.Plan whose text is no plan>"
    assert "planners: the list is empty" in said_of(lambda: shardsim.compare_planners(TOY, []))
    said = said_of(lambda: shardsim.simulate(shardsim.Scenario(TOY).with_({"workload.batch_per_gpu": -1}), "rows"))
    assert said.startswith("changes['workload.batch_per_gpu']: ") and "0 or more" not in said, said


def test_scenarios_travel():
    toy = shardsim.load(shipped("toy.yaml"))
    for of in (toy, toy.with_({"workload.batch_per_gpu": 64}, seed=3), shardsim.Scenario(TOY)):
        for copied in (pickle.loads(pickle.dumps(of)), copy.deepcopy(of)):
            assert copied.text == of.text and copied.path == of.path and repr(copied) == repr(of)
            case = of.cases[0]
            assert shardsim.simulate(copied, case) == shardsim.simulate(of, case)


def test_results_say_what_they_are():
    """A study is a sequence of its cases, texts of results are short, and what cannot be sent to a process says why."""
    study = shardsim.run(TOY)
    assert [case.name for case in study] == ["rows", "tables"] and len(study) == 2
    for name in ("absent", 0):
        assert f"there is no case {name!r}. Known: rows, tables" in said_of(lambda name=name: study[name])
    plan = shardsim.plan(TOY, "rows")
    assert repr(plan) == "<shardsim.Plan of 4 tables: row_wise>" and pickle.loads(pickle.dumps(plan)) == plan
    evaluator, sweep = shardsim.Evaluator(TOY, "rows"), shardsim.sweep(swept({"axes": {"workload.batch_per_gpu": [64]}}))
    why = shardsim.why(shipped("toy.yaml"), "row_wise", path_only=True)
    model = shardsim.import_model(shipped(os.path.join("imports", "torchrec.json")))
    for of in (study, plan, evaluator, sweep, why, model, study.page()):
        assert len(repr(of)) < 500 and " object at " not in repr(of), repr(of)[:600]
    for of in (study, evaluator, sweep, why, model):
        assert f"this {type(of).__name__} holds results" in str(failure_of(lambda of=of: pickle.dumps(of), TypeError))
        assert type(copy.copy(of)) is type(of)


def test_texts_and_numbers_of_all_kinds():
    """Numbers of whatever kind are numbers; what is none is refused with the path to it, and never inside of a library."""
    batch = ["workload", "batch_per_gpu"]
    expected = shardsim.simulate(TOY, "rows")
    for value in (numpy.longdouble(64), numpy.float16(64), numpy.array(64), numpy.uint8(64), decimal.Decimal(64)):
        changed = edited(batch, 1)
        changed["workload"]["batch_per_gpu"] = value
        assert shardsim.simulate(changed, "rows") == expected, value
    for value in (numpy.datetime64("2020"), bytearray(b"a"), memoryview(b"a"), "\udc80", decimal.Decimal("nan")):
        error = failure_of(lambda value=value: shardsim.Scenario(edited(batch, value)))
        assert error.source == "scenario['workload']['batch_per_gpu']" and str(error).startswith(error.source), error
    error = failure_of(lambda: shardsim.Scenario(TOY).with_({"workload.batch_per_gpu": float("nan")}))
    assert error.source == "changes['workload.batch_per_gpu']", error.source

    class BytesPath:
        def __fspath__(self):
            return b"toy"

    half = "\udc80"
    for name, work in (
        ("scenario", lambda: shardsim.load(half)),
        ("scenario", lambda: shardsim.load(BytesPath())),
        ("scenario", lambda: shardsim.load(json.dumps(edited(batch, 64)))),
        ("scenario", lambda: shardsim.load("schema: shardsim.scenario/1\ntitle: a\n")),
        ("scenario", lambda: shardsim.load(shardsim.Scenario(TOY))),
        ("folder", lambda: shardsim.Scenario(TOY, folder=3)),
        ("case", lambda: shardsim.simulate(TOY, half)),
        ("cases", lambda: shardsim.run(TOY, [half])),
        ("planners", lambda: shardsim.compare_planners(TOY, [half])),
        ("planners", lambda: shardsim.compare_planners(TOY, ["torchrek"])),
        ("changes['title']", lambda: shardsim.Scenario(TOY).with_({"title": half})),
        ("torchrec_only", lambda: shardsim.Scenario(TOY).with_(torchrec_only="no")),
        ("path_only", lambda: shardsim.why(TOY, "rows", path_only="no")),
        ("seed", lambda: shardsim.Scenario(TOY).with_(seed=2**53)),
    ):
        error = failure_of(work)
        assert error.source == name and str(error).startswith(f"{name}: ") and len(str(error)) < 600, (name, error)


def test_relative_paths_stay_where_they_were():
    """A file that was loaded by a relative path finds its files wherever the process works later, and in other processes."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        shardsim.import_model(shipped(os.path.join("imports", "tables.csv"))).write(folder)
        try:
            os.chdir(folder)
            loaded = shardsim.load("scenario.yaml")
            untouched, expected = pickle.dumps(loaded), shardsim.simulate(loaded)
            os.chdir(here)
            assert shardsim.simulate(loaded) == expected and shardsim.run(loaded).cases[0].iteration_ms == expected.iteration_ms
            for of in (pickle.loads(untouched), loaded.with_({"seed": 3}), shardsim.load(os.path.join(folder, "scenario.yaml"))):
                assert shardsim.simulate(of).iteration_ms > 0
        finally:
            os.chdir(here)


def test_files_that_change_are_read_again():
    """A scenario is read once for many questions, but an older file is never taken for the one that is there."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "own.yaml")

        def write(rate):
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"schema: shardsim.cluster/1\nbase: toy_2x4\nname: own\nnics: {{rate: {rate} Gbit/s}}\n")

        write(80)
        scenario = {**TOY, "cluster": "own.yaml"}
        of = shardsim.Scenario(scenario, folder=folder)
        first = shardsim.simulate(of, "rows").iteration_ms
        assert shardsim.simulate(of, "rows").iteration_ms == first
        write(8)
        later = shardsim.simulate(of, "rows").iteration_ms
        assert later > first and later == shardsim.simulate(shardsim.Scenario(scenario, folder=folder), "rows").iteration_ms
        os.unlink(path)
        assert "own.yaml" in str(failure_of(lambda: shardsim.simulate(of, "rows")))


def test_other_threads_run():
    """The GIL is released: a thread counts while a study is simulated."""
    counted, over = [0], threading.Event()

    def count():
        while not over.is_set():
            counted[0] += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=count)
    thread.start()
    shardsim.run(shipped("flexshard.yaml"))
    over.set()
    thread.join()
    assert counted[0] > 5, counted


def test_interruption():
    """Ctrl-C ends a run and a sweep with KeyboardInterrupt, and the next call works."""
    for work in (lambda: shardsim.run(shipped("flexshard.yaml"), progress=lambda done, total: os.kill(os.getpid(), signal.SIGINT)),
                 lambda: [os.kill(os.getpid(), signal.SIGINT) for _ in shardsim.sweep(shipped("sweep_nics_batch.yaml"))]):
        failure_of(work, KeyboardInterrupt)
    assert shardsim.simulate(TOY, "rows").iteration_ms > 0

    def refuse(done, total):
        raise LookupError("no more")

    failure_of(lambda: shardsim.run(shipped("toy.yaml"), progress=refuse), LookupError)
    unfinished = shardsim.sweep(shipped("sweep_nics_batch.yaml"))
    next(unfinished)
    del unfinished  # ends its processes


def test_interruption_while_plans_are_made():
    """Ctrl-C ends a question while a planner works for it, and not when the planner has ended."""
    for work in (lambda: shardsim.drift(shipped("sixty_tables.yaml"), "chosen"),
                 lambda: shardsim.plan(shipped("sixty_tables.yaml"), "chosen")):
        timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
        used = time.process_time()
        timer.start()
        failure_of(work, KeyboardInterrupt)
        assert time.process_time() - used < 2, time.process_time() - used


def said_in_fork(work):
    """What `work` returns in a forked process, as a text."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, str(work()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as file:
        said = file.read()
    os.waitpid(child, 0)
    return said


def test_forked_processes():
    """A forked process asks questions of its own. The sweep of another one is refused there, and goes on where it is."""
    evaluator = shardsim.Evaluator(TOY, "rows")
    assert said_in_fork(lambda: evaluator.simulate()) == str(evaluator.simulate())
    assert said_in_fork(lambda: len(list(shardsim.sweep(shipped("sweep_nics_batch.yaml"))))) == "32"
    sweep = shardsim.sweep(shipped("sweep_nics_batch.yaml"))
    next(sweep)
    assert "was begun in another process" in said_in_fork(lambda: failure_of(lambda: list(sweep)))
    csv = sweep.csv()
    assert len(sweep.frame()) == 32 and said_in_fork(sweep.csv) == csv


def test_many_simulations_leak_nothing():
    evaluator = shardsim.Evaluator(TOY, "rows")
    for _ in range(200):
        evaluator.simulate()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(2000):
        evaluator.simulate()
        shardsim.Scenario({"a": [1, 2, {"b": "c"}]})
    for _ in range(20):
        shardsim.plan(TOY, "rows")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 4096, f"{grown} KiB more after 2,000 simulations"


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
        print(f"{name}: ok", flush=True)
