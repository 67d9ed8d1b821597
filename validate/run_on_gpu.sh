#!/usr/bin/env bash
# What one GPU teaches, in two calls of at most 8 minutes and 7 files each, on a machine with the NVIDIA driver, nvcc 12 or newer
# and a C++20 compiler. NCCL, PyTorch, compute-sanitizer and ncu are used where they are; what was left out is named.
#   check    kernels against a double-precision reference and under the sanitizer, large tables, ranks that share the GPU by
#            NCCL, one of them killed
#   measure  the micro-benchmark's grid in three rounds, one rank's share of two trainings and whole iterations of others beside what was
#            predicted, PyTorch on the same shapes, ncu's bytes
# Usage: run_on_gpu.sh check|measure OUT_DIR [options]
#   --dry-run       print the plan and end
#   --minutes M     the whole takes at most so long (7.5), and with more each step longer; what does not fit is named
#   --built DIR     a folder with shardsim-validate, shardsim-microbench, shardsim-cuda-check; nothing is built then
#   --require LIST  of nccl, torch, sanitizer, ncu, with commas: failed where it is missing, not left out
#   --steps LIST    only these steps of the plan, with commas
#   --small         small inputs, to try the script itself
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
started=$SECONDS

usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }
fail() { echo "error: $1" >&2; exit "${2:-2}"; }

mode='' out='' built='' minutes=7.5 require='' steps='' small='' dry_run=''
while [ $# -gt 0 ]; do
  case "$1" in
    --built|--minutes|--require|--steps) [ $# -gt 1 ] || fail "$1 needs a value; see --help"; declare "${1#--}=$2"; shift 2 ;;
    --dry-run) dry_run=yes; shift ;;
    --small) small=yes; shift ;;
    -h|--help) usage; exit 0 ;;
    -*) fail "unknown option $1; see --help" ;;
    *) if [ -z "$mode" ]; then mode=$1; elif [ -z "$out" ]; then out=$1; else fail "one folder only; see --help"; fi; shift ;;
  esac
done
case "$mode" in check|measure) ;; *) fail "say check or measure; see --help" ;; esac
[[ "$minutes" =~ ^[0-9]+(\.[0-9]+)?$ ]] || fail "--minutes $minutes is no number"
total=$(awk -v m="$minutes" 'BEGIN { printf "%d", 60 * m }')
for each in ${require//,/ }; do
  case "$each" in nccl|torch|sanitizer|ncu) ;; *) fail "--require knows nccl, torch, sanitizer and ncu, not $each" ;; esac
done

