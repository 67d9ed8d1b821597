#!/usr/bin/env bash
# Ctrl-C and termination in the middle of a run: exit 130 or 143, one line, no file, no process left.
# Usage: interrupt.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"

# 20 cases of 256 drawn iterations of 1,024 GPUs on nodes that all differ: minutes of work.
{
  printf 'schema: shardsim.scenario/1\nplanner: {name: flexshard_3tier}\nworkload: rm1\npayload: planned\n'
  printf 'load: {batches: drawn, iterations: 256}\n'
  printf 'cluster:\n  base: a100_mesh_4x8\n  nodes: 128\n  faults:\n'
  for node in $(seq 0 127); do echo "    - {node: $node, nic: 0, rate_factor: 0.$((500 + node))}"; done
  echo 'cases:'
  for number in $(seq 20); do echo "  - {name: c$number}"; done
} >slow.yaml

children_of() { cat "/proc/$1/task/$1/children" 2>/dev/null || true; }
# has_workers PID COUNT: so many children; they are in $workers.
has_workers() {
  workers=$(children_of "$1")
  [ "$(wc -w <<<"$workers")" -ge "$2" ]
}
# reads PID: it catches Ctrl-C and sleeps, as it waits for what it reads; or it has ended, which its code tells.
reads() {
  local state
  state=$(awk '/^State:/ { print $2 }' "/proc/$1/status") && [ "$state" != Z ] || return 0
  [ "$state" = S ] && [ $((16#$(awk '/^SigCgt:/ { print $2 }' "/proc/$1/status") & 2)) -ne 0 ]
}

# Ended, or a zombie that nobody may reap there; within 5 s, for on a busy machine that takes its time.
gone() {
  for _ in $(seq 100); do
    [ -d "/proc/$1" ] && ! grep -q '^State:.*zombie' "/proc/$1/status" 2>/dev/null || return 0
    sleep 0.05
  done
  return 1
}

# stop_with SIGNAL CODE JOBS [group]: starts the run, waits for its workers, sends the signal to it (or, as a terminal
# does, to the whole process group), and looks at what is left.
stop_with() {
  local signal=$1 expected=$2 jobs=$3 target=${4:-process} before workers='' code=0 main
  before=$(files)
  setsid env --default-signal=INT,TERM "$shardsim" run slow.yaml -o out/slow -j "$jobs" >streams/out 2>streams/err </dev/null &
  main=$!
  check "$jobs workers start" until_true has_workers "$main" "$jobs"
  if [ "$target" = group ]; then kill "-$signal" -- "-$main"; else kill "-$signal" "$main"; fi
  local from=$SECONDS
  wait "$main" || code=$?
  check "$signal ends the run with $expected, not $code: $(cat streams/err)" [ "$code" -eq "$expected" ]
  check "$signal ends the run soon" [ $((SECONDS - from)) -le 5 ]
  check "nothing is printed" [ ! -s streams/out ]
  check "one line says so: $(cat streams/err)" [ "$(wc -l <streams/err)" -eq 1 ]
  check "no file is left: $(files)" [ "$before" = "$(files)" ]
  for worker in $workers; do check "worker $worker goes within 5 s" gone "$worker"; done
}

stop_with INT 130 1
stop_with INT 130 3
stop_with INT 130 2 group
stop_with TERM 143 2
stop_with TERM 143 2 group

# A planner that simulates its candidates, each in a worker: seconds of work.
plan_stops() {
  local signal=$1 expected=$2 code=0 main from workers
  setsid env --default-signal=INT,TERM "$shardsim" plan "$source/scenarios/torchrec_synthetic.yaml" --case jumbo \
    --objective simulated -o slow_plan.json >streams/out 2>streams/err </dev/null &
  main=$!
  check "plan: workers start" until_true has_workers "$main" 1
  kill "-$signal" -- "-$main"
  from=$SECONDS
  wait "$main" || code=$?
  check "plan: $signal ends it with $expected, not $code: $(cat streams/err)" [ "$code" -eq "$expected" ]
  check "plan: it ends soon after $signal" [ $((SECONDS - from)) -le 5 ]
  check "plan: one line says so: $(cat streams/err)" [ "$(grep -vc '^note: ' streams/err)" -eq 1 ]
  check "plan: no file is left" [ ! -e slow_plan.json ]
}
plan_stops INT 130
plan_stops TERM 143

# A worker that dies fails the run and is named by its case. One worker, for of two that are killed either may end first.
setsid env --default-signal=INT,TERM "$shardsim" run slow.yaml -o out/slow -j 1 >streams/out 2>streams/err </dev/null &
main=$!
until_true has_workers "$main" 1
# shellcheck disable=SC2086
kill -KILL $workers
code=0 from=$SECONDS
wait "$main" || code=$?
check "it does not begin the other cases" [ $((SECONDS - from)) -le 5 ]
check "a run whose worker dies exits 1, not $code" [ "$code" -eq 1 ]
check "the message names the case: $(cat streams/err)" grep -qE "^error: .*case 'c1'.*died" streams/err
check "no file is left after a worker died" [ -z "$(find out -type f 2>/dev/null)" ]

# A killed run takes its workers with it.
setsid env --default-signal=INT,TERM "$shardsim" run slow.yaml -o out/slow -j 2 >streams/out 2>streams/err </dev/null &
main=$!
until_true has_workers "$main" 2
kill -KILL "$main"
wait "$main" || true
for worker in $workers; do check "worker $worker ends with a killed run" gone "$worker"; done
check "no file is left after a kill" [ -z "$(find out -type f ! -name '*.tmp.*' 2>/dev/null)" ]
# stops_while_reading SIGNAL CODE ARGUMENT...: the command waits for a pipe that nobody writes, and a signal ends it.
mkfifo pipe pipe.csv pipe.h5 pipe.timeline.json
stops_while_reading() {
  local signal=$1 expected=$2 code=0 main before from
  shift 2
  before=$(files)
  setsid env --default-signal=INT,TERM,HUP "$shardsim" "$@" >streams/out 2>streams/err <pipe &
  main=$!
  exec 9>pipe  # somebody must open the pipe for both to go on; nothing is written
  begun "$main" "$shardsim"
  until_true reads "$main"
  kill "-$signal" "$main" || true  # it may have ended, which the code tells
  from=$SECONDS
  wait "$main" || code=$?
  exec 9>&-
  check "reading: $signal ends '$*' with $expected, not $code: $(cat streams/err)" [ "$code" -eq "$expected" ]
  check "reading: '$*' ends at once" [ $((SECONDS - from)) -le 5 ]
  check "reading: '$*' says so in one line: $(cat streams/err)" [ "$(grep -c '^error: stopped' streams/err)" -eq 1 ]
  check "reading: '$*' prints nothing" [ ! -s streams/out ]
  check "reading: '$*' leaves nothing" [ "$before" = "$(files)" ]
}
for signal in "INT 130" "TERM 143" "HUP 129"; do
  # shellcheck disable=SC2086
  stops_while_reading $signal check /dev/stdin
done
measured="$source/scenarios/measurements"
for arguments in "run pipe" "sweep pipe" "check pipe.h5" "plan pipe" "explain pipe" "why pipe" "lower pipe -o made" "drift pipe" \
  "compare pipe.h5 pipe.h5" "compare pipe.timeline.json pipe.timeline.json" "convert pipe.h5 -o made.timeline.json" \
  "convert pipe.timeline.json -o made.h5" "import pipe.csv -o made" "cluster import pipe -o made.yaml" \
  "cluster calibrate --cluster dgx1_v100 --measurements pipe.csv -o made.yaml" \
  "collective predict --cluster dgx_a100_80gb --kind all_to_all_v --matrix pipe.csv" \
  "collective compare --measurements pipe.csv -o made" "compute compare --measurements pipe.csv -o made" \
  "compute compare --measurements $measured/kernels --gpus pipe -o made" "cost-model label pipe --cluster dgx_a100_40gb" \
  "cost-model train pipe -o made.h5" "autoshard train pipe -o made.h5" "dreamshard train pipe -o made.h5" "confidence --residuals pipe"; do
  # shellcheck disable=SC2086
  stops_while_reading INT 130 $arguments
done

# stops_while_working AFTER ARGUMENT...: Ctrl-C ends a command in the middle of its work, after so many hundredths of a second of it.
stops_while_working() {
  local after=$1 code=0 main before from
  shift
  before=$(files)
  setsid env --default-signal=INT,TERM "$shardsim" "$@" >streams/out 2>streams/err </dev/null &
  main=$!
  begun "$main" "$shardsim"
  works "$main" "$after"
  kill -INT "$main" || true
  from=$SECONDS
  wait "$main" || code=$?
  check "working: Ctrl-C ends '$1 $2' with 130, not $code: $(cat streams/err)" [ "$code" -eq 130 ]
  check "working: '$1 $2' ends at once" [ $((SECONDS - from)) -le 5 ]
  # What was being written is finished first, all of it.
  check "working: '$1 $2' leaves nothing half-written" [ "$before" = "$(files)" -o -e "${last_written:-none}" ]
}
sizes=$(seq -s, -f '%.0fB' 1048576 1024 2071552)
stops_while_working 50 collective predict --cluster dgx_a100_80gb --nodes 512 --kind all_to_all_v --skew zipf --sizes "$sizes"
last_written=made/report.html stops_while_working 2 collective compare --measurements "$measured/open" -o made
rm -rf made
stops_while_working 40 cost-model sample nv_tiny -n 1000000 -o made.json
finish 170
