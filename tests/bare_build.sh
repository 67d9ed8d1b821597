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

# Names of what was included, system headers too, come with each object.
[ ! -d /usr/lib/ccache ] || PATH=/usr/lib/ccache:$PATH
CXXFLAGS="-O0 -MD -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wno-restrict -Werror" \
  ./build.sh --cpu
grep -q 'third_party/fmt/' build/objects/*.d || fail "the names of included headers are not where this test looks"
if grep -nE '/(boost|simgrid|yaml-cpp|hdf5|doctest)/|/H5[A-Za-z]*\.h|/usr/[^ ]*/(fmt|nlohmann)/' build/objects/*.d; then
  fail "a header that compute nodes do not have is included (above)"
fi

program=$source_dir/tests/sim/data/toy_program.json
ids=$(./shardsim-drawn-ids "$program")
[ "$ids" = $'lookup_flex 160\nlookup_row_wise 320\nlookup_data_parallel 160' ] || fail "$ids"

# Access counts lie in HDF5: refused with the way out.
sed 's/"access": {[^]]*\]}/"access": {"family": "counts", "file": "counts.h5", "table": "history"}/' "$program" > counts.json
if ./shardsim-drawn-ids counts.json 2> message; then fail "access counts were accepted"; fi
grep -q "counts.h5: this build reads no HDF5" message || fail "$(cat message)"
echo "passed"
