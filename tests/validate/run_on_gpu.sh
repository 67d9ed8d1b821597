#!/usr/bin/env bash
# validate/run_on_gpu.sh on the stand-in for CUDA and NCCL, with a stand-in for nvidia-smi: every step but the sanitizer, PyTorch and ncu
# runs and its numbers reach the summary; what is missing is named, or failed where it was required. Times are those of no GPU.
# Usage: run_on_gpu.sh BUILD_TESTS_DIR SHARDSIM SOURCE_DIR
set -euo pipefail
tests=$(realpath "$1") shardsim=$(realpath "$2") source=$(realpath "$3")
. "$source/tests/cli/lib.sh"
mkdir tools built messages
ln -s "$tests/cuda_validate_on_cpu" built/shardsim-validate
ln -s "$tests/cuda_microbench_on_cpu" built/shardsim-microbench
ln -s "$tests/cuda_kernels_on_cpu" built/shardsim-cuda-check
cat > tools/nvidia-smi <<'SMI'
#!/usr/bin/env bash
case "$*" in
  *-lms*)
    echo "timestamp, clocks.current.sm [MHz], clocks.current.memory [MHz], power.draw [W], temperature.gpu, utilization.gpu [%], reasons"
    for sample in "345 MHz, 2619 MHz, 70.10 W, 30, 0 %, 0x0000000000000001" "1980 MHz, 2619 MHz, 500.00 W, 45, 98 %, 0x0000000000000000" \
      "1700 MHz, 2619 MHz, 699.00 W, 60, 100 %, 0x0000000000000004"; do
      echo "2026/11/23 22:00:00.000, $sample"
    done
    exec sleep 600 ;;
  *name,driver_version*) echo "NVIDIA H100 80GB HBM3, 580.1, 1024 MiB" ;;
  *driver_version*) echo "580.1" ;;
  *name*) echo "NVIDIA H100 80GB HBM3" ;;
  *) echo "| NVIDIA-SMI 580.1   Driver Version: 580.1   CUDA Version: ${FAKE_CUDA:-13.0}  |" ;;
