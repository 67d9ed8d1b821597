#!/usr/bin/env bash
# The steps of `run_on_gpu.sh measure`, one by name.
set -uo pipefail
. "$HERE/common.sh"
bench=$BUILT/shardsim-microbench
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)

# Points in the order of their worth, as many as fit into the time; three rounds over all, so that a slow minute shows.
run_grid() {
  local size=full
  [ -z "$SMALL" ] || size=small
  "$bench" --device cuda --grid "$size" --rounds 3 --budget $((SECONDS_LEFT * 85 / 100)) --drift 10% -q -o "$OUT/measured.json" \
    --csv "$OUT/measured.csv" > "$WORK/grid" 2>&1 || { cat "$WORK/grid"; stop "$(last_line "$WORK/grid")"; }
  cat "$WORK/grid"
  while read -r line; do note "$line"; done < "$WORK/grid"
  note "$(($(wc -l < "$OUT/measured.csv") - 1)) rows in measured.csv"
  "$HERE/figures.sh" "$OUT/measured.csv" | while read -r line; do note "$line"; done
}

# Times of a program's operations, and of the iteration, as `operation ms`, from what the validator prints.
times_of() {
  awk '/^iteration: / { print "iteration", $2 } /^operation / { table = 1; next } table && NF == 0 { exit }
    table { print $1, $4 }' "$1"
}

# observe NAME RUN...: one program as often as there are runs, once or three times; the median of each operation beside the prediction
# for a GPU whose words are in this one's name.
observe() {
  local name=$1 program=$PROGRAMS/$1.json run log
  shift
  : > "$WORK/times"
  for run in "$@"; do
    log=$WORK/logs/$name.$run
    "$BUILT/shardsim-validate" "$program" --device cuda --warmup 20 --iterations 20 \
      -o "$WORK/observed/$name.$run.timeline.json" > "$log" 2>&1 || { last_line "$log"; return 1; }
    times_of "$log" >> "$WORK/times"
  done
  awk -v gpu="$gpu" -v program="$name" '
    function known(words,  i, n, each) { n = split(words, each, " "); for (i = 1; i <= n; i++) if (!index(gpu, each[i])) return 0; return 1 }
    FILENAME ~ /predicted.tsv$/ { split($0, cell, "\t"); if (cell[1] == program && known(cell[2])) predicted[cell[3]] = cell[4]; next }
    { if (!($1 in runs)) order[++operations] = $1; seen[$1, ++runs[$1]] = $2 }
    END { for (i = 1; i <= operations; i++) {
      name = order[i]; a = seen[name, 1]; b = seen[name, 2]; c = seen[name, 3]
      if (runs[name] == 1) b = c = a
      middle = a < b ? (b < c ? b : (a < c ? c : a)) : (a < c ? a : (b < c ? c : b))
      text = sprintf("= %s %s: %.4g ms", program, name, middle)
      if (runs[name] > 1) text = text sprintf(" (%s %s %s)", a, b, c)
      if (name in predicted && middle > 0)
        text = text sprintf(", predicted %.4g, %+.1f %%", predicted[name], 100 * (predicted[name] / middle - 1))
      print text } }' "$predictions" "$WORK/times"
}

run_programs() {
  local programs=("$PROGRAMS"/share_*.json)
  [ -z "$SMALL" ] || programs=("$PROGRAMS/toy_1gpu_row_wise.json" "$PROGRAMS"/small_*.json)
  observe_all "${programs[*]}" 1 2 3
}

# Iterations of whole workloads on one GPU, and of many tables, once each; packed with the predictions.
run_iterations() {
  local programs=("$PROGRAMS"/one_gpu_*.json)
  [ -e "${programs[0]}" ] || leave_out "no programs of scenarios/one_gpu.yaml: pack with --shardsim"
  [ -z "$SMALL" ] || leave_out "none of its programs is small"
  observe_all "${programs[*]}" 1
}

# observe_all PROGRAMS RUN...
observe_all() {
  local program name bad=0 programs=($1)
  shift
  predictions=$PROGRAMS/predicted.tsv
  if [ ! -s "$predictions" ]; then
    predictions=/dev/null
    note "nothing was predicted beforehand: pack with --shardsim, or compare later"
  fi
  for program in "${programs[@]}"; do
    name=$(basename "$program" .json)
    observe "$name" "$@" > "$WORK/observation" && { cat "$WORK/observation"; continue; }
    note "$name: $(last_line "$WORK/observation")"
    grep -q "$no_room" "$WORK/observation" || bad=1
  done
  [ "$bad" -eq 0 ] || stop "a program failed, above"
}

run_torch() {
  local python=${PYTHON:-python3} why
  why=$("$python" -c 'import torch, sys; sys.exit(None if torch.cuda.is_available() else "PyTorch sees no GPU")' 2>&1) ||
    missing torch "no PyTorch: $(tail -n 1 <<< "$why")"
  "$python" "$HERE/beside_pytorch.py" --measured "$OUT/measured.csv" --seconds $((SECONDS_LEFT * 85 / 100)) \
    -o "$OUT/torch.csv" ${SMALL:+--small} || stop "PyTorch's part failed"
}

# Counts the bytes that each kernel reads from and writes to DRAM, in one call of some points.
run_ncu() {
  local metrics=dram__bytes_read.sum,dram__bytes_write.sum,gpu__time_duration.sum
  command -v ncu > /dev/null || missing ncu "ncu is not in the PATH"
  ncu --csv --metrics "$metrics" --clock-control none -k 'regex:pooled_lookup|gather_kernel|expand_bags|_runs_kernel|pass_kernel' \
    "$bench" --device cuda --grid probe --rounds 1 -q -o "$WORK/probe.json" > "$WORK/logs/ncu.csv" 2>&1
  if grep -q 'ERR_NVGPUCTRPERM' "$WORK/logs/ncu.csv"; then missing ncu "the driver lets only administrators read counters (ERR_NVGPUCTRPERM)"; fi
  grep -q 'dram__bytes_read' "$WORK/logs/ncu.csv" || missing ncu "ncu read no counter: $(last_line "$WORK/logs/ncu.csv")"
  "$HERE/dram.sh" "$WORK/logs/ncu.csv" | while read -r line; do note "$line"; done
}

case "$1" in
  grid|programs|iterations|torch|ncu) "run_$1" ;;
  *) stop "measure has no step $1" ;;
esac
