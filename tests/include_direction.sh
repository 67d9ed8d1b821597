#!/usr/bin/env bash
# A file includes only from its own room and from rooms that stand above it in this list. A file that is in no room of
# its own belongs to the folder that holds it: networks/ and jobs/ belong to sim/engine. The two machines, sim/ and
# validate/, include nothing of each other.
# Usage: include_direction.sh ROOT
set -euo pipefail
cd "$1"
rooms=(
  base base/hdf5 base/tree base/schema base/fields base/document base/judgement
  topology/spec topology/graph topology/import topology/export
  models/access models/load models/workload models/learned models/collective models/compute models/software
  plan plan/torchrec/spec plan/torchrec/estimate plan/torchrec/search plan/torchrec/bridge plan/torchrec/report
  plan/memory_models plan/column_shards plan/autoshard plan/dreamshard plan/search plan/planners
  program program/timeline
  sim/lower sim/engine sim/memory
  validate/execute/kernels validate/execute/meet validate/execute/fusion validate/execute/buffers validate/execute/wires
  validate/execute/devices validate/execute/run validate/microbench validate/comparison validate/bare
  study/scenario study/planning study/import study/why study/confidence study/drift study/result study/notes study/run study/sweep study/schema
  study/report study/report/sheets study/report/charts study/report/documents study/explore
  accuracy/measurements/read accuracy/measurements accuracy/emulated
  cli/arguments cli/serve cli/commands cli cli/microbench cli/validate
  python/core
)
declare -A height
for i in "${!rooms[@]}"; do height[${rooms[$i]}]=$i; done

# Sets `room` to the room of a path: the longest listed folder that holds it.
room_of() {
  room=${1%/*}
  while [ -z "${height[$room]:-}" ]; do
    case "$room" in */*) room=${room%/*} ;; *) room=; return ;; esac
  done
}

status=0 seen=0
while IFS=: read -r file line include; do
  included=${include#*\"}
  included=${included%%\"*}
  room_of "$file"; from=$room
  room_of "$included"; to=$room
  [ -n "$from" ] || { echo "$file: its folder is not in the list of rooms of tests/include_direction.sh"; status=1; continue; }
  [ -n "$to" ] || { echo "$file:$line: include of \"$included\", which is in no room"; status=1; continue; }
  [ -e "$included" ] || { echo "$file:$line: include of \"$included\", which does not exist"; status=1; continue; }
  seen=$((seen + 1))
  case "$from:$to" in
    validate/*:sim/* | sim/*:validate/*) echo "$file:$line: $included: sim/ and validate/ execute the same Program beside each other, and neither includes the other"; status=1 ;;
  esac
  [ "${height[$to]}" -le "${height[$from]}" ] || { echo "$file:$line: room $from includes $included from the later room $to"; status=1; }
done < <(grep -rnE '^ *# *include "' --include='*.h' --include='*.cpp' --include='*.cu' base topology models plan program sim validate study accuracy cli python 2>/dev/null)
[ "$seen" -gt 100 ] || { echo "only $seen includes were found: the search is broken"; status=1; }
exit "$status"
