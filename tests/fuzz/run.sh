#!/usr/bin/env bash
# Runs a fuzz target on seed files, then for a while on what it makes of them; what it finds (a crash, a leak, an input that takes over 10 s or over
# 3 GB) ends it with an error and the input in base64. Usage: run.sh TARGET SECONDS SEED...
set -euo pipefail
target=$1 seconds=$2
shift 2
[ $# -gt 0 ] || { echo "no seeds"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/corpus"
for seed in "$@"; do cp "$seed" "$work/corpus/$(basename "$(dirname "$seed")")_$(basename "$seed")"; done
cd "$work"
# Its own log holds thousands of lines about coverage.
if ! "$target" corpus -max_total_time="$seconds" -rss_limit_mb=3000 -timeout=10 -max_len=20000 -print_final_stats=1 >log 2>&1; then
  tail -n 100 log
  for found in crash-* leak-* timeout-* oom-* slow-unit-*; do
    [ -e "$found" ] && { echo "$found, base64:"; base64 "$found"; }
  done
  exit 1
fi
grep -E '^stat::(number_of_executed_units|slowest_unit_time_sec|peak_rss_mb)' log
