#!/usr/bin/env bash
# `shardsim collective predict`, end to end: layout, groups, spellings, bad input.
# Usage: collective.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"

a100=(collective predict --cluster dgx_a100_80gb --nodes 2 --fits none)

# time_of ARGUMENT...: the time column of the only row.
time_of() {
  run "${a100[@]}" "$@"
  grep -v '^#' streams/out | awk '{ print $6 }'
}

echo "-- table"
run "${a100[@]}" --kind all_reduce --sizes 64KiB:1GiB:x16384
check "predict exits 0: $(cat streams/err)" [ "$code" -eq 0 ]
check "it keeps stderr empty" [ ! -s streams/err ]
check "it names the columns as nccl-tests does" grep -qE '^# +size +count +type +redop +root +time +algbw +busbw' streams/out
check "two sizes, two rows" [ "$(grep -vc '^#' streams/out)" -eq 2 ]
# 286.16 + 10485.76 us by hand (NVIDIA/nccl src/graph/tuning.cc), and 20 us to launch.
check "1 GiB takes 10791.92 us" grep -qE '^ +1073741824 +268435456 +float +sum +-1 +10791\.92 +99\.49 +186\.55 +Ring +Simple +node0/nic0/out$' streams/out
check "64 KiB takes 54.91 us" grep -qE ' 65536 +16384 +float +sum +-1 +54\.91 .* Tree +LL +node' streams/out
run "${a100[@]}" --kind all_gather --sizes 1MiB
check "a count of all_gather is a peer's part" grep -qE '^ +1048576 +16384 +float +none +-1 ' streams/out

echo "-- spellings, sizes and groups"
for kind in alltoall AllToAll all_to_all alltoall_perf; do
  check "$kind is understood" [ "$(time_of --kind $kind --sizes 1MiB)" = "$(time_of --kind all_to_all --sizes 1MiB)" ]
done
for kind in all_reduce reduce_scatter all_gather broadcast send_recv sendrecv; do
  run "${a100[@]}" --kind $kind --sizes 1MiB
  check "$kind is predicted: $(cat streams/err)" [ "$code" -eq 0 ]
done
run "${a100[@]}" --kind all_reduce --sizes 1MiB:4MiB:+1MiB
check "steps" [ "$(grep -vc '^#' streams/out)" -eq 4 ]
check "a list of ranks is a group" [ "$(time_of --kind all_reduce --sizes 1MiB --group 0-15)" = "$(time_of --kind all_reduce --sizes 1MiB)" ]
check "a node is a group" [ "$(time_of --kind all_reduce --sizes 1MiB --group 0-7/8-15)" = "$(time_of --kind all_reduce --sizes 1MiB --group node)" ]
check "first GPUs of each node" [ "$(time_of --kind all_reduce --sizes 1MiB --gpus-per-node 2)" = "$(time_of --kind all_reduce --sizes 1MiB --group 0,1,8,9)" ]
check "listed ranks among the first GPUs" [ "$(time_of --kind all_reduce --sizes 1MiB --group 0,8 --gpus-per-node 1)" = "$(time_of --kind all_reduce --sizes 1MiB --group 0,8)" ]
for kind in all_reduce all_to_all send_recv; do
  run "${a100[@]}" --kind $kind --sizes 1MiB --group 3
  check "$kind of one rank has no algorithm" grep -qE ' 0\.00 .* none +- +-$' streams/out
done
run "${a100[@]}" --kind all_reduce --sizes 1MiB --group cross_node
check "a group per local GPU" grep -q '2 ranks, 8 such groups at once' streams/out