for each in ${steps//,/ }; do
  plan_steps=$(sed -n "/^plan_$mode() {/,/^}/s/^ *echo \"\([a-z]*\) .*/\1/p" "${BASH_SOURCE[0]}")
  grep -qxF "$each" <<< "$plan_steps" || fail "--steps: $mode has $(paste -sd ' ' <<< "$plan_steps"), not $each"
done

# The plan: name, expected (as an H100 took) and longest seconds, what it does. The most valuable first.
plan_check() {
  echo "kernels 5 60 every kernel against the double-precision reference"
  echo "large 5 60 tables of more than 2^32 elements and of 20 GB and more"
  echo "nccl 20 100 2 and 4 ranks on this GPU by NCCL: the data of 3-tier and pooled programs, bit for bit"
  echo "kill 20 120 one of 2 ranks killed in a running program: the others end within 15 s"
  echo "data 85 150 the data of the one-GPU programs, bit for bit"
  echo "memcheck 60 120 kernels under compute-sanitizer memcheck"
  echo "racecheck 60 120 kernels under compute-sanitizer racecheck"
}
plan_measure() {
  echo "grid 65 150 micro-benchmark: lookups, updates, sorts, products, copies; three rounds"
  echo "programs 45 110 one rank's share of RM-1 and of DLRM-DCNv2, three times, beside the prediction"
  echo "iterations 100 150 whole iterations of scenarios/one_gpu.yaml, once each, beside the prediction"
  echo "torch 20 90 PyTorch: embedding_bag, index_select, matmul, sort; FBGEMM where it is"
  echo "ncu 10 60 bytes that lookups and updates move from and to DRAM, by ncu"
}
pattern=${steps//,/|}
# With more minutes than usual each step may take longer in proportion.
stretched() { awk -v minutes="$minutes" '{ if (minutes > 7.5) $3 = int($3 * minutes / 7.5); print }'; }
asked_steps() { "plan_$mode" | grep -E "^(${pattern:-.*}) " | stretched; }
plan() { [ -n "$built" ] || echo "build 90 240 validator, micro-benchmark and checks, by nvcc" | stretched; asked_steps; }

print_plan() {
  printf '%-10s %8s %8s  %s\n' step minutes 'at most' 'what it does'
  plan | awk '{ text = $0; sub(/^[^ ]+ [^ ]+ [^ ]+ /, "", text)
    printf "%-10s %8.1f %8.1f  %s\n", $1, $2 / 60, $3 / 60, text; all += $2 }
    END { printf "%-10s %8.1f  of %s allowed\n", "all", all / 60, "'"$minutes"'" }'
}
if [ -n "$dry_run" ]; then print_plan; exit 0; fi

[ -n "$out" ] || fail "name the folder for the results; see --help"
mkdir -p "$out" 2> /dev/null && out=$(cd "$out" && pwd) || fail "cannot make $out"
[ -z "$(ls -A "$out")" ] || fail "$out holds files already; name a new folder"
if [ -n "$built" ]; then built=$(readlink -e "$built") || fail "--built: there is no such folder"; fi
work=$(mktemp -d) || fail "no room for temporary files"
sampler=''
clean() { [ -z "$sampler" ] || kill "$sampler" 2> /dev/null; rm -rf "$work"; }
trap clean EXIT
mkdir "$work/logs" "$work/observed"

failures=0
say() { printf '%4d s  %s\n' $((SECONDS - started)) "$1" | tee -a "$out/summary.txt"; }
failed() { failures=$((failures + 1)); say "FAILED $1"; }
left_out=()

# Writes down what this machine is; a driver that is older than nvcc's CUDA is told before anything is built for it.
look_at_machine() {
  local name driver can release
  { uname -srm; nproc; nvidia-smi; nvcc --version; "${CXX:-g++}" --version | head -n 1; env | grep -E '^(CUDA|NCCL)_' | sort; } \
    > "$out/machine.txt" 2>&1
  name=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2> /dev/null | head -n 1)
  [ -n "$name" ] || fail "nvidia-smi finds no GPU: $(nvidia-smi 2>&1 | tail -n 1 | cut -c 1-200)" 1
  say "$name"
  driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1)
  can=$(nvidia-smi | sed -n 's/.*CUDA Version: *\([0-9]*\)\..*/\1/p' | head -n 1)
  release=$("${CUDA_HOME:+$CUDA_HOME/bin/}nvcc" --version 2> /dev/null | sed -n 's/.*release \([0-9]*\)\..*/\1/p')
  if [ -n "$can" ] && [ -n "$release" ] && [ "$release" -gt "$can" ]; then
    fail "driver $driver knows CUDA $can, and nvcc is of CUDA $release: name a toolkit of CUDA $can in CUDA_HOME, or update the driver" 1
  fi
}

log_clocks() {
  local reasons=clocks_throttle_reasons.active  # as drivers before 535 call them
  ! nvidia-smi --help-query-gpu 2> /dev/null | grep -q clocks_event_reasons.active || reasons=clocks_event_reasons.active
  nvidia-smi --query-gpu=timestamp,clocks.sm,clocks.mem,power.draw,temperature.gpu,utilization.gpu,$reasons \
    --format=csv -lms 500 > "$out/clocks.csv" 2>&1 &
  sampler=$!
}

# The samples of the GPU at work. The reasons are bits; 0 is none, 1 an idle GPU.
clocks_text() {
  awk -F', *' 'NR > 1 && $6 + 0 > 0 { n++; if (!low || $2 + 0 < low) low = $2 + 0; if ($2 + 0 > high) high = $2 + 0
      if ($4 + 0 > power) power = $4 + 0; if ($5 + 0 > hot) hot = $5 + 0; if ($7 !~ /0x0*[01]$/) slowed++ }
    END { if (n) printf "clocks: SM %d to %d MHz in %d samples of the GPU at work, %d of them slowed (clocks.csv says why); up to %.0f W and %d C\n",
      low, high, n, slowed, power, hot }' "$out/clocks.csv"
}

