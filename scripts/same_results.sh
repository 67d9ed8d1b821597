#!/usr/bin/env bash
# Runs every scenario of another checkout with the binary there and with this one, and says which results are the same
# bytes: result.json but for its `version`, and timeline.h5 but for the version and the checksum at its end. Versions have to
# be of one length (commit both). Where planners are compared, `planning_cpu_s` is of a clock and differs. Networks and row
# shares are made equal where an older binary knows one kind alone: give that as settings for this binary.
# Usage: same_results.sh OTHER_SHARDSIM OTHER_CHECKOUT THIS_SHARDSIM [OUT] [--set PATH=VALUE]...
# Example: scripts/same_results.sh ../old/build/release/shardsim ../old build/release/shardsim out/same \
#            --set network.name=simgrid --set load.row_shares=even
# Exit code 1: something differs; what it is stands in OUT.
set -euo pipefail
other=$(realpath "$1") checkout=$(realpath "$2") this=$(realpath "$3")
shift 3
out=out/same
case "${1:-}" in ''|--*) ;; *) out=$1; shift ;; esac
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
rm -rf "$out/before" "$out/after" "$out/tree"
mkdir -p "$out/tree"
out=$(realpath "$out")
# Files named by scenarios that this binary must be able to read are its own: policies end with a checksum now.
cp -r "$checkout/scenarios" "$out/tree/scenarios"
cp "$here"/scenarios/policies/* "$out/tree/scenarios/policies/"

# plain FILE RESULT BYTES: its first bytes, without the version that the result names.
plain() { head -c "$3" "$1" | LC_ALL=C sed "s/$(jq -r .version "$2")/VERSION/g"; }
# same FILE: of the run before and of that after. A timeline ends with a checksum, which differs with the version; one of an
# older binary without it ends where that of this one stands.
checksum_bytes=25
same() {
  local size=$((1 << 40))
  if [ "$1" = timeline.h5 ]; then
    size=$(stat -c %s "$before/$1")
    ! tail -c $checksum_bytes "$before/$1" | grep '^shardsim crc32 ' >/dev/null || size=$((size - checksum_bytes))
  fi
  cmp -s <(plain "$before/$1" "$before/result.json" "$size") <(plain "$after/$1" "$after/result.json" "$size")
}

differ=0
for file in "$checkout"/scenarios/*.yaml; do
  name=$(basename "$file" .yaml)
  (cd "$checkout" && "$other" run "scenarios/$name.yaml" -q -o "$out/before/$name" >/dev/null 2>&1)
  (cd "$out/tree" && "$this" run "scenarios/$name.yaml" -q -o "$out/after/$name" "$@" >/dev/null 2>"$out/$name.err") ||
    { echo "$name: fails now: $(head -c 300 "$out/$name.err")"; differ=1; continue; }
  before=$out/before/$name after=$out/after/$name said=
  for result in result.json timeline.h5; do same "$result" || said="$said $result"; done
  echo "$name: ${said:+differs in}${said:-the same}"
  [ -z "$said" ] || differ=1
done
exit $differ
