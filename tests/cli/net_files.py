#!/usr/bin/python3
"""Runs `collective compare`, `cluster calibrate` and `cluster import` on files as people have them.

Usage: net_files.py SHARDSIM SOURCE. The files are excerpts in tests/cli/net_files/; its sources.csv says where each was
found. What is checked are counts, names and notes that follow from the file itself, and for forced rings the published
time: none of it was computed by shardsim.
"""
import csv
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

SHARDSIM, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
FILES = os.path.join(SOURCE, "tests/cli/net_files")
MAP = os.path.join(FILES, "map.yaml")
failures = []


def check(what, good, shown=""):
    if not good:
        failures.append(what)
        print(f"FAILED: {what}\n{shown}")


def run(*arguments):
    return subprocess.run([SHARDSIM, *arguments], capture_output=True, text=True, check=False)


# A log, further arguments, what is expected: groups (collective, nodes, GPUs per node), rows, and texts of the notes.
# Groups of None: the file is refused with that text.
LOGS = [
    ("h200_2x8_roce_all_types.txt", [], ("all_reduce", 2, 8), 13, []),
    ("h200_2x8_binary_named_perf_mpi.txt", [], ("all_reduce", 2, 8), 7, []),
    ("nccl_tests_file_version_4.json", [], ("all_reduce", 2, 8), 3, []),
    ("a100_2x8_first_and_last_rank_lines.txt", [], ("all_reduce", 2, 8), 4, []),
    ("gb200_72_ranks_last_rank_line_only.txt", ["--kind", "all_reduce"], ("all_reduce", 1, 72), 5, []),
    ("gb200_72_ranks_all_rank_lines.txt", ["--kind", "all_reduce"], ("all_reduce", 1, 72), 5, []),
    ("gb300_32_trays_all_reduce.txt", [], ("all_reduce", 2, 64), 2, []),
    ("h200_2x8_bf16_torn_row_two_rank_lines.txt", ["--kind", "all_reduce"], ("all_reduce", 2, 8), 8,
     ["1 row cannot be used and is left out, the first: .*:15: the beginning of a row is missing"]),
    ("mpirun_tag_output_all_gather.txt", [], ("all_gather", 1, 2), 8, ["ranks 0 and 1 are on one GPU"]),
    ("log_without_hash_marks.txt", ["--kind", "all_gather"], ("all_gather", 2, 8), 3, []),
    ("two_single_rank_runs_without_mpi.txt", ["--kind", "all_reduce"], None, 0, ["two processes that never met"]),
    ("p2_h100_1x8_bf16_sendrecv.txt", [], ("send_recv", 1, 2), 7, ["the links of a GPU of the cluster carry 450"]),
    ("p2_h100_2x8_ib_all_reduce_ring_forced.txt", [], ("all_reduce", 2, 8), 7, ["predicted with NCCL_ALGO=Ring"]),
    ("p2_b200_2x8_three_columns_rank_lines_with_node.txt", ["--kind", "all_reduce"], ("all_reduce", 2, 8), 7, []),
    ("p2_h200_mig_four_slices_of_one_gpu.txt", [], ("all_reduce", 1, 4), 1, ["a slice of a GPU"]),
    ("p2_h200_2x8_good_rows_then_crash.txt", ["--kind", "all_reduce"], ("all_reduce", 2, 8), 6,
     ["1 row cannot be used and is left out, the first: .* a row of 16 cells does not fit"]),
    ("p2_all_reduce_every_operation_same_sizes.txt", [], ("all_reduce", 2, 8), 18,
     ["operations max, min, prod, sum are mixed|operations .* are mixed", "12 wrong values"]),
    ("p2_mi3xx_1x8_rccl_alltoall_radeon_graphics.txt", [], ("all_to_all", 1, 8), 7,
     ['"AMD Radeon Graphics" is not a GPU of NVIDIA']),
]
# A log, further arguments, and the median of its errors' sizes from 1 MiB up, at most, in percent: what the list of these
# files asks for.
ACCURACY = [
    ("h100_2x8_gcp_a3_mega_all_reduce.txt", [], 40),
    ("p2_h100_1x8_bf16_all_gather.txt", [], 10),
    ("p2_h100_1x8_bf16_all_reduce.txt", [], 10),
    ("gb300_16_trays_all_reduce.txt", [], 10),
    ("p2_b200_1x8_three_columns_no_host.txt", ["--kind", "all_reduce"], 10),
    ("p2_b200_2x8_three_columns_rank_lines_with_node.txt", ["--kind", "all_reduce"], 15),
]
# Rows that their own log speaks against are in no figure.
OUT_OF_MODEL = {"log_without_hash_marks.txt", "mpirun_tag_output_all_gather.txt", "p2_h100_1x8_bf16_sendrecv.txt",
                "p2_h200_mig_four_slices_of_one_gpu.txt",
                "p2_all_reduce_every_operation_same_sizes.txt", "p2_mi3xx_1x8_rccl_alltoall_radeon_graphics.txt"}