# A step is a script of on_gpu/, told by name what to do. Lines that begin with '= ' go to the summary; 77 says that it was left out.
run_step() {
  local name=$1 expected=$2 longest=$3 left=$((total - SECONDS + started)) code=0 log=$work/logs/$1.log
  if [ "$left" -lt $((expected / 2 + 5)) ]; then left_out+=("$name (no time: $left s left)"); return; fi
  [ "$longest" -le "$left" ] || longest=$left
  SECONDS_LEFT=$longest timeout --kill-after=10 "$longest" bash "$here/on_gpu/$mode.sh" "$name" > "$log" 2>&1 || code=$?
  while read -r line; do say "$name: $line"; done < <(sed -n 's/^= //p' "$log")
  case "$code" in
    0) ;;
    77) left_out+=("$name ($(tail -n 1 "$log" | cut -c 1-160))") ;;
    124|137) failed "$name: stopped after $longest s; $(tail -n 1 "$log" | cut -c 1-160)" ;;
    *) failed "$name: $(tail -n 1 "$log" | cut -c 1-300)" ;;
  esac
}

build() {
  local name=$1 longest=$3 code=0
  if [ ! -x "$here/build.sh" ]; then
    "$here/../scripts/pack_validator.sh" -o "$work/package.tar.gz" > "$work/logs/build.log" 2>&1 &&
      tar -xzf "$work/package.tar.gz" -C "$work" || fail "no package here and none could be made: $(tail -n 1 "$work/logs/build.log")" 1
    built=$work/shardsim-validator
  else
    built=$here
  fi
  # An earlier call's build of the same sources stays.
  if [ -s "$built/built" ] && [ "$(cat "$built/built")" = "$(cat "$built/VERSION" "$built/sources" | cksum)" ]; then
    say "build: as it is"
    return
  fi
  case "$require" in *nccl*) set -- --cuda --nccl ;; *) set -- --cuda ;; esac
  timeout --kill-after=10 "$longest" "$built/build.sh" "$@" > "$work/logs/build.log" 2>&1 || code=$?
  [ "$code" -eq 0 ] || { failed "build: $(tail -n 3 "$work/logs/build.log" | tr '\n' ' ' | cut -c 1-400)"; finish; }
  cat "$built/VERSION" "$built/sources" | cksum > "$built/built"
  while read -r line; do say "build: $line"; done < <(grep -E '^with' "$work/logs/build.log")
}

# At most 7 files, none above 16 MiB.
finish() {
  local file
  while read -r file; do say "$file"; done < <(clocks_text)
  for file in "${left_out[@]}"; do say "left out: $file"; done
  tar -C "$work" -czf "$out/logs.tar.gz" logs observed
  for file in "$out"/*; do
    [ "$(stat -c %s "$file")" -le $((16 << 20)) ] || failed "$(basename "$file") is larger than 16 MiB"
  done
  [ "$(find "$out" -type f | wc -l)" -le 7 ] || failed "more than 7 files"
  say "$([ "$failures" -eq 0 ] && echo 'all well' || echo "$failures failed"), ${#left_out[@]} left out; results in $out"
  [ "$failures" -eq 0 ] && exit 0 || exit 1
}

# Programs for another kind of machine are told as what they are.
look_at_programs() {
  local name message
  for name in shardsim-validate shardsim-microbench shardsim-cuda-check; do
    [ -x "$built/$name" ] || { failed "$built/$name was not built"; finish; }
    message=$("$built/$name" --help 2>&1 > /dev/null) || { failed "$name does not run on $(uname -m): $(tail -n 1 <<< "$message" | cut -c 1-200)"; finish; }
  done
}

look_at_machine
log_clocks
if [ -z "$built" ]; then read -r name expected longest _ < <(plan); build "$name" "$expected" "$longest"; fi
look_at_programs
programs=$here/gpu_programs  # of the package
[ -d "$programs" ] || programs=$here/programs
export BUILT=$built PROGRAMS=$programs WORK=$work OUT=$out SMALL=$small REQUIRE=$require HERE=$here/on_gpu
while read -r name expected longest _; do run_step "$name" "$expected" "$longest"; done < <(asked_steps)
finish
