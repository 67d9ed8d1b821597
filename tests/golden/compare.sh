#!/usr/bin/env bash
# Compares the output of the command, byte for byte, with the texts in this folder.
# Usage: compare.sh SHARDSIM SOURCE_DIR [--update]
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2") update=${3:-}
export SHARDSIM_DATA=$source LC_ALL=C
golden=$source/tests/golden
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for kind in planners compute-models memory-models collectives networks clusters workloads software; do
  "$shardsim" list "$kind" >"$work/list_$kind.txt"
done
# Relative to the source tree, so that paths in messages are the same everywhere.
(cd "$source" && "$shardsim" run scenarios/toy.yaml -o "$work/toy" -q --details) >"$work/toy_table.txt"
for command in plan lower; do
  (cd "$source" && "$shardsim" $command scenarios/toy.yaml --case flexshard_3tier) >"$work/toy_$command.json"
done

status=0 compared=0
for made in "$work"/*.txt "$work"/*.json; do
  name=$(basename "$made")
  if [ "$update" = --update ]; then
    cp "$made" "$golden/$name"
  elif ! diff -u "$golden/$name" "$made"; then
    echo "$name differs; if that is right: tests/golden/README.md says how to accept it"
    status=1
  fi
  compared=$((compared + 1))
done
for kept in "$golden"/*.txt "$golden"/*.json; do
  [ -e "$work/$(basename "$kept")" ] || { echo "$(basename "$kept") is compared with nothing"; status=1; }
done
echo "$compared texts"
[ "$compared" -eq 11 ] && exit "$status"
