#!/usr/bin/env bash
# Draw, label, train, evaluate: what comes out, the same bytes for the same seed, what is refused, and stops on the way.
# Usage: cost_model.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"

ok() {
  run "$@"
  check "$1 $2 exits 0, not $code: $(cat streams/err)" [ "$code" -eq 0 ]
}

# figure LINE COLUMN: of the table that evaluate printed, counted from the end of the line.
figure() { grep -E "^ +$1 " streams/out | awk -v column="$2" '{print $(NF + 1 - column)}'; }
below() { awk -v a="$1" -v b="$2" 'BEGIN {exit !(a < b)}'; }

echo "-- shards"
ok cost-model sample nv_tiny -n 3000 --batch 65536 -o shards.json
ok cost-model sample nv_tiny -n 3000 --batch 65536 -o again.json
check "the same seed draws the same shards" cmp -s shards.json again.json
ok cost-model label shards.json --cluster dgx_a100_40gb -o labels.json
ok cost-model train labels.json --epochs 40 -o costs.h5
ok cost-model train labels.json --epochs 40 -o costs_again.h5
check "the same labels train the same model" cmp -s costs.h5 costs_again.h5
ok cost-model evaluate costs.h5 labels.json --cluster dgx_a100_40gb
check "four rows are printed" [ "$(grep -cE '^ +(forward|backward)' streams/out)" -eq 4 ]
check "the median error is below 10 %: $(cat streams/out)" below "$(figure 'forward +learned' 3)" 10
check "the roofline, which labelled them, is calibrated to itself: $(cat streams/out)" below "$(figure 'forward +roofline' 3)" 1

echo "-- exchanges"
ok cost-model sample nv_tiny -n 2000 --batch 65536 --exchanges 4 -o exchanges.json
ok cost-model label exchanges.json --cluster dgx_a100_40gb -o exchange_labels.json
ok cost-model train labels.json --with exchange_labels.json --epochs 20 -o both.h5
ok cost-model evaluate both.h5 exchange_labels.json
check "two rows are printed" [ "$(grep -cE '^ +(forward|backward) +learned' streams/out)" -eq 2 ]
refuse 2 'no nets for exchanges of 4 ranks' cost-model evaluate costs.h5 exchange_labels.json

# More ranks than a node has: labelled over the nodes that they need.
ok cost-model sample nv_tiny -n 300 --batch 65536 --exchanges 32 -o wide.json
ok cost-model label wide.json --cluster dgx_a100_40gb --nodes 4 -o wide_labels.json
check "the labels say of which nodes" [ "$(jq -r .topology wide_labels.json)" = "dgx_a100_40gb of 4 nodes" ]
for columns in 1e300 1.5 100000001; do
  jq --arg columns "$columns 0 0 0" '.columns[0] = $columns' exchanges.json >odd.json
  refuse 2 "odd.json:.*$columns 0 0 0. is not a list of whole numbers of columns, at most 100000000" cost-model label odd.json --cluster dgx_a100_40gb -o x.json
done
jq '.batch = 100000001' exchanges.json >odd.json
refuse 2 'odd.json:.*batch: "100000001" is above 100000000' cost-model label odd.json --cluster dgx_a100_40gb -o x.json
refuse 2 'batch' cost-model sample metasyn_856 --exchanges 4 --batch 100000001 -o x.json
refuse 2 'the cluster has 16 GPUs, but the exchanges are between 32' cost-model label wide.json --cluster dgx_a100_40gb --nodes 2 -o x.json
ok cost-model train labels.json --with wide_labels.json --epochs 10 -o wide.h5
ok cost-model evaluate wide.h5 wide_labels.json
check "each rank's time is learned: $(cat streams/out)" below "$(figure 'forward +learned' 3)" 10
refuse 2 'written as JSON' cost-model sample nv_tiny -n 10 -o x.csv
refuse 2 'written as JSON' cost-model label wide.json --cluster dgx_a100_40gb --nodes 4 -o x.csv
for ranks in 1 129; do refuse 2 '^error: argument --exchanges' cost-model sample nv_tiny --exchanges $ranks -o x.json; done

echo "-- labelling goes on where it was"
# The second half of the labels is taken away, as if the run had been killed.
jq '.forward_us[1500:] |= map(null) | .backward_us[1500:] |= map(null)' labels.json >part.json
ok cost-model label shards.json --cluster dgx_a100_40gb -o part.json
check "the labels are those of one go" cmp -s labels.json part.json
refuse 2 'labels in the file are of another cluster' cost-model label shards.json --cluster dgx_a100_40gb --set gpu.kernel_overhead='9 us' -o part.json
refuse 2 'holds other labels' cost-model label shards.json --cluster dgx1_v100 -o part.json

