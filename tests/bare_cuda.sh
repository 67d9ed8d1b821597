#!/usr/bin/env bash
# Checks that validate/bare/build.sh finds CUDA and NCCL, on a package of two sources and with stand-ins for nvcc and the
# libraries: NCCL beside nvcc, in PyTorch's wheel (its library by the full name alone, found again at run time), nowhere; and that
# a part that was asked for and is missing is a failure, not another build. Usage: bare_cuda.sh SOURCE_DIR
set -euo pipefail
source=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "FAILED: $1" >&2; exit 1; }
on_cpu=$source/tests/validate/execute/cuda_on_cpu/include
if echo '#include <nccl.h>' | "${CXX:-c++}" -x c++ -fsyntax-only - 2> /dev/null; then echo "NCCL is installed for all: nothing to find"; exit 77; fi

mkdir -p package/no_nccl cuda/bin cuda/include cuda/lib64 wheel/nvidia/nccl/include wheel/nvidia/nccl/lib
cp "$source/validate/bare/build.sh" package/
cp "$source/validate/bare/no_nccl/nccl.cpp" package/none.cpp
cp "$on_cpu/nccl.h" package/no_nccl/
cp "$on_cpu/cuda_runtime_api.h" cuda/include/
echo test > package/VERSION
printf '%s\n' 'all main.cpp' 'cuda part.cpp' 'no-nccl none.cpp' > package/sources
echo 'program main.cpp' > package/programs
cat > package/part.cpp <<'CPP'
#include <nccl.h>
int nccl_version() {
  int version = 0;
  return ncclGetVersion(&version) == ncclSuccess ? version : -1;
}
CPP
cat > package/main.cpp <<'CPP'
#include <cstdio>
#ifdef SHARDSIM_CUDA
int nccl_version();
int main() { std::printf("NCCL %d\n", nccl_version()); }
#else
int main() { std::puts("no CUDA"); }
#endif
CPP
nvcc() { printf '#!/bin/sh\necho "Cuda compilation tools, release %s, V%s.1"\n' "$1" "$1" > cuda/bin/nvcc; chmod +x cuda/bin/nvcc; }
nvcc 13.0
echo 'int shardsim_no_cudart;' | "${CXX:-c++}" -shared -fPIC -x c++ - -o cuda/lib64/libcudart.so
echo '#include <nccl.h>
ncclResult_t ncclGetVersion(int* version) { return *version = 22809, ncclSuccess; }' > library.cpp
"${CXX:-c++}" -shared -fPIC -I"$on_cpu" -Wl,-soname,libnccl.so.2 library.cpp -o libnccl.so.2
export CUDA_HOME=$work/cuda CUDA_ARCH=sm_90 PYTHONPATH=
unset NCCL_HOME

# build CODE PATTERN OUTPUT ARGUMENT...: ends so, says so, and the program prints so.
build() {
  local expected=$1 pattern=$2 prints=$3 code=0
  shift 3
  rm -f package/program
  package/build.sh "$@" > said 2>&1 || code=$?
  [ "$code" -eq "$expected" ] || fail "build.sh $* ends with $code: $(cat said)"
  grep -qE -- "$pattern" said || fail "build.sh $* does not say $pattern: $(cat said)"
  [ "$code" -ne 0 ] || [ "$(package/program)" = "$prints" ] || fail "build.sh $*: the program prints $(package/program)"
}

build 0 'without NCCL: nccl.h was not found; name the folder above it in NCCL_HOME' 'NCCL -1' --cuda
build 1 'error: a build with cuda nccl was asked for|error: a build with nccl was asked for: nccl.h was not found' '' --cuda --nccl

cp "$on_cpu/nccl.h" wheel/nvidia/nccl/include/
cp libnccl.so.2 wheel/nvidia/nccl/lib/
if command -v python3 > /dev/null; then
  PYTHONPATH=$work/wheel build 0 "with NCCL: $work/wheel/nvidia/nccl" 'NCCL 22809' --cuda --nccl
fi
NCCL_HOME=$work/wheel/nvidia/nccl build 0 "with NCCL: $work/wheel" 'NCCL 22809' --cuda --nccl

cp "$on_cpu/nccl.h" cuda/include/
cp libnccl.so.2 cuda/lib64/
ln -s libnccl.so.2 cuda/lib64/libnccl.so
build 0 'with NCCL: as installed' 'NCCL 22809' --cuda --nccl

nvcc 11.8
build 1 'error: a build with cuda was asked for: .* is of CUDA 11, and C\+\+20 begins with CUDA 12' '' --cuda
build 0 'without CUDA: .* is of CUDA 11' 'no CUDA'
rm cuda/bin/nvcc
if ! command -v nvcc > /dev/null; then build 1 'error: a build with cuda was asked for: no nvcc in CUDA_HOME or the PATH' '' --cuda; fi
build 0 'without CUDA: --cpu was given' 'no CUDA' --cpu
echo "passed"
