#!/usr/bin/env bash
# Installs the Debian packages that are missing. Usage: packages.sh build|test
# Touches the network only when something is missing; never removes a package.
set -euo pipefail

build=(ca-certificates cmake g++ git libboost-dev libcpp-httplib-dev libeigen3-dev libexpat1-dev libfmt-dev libhdf5-dev libjemalloc-dev libjs-vega
  libsimgrid-dev libyaml-cpp-dev ninja-build nlohmann-json3-dev pkg-config zlib1g-dev)
test=(clang clang-format clang-tidy doctest-dev iproute2 jq libbenchmark-dev libclang-rt-14-dev lld dpkg-dev file pybind11-dev python3-dev python3-h5netcdf python3-h5py
  python3-ipykernel python3-mypy python3-nbconvert python3-pip
  python3-jsonschema
  python3-pandas python3-xarray python3-yaml chromium valgrind libopenmpi-dev openmpi-bin munge slurm-client slurmctld slurmd time)

case "${1:-}" in
  build) wanted=("${build[@]}") ;;
  test) wanted=("${build[@]}" "${test[@]}") ;;
  *) echo "usage: packages.sh build|test" >&2; exit 2 ;;
esac

missing=()
for package in "${wanted[@]}"; do
  dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -x installed >/dev/null || missing+=("$package")
done
[ "${#missing[@]}" -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "error: these packages are missing and sudo is not there to install them: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "installing ${#missing[@]} packages: ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get -qq update >&2
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends --no-remove install "${missing[@]}" >&2
