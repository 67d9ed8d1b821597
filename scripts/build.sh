#!/usr/bin/env bash
# Configures and builds a preset, quietly unless something goes wrong. Usage: build.sh PRESET [TARGET...]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
preset=$1; shift
cd "$root"
log="build/$preset.log"
mkdir -p build
[ -e "build/$preset/build.ninja" ] || echo "building preset $preset for the first time: some minutes on two idle cores; progress is in $root/$log" >&2
targets=(); for target in "$@"; do targets+=(--target "$target"); done
if ! { cmake --preset "$preset" && cmake --build --preset "$preset" "${targets[@]}"; } >"$log" 2>&1; then
  tail -n 60 "$log" >&2
  echo "error: the build failed; the whole log is in $log" >&2
  exit 1
fi
[ "$preset" != ci ] || ln -sfn ci/tests build/tests  # build/tests/torchrec_golden FILE
