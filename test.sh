#!/usr/bin/env bash
# Builds everything and runs every test: format, include direction, unit, physics and golden tests, the command line,
# the README's commands, then the fast tests under sanitizers and two short fuzz runs.
# Ends with one line "N passed, N failed, N skipped"; exit 1 when something failed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$root"

scripts/packages.sh test
passed=0 failed=0 skipped=0

# Runs ctest in a build folder and adds its counts up.
run_tests() {
  local preset=$1 log="build/$1.tests.log"
  shift
  ctest --test-dir "build/$preset" --output-on-failure "$@" 2>&1 | tee "$log" || true
  local s f p
  s=$(grep -c '\*\*\*Skipped' "$log" || true)
  f=$(grep -cE '\*\*\*(Failed|Exception|Timeout|Not Run)' "$log" || true)
  p=$(grep -cE ' Passed ' "$log" || true)
  grep -q 'tests passed' "$log" || f=$((f + 1))
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

echo "== release build, all tests"
scripts/build.sh ci
run_tests ci -j 5  # two at a time, and one that mostly waits (tests/CMakeLists.txt, at its end)

echo "== sanitizers on the fast tests, fuzz runs"
scripts/build.sh sanitize
run_tests sanitize -j 2 -L 'fast|fuzz'

echo "== clang-tidy on the sources of the last commit"
if ! git rev-parse --verify --quiet HEAD >/dev/null; then
  echo "no commit to look at: skipped"
elif scripts/deep_check.sh --commit HEAD; then
  passed=$((passed + 1))
else
  failed=$((failed + 1))
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
