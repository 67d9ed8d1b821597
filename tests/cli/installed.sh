#!/usr/bin/env bash
# The programs of `cmake --install` and of the Debian package run from anywhere, without the source tree; manual pages are sound,
# and shells complete words. Usage: installed.sh BUILD_DIR SOURCE_DIR
set -euo pipefail
build=$(realpath "$1") source=$(realpath "$2")
shardsim=$build/shardsim
. "$source/tests/cli/lib.sh"
unset SHARDSIM_DATA  # the data must be found beside the program

# without_source COMMAND...: where the source tree and the build are not there; 77 where name spaces are not allowed.
without_source() {
  unshare -rm true 2>/dev/null || return 77
  unshare -rm sh -c 'mount -t tmpfs none "$1"; shift; exec "$@"' sh "$source" "$@"
}

# judge PREFIX: the programs in it are whole.
judge() {
  local at=$1 code=0
  without_source "$at/bin/shardsim" run "$at/share/shardsim/scenarios/toy.yaml" -o "$work/out-$2" >streams/out 2>streams/err || code=$?
  if [ "$code" -eq 77 ]; then
    echo "not tried without the source tree: name spaces are not allowed"
    "$at/bin/shardsim" run "$at/share/shardsim/scenarios/toy.yaml" -o "$work/out-$2" >streams/out 2>streams/err || fail "$2: $(cat streams/err)"
  else
    check "$2 runs without the source tree: $(cat streams/err)" [ "$code" -eq 0 ]
  fi
  check "$2 writes its report with charts" grep -q vega "$work/out-$2/report.html"
  check "$2 lists all clusters" cmp -s <("$at/bin/shardsim" list clusters) <("$shardsim" list clusters)
  for kind in cluster plan scenario workload; do
    check "$2 has the schema of $kind files" grep -q '"\$schema"' "$at/share/shardsim/schemas/$kind.schema.json"
  done
  for program in shardsim shardsim-validate shardsim-microbench; do
    check "$2 has $program" [ -x "$at/bin/$program" ]
    check "$2 has the manual page of $program" [ -s "$at/share/man/man1/$program.1" ]
  done
}

echo "-- into a prefix"
check "it installs" cmake --install "$build" --prefix "$work/prefix" >/dev/null
judge "$work/prefix" prefix

echo "-- of a build of shardsim alone, as run.sh makes it"
# The build's own rules, for a folder that holds nothing else.
partial=$work/partial
mkdir -p "$partial/share"
(cd "$build" && find . -name cmake_install.cmake -exec cp --parents {} "$partial" \;)
find "$partial" -name cmake_install.cmake -exec sed -i "s#$build#$partial#g" {} +
cp "$build/shardsim" "$build/shardsim_simgrid.so" "$partial"
cp "$build/share/vega.js" "$partial/share"
code=0
cmake -DCMAKE_INSTALL_PREFIX="$work/least" -P "$partial/cmake_install.cmake" >streams/out 2>streams/err || code=$?
check "it installs: $(cat streams/err)" [ "$code" -eq 0 ]
for program in shardsim-validate shardsim-microbench; do
  check "it says that $program is left out" grep -q "Left out, for it is not built: $program\." streams/out
  check "and leaves it out" [ ! -e "$work/least/bin/$program" ]
done
check "shardsim runs: $(cat streams/err)" "$work/least/bin/shardsim" run "$work/least/share/shardsim/scenarios/toy.yaml" -o "$work/out-least" -q
check "its manual page is there" [ -s "$work/least/share/man/man1/shardsim.1" ]
check "and its schemas" [ -s "$work/least/share/shardsim/schemas/workload.schema.json" ]

echo "-- as a package"
(cd "$build" && cpack -G DEB -B "$work/package" >cpack.log 2>&1) || fail "cpack: $(tail -n 5 "$build/cpack.log")"
package=$(find "$work/package" -maxdepth 1 -name 'shardsim_*.deb')
python_package=$(find "$work/package" -maxdepth 1 -name 'python3-shardsim_*.deb')
dpkg-deb --extract "$package" "$work/extracted"
judge "$work/extracted/usr" package
dpkg-deb --field "$package" Depends >depends
for library in libc6 libsimgrid libjemalloc libyaml-cpp; do check "the package depends on $library: $(cat depends)" grep -q "$library" depends; done