echo "-- NCCL_CROSS_NIC"
# NVIDIA/nccl#1411: two nodes of H800 (NVLinks of 165 GB/s) with four NICs of 400 Gbit/s. With four GPUs a node, rings that
# change NICs exceed the NVLinks, and others do not (159 GB/s at 256 MiB); with eight GPUs neither do.
# h800 GPUS NICS: a cluster file on standard output.
h800() {
  cat <<END
schema: shardsim.cluster/1
name: h800
nodes: 2
gpu: {model: H800, count: $1, compute_capability: "9.0", hbm: 81559 MiB, hbm_bandwidth: 3350 GB/s, l2: 50 MiB, sm_count: 132, flops: {fp32: 67 TFLOP/s}}
nvlink: {kind: switch, links_per_gpu: 8}
pcie: {generation: 5, cpu: {vendor: intel, model: Sapphire Rapids}}
nics: {$2, rate: 400 Gbit/s}
fits: open_data
END
}
h800 4 "per_gpu: 1" >h800_4.yaml
h800 8 "shared_by: 2" >h800_8.yaml
# busbw_of FILE CROSS_NIC: of an all_reduce of 8 GiB by rings.
busbw_of() {
  run collective predict --cluster "$1" --kind all_reduce --algorithm Ring --sizes 8GiB --cross-nic "$2"
  grep -v '^#' streams/out | awk '{ print int($8) }'
}
check "rings that keep their NIC are bounded by the NVLinks" [ "$(busbw_of h800_4.yaml 0)" -lt 165 ]
check "rings that change it are not" [ "$(busbw_of h800_4.yaml 1)" -gt 180 ]
check "NCCL takes those" [ "$(busbw_of h800_4.yaml 2)" = "$(busbw_of h800_4.yaml 1)" ]
busbw_of h800_4.yaml 0 >/dev/null
check "a note says so" grep -q 'NCCL would choose by itself: Ring Simple at 8 GiB' streams/out
run collective predict --cluster dgx_h100 --kind all_to_all --sizes 64MiB --algorithm tree
check "a forced algorithm of a collective that has none is said to do nothing: $(cat streams/out)" \
  grep -q 'all_to_all has neither an algorithm nor a protocol to choose here' streams/out
run collective predict --cluster dgx_h100 --kind broadcast --sizes 64MiB --algorithm tree
check "... and one that this collective does not have: $(cat streams/out)" \
  grep -q 'The forced algorithm, tree, is none that NCCL has for broadcast on this group: it runs Ring' streams/out
run collective predict --cluster dgx_h100 --nodes 1 --kind all_reduce --sizes 64MiB,8GiB --channels 4
check "few channels are said to be the limit: $(cat streams/out)" \
  grep -q '4 channels are the limit, and no link, first at 64 MiB: with 8 it would take' streams/out
run collective predict --cluster dgx_h100 --nodes 2 --kind all_to_all --sizes 64MiB --channels 8
check "... and where they are none: $(cat streams/out)" \
  grep -q '8 channels bound what a pair of GPUs sends, not a GPU, and are no limit here' streams/out
check "with GPUs that share NICs nothing is gained" [ "$(busbw_of h800_8.yaml 1)" -lt 165 ]
run collective predict --cluster h800_4.yaml --kind all_reduce --sizes 1MiB --cross-nic 3
check "another number is refused: $(cat streams/err)" [ "$code" -eq 2 ]
rm h800_4.yaml h800_8.yaml

echo "-- uneven bytes"
check "an even skew is no skew" [ "$(time_of --kind all_to_all_v --skew even --sizes 16MiB)" = "$(time_of --kind all_to_all --sizes 16MiB)" ]
run "${a100[@]}" --kind alltoallv --skew zipf --sizes 16MiB
check "uneven bytes have no busbw" grep -qE ' 16777216 .* N/A +direct ' streams/out
printf 'source,0,1\n0,4096,1 MiB\n1,1MiB,4096\n' >matrix.csv
run "${a100[@]}" --kind all_to_all_v --matrix matrix.csv --group 0,8
check "a matrix: $(cat streams/err)" grep -qE '^ +1052672 ' streams/out

{ echo rank,sent_in_node,received_in_node,sent_off_node,received_off_node
  for rank in $(seq 0 15); do echo "$rank,7MiB,7MiB,8MiB,8MiB"; done; } >loads.csv
