#!/usr/bin/env bash
# Prints the figures of measured.csv, one a line: how much of the copy bandwidth lookups and updates of 512 bytes and
# more reach, how fast sorts and products are. Usage: figures.sh measured.csv
set -euo pipefail
# Cells in quotes hold commas; none of the columns read here does.
sed -E 's/"[^"]*"/quoted/g' "$1" | awk -F, '
  function best(what, value, place) { if (value > most[what]) { most[what] = value; where[what] = place } }
  function share(what, value, place) {
    best(what, value, place)
    if (!(what in least) || value < least[what]) { least[what] = value; low[what] = place }
    count[what]++
  }
  NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
  { op = $at["op"]; us = $at["time_us"]; law = $at["index_distribution"]; bytes = $at["derived_row_traffic_bytes"]
    dim = $at["dim_elements"]; type = $at["weight_dtype"]; shape = "dim " dim ", pooling " $at["pooling_factor_lookups_per_sample"] }
  op == "copy" { copy = bytes / us }
  law == "uniform" && (op == "tbe_fwd" || op == "nobag_fwd" || op == "tbe_bwd") && dim * (type == "fp32" ? 4 : 2) >= 512 {
    share(op " " type (op == "tbe_bwd" ? " " $at["optimizer"] : ""), bytes / us, shape) }
  op == "sort_pairs" { best("sort_pairs", $at["batch_size_samples"] / us, $at["batch_size_samples"] " pairs, keys below " $at["rows_per_table"]) }
  op == "gemm" { best("gemm " type, 2e-6 * $at["batch_size_samples"] * dim * $at["rows_per_table"] / us,
    $at["batch_size_samples"] " x " dim " x " $at["rows_per_table"]) }
  END {
    if (copy > 0) printf "copy: %.1f GB/s read plus written\n", copy * 1e-3
    for (what in count) if (copy > 0)
      printf "%s, rows of 512 B and more: %.0f to %.0f %% of the copy bandwidth in row bytes, least at %s (%d points)\n",
        what, 100 * least[what] / copy, 100 * most[what] / copy, low[what], count[what]
    if ("sort_pairs" in most) printf "sort_pairs: at best %.3f pairs/ns, %s\n", most["sort_pairs"] * 1e-3, where["sort_pairs"]
    for (what in most) if (what ~ /^gemm/) printf "%s: at best %.2f TFLOP/s, %s\n", what, most[what], where[what]
  }' | sort
