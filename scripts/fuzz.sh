#!/usr/bin/env bash
# Runs fuzz targets for a long time, with every check of the sanitizers, two at a time. The tests run each for some
# seconds; before a release each should run for an hour without a finding.
# Usage: fuzz.sh [SECONDS] [TARGET_PATTERN]    (default: 3600, all targets; a pattern as of `ctest -R`)
# Exit code 1: something was found; the input that does it is printed in base64.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-3600} pattern=${2:-.}
[[ $seconds =~ ^[1-9][0-9]{0,5}$ ]] || { echo "usage: fuzz.sh [SECONDS] [TARGET_PATTERN]; '$seconds' is no number of seconds" >&2; exit 2; }
for tool in clang++ cmake ninja; do
  command -v "$tool" >/dev/null || { echo "error: $tool is missing. Install what the tests need: scripts/packages.sh test" >&2; exit 2; }
done
cmake --preset fuzz -DSHARDSIM_FUZZ_SECONDS="$seconds" >/dev/null
mapfile -t targets < <(ctest --test-dir build/fuzz -N -L fuzz -R "$pattern" | sed -n 's/^ *Test *#[0-9]*: //p')
[ "${#targets[@]}" -gt 0 ] || { echo "error: no fuzz target has a name like '$pattern'" >&2; exit 2; }
ninja -C build/fuzz "${targets[@]}" >build/fuzz.log 2>&1 || { tail -n 40 build/fuzz.log >&2; exit 1; }
exec ctest --test-dir build/fuzz -L fuzz -R "$pattern" -j 2 --verbose
