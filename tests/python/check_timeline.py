#!/usr/bin/env python3
"""Opens timeline.h5 in h5py, pandas and xarray as docs/formats/timeline.md promises. Usage: check_timeline.py FILE

Exit: 0 the file is as promised; 1 it is not, with the reason; 77 a module is missing (a test runner's "skipped").
"""

import sys

try:
    import h5py
    import h5netcdf  # noqa: F401 - the engine of xarray used here
    import numpy as np
    import pandas as pd
    import xarray as xr
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

COLUMNS = {  # of each case: group -> column -> kind of number (i, f) and bytes, or "text"
    "rank": {"rank": "i4", "compute_ms": "f8", "comm_ms": "f8", "exposed_ms": "f8", "hbm_bytes": "i8",
             "bytes_out": "i8", "bytes_in": "i8"},
    "spans": {"span": "i8", "start_us": "f8", "end_us": "f8", "rank": "i4", "stream": "i4", "op": "i4",
              "iteration": "i4", "bytes": "i8"},
    "op": {"op": "i4", "name": "text", "class": "text"},
}
SUMMARY = ["iteration_ms", "exposed_comm_ms", "hbm_max_bytes", "imbalance"]
CLASSES = {"lookup", "update", "dense", "all_to_all", "all_to_all_v", "all_reduce", "reduce_scatter", "all_gather",
           "broadcast", "send_recv"}


def check(good, what):
    if not good:
        print(f"wrong: {what}")
        sys.exit(1)


def kind_of(dataset):
    return "text" if h5py.check_string_dtype(dataset.dtype) else dataset.dtype.str[1:]


def check_dataset(name, dataset):
    """Every axis has a scale; numbers have units."""
    for axis, dimension in enumerate(dataset.dims):
        check(h5py.h5ds.is_scale(dataset.id) or len(dimension) == 1, f"{name}: axis {axis} has {len(dimension)} scales")
    if kind_of(dataset) != "text":
        check("units" in dataset.attrs, f"{name}: no units")
    else:
        check(h5py.check_string_dtype(dataset.dtype).encoding == "utf-8", f"{name}: not UTF-8")
    check("long_name" in dataset.attrs, f"{name}: no long_name")
    packed = "/spans/" in name
    check(dataset.size == 0 or (dataset.compression == "gzip") == packed, f"{name}: compression {dataset.compression}")
    if packed and dataset.size > 0:
        check(dataset.shuffle and dataset.compression_opts == 1 and dataset.chunks[0] <= 65536, f"{name}: shuffle, gzip level or chunk")


def check_root(file):
    check(file.attrs["schema"] == "shardsim.timeline/1", "schema")
    check(file.attrs["Conventions"] == "shardsim-1", "Conventions")
    for name in ("tool_version", "scenario"):
        check(isinstance(file.attrs[name], str), f"attribute {name} is no text")
    check(int(file.attrs["seed"]) >= 0, "seed")
    check(list(file["case/case"][:]) == list(range(len(file["case/name"]))), "/case/case")


def check_columns(case, root):
    for group, columns in COLUMNS.items():
        for column, kind in columns.items():
            check(column in case[group], f"{root}/{group}/{column} is missing")
            check(kind_of(case[group][column]) == kind, f"{root}/{group}/{column} is {kind_of(case[group][column])}")
    for name in SUMMARY:
        check(case["summary"][name].shape == (), f"{root}/summary/{name} is no single value")


def check_flow(case, root):
    ranks = len(case["rank/rank"])
    if "flow" not in case:
        return
    check(case["flow/bytes"].shape == (ranks, ranks), f"{root}/flow/bytes is not ranks x ranks")
    flow = case["flow/bytes"][:]
    check((flow.sum(axis=1) == case["rank/bytes_out"][:]).all(), f"{root}: flow's rows do not sum to bytes_out")
    check((flow.sum(axis=0) == case["rank/bytes_in"][:]).all(), f"{root}: flow's columns do not sum to bytes_in")


def check_spans(case, root):
    """As a pandas user reads them."""
    spans = case["spans"]
    frame = pd.DataFrame({name: spans[name][:] for name in spans})
    check((frame.end_us >= frame.start_us).all(), f"{root}: a span ends before its start")
    ordered = frame.sort_values(["start_us", "rank", "stream", "op"], kind="stable")
    check(ordered.index.equals(frame.index), f"{root}: spans are not sorted by (start, rank, stream, op)")
    check(frame["rank"].between(0, len(case["rank/rank"]) - 1).all(), f"{root}: a rank outside the world")
    classes = case["op/class"].asstr()[:]
    check(set(classes) <= CLASSES, f"{root}: classes {set(classes) - CLASSES}")
    check(frame["op"].between(0, len(classes) - 1).all(), f"{root}: an op outside the table")
    return frame


def check_xarray(path, root, case):
    """xarray opens one group at a time."""
    for group in ("spans", "rank", "op", "summary", "stream", "group", "group_member", "flow"):
        if group not in case:
            continue
        with xr.open_dataset(path, group=f"{root}/{group}", engine="h5netcdf") as data:
            data.load()
            for name in data.data_vars:
                values = case[group][name][()] if kind_of(case[group][name]) != "text" else case[group][name].asstr()[:]
                check(np.array_equal(data[name].values, values), f"{root}/{group}/{name}: xarray reads other values")
    with xr.open_dataset(path, group=f"{root}/rank", engine="h5netcdf") as data:
        check(data.compute_ms.dims == ("rank",), f"{root}/rank: compute_ms has dimensions {data.compute_ms.dims}")
        check(data.compute_ms.attrs["units"] == "ms", f"{root}/rank: compute_ms has no units")


def main(path):
    with h5py.File(path, "r") as file:
        check_root(file)
        file.visititems(lambda name, it: check_dataset("/" + name, it) if isinstance(it, h5py.Dataset) else None)
        names = list(file["case/name"].asstr()[:])
        total = 0
        for name in names:
            root = f"/cases/{name}"
            case = file[root]
            check(case.attrs["kind"] in ("predicted", "observed"), f"{root}: kind")
            check(case.attrs["complete"].dtype == np.int8, f"{root}: complete is no int8")
            check_columns(case, root)
            check_flow(case, root)
            total += len(check_spans(case, root))
    with h5py.File(path, "r") as file:
        for name in names:
            check_xarray(path, f"/cases/{name}", file[f"/cases/{name}"])
    with xr.open_dataset(path, group="/case", engine="h5netcdf") as cases:
        check(list(cases.name.values) == names, "/case/name: xarray reads other names")
    print(f"{path}: {len(names)} cases, {total} spans; h5py {h5py.__version__}, pandas {pd.__version__}, "
          f"xarray {xr.__version__}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print(__doc__)
        sys.exit(2)
    main(sys.argv[1])
