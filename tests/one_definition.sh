#!/usr/bin/env bash
# Every class, struct, union and enum of the product has a name of its own: two that share one are undefined behaviour
# once they are linked into one program, and no compiler or linker says so. Names in anonymous namespaces and inside
# other types are left alone. Reads headers and sources, as clang-format leaves them: a type of a namespace begins in
# the first column.
# Usage: one_definition.sh ROOT
set -euo pipefail
cd "$1"
types=$(mktemp)
trap 'rm -f "$types"' EXIT
find base topology models plan program sim validate study accuracy cli -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' | sort |
  xargs awk '
    FNR == 1 { space = ""; hidden = 0 }
    /^namespace \{/ { hidden = 1 }
    /^}  \/\/ namespace$/ { hidden = 0 }
    /^namespace [A-Za-z_:]+ \{/ { space = space $2 "::" }
    /^}  \/\/ namespace [A-Za-z_:]+$/ { sub($4 "::$", "", space) }
    hidden || !/^(class|struct|union|enum|enum class|enum struct) [A-Za-z_]/ || /;$/ { next }
    {
      name = $2 == "class" || $2 == "struct" ? $3 : $2
      sub(/[:{]$/, "", name)
      if (name ~ /</) next  # a specialisation
      print space name, FILENAME ":" FNR
    }' > "$types"
[ "$(wc -l < "$types")" -gt 300 ] || { echo "only $(wc -l < "$types") types were found: the search is broken"; exit 1; }
awk '
  { places[$1] = places[$1] " " $2; if (++times[$1] == 2) twice[$1] }
  END {
    for (name in twice) print name " is defined more than once:" places[name]
    for (name in twice) exit 1
  }' "$types"
