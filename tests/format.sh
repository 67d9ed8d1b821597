#!/usr/bin/env bash
# Every C++ file is as clang-format writes it (.clang-format). Usage: format.sh SOURCE_DIR; exit 77 without clang-format.
set -euo pipefail
cd "$1"
command -v clang-format >/dev/null || { echo "skipped: no clang-format"; exit 77; }
list() {
  git ls-files --cached --others --exclude-standard -- '*.cpp' '*.h' '*.cu' 2>/dev/null ||
    find . -path './build*' -prune -o \( -name '*.cpp' -o -name '*.h' -o -name '*.cu' \) -print
}
mapfile -t files < <(list)
[ "${#files[@]}" -gt 100 ] || { echo "only ${#files[@]} files were found: the search is broken"; exit 1; }
clang-format --dry-run --Werror "${files[@]}"
echo "${#files[@]} files"
