#!/usr/bin/env bash
# Checks that are too slow for every run of the tests: clang-tidy over the sources (.clang-tidy, every warning counts), and one
# link of everything with link-time optimisation, which sees types that are declared differently in two files (-Wodr).
# Usage: deep_check.sh               all product sources, and the link; twenty to thirty minutes of CPU time
#        deep_check.sh --since REV   clang-tidy alone, on the sources that differ from a revision of git
#        deep_check.sh --commit REV  clang-tidy alone, on the sources that a commit changed (a merge: changed itself)
#        deep_check.sh FILE.cpp...   clang-tidy alone, on these
# Exit code 1: something was found.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=build/deep
mkdir -p build
for tool in clang-tidy cmake ninja; do
  command -v "$tool" >/dev/null || { echo "error: $tool is missing. Install it: apt-get install $tool" >&2; exit 2; }
done

product_sources() { git ls-files 'base/*.cpp' 'topology/*.cpp' 'models/*.cpp' 'plan/*.cpp' 'program/*.cpp' 'sim/*.cpp' 'validate/*.cpp' 'study/*.cpp' 'accuracy/*.cpp' 'cli/*.cpp'; }

changed_sources() {
  case "$1" in
    --since) git diff --name-only --diff-filter=d "$2" -- ;;
    --commit) git show --name-only --diff-filter=d --format= "$2" -- ;;
  esac | grep -Fxf <(product_sources) || true
}

# Checks these files; in batches that include many sources, findings are in what they include.
tidy() {
  printf '%s\0' "$@" | xargs -0 -r -n 1 -P "$(nproc)" \
    clang-tidy -p "$build" --quiet --warnings-as-errors='*' --header-filter="^$PWD/[a-z]+/" 2>/dev/null
}

# Many sources at a time, as they are compiled: most of the work is in the headers that they share. clang-tidy can't read the
# headers that g++ has read for all of them.
check_all() {
  cmake --preset release -B "$build" -DCMAKE_UNITY_BUILD=ON -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null
  local batches
  mapfile -t batches < <(find "$build" -path '*/Unity/unity_*_cxx.cxx' | sort)
  [ "${#batches[@]}" -ge 10 ] || { echo "error: only ${#batches[@]} batches of sources were found in $build" >&2; exit 1; }
  tidy "${batches[@]}" || found=1
  echo "clang-tidy: ${#batches[@]} batches of sources checked"
}

# One source at a time, so each with no more than its own includes (cmake/precompiled.cmake). Those for GPUs and MPI are compiled only where those are: what has no compile command is counted.
check_some() {
  cmake --preset release -B "$build" -DCMAKE_UNITY_BUILD=OFF -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null
  local file checked=() left=()
  for file in "$@"; do
    if grep -qF "/$file\"" "$build/compile_commands.json"; then checked+=("$file"); else left+=("$file"); fi
  done
  [ "${#checked[@]}" -eq 0 ] || tidy "${checked[@]}" || found=1
  echo "clang-tidy: ${#checked[@]} files checked, ${#left[@]} without a compile command${left[0]:+ (${left[*]})}"
}

link_all() {
  cmake --preset release -B build/odr -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DCMAKE_CXX_FLAGS_RELEASE="-O1 -flto=auto" -DCMAKE_EXE_LINKER_FLAGS="-Wodr -Wlto-type-mismatch" >/dev/null
  ninja -C build/odr >build/odr.log 2>&1 || { tail -n 40 build/odr.log >&2; found=1; }
  ! grep -E 'warning:.*\[-W(odr|lto-type-mismatch)\]' build/odr.log || found=1
  echo "link-time optimisation: done"
}

found=0
case "${1:-}" in
  "") check_all; link_all ;;
  --since|--commit)
    [ $# -eq 2 ] || { echo "usage: deep_check.sh $1 REV" >&2; exit 2; }
    git rev-parse --verify --quiet "$2^{commit}" >/dev/null || { echo "error: there is no revision $2 here" >&2; exit 2; }
    mapfile -t changed < <(changed_sources "$@")
    check_some "${changed[@]}" ;;
  *) check_some "$@" ;;
esac
[ "$found" -eq 0 ]
