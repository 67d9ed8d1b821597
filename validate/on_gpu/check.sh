#!/usr/bin/env bash
# The steps of `run_on_gpu.sh check`, one by name.
set -uo pipefail
. "$HERE/common.sh"
validate=$BUILT/shardsim-validate

# The checks of one group: what they come to, what was left out, and the first that failed.
judge() {
  local code=0
  "$BUILT/shardsim-cuda-check" "$1" > "$WORK/$1" 2>&1 || code=$?
  cat "$WORK/$1"
  note "$(last_line "$WORK/$1")"
  while read -r line; do note "$line"; done < <(grep '^left out' "$WORK/$1")
  [ "$code" -eq 0 ] || stop "ends with $code: $(grep -m 1 '^FAILED' "$WORK/$1" | cut -c 1-250)"
}

run_kernels() {
  judge kernels
}

run_large() {
  judge large
}

# start_ranks PROGRAM RANKS LOG ARGUMENT...: each rank a process, on a node of its own as NCCL sees it. NCCL refuses two ranks of
# one node on one GPU; of two nodes it cannot know. Their numbers go to `ranks`.
start_ranks() {
  local program=$1 count=$2 log=$3 rank
  shift 3
  ranks=()
  for ((rank = 0; rank < count; rank++)); do
    RANK=$rank WORLD_SIZE=$count LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=${PORT:-29533} \
      NCCL_HOSTID=node$rank NCCL_SOCKET_IFNAME=lo NCCL_IB_DISABLE=1 NCCL_DEBUG=${NCCL_DEBUG:-WARN} \
      "$validate" "$program" --device cuda "$@" > "$log.rank$rank" 2>&1 &
    ranks+=($!)
  done
}
has_nccl() { ! grep -q 'this build has no NCCL' "$@"; }

run_nccl() {
  local name count program bad=0
  for name in 2_three_tiers 4_pooled 2_pooled 4_three_tiers; do
    case "$SMALL$name" in yes2_pooled|yes4_three_tiers) continue ;; esac
    count=${name%%_*} program=$PROGRAMS/ranks_$name.json
    start_ranks "$program" "$count" "$WORK/logs/nccl_$name" --check-data --iterations 3
    local pid code=0
    for pid in "${ranks[@]}"; do wait "$pid" || code=$?; done
    if [ "$code" -ne 0 ]; then
      has_nccl "$WORK/logs/nccl_$name".rank* || missing nccl "this build has no NCCL"
      note "$name: $(grep -h '^error' "$WORK/logs/nccl_$name".rank* | head -n 1 | cut -c 1-300)"
      bad=1
      continue
    fi
    note "$name: $(last_line "$WORK/logs/nccl_$name.rank0")"
  done
  [ "$bad" -eq 0 ] || stop "data or ranks failed, above"
}

alive() { kill -0 "$1" 2> /dev/null; }

# A program that would run for hours; rank 1 is killed once it runs, and nobody may outlive it for long. A short run before says
# how long a program takes to get going here.
run_kill() {
  local log=$WORK/logs/kill seen=$WORK/observed/kill.timeline.json waited=0 pid began=$SECONDS going
  start_ranks "$PROGRAMS/ranks_2_three_tiers.json" 2 "$log.short" --warmup 0 --iterations 1 -o "$WORK/short.timeline.json"
  for pid in "${ranks[@]}"; do wait "$pid"; done
  going=$((2 * (SECONDS - began) + 3))
  start_ranks "$PROGRAMS/ranks_2_three_tiers.json" 2 "$log" --warmup 1 --iterations 1000000 -o "$seen"
  for ((waited = 0; waited < going; waited++)); do
    sleep 1
    alive "${ranks[0]}" && alive "${ranks[1]}" || break
  done
  if ! alive "${ranks[0]}" || ! alive "${ranks[1]}"; then
    kill -KILL "${ranks[@]}" 2> /dev/null
    has_nccl "$log".rank* || missing nccl "this build has no NCCL"
    stop "the program ended before a rank was killed: $(last_line "$log.rank0")"
  fi
  kill -KILL "${ranks[1]}"
  for ((waited = 0; waited < 30; waited++)); do
    alive "${ranks[0]}" || break
    sleep 0.5
  done
  if alive "${ranks[0]}"; then
    kill -KILL "${ranks[0]}"
    stop "rank 0 lives 15 s after rank 1 was killed"
  fi
  wait "${ranks[0]}"
  local code=$?
  note "rank 0 ends with $code after $(awk -v n="$waited" 'BEGIN { print n / 2 }') s: $(grep -h '^error' "$log.rank0" | head -n 1 | cut -c 1-200)"
  [ "$code" -eq 1 ] && grep -q '^error: rank 1 died' "$log.rank0" || stop "rank 0 did not say who died: $(last_line "$log.rank0")"
  [ -s "$seen" ] || stop "what was measured was not saved"
}

# Programs that need more memory than the GPU has are named, not failed.
run_data() {
  local program name log bad=0 good=0
  local large=share
  [ -z "$SMALL" ] || large=small
  for program in "$PROGRAMS"/toy_1gpu_*.json "$PROGRAMS/$large"_*.json; do
    name=$(basename "$program" .json) log=$WORK/logs/data_$(basename "$program" .json)
    case "$SMALL$name" in yestoy_1gpu_large*) continue ;; esac
    if "$validate" "$program" --device cuda --check-data --iterations 3 > "$log" 2>&1; then
      good=$((good + 1))
    elif grep -q "$no_room" "$log"; then
      note "$name left out: $(last_line "$log")"
    else
      note "$name: $(last_line "$log")"
      bad=$((bad + 1))
    fi
  done
  note "$good programs equal a single process bit for bit, $bad do not"
  [ "$bad" -eq 0 ] && [ "$good" -gt 0 ] || stop "the data of $bad programs differs"
}

# The sanitizer's own verdict, and that the checks passed under it.
sanitize() {
  local tool=$1 code=0
  shift
  command -v compute-sanitizer > /dev/null || missing sanitizer "compute-sanitizer is not in the PATH"
  compute-sanitizer --tool "$tool" --error-exitcode 9 "$BUILT/shardsim-cuda-check" "$@" > "$WORK/$tool" 2>&1 || code=$?
  tail -n 60 "$WORK/$tool"
  if grep -qE 'Device not supported|Unable to (attach|start)' "$WORK/$tool"; then missing sanitizer "$(grep -m 1 -E 'not supported|Unable' "$WORK/$tool")"; fi
  note "$(grep -hE 'passed, [0-9]+ failed' "$WORK/$tool" | head -n 1); $(grep -h 'SUMMARY' "$WORK/$tool" | tail -n 1 | sed 's/^=* *//')"
  [ "$code" -eq 0 ] || stop "compute-sanitizer $tool ends with $code: $(grep -m 1 -E 'Invalid|Race|hazard|Error' "$WORK/$tool" | cut -c 1-200)"
}

case "$1" in
  kernels|large|nccl|kill|data) "run_$1" ;;
  memcheck) sanitize memcheck kernels ;;
  racecheck) sanitize racecheck lookups updates hot_rows ;;
  *) stop "check has no step $1" ;;
esac
