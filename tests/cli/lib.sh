# Shared by the tests of the command line; sourced after `shardsim` and `source` (the source tree) are set. Works in an
# empty folder of its own, counts checks, and says at the end how many failed.
export SHARDSIM_DATA=$source LC_ALL=C
work=$(mktemp -d)
trap 'chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
cd "$work"
mkdir streams
checks=0 failures=0

fail() {
  failures=$((failures + 1))
  echo "FAILED: $*"
}

# check WHAT COMMAND...: the command must succeed.
check() {
  local what=$1
  shift
  checks=$((checks + 1))
  "$@" || fail "$what"
}

# without_mpi WHY: ends a test that needs MPI, as skipped; as failed where SHARDSIM_REQUIRE_MPI=1 says that MPI has to be there.
without_mpi() {
  echo "skipped: $1"
  [ "${SHARDSIM_REQUIRE_MPI:-0}" != 1 ] || { echo "FAILED: SHARDSIM_REQUIRE_MPI=1 allows no skip"; exit 1; }
  exit 77
}

# run ARGUMENT...: shardsim with its streams in streams/out and streams/err and its exit code in $code.
run() {
  code=0
  timeout 60 "$shardsim" "$@" >streams/out 2>streams/err </dev/null || code=$?
}

# Every file but the streams, and what is in it.
files() { find . -path ./streams -prune -o -type f -print0 | sort -z | xargs -0r cksum; }

# refuse CODE PATTERN ARGUMENT...: shardsim ends with this code, prints nothing on stdout and one line on stderr that
# begins with `error: ` and matches the pattern (extended), and leaves no file behind.
refuse() {
  local expected=$1 pattern=$2 before
  shift 2
  before=$(files)
  run "$@"
  checks=$((checks + 1))
  local said
  said="$* -> $code: $(head -c 600 streams/err)"
  [ "$code" -eq "$expected" ] || fail "exit code $code, not $expected: $said"
  [ ! -s streams/out ] || fail "something on stdout: $said"
  [ "$(wc -l <streams/err)" -eq 1 ] || fail "$(wc -l <streams/err) lines on stderr: $said"
  grep -qE '^error: ' streams/err || fail "no 'error: ' at the start: $said"
  grep -qE -- "$pattern" streams/err || fail "the message lacks /$pattern/: $said"
  [ "$(wc -c <streams/err)" -le 2000 ] || fail "a message of $(wc -c <streams/err) bytes: $said"
  [ "$before" = "$(files)" ] || fail "files were left behind: $said"$'\n'"$(diff <(echo "$before") <(files) || true)"
}

# begun PID PROGRAM: waits until this background process is the program. Until then it is a shell or `env`, which still
# ignores Ctrl-C as every background process of a script does: a signal sent too early is lost, and nothing ends.
begun() {
  for _ in $(seq 500); do
    [ "$(readlink "/proc/$1/exe" 2>/dev/null)" != "$2" ] || return 0
    sleep 0.02
  done
  fail "process $1 is not $2 after 10 s"
}

# ends PID...: waits for all; their codes in $codes, and how many seconds it took in $took.
ends() {
  local from=$SECONDS each
  codes=
  for each in "$@"; do
    code=0
    wait "$each" || code=$?
    codes+=" $code"
  done
  took=$((SECONDS - from))
}

finish() {
  echo "$checks checks, $failures failures"
  [ "$checks" -gt "$1" ] || { echo "only $checks checks ran: the script is broken"; exit 1; }
  [ "$failures" -eq 0 ]
}
