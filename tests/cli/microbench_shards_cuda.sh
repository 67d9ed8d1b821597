#!/usr/bin/env bash
# shardsim-microbench --shards --device cuda on the stand-in for CUDA: what is launched, for shards of every kind, and that labels
# come of it. Its times are those of no GPU.
# Usage: microbench_shards_cuda.sh SHARDSIM-MICROBENCH-ON-THE-STAND-IN SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"

# shards OPTIMIZER DTYPE: five shards of one to three tables, rows in whole vectors of the GPU and not, bags of mean below 1.
shards() {
  cat <<JSON
{"schema": "shardsim.shards/1",
 "workload": {"schema": "shardsim.workload/1", "name": "pair", "batch_per_gpu": 64, "optimizer": {"name": "$1"},
  "tables": [{"name": "a", "rows": 2000, "dim": 16, "dtype": "$2", "kind": "pooled", "pooling_factor": 6.5,
              "access": {"family": "steps", "rows": [10, 900], "weights": [100, 1]}},
             {"name": "b", "rows": 300, "dim": 16, "dtype": "$2", "kind": "pooled", "pooling_factor": 0.75}]},
 "batch": 64, "seed": 1, "max_tables": 3, "max_dim": 32, "max_bytes": "1 GiB",
 "shards": ["0:16", "1:4", "0:8 1:32", "1:12 1:4", "0:4 0:16 1:8"]}
JSON
}
bench=(--device cuda --visits 2 --warmup 1 --repetitions 2)

for kind in "sgd fp32" "rowwise_adagrad fp16" "adagrad fp32" "adam bf16"; do
  echo "-- $kind"
  read -r optimizer dtype <<<"$kind"
  shards "$optimizer" "$dtype" >shards.json
  rm -f labels.json
  run --shards shards.json "${bench[@]}" -o labels.json
  check "shards are measured: $(cat streams/err)" [ "$code" -eq 0 ]
  check "each in both directions" jq -e '[.forward_us, .backward_us] | all(length == 5 and all(. > 0))' labels.json >/dev/null
  check "by CUDA: $(jq -c '[.provider, .device]' labels.json)" \
    [ "$(jq -c '[.provider, .device]' labels.json)" = '["cuda","CPU in place of a GPU"]' ]
  check "the shards stay as they were" [ "$(jq -c .shards labels.json)" = "$(jq -c .shards shards.json)" ]
done

echo "-- labels of two devices are never mixed, and what does not fit is named before anything is timed"
refuse 2 'labels already' --shards labels.json --device cpu --threads 1 -o other.json
jq '.workload.tables[0].rows = 100000000' shards.json >large.json
refuse 1 'GiB are needed, CPU in place of a GPU gives' --shards large.json "${bench[@]}" -o large_labels.json
check "nothing is left" [ ! -e large_labels.json ]
finish 14