def predictions(folder):
    with open(os.path.join(folder, "predictions.csv"), encoding="utf-8") as table:
        return list(csv.DictReader(table))


def check_log(name, more, group, count, notes, scratch):
    out = os.path.join(scratch, name)
    done = run("collective", "compare", "--measurements", os.path.join(FILES, name), "--clusters", MAP, "-o", out, *more)
    check(f"{name}: exit code", done.returncode == (2 if group is None else 0), done.stderr)
    for note in notes:
        check(f"{name}: says '{note}'", re.search(note, done.stderr), done.stderr)
    if group is None or done.returncode != 0:
        check(f"{name}: one line", done.stderr.count("\n") == 1, done.stderr)
        return
    rows = predictions(out)
    found = {(row["collective"], int(row["nodes"]), int(row["gpus_per_node"])) for row in rows}
    check(f"{name}: {found} is {group}", found == {group}, done.stderr)
    check(f"{name}: {len(rows)} rows, not {count}", len(rows) == count, done.stderr)
    outside = all(row["out_of_model"] for row in rows)
    check(f"{name}: {'out of' if name in OUT_OF_MODEL else 'in'} the model", outside == (name in OUT_OF_MODEL), rows)


def check_types(scratch):
    """NVSwitches do not reduce fp8 (NVIDIA/nccl, ncclNvlsSupported): those rows are predicted by another algorithm."""
    rows = predictions(os.path.join(scratch, "h200_2x8_roce_all_types.txt"))
    algorithms = [row["algorithm"] for row in rows]
    check("fp8 is not reduced by NVLS", not any(algorithms[i].startswith("NVLS") for i in (7, 8, 11, 12)), algorithms)
    check("float is", algorithms[4].startswith("NVLS"), algorithms)


def check_forced(scratch):
    rows = predictions(os.path.join(scratch, "p2_h100_2x8_ib_all_reduce_ring_forced.txt"))
    check("a forced ring is predicted", all(row["algorithm"] == "Ring" for row in rows), rows)
    check("393 GB/s within 15 %", abs(float(rows[-1]["error_pct"])) < 15, rows[-1])


def median_from_1mib(name, scratch, *more):
    out = os.path.join(scratch, name + "".join(more).replace("/", "_"))
    done = run("collective", "compare", "--measurements", os.path.join(FILES, name), "--clusters", MAP, "-o", out, "--force", *more)
    check(f"{name}: exit code", done.returncode == 0, done.stderr)
    return statistics.median(abs(float(row["error_pct"])) for row in predictions(out) if int(row["size_bytes"]) >= 1 << 20)


def check_accuracy(scratch):
    for name, more, bound in ACCURACY:
        median = median_from_1mib(name, scratch, *more)
        check(f"{name}: {median:.1f} % is within {bound} %", median <= bound)


