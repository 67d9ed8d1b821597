#!/usr/bin/env bash
# Lays what `shardsim why` says would help beside simulations of its own: of every case of every shipped scenario the
# levers with the largest effect (five, or as many as have a key), each 10 % better and 10 % worse, run by the command from
# the scenario file with the plan of the original (a plan file) and the settings that `why` names. A change agrees where it
# is within 2 points (per cent of the iteration) of what `why` says of it, and an elasticity is the slope between the two.
# Usage: elasticity_check.sh SHARDSIM [SCENARIO]...   (all shipped ones where none is named)
# Exit code 1: one does not agree. Cases of drawn batches and of jobs, and plans that are compared, are left out, and counted.
set -euo pipefail
shardsim=$(realpath "$1"); shift
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -gt 0 ] || set -- scenarios/*.yaml
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
checked=0 cases=0 left_out=0 wrong=0

# cases_of FILE: names, one a line.
cases_of() {
  "$shardsim" run "$1" -q --json -o "$work/run" 2>/dev/null >"$work/run.json" || return 0
  jq -r '.cases[] | select(.job == null and .drawn_batches == null) | .name' "$work/run.json"
}

# changed_ms FILE CASE SETTING...: the iteration with the plan that is kept.
changed_ms() {
  local file=$1 name=$2 settings=(); shift 2
  for setting in "$@"; do settings+=(--set "$setting"); done
  "$shardsim" why "$file" --case "$name" --path-only --json --set "plan={file: $work/plan.json}" "${settings[@]}" \
    2>"$work/error" | jq .iteration_ms
}

for file in "$@"; do
  while IFS= read -r name; do
    if ! "$shardsim" why "$file" --case "$name" --json >"$work/why.json" 2>"$work/error" ||
       ! "$shardsim" plan "$file" --case "$name" -o "$work/plan.json" --force >/dev/null 2>"$work/error" ||
       ! kept=$(changed_ms "$file" "$name"); then
      left_out=$((left_out + 1)); continue
    fi
    cases=$((cases + 1))
    before=$(jq .help.iteration_ms "$work/why.json")
    if ! awk -v a="$before" -v b="$kept" 'BEGIN { exit !((a - b) ^ 2 <= (1e-9 * a) ^ 2) }'; then
      echo "$file $name: the plan from a file takes $kept ms, not $before"; wrong=$((wrong + 1)); continue
    fi
    while IFS=$'\t' read -r lever said direction settings; do
      mapfile -t list < <(jq -r '.[]' <<<"$settings")
      if ! ms=$(changed_ms "$file" "$name" "${list[@]}") || [ -z "$ms" ]; then left_out=$((left_out + 1)); continue; fi
      checked=$((checked + 1))
      awk -v a="$before" -v b="$ms" -v s="$said" 'BEGIN { off = 100 * (b / a - 1) - s; exit !(off <= 2 && off >= -2) }' ||
        { echo "$file $name: $lever $direction: $said % was said, and $before becomes $ms ms"; wrong=$((wrong + 1)); }
    done < <(jq -r '[.help.elasticities[] | select(.better_set | length > 0)] | sort_by(-(.percent_per_percent | fabs))[:5][] |
                    ([.name, .better_10_pct, "better", (.better_set | tostring)], [.name, .worse_10_pct, "worse", (.worse_set | tostring)]) |
                    @tsv' "$work/why.json")
  done < <(cases_of "$file")
  echo "$file: $cases cases, $checked changes so far, $wrong disagree, $left_out left out"
done
[ "$checked" -gt 0 ] || { echo "nothing was checked: no case has a plan that a file can keep" >&2; exit 1; }
[ "$wrong" -eq 0 ]
