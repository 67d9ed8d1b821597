#!/usr/bin/env bash
# All commands agree on whether a plan fits: run, plan, sweep, drift, and a comparison of planners.
# Usage: memory_rule.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"
law() { check "$1" jq -e "$2" "$3" >/dev/null; }

# scenario FILE MEMORY_MODEL HBM: a table whose rows fit, and whose states of the optimizer do not.
scenario() {
  cat >"$1" <<YAML
schema: shardsim.scenario/1
cluster: {base: toy_2x4, gpu: {hbm: "$3", reserved: "0 B"}}
workload:
  name: own
  batch_per_gpu: 64
  optimizer: {name: adam}
  tables: [{name: rows, rows: 1000000, dim: 64, kind: pooled, pooling_factor: 5}]
memory_model: $2
planner: {name: row_wise}
sweep: {axes: {workload.batch_per_gpu: [64]}}
drift: {days: 1, growth: "0 %/day", tables: rows, rotation: "1 %/day"}
YAML
}

# all_say FILE FITS: FITS is true or false.
all_say() {
  local file=$1 fits=$2 folder=out_${1%.yaml}
  run run "$file" -q -o "$folder/run"
  law "$file: run says $fits: $(cat streams/err)" ".cases[0].memory.fits == $fits" "$folder/run/result.json"
  run plan "$file" -o "$folder.json"
  check "$file: plan says $fits" [ "$(grep -c 'GiB too much' streams/err)" -eq "$([ "$fits" = true ] && echo 0 || echo 1)" ]
  run sweep "$file" -o "$folder/sweep"
  check "$file: sweep says $fits" [ "$(grep -c ' over ' streams/out)" -eq "$([ "$fits" = true ] && echo 0 || echo 1)" ]
  run drift "$file" -o "$folder/drift"
  law "$file: drift says $fits" "[.days[] | .frozen_fits == $fits and .best_fits == $fits] | all" "$folder/drift/drift.json"
  run run "$file" --planners row_wise,table_row_wise -q -o "$folder/planners"
  law "$file: the table of planners says $fits" \
    "(.planner_comparisons[0].planners[] | select(.planner == \"row_wise\") | .over_capacity_bytes == null) == $fits" "$folder/planners/result.json"
}

rows='{name: paper, dp_static_multiplier: 1, mp_dynamic_copies: 0, dp_dynamic_copies: 0}'
scenario rows.yaml "$rows" "48 MiB"
scenario counted.yaml '{name: paper}' "48 MiB"
scenario room.yaml '{name: paper}' "480 MiB"
all_say rows.yaml true  # a limit for rows, which they keep
all_say counted.yaml false
all_say room.yaml true
for file in counted.yaml room.yaml; do
  run why "$file" --path-only --json
  cp streams/err why.err
  run run "$file" -q -o "why_$file"
  check "$file: why says of the peak what run says" [ "$(grep -c 'simulated peak' why.err)" -eq \
    "$(jq '[.cases[0].notes[] | select(test("simulated peak"))] | length' "why_$file/result.json")" ]
done
check "... where it is too much" [ "$(jq '[.cases[0].notes[] | select(test("simulated peak"))] | length' why_counted.yaml/result.json)" -eq 1 ]


# A script can rely on the exit code, and has the results all the same.
run run counted.yaml --strict -q -o strict
check "--strict: a plan over at its simulated peak ends with 3" [ "$code" -eq 3 ]
check "... with one message" [ "$(grep -c 'strict: at the simulated peak' streams/err)" -eq 1 ]
check "... after everything is written" [ -s strict/result.json ]
run run counted.yaml --planners row_wise,table_row_wise --strict -q -o strict_planners
check "... but compared planners are listed" [ "$code" -eq 0 ]
run run room.yaml --strict -q -o strict_room
check "... and a plan with room ends with 0" [ "$code" -eq 0 ]

finish 19
