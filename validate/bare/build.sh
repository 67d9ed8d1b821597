#!/usr/bin/env bash
# Builds the validator and the micro-benchmark on a machine with a C++20 compiler (g++ 11, clang 14 or newer) and no
# libraries of ours. With nvcc (CUDA 12 or newer, in $CUDA_HOME or the PATH) and NCCL they run on GPUs too.
# Usage: ./build.sh [--cpu] [--mpi]    --cpu: without CUDA, even where it is; --mpi: with --transport mpi
# Takes from the environment: CXX, CXXFLAGS, JOBS, CUDA_HOME, NCCL_HOME, CUDA_ARCH (nvcc's -arch), MPICXX (MPI's compiler).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

usage() { sed -n '4s/^# //p' build.sh; }
fail() { echo "error: $1" >&2; exit 1; }
without= mpi=
for argument in "$@"; do
  case "$argument" in
    --cpu) without="--cpu was given" ;;
    --mpi) mpi=yes ;;
    -h|--help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

for compiler in ${CXX:-} g++ c++ clang++; do
  if command -v "$compiler" > /dev/null; then CXX=$compiler; break; fi
done
command -v "${CXX:-}" > /dev/null || fail "no C++ compiler found; name one in CXX"
echo 'int main() { auto f = []<typename T>(T t) { return t; }; return f(0); }' |
  "$CXX" -std=c++20 -x c++ -fsyntax-only - 2>/dev/null || fail "$CXX does not know C++20; name another one in CXX"

if [ -n "$mpi" ]; then
  MPICXX=${MPICXX:-mpicxx}
  echo '#include <mpi.h>' | "$MPICXX" -x c++ -fsyntax-only - 2>/dev/null ||
    fail "$MPICXX does not compile with MPI; name MPI's C++ compiler in MPICXX"
fi

# CUDA and NCCL, or the reason why not.
nvcc=${CUDA_HOME:+$CUDA_HOME/bin/nvcc}
[ -n "$nvcc" ] && [ -x "$nvcc" ] || nvcc=$(command -v nvcc || true)
cuda=
if [ -n "$nvcc" ]; then cuda=$(dirname "$(dirname "$(readlink -f "$nvcc")")"); fi
nccl=()
[ -z "${NCCL_HOME:-}" ] || nccl=(-I"$NCCL_HOME/include")
if [ -n "$without" ]; then
  :
elif ! grep -q '^cuda ' sources; then
  without="this package has no CUDA sources"
elif [ -z "$nvcc" ]; then
  without="no nvcc in CUDA_HOME or the PATH"
elif ! echo '#include <nccl.h>' | "$CXX" "${nccl[@]}" -I"$cuda/include" -x c++ -fsyntax-only - 2>/dev/null; then
  without="nccl.h was not found; name the folder above it in NCCL_HOME"
fi

objects=build/objects
mkdir -p "$objects"
flags=(-std=c++20 -O3 -ffp-contract=off -pthread -I. -isystem third_party -DFMT_HEADER_ONLY
  "-DSHARDSIM_VERSION=\"$(cat VERSION)\"" '-DSHARDSIM_DEFAULT_DATA=""')
device_flags=()
libraries=(-pthread -lrt)
kinds='all|cpu'
if [ -z "$without" ]; then
  kinds='all|cuda'
  flags+=(-DSHARDSIM_CUDA "${nccl[@]}" -isystem "$cuda/include")
  arch=${CUDA_ARCH:-all-major}
  if [ -z "${CUDA_ARCH:-}" ] && nvidia-smi -L > /dev/null 2>&1; then arch=native; fi
  device_flags=(-ccbin "$CXX" -std=c++20 -O3 -arch="$arch" -Xcompiler -ffp-contract=off -I. -isystem third_party
    -DFMT_HEADER_ONLY -DSHARDSIM_CUDA "${nccl[@]}")
  for folder in ${NCCL_HOME:+"$NCCL_HOME/lib"} "$cuda/lib64" "$cuda/lib"; do
    [ ! -d "$folder" ] || libraries+=(-L"$folder" "-Wl,-rpath,$folder")
  done
  libraries+=(-lnccl -lcudart)
  # Dense layers by cuBLASLt where it is, else by a kernel of our own, whose times say nothing of dense layers.
  if echo '#include <cublasLt.h>' | "$CXX" -I"$cuda/include" -x c++ -fsyntax-only - 2>/dev/null; then
    flags+=(-DSHARDSIM_CUBLASLT) device_flags+=(-DSHARDSIM_CUBLASLT) libraries+=(-lcublasLt)
    dense=cuBLASLt
  fi
  echo "with CUDA: $nvcc, -arch=$arch; dense layers by ${dense:-a kernel that stands in for cuBLASLt}"
else
  echo "without CUDA: $without"
fi
linker=$CXX
if [ -n "$mpi" ]; then
  kinds+='|mpi' linker=$MPICXX
  flags+=(-DSHARDSIM_MPI)
  echo "with MPI: $MPICXX"
fi

compile() {
  local object=$objects/${1//\//.}.o
  case "$1" in
    */mpi.cpp) "$MPICXX" "${flags[@]}" -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX ${CXXFLAGS:-} -c "$1" -o "$object" ;;
    *.cu) "$nvcc" "${device_flags[@]}" -c "$1" -o "$object" ;;
    *) "$CXX" "${flags[@]}" ${CXXFLAGS:-} -c "$1" -o "$object" ;;
  esac
}

# Several at a time; the first failure ends the build.
jobs=${JOBS:-$(getconf _NPROCESSORS_ONLN)}
mapfile -t sources < <(grep -E "^($kinds) " sources | cut -d' ' -f2)
rm -f "$objects"/*.o
running=0
for source in "${sources[@]}"; do
  if [ "$running" -ge "$jobs" ]; then
    wait -n || fail "a source does not compile (above)"
    running=$((running - 1))
  fi
  compile "$source" &
  running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
  wait -n || fail "a source does not compile (above)"
  running=$((running - 1))
done

library=()
for source in "${sources[@]}"; do
  cut -d' ' -f2 programs | grep -qxF "$source" || library+=("$objects/${source//\//.}.o")
done
rm -f build/libshardsim.a
ar rcs build/libshardsim.a "${library[@]}"
while read -r name main kind; do
  if [ "${kind:-}" = cuda ] && [ -n "$without" ]; then continue; fi
  "$linker" ${CXXFLAGS:-} "$objects/${main//\//.}.o" build/libshardsim.a "${libraries[@]}" -o "$name"
  echo "built $PWD/$name"
done < programs