esac
SMI
cat > tools/nvcc <<'NVCC'
#!/usr/bin/env bash
echo "Cuda compilation tools, release 13.0, V13.0.88"
NVCC
chmod +x tools/*
# Neither PyTorch nor the sanitizer nor ncu, also where this machine has them.
printf '#!/bin/sh\nexit 1\n' > tools/python_without_torch
chmod +x tools/python_without_torch
hidden=$(for tool in compute-sanitizer ncu; do dirname "$(command -v "$tool" || echo /none/none)"; done | sort -u | paste -sd '|')
PATH=$PWD/tools:$(tr ':' '\n' <<< "$PATH" | grep -vxE "$hidden" | paste -sd:)
export PYTHON=$PWD/tools/python_without_torch TMPDIR=$PWD/messages

# gpu CODE MODE OUT [--from DIR] ARGUMENT...: the script, of the sources or of DIR, which must end with this code.
gpu() {
  local expected=$1 code=0 from=$source/validate
  shift
  if [ "${3:-}" = --from ]; then
    from=$4
    set -- "$1" "$2" "${@:5}"
  fi
  "$from/run_on_gpu.sh" "$@" > streams/out 2> streams/err < /dev/null || code=$?
  check "$* ends with $expected, not $code: $(tail -n 5 streams/out) $(cat streams/err)" [ "$code" -eq "$expected" ]
}
slow=(--minutes 75)  # a step is not stopped because this machine is slow or busy
says() { check "$1 says $2: $(cat "$1")" grep -qE -- "$2" "$1"; }

echo "-- the plan"
gpu 0 check --dry-run
says streams/out '^kernels +0\.1 +1\.0 '
says streams/out '^all +[0-9.]+  of 7.5 allowed'
gpu 0 measure --dry-run
check "the build comes first, then what is worth most" bash -c '[ "$(awk "NR > 1 { print \$1 }" streams/out | paste -sd " ")" = "build grid programs iterations torch ncu all" ]'

echo "-- check"
gpu 0 check checked --built built --small "${slow[@]}"
says checked/summary.txt 'kernels: [0-9]+ passed, 0 failed'
says checked/summary.txt 'large: left out: a table of 21.5 GB'
for program in 2_three_tiers 4_pooled; do
  says checked/summary.txt "nccl: $program: data equals a single process bit for bit"
done
says checked/summary.txt 'kill: rank 0 ends with 1 after [0-9.]+ s: error: rank 1 died'
says checked/summary.txt 'data: 4 programs equal a single process bit for bit, 0 do not'
says checked/summary.txt 'left out: memcheck \(compute-sanitizer is not in the PATH\)'
says checked/summary.txt 'left out: racecheck'
says checked/summary.txt 'all well, 2 left out'
check "at most 7 files" [ "$(find checked -type f | wc -l)" -le 7 ]

echo "-- measure"
gpu 0 measure measured --built built --small "${slow[@]}"
says measured/summary.txt 'grid: [0-9]+ rows in measured.csv'
says measured/summary.txt 'programs: toy_1gpu_row_wise iteration: [0-9.]+ ms \([0-9.]+ [0-9.]+ [0-9.]+\)'
for operation in iteration lookup_row_wise dense_forward dense_backward update_row_wise dense_optimizer_step; do
  says measured/summary.txt "programs: small_dcnv2 $operation: [0-9.]+ ms"
done
tar -xzf measured/logs.tar.gz
for fact in 'GPU memory taken, MiB: [0-9]+' 'iteration without events around operations, ms: [0-9.]+'; do
  check "the observation says: $fact" bash -c "jq -r .. observed/small_dcnv2.1.timeline.json 2>/dev/null | grep -qE '$fact'"
done
says measured/summary.txt 'left out: torch \(no PyTorch'
says measured/summary.txt 'left out: ncu'
says measured/summary.txt 'clocks: SM 1700 to 1980 MHz in 2 samples of the GPU at work, 1 of them slowed .* up to 699 W and 60 C'
check "at most 7 files" [ "$(find measured -type f | wc -l)" -le 7 ]
for op in tbe_fwd '"tbe_fwd, weighted"' tbe_bwd nobag_fwd nobag_bwd gemm sort_pairs '"copy, sized"' '"host_copy, to the device"'; do
  check "rows of $op" grep -q ",$op," measured/measured.csv
done
for optimizer in sgd rowwise_adagrad adagrad adam; do check "rows of $optimizer" grep -q ",$optimizer,zipf\|,$optimizer,uniform" measured/measured.csv; done
check "three rounds" grep -q 'medians of the rounds [0-9.]* [0-9.]* [0-9.]*;' measured/measured.csv
sed -i 's/,C,/,A,/' measured/measured.csv  # times of a stand-in drift
cat > one.yaml <<YAML
schema: shardsim.scenario/1
cluster: dgx_h100
workload: toy_history
planner: {name: row_wise}
compute_model: {name: measured, file: measured/measured.csv}
YAML
code=0
"$shardsim" run one.yaml -o run -q > streams/out 2> streams/err || code=$?
check "the compute model reads the data set: $(cat streams/err)" [ "$code" -eq 0 ]

echo "-- iterations of a package, beside what was predicted for this GPU"
gpu 0 measure unpacked --built built --steps iterations "${slow[@]}"
says unpacked/summary.txt 'left out: iterations \(no programs of scenarios/one_gpu.yaml: pack with --shardsim'
mkdir -p package/gpu_programs
cp -r "$source/validate/run_on_gpu.sh" "$source/validate/on_gpu" package
cp "$source/validate/programs/toy_1gpu_row_wise.json" package/gpu_programs/one_gpu_toy.json
printf 'one_gpu_toy\t%s\titeration\t%s\n' "A100 80GB" 7 H100 1000000 > package/gpu_programs/predicted.tsv
gpu 0 measure packed --from package --built built --steps iterations "${slow[@]}"
says packed/summary.txt 'iterations: one_gpu_toy iteration: [0-9.]+ ms, predicted 1e\+06, \+[0-9.e+]+ %'
says packed/summary.txt 'iterations: one_gpu_toy lookup_row_wise: [0-9.]+ ms$'
echo '{' > package/gpu_programs/one_gpu_cut.json
gpu 1 measure cut --from package --built built --steps iterations "${slow[@]}"
says cut/summary.txt 'iterations: one_gpu_cut: .*cut.json'
says cut/summary.txt 'iterations: one_gpu_toy iteration: '

echo "-- what ncu counts"
metric() { printf '"0","1","bench","h","void shardsim::cuda::pooled_lookup_kernel<float, 4, false>(const TableView *, int)","1","7","(32, 8, 1)","(4096, 1, 1)","0","9.0","Command line profiler metrics","%s","%s","%s"\n' "$@"; }
{
  echo '==PROF== Connected to process 1'
  echo '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"'
  metric dram__bytes_read.sum Mbyte 500
  metric dram__bytes_write.sum Mbyte 20
  metric gpu__time_duration.sum us 260
} > ncu.csv
"$source/validate/on_gpu/dram.sh" ncu.csv > streams/out
says streams/out '^pooled_lookup_kernel: 1 calls, 0.500 GB from DRAM, 0.020 GB to it, 2000 GB/s$'

echo "-- what is missing, or does not fit"
gpu 1 check required --built built --small --require sanitizer,nccl --steps memcheck
says required/summary.txt 'FAILED memcheck: sanitizer was required: compute-sanitizer is not in the PATH'
gpu 0 measure hurried --built built --small --minutes 0.3
says hurried/summary.txt 'left out: grid \(no time'
FAKE_CUDA=12.4 gpu 1 check older --built built --small
says streams/err 'driver 580.1 knows CUDA 12, and nvcc is of CUDA 13: '
printf 'no program of this machine\n' > messages/foreign
mkdir foreign
for name in shardsim-validate shardsim-microbench shardsim-cuda-check; do cp messages/foreign "foreign/$name"; chmod +x "foreign/$name"; done
gpu 1 check other --built foreign
says other/summary.txt 'FAILED shardsim-validate does not run on'
gpu 2 check checked --built built
says streams/err 'holds files already'
gpu 2 check one two
gpu 2 run one
gpu 2 check new --require cuda
gpu 2 check new --steps grid
says streams/err 'check has kernels large nccl kill data memcheck racecheck, not grid'
finish 56