run "${a100[@]}" --kind all_to_all_v --loads loads.csv
check "even sums take the time of even bytes: $(cat streams/err)" [ "$(grep -v '^#' streams/out | awk '{ print $6 }')" = "$(time_of --kind all_to_all --sizes 16MiB)" ]
(cat loads.csv; echo 3,0,0,0,0) >twice.csv
refuse 2 'twice.csv:18: rank 3' "${a100[@]}" --kind all_to_all_v --loads twice.csv
sed '$d' loads.csv >few.csv
refuse 2 'few.csv: rank 15 is missing' "${a100[@]}" --kind all_to_all_v --loads few.csv
sed '1s/sent_off_node/sent/' loads.csv >other.csv
refuse 2 'other.csv:1: column sent_off_node' "${a100[@]}" --kind all_to_all_v --loads other.csv
sed '2s/8MiB$/9MiB/' loads.csv >uneven.csv
refuse 2 'uneven.csv: the bytes sent and received between the nodes differ' "${a100[@]}" --kind all_to_all_v --loads uneven.csv
# sums FILE ENTRY...: all 0 but what each entry says, as "rank,sent_in,received_in,sent_off,received_off".
sums() {
  local file=$1; shift
  { echo rank,sent_in_node,received_in_node,sent_off_node,received_off_node
    for rank in $(seq 0 15); do printf '%s\n' "$@" | grep "^$rank," || echo "$rank,0,0,0,0"; done; } >"$file"
}
sums node.csv 0,1000,0,0,0 8,0,1000,0,0
refuse 2 'node.csv: .*inside node 0 differ: 1000 and 0' "${a100[@]}" --kind all_to_all_v --loads node.csv
sums self.csv 3,1000,1000,0,0
refuse 2 'self.csv:5: rank 3 sends 1000 bytes' "${a100[@]}" --kind all_to_all_v --loads self.csv
sums off.csv 0,0,0,1000,0 1,0,0,0,1000
refuse 2 'off.csv: node 0 receives 1000 bytes from other nodes' "${a100[@]}" --kind all_to_all_v --loads off.csv
{ echo rank,sent_in_node,received_in_node,sent_off_node,received_off_node,rail_0,rail_1,rail_2,rail_3,rail_4,rail_5,rail_6,rail_7
  for rank in $(seq 0 15); do echo "$rank,0,0,800,800,800,0,0,0,0,0,0,0"; done; } >rails.csv
refuse 2 'rails.csv: 12800 bytes are sent to rail 0' "${a100[@]}" --kind all_to_all_v --loads rails.csv
refuse 2 'argument --loads' "${a100[@]}" --kind all_to_all --loads loads.csv

echo "-- fits"
unfitted=$(time_of --kind all_reduce --sizes 1GiB)
run collective predict --cluster dgx_a100_80gb --nodes 2 --kind all_reduce --sizes 1GiB
check "what is fitted changes the time" [ "$(grep -v '^#' streams/out | awk '{ print $6 }')" != "$unfitted" ]
refuse 2 'fits.*open_data' collective predict --cluster dgx_a100_80gb --kind all_reduce --sizes 1GiB --fits opn_data

echo "-- a bus bandwidth above a NIC's rate"
run collective predict --cluster hgx_h100_8x400g --nodes 2 --kind all_to_all --sizes 256MiB
check "what stays inside a node is no wonder of its NICs: $(cat streams/out)" grep -qE 'busbw is above the 50 GB/s that the NICs of a node carry for each of 8 GPUs .first at 256 MiB: [0-9]+ GB/s.\. .* 8 of 15 parts leave its node, 4[0-9.]* GB/s' streams/out
run collective predict --cluster hgx_h100_8x400g --nodes 2 --kind all_to_all --sizes 256MiB --gpus-per-node 1
check "and not where a node has one GPU" bash -c '! grep -q "busbw is above" streams/out'

echo "-- json"
run "${a100[@]}" --kind all_reduce --sizes 1GiB --json
check "the document says what it is" grep -q '"schema": "shardsim.collective/1"' streams/out
check "the document has the time" grep -qE '"time_us": 10791\.9' streams/out

