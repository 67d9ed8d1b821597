#!/usr/bin/env bash
# Measures whole steps, then operators, in at most three and a half minutes. Writes pytorch_steps.json, traces.tar,
# pytorch_operators.csv and pytorch.log to $OUT.
set -uo pipefail
: "${OUT:?the folder for results}"
here=$(cd "$(dirname "$0")" && pwd)
log=$OUT/pytorch.log
{ date -u; nvidia-smi; } > "$log" 2>&1
timeout "${STEPS_LIMIT:-140}" python3 -u "$here/pytorch_steps.py" --seconds "${STEPS_SECONDS:-112}" -o "$OUT/pytorch_steps.json" \
  --traces "$OUT/traces.tar" >> "$log" 2>&1 || echo "= steps: ended with $?" >> "$log"
timeout "${OPERATORS_LIMIT:-80}" python3 -u "$here/pytorch_operators.py" --seconds "${OPERATORS_SECONDS:-58}" \
  -o "$OUT/pytorch_operators.csv" >> "$log" 2>&1 || echo "= operators: ended with $?" >> "$log"
nvidia-smi --query-gpu=clocks.sm,clocks.mem,temperature.gpu,power.draw --format=csv >> "$log" 2>&1
rm -f "$OUT"/*.part
grep '^= ' "$log" | cut -c1-220
tail -n 3 "$log" | cut -c1-300
ls -l "$OUT"
