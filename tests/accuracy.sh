#!/usr/bin/env bash
# Every number in the tables of docs/accuracy.md is what the study gives today. Usage: accuracy.sh SHARDSIM SOURCE_DIR
set -euo pipefail
binary=$1 root=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$binary" run "$root/scenarios/flexshard.yaml" -o "$work" -q >/dev/null
/usr/bin/python3 "$root/scripts/accuracy.py" "$work/result.json" | grep . >"$work/lines.txt"
status=0 lines=0
while IFS= read -r line; do
  lines=$((lines + 1))
  grep -qxF -- "$line" "$root/docs/accuracy.md" || { echo "docs/accuracy.md lacks: $line"; status=1; }
done <"$work/lines.txt"
[ "$lines" -gt 80 ] || { echo "only $lines lines to compare"; status=1; }
exit "$status"
