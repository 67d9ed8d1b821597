#!/usr/bin/env bash
# Every C++ file is as clang-format writes it (.clang-format), no script reads half a pipe, and a script that a document runs can be run.
# Usage: format.sh SOURCE_DIR; exit 77 without clang-format.
set -euo pipefail
cd "$1"
# A grep that stops at its first hit ends the program before it, now and then, which pipefail reports as "not found".
if grep -rnE '\| *grep (-[a-zA-Z]+ )*-[a-zA-Z]*[qm]' --include='*.sh' tests scripts ./*.sh .ci | grep -v 'bash -c' | grep -v 'format.sh:'; then
  echo "these lines stop reading a pipe: write 'grep ... >/dev/null'"
  exit 1
fi
runs() { grep -rhoE '(^|`|\$ |&& )(\./)?scripts/[a-z0-9_/]+\.(py|sh)( |$)' --include='*.md' . --exclude-dir=build --exclude-dir=out | grep -oE 'scripts/[^ ]+' | sort -u; }
mapfile -t commands < <(runs)
[ "${#commands[@]}" -gt 9 ] || { echo "only ${#commands[@]} commands of documents were found: the search is broken"; exit 1; }
for script in "${commands[@]}"; do
  [ -x "$script" ] || { echo "a document runs $script, which is not executable: chmod +x $script"; exit 1; }
done
command -v clang-format >/dev/null || { echo "skipped: no clang-format"; exit 77; }
list() {
  git ls-files --cached --others --exclude-standard -- '*.cpp' '*.h' '*.cu' 2>/dev/null ||
    find . -path './build*' -prune -o \( -name '*.cpp' -o -name '*.h' -o -name '*.cu' \) -print
}
mapfile -t files < <(list)
[ "${#files[@]}" -gt 100 ] || { echo "only ${#files[@]} files were found: the search is broken"; exit 1; }
clang-format --dry-run --Werror "${files[@]}"
echo "${#files[@]} files"
