#!/usr/bin/env bash
# Packs what a bare compute node needs to build the validator and the micro-benchmark: their sources (from
# validate/bare/sources.txt along the #include lines), the headers of fmt and nlohmann/json with their licences, and
# build.sh; and run_on_gpu.sh with its programs. There: tar xf FILE && cd shardsim-validator && ./build.sh
# Usage: pack_validator.sh [-o FILE.tar.gz] [--shardsim PROGRAM]    default: shardsim-validator.tar.gz; what PROGRAM predicts of
# the programs that run_on_gpu.sh times is packed, too
set -euo pipefail
shopt -s globstar nullglob

usage() { sed -n '5,6s/^# //p' "$0"; }
fail() { echo "error: $1" >&2; exit "${2:-1}"; }

output=shardsim-validator.tar.gz shardsim=
while [ $# -gt 0 ]; do
  case "$1" in
    -o) [ $# -ge 2 ] || { usage >&2; exit 2; }; output=$2; shift 2 ;;
    --shardsim) [ $# -ge 2 ] || { usage >&2; exit 2; }; shardsim=$(realpath "$2"); shift 2 ;;
    -h|--help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
folder=$(dirname "$output")
[ -d "$folder" ] && [ -w "$folder" ] || fail "cannot write into $folder" 2
output=$(cd "$folder" && pwd)/$(basename "$output")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work" "$output.part"' EXIT
packed=$work/shardsim-validator

# The first header that a file includes: the one that it implements.
own_header() { sed -n 's/^#include "\(.*\)".*/\1/p' "$1" | sed -n 1p; }

declare -A stand_in stated kind_of
for file in validate/bare/*.cpp cli/bare/*.cpp; do
  header=$(own_header "$file")
  stand_in[${header%.h}.cpp]=$file
done

# A file and what its #include lines lead to, as of one kind: all, cpu, cuda, no-nccl, mpi. A file that sources.txt states as of
# another kind is left for that kind.
take() {
  local kind=$1 open=("$2") file header source
  while [ "${#open[@]}" -gt 0 ]; do
    file=${open[-1]}
    unset 'open[-1]'
    [ -z "${kind_of[$file]:-}" ] || continue
    [ "${stated[$file]:-$kind}" = "$kind" ] || continue
    kind_of[$file]=$kind
    while read -r header; do
      [ -f "$header" ] || fail "$file includes $header, which does not exist"
      open+=("$header")
      for source in "${header%.h}.cpp" "${header%.h}.cu"; do
        source=${stand_in[$source]:-$source}
        [ ! -f "$source" ] || open+=("$source")
      done
    done < <(sed -n 's/^#[[:space:]]*include "\(.*\)".*/\1/p' "$file")
  done
}

programs=()
while read -r word first second; do
  case "$word" in
    ''|'#'*) continue ;;
    program) [ -f "$second" ] || fail "validate/bare/sources.txt: no file $second"
      programs+=("$first $second"); stated[$second]=all; continue ;;
    cuda-program) [ -f "$second" ] || fail "validate/bare/sources.txt: no file $second"
      programs+=("$first $second cuda"); stated[$second]=cuda; continue ;;
    also|cpu|cuda|mpi|no-nccl|never) ;;
    *) fail "validate/bare/sources.txt: unknown word $word" ;;
  esac
  files=($first)
  [ "${#files[@]}" -gt 0 ] && [ -f "${files[0]}" ] || fail "validate/bare/sources.txt: no file $first"
  for file in "${files[@]}"; do
    case "$word" in
      also) stated[$file]=all ;;
      *) stated[$file]=$word ;;
    esac
  done
done < validate/bare/sources.txt
for kind in all cpu cuda no-nccl mpi; do
  for file in "${!stated[@]}"; do
    [ "${stated[$file]}" != "$kind" ] || take "$kind" "$file"
  done
done

mkdir -p "$packed/third_party"
for file in "${!kind_of[@]}"; do
  mkdir -p "$packed/$(dirname "$file")"
  cp "$file" "$packed/$file"
  case "$file" in *.cpp|*.cu) echo "${kind_of[$file]} $file" ;; esac
done | sort > "$packed/sources"
printf '%s\n' "${programs[@]}" > "$packed/programs"
cp validate/bare/build.sh validate/run_on_gpu.sh LICENSE "$packed/"
mkdir "$packed/on_gpu" "$packed/gpu_programs" "$packed/no_nccl"
cp validate/on_gpu/*.sh validate/on_gpu/*.py "$packed/on_gpu/"
cp validate/programs/*.json "$packed/gpu_programs/"
[ -z "$shardsim" ] || scripts/gpu_programs.sh "$shardsim" "$packed/gpu_programs"
# The functions of NCCL that the validator calls, for builds without it.
cp tests/validate/execute/cuda_on_cpu/include/nccl.h "$packed/no_nccl/"
git describe --always --dirty --tags 2>/dev/null > "$packed/VERSION" || echo unknown > "$packed/VERSION"

# Where this machine's compiler finds a header, and the licence that came with it.
header_path() {
  local includes
  includes=$(echo "#include <$1>" | "${CXX:-c++}" -std=c++20 -x c++ -M - 2>/dev/null) ||
    fail "the header $1 is not installed"
  tr -s ' \\' '\n' <<< "$includes" | grep "/$1\$"
}
copy_headers() {  # name, a header of it, its licence if given, where distributions put that
  local name=$1 header licence
  header=$(header_path "$2")
  for licence in "$3" "${@:4}"; do
    if [ -n "$licence" ] && [ -f "$licence" ]; then
      cp -r "$(dirname "$header")" "$packed/third_party/$(dirname "$2")"
      cp "$licence" "$packed/third_party/LICENSE.$name"
      return
    fi
  done
  fail "no licence text of $name found; name the file in ${name^^}_LICENSE"
}
copy_headers fmt fmt/format.h "${FMT_LICENSE:-}" /usr/share/doc/libfmt-dev/copyright /usr/share/licenses/fmt/LICENSE
copy_headers json nlohmann/json.hpp "${JSON_LICENSE:-}" /usr/share/doc/nlohmann-json3-dev/copyright \
  /usr/share/licenses/nlohmann-json/LICENSE.MIT

# The same tree, the same bytes.
stamp=$(git log -1 --format=%ct 2>/dev/null || echo 0)
tar -C "$work" --sort=name --mtime="@$stamp" --owner=0 --group=0 --numeric-owner --mode=u+rw,go+r,go-w \
  -cf - shardsim-validator | gzip -n > "$output.part"
mv "$output.part" "$output"
echo "wrote $output: $(wc -l < "$packed/sources") sources"