echo "-- bad input"
refuse 2 'argument collective: ' collective
refuse 2 'argument predct: .*predict' collective predct
refuse 2 'argument --kind: .*all_reduce' "${a100[@]}" --sizes 1MiB
refuse 2 'argument --kind: unknown kind.*all_reduce' "${a100[@]}" --kind all_redcue --sizes 1MiB
refuse 2 'argument --cluster: ' collective predict --kind all_reduce --sizes 1MiB
refuse 2 'argument --cluster.*dgx_a100' collective predict --cluster dgx_a100 --kind all_reduce --sizes 1MiB
refuse 2 'argument --sizes: the sizes are missing' "${a100[@]}" --kind all_reduce
for sizes in 0B 0B:1MiB:x2 1MiB:1KiB:x2 1KiB:1MiB 1KiB:1MiB:2 1KiB:1MiB:x1 1KiB:1MiB:x0.5 1B:1GiB:+1B 12 9223372036854775808B \
  16EiB 1KiB, 1KiB:1MiB:x2:3 -1B 1KiB:1MiB:+0B 1KiB:1MiB:xnan; do
  refuse 2 'argument --sizes: ' "${a100[@]}" --kind all_reduce "--sizes=$sizes"
done
refuse 2 '2\^53' "${a100[@]}" --kind all_to_all --sizes 4096TiB
refuse 2 'argument --sizes: "63" has no unit. Write "63 B"' "${a100[@]}" --kind all_reduce --sizes 63
for nodes in 0 -1 1e9 2.5 many 9223372036854775808; do
  refuse 2 'argument --nodes' collective predict --cluster dgx_a100_80gb "--nodes=$nodes" --kind all_reduce --sizes 1MiB
done
refuse 2 '1,000,000 ranks|1000000' collective predict --cluster dgx_a100_80gb --nodes 1000000 --kind all_reduce --sizes 1MiB
for gpus in 0 9 -1 x; do refuse 2 'argument --gpus-per-node' "${a100[@]}" --kind all_reduce --sizes 1MiB "--gpus-per-node=$gpus"; done
refuse 2 'argument --group: rank 3 is named twice' "${a100[@]}" --kind all_reduce --sizes 1MiB --group 3,4,3
refuse 2 'argument --group: rank 3 is named twice' "${a100[@]}" --kind all_reduce --sizes 1MiB --group 0-3/3-5
refuse 2 'argument --group: rank 9 is GPU 1 of its node.*--gpus-per-node' "${a100[@]}" --kind all_reduce --sizes 1MiB --group 0,8,9 --gpus-per-node 1
refuse 2 'argument --group: rank 16 ' "${a100[@]}" --kind all_reduce --sizes 1MiB --group 0,16
for group in '' nodes 1- 3-1 1,,2 0/ 0x1; do refuse 2 'argument --group: ' "${a100[@]}" --kind all_reduce --sizes 1MiB "--group=$group"; done
refuse 2 'argument --kind: .*--matrix' "${a100[@]}" --kind all_to_all_v --sizes 1MiB
refuse 2 'argument --skew: unknown skew.*zipf' "${a100[@]}" --kind all_to_all_v --sizes 1MiB --skew zpif
refuse 2 'argument --skew: ' "${a100[@]}" --kind all_reduce --sizes 1MiB --skew zipf
refuse 2 'argument --skew: ' "${a100[@]}" --kind all_to_all_v --matrix matrix.csv --group 0,8 --skew zipf
refuse 2 'matrix.csv:1: ' "${a100[@]}" --kind all_to_all_v --matrix matrix.csv
refuse 2 'none.csv' "${a100[@]}" --kind all_to_all_v --matrix none.csv
for bad in 'source,0,1\n0,1,x\n1,1,1\n' 'source,0,1\n0,1,2\n1,-1,1\n' 'source,0,1\n0,1,2\n2,1,1\n'; do
  printf "$bad" >bad.csv
  refuse 2 'bad.csv:[23]: ' "${a100[@]}" --kind all_to_all_v --matrix bad.csv --group 0,8
done
printf 'source,0,1\n0,0,0\n1,0,0\n' >bad.csv
refuse 2 'bad.csv: ' "${a100[@]}" --kind all_to_all_v --matrix bad.csv --group 0,8

finish 60
