#!/usr/bin/env bash
# What is too slow for every run of the tests: clang-tidy over the sources (.clang-tidy, every warning counts), and one link
# of everything with link-time optimisation, which sees types that are declared differently in two files (-Wodr).
# Usage: deep_check.sh               all product sources, and the link; some two hours of CPU time
#        deep_check.sh --since REV   clang-tidy alone, on the sources that differ from a revision of git
#        deep_check.sh FILE.cpp...   clang-tidy alone, on these
# Exit code 1: something was found.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=build/deep
for tool in clang-tidy cmake ninja; do
  command -v "$tool" >/dev/null || { echo "error: $tool is missing. Install it: apt-get install $tool" >&2; exit 2; }
done

product_sources() { git ls-files 'base/*.cpp' 'topology/*.cpp' 'models/*.cpp' 'plan/*.cpp' 'sim/*.cpp' 'validate/*.cpp' 'cli/*.cpp'; }

case "${1:-}" in
  "") mapfile -t files < <(product_sources) ;;
  --since)
    [ $# -eq 2 ] || { echo "usage: deep_check.sh --since REV" >&2; exit 2; }
    mapfile -t files < <(git diff --name-only --diff-filter=d "$2" -- | grep -Fxf <(product_sources) || true) ;;
  *) files=("$@") ;;
esac

# One file at a time: in a unity build a file borrows includes of its neighbours.
cmake --preset release -B "$build" -DCMAKE_UNITY_BUILD=OFF -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null
# Sources for GPUs and MPI are compiled only where those are: what has no compile command is left out and counted.
checked=() left=()
for file in "${files[@]}"; do
  if grep -qF "/$file\"" "$build/compile_commands.json"; then checked+=("$file"); else left+=("$file"); fi
done
found=0
if [ "${#checked[@]}" -gt 0 ]; then
  printf '%s\0' "${checked[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy -p "$build" --quiet --warnings-as-errors='*' 2>/dev/null || found=1
fi
echo "clang-tidy: ${#checked[@]} files checked, ${#left[@]} without a compile command${left[0]:+ (${left[*]})}"

if [ $# -eq 0 ]; then
  cmake --preset release -B build/odr -DCMAKE_CXX_FLAGS_RELEASE="-O1 -flto=auto" -DCMAKE_EXE_LINKER_FLAGS="-Wodr -Wlto-type-mismatch" >/dev/null
  ninja -C build/odr >build/odr.log 2>&1 || { tail -n 40 build/odr.log >&2; found=1; }
  ! grep -E 'warning:.*\[-W(odr|lto-type-mismatch)\]' build/odr.log || found=1
  echo "link-time optimisation: done"
fi
[ "$found" -eq 0 ]
