#!/usr/bin/env bash
# Everything that one GPU can show, in one command and under 8 minutes: checks of the CUDA kernels, the quick
# micro-benchmark, every single-GPU program of validate/programs/, and two ranks on one GPU where NCCL does that.
# Needs the NVIDIA driver, nvcc, NCCL and a C++20 compiler, or programs built before. Changes nothing about the GPU.
#
# Usage: run_on_gpu.sh OUT_DIR [--package FILE.tar.gz | --built DIR] [--programs DIR]
#   OUT_DIR      gets summary.txt, check.txt, measured.json, measured.csv, observed.tar.gz, gpu.txt, build.txt
#   --package    made by scripts/pack_validator.sh elsewhere (default: packed here)
#   --built      a folder that holds shardsim-validate, shardsim-microbench and shardsim-cuda-check
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")

fail() { echo "error: $1" >&2; exit 1; }
out='' package='' built='' programs=$here/programs
while [ $# -gt 0 ]; do
  case "$1" in
    --package|--built|--programs) [ $# -gt 1 ] || fail "$1 needs a value"; declare "${1#--}=$2"; shift 2 ;;
    -h|--help) sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) fail "unknown option $1; see --help" ;;
    *) [ -z "$out" ] || fail "one OUT_DIR only"; out=$1; shift ;;
  esac
done
[ -n "$out" ] || fail "name the folder for the results; see --help"
mkdir -p "$out" && out=$(cd "$out" && pwd) || fail "cannot make $out"
[ -z "$package" ] || package=$(readlink -f "$package")
[ -z "$built" ] || built=$(readlink -f "$built")
programs=$(readlink -f "$programs")
work=$(mktemp -d) || fail "no room for temporary files"
trap 'rm -rf "$work"' EXIT

started=$SECONDS total=460
: > "$out/summary.txt"
say() { printf '%4d s  %s\n' $((SECONDS - started)) "$1" | tee -a "$out/summary.txt"; }
failures=0
failed() { failures=$((failures + 1)); say "FAILED: $1"; }

# Runs a step for at most so many seconds, and never beyond the time of the whole. Usage: step LIMIT LOG COMMAND...
step() {
  local limit=$1 log=$2 left=$((total - SECONDS + started))
  shift 2
  [ "$left" -gt 5 ] || { echo "no time left" >> "$log"; return 125; }
  [ "$limit" -le "$left" ] || limit=$left
  timeout --kill-after=10 "$limit" "$@" >> "$log" 2>&1
}
last_line() { tail -n 1 "$1" | cut -c 1-200; }

nvidia-smi > "$out/gpu.txt" 2>&1 || fail "nvidia-smi finds no GPU: $(last_line "$out/gpu.txt")"
nvcc --version >> "$out/gpu.txt" 2>&1 || true
say "$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | head -n 1)"

if [ -z "$built" ]; then
  if [ -z "$package" ]; then
    package=$work/package.tar.gz
    step 60 "$out/build.txt" "$root/scripts/pack_validator.sh" -o "$package" ||
      fail "the package could not be made here: $(last_line "$out/build.txt")"
  fi
  tar -xzf "$package" -C "$work" || fail "cannot unpack $package"
  built=$work/shardsim-validator
  step 200 "$out/build.txt" "$built/build.sh" || fail "the build failed: $(last_line "$out/build.txt")"
  say "built"
fi

if step 90 "$out/check.txt" "$built/shardsim-cuda-check"; then
  say "kernel checks: $(last_line "$out/check.txt")"
else
  failed "kernel checks: $(last_line "$out/check.txt")"
fi

observed=$work/observed
mkdir -p "$observed"
for program in "$programs"/*_1gpu_*.json; do
  name=$(basename "$program" .json)
  log=$observed/$name.log
  if ! step 30 "$log" "$built/shardsim-validate" "$program" --device cuda --check-data --iterations 3 \
    -o "$observed/$name.check.json"; then
    failed "$name, data: $(last_line "$log")"
  fi
  if step 40 "$log" "$built/shardsim-validate" "$program" --device cuda --warmup 50 --iterations 20 \
    -o "$observed/$name.timeline.json"; then
    say "$name: $(last_line "$log")"
  else
    failed "$name: $(last_line "$log")"
  fi
done

# Ranks that share a GPU: what they compute is checked, how fast says nothing. The validator itself refuses where NCCL
# is too old, which is no failure.
for program in "$programs"/*_2ranks_*.json; do
  name=$(basename "$program" .json)
  pids=()
  for rank in 0 1; do
    RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29533 \
      NCCL_MULTI_RANK_GPU_ENABLE=1 step 60 "$observed/$name.rank$rank.log" "$built/shardsim-validate" "$program" \
      --device cuda --check-data --iterations 3 -o "$observed/$name.check.json" &
    pids+=($!)
  done
  status=0
  for pid in "${pids[@]}"; do wait "$pid" || status=1; done
  if [ "$status" -eq 0 ]; then
    say "$name: $(last_line "$observed/$name.rank0.log")"
  elif grep -q 'share .* GPUs, which NCCL' "$observed/$name".rank?.log; then
    say "$name: left out: $(grep -h 'share .* GPUs, which NCCL' "$observed/$name".rank?.log | head -n 1 | cut -c 1-200)"
  else
    failed "$name: $(last_line "$observed/$name.rank0.log")"
  fi
done

if step 200 "$out/microbench.txt" "$built/shardsim-microbench" --device cuda --quick -q -o "$out/measured.json" \
  --csv "$out/measured.csv"; then
  say "micro-benchmark: $(($(wc -l < "$out/measured.csv") - 1)) rows"
else
  failed "micro-benchmark: $(last_line "$out/microbench.txt")"
fi

tar -C "$work" -czf "$out/observed.tar.gz" observed
for file in "$out"/*; do
  [ "$(stat -c %s "$file")" -le $((16 << 20)) ] || failed "$(basename "$file") is larger than 16 MiB"
done
say "$([ "$failures" -eq 0 ] && echo 'all well' || echo "$failures failed"); results in $out"
[ "$failures" -eq 0 ]
