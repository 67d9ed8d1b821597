#!/usr/bin/env bash
# Prints the counts of ncu by kernel: calls, bytes from and to DRAM, and their rate. Usage: dram.sh ncu.csv
set -euo pipefail
grep -E '^"' "$1" | awk '
  function bytes(unit) { return unit ~ /^G/ ? 1e9 : unit ~ /^M/ ? 1e6 : unit ~ /^K|^k/ ? 1e3 : 1 }
  function seconds(unit) { return unit ~ /^n/ ? 1e-9 : unit ~ /^u/ ? 1e-6 : unit ~ /^m/ ? 1e-3 : 1 }
  { n = split(substr($0, 2, length($0) - 2), cell, /","/) }
  !at["Metric Name"] { for (i = 1; i <= n; i++) at[cell[i]] = i; next }
  { name = cell[at["Kernel Name"]]; sub(/[<(].*/, "", name); sub(/.*:/, "", name); sub(/^void /, "", name); metric = cell[at["Metric Name"]]; unit = cell[at["Metric Unit"]]
    value = cell[at["Metric Value"]]; gsub(/,/, "", value) }
  metric ~ /bytes_read/ { read[name] += value * bytes(unit); calls[name]++ }
  metric ~ /bytes_write/ { written[name] += value * bytes(unit) }
  metric ~ /duration/ { time[name] += value * seconds(unit) }
  END { for (name in calls) if (time[name] > 0)
    printf "%s: %d calls, %.3f GB from DRAM, %.3f GB to it, %.0f GB/s\n", name, calls[name], read[name] * 1e-9, written[name] * 1e-9,
      (read[name] + written[name]) / time[name] * 1e-9 }' | sort
