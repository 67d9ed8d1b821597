#!/usr/bin/env bash
# Includes point to the own folder or down: base < topology < models < plan < sim < validate < cli.
# Usage: include_direction.sh ROOT
set -euo pipefail
cd "$1"
floors=(base topology models plan sim validate cli)
declare -A height
for i in "${!floors[@]}"; do height[${floors[$i]}]=$i; done

status=0 seen=0
while IFS=: read -r file line include; do
  from=${file%%/*} to=$(sed -E 's/.*"([a-z_]+)\/.*/\1/' <<<"$include")
  [ -n "${height[$to]:-}" ] || { echo "$file:$line: include of \"$to/\", which is no floor"; status=1; continue; }
  seen=$((seen + 1))
  [ "${height[$to]}" -le "${height[$from]}" ] || { echo "$file:$line: floor $from includes from the higher floor $to"; status=1; }
done < <(grep -rnE '^ *#include "' --include='*.h' --include='*.cpp' --include='*.cu' base topology models plan sim validate cli 2>/dev/null)
[ "$seen" -gt 100 ] || { echo "only $seen includes were found: the search is broken"; status=1; }
exit "$status"