echo "-- tables of measured calls, several batches in one model"
calls=$source/scenarios/measurements/fbgemm/shards_h100.csv
{ head -n 1 "$calls"; grep -E ',(a_b8192|a_b65536|executor300_b4096),' "$calls" | awk 'NR % 5 == 0'; } >calls.csv
refuse 2 'calls.csv:1: the rows name tables of a workload. Name it with --workload' cost-model train calls.csv -o x.h5
ok cost-model train calls.csv --workload metasyn_856 --epochs 5 -o calls.h5
grep -v ,executor300 calls.csv >two.csv
ok cost-model train two.csv --workload metasyn_856 --epochs 5 -o two.h5
ok cost-model evaluate two.h5 calls.csv --workload metasyn_856
check "batches that it never saw are marked: $(cat streams/out)" [ "$(grep -cE 'executor300_b4096, .* learned, for other batches' streams/out)" -eq 2 ]
ok cost-model evaluate calls.h5 two.csv --workload metasyn_856
check "each set has its own rows: $(cat streams/out)" [ "$(grep -cE '^ +a_b(8192|65536), (forward|backward) +learned' streams/out)" -eq 4 ]
refuse 2 'labels of fbgemm .*never mixed' cost-model train two.csv --workload metasyn_856 --layout measured -o x.h5
sed '1s/lookups/rows/' two.csv >odd.csv
refuse 2 'odd.csv:1: column lookups is missing' cost-model train odd.csv --workload metasyn_856 -o x.h5
sed '1s/$/,more/; 2,$s/$/,1/' two.csv >more.csv
refuse 2 'more.csv:1:.*unknown column "more"' cost-model train more.csv --workload metasyn_856 -o x.h5
ok cost-model evaluate "$source/scenarios/costs/h100_fbgemm.h5" two.csv --workload metasyn_856
sed 's/,H100 SXM 80GB\|^H100 SXM 80GB/H200/' two.csv >h200.csv
refuse 2 'the model is of fbgemm on H100-SXM5-80GB .*, the labels of fbgemm on H200' cost-model evaluate calls.h5 h200.csv --workload metasyn_856

echo "-- what is refused"
refuse 2 'is a sequence: it has no pooling factor' cost-model sample toy_history -o x.json
refuse 2 "dlrm_dcnv2.yaml:[0-9]+.*table 't_cat_0' does not say how its rows are accessed.*access: .family: uniform" cost-model sample dlrm_dcnv2 -o x.json
refuse 2 '^error: argument --max-bytes: .*fits in 1 KiB' cost-model sample nv_tiny --max-bytes '1 KiB' -o x.json
refuse 2 '^error: argument --max-dim: 5 columns' cost-model sample nv_tiny --max-dim 5 -o x.json
refuse 2 '^error: argument --max-tables: the option has no effect together with --exchanges' cost-model sample nv_tiny --exchanges 4 --max-tables x -o x.json
refuse 2 '^error: argument --nodes: .*only together with --cluster\. Add --cluster NAME' cost-model evaluate costs.h5 labels.json --nodes 77
refuse 2 '^error: argument --set: .*only together with --cluster' cost-model evaluate costs.h5 labels.json --set nix.foo=bar
refuse 2 '^error: argument --cluster: the labels are of exchanges' cost-model evaluate both.h5 exchange_labels.json --cluster dgx_a100_40gb
refuse 2 '^error: argument --force: .*only together with --output' cost-model sample nv_tiny -n 3 --force
refuse 2 'nothing in the file is labelled' cost-model train shards.json -o x.h5
jq '.forward_us[7] = 0' labels.json >zero.json
refuse 2 'zero.json:[0-9]+.*a label of 0 us is not a time' cost-model train zero.json -o x.h5
jq 'del(.forward_us[7])' labels.json >short.json
refuse 2 "'forward_us' has 2999 entries for 3000" cost-model train short.json -o x.h5
head -c 100000 labels.json >cut.json
refuse 2 'cut.json' cost-model train cut.json -o x.h5
refuse 2 'labels.json: the file exists, and .shardsim cost-model label. wrote it' cost-model sample nv_tiny -n 3 --batch 65536 -o labels.json
refuse 2 'is named twice' cost-model train labels.json --with labels.json -o x.h5
jq '.forward_us[7] = 1e300' labels.json >huge.json
refuse 2 'huge.json:[0-9]+.*longer than an hour' cost-model train huge.json -o x.h5
jq '.forward_us = [.forward_us[] | 1e-300]' labels.json >tiny.json
refuse 2 'tiny.json:[0-9]+.*a label of 1e-300 us is less than a picosecond' cost-model evaluate costs.h5 tiny.json
jq '.forward_us = [.forward_us[] | null] | .backward_us = .forward_us' labels.json >none.json
refuse 2 'none of the shards that are held back has a label' cost-model evaluate costs.h5 none.json
refuse 2 'nothing in the file is labelled' cost-model evaluate costs.h5 shards.json
python3 -c 'd = bytearray(open("costs.h5", "rb").read()); d[975] ^= 255; open("flip.h5", "wb").write(d)'
refuse 2 'flip.h5: it is damaged' cost-model evaluate flip.h5 labels.json
head -c 20000 costs.h5 >cut.h5
refuse 2 'cut.h5' cost-model evaluate cut.h5 labels.json
jq '.provider = "cuda"' labels.json >cuda.json
refuse 2 'cuda.json: the model is of closed_form on .*, the labels of cuda on' cost-model evaluate costs.h5 cuda.json
refuse 2 'cuda.json: labels of closed_form on .* in labels.json and of cuda on .*never mixed' cost-model train labels.json --with cuda.json -o x.h5
jq '.forward_us[4:] |= map(null) | .backward_us[4:] |= map(null)' labels.json >few.json
refuse 2 'few.json: [0-4] labels of shards may be fitted, too few' cost-model train few.json -o x.h5
refuse 2 'shards.json' cost-model train labels.json -o shards.json

echo "-- Ctrl-C while training"
before=$(files)
env --default-signal=INT "$shardsim" cost-model train labels.json --epochs 100000 -o stopped.h5 >streams/out 2>streams/err &
main=$!
begun "$main" "$shardsim"
works "$main" 80
kill -INT "$main"
code=0
wait "$main" || code=$?
check "it ends with 130, not $code: $(cat streams/err)" [ "$code" -eq 130 ]
check "no file is left" [ "$before" = "$(files)" ]

finish 32