if [ -n "$python_package" ]; then
  echo "-- the package for Python"
  check "the first package has no part of Python" [ ! -e "$work/extracted/usr/lib/python3" ]
  mkdir -p "$work/root/var/lib/dpkg/updates" "$work/root/var/lib/dpkg/info"
  touch "$work/root/var/lib/dpkg/status"
  # Without the libraries of the system and a shell in this root, so neither of them is configured there.
  check "dpkg unpacks both" dpkg --root="$work/root" --unpack "$package" "$python_package" >streams/out 2>streams/err
  check "dpkg lists both as unpacked" [ "$(dpkg-query --admindir="$work/root/var/lib/dpkg" -W -f='${db:Status-Status} ')" = "unpacked unpacked " ]
  dpkg-deb --field "$python_package" Depends >depends
  for other in 'shardsim (=' 'python3 (>=' libhdf5; do check "it depends on $other: $(cat depends)" grep -qF "$other" depends; done
  judge_python() {  # WHERE FOLDER [PYTHON]
    local code=0
    PYTHONPATH=$2 without_source "${3:-/usr/bin/python3}" -c '
import os, shardsim, sys
assert os.path.dirname(shardsim.__file__).startswith(sys.argv[1]) and shardsim.data_folder().startswith(sys.argv[2])
print(shardsim.simulate(shardsim.load("toy"), "row_wise").iteration_ms)' "$2" "$4" >streams/out 2>streams/err || code=$?
    [ "$code" -ne 77 ] || return 0
    check "$1: the package simulates without the source tree: $(cat streams/err)" [ "$code" -eq 0 ]
    "$shardsim" run "$source/scenarios/toy.yaml" --case row_wise -q --json -o "$work/out-$1" >result
    check "$1: as the command does" [ "$(cat streams/out)" = "$(jq .cases[0].iteration_ms result)" ]
  }
  cd "$work"  # where no module of the source tree is found
  judge_python deb "$work/root/usr/lib/python3/dist-packages" /usr/bin/python3 "$work/root/usr/share/shardsim"
  # A wheel of the module that is built already: no second compilation.
  check "pip installs it" /usr/bin/python3 -m pip install -q --no-index --no-deps --root-user-action ignore --disable-pip-version-check \
    --target "$work/site" --config-settings "built=$build" "$source" >streams/out 2>streams/err
  judge_python pip "$work/site" /usr/bin/python3 "$work/site/shardsim"
  code=0
  /usr/bin/python3 -m pip install -q --no-index --no-deps --target "$work/site2" --config-settings "built=$work" "$source" >streams/out 2>streams/err || code=$?
  check "a folder without the module is refused: $(cat streams/err)" grep -q 'built with -DSHARDSIM_PYTHON=ON' streams/err
  check "... with a failure" [ "$code" -ne 0 ]
fi

echo "-- a program by itself"
mkdir alone
cp "$shardsim" alone
code=0
without_source "$work/alone/shardsim" list clusters >streams/out 2>streams/err || code=$?
if [ "$code" -ne 77 ]; then
  check "a program without its data says so: $(cat streams/err)" grep -q 'error: .*SHARDSIM_DATA' streams/err
  check "... with code 2, not $code" [ "$code" -eq 2 ]
fi

echo "-- manual pages and completion"
for program in shardsim shardsim-validate shardsim-microbench; do
  if command -v groff >/dev/null; then
    groff -man -Tutf8 -ww -z "$work/prefix/share/man/man1/$program.1" 2>warnings || true
    check "the page of $program has no fault: $(cat warnings)" [ ! -s warnings ]
  fi
done
. "$work/prefix/share/bash-completion/completions/shardsim"
# completes WORD... EXPECTED: the last word of the line is completed to what is expected.
completes() {
  local expected=${*: -1}
  COMP_WORDS=(shardsim "${@:1:$#-1}") COMP_CWORD=$(($# - 1))
  _shardsim || true  # compgen fails where nothing completes
  check "'${COMP_WORDS[*]}' completes to '$expected', not '${COMPREPLY[*]}'" [ "${COMPREPLY[*]}" = "$expected" ]
}
completes che check
completes cluster sh show
completes list pla planners
completes run --jo --jobs
completes run scenarios/toy.yaml -o che ""  # a file name, which bash completes itself
run --completion tcsh
check "an unknown shell is refused with the known ones: $(cat streams/err)" grep -q 'bash, fish' streams/err
check "... with code 2, not $code" [ "$code" -eq 2 ]
finish 20
