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

# skip VARIABLE WHY: ends a test that cannot go on here, as skipped; as failed where VARIABLE=1 says that it has to, or where a check
# has failed already.
skip() {
  echo "skipped: $2"
  [ "${!1:-0}" != 1 ] || { echo "FAILED: $1=1 allows no skip"; exit 1; }
  [ "$failures" -eq 0 ] || exit 1
  exit 77
}

# without_mpi WHY: of a test that needs MPI.
without_mpi() { skip SHARDSIM_REQUIRE_MPI "$1"; }

# A command that hangs is given up after so many seconds: more than anything takes on a slow machine beside other work.
patience=600

# until_true COMMAND...: waits until the command succeeds; says so and fails where it does not within $patience seconds.
until_true() {
  local from=$SECONDS
  until "$@" >/dev/null 2>&1; do
    [ $((SECONDS - from)) -lt "$patience" ] || { echo "not within $patience s: $*"; return 1; }
    sleep 0.05
  done
}

# run ARGUMENT...: shardsim with its streams in streams/out and streams/err and its exit code in $code; given up after
# $ends_within seconds where that is set.
# Commands that print a first screen print all of it here, for tests to read (tests/cli/first_screen.sh looks at the screens).
run() {
  local details=() word
  case ${1:-} in run | why | sweep | drift | compare | confidence | validate-emulated | explain) details=(--details) ;; esac
  [[ ${2:-} != compare && "${1:-} ${2:-}" != 'cluster show' ]] || details=(--details)
  for word in "$@"; do [[ $word != --json && $word != --help && $word != -h ]] || details=(); done
  code=0
  timeout "${ends_within:-$patience}" "$shardsim" "$@" "${details[@]}" >streams/out 2>streams/err </dev/null || code=$?
  [ "$code" -ne 125 ] || fail "timeout did not start: $(cat streams/err)"
}

# Every file but the streams: what is written changes its size, its inode or the time of its last change. One process tells that;
# sums over all contents took most of the time of the tests that refuse much.
files() { find . -path ./streams -prune -o -type f -printf '%p %s %i %C@ %m\n'; }

# refuse CODE PATTERN ARGUMENT...: shardsim ends with this code, prints nothing on stdout and one line on stderr that begins with
# `error: ` and matches the pattern (extended), and leaves no file behind. A refusal takes less than a minute. The shell looks at
# the message itself, for a process takes longer than that, and there are hundreds of messages.
refuse() {
  local expected=$1 pattern=$2 before after message lines said
  shift 2
  files >streams/before
  ends_within=60 run "$@"
  checks=$((checks + 1))
  IFS= read -r -d '' message <streams/err || true
  lines=${message//[!$'\n']/}
  said="$* -> $code: ${message:0:600}"
  [ "$code" -eq "$expected" ] || fail "exit code $code, not $expected: $said"
  [ ! -s streams/out ] || fail "something on stdout: $said"
  [ "${#lines}" -eq 1 ] || fail "${#lines} lines on stderr: $said"
  [[ $message == 'error: '* ]] || fail "no 'error: ' at the start: $said"
  [[ ${message%$'\n'} =~ $pattern ]] || fail "the message lacks /$pattern/: $said"
  [ "${#message}" -le 2000 ] || fail "a message of ${#message} bytes: $said"
  files >streams/after
  IFS= read -r -d '' before <streams/before || true
  IFS= read -r -d '' after <streams/after || true
  [ "$before" = "$after" ] || fail "files were left behind: $said"$'\n'"$(diff streams/before streams/after || true)"
}

# begun PID PROGRAM: waits until this background process is the program. Until then it is a shell or `env`, which still
# ignores Ctrl-C as every background process of a script does: a signal sent too early is lost, and nothing ends.
begun() {
  is_program() { [ "$(readlink "/proc/$1/exe")" = "$2" ]; }
  until_true is_program "$@" || fail "process $1 is not $2 after $patience s"
}

# works PID HUNDREDTHS: waits until the process has had a processor for so many hundredths of a second more, or has ended: as far
# into its work on a busy machine as on an idle one.
works() {
  local due
  processor_time() { awk '{ sub(/.*\) /, ""); print $1 == "Z" ? "ended" : $12 + $13 }' "/proc/$1/stat" 2>/dev/null || echo ended; }
  has_had() {
    local now
    now=$(processor_time "$1")
    [ "$now" = ended ] || [ "$now" -ge "$2" ]
  }
  due=$(processor_time "$1")
  [ "$due" = ended ] || until_true has_had "$1" $((due + $2)) || fail "process $1 does not work"
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
