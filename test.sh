#!/usr/bin/env bash
# Builds everything and runs every test once: format, include direction, physics and golden tests, the command line, the
# README's commands and what takes long in a release build; then unit tests (those labelled fast) and short fuzz runs under sanitizers.
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

echo "== release build, its tests"
# Links, and tests that wait (for a rank that died, a time limit, a port), leave some fifth of the processors' time idle. The
# build with sanitizers takes that and no more: a task of this class gives way at once to any other.
idle=(chrt --idle 0)
"${idle[@]}" true 2>/dev/null || idle=(nice -n 19)
mkdir -p build
set -m  # in a process group of its own, which ends with this script
CMAKE_BUILD_PARALLEL_LEVEL=2 "${idle[@]}" scripts/build.sh sanitize >build/sanitize.said 2>&1 &
sanitize_build=$!
set +m
trap 'kill -- "-$sanitize_build" 2>/dev/null || true' EXIT
scripts/build.sh ci
run_tests ci -j 5 -LE 'fast|emulated'  # two at a time (tests/CMakeLists.txt, at its end)
wait "$sanitize_build" || { cat build/sanitize.said >&2; exit 1; }
trap - EXIT
failed_before=$failed
run_tests ci -L emulated  # judged by its times, so with nothing beside it
emulated_missed=$((failed - failed_before))

echo "== the fast tests and fuzz runs, under sanitizers"
run_tests sanitize -j 2 -L 'fast|fuzz'

# Whatever else runs on the machine only lengthens what is observed, for minutes at a time: a miss is judged once more later.
if [ "$emulated_missed" -gt 0 ]; then
  echo "== what the emulated cluster missed, again"
  failed=$((failed - emulated_missed))
  run_tests ci --rerun-failed
fi

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
