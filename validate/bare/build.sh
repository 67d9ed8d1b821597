#!/usr/bin/env bash
# Builds the validator and the micro-benchmark on a machine with a C++20 compiler (g++ 11, clang 14 or newer) and no
# libraries of ours. With nvcc (CUDA 12 or newer, in $CUDA_HOME or the PATH) and NCCL they run on GPUs too.
# Usage: ./build.sh [--cpu | --cuda] [--nccl] [--mpi]    without CUDA, even where it is; not without CUDA, NCCL, MPI
# Without nccl.h (looked for in NCCL_HOME, beside nvcc and in PyTorch's wheels) GPUs run programs of one rank alone.
# Takes from the environment: CXX, CXXFLAGS, JOBS, CUDA_HOME, NCCL_HOME, CUDA_ARCH (nvcc's -arch), MPICXX (MPI's compiler).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

usage() { sed -n '4,5s/^# //p' build.sh; }
fail() { echo "error: $1" >&2; exit 1; }
without= mpi= asked=
for argument in "$@"; do
  case "$argument" in
    --cpu) without="--cpu was given" ;;
    --mpi) mpi=yes ;;
    --cuda|--nccl) asked+="${argument#--} " ;;
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
if [ -n "$without" ]; then
  :
elif ! grep -q '^cuda ' sources; then
  without="this package has no CUDA sources"
elif [ -z "$nvcc" ]; then
  without="no nvcc in CUDA_HOME or the PATH"
elif ! release=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\)\..*/\1/p') || [ "${release:-0}" -lt 12 ]; then
  without="$nvcc is of CUDA ${release:-unknown}, and C++20 begins with CUDA 12"
fi
[ -z "$asked" ] || [ -z "$without" ] || fail "a build with ${asked% } was asked for: $without"

# The folder above nccl.h: NCCL_HOME, CUDA's own or the system's, or the one of the wheel that PyTorch came with.
has_nccl() { echo '#include <nccl.h>' | "$CXX" ${1:+-I"$1/include"} -I"$cuda/include" -x c++ -fsyntax-only - 2>/dev/null; }
wheel_nccl() {
  python3 -c 'import importlib.util as u
spec = u.find_spec("nvidia.nccl")
print(list(spec.submodule_search_locations)[0] if spec else "")' 2>/dev/null || true
}
nccl=() nccl_home= no_nccl=
if [ -z "$without" ]; then
  nccl_home=${NCCL_HOME:-}
  has_nccl "$nccl_home" || nccl_home=$(wheel_nccl)
  if ! has_nccl "$nccl_home"; then
    no_nccl="nccl.h was not found; name the folder above it in NCCL_HOME"
    case "$asked" in *nccl*) fail "a build with nccl was asked for: $no_nccl" ;; esac
    nccl=(-isystem no_nccl)
  elif [ -n "$nccl_home" ]; then
    nccl=(-I"$nccl_home/include")
  fi
fi

objects=build/objects
flags=(-std=c++20 -O3 -ffp-contract=off -pthread -I. -isystem third_party -DFMT_HEADER_ONLY
  "-DSHARDSIM_VERSION=\"$(cat VERSION)\"" '-DSHARDSIM_DEFAULT_DATA=""')
