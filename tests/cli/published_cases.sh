#!/usr/bin/env bash
# The published iterations of DLRM, Wide and Deep, HSTU and TorchRec are there by name, and every one of them runs. Names of Wide and
# Deep are many: they follow from versions, GPUs, batches, columns and vocabularies.
# Usage: published_cases.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"

wide_deep() {
  local version gpus batch vocabulary
  for version in 2.2/2322444 3.2/2359296; do
    vocabulary=${version#*/} version=${version%/*}
    for gpus in 1 8 16 32; do
      [ "$version" = 2.2 ] || [ $gpus -le 8 ] || continue
      for batch in 512 1024 2048 4096 8192 16384 32768 65536 131072 262144 524288; do
        [ $gpus -gt 1 ] || [ $batch -le 131072 ] || continue
        echo "hugectr$version/v100/${gpus}x$batch/dim16/vocab$vocabulary"
      done
      for rows in 3200000 6400000 12800000 25600000 51200000; do
        echo "hugectr$version/v100/${gpus}x16384/dim16/vocab$rows"
      done
    done
    for gpus in 1 2 4 8 16 32; do
      [ "$version" = 2.2 ] || [ $gpus -le 8 ] || continue
      echo "hugectr$version/v100/${gpus}x16384/dim32/vocab$vocabulary"
      echo "hugectr$version/v100/${gpus}x$((16384 * gpus))/dim32/vocab$vocabulary"
    done
  done
}

{
  cat "$source/tests/cli/published_cases.txt"
  wide_deep
} | sort -u >expected
for scenario in mlperf_dlrm wide_deep hstu torchrec_benchmark; do
  echo "-- $scenario"
  run run "$source/scenarios/$scenario.yaml" -o "$scenario" -q
  check "$scenario runs: $(cat streams/err)" [ $code = 0 ]
done
jq -r '.cases[] | select(.iteration_ms > 0).name' ./*/result.json | sort >there
check "cases that are missing: $(comm -23 expected there | paste -sd' ')" [ -z "$(comm -23 expected there)" ]
odd=$(jq -r '.cases[] | select([.published[]? | select(.quantity == "iteration")] | length > 1).name' ./*/result.json)
check "cases with several published iterations: $odd" [ -z "$odd" ]
finish 5
