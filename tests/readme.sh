#!/usr/bin/env bash
# The README's commands run, and the lines that it shows of an output are in that output, in this order.
# Usage: readme.sh SHARDSIM SOURCE_DIR
set -euo pipefail
status=0
said=$(/usr/bin/python3 "$2/tests/python/check_manual.py" "$1" "$2" README.md) || status=$?
echo "$said"
commands=$(sed -n 's/^1 pages, \([0-9]*\) commands.*/\1/p' <<<"$said")
[ "${commands:-0}" -ge 6 ] || { echo "README.md: only ${commands:-0} commands were found"; status=1; }
grep -q '^\$ ./run.sh run scenarios/toy.yaml$' "$2/README.md" || { echo "README.md shows no output of a run"; status=1; }
exit "$status"
