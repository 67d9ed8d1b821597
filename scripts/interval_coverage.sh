#!/usr/bin/env bash
# Counts how often 80 % intervals hold the observed value and stated chances come true: over all published iterations, collectives
# and kernels in the tree, each judged by errors that leave its own system out, and over pairs of runs. The table of errors is
# made afresh unless one is given.
# Usage: interval_coverage.sh [SHARDSIM [RESIDUALS.csv]], in the root of the tree
set -euo pipefail
binary=${1:-build/ci/shardsim} table=${2:-}
if [ -z "$table" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  table=$work/residuals.csv
  bash scripts/residuals.sh "$binary" "$table"
fi
"$binary" confidence --residuals "$table"
