#!/usr/bin/env python3
"""`run --trace CASE --one-file`: the merged trace is what Perfetto's reader wants, tells what the traces of the ranks tell,
and is refused by readers of traces of one rank. Usage: one_file_trace.py SHARDSIM SOURCE_DIR

The rules are those of Perfetto's own reader (google/perfetto, src/trace_processor/importers/json/, at 0ba84ac3): slices of
a track nest, a track is named by its number alone, and both ends of an arrow bind to the slice that is open on its track
at that moment. Holistic Trace Analysis finds the rank by "rank":\\s+\\d."""
import json
import os
import re
import subprocess
import sys
import tempfile

shardsim, source = map(os.path.realpath, sys.argv[1:3])
os.environ["SHARDSIM_DATA"] = source
work = tempfile.TemporaryDirectory()
os.chdir(work.name)
os.symlink(os.path.join(source, "scenarios"), "scenarios")
checks = failures = 0


def check(what, holds):
    global checks, failures
    checks += 1
    if not holds:
        failures += 1
        print("FAILED:", what)


def run(*words):
    done = subprocess.run([shardsim, *words], capture_output=True, text=True)
    return done.returncode, done.stderr


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def ns(event, key="ts"):
    return round(1000 * event[key])


class Trace:
    """A trace as Perfetto's reader sees it."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self.top = json.loads(self.text)
        self.slices, self.flows, self.processes, self.tracks = {}, {}, {}, {}
        for event in self.top["traceEvents"]:
            phase, place = event["ph"], (event["pid"], event["tid"])
            if phase == "X":
                self.slices.setdefault(place, []).append(event)
            elif phase == "M" and event["name"] == "process_name":
                self.processes[event["pid"]] = event["args"]["name"]
            elif phase == "M" and event["name"] == "thread_name":
                check(f"{path}: track {event['tid']} is named once", event["tid"] not in self.tracks)
                self.tracks[event["tid"]] = (event["pid"], event["args"]["name"])
            elif phase in "sf":
                self.flows.setdefault(event["id"], {})[phase] = event
            else:
                check(f"{path}: an unknown event {event}", phase == "M" and event["name"] == "process_sort_index")

    def open_slice(self, event):
        at = ns(event)
        inside = [each for each in self.slices.get((event["pid"], event["tid"]), []) if ns(each) <= at < ns(each) + ns(each, "dur")]
        return inside[-1] if inside else None

    def check_all(self, what):
        check(f"{what}: readers find a rank", re.search(r'"rank":\s+\d', self.text))
        for place, slices in self.slices.items():
            check(f"{what}: track {place} has a name", self.tracks.get(place[1], (None,))[0] == place[0])
            ends = 0
            overlap = False
            for each in sorted(slices, key=ns):
                overlap = overlap or ns(each) < ends
                ends = max(ends, ns(each) + ns(each, "dur"))
                check(f"{what}: a slice before the begin", ns(each, "dur") >= 0)
            check(f"{what}: slices of track {self.tracks.get(place[1])} lie one behind the other", not overlap)
        unbound = [flow for flow in self.flows.values() if not (
            len(flow) == 2 and flow["f"]["bp"] == "e" and flow["s"]["cat"] == flow["f"]["cat"] and
            ns(flow["s"]) <= ns(flow["f"]) and self.open_slice(flow["s"]) and self.open_slice(flow["f"]))]
        check(f"{what}: arrows bind to slices: {unbound[:1]}", not unbound)

    def of_rank(self, rank):
        """Name, start and length of what ran, by track."""
        process = next(pid for pid, name in self.processes.items() if name.startswith(f"rank {rank}:"))
        return sorted((self.tracks[place[1]][1].removeprefix("host: "), ns(each), ns(each, "dur"), each["name"])
                      for place, slices in self.slices.items() if place[0] == process for each in slices)


def ranks_of_own(path):
    """The same of a trace of one rank."""
    events = read(path)["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    rows = [(re.sub(r"^stream \d+ ", "", names[e["pid"], e["tid"]]), ns(e), ns(e, "dur"), e["args"]["operation"])
            for e in events if e["ph"] == "X" and e["cat"] == "kernel"]
    return sorted(rows), [e for e in events if e["ph"] == "X" and e["cat"] == "cpu_op"]


def check_case(scenario, case, out, *more):
    code, said = run("run", scenario, "--case", case, *more, "--trace", case, "-o", f"{out}_apart", "-q")
    check(f"{case}: traces of the ranks: {said}", code == 0)
    code, said = run("run", scenario, "--case", case, *more, "--trace", case, "--one-file", "-o", out, "-q")
    check(f"{case}: one trace: {said}", code == 0)
    check(f"{case}: all other results are the same bytes", open(f"{out}/result.json", "rb").read() == open(f"{out}_apart/result.json", "rb").read())
    check(f"{case}: there is one file", os.listdir(f"{out}/trace/{case}") == ["merged.pt.trace.json"])
    trace = Trace(f"{out}/trace/{case}/merged.pt.trace.json")
    trace.check_all(case)
    result = read(f"{out}/result.json")["cases"][0]
    hosts = 0
    ranks = trace.top["distributedInfo"]["world_size"]
    check(f"{case}: all {ranks} ranks are there", len(os.listdir(f"{out}_apart/trace/{case}")) == ranks)
    for rank in range(ranks):
        kernels, host = ranks_of_own(f"{out}_apart/trace/{case}/rank{rank}.json")
        hosts += len(host)
        seen = trace.of_rank(rank)
        check(f"{case}: rank {rank} ran {len(kernels)} kernels and {len(host)} calls, not {len(seen)}", len(seen) == len(kernels) + len(host))
        check(f"{case}: kernels of rank {rank} are where its own trace has them", set(kernels) <= set(seen))
    path = next((slices for place, slices in trace.slices.items() if place[0] == 1), [])
    length = sum(ns(each, "dur") for each in path) / 1e6
    check(f"{case}: the path is as long as the iteration: {length} ms of {result['iteration_ms']}", abs(length / result["iteration_ms"] - 1) < 1e-3)
    for step in path:
        if step["args"]["kind"] == "work":
            check(f"{case}: a step of the path is where the rank ran it: {step}", any(
                name == step["name"] and start < ns(step) + ns(step, "dur") + 2 and ns(step) < start + length + 2
                for _, start, length, name in trace.of_rank(step["args"]["rank"])))
    return trace, hosts


def check_toy():
    trace, _ = check_case("scenarios/toy.yaml", "flexshard_3tier", "toy")
    kinds = {flow["s"]["cat"] for flow in trace.flows.values()}
    check(f"what is sent has an arrow to what waits for it: {kinds}", "waits for" in kinds)
    links = [slices for place, slices in trace.slices.items() if place[0] == 2]
    check("links are tracks", links and any("nvlink" in name for pid, name in trace.tracks.values() if pid == 2))
    check("and NICs", any("/nic" in name for pid, name in trace.tracks.values() if pid == 2))
    busy = [each for slices in links for each in slices if each["args"]["busy us"] > 1.001 * each["dur"] + 0.002]
    check(f"no link moves more than its rate: {busy[:1]}", not busy)
    for flow in trace.flows.values():
        sends, waits = trace.open_slice(flow["s"]), trace.open_slice(flow["f"])
        if flow["s"]["cat"] == "arrives last":
            check(f"both are one collective: {sends} {waits}", sends["name"] == waits["name"] and sends["pid"] != waits["pid"])
        else:
            check(f"one waits for the end of the other: {sends} {waits}",
                  sends["cat"] == "collective" and sends["pid"] == waits["pid"] and ns(sends) + ns(sends, "dur") <= ns(waits))


def check_others():
    # A pipeline, whose iterations overlap, with a host; a rank that is waited for.
    trace, hosts = check_case("scenarios/torchrec_pipelines.yaml", "t040", "pipeline")
    check("the host has tracks", hosts > 0 and any(name.startswith("host: ") for _, name in trace.tracks.values()))
    # Two nodes of GPUs that wait for their hosts.
    trace, hosts = check_case("scenarios/torchrec_dlrm.yaml", "dcnv2/16_h100", "hosts", "--set", "software=torchrec_eager")
    lanes = {trace.processes[pid].split(":")[0] for pid, name in trace.tracks.values() if name == "host: launch"}
    check(f"the host of every rank has a track: {sorted(lanes)}", hosts > 0 and lanes == {f"rank {rank}" for rank in range(16)})
    nodes = {name.split("/")[0] for pid, name in trace.tracks.values() if pid == 2 and "/nic" in name}
    check(f"NICs of both nodes have tracks: {nodes}", nodes == {"node0", "node1"})
    path = next(slices for place, slices in trace.slices.items() if place[0] == 1)
    launches = sum(ns(each, "dur") for each in path if each["name"] == "launch")
    check("the path of eager software goes through a host", launches > 0.5 * sum(ns(each, "dur") for each in path))
    trace, _ = check_case("scenarios/flexshard.yaml", "rm1/flexshard_3tier", "study")
    check("who comes last is told", "arrives last" in {flow["s"]["cat"] for flow in trace.flows.values()})


def check_refused():
    for command in (("compare", "toy/timeline.h5", "--observed-kineto", "toy/trace/flexshard_3tier", "--case", "flexshard_3tier"),
                    ("why", "--trace", "toy/trace/flexshard_3tier/merged.pt.trace.json"),
                    ("import", "toy/trace/flexshard_3tier/merged.pt.trace.json", "-o", "imported")):
        code, said = run(*command)
        check(f"{command[0]} refuses it: {code} {said}", code == 2 and "merged.pt.trace.json" in said and "--one-file" in said)
    toy = ("run", "scenarios/toy.yaml", "--trace", "row_wise", "-o", "refused", "-q")
    for words, says in ((("run", "scenarios/toy.yaml", "--one-file"), "--trace"),
                        ((*toy, "--trace-ranks", "0"), "--one-file"),
                        ((*toy, "--one-file", "--trace-whole-us"), "nanoseconds"),
                        ((*toy, "--one-file", "--trace-ranks", "8"), "rank 8 is outside the world of 8 ranks"),
                        ((*toy, "--one-file", "--trace-ranks", "3-1"), "no whole number of steps from 3 to 1"),
                        ((*toy, "--one-file", "--trace-ranks", "a"), "not a whole number"),
                        ((*toy, "--one-file", "--trace-ranks", "-1"), "a number is missing in the rank set"),
                        ((*toy, "--one-file", "--trace-ranks", "0-999999999"), "is outside the world of 8 ranks")):
        code, said = run(*words)
        check(f"{words[-2:]}: {code} {said}", code == 2 and says in said and "argument --" in said)
        check("and nothing is written", not os.path.exists("refused"))


def check_ranks():
    code, said = run("run", "scenarios/toy.yaml", "--case", "row_wise", "--trace", "all", "--one-file", "--trace-ranks", "2-3,7", "-o", "some")
    check(f"three ranks: {said}", code == 0 and "--trace-ranks" not in said)
    trace = Trace("some/trace/row_wise/merged.pt.trace.json")
    trace.check_all("three ranks")
    check("are those that are asked for", sorted(name.split(":")[0] for name in trace.processes.values() if name.startswith("rank")) == ["rank 2", "rank 3", "rank 7"])
    check("the others are named", trace.top["otherData"]["ranks left out"] == "0-1,4-6" and trace.top["mergedRanks"] == "2-3,7")
    code, said = run("run", "scenarios/toy.yaml", "--case", "row_wise", "--set", "cluster.nodes=8192", "--trace", "all", "--one-file", "-o", "large")
    check(f"32,768 ranks: {said}", code == 0 and "--trace-ranks" in said)
    size = os.path.getsize("large/trace/row_wise/merged.pt.trace.json")
    check(f"have a trace of {size} bytes", size < 150e6)
    print(f"32,768 ranks: {size / 1e6:.0f} MB; {[line for line in said.splitlines() if 'trace-ranks' in line]}")


check_toy()
check_others()
check_refused()
check_ranks()
print(f"{checks} checks, {failures} failures")
sys.exit(failures > 0)