device_flags=()
libraries=(-pthread -lrt)
kinds='all|cpu'
if [ -z "$without" ]; then
  kinds="all|cuda${no_nccl:+|no-nccl}"
  flags+=(-DSHARDSIM_CUDA "${nccl[@]}" -isystem "$cuda/include")
  arch=${CUDA_ARCH:-all-major}
  if [ -z "${CUDA_ARCH:-}" ] && nvidia-smi -L > /dev/null 2>&1; then arch=native; fi
  device_flags=(-ccbin "$CXX" -std=c++20 -O3 -arch="$arch" -Xcompiler -ffp-contract=off -I. -isystem third_party
    -DFMT_HEADER_ONLY -DSHARDSIM_CUDA "${nccl[@]}")
  for folder in ${nccl_home:+"$nccl_home/lib"} "$cuda/lib64" "$cuda/lib"; do
    [ ! -d "$folder" ] || libraries+=(-L"$folder" "-Wl,-rpath,$folder")
  done
  # Wheels hold the library by its full name alone.
  if [ -n "$nccl_home" ] && [ ! -e "$nccl_home/lib/libnccl.so" ] && [ -e "$nccl_home/lib/libnccl.so.2" ]; then
    libraries+=(-l:libnccl.so.2)
  elif [ -z "$no_nccl" ]; then
    libraries+=(-lnccl)
  fi
  libraries+=(-lcudart)
  # Dense layers by cuBLASLt where it is, else by a kernel of our own, whose times say nothing of dense layers.
  if echo '#include <cublasLt.h>' | "$CXX" -I"$cuda/include" -x c++ -fsyntax-only - 2>/dev/null; then
    flags+=(-DSHARDSIM_CUBLASLT) device_flags+=(-DSHARDSIM_CUBLASLT) libraries+=(-lcublasLt)
    dense=cuBLASLt
  fi
  echo "with CUDA: $nvcc, -arch=$arch; dense layers by ${dense:-a kernel that stands in for cuBLASLt}"
  echo "${no_nccl:+without NCCL: }${no_nccl:-with NCCL: ${nccl_home:-as installed beside the compiler or nvcc}}"
else
  echo "without CUDA: $without"
fi
linker=$CXX
if [ -n "$mpi" ]; then
  kinds+='|mpi' linker=$MPICXX
  flags+=(-DSHARDSIM_MPI)
  echo "with MPI: $MPICXX"
fi

object_of() { echo "$objects/${1//\//.}.o"; }

compile() {
  local object
  object=$(object_of "$1")
  case "$1" in
    */mpi.cpp) "$MPICXX" "${flags[@]}" -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX ${CXXFLAGS:-} -c "$1" -o "$object" ;;
    *.cu) "$nvcc" "${device_flags[@]}" -c "$1" -o "$object" ;;
    *) "$CXX" "${flags[@]}" ${CXXFLAGS:-} -c "$1" -o "$object" ;;
  esac
}

# Writes files that each include many sources of one floor, and prints their names: most of a source's time goes into the
# headers that they all include. As many files as keep all processors at work, of at most 40 sources.
batches() {
  local source floor size batch in_floor
  local -A of_floor
  for source in "$@"; do
    floor=${source%%/*}
    [ "$floor" != "$source" ] || floor=top
    of_floor[$floor]+=$source$'\n'
  done
  size=$((($# + 2 * jobs - 1) / (2 * jobs)))
  [ "$size" -le 40 ] || size=40
  for floor in $(printf '%s\n' "${!of_floor[@]}" | sort); do
    mapfile -t in_floor < <(printf '%s' "${of_floor[$floor]}")
    for ((batch = 0; batch * size < ${#in_floor[@]}; ++batch)); do
      printf '#include "%s"\n' "${in_floor[@]:batch * size:size}" > "build/batches/${floor}_$batch.cpp"
      echo "build/batches/${floor}_$batch.cpp"
    done
  done
}

# Programs, CUDA and MPI are compiled one by one.
jobs=${JOBS:-$(getconf _NPROCESSORS_ONLN)}
mapfile -t sources < <(grep -E "^($kinds) " sources | cut -d' ' -f2)
rm -rf "$objects" build/batches
mkdir -p "$objects" build/batches
alone=() together=() library=()
for source in "${sources[@]}"; do
  if cut -d' ' -f2 programs | grep -qxF "$source"; then
    alone+=("$source")
  elif [[ $source == *.cu || $source == */mpi.cpp ]]; then
    alone+=("$source") library+=("$(object_of "$source")")
  else
    together+=("$source")
  fi
done
mapfile -t batched < <(batches "${together[@]}")
for batch in "${batched[@]}"; do library+=("$(object_of "$batch")"); done

# Several at a time; the first failure ends the build.
running=0
for source in "${batched[@]}" "${alone[@]}"; do
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

rm -f build/libshardsim.a
ar rcs build/libshardsim.a "${library[@]}"
while read -r name main kind; do
  if [ "${kind:-}" = cuda ] && [ -n "$without" ]; then continue; fi
  "$linker" ${CXXFLAGS:-} "$(object_of "$main")" build/libshardsim.a "${libraries[@]}" -o "$name"
  echo "built $PWD/$name"
done < programs
