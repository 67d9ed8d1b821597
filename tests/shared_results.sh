#!/usr/bin/env bash
# Makes the results that several tests read, each of which takes a quarter of a minute of a processor: so they are simulated once.
# OUTPUT_DIR/NAME is the folder of a run, OUTPUT_DIR/NAME.screen all that it printed on a terminal's two streams.
#   published    every published iteration (scenarios/published_iterations.yaml)
#   crosscheck   TorchRec's estimate beside the simulation (scenarios/torchrec_crosscheck.yaml), with the seed of the file
# ctest makes them before the first test that needs them; a test that is started by hand without them makes its own.
# Usage: shared_results.sh SHARDSIM SOURCE_DIR OUTPUT_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
rm -rf "$3"
mkdir -p "$3"
output=$(realpath "$3")
export SHARDSIM_DATA=$source LC_ALL=C
cd "$source"
for run in published:published_iterations crosscheck:torchrec_crosscheck; do
  "$shardsim" run "scenarios/${run#*:}.yaml" -j2 -o "$output/${run%:*}" >"$output/${run%:*}.screen" 2>&1 </dev/null ||
    { cat "$output/${run%:*}.screen"; exit 1; }
done
