#!/usr/bin/env bash
# Packs the validator as for a bare compute node, builds it there without CUDA and runs it on a program file: it needs a
# compiler and nothing else. Usage: bare_build.sh SOURCE_DIR
set -euo pipefail
source_dir=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $1" >&2; exit 1; }

# The file appears whole or not at all.
if "$source_dir/scripts/pack_validator.sh" -o "$work/missing/v.tar.gz" 2> "$work/message"; then fail "no error"; fi
grep -q "cannot write into" "$work/message" || fail "$(cat "$work/message")"

"$source_dir/scripts/pack_validator.sh" -o "$work/v.tar.gz"
"$source_dir/scripts/pack_validator.sh" -o "$work/again.tar.gz" > /dev/null
cmp "$work/v.tar.gz" "$work/again.tar.gz" || fail "packing twice gives different bytes"
tar -C "$work" -xf "$work/v.tar.gz"
cd "$work/shardsim-validator"
for text in LICENSE third_party/LICENSE.fmt third_party/LICENSE.json; do
  [ -s "$text" ] || fail "no $text"
done
for mode in check measure; do
  ./run_on_gpu.sh "$mode" --dry-run | grep -E '^all +[0-9.]+  of 7.5 allowed' >/dev/null || fail "run_on_gpu.sh $mode has no plan"
done
for program in share_rm1 share_dcnv2 small_dcnv2 ranks_2_pooled; do [ -s "gpu_programs/$program.json" ] || fail "no $program"; done

# Names of what was included, system headers too, come with each object.
[ ! -d /usr/lib/ccache ] || PATH=/usr/lib/ccache:$PATH
# clang compiles all of it in half the time that g++ takes, which has compiled the same sources in the build of this test.
CXX=clang++ CXXFLAGS="-O0 -MD -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror" ./build.sh --cpu
grep -q 'third_party/fmt/' build/objects/*.d || fail "the names of included headers are not where this test looks"
if grep -nE '/(boost|simgrid|yaml-cpp|hdf5|doctest)/|/H5[A-Za-z]*\.h|/usr/[^ ]*/(fmt|nlohmann)/' build/objects/*.d; then
  fail "a header that compute nodes do not have is included (above)"
fi

program=$source_dir/tests/program/data/toy_program.json
./shardsim-validate "$program" --warmup 1 --iterations 2 -o seen.timeline.json >summary || fail "the program file does not run"
grep -q '^iteration: ' summary || fail "$(cat summary)"
grep -q '"complete": true' seen.timeline.json || fail "the Timeline is not complete"
./shardsim-validate "$program" --check-data --iterations 3 | grep 'bit for bit' >/dev/null || fail "the data differs"

# This build names the features that it lacks.
refused() {
  local pattern=$1
  shift
  if ./shardsim-validate "$@" 2>message; then fail "accepted: $*"; fi
  grep -q "$pattern" message || fail "$*: $(cat message)"
}
refused "writes '.json' only" "$program" -o seen.h5
refused 'shardsim lower SCENARIO' toy.yaml -o seen.json
refused 'no CUDA part' "$program" -o seen.json --device cuda
# Access counts lie in HDF5: refused with the way out.
sed 's/"access": {[^]]*\]}/"access": {"family": "counts", "file": "counts.h5", "table": "history"}/' "$program" > counts.json
refused 'counts.h5: this build reads no HDF5' counts.json -o seen2.json
echo "passed"