# A file, further arguments, texts of the cluster that is made, texts of the notes. Cluster of None: refused.
IMPORTS = [
    ("xml_azure_ncv4-topo.xml", [], [r"count: 4", r"kind: none"], ["NVLinks of .* to itself are left out"]),
    ("xml_azure_ndv5-topo.xml", ["--gpu", "H100-SXM5-80GB"], [r"kind: none"], ["NVLink: not in the file"]),
    ("xml_azure_ndv5-topo.xml", ["--gpu", "H100-SXM5-80GB", "--nvlinks", "18"], [r"kind: switch", r"links_per_gpu: 18"],
     ["18 of each GPU to an NVSwitch as --nvlinks says"]),
    ("xml_gb300_two_trays_gpu_without_nvlink.xml", [], [r"model: \"?GB300-288GB", r"domain: 8", r"^nodes: 2"],
     ["host 2 cannot be read: .*GPU 1 has no NVLink to the switch"]),
    ("smi_gb200_tray_numa_lists.txt", ["--gpu", "GB200-186GB"], [r"sockets: 2", r"vendor: arm"],
     ["a rack of GB200-186GB may be one NVLink domain"]),
    ("smi_h100_4_nics_all_sys.txt", ["--gpu", "H100-SXM5-80GB"], [r"sockets: 2", r"shared_by: 2"], []),
    ("smi_dgx_a100_nps4_12_nics.txt", ["--gpu", "A100-SXM4-40GB", "--nic", "200 Gbit/s"], [r"per_gpu: 1"],
     ["NICs that share no PCIe switch with a GPU are left out.*mlx5_4, mlx5_5, mlx5_10, mlx5_11"]),
    ("smi_h800_nics_alternate_sockets.txt", ["--gpu", "H800"], [r"links_per_gpu: 8", r"per_gpu: 1"], ["mlx5_0"]),
    ("smi_h800_nics_alternate_sockets.txt", ["--gpu", "X800", "--gpu-like", "H100-SXM5-80GB"],
     [r"model: \"?X800", r"links_per_gpu: 8"], ["X800 is not known; memory, rates and caches are those of H100-SXM5-80GB"]),
    ("smi_l40s_one_gpu_sriov_nics_mp.txt", ["--gpu", "L40S", "--nic", "100 Gbit/s"], [r"per_gpu: 10"],
     ["9 NICs, mlx5_1 to mlx5_9, are on one PCIe switch"]),
    ("smi_l40s_one_gpu_sriov_nics_mp.txt", ["--gpu", "L40S", "--nics", "=mlx5_0"], [r"per_gpu: 1\n"], []),
    ("smi_h100_mp_hides_nvlink.txt", ["--gpu", "H100-SXM5-80GB"], [r"kind: none"],
     ["topo -mp .*the model H100-SXM5-80GB has 18 links"]),
    ("p2_smi_dgx2_16_gpus_nv6.txt", ["--gpu", "V100-SXM3-32GB"], [r"sockets: 2", r"shared_by: 2"], ["mlx5_8, mlx5_9"]),
    ("p2_xml_a100_pcie_dual_port_nic_x8.xml", [], [r"rate: \"?7.88 GB/s", r"rate_basis: inferred"], ["part of the 2 ports of PCIe 4.0 x8"]),
    ("p2_xml_dgx1_four_gpus_links_to_hidden_gpus.xml", [], [r"count: 4", r"kind: mesh"],
     ["NVLinks to \"0000:85:00.0\", which is no GPU of the file, are left out"]),
    ("smi_h100_mp_hides_nvlink.txt", ["--gpu", "MI300X"], None, ["is a GPU of AMD"]),
]


def check_import(name, more, cluster, notes, scratch):
    out = os.path.join(scratch, "cluster.yaml")
    done = run("cluster", "import", os.path.join(FILES, name), "-o", out, "--force", *more)
    check(f"{name}: exit code", done.returncode == (2 if cluster is None else 0), done.stderr)
    for note in notes:
        check(f"{name}: says '{note}'", re.search(note, done.stderr), done.stderr)
    if cluster is None or done.returncode != 0:
        return
    with open(out, encoding="utf-8") as text:
        written = text.read()
    for part in cluster:
        check(f"{name}: writes '{part}'", re.search(part, written, re.MULTILINE), written)
    shown = run("cluster", "show", out)
    check(f"{name}: the cluster can be used", shown.returncode == 0, shown.stderr)


def check_hole(scratch):
    """A cluster whose file hides NVLink says so where it is used, and states no factor."""
    out = os.path.join(scratch, "hole.yaml")
    run("cluster", "import", os.path.join(FILES, "smi_h100_mp_hides_nvlink.txt"), "--gpu", "H100-SXM5-80GB", "-o", out)
    done = run("collective", "predict", "--cluster", out, "--kind", "all_reduce", "--sizes", "1GiB")
    check("the hole is told", "without NVLinks, which their boards always have" in done.stdout, done.stdout)
    check("no factor is stated", "within this factor" not in done.stdout, done.stdout)


def check_calibrate(scratch):
    log = os.path.join(FILES, "p2_b200_2x8_three_columns_rank_lines_with_node.txt")
    out = os.path.join(scratch, "calibrated.yaml")
    done = run("cluster", "calibrate", "--cluster", "gcp_a4", "--measurements", log, "--kind", "all_reduce", "-o", out,
               "--force")
    check("calibrate takes 2 x 8 of the log", "all_reduce across nodes" in done.stdout, done.stdout + done.stderr)
    silent = os.path.join(scratch, "all_reduce.log")
    with open(log, encoding="utf-8") as lines, open(silent, "w", encoding="utf-8") as kept:
        kept.writelines(line for line in lines if "Rank" not in line)
    arguments = ["cluster", "calibrate", "--cluster", "gcp_a4", "--measurements", silent, "-o", out, "--force"]
    done = run(*arguments)
    check("without lines about ranks it refuses", done.returncode == 2 and "16 ranks" in done.stderr, done.stderr)
    done = run(*arguments, "--nodes", "4", "--gpus-per-node", "8")
    check("what contradicts the rates is refused", done.returncode == 2 and "32 ranks" in done.stderr, done.stderr)
    done = run(*arguments, "--nodes", "2", "--gpus-per-node", "8")
    check("what agrees is taken", "all_reduce across nodes" in done.stdout, done.stdout + done.stderr)


def check_folder(scratch):
    """All files at once, those that hold no measurement left out with a note each; and a log of 200 MB as a stream."""
    began = time.monotonic()
    done = run("collective", "compare", "--measurements", FILES, "--clusters", MAP, "-o", os.path.join(scratch, "all"))
    check("a folder is compared", done.returncode == 0, done.stderr)
    check("what is no measurement is told", "left out: " in done.stderr, done.stderr)
    print(f"the folder took {time.monotonic() - began:.1f} s")
    large = os.path.join(scratch, "large.log")
    with open(os.path.join(FILES, "a100_2x8_first_and_last_rank_lines.txt"), encoding="utf-8") as log:
        text = log.read()
    with open(large, "w", encoding="utf-8") as log:
        for _ in range(1000):
            log.write("node2:3259226:3260615 [7] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/7/GDRDMA\n" * 2000)
        log.write(text)
    began = time.monotonic()
    limited = ["bash", "-c", 'ulimit -v 400000; exec "$0" "$@"', SHARDSIM, "collective", "compare", "--measurements", large,
               "--system", "a100_2x8_first_and_last_rank_lines", "--clusters", MAP, "-o", os.path.join(scratch, "large")]
    done = subprocess.run(limited, capture_output=True, text=True, check=False)
    check("a large log is read as a stream", done.returncode == 0, done.stderr)
    print(f"{os.path.getsize(large) / 1e6:.0f} MB took {time.monotonic() - began:.1f} s")


with tempfile.TemporaryDirectory() as folder:
    for log_case in LOGS:
        check_log(*log_case, folder)
    check_types(folder)
    check_forced(folder)
    check_accuracy(folder)
    for import_case in IMPORTS:
        check_import(*import_case, folder)
    check_hole(folder)
    check_calibrate(folder)
    check_folder(folder)
with open(os.path.join(FILES, "sources.csv"), encoding="utf-8") as table:
    cited = {row["file"] for row in csv.DictReader(table)}
stored = {name for name in os.listdir(FILES) if name not in ("sources.csv", "map.yaml")}
check(f"every file has its source: {stored ^ cited}", stored == cited)
print(f"{len(failures)} failed" if failures else "all good")
sys.exit(1 if failures else 0)
